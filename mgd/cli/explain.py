"""`mgd explain`: the page of a rule."""

from __future__ import annotations

import sys

import click

from mgd.cli.output import page_width, say, wants_colour
from mgd.cli.usage import Misused
from mgd.cli.words import NameWord, rule_codes


@click.command()
@click.argument("codes", type=NameWord(rule_codes), metavar="[CODE]...", nargs=-1)
def command(codes: tuple[str, ...]) -> None:
    """Explain rules by CODE (MGD012, or 12) or by name; without one, list all rules."""
    from mgd.folding import fold
    from mgd.rules import all_rules

    if not codes:
        width = page_width(sys.stdout, 0)
        rules = list(all_rules().values())
        lines = [f"{each.code}  {each.name:<32}  {each.purpose}" for each in rules]
        if width and max(map(len, lines)) > width:
            under = " " * 8
            lines = [
                f"{each.code}  {each.name}\n{under}{fold(each.purpose, width, under, 8)}" for each in rules
            ]
        say("\n".join(lines))
        return
    say("\n\n".join([_explained(code) for code in codes]))


def _explained(code: str) -> str:
    """The page of a rule. Raises UsageError for one that is not there, with the nearest."""
    from mgd.catalogue import nearest
    from mgd.catalogue.pages import page
    from mgd.rules import FAMILY, all_rules, find_rule

    rule = find_rule(code)
    if rule is None:
        parts = [each.name for each in all_rules().values() if code.lower() in each.name]
        near = nearest(code, [FAMILY]) or parts[:3]
        hint = f"did you mean {' or '.join(near)}?" if near else "`mgd explain` lists them all"
        if code[:3].upper() in ("TTR", "TTG", "TTP"):
            hint = f"a code of the launcher or of its ranks: tt-run explain {code.upper()}"
        raise Misused(f"there is no rule '{code}'", hint)
    return page(rule, colour=wants_colour(sys.stdout), width=page_width(sys.stdout, 0)).rstrip("\n")
