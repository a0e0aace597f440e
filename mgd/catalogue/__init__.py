"""The catalogue of findings: what a code means, of whatever family, and the one way its page is written.

A family is the rules of one prefix: MGD for descriptors (`mgd.rules`), TTR for the launcher and TTG for ranks that do not meet
(`tt_run.rules`). Everything here is data and imports next to nothing; a family's rules are loaded when one of them is asked for.
"""

from __future__ import annotations

from mgd.catalogue.family import Family, find, nearest
from mgd.catalogue.rule import Rule

__all__ = ["Family", "Rule", "find", "nearest"]
