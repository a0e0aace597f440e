"""Slips that make a command line mean something else: a misspelt command, a program taken for a value, options behind the program, a lost script, a
second launcher, a file that hides a package, a Python that is deaf or has nothing to run."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from mgd.diagnostics import Diagnostic, Severity
from mgd.lean import replace
from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.reading.options import Option
from tt_run.cli.reading.parse import swallowed
from tt_run.errors import InputError, UsageError
from tt_run.inputs.site import Site, is_dir


def refuse_swallowed_program(given: CommandLine, site: Site) -> None:
    """Raises UsageError where the last option before the program has no value, so that it took the program for one."""
    last = next((key for key in reversed(list(given.given)) if key not in given.configured), None)
    option = next((each for each in given.options() if each.key == last), None)
    if option is None or not (option.is_path or option.kind == "text"):
        return
    value = given.given[option.key]
    word = value[-1] if isinstance(value, tuple) else value
    is_command = "/" not in word and site.which(word) is not None
    if option.name == "--mesh-graph-descriptor" and (module := _module(word, given, site)):
        raise UsageError(Diagnostic("TTR021", f"-m {word}: no descriptor is called so", help=module))
    is_left_without = not given.program or site.which(given.program[0]) is None
    if is_command and is_left_without:
        raise swallowed(option, word, given.program)


def refuse_detached_value(given: CommandLine, site: Site) -> None:
    """Raises UsageError where the value of an option that may have none stands apart, `--predict p.json python x.py`, and would be the program."""
    last = next((key for key in reversed(list(given.given)) if key not in given.configured), None)
    option = next((each for each in given.options() if each.key == last), None)
    if option is None or not option.metavar.startswith("[=") or len(given.program) < 2:
        return
    word, command, *_ = given.program
    if site.which(word) is not None or site.which(command) is None or "." not in word:
        return
    message = f"{option.name} {word}: a value of this option is joined to it"
    line = shlex.join(given.program[1:3])
    raise UsageError(Diagnostic("TTR021", message, help=f"write {option.name}={word} {line}"))


def _module(word: str, given: CommandLine, site: Site) -> str | None:
    """How to run a module, where -m stands for Python's: `-m pytest tests`, `-m program`."""
    from tt_run.inputs.shipped import find_shipped

    if not re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", word) or os.path.lexists(site.cwd / word):
        return None
    path = site.cwd / word.replace(".", "/")
    is_module = path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()
    if find_shipped(word, "mesh graph descriptor") or not (
        is_module or ("." not in word and site.which(word))
    ):
        return None
    return (
        f"-m is a descriptor here; a module runs as: tt-run … {' '.join(('python -m', word, *given.program))}"
    )


LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "srun", "tt-run")


def refuse_second_launcher(given: CommandLine, site: Site) -> None:
    """Raises UsageError where the program is a launcher itself: each rank would start a job of its own."""
    if not given.program or Path(given.program[0]).name not in LAUNCHERS or given.skip_executable_check:
        return
    rest = list(given.program[1:])
    while rest and site.which(rest[0]) is None and not os.path.lexists(site.cwd / rest[0]):
        del rest[0]
    name = Path(given.program[0]).name
    raise UsageError(
        Diagnostic(
            "TTR018",
            f"the program is a launcher: every rank would start {name} again",
            help=f"write tt-run … {' '.join(rest) or 'python script.py'}; words for mpirun go into --mpi-args",
        )
    )


def refuse_misspelt_command(given: CommandLine, site: Site) -> None:
    """Raises UsageError for a lone word that is no program and nearly the name of a command, `tt-run statsu`, or that other launchers have:
    `tt-run run python x.py`."""
    if set(given.given) - set(given.configured) or not given.program:
        return
    word = given.program[0]
    if "/" in word or site.which(word) is not None or os.path.lexists(site.cwd / word):
        return
    from tt_run.cli.commands import COMMANDS
    from tt_run.inputs.findings import nearest

    rest = given.program[1:]
    is_spare = word in ("run", "exec", "start", "launch") and bool(rest)
    meant = nearest(word, COMMANDS)
    if word == "version":
        raise UsageError(
            Diagnostic(
                "TTR020", "tt-run has no command version, but an option", help="write tt-run --version"
            )
        )
    if meant is not None or is_spare:
        line = " ".join(("tt-run", *(() if is_spare else (str(meant),)), *rest))
        raise UsageError(
            Diagnostic(
                "TTR020", f"tt-run has no command {word}, and no program is called so", help=f"write {line}"
            )
        )


def late_options(given: CommandLine, site: Site) -> tuple[Diagnostic, ...]:
    """A warning for each option of tt-run among the program's words of which the program's sources know nothing."""
    found = {option: " ".join(words) for option, words in _options_among(given)}
    if not found:
        return ()
    from tt_run.inputs.program_sources import texts

    text = "\n".join(texts(given.program, site))
    if not text or "parse_known_args" in text or "sys.argv" in text:
        return ()
    return tuple(
        Diagnostic(
            "TTR027",
            f"{shown} stands after the program, so it goes to {given.program[0]} and not to tt-run",
            help=f"write it before the program: tt-run {shown} … {' '.join(given.program[:2])}",
            severity=Severity.WARNING,
        )
        for option, shown in found.items()
        if not any(name in text or name.lstrip("-").replace("-", "_") in text for name in option.names[-1:])
    )


_CHOICES = (
    "--rank-binding",
    "--rank-bindings-mapping",
    "--mesh-graph-descriptor",
    "--mesh-graph-descriptor-mapping",
    "--system",
    "--emulate",
)
"""What says which ranks to start."""


def refuse_late_choice(given: CommandLine) -> None:
    """Raises UsageError where what says which ranks to start stands after the program alone."""
    if (
        any(given.given.get(name.strip("-").replace("-", "_")) for name in _CHOICES)
        or given.mock_cluster_rank_binding
    ):
        return
    found = list(_options_among(given))
    if not any(option.names[-1] in _CHOICES for option, _ in found):
        return
    if Path(given.program[0]).name == "tt-run":
        message = "the program is tt-run itself, and nothing says which ranks to start"
        raise UsageError(
            Diagnostic("TTR002", message, help=f"write it once: tt-run {shlex.join(given.program[1:])}")
        )
    late = shlex.join(word for _, words in found for word in words)
    kept = list(given.program)
    for word in (word for _, words in found for word in words):
        kept.remove(word)
    message = f"nothing says which ranks to start: {late} {'stand' if len(found) > 1 else 'stands'} after the program"
    raise UsageError(Diagnostic("TTR002", message, help=f"write tt-run {late} {shlex.join(kept)}"))


def _options_among(given: CommandLine) -> Iterator[tuple[Option, tuple[str, ...]]]:
    """Options of tt-run among the program's words, as they are written there; not those that every program may have."""
    names = {
        name: option
        for option in given.options()
        for name in option.names
        if name.startswith("--") and name not in ("--help", "--version", "--verbose")
    }
    words = given.program[1:]
    for at, word in enumerate(words):
        option = names.get(word.partition("=")[0])
        if option is not None:
            value = words[at + 1 : at + 2] if option.needs_value and "=" not in word else ()
            yield option, (word, *(each for each in value if each.partition("=")[0] not in names))


def lost_script(given: CommandLine, site: Site) -> tuple[Diagnostic, ...]:
    """A warning where Python is to run a file that is not here or may not be read. A warning only: the ranks may run where it is."""
    runs = _python(given.program)[1]
    if runs is None or given.looks_only or given.skip_executable_check:
        return ()
    path = site.cwd / runs
    if is_dir(path):
        return _no_program_in(runs, path)
    script = _script(given.program)
    if barred := _barred(path):
        return _lost(f"the script {runs} may not be read", f"ls -ld {shlex.quote(barred)} says who may")
    if kind := _no_python(path):
        return _lost(f"{runs} is {kind[0]}, no program", kind[1].format(shlex.quote(runs)))
    if script is None or os.path.lexists(path):
        return ()
    from tt_run.inputs.findings import nearest

    meant = nearest(Path(script).name, _programs_in(path.parent), 0.7)  # all have three letters in common
    help = (
        f"did you mean {Path(script).with_name(meant)}?"
        if meant
        else "check the name, and the folder that you launch from"
    )
    return _lost(f"the script {script} is not in {site.cwd}", help)


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
    is_alone = len(given.program) == 1 and _is_python(given.program[0]) and not given.stdin
    lacks_word = len(given.program) == 2 and _is_python(given.program[0]) and given.program[1] in _STARTS
    if lacks_word and not given.looks_only:
        word = " ".join(given.program)
        raise UsageError(
            Diagnostic(
                "TTR003",
                f"{word} says not what to run",
                help=f"write tt-run … {word} {_STARTS[given.program[1]]}",
            )
        )
    if is_alone and not given.looks_only:
        word = given.program[0]
        raise UsageError(
            Diagnostic(
                "TTR003",
                f"{word} has no program to run: nobody types into a rank",
                help=f"write tt-run … {word} script.py, or add --stdin for rank 0 to read this terminal",
            )
        )


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
        deaf = re.fullmatch(r"-[a-zA-Z]*?([IE])[a-zA-Z]*", word)
        if deaf:
            message = f"python {word} overlooks PYTHONPATH, where emulated ranks find ttnn and ttml"
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
