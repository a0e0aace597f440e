"""Slips that make a command line mean something else: a program taken for a value, options behind the program."""

from __future__ import annotations

from collections.abc import Iterator

from mgd.diagnostics import Diagnostic, Severity
from tt_run.cli.command_line import CommandLine
from tt_run.cli.options import Option
from tt_run.errors import UsageError
from tt_run.inputs.site import Site


def refuse_swallowed_program(given: CommandLine, site: Site) -> None:
    """Raises UsageError where the last option before the program has no value, so that it took the program for one."""
    last = next((key for key in reversed(list(given.given)) if key not in given.configured), None)
    option = next((each for each in given.options() if each.key == last), None)
    if option is None or option.kind not in ("text", "file"):
        return
    value = given.given[option.key]
    word = value[-1] if isinstance(value, tuple) else value
    is_command = "/" not in word and site.which(word) is not None
    is_left_without = not given.program or site.which(given.program[0]) is None
    if is_command and is_left_without:
        rest = " ".join((word, *given.program[:1]))
        raise UsageError(
            Diagnostic(
                "TTR021",
                f"{option.name} has no value: it took {word!r}, which is the program",
                help=f"write {option.name} {option.metavar} {rest}",
            )
        )


def late_options(given: CommandLine, site: Site) -> tuple[Diagnostic, ...]:
    """A warning for each option of tt-run among the program's words of which the program's sources know nothing."""
    found = dict(_options_among(given))
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


def _options_among(given: CommandLine) -> Iterator[tuple[Option, str]]:
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
            yield option, " ".join((word, *value))
