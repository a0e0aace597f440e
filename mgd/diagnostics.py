"""What is wrong with an input, as a value: code, positions, help; and the one way it is printed.

Both packages use it: `mgd` for descriptors, `tt_run` for bindings, rankfiles and their fit with a descriptor.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable

from mgd.folding import fold, is_typed
from mgd.lean import dataclass, field


class Severity(enum.Enum):
    """How much a finding weighs: an ERROR refuses the input, a WARNING does not, a NOTE only informs."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a file: 1-based line and column. Line 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        # A file name may hold bytes that no terminal can be given.
        file = self.file if self.file.isascii() else self.file.encode("utf-8", "backslashreplace").decode()
        return f"{file}:{self.line}:{self.column}" if self.line else file


@dataclass(frozen=True, slots=True)
class Label:
    """One position and what is to be seen there."""

    position: Position
    text: str = ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about one or several inputs.

    `code` is permanent (MGD012, TTR204) and has a help page; `message` states the fact with the values at hand;
    `labels` are the positions, the first one is where an editor should jump; `help` is something that can be typed.
    """

    code: str
    message: str
    labels: tuple[Label, ...] = ()
    help: str = ""
    severity: Severity = Severity.ERROR
    notes: tuple[str, ...] = field(default=())

    @property
    def position(self) -> Position | None:
        """The first position, or None for a finding without a file."""
        return self.labels[0].position if self.labels else None

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR


# Bold is bright on many terminals: bold yellow, green and cyan cannot be read on a light background.
_COLOURS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;35m", Severity.NOTE: "\x1b[1;34m"}
_BOLD, _DIM, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"


LONGEST_WORD = 1000  # characters: no path is that long, and what is fills the screen


def showable(text: str) -> str:
    """A text of several lines as a terminal may have it: what is written in an input must neither colour, clear nor fill the screen."""
    if len(text) > LONGEST_WORD:
        text = " ".join(
            f"{word[:100]}… ({len(word)} characters)" if len(word) > LONGEST_WORD else word
            for word in text.split(" ")
        )
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "·" for c in text)


def on_one_line(name: str) -> str:
    """The name of a file in a message: one with line breaks as bash takes it, `$'a\\nb'`."""
    if "\n" not in name and "\r" not in name:
        return name
    inner = name.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + inner.replace("\n", "\\n").replace("\r", "\\r") + "'"


def render(
    diagnostic: Diagnostic,
    *,
    colour: bool = False,
    more: str = "",
    excerpt: Callable[[Position], Iterable[str]] | None = None,
    width: int = 0,
) -> str:
    """The finding as a text block in the house's manner; `more` is the command that explains the code, `excerpt` gives the lines
    to show of a place (`Excerpts.at`), `width` is that of the terminal, if there is one.

    ```
    error[TTR204]: rank binding names a mesh that the descriptor does not have
      --> bindings.yaml:3:14   rank 0 is bound to mesh_id 7
    3 |   - {rank: 0, mesh_id: 7}
      |                        ^
      help: bind rank 0 to mesh_id 0            more: tt-run --explain TTR204
    ```
    """
    tint, bold, dim, reset = (
        (_COLOURS[diagnostic.severity], _BOLD, _DIM, _RESET) if colour else ("", "", "", "")
    )
    name = f"{diagnostic.severity.value}[{diagnostic.code}]"
    message = fold(showable(diagnostic.message), width, " " * 4, len(name) + 2)
    lines = [f"{tint}{name}{reset}{bold}: {message}{reset}"]
    places = [showable(str(label.position)) for label in diagnostic.labels]
    texts = [showable(label.text) for label in diagnostic.labels]
    longest = max(map(len, places), default=0)
    beside = not width or all(9 + longest + len(text) <= width for text in texts)
    for label, place, text in zip(diagnostic.labels, places, texts, strict=True):
        lines.append(f"  {dim}-->{reset} {place:<{longest}}   {text if beside else ''}".rstrip())
        if text and not beside:
            lines.append(f"      {fold(text, width, ' ' * 6, 6)}")
        if excerpt is not None:
            shown = list(excerpt(label.position))
            lines += [f"  {dim}{line.rstrip()}{reset}" for line in shown[:1]]
            lines += [f"  {tint}{line}{reset}" for line in shown[1:]]
    lines.extend(f"  note: {fold(showable(note), width, ' ' * 8, 8)}" for note in diagnostic.notes)
    return "\n".join(
        [
            *lines,
            *_tail(showable(diagnostic.help), f"{more} {diagnostic.code}" * bool(more), width, dim, reset),
        ]
    )


def _tail(help: str, more: str, width: int, dim: str, reset: str) -> list[str]:
    """What to do, and what says more: on one line where both fit. What can be typed is not folded."""
    said = f"  {dim}more: {more}{reset}"
    if not help:
        return [said] if more else []
    if more and (not width or 16 + len(help) + len(more) <= width):
        return [f"  help: {help} {said}"]
    return [f"  help: {help if is_typed(help) else fold(help, width, ' ' * 8, 8)}", *[said] * bool(more)]


def count(diagnostics: Iterable[Diagnostic]) -> tuple[int, int]:
    """Numbers of errors and of warnings."""
    found = list(diagnostics)
    return (
        sum(d.severity is Severity.ERROR for d in found),
        sum(d.severity is Severity.WARNING for d in found),
    )
