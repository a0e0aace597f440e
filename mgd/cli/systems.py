"""`mgd systems`: what ships with the tool."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from mgd.cli.output import page_width, say, table, wants_colour
from mgd.cli.usage import Misused, warn_idle
from mgd.cli.words import NameWord, system_names
from mgd.drawing.canvas import paint
from mgd.folding import fold
from mgd.systems import System, UnknownSystem, find, systems


@click.command()
@click.argument("name", type=NameWord(system_names), metavar="[NAME]", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON list instead of a table.")
@click.option("--path", "only_path", is_flag=True, help="Only the file of NAME.")
def command(name: str | None, as_json: bool, only_path: bool) -> None:
    """List the systems that ship with the tool, or tell about NAME.

    Every name and alias works wherever a FILE is wanted, and for `tt-run --system`.
    """
    if only_path and name is None:
        raise Misused("--path needs the NAME of a system", "write mgd systems t3000 --path")
    if only_path and as_json:
        warn_idle("--json", "--path prints the path alone", "keep one of the two")
    try:
        chosen = [find(name)] if name else list(systems())
    except UnknownSystem as error:
        message, _, help = str(error).partition(": ")
        raise Misused(message, help) from None
    if only_path:
        say(str(chosen[0].path))
    elif as_json:
        say(json.dumps([_facts(system) for system in chosen], indent=2, ensure_ascii=False))
    elif name:
        say("\n".join(_page(chosen[0])))
    else:
        say("\n".join(_list(chosen)))


def _list(chosen: list[System]) -> list[str]:
    rows = [
        (s.name, s.layout, str(s.devices), str(s.hosts), _arch(s), s.description, ", ".join(s.aliases[:2]))
        for s in chosen
    ]
    head = ("NAME", "MESHES", "DEVICES", "HOSTS", "ARCH", "", "ALSO CALLED")
    width = page_width(sys.stdout, 1000)
    for columns in range(len(head), 1, -1):  # the last columns are for wide terminals
        lines = table(head[:columns], [row[:columns] for row in rows])
        if max(map(len, lines)) <= width:
            break
    lines[0] = paint(lines[0], "title", wants_colour(sys.stdout))
    tail = f"{len(chosen)} systems; mgd systems NAME tells all of one, mgd show NAME draws it"
    return [*lines, "", fold(tail, width)]


def _page(system: System) -> list[str]:
    facts = {
        "name": system.name,
        "": system.description,
        "aliases": ", ".join(system.aliases) or "none",
        "meshes": system.layout,
        "devices": str(system.devices),
        "hosts": str(system.hosts),
        "arch": system.arch,
        "fabric type": system.fabric_type,
        "chosen for": f"cluster type {system.cluster_type}"
        if system.cluster_type
        else "nothing by itself; name it",
        "file": str(system.path),
    }
    beside, width = " " * 13, page_width(sys.stdout, 0)
    folds = ("", "aliases", "chosen for")
    return [
        f"{key:<12} {fold(value, width, beside, 13) if key in folds else value}".rstrip()
        for key, value in facts.items()
    ]


def _arch(system: System) -> str:
    return "Wormhole" if system.arch == "WORMHOLE_B0" else "Blackhole"


def _facts(system: System) -> dict[str, Any]:
    return {
        "name": system.name,
        "aliases": list(system.aliases),
        "description": system.description,
        "arch": system.arch,
        "cluster_type": system.cluster_type or None,
        "fabric_type": system.fabric_type,
        "meshes": [
            {
                "count": part.count,
                "device_dims": list(part.dims),
                "host_dims": list(part.host_dims),
                "switch": part.is_switch,
            }
            for part in system.parts
        ],
        "devices": system.devices,
        "hosts": system.hosts,
        "path": str(system.path),
    }
