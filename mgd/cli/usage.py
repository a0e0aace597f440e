"""Words of a command line that cannot be meant, told as every other finding: code, what was typed, what to type instead."""

from __future__ import annotations

import sys
from difflib import get_close_matches

import click

from mgd.cli.findings import teller
from mgd.cli.inputs import WrongUsage
from mgd.diagnostics import Diagnostic
from mgd.text.problems import USAGE


class Misused(click.UsageError, WrongUsage):
    """Words that a verb refuses, with `help`, what to type instead."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


def tell(error: Exception) -> int:
    """Prints the finding on standard error; the exit code for wrong usage."""
    message, help = _parts(error)
    finding = Diagnostic(USAGE, message, (), help)
    sys.stderr.write(teller(sys.stderr)(finding) + "\n")
    return 2


def _parts(error: Exception) -> tuple[str, str]:
    """What is wrong, and what to type."""
    if isinstance(error, WrongUsage):
        return str(error), error.help
    context = getattr(error, "ctx", None)
    verb = context.command_path if context is not None else "mgd"
    message = error.format_message() if isinstance(error, click.ClickException) else str(error)
    first = f"{verb}: {message[:1].lower()}{message[1:].rstrip('.')}"
    if isinstance(error, click.NoSuchOption):
        near = " or ".join(get_close_matches(error.option_name, error.possibilities or (), cutoff=0))
        return (
            f"{verb} has no option {error.option_name}",
            f"did you mean {near}?" if near else f"{verb} --help",
        )
    if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter):
        wrong, _, wanted = error.message.partition(": ")
        name = error.param.get_error_hint(context).strip("'") if error.param is not None else "a word"
        if isinstance(error.param, click.Parameter) and isinstance(error.param.type, click.Choice):
            choices = [str(choice) for choice in error.param.type.choices]
            nearest = get_close_matches(wrong.split("'")[1], choices, n=1) or choices
            option = error.param.opts[-1] if isinstance(error.param, click.Option) else verb
            return f"{verb} {name}: {wrong.rstrip('.')}", f"write {option} {nearest[0]}"
        return f"{verb} {name}: {wrong.rstrip('.')}", wanted or f"{verb} --help lists what it takes"
    kind = error.param.type if isinstance(error, click.MissingParameter) and error.param else None
    if isinstance(kind, click.Choice):
        choices = [str(choice) for choice in kind.choices]
        return f"{verb}: name one of {', '.join(choices)}", f"write {verb} {choices[0]}"
    if context is not None and context.parent is not None:
        if verb == "mgd new" and "extra argument" in first:
            return first, "a shape is an option: write mgd new --shape 2x4"
        pieces = [word for word in context.command.collect_usage_pieces(context) if word != "[OPTIONS]"]
        return first, f"write {' '.join((verb, *pieces))}"
    return first, f"{verb} --help lists what there is"
