"""A program on the emulation in this process, without launcher or MPI: what `python -m tt_run.emulate` says and does."""

from __future__ import annotations

import os
import runpy
import sys
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType

from tt_run import contract
from tt_run.testing.shims import activate, unknown_system

_USAGE = "usage: python -m tt_run.emulate [--system NAME] (PROGRAM.py | -m MODULE | -c CODE) [ARGUMENT …]"
_OURS = (__file__, str(Path(__file__).parents[1] / "emulate.py"), runpy.__file__, "<frozen runpy>")
_LINE = "write python -m tt_run.emulate"


def main(words: list[str], about: str = "") -> int:
    """Run what the words say as `__main__`; returns 2 when they say nothing that can be run, 66 when the program is missing. `about` is
    the help text."""
    system = None
    while words and words[0].startswith("--system"):
        name, _, value = words.pop(0).partition("=")
        if name != "--system" or not (value or words):
            return _refused("TTR021", f"{name} needs the name of a system", f"{_LINE} --system t3000 …")
        system = value or words.pop(0)
    if words and words[0] in ("-h", "--help"):
        print(f"{about}\n{_USAGE}")
        return 0
    if not words:
        return _refused("TTR003", "no program to run", f"{_LINE} program.py")
    if wrong := unknown_system(system or os.environ.get(contract.SYSTEM)):
        of_shell = "" if system else f"{contract.SYSTEM}: "
        return _refused("TTR012", f"{of_shell}{wrong}", "mgd systems lists them all")
    activate(system)
    sys.excepthook = _without_our_frames
    kind, rest = words[0], words[1:]
    if kind in ("-m", "-c"):
        return _run_word(kind, rest)
    if kind.startswith("-"):
        near = get_close_matches(kind, ["--system"])
        help = (
            "did you mean --system?"
            if near
            else "this takes --system NAME alone; more do ranks: tt-run --emulate …"
        )
        return _refused("TTR020", f"python -m tt_run.emulate has no option {kind}", help)
    if not Path(kind, "__main__.py" if Path(kind).is_dir() else "").is_file():
        return _lost(Path(kind))
    sys.argv = words
    sys.path.insert(1, str(Path(kind).resolve().parent))
    runpy.run_path(kind, run_name="__main__")
    return 0


def _run_word(kind: str, rest: list[str]) -> int:
    """A module or a text."""
    if not rest:
        example = "package.module" if kind == "-m" else "'import ttnn'"
        return _refused("TTR003", f"{kind} says not what to run", f"{_LINE} {kind} {example}")
    sys.argv = [kind, *rest[1:]] if kind == "-c" else rest
    if kind == "-m":
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    return 0


def _lost(path: Path) -> int:
    folder = path if path.is_dir() else path.parent
    names = sorted(each.name for each in folder.glob("*.py"))
    if path.is_dir():
        help = f"name a file in it, such as {path / names[0]}" if names else "name a file"
        return _refused("TTR013", f"{path} is a folder without a __main__.py", help, contract.Exit.UNREADABLE)
    near = [str(path.with_name(name)) for name in get_close_matches(path.name, names, 1, 0.7)]
    help = f"did you mean {near[0]}?" if near else "check the name, and the folder that you start from"
    return _refused("TTR013", f"there is no file {path}", help, contract.Exit.UNREADABLE)


def _refused(code: str, message: str, help: str, exit_code: int = contract.Exit.USAGE) -> int:
    print(f"error[{code}]: {message}\n  help: {help}   more: tt-run --explain {code}", file=sys.stderr)
    return int(exit_code)


def _without_our_frames(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """The traceback from the program's own first line on, as `python program.py` prints it."""
    own = trace
    while own is not None and own.tb_frame.f_code.co_filename in _OURS:
        own = own.tb_next
    sys.__excepthook__(kind, error.with_traceback(own), own)
