"""Enum values as the names that the schema writes."""

from __future__ import annotations

import enum
from functools import cache

from mgd.descriptor import Channels, Policy


def type_name(kind: type[enum.IntEnum], value: int) -> str:
    """The name of an enum value, its number when the schema does not know it."""
    return _names_of(kind).get(value) or str(int(value))


@cache
def _names_of(kind: type[enum.IntEnum]) -> dict[int, str]:
    return {member.value: member.name for member in kind}


def policy_name(channels: Channels | None, default: str) -> str:
    """The policy of written channels; `default` when none is written (reference library 0.81.1)."""
    if channels is None or channels.policy is None:
        return default
    return type_name(Policy, channels.policy)
