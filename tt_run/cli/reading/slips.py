"""Slips that make a command line mean something else: a misspelt command, a program taken for a value, options behind the program, a second
launcher, a file in the place of hosts."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mgd.diagnostics import Diagnostic, Severity
from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.reading.options import Option
from tt_run.cli.reading.parse import swallowed
from tt_run.errors import UsageError
from tt_run.inputs.site import Site, is_file


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
    name, rest = Path(given.program[0]).name, list(given.program[1:])
    if name == "tt-run" and not given.given:  # typed twice: all that follows is meant for one
        message = "the program is tt-run itself, and nothing says which ranks to start"
        raise UsageError(Diagnostic("TTR002", message, help=f"write it once: tt-run {shlex.join(rest)}"))
    while rest and site.which(rest[0]) is None and not os.path.lexists(site.cwd / rest[0]):
        del rest[0]
    raise UsageError(
        Diagnostic(
            "TTR018",
            f"the program is a launcher: every rank would start {name} again",
            help=f"write tt-run … {' '.join(rest) or 'python script.py'}; words for mpirun go into --mpi-args",
        )
    )


_DASHES = "\u2010\u2012\u2013\u2014\u2212"
"""What word processors and web pages make of hyphens."""


def refuse_other_dash(given: CommandLine, site: Site) -> None:
    """Raises UsageError where the program is an option whose hyphens have become a dash or are not there: `tt-run emulate --system t3000 …`."""
    word = given.program[0] if given.program else ""
    bare = word.lstrip(f"{_DASHES}-")
    names = {name for option in given.options() for name in option.names}
    is_dashed = word[:1] in tuple(_DASHES)
    if (
        f"--{bare.partition('=')[0]}" not in names
        or not bare
        or (bare == word and site.which(word) is not None)
    ):
        return
    if not is_dashed and (bare != word or os.path.lexists(site.cwd / word) or word in ("help", "version")):
        return
    wrong = (
        f"{word} begins with a dash that is no hyphen"
        if is_dashed
        else f"tt-run has no command {word}, but an option"
    )
    before = "… " if set(given.given) - set(given.configured) else ""
    line = f"tt-run {before}--{bare} {shlex.join(given.program[1:])}"
    raise UsageError(Diagnostic("TTR020", wrong, help=f"write {line}"))


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
    return late_options_of("tt-run", given.options(), given.program, site)


def late_options_of(
    command: str, options: Sequence[Option], program: Sequence[str], site: Site
) -> tuple[Diagnostic, ...]:
    """The same for the `options` of any command that starts a program."""
    found = {option: " ".join(words) for option, words in _options_among(options, program)}
    if not found:
        return ()
    from tt_run.inputs.program_sources import texts

    text = "\n".join(texts(tuple(program), site))
    if not text or "parse_known_args" in text or "sys.argv" in text:
        return ()
    return tuple(
        Diagnostic(
            "TTR027",
            f"{shown} stands after the program, so it goes to {program[0]} and not to {command}",
            help=f"write it before the program: {command} {shown} … {' '.join(program[:2])}",
            severity=Severity.WARNING,
        )
        for option, shown in found.items()
        if not _is_known(option.names[-1], text)
    )


def _is_known(name: str, text: str) -> bool:
    """Whether a program's sources have an option: as it is written, as an attribute, a key or a parameter; not as a word of a comment."""
    plain = re.escape(name.lstrip("-").replace("-", "_"))
    return name in text or re.search(rf"[.\"']{plain}\b|\b{plain}\s*[:=,)]", text) is not None


_CHOICES = (
    "--rank-binding",
    "--rank-bindings-mapping",
    "--mesh-graph-descriptor",
    "--mesh-graph-descriptor-mapping",
    "--system",
    "--emulate",
)
"""What says which ranks to start."""


def _says_which_ranks(given: CommandLine) -> bool:
    names = (name.strip("-").replace("-", "_") for name in _CHOICES)
    return any(given.given.get(name) for name in names) or given.mock_cluster_rank_binding is not None


def refuse_defaults_elsewhere(given: CommandLine, site: Site) -> None:
    """Raises UsageError where the defaults that say which ranks to start are in the folder of the program: `tt-run python first/program.py`."""
    if _says_which_ranks(given):
        return
    from tt_run.cli.reading.configuration import SECTION

    for word in given.program:
        folder, name = os.path.split(word)
        file = site.cwd / folder / "pyproject.toml"
        if not folder or not is_file(site.cwd / word) or not is_file(file):
            continue
        try:
            has_defaults = f"[{SECTION}]" in site.read_text(file)
        except (OSError, UnicodeDecodeError):
            continue
        if has_defaults:
            line = shlex.join(name if each == word else each for each in given.program)
            message = f"nothing says which ranks to start; {folder}/pyproject.toml has defaults, which are those of its folder"
            help = f"cd {shlex.quote(folder)} && tt-run {line}"
            raise UsageError(Diagnostic("TTR002", message, help=help))


def refuse_late_choice(given: CommandLine) -> None:
    """Raises UsageError where what says which ranks to start stands after the program alone."""
    if _says_which_ranks(given):
        return
    found = list(_options_among(given.options(), given.program))
    if not any(option.names[-1] in _CHOICES for option, _ in found):
        return
    late = shlex.join(word for _, words in found for word in words)
    kept = list(given.program)
    for word in (word for _, words in found for word in words):
        kept.remove(word)
    message = f"nothing says which ranks to start: {late} {'stand' if len(found) > 1 else 'stands'} after the program"
    raise UsageError(Diagnostic("TTR002", message, help=f"write tt-run {late} {shlex.join(kept)}"))


def _options_among(
    options: Iterable[Option], program: Sequence[str]
) -> Iterator[tuple[Option, tuple[str, ...]]]:
    """Options of tt-run among the program's words, as they are written there; not those that every program may have."""
    names = {
        name: option
        for option in options
        for name in option.names
        if name.startswith("--") and name not in ("--help", "--version", "--verbose")
    }
    words = program[1:]
    for at, word in enumerate(words):
        option = names.get(word.partition("=")[0])
        if option is not None:
            value = words[at + 1 : at + 2] if option.needs_value and "=" not in word else ()
            yield option, (word, *(each for each in value if each.partition("=")[0] not in names))


def refuse_file_of_hosts(given: CommandLine, site: Site) -> None:
    """Raises UsageError where --hosts names a file, as --hostfile of other launchers does."""
    text = given.hosts or ""
    if text and not re.search(r"[,:\[]", text) and is_file(site.cwd / site.expand_user(text)):
        help = f"write --mpi-args '--hostfile {text}'"
        raise UsageError(
            Diagnostic("TTR015", f"--hosts {text}: a file, where names of hosts are wanted", help=help)
        )
