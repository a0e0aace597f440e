"""What every message of a descriptor has in common.

The message classes are generated as `mgd.lean` dataclasses. Classes with an own constructor written out, as they were once, took 500 lines
and saved 1.5 of the 53 ms of `mgd check`; reading a file of 4.9 MB took 3 % longer with them.
"""

from __future__ import annotations


class Message:
    """One message as written: immutable, compared by its fields. `at` is its offset in the text, -1 for one that was not read; it
    takes no part in comparisons."""

    __slots__ = ()

    at: int
