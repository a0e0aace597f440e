"""Slips about Python: a lost script or none, what is no program, a file that hides a package, modules and flags that leave ranks without."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from mgd.diagnostics import Diagnostic, Severity
from mgd.lean import replace
from tt_run.cli.reading.command_line import CommandLine
from tt_run.errors import InputError, UsageError
from tt_run.inputs.site import Site, is_dir


def lost_script(given: CommandLine, site: Site) -> tuple[Diagnostic, ...]:
    """A warning where Python is to run a file that is not here or may not be read. A warning only: the ranks may run where it is."""
    runs = _python(given.program)[1]
    if runs is None or given.looks_only or given.skip_executable_check:
        return ()
    path = site.cwd / runs
    if is_dir(path):
        return _no_program_in(runs, path)
    if barred := _barred(path):
        return _lost(f"the script {runs} may not be read", f"ls -ld {shlex.quote(barred)} says who may")
    if kind := _no_python(path):
        return _lost(f"{runs} is {kind[0]}, no program", kind[1].format(shlex.quote(runs)))
    if os.path.lexists(path):
        return ()
    from tt_run.inputs.findings import nearest

    programs = _programs_in(path.parent)
    whole = f"{path.name}.py"
    meant = (
        whole if whole in programs else nearest(path.name, programs, 0.7)
    )  # all have three letters in common
    help = f"did you mean {Path(runs).with_name(meant)}?" if meant else _elsewhere(path, site.cwd)
    return _lost(f"the script {runs} is not in {site.cwd}", help)


_PLACES = 200  # folders below the launch folder that are looked into


def _elsewhere(path: Path, cwd: Path) -> str:
    """What to do about a script that is not there: the one of that name in a folder near by, an example to copy, else to look."""
    below = (Path(place) for place, folders, _ in os.walk(cwd) if _pruned(folders))
    near = (cwd.parent, *(folder for folder, _ in zip(below, range(_PLACES), strict=False)))
    found = next((each / path.name for each in near if (each / path.name).is_file()), None)
    if found is not None:
        return f"did you mean {os.path.relpath(found, cwd)}?"
    from tt_run.cli.commands.examples import example_of

    if example := example_of(path):
        return f"tt-run examples {example} copies it"
    folder = next(each for each in path.parents if each.is_dir())
    return f"ls {shlex.quote(os.path.relpath(folder, cwd))} shows what is there; launch from the folder of the program, or write its path"


def _pruned(folders: list[str]) -> bool:
    """Leaves out of a walk what is hidden or installed; always true."""
    folders[:] = [
        each for each in folders if not each.startswith(".") and each not in ("site-packages", "__pycache__")
    ]
    return True


_NO_PYTHON = {
    ".ipynb": ("a notebook", "jupyter nbconvert --to script {} writes the program"),
    ".yaml": ("a YAML file", "name the program; files of a launch have options: --rank-binding {}"),
    ".textproto": ("a mesh graph descriptor", "name the program; a descriptor has an option: -m {}"),
}
"""By ending: what a file is that Python cannot run, and what to do."""


def _no_python(path: Path) -> tuple[str, str] | None:
    return _NO_PYTHON.get(path.suffix.replace(".yml", ".yaml")) if os.path.lexists(path) else None


def _lost(message: str, help: str) -> tuple[Diagnostic, ...]:
    return (Diagnostic("TTR013", message, help=help, severity=Severity.WARNING),)


def _barred(path: Path) -> str:
    """What stands in the way of reading a file: itself or a folder above it; empty where nothing does, or there is no file."""
    try:
        os.stat(path)  # noqa: PTH116 - as where programs are looked for
    except PermissionError:
        return str(path.parent)
    except (OSError, ValueError):
        return ""
    return "" if os.access(path, os.R_OK) else str(path)


def _programs_in(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir() if entry.suffix == ".py")
    except OSError:
        return []


def _no_program_in(shown: str, folder: Path) -> tuple[Diagnostic, ...]:
    """A warning for a folder that Python cannot run, having no `__main__.py`."""
    if os.path.lexists(folder / "__main__.py"):
        return ()
    programs = _programs_in(folder)
    help = f"name a file in it, such as {Path(shown, programs[0])}" if programs else "name a file"
    return _lost(f"the script {shown} is a folder without a __main__.py", help)


def refuse_lost_script(findings: Sequence[Diagnostic], is_here: bool) -> None:
    """Raises InputError for a lost script where every rank runs on this machine, which knows that it is not there."""
    if is_here:
        lost = [finding for finding in findings if finding.code == "TTR013" and not finding.is_error]
        if lost:
            raise InputError([replace(finding, severity=Severity.ERROR) for finding in lost])


_STARTS = {"-c": "'import ttnn'", "-m": "package.module"}


def refuse_python_alone(given: CommandLine) -> None:
    """Raises UsageError for Python without a script: it would read an empty standard input and end well."""
    flags, runs = _python(given.program)
    only_flags = runs is None and all(re.fullmatch(r"-[bBdEiIOPqsSuvx]+", flag) for flag in flags)
    is_alone = bool(given.program) and _is_python(given.program[0]) and not given.stdin
    is_alone = is_alone and only_flags and not {"-c", "-m", "-"}.intersection(given.program)
    lacks_word = len(given.program) == 2 and _is_python(given.program[0]) and given.program[1] in _STARTS
    if given.looks_only or not (lacks_word or is_alone):
        return
    word = " ".join(given.program)
    message, help = f"{word} says not what to run", f"{word} {_STARTS.get(given.program[-1])}"
    if is_alone:
        message = f"{word} has no program to run: nobody types into a rank"
        help = f"{word} script.py, or add --stdin for rank 0 to read this terminal"
    raise UsageError(Diagnostic("TTR003", message, help=f"write tt-run … {help}"))


def lost_modules(given: CommandLine, site: Site) -> tuple[Diagnostic, ...]:
    """A warning for each module of --warm that this Python does not find, where it is the one that runs the program."""
    python = site.which(given.program[0]) if given.warm and given.program[:1] else None
    if python is None or python.parent != Path(sys.executable).parent or not _is_python(str(python)):
        return ()
    from importlib.util import find_spec

    from tt_run.inputs.findings import nearest

    folder = site.cwd / Path(_script(given.program) or "").parent
    found = []
    for word in filter(None, map(str.strip, (given.warm or "").split(","))):
        top = word.partition(".")[0]
        if not top.isidentifier() or not (find_spec(top) or top in EMULATED or list(folder.glob(f"{top}*"))):
            meant = nearest(top, (*HIDDEN, "transformers", "scipy", "pandas", "safetensors"))
            help = (
                f"did you mean --warm {meant}?"
                if meant
                else "name modules with commas between them: --warm torch,numpy"
            )
            message = f"--warm {word}: the program's Python has no module {top}"
            found.append(Diagnostic("TTR024", message, help=help, severity=Severity.WARNING))
    return tuple(found)


EMULATED = ("ttnn", "ttml")
HIDDEN = ("ttnn", "ttml", "torch", "numpy", "mpi4py", "ml_dtypes", "tt_run")
"""What programs import, and a file of that name beside the program would be found first."""
HIDDEN_OF_PYTHON = (
    "array", "ast", "base64", "bisect", "calendar", "collections", "contextlib", "copy", "csv", "ctypes", "dataclasses", "datetime",
    "difflib", "email", "enum", "functools", "glob", "gzip", "hashlib", "heapq", "hmac", "http", "importlib", "inspect", "ipaddress",
    "json", "keyword", "linecache", "locale", "logging", "math", "multiprocessing", "numbers", "opcode", "operator", "pathlib",
    "pickle", "platform", "pprint", "queue", "random", "re", "reprlib", "secrets", "select", "selectors", "shutil", "signal",
    "socket", "ssl", "string", "struct", "subprocess", "tempfile", "textwrap", "threading", "timeit", "token", "tokenize",
    "traceback", "types", "typing", "unittest", "uuid", "warnings", "weakref", "zipfile",
)  # fmt: skip
"""Python's own modules that ranks and what they import cannot do without."""


def hidden_packages(given: CommandLine, site: Site) -> tuple[Diagnostic, ...]:
    """A warning for a file beside the script that is called as a package which programs import: Python would find it first."""
    script = _script(given.program)
    if script is None:
        return ()
    folder = Path(script).parent
    beside = frozenset(_programs_in(site.cwd / folder))
    return tuple(
        Diagnostic(
            "TTR019",
            f"{folder / name}.py is what the program gets for `import {name}`"
            + (", and so does Python itself" if name in HIDDEN_OF_PYTHON else ""),
            help=f"give it another name: mv {folder / name}.py {folder / name}_program.py",
            severity=Severity.WARNING,
        )
        for name in (*HIDDEN, *HIDDEN_OF_PYTHON)
        if f"{name}.py" in beside
    )


def isolated_python(given: CommandLine) -> tuple[Diagnostic, ...]:
    """A warning where Python is told to overlook its environment, in which emulated ranks find `ttnn`."""
    flags = _python(given.program)[0] if given.emulate else ()
    for word in flags:
        deaf = re.fullmatch(r"-[a-zA-Z]*?([IES])[a-zA-Z]*", word)
        if deaf:
            lost = (
                "the packages that are installed for it, which emulated ranks need"
                if deaf[1] == "S"
                else "PYTHONPATH, where emulated ranks find ttnn and ttml"
            )
            message = f"python {word} overlooks {lost}"
            help = f"leave {deaf[1]} out: tt-run --emulate … {given.program[0]} {given.program[-1]}"
            return (Diagnostic("TTR049", message, help=help, severity=Severity.WARNING),)
    return ()


def _is_python(word: str) -> bool:
    return re.fullmatch(r"python[\d.]*", Path(word).name) is not None


def _script(program: tuple[str, ...]) -> str | None:
    """The file that a Python command line runs, where its name ends in .py."""
    runs = _python(program)[1]
    return runs if runs is not None and runs.endswith(".py") else None


def _python(program: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    """The flags of a Python command line and the file that it runs; None for code, a module or what is no Python."""
    if not program or not _is_python(program[0]):
        return (), None
    flags = []
    words = iter(program[1:])
    for word in words:
        if word in ("-c", "-m", "-"):
            break
        if word in ("-W", "-X"):
            next(words, None)
        elif word.startswith("-"):
            flags.append(word)
        else:
            return tuple(flags), word
    return tuple(flags), None
