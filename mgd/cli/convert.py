"""`mgd convert`: MGD 1.0 YAML to 2.0 text and back."""

from __future__ import annotations

from pathlib import Path

import click

from mgd.cli.inputs import STDIN, load_input, read_input
from mgd.cli.output import say
from mgd.cli.rewrite import is_yaml
from mgd.cli.usage import Misused, warn_idle
from mgd.cli.words import DescriptorWord
from mgd.files import write_file


@click.command()
@click.argument("file", type=DescriptorWord(), metavar="FILE")
@click.option(
    "--to", "target", type=click.Choice(["1.0", "2.0"]), help="Format to write  [default: the other one]"
)
@click.option("-o", "--output", help="File to write, instead of standard output.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def command(file: str, target: str | None, output: str | None, force: bool) -> None:
    """Convert between MGD 1.0 (YAML) and 2.0 (text format).

    What a format has no words for is an error that names every such part (exit code 1). From standard input, --to 2.0
    reads YAML and --to 1.0 reads text format.
    """
    if file == STDIN and target is None:
        raise Misused("standard input does not say what to convert to", "add --to 1.0 or --to 2.0")
    from_yaml = is_yaml(file) if file != STDIN else target == "2.0"
    if target == ("1.0" if from_yaml else "2.0"):
        raise Misused(f"{file} is MGD {target} already", "leave --to out")
    if output is not None and Path(output).exists() and not force:
        raise Misused(f"{output} exists", "--force replaces it")
    if force and output is None:
        warn_idle("--force", "nothing is replaced on standard output", "add -o FILE, or leave it out")
    if from_yaml:
        from mgd.v1.textproto import to_textproto

        data, name = read_input(file)
        text = to_textproto(data, file=name)
    else:
        from mgd.v1.backward import to_yaml

        text = to_yaml(load_input(file))
    if output is None:
        say(text, end="")
    else:
        write_file(output, text)
        say(f"{output}: written", err=True)
