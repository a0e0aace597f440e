"""An MGD 1.0 text as a 2.0 text."""

from __future__ import annotations

from mgd.authoring.layout import formatted
from mgd.text.writer import write
from mgd.v1.reading import loads


def to_textproto(text: str | bytes, *, file: str = "") -> str:
    """The 2.0 text of an MGD 1.0 text. Raises ParseError and RejectedError as reading does."""
    return formatted(write(loads(text, file=file)))
