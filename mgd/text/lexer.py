"""The words of the text format: one regular expression, what its kinds mean, and how literals become values."""

from __future__ import annotations

import re

BLANK = r"[ \t\r\n\v\f]*"
SKIP = BLANK + r"(?:#[^\n]*(?:\n" + BLANK + r"|\Z))*"
"""Blanks and comments; no two ways to match the same text, so a failure behind it costs no more than a rescan."""

IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"

_TOKEN = re.compile(
    r"(?P<blank>[ \t\r\n\v\f]+)"
    r"|(?P<comment>#[^\n]*)"
    rf"|(?P<name>{IDENTIFIER})"
    r"|(?P<number>\.?[0-9](?:[eE][+-](?=[0-9])|[0-9A-Za-z_.])*)"
    r"|(?P<string>\"(?:[^\"\\\n\0]|\\[^\n\0])*\"|'(?:[^'\\\n\0]|\\[^\n\0])*')"
    r"|(?P<open>[{<])|(?P<close>[}>])"
    r"|(?P<mark>[\[\]:,;/.\-])"
    r"|(?P<bad>(?s:.))"
)

match_token = _TOKEN.match
find_tokens = _TOKEN.finditer

_skip = re.compile(SKIP).match
# Rare, so compiled when first needed.
_INTEGER = r"0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*"
_FLOAT = r"(?:[0-9]+\.[0-9]*|\.[0-9]+|[1-9][0-9]*|0)(?:[eE][+-]?[0-9]+)?[fF]?"
_ESCAPE = r"(?s:\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U(00[0-9a-fA-F]{6})|(.)))"
_SIMPLE = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "?": 63, "'": 39, '"': 34}
_LONGEST_INTEGER = 40  # digits; int() on longer ones is slow, then refused by Python itself


def after_blanks(text: str, offset: int) -> int:
    """The offset of the next token."""
    found = _skip(text, offset)
    return found.end() if found else offset


def integer(literal: str) -> int | None:
    """The value of a decimal, 0x or leading-0 octal literal without sign; None for anything else.

    A literal too long for any type of the schema comes back as a number beyond all of them.
    """
    is_decimal = literal.isascii() and literal.isdecimal() and literal[0] != "0"
    if not is_decimal and literal != "0" and not re.fullmatch(_INTEGER, literal):
        return None
    if len(literal) > _LONGEST_INTEGER:
        return 1 << 127
    if literal[:2] in ("0x", "0X"):
        return int(literal, 16)
    return int(literal, 8 if literal[0] == "0" else 10)


def is_number(literal: str) -> bool:
    """True for a well-formed integer or float."""
    return bool(re.fullmatch(_INTEGER, literal) or re.fullmatch(_FLOAT, literal))


class BadEscape(ValueError):
    """A backslash sequence that C does not have; `offset` counts from the start of the literal."""

    def __init__(self, offset: int, sequence: str) -> None:
        super().__init__(sequence)
        self.offset, self.sequence = offset, sequence


def string_bytes(literal: str) -> bytes:
    """The bytes that a quoted literal stands for. Raises BadEscape."""
    body = literal[1:-1]
    if "\\" not in body:
        return body.encode("utf-8", "surrogatepass")
    parts, done = [], 0
    while (start := body.find("\\", done)) >= 0:
        parts.append(body[done:start].encode("utf-8", "surrogatepass"))
        found = re.compile(_ESCAPE).match(body, start)  # `re` keeps what it has compiled
        if found is None:
            raise BadEscape(start + 1, body[start : start + 2])
        parts.append(_escaped(found, start + 1))
        done = found.end()
    parts.append(body[done:].encode("utf-8", "surrogatepass"))
    return b"".join(parts)


def _escaped(found: re.Match[str], offset: int) -> bytes:
    octal, hexadecimal, short, long, simple = found.groups()
    if octal:
        return bytes([int(octal, 8) & 0xFF])
    if hexadecimal:
        return bytes([int(hexadecimal, 16)])
    if short or long:
        code = int(short or long, 16)
        if code > 0x10FFFF:
            raise BadEscape(offset, found[0])
        return chr(code).encode("utf-8", "surrogatepass")
    if simple not in _SIMPLE:
        raise BadEscape(offset, found[0])
    return bytes([_SIMPLE[simple]])


def text_of(data: bytes) -> str:
    """The string of those bytes; bytes that are not UTF-8 stay visible as \\xNN (the reference accepts and logs them)."""
    return data.decode("utf-8", "backslashreplace")
