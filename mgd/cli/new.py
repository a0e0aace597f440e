"""`mgd new`: a descriptor from a few words."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from mgd.authoring.blueprint import Dims
from mgd.authoring.draft import ARCHES, FIGURES, WRAPS, CannotDraft, Wishes, drafted, parse_shape
from mgd.cli.findings import finding_texts
from mgd.cli.output import say
from mgd.cli.usage import Misused, warn_idle
from mgd.cli.words import NameWord, system_names
from mgd.descriptor import Descriptor
from mgd.diagnostics import Diagnostic
from mgd.errors import MgdError
from mgd.files import write_file
from mgd.systems import UnknownSystem, find, text_of
from mgd.text.problems import USAGE


class Shape(click.ParamType):  # type: ignore[type-arg]
    """Rows x columns."""

    name = "RxC"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Dims:
        try:
            return parse_shape(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Count(click.ParamType):  # type: ignore[type-arg]
    """1 or more, up to a limit; unlike click's own range it leaves the help short."""

    name = "N"

    def __init__(self, most: int) -> None:
        self.most = most

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value)
        if not (text.isascii() and text.isdigit() and len(text) < 12 and 1 <= int(text) <= self.most):
            option = f": write {param.opts[-1]} 1" if param is not None else ""
            self.fail(f"{text!r} is not a number from 1 to {self.most}{option}", param, ctx)
        return int(text)


_POLICY = click.Choice(["RELAXED", "STRICT"], case_sensitive=False)
_COUNT = Count(2**31 - 1)


@click.command(context_settings={"show_default": True})
@click.option(
    "--system",
    type=NameWord(system_names),
    metavar="NAME",
    help="A shipped system, with --hosts and --meshes alone.",
)
@click.option(
    "--arch",
    type=click.Choice(list(ARCHES), case_sensitive=False),
    metavar="NAME",
    default="wormhole",
    help="wormhole, blackhole or quasar.",
)
@click.option("--shape", "shapes", type=Shape(), multiple=True, help="Devices; again for other meshes.")
@click.option(
    "--hosts", type=Shape(), multiple=True, default=["1x1"], help="Hosts of each mesh; again for others."
)
@click.option(
    "--wrap",
    type=click.Choice(list(WRAPS)),
    metavar="AXES",
    default="none",
    help="x closes rows, y columns; xy, none.",
)
@click.option("--channels", type=_COUNT, default=2, help="Channels of each link in a mesh.")
@click.option(
    "--policy",
    type=_POLICY,
    metavar="NAME",
    default="RELAXED",
    help="RELAXED or STRICT, in each mesh.",
)
@click.option("--meshes", type=Count(4096), default=1, help="How many meshes.")
@click.option(
    "--link",
    "links",
    metavar="LINKS",
    multiple=True,
    default=["all"],
    help=f"{', '.join(FIGURES)}; 0-1:8, 0.3-1.0 …",
)
@click.option("--link-channels", type=_COUNT, help="Channels between meshes.  [default: as --channels]")
@click.option(
    "--link-policy", type=_POLICY, metavar="NAME", default="RELAXED", help="The same between meshes."
)
@click.option("--z", "z_direction", is_flag=True, help="Links between meshes take Z ports.")
@click.option(
    "--pin", "pins", metavar="PIN", multiple=True, help="mesh.device@tray,location, such as 0.0@1,1."
)
@click.option("--title", default="", show_default=False, help="The comment at the top.")
@click.option("-o", "--output", metavar="FILE", help="File to write, instead of standard output.")
@click.option("--bindings", metavar="FILE", help="Write the rank bindings for it, too; needs -o.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    system: str | None,
    output: str | None,
    bindings: str | None,
    force: bool,
    **words: Any,
) -> int:
    """Write a descriptor from shape, hosts, wraps and links. What it writes passes `mgd check`.

    \b
    mgd new --shape 2x4 --hosts 1x2 -o two_hosts.textproto
    mgd new --shape 8x4 --wrap xy --meshes 3 --link ring
    mgd new --system galaxy -o g.textproto --bindings g.yaml
    """
    from mgd.checking import check
    from mgd.reading import loads

    if bindings is not None and output is None:
        raise Misused(
            "--bindings names the descriptor's file, which -o says", f"add -o FILE to --bindings {bindings}"
        )
    for target in (output, bindings):
        if target is not None and Path(target).exists() and not force:
            raise Misused(f"{target} exists", "--force replaces it")
    text = _drafted(words) if system is None else _derived(ctx, system)
    _tell_idle(ctx)
    descriptor = loads(text, file=output or "new.textproto")
    findings = check(descriptor)
    for finding in findings:
        say(finding_texts(sys.stderr)(finding), err=True)
    if any(finding.is_error for finding in findings):
        return 1
    if output is None:
        say(text, end="")
        return 0
    write_file(output, text)
    say(f"{output}: written; mgd show {output} draws it", err=True)
    if bindings is not None:
        _bind(descriptor, output, bindings)
    return 0


def _bind(descriptor: Descriptor, output: str, bindings: str) -> None:
    from mgd.authoring.bindings import bindings_text
    from mgd.expanding.instances import expand_checked

    seen_from_there = os.path.relpath(Path(output).resolve(), Path(bindings).resolve().parent)
    write_file(bindings, bindings_text(expand_checked(descriptor), seen_from_there))
    say(f"{bindings}: written; tt-run --rank-binding {bindings} PROGRAM runs it", err=True)


def _drafted(words: dict[str, Any]) -> str:
    if not words["shapes"]:
        raise Misused(
            "mgd new: neither --shape nor --system", "mgd new --shape 2x4, or mgd new --system t3000"
        )
    try:
        return drafted(Wishes(**words)).text()
    except CannotDraft as error:
        raise MgdError(map(_as_finding, error.reasons)) from None


def _as_finding(reason: str) -> Diagnostic:
    """A reason as a finding: behind its colon stands what to write."""
    message, _, help = reason.partition(": ")
    return Diagnostic(USAGE, f"mgd new: {message}", (), help)


def _options_written(ctx: click.Context) -> dict[str, str]:
    """The options that were really written, by key: their names."""
    return {
        param.name: max(param.opts, key=len)
        for param in ctx.command.params
        if param.name and ctx.get_parameter_source(param.name) is not ParameterSource.DEFAULT
    }


def _tell_idle(ctx: click.Context) -> None:
    given, values = _options_written(ctx), ctx.params
    if "force" in given and values["output"] is None:
        warn_idle("--force", "nothing is replaced on standard output", "add -o FILE, or leave it out")
    if values["system"] is not None:
        return
    beside = [name for key, name in given.items() if key in ("link_channels", "link_policy", "z_direction")]
    if max(values["meshes"], len(values["shapes"]), len(values["hosts"])) == 1:
        if "links" in given and values["links"] != ("none",):
            beside = ["--link", *beside]
        for name in beside:
            warn_idle(
                name, "there is one mesh, and so no link between meshes", "add --meshes 2, or leave it out"
            )
    elif values["links"] == ("none",):
        for name in beside:
            warn_idle(name, "--link none makes no link between meshes", "keep one of the two")


def _derived(ctx: click.Context, name: str) -> str:
    """The text of a shipped system, cut and copied as the options that were really given say."""
    given = _options_written(ctx)
    if odd := sorted(given.keys() - {"system", "hosts", "meshes", "output", "bindings", "force"}):
        options = ", ".join(given[key] for key in odd)
        raise Misused("--system brings its own shape and links", f"leave out {options}")
    hosts = ctx.params["hosts"]
    if len(hosts) > 1:
        raise Misused("--system takes one --hosts, for all meshes", "write --hosts 1x2 once")
    try:
        return text_of(find(name), hosts=hosts[0] if "hosts" in given else None, meshes=ctx.params["meshes"])
    except UnknownSystem as error:
        message, _, help = str(error).partition(": ")
        raise Misused(message, help) from None
