"""One rule: what a code means."""

from __future__ import annotations

from mgd.lean import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """`title` names the thing that is wrong, `why` what would happen without the check, `example` an input that has it,
    `hint` the way out."""

    code: str
    title: str
    why: str
    hint: str
    example: str = ""
