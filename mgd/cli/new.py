"""`mgd new`: a descriptor from a few words."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mgd.authoring.blueprint import Dims
from mgd.authoring.draft import ARCHES, FIGURES, WRAPS, Wishes, drafted, parse_shape
from mgd.cli.output import say, wants_colour
from mgd.diagnostics import render


class Shape(click.ParamType):
    """Rows x columns."""

    name = "RxC"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Dims:
        try:
            return parse_shape(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


_POLICY = click.Choice(["RELAXED", "STRICT"], case_sensitive=False)
_COUNT = click.IntRange(1, 2**31 - 1)


@click.command(context_settings={"show_default": True})
@click.option("--arch", type=click.Choice(list(ARCHES), case_sensitive=False), default="wormhole")
@click.option(
    "--shape", "shapes", type=Shape(), multiple=True, required=True, help="Devices; again for other meshes."
)
@click.option(
    "--hosts", type=Shape(), multiple=True, default=["1x1"], help="Hosts of each mesh; again for others."
)
@click.option(
    "--wrap", type=click.Choice(list(WRAPS)), default="none", help="Closed dimensions: x rows, y columns."
)
@click.option("--channels", type=_COUNT, default=2, help="Channels of each link in a mesh.")
@click.option("--policy", type=_POLICY, default="RELAXED", help="STRICT: no channel may be missing.")
@click.option("--meshes", type=click.IntRange(1, 4096), default=1, help="How many meshes.")
@click.option(
    "--link", "links", multiple=True, default=["all"], help=f"{', '.join(FIGURES)}; or 0-1, 0-1:8, 0.3-1.0 …"
)
@click.option("--link-channels", type=_COUNT, help="Channels between meshes.  [default: as --channels]")
@click.option("--link-policy", type=_POLICY, default="RELAXED")
@click.option("--z", "z_direction", is_flag=True, help="Links between meshes take Z ports.")
@click.option("--pin", "pins", multiple=True, help="mesh.device@tray,location, such as 0.0@1,1.")
@click.option("--title", default="", help="The comment at the top.")
@click.option("-o", "--output", help="File to write, instead of standard output.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def command(output: str | None, force: bool, **words: object) -> int:
    """Write a descriptor from shape, hosts, wraps and links. What it writes passes `mgd check`.

    \b
    mgd new --shape 2x4 --hosts 1x2 -o two_hosts.textproto
    mgd new --arch blackhole --shape 8x4 --wrap xy --meshes 3 --link ring --link-channels 8
    """
    from mgd.checking import check
    from mgd.reading import loads

    given = {key: tuple(value) if isinstance(value, (list, tuple)) else value for key, value in words.items()}
    text = drafted(Wishes(**given)).text()  # type: ignore[arg-type]
    findings = check(loads(text, file=output or "new.textproto"))
    for finding in findings:
        say(render(finding, colour=wants_colour(sys.stderr), more="mgd explain"), err=True)
    if any(finding.is_error for finding in findings):
        return 1
    if output is None:
        say(text, end="")
    elif Path(output).exists() and not force:
        raise click.UsageError(f"{output} exists; --force replaces it")
    else:
        Path(output).write_text(text, encoding="utf-8")
        say(f"{output}: written; mgd show {output} draws it", err=True)
    return 0
