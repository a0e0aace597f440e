"""`mgd fix`: the repairs that leave no choice."""

from __future__ import annotations

import sys
from collections import Counter

import click

from mgd.cli.findings import finding_texts, tell_error
from mgd.cli.inputs import STDIN, expand_words, load_text
from mgd.cli.output import say
from mgd.cli.rewrite import difference, is_yaml, what_yaml_holds, write_back
from mgd.cli.words import DescriptorWord
from mgd.diagnostics import Diagnostic, count
from mgd.errors import MgdError


@click.command()
@click.argument("files", nargs=-1, required=True, type=DescriptorWord(), metavar="FILE...")
@click.option("--dry-run", is_flag=True, help="Change nothing; tell what would be repaired.")
@click.option("--diff", "show_diff", is_flag=True, help="Change nothing; print the difference.")
def command(files: tuple[str, ...], dry_run: bool, show_diff: bool) -> int:
    """Repair what has only one repair, in place, and touch nothing else.

    FILE is a path, a folder (all *.textproto below it), or - to go from standard input to standard output.
    Exit code: 0 nothing is left that makes a descriptor rejected, 1 something is (or would change, with --diff or
    --dry-run). `mgd check` tells which rules are repaired.
    """
    from mgd.authoring.repair import repair

    code = 0
    for word in expand_words(files, systems=False):
        try:
            if is_yaml(word):
                say(f"{word}: left alone, {what_yaml_holds(word)}", err=True)
                continue
            text, name = load_text(word)
            repaired = repair(text, name)
        except MgdError as error:  # the other files are repaired all the same
            code = max(code, tell_error(error))
            continue
        if show_diff:
            say(difference(text, repaired.text, name), end="")
        elif dry_run:
            text_of = finding_texts(sys.stdout, texts={name: text})
            for diagnostic in repaired.done:
                say(text_of(diagnostic))
        elif word == STDIN:
            say(repaired.text, end="")
        elif repaired.done:
            write_back(name, repaired.text)
        left = _left(repaired.text, name)
        say(_sum(name, repaired.done, left, dry_run or show_diff), err=True)
        code = max(code, int(bool(left or (repaired.done and (dry_run or show_diff)))))
    return code


def _left(text: str, name: str) -> int:
    """How many errors the repaired text still has."""
    from mgd.checking import check
    from mgd.reading import loads

    return count(check(loads(text, file=name)))[0]


def _sum(name: str, done: tuple[Diagnostic, ...], left: int, only_told: bool) -> str:
    codes = ", ".join(
        code + (f" x{n}" if n > 1 else "") for code, n in Counter(each.code for each in done).items()
    )
    words = f"{'would repair' if only_told else 'repaired'} {codes}" if done else "nothing to repair"
    remains = f"; {left} error{'s' * (left != 1)} left, see mgd check {name}" if left else ""
    return f"{name}: {words}{remains}"
