"""Values that look like secrets: they reach the ranks, and nothing that tt-run prints or writes down for people."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

MASK = "********"
_SECRET = (
    r"(?i)(?:^|_)(?:token|secrets?|passw(?:or)?d|passphrase|credentials?|(?:api|access|private|session)_?keys?|auth|cookie)(?:_|$)"
    r"|(?:token|secret|password|apikey)$"
)
_ELSEWHERE = r"(?i)_(?:sock|path|file|dir)$"  # what is secret lies there
_ASSIGNED = r"(?P<name>\b[A-Za-z_][A-Za-z0-9_]*)(?P<sign>\s*[=:]\s*)(?P<value>[^\s,;'\"]+|\"[^\"]*\"|'[^']*')"
_IN_A_URL = r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"


@cache
def is_secret(name: str) -> bool:
    """Whether the name of a variable says that its value is one: HF_TOKEN, AWS_SECRET_ACCESS_KEY; not MAX_TOKENS, SSH_AUTH_SOCK."""
    return re.search(_SECRET, name) is not None and re.search(_ELSEWHERE, name) is None


def masked(name: str, value: str) -> str:
    """The value as it may be shown: a mask for that of a secret, and for a password inside of a URL."""
    if not value:
        return value
    return MASK if is_secret(name) else _without_password(value)


def masked_words(words: Sequence[str]) -> list[str]:
    """The words of a launcher's line as they may be shown: `-x NAME=VALUE` without the value of a secret."""
    shown = []
    for before, word in zip(("", *words), words, strict=False):
        name, equals, value = word.partition("=")
        shown.append(f"{name}={masked(name, value)}" if before == "-x" and equals else word)
    return shown


def masked_text(text: str) -> str:
    """A text as it may be shown: values that are assigned in it to names of secrets, and passwords inside of URLs, are masked."""
    if "=" in text or ":" in text:
        text = re.sub(_ASSIGNED, _hidden, text)
    return _without_password(text)


def _without_password(text: str) -> str:
    """The text with a mask in URLs; most texts hold none, and the expression is not compiled for them."""
    return re.sub(_IN_A_URL, MASK, text) if "://" in text else text


def _hidden(found: re.Match[str]) -> str:
    return f"{found['name']}{found['sign']}{MASK}" if is_secret(found["name"]) else found[0]
