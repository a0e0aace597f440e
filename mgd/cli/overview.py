"""`mgd --help`: the verbs, in one screen. Imports nothing that takes time."""

from __future__ import annotations

import os
import sys

VERBS = {
    "check": "Check descriptors and tell every mistake.",
    "show": "Draw meshes, hosts, ranks, wraps and links; text, SVG, a page.",
    "describe": "Count devices, hosts and links; bisection, diameter.",
    "new": "Write a descriptor from shape, hosts and links.",
    "fmt": "Lay descriptors out in one way.",
    "fix": "Repair what has only one repair.",
    "diff": "Compare the topology of two descriptors.",
    "convert": "Convert between MGD 1.0 and 2.0.",
    "systems": "List the systems that ship with it.",
    "explain": "Explain a rule, with a bad and a good example.",
    "schema": "Print the JSON schema of bindings and other YAML, for editors.",
    "serve": "Serve an editor: a language server.",
    "completion": "Print the completion script of a shell.",
}
WIDEST = 110
INTRODUCTION = (
    "Check, draw and write Mesh Graph Descriptors, the files that say how the devices of a system are linked."
)
EPILOGUE = "A FILE is a path, - for standard input, or the name of a shipped system."
EXAMPLES = (
    "mgd show t3000",
    "mgd new --shape 2x4 --hosts 1x2 -o my.textproto",
    "mgd check my.textproto",
)
_OPTIONS = {"-V, --version": "Show the version and exit.", "-h, --help": "Show this message and exit."}


def overview() -> str:
    """The help of the whole, as wide as the terminal up to WIDEST."""
    width = min(_terminal_width(), WIDEST) - 2
    lines = ["Usage: mgd [OPTIONS] COMMAND [ARGS]...", "", *_wrapped(INTRODUCTION, width), "", "Examples:"]
    lines += [*(f"  {each}" for each in EXAMPLES), "", "Commands:", *_rows(VERBS, width)]
    return "\n".join([*lines, "", "Options:", *_rows(_OPTIONS, width), "", *_wrapped(EPILOGUE, width)])


def _rows(meanings: dict[str, str], width: int) -> list[str]:
    """Names and beside them what they mean."""
    lines = []
    for name, meaning in meanings.items():
        first, *others = _wrapped(meaning, width - 15)
        lines += [f"  {name:<13}{first}", *(f"{' ' * 15}{line}" for line in others)]
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += f"{' ' * bool(lines[-1])}{word}"
    return [f"  {line}" for line in lines]


def _terminal_width() -> int:
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return 80
