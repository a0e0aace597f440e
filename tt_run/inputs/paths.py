"""Where a file named in an input is looked for (reference launcher 0.81.1)."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from pathlib import Path

from mgd.diagnostics import Label, Position
from mgd.lean import dataclass
from tt_run.inputs.findings import Findings, nearest
from tt_run.inputs.site import Site, is_file

_ENDINGS = {"mesh graph descriptor": (".textproto",)}
_DATA = (".yaml", ".yml", ".txt", "")


@dataclass(frozen=True)
class PathSearch:
    """Finds files the way the reference does: `$TT_METAL_HOME`, then the launch directory; and then, which it does not,
    the directory of the file that names the path. `is_strict` (`--check off`): there only what starts with `./` or `../`."""

    site: Site
    findings: Findings
    is_strict: bool = False

    @property
    def roots(self) -> tuple[Path, ...]:
        """The directories that are searched for every relative path, first one first."""
        home = self.site.get("TT_METAL_HOME")
        launch = self.site.cwd
        return (self.site.expand_user(home), launch) if home else (launch,)

    def find(
        self,
        text: str,
        what: str,
        named_at: Position | None = None,
        *,
        beside: Path | None = None,
        first: Path | None = None,
        must_exist: bool = True,
    ) -> Path | None:
        """The absolute path of an existing file, or None with a finding.

        `what` names the kind of file in messages, `named_at` is where an input names it. `beside` is the directory of that
        input, `first` one to try before all others. With `must_exist` off a missing file is taken from the launch directory.
        """
        if not text or "\0" in text:
            why = "the name holds a NUL character" if text else "the name is empty"
            labels = [Label(named_at, why)] if named_at else []
            self.findings.fatal("TTR101", f"{what}: no file is named", *labels, help="write the path of one")
            return None
        path = self.site.expand_user(text)
        if path.is_absolute():
            searched: Sequence[Path] = (path,)
        else:
            extends = not self.is_strict or text.startswith(("./", "../"))
            last = [beside] if beside and extends else []
            folders = [*([first] if first else []), *self.roots, *last]
            searched = tuple(dict.fromkeys(folder / path for folder in folders))
        hits = [candidate for candidate in searched if is_file(candidate)]
        if hits:
            self._tell_shadowed(hits, path, named_at, first)
            return hits[0].resolve()
        if named_at is None and not self.is_strict:
            from tt_run.inputs.shipped import find_shipped

            ready = find_shipped(text, what)
            if ready is not None:
                return ready.resolve()
        if not must_exist:
            return Path(os.path.realpath(self.site.cwd / path))  # resolve raises for links in a circle
        self._tell_missing(path, what, named_at, searched, beside)
        return None

    def _tell_shadowed(
        self, hits: list[Path], path: Path, named_at: Position | None, first: Path | None
    ) -> None:
        home = self.site.get("TT_METAL_HOME")
        if not home or first is not None or hits[0] != self.site.expand_user(home) / path:
            return
        hidden = next((hit for hit in hits[1:] if hit.resolve() != hits[0].resolve()), None)
        if hidden is not None:
            labels = [Label(named_at, f"{path} is named here")] if named_at else []
            self.findings.warn(
                "TTR118",
                f"TT_METAL_HOME hides {path} of the launch directory",
                *labels,
                Label(Position(str(hits[0])), "used: $TT_METAL_HOME is searched first"),
                Label(Position(str(hidden)), "not used"),
                help=f"write the absolute path {hidden}, or unset TT_METAL_HOME",
            )

    def _value(self, variable: re.Match[str]) -> str:
        return self.site.get(variable[1]) or variable[0]

    def _tell_missing(
        self,
        path: Path,
        what: str,
        named_at: Position | None,
        searched: Sequence[Path],
        beside: Path | None,
    ) -> None:
        there = next((place for place in searched if os.path.lexists(place)), None)
        if there is not None and os.path.isdir(there):  # noqa: PTH112
            text, help = "is a directory", "name the file in it"
        elif there is not None:
            end = os.path.realpath(there)
            text = (
                "is a symbolic link that leads back to itself"
                if os.path.islink(end)  # noqa: PTH114
                else "is no regular file"
                if os.path.lexists(end)
                else f"is a link to {end}, which does not exist"
            )
            help = "name a regular file"
        elif "$" in str(path):
            text = "taken as it stands: no variable is put in for its name"
            help = f"write the path itself: {re.sub(r'[$][{]?([A-Za-z_][A-Za-z_0-9]*)[}]?', self._value, str(path))}"
        elif named_at is None and (ready := _near_ready_file(path, what)) is not None:
            text, help = _why_missing(searched), f"did you mean {ready}, which comes with tt-run?"
        elif named_at is not None and (ready_file := _ready_file(path, what)) is not None:
            text = "on the command line ready ones have names; a file names a path"
            help = f"write {ready_file}"
        elif beside is not None and is_file(beside / path):
            text = "not in the launch directory"
            help = f"write ./{path} for the file beside the one that names it"
        else:
            meant = _near_file(path, searched, _ENDINGS.get(what, _DATA))
            text = _why_missing(searched)
            help = (
                f"did you mean {path.with_name(meant)}?" if meant else _what_there_is(what, named_at is None)
            )
        self.findings.fatal(
            "TTR101",
            f"{what} not found: {path}",
            Label(named_at, text) if named_at else Label(Position(str(path)), text),
            help=help,
            notes=("searched in: " + ", ".join(str(place) for place in searched),),
        )


def _ready_file(path: Path, what: str) -> Path | None:
    """The file that comes with tt-run and is called so where names are taken."""
    from tt_run.inputs.shipped import find_shipped

    return find_shipped(str(path), what)


def _near_ready_file(path: Path, what: str) -> str | None:
    """A file that comes with tt-run and whose name is near the missing one's."""
    if path.parent != Path():
        return None
    from tt_run.inputs.shipped import shipped

    names = list(shipped(what))
    if what == "mesh graph descriptor":
        from mgd.systems import systems

        names += [system.name for system in systems()]
    return nearest(path.stem, names)


def _what_there_is(what: str, by_name: bool) -> str:
    """How a file is named, and those that come with tt-run where they go by name."""
    from tt_run.inputs.shipped import shipped

    if by_name and what == "mesh graph descriptor":
        return "write the path of a file, or a name that mgd systems lists"
    if by_name and (ready := list(shipped(what))):
        return f"write the path of a file, or the name of a ready one: {', '.join(ready)}"
    return "write an absolute path, or a path from the launch directory"


def _why_missing(searched: Sequence[Path]) -> str:
    """What the system says about a place where no file was found, if that is more than that there is none."""
    for place in searched:
        try:
            os.stat(place)  # noqa: PTH116
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                return (error.strerror or str(error)).lower()
    return "no such file"


def _near_file(path: Path, searched: Sequence[Path], endings: Sequence[str]) -> str | None:
    """A file of a similar name where the missing one was looked for, with its ending or one that the kind of file has."""
    by_stem: dict[str, str] = {}
    for folder in dict.fromkeys(place.parent for place in searched):
        try:
            entries = list(folder.iterdir())
        except OSError:
            continue
        for entry in entries:
            is_of_its_kind = entry.suffix in endings and (entry.suffix or not path.suffix)
            if entry.suffix == path.suffix or (is_of_its_kind and entry.stem not in by_stem):
                by_stem[entry.stem] = entry.name
    meant = nearest(path.stem, by_stem)
    return by_stem[meant] if meant else None
