"""`mgd schema`: JSON schemas of the YAML files, for editors that complete and check by them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mgd.cli.output import say
from mgd.cli.usage import Misused
from mgd.cli.words import NameWord
from mgd.resources import configs_root

_END = ".schema.json"


@click.command()
@click.argument("name", type=NameWord(lambda: _known()), metavar="[NAME]", required=False)
def command(name: str | None) -> None:
    """Print the JSON schema NAME of a YAML file; without one, list them with their paths."""
    known = _known()
    if name is None:
        for each, path in known.items():
            say(f"{each:<28} {json.loads(path.read_text(encoding='utf-8'))['title']}\n{'':<28} {path}")
        return
    if name not in known:
        raise Misused(f"there is no schema '{name}'", f"there are {', '.join(known)}")
    say(known[name].read_text(encoding="utf-8"), end="")


def _known() -> dict[str, Path]:
    folder = configs_root() / "schemas"
    return {path.name.removesuffix(_END): path for path in sorted(folder.glob(f"*{_END}"))}
