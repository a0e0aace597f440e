"""What is said of bytes that are no plain text, and where."""

from __future__ import annotations

import pytest

from mgd.errors import ParseError
from mgd.files import as_source


@pytest.mark.parametrize(
    ("data", "place", "told"),
    [
        (b"\0", "f:1:1", "the file holds a NUL byte"),
        (b"a\0", "f:1:2", "the file holds a NUL byte"),
        (b"a\n\0b\0", "f:2:1", "the file holds a NUL byte"),
        ("\0", "f:1:1", "the file holds a NUL byte"),
        ("é\0", "f:1:2", "the file holds a NUL byte"),
        ("\ufeffa\0".encode(), "f:1:1", "the file begins with a byte order mark"),
    ],
)
def test_what_no_text_has(data: str | bytes, place: str, told: str) -> None:
    with pytest.raises(ParseError) as caught:
        as_source(data, "f")
    [found] = caught.value.diagnostics
    assert (found.code, str(found.position), found.message) == ("MGD102", place, told)


@pytest.mark.parametrize(
    ("data", "place", "told"),
    [
        (b"\xff", "f:1:1", "the byte 0xff is not UTF-8"),
        (b"a: \xc3", "f:1:4", "the byte 0xc3 is not UTF-8"),
        ("é\n".encode() + b"b\x80\xff", "f:2:2", "the byte 0x80 is not UTF-8"),
    ],
)
def test_the_first_byte_that_is_no_utf8(data: bytes, place: str, told: str) -> None:
    source, [found] = as_source(data, "f")
    assert (found.code, str(found.position), found.message) == ("MGD103", place, told)
    assert source.text == data.decode("utf-8", "backslashreplace")
    assert as_source(b"a: 1", "f")[1] == []
