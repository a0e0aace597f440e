"""The names of all operations as `scripts/gen` has written them from their declarations: to be listed, or missed, without loading any."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("operation_names.txt")


@cache
def written_names() -> frozenset[str]:
    """Qualified: `ttnn.transformer.attention_softmax`."""
    return frozenset(FILE.read_text(encoding="utf-8").split())
