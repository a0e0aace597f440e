"""`mgd show`: the picture of a descriptor."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mgd.cli.inputs import STDIN, load_input
from mgd.cli.output import page_width, say, wants_colour
from mgd.cli.usage import Misused, warn_idle
from mgd.cli.words import DescriptorWord
from mgd.drawing.text import WIDTH, draw
from mgd.files import write_file

_DESCRIPTORS = (".textproto", ".yaml", ".yml", ".json", ".pbtxt")
_OTHER_PICTURES = (".png", ".pdf", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".html", ".htm")
"""Endings that say another form of picture, for the option whose form it is not."""


class _Show(click.Command):
    """`mgd show`, which says where the picture's file and the descriptor stand when one of them is missing."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As any command. Raises UsageError."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            option = next((word for word in ("--svg", "--html") if word in words), None)
            said = error.format_message()
            known = ("requires an argument", "FILE", "unexpected extra argument")
            if option is None or not any(part in said for part in known):
                raise
            plain = [word for word in words if not word.startswith("-")]
            file = next((word for word in plain if not word.endswith((".svg", ".html"))), "t3000")
            picture = f"{Path(file).stem}.{option.removeprefix('--')}"
            raise Misused(
                f"mgd show: {said[:1].lower()}{said[1:].rstrip('.')}",
                f"write the picture's file and then the descriptor, mgd show {option} {picture} {file}",
            ) from None


@click.command(cls=_Show)
@click.argument("file", type=DescriptorWord(), metavar="FILE")
@click.option("--svg", "svg", metavar="PATH", help="Write the picture as SVG, - for standard output.")
@click.option(
    "--html", "html", metavar="PATH", help="Write it as a page to look into, - for standard output."
)
@click.option("--width", type=click.IntRange(20, 1000), help=f"Columns; the terminal's, or {WIDTH}.")
@click.option("--all", "every", is_flag=True, help="Draw every mesh, also those that look the same.")
def command(file: str, svg: str | None, html: str | None, width: int | None, every: bool) -> int:
    """Draw meshes, hosts, ranks, wraps and the links between meshes.

    FILE is a path, - for standard input, or the name of a system. A rejected descriptor is drawn as far as it
    makes sense, with its mistakes crossed out (exit code 1).
    """
    from mgd.drawing.salvage import drawable

    _refuse_other_form(svg, html)
    _tell_idle(svg, html, width, every)
    descriptor = load_input(file)
    graph, marks, accepted = drawable(descriptor)
    title = descriptor.file if file == STDIN else Path(descriptor.file).name
    if svg is not None:
        from mgd.drawing.svg import draw_svg

        _write(svg, draw_svg(graph, title=title, marks=marks))
    if html is not None:
        from mgd.drawing.html import draw_html

        _write(html, draw_html(graph, title=title, marks=marks))
    if svg is None and html is None:
        columns = width or page_width(sys.stdout, WIDTH)
        say(draw(graph, columns, wants_colour(sys.stdout), marks=marks, every=every), end="")
    return 0 if accepted else 1


def _tell_idle(svg: str | None, html: str | None, width: int | None, every: bool) -> None:
    if svg is None and html is None:
        return
    form = "--svg" if svg is not None else "--html"
    if width is not None:
        warn_idle("--width", f"{form} has a size of its own", "leave it out")
    if every:
        warn_idle("--all", f"{form} draws every mesh", "leave it out")


def _refuse_other_form(svg: str | None, html: str | None) -> None:
    """Raises UsageError for a file whose name says another form than the one that would be in it."""
    for option, target, own in (("--svg", svg, (".svg",)), ("--html", html, (".html", ".htm"))):
        ending = Path(target or "").suffix.lower()
        if target is None or ending in own or ending not in _OTHER_PICTURES:
            continue
        other = {".svg": "--svg", ".html": "--html", ".htm": "--html"}.get(ending)
        as_other = f", or {other} {target}" if other else ""
        raise Misused(
            f"mgd show {option} {target}: it writes {own[0]}, not {ending}",
            f"write {option} {Path(target).with_suffix(own[0])}{as_other}",
        )


def _write(target: str, text: str) -> None:
    if target.endswith(_DESCRIPTORS) and Path(target).exists():
        raise Misused(
            f"{target} is a descriptor, which the picture would replace",
            f"name another file for the picture, such as {Path(target).stem}.svg",
        )
    if target == "-":
        say(text, end="")
    else:
        write_file(target, text)
