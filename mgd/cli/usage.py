"""Words of a command line that cannot be meant, told as every other finding: code, what was typed, what to type instead."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches

import click

from mgd.cli.findings import finding_texts
from mgd.cli.inputs import WrongUsage
from mgd.diagnostics import Diagnostic, Severity
from mgd.text.problems import IDLE, USAGE


class Misused(click.UsageError, WrongUsage):
    """Words that a verb refuses, with `help`, what to type instead."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


def warn_idle(option: str, why: str, help: str) -> None:
    """Say on standard error that an option does nothing where it stands."""
    finding = Diagnostic(IDLE, f"{option}: {why}", (), help, severity=Severity.WARNING)
    sys.stderr.write(finding_texts(sys.stderr)(finding) + "\n")


def instead_of(word: str, verbs: Iterable[str]) -> str:
    """What to write in place of a word that is no verb."""
    from mgd.systems import UnknownSystem, find

    near = get_close_matches(word, verbs, n=1)
    if near:
        return f"did you mean `mgd {near[0]}`?"
    if word == "version":
        return "write mgd --version"
    is_file = os.path.lexists(word)
    with suppress(UnknownSystem):
        is_file = is_file or bool(find(word))
    return f"write mgd show {shlex.quote(word)}" if is_file else "mgd --help lists what there is"


def print_wrong_usage(error: Exception, words: Sequence[str] = ()) -> int:
    """Prints the finding on standard error; the exit code for wrong usage. `words` are the command line."""
    if isinstance(error, click.NoSuchOption) and len(error.option_name) == 2:
        # click reads -help as -h, -e, …
        long = next(
            (word for word in words if re.fullmatch(r"-[a-z]{3,}", word) and error.option_name[1] in word),
            None,
        )
        if long and error.ctx:
            known = [name for each in error.ctx.command.get_params(error.ctx) for name in each.opts]
            error = click.NoSuchOption(
                long, possibilities=[f"-{long}"] if f"-{long}" in known else None, ctx=error.ctx
            )
    message, help = _parts(error, words)
    finding = Diagnostic(USAGE, message, (), help)
    sys.stderr.write(finding_texts(sys.stderr)(finding) + "\n")
    return 2


def _parts(error: Exception, words: Sequence[str]) -> tuple[str, str]:
    """What is wrong, and what to type."""
    if isinstance(error, WrongUsage):
        return str(error), error.help
    context = getattr(error, "ctx", None)
    verb = context.command_path if context is not None else "mgd"
    message = error.format_message() if isinstance(error, click.ClickException) else str(error)
    first = f"{verb}: {message[:1].lower()}{message[1:].rstrip('.')}"
    if isinstance(error, click.NoSuchOption):
        near = " or ".join(get_close_matches(error.option_name, error.possibilities or (), cutoff=0))
        chosen = _as_a_choice(error.option_name.strip("-"), context) or _as_elsewhere(
            error.option_name, words, context
        )
        if chosen:
            return f"{verb} has no option {error.option_name}", f"write {chosen}"
        return (
            f"{verb} has no option {error.option_name}",
            f"did you mean {near}?" if near else f"{_options_of(context)}{verb} --help",
        )
    if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter):
        wrong, _, wanted = error.message.partition(": ")
        wrong = wrong.replace("is not a valid integer range", "is not a whole number")
        wrong = wrong.replace("is not a valid integer", "is not a whole number")
        name = error.param.get_error_hint(context).strip("'") if error.param is not None else "a word"
        if isinstance(error.param, click.Parameter) and isinstance(error.param.type, click.Choice):
            choices = [str(choice) for choice in error.param.type.choices]
            nearest = get_close_matches(wrong.split("'")[1], choices, n=1) or choices
            option = error.param.opts[-1] if isinstance(error.param, click.Option) else verb
            return f"{verb} {name}: {wrong.rstrip('.')}", f"write {option} {nearest[0]}"
        if isinstance(error.param, click.Option) and isinstance(error.param.type, click.IntRange):
            wanted = wanted or f"write {error.param.opts[-1]} {_within(error.param.type, wrong)}"
        return f"{verb} {name}: {wrong.rstrip('.')}", wanted or f"{verb} --help lists what it takes"
    kind = error.param.type if isinstance(error, click.MissingParameter) and error.param else None
    if isinstance(kind, click.Choice):
        choices = [str(choice) for choice in kind.choices]
        return f"{verb}: name one of {', '.join(choices)}", f"write {verb} {choices[0]}"
    if context is not None and context.parent is not None:
        if verb == "mgd new" and "extra argument" in first:
            return first, "a shape is an option: write mgd new --shape 2x4"
        return first, f"write {_completed(error, words, context)}"
    return first, f"{verb} --help lists what there is"


def _within(kind: click.IntRange, wrong: str) -> int:
    """The number of a range that is nearest to the one in a message, or 100 where it has none."""
    number = re.match(r"-?\d+", wrong)
    least, most = int(kind.min or 0), int(kind.max or 100)
    return min(max(int(number[0]) if number else 100, least), most)


def _as_a_choice(word: str, context: click.Context | None) -> str:
    """The option of which an unknown one is a value, as `--json` is `--format json`; empty where there is none."""
    for option in context.command.params if context is not None else ():
        choices = option.type.choices if isinstance(option.type, click.Choice) else ()
        if isinstance(option, click.Option) and word in map(str, choices):
            return f"{option.opts[-1]} {word}"
    return ""


_ELSEWHERE = {
    ("mgd", "-v"): "mgd --version",
    ("mgd show", "-o"): "--svg FILE.svg or --html FILE.html",
    ("mgd show", "--output"): "--svg FILE.svg or --html FILE.html",
}
"""What has another name here, by verb and option; `--format json` is `--json` wherever that is."""


def _as_elsewhere(option: str, words: Sequence[str], context: click.Context | None) -> str:
    """What to write for an option that other verbs or tools have; empty where none is known."""
    names = _names(context)
    if option == "--format" and "--json" in names and ("json" in words or "--format=json" in words):
        return "--json"
    return _ELSEWHERE.get((context.command_path if context is not None else "", option), "")


def _names(context: click.Context | None) -> list[str]:
    params = context.command.params if context is not None else ()
    return [param.opts[-1] for param in params if isinstance(param, click.Option)]


def _options_of(context: click.Context | None) -> str:
    """The options that a verb has, before the line that shows all of it."""
    names = _names(context)
    return f"it has {', '.join(names)}: " if names else ""


_SAMPLES = {"A": "t3000 galaxy", "B": "galaxy", "CODE": "MGD012", "SYSTEM": "t3000"}
"""What can be typed for an argument that is missing, by its form; others are files."""
_REWRITING = ("mgd fmt", "mgd fix")


def _completed(error: Exception, words: Sequence[str], context: click.Context) -> str:
    """The line with what it lacks, or without what it has too much."""
    too_much = re.search(r"extra arguments? \((.*)\)$", str(getattr(error, "message", "")))
    if too_much:
        rest = list(words)
        for extra in reversed(too_much[1].split(" ")):
            at = len(rest) - 1 - rest[::-1].index(extra) if extra in rest else -1
            del rest[at]
        return shlex.join(("mgd", *rest))
    given, lacking = list(words), getattr(error, "param", None)
    form = str(getattr(lacking, "metavar", "") or "").strip("[].")
    sample = "mesh.textproto" if context.command_path in _REWRITING else _SAMPLES.get(form, "t3000")
    if sample in given:  # what is compared is another one
        sample = "t3000" if sample == "galaxy" else "galaxy"
    return f"{shlex.join(('mgd', *given))} {sample}"
