"""A descriptor in the one layout, with the proof that its meaning is the same."""

from __future__ import annotations

from mgd.authoring.layout import formatted
from mgd.reading import loads


def reformatted(text: str, file: str = "") -> str:
    """The same for a descriptor: its syntax is checked first, and the meaning compared afterwards.

    Raises ParseError for a text that is no descriptor.
    """
    before = loads(text, file=file)
    new = formatted(text)
    if loads(new, file=file) != before:
        raise AssertionError(f"formatting {file or 'the text'} would change its meaning; nothing was written")
    return new
