"""`mgd diff`: the difference of two topologies."""

from __future__ import annotations

import json
import sys

import click

from mgd.cli.findings import finding_texts
from mgd.cli.inputs import load_input
from mgd.cli.output import say, wants_colour
from mgd.cli.words import DescriptorWord
from mgd.drawing.canvas import paint

_STYLES = {"+": "host0", "-": "host5", "~": "host2"}


@click.command()
@click.argument("a", type=DescriptorWord(), metavar="A")
@click.argument("b", type=DescriptorWord(), metavar="B")
@click.option("--json", "as_json", is_flag=True, help="One JSON list of changes.")
def command(a: str, b: str, as_json: bool) -> int:
    """Compare the topology of two descriptors: shapes, hosts, wraps, channels, links, pins; not their text.

    A and B are paths, - for standard input, or names of systems; MGD 1.0 and 2.0 may be mixed.
    Exit code: 0 the same, 1 different, 2 one of them cannot be compared.
    """
    from mgd.authoring.compare import differences
    from mgd.errors import MgdError
    from mgd.expansion import expand

    graphs = []
    for word in (a, b):
        try:
            graphs.append(expand(load_input(word)))
        except MgdError as error:
            for diagnostic in error.diagnostics:
                say(finding_texts(sys.stderr)(diagnostic), err=True)
            return 2
    found = differences(*graphs)
    if as_json:
        changes = [
            {"what": each.what, "before": each.before or None, "after": each.after or None} for each in found
        ]
        say(json.dumps(changes, indent=2))
    else:
        colour = wants_colour(sys.stdout)
        for each in found:
            say(paint(str(each), _STYLES[each.sign], colour))
    return 1 if found else 0
