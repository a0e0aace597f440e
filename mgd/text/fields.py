"""Where the fields of one message stand in a text, found when somebody asks."""

from __future__ import annotations

from mgd.text.lexer import find_tokens


def field_values(text: str, at: int, name: str) -> list[int]:
    """Offsets of the values of field `name` in the message that begins at `at` (its name or brace; -1 means the whole file).

    For a field that holds messages: the offsets of its names, or of the braces inside a list. Stops at the message's end.
    """
    found: list[int] = []
    depth, in_list, current, current_start, expecting = 0, False, "", 0, False
    for token in find_tokens(text, _inside(text, at)):
        kind, word = token.lastgroup, token[0]
        if kind in ("blank", "comment"):
            continue
        if kind == "open":
            if depth == 0 and current == name:
                found.append(token.start() if in_list else current_start)
            depth, expecting = depth + 1, False
        elif kind == "close":
            depth -= 1
            if depth < 0:
                break
        elif depth:
            continue
        elif word == "[":
            in_list = expecting = True
        elif word == "]":
            in_list = expecting = False
        elif word == ":" or (word == "," and in_list):
            expecting = True
        elif expecting:
            if current == name:
                found.append(token.start())
            expecting = False
        elif kind in ("name", "number") and not in_list:
            current, current_start = word, token.start()
    return found


def _inside(text: str, at: int) -> int:
    """The offset behind the brace that opens the message at `at`."""
    if at < 0:
        return 0
    for token in find_tokens(text, at):
        if token.lastgroup == "open":
            return token.end()
    return len(text)
