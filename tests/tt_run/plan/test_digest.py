"""The sums that name generated files."""

from __future__ import annotations

import hashlib

from tt_run.plan.digest import sha256


def test_sums_are_those_of_hashlib() -> None:
    for data in (b"", b"descriptor\0", bytes(range(256)) * 300):
        digest = sha256(data)
        digest.update(b"more")
        assert digest.hexdigest() == hashlib.sha256(data + b"more").hexdigest()
