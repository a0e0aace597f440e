"""Tokens one by one, and how reading goes on behind a mistake."""

from __future__ import annotations

from mgd.text import problems as codes
from mgd.text.lexer import after_blanks, match_token
from mgd.text.problems import Problems, quoted
from mgd.text.source import Source


class Stop(Exception):
    """Reading on would only repeat what has been said."""


class TokenReader:
    """The current token of a text (`kind`, `word`, `start`, `end`) and the step to the next one."""

    def __init__(self, source: Source, problems: Problems) -> None:
        self.source, self.text, self.problems = source, source.text, problems
        self.kind, self.word, self.start, self.end = "", "", 0, 0
        self._lost = False  # a structural mistake was met: braces may not match from there on
        self._line_end = -1  # of the last one: a second one on its line would only follow from it

    def _next(self) -> None:
        """Make the next token the current one."""
        start = after_blanks(self.text, self.end)
        found = match_token(self.text, start)
        if found is None:
            self.kind, self.word, self.start, self.end = "end", "", start, start
            return
        self.kind, self.word, self.start, self.end = found.lastgroup or "bad", found[0], start, found.end()
        if self.kind == "bad" and self.word in "\"'":
            self._unfinished_string()

    def _unfinished_string(self) -> None:
        line_end = self.text.find("\n", self.start)
        self.end = len(self.text) if line_end < 0 else line_end
        self.problems.error(
            codes.BAD_STRING,
            self.start,
            "a string is not closed on its line",
            help=f"close it with {self.word}",
        )
        self.kind, self.word = "string", '""'

    def _accept(self, mark: str) -> bool:
        if self.word != mark or self.kind == "string":
            return False
        self._next()
        return True

    def _separator(self) -> None:
        if not self._accept(","):
            self._accept(";")

    def _unexpected(self, wanted: str, help: str = "") -> None:
        """Report the current token and find a place from which reading on makes sense."""
        if self.kind == "end":
            self._eof(wanted)
            self._lost = True
            return
        if self.start > self._line_end:
            told = f"expected {wanted}, found {quoted(self.word)}"
            self.problems.error(codes.UNEXPECTED, self.start, told, help=help or self._advice())
            line_end = self.text.find("\n", self.start)
            self._line_end = line_end if line_end >= 0 else len(self.text)
        self._lost = True
        self._resume()

    def _advice(self) -> str:
        """What to do about a current token that has no place where it stands."""
        if self.word == "/":
            return "comments begin with #"
        if self.word == "{" and self.text[self.end : self.end + 80].lstrip().startswith('"'):
            return 'write mesh_descriptors { name: "M0" … }: this is the text format of protobuf, not JSON'
        if self.word in (",", ";"):
            return "remove it; one separator behind a field is enough"
        if self.word == "=":
            return "write : in its place"
        if self.kind == "bad":
            return "remove it"
        if self.kind == "number" and self.word[0] == "0" and self.word.isdecimal():
            return "remove the leading 0, which means octal"
        return "see what stands before it"

    def _eof(self, wanted: str) -> None:
        self.problems.error(
            codes.UNEXPECTED,
            max(len(self.text) - 1, 0),
            f"expected {wanted}, found the end of the file",
            help="complete what was begun, or remove it",
        )

    def _resume(self) -> None:
        """Skip to the next block end, or to the first name on a later line."""
        while self.kind not in ("end", "close"):
            if self.kind == "name" and self.start > self._line_end:
                return
            self._next()

    def _skip_balanced(self) -> None:
        """Skip a bracketed value that has already been refused."""
        depth = 0
        while self.kind != "end":
            if self.kind == "open" or self.word == "[":
                depth += 1
            elif self.kind == "close" or self.word == "]":
                depth -= 1
            self._next()
            if depth <= 0:
                break
        self._separator()
