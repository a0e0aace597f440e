"""`mgd explain`: the page of a rule."""

from __future__ import annotations

import click

from mgd.cli.output import say


@click.command()
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Explain a rule by CODE (MGD012, or 12) or by name; without one, list all rules."""
    from mgd.rules import all_rules, find_rule
    from mgd.rules.pages import page

    if code is None:
        for each in all_rules().values():
            say(f"{each.code}  {each.name:<32}  {each.purpose}")
        return
    rule = find_rule(code)
    if rule is None:
        from difflib import get_close_matches

        words = [word for each in all_rules().values() for word in (each.code, each.name)]
        near = get_close_matches(code.upper(), words, n=2) or get_close_matches(code.lower(), words, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else "`mgd explain` lists them all"
        raise click.UsageError(f"there is no rule '{code}': {hint}")
    say(page(rule).rstrip())
