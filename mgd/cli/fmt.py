"""`mgd fmt`: descriptors in the one layout."""

from __future__ import annotations

import click

from mgd.cli.findings import tell_error
from mgd.cli.inputs import STDIN, expand_words, load_text
from mgd.cli.output import say
from mgd.cli.rewrite import difference, is_yaml, what_yaml_holds, write_back
from mgd.cli.words import DescriptorWord
from mgd.errors import MgdError


@click.command()
@click.argument("files", nargs=-1, required=True, type=DescriptorWord(), metavar="FILE...")
@click.option("--check", "only_check", is_flag=True, help="Change nothing; exit 1 if a file would change.")
@click.option("--diff", "show_diff", is_flag=True, help="Change nothing; print the difference.")
def command(files: tuple[str, ...], only_check: bool, show_diff: bool) -> int:
    """Lay descriptors out in one way, in place; comments and meaning stay.

    FILE is a path, a folder (all *.textproto below it), or - to go from standard input to standard output.
    What cannot be read is told and left as it is; the other files are laid out all the same.
    """
    from mgd.authoring.reformat import reformatted

    changed = code = 0
    for word in expand_words(files, systems=False):
        try:
            if is_yaml(word):
                say(f"{word}: left alone, {what_yaml_holds(word)}", err=True)
                continue
            text, name = load_text(word)
            new = reformatted(text, name)
        except MgdError as error:
            code = max(code, tell_error(error))
            continue
        if word == STDIN and not (only_check or show_diff):
            say(new, end="")
        elif new != text:
            changed += 1
            if show_diff:
                say(difference(text, new, name), end="")
            elif only_check:
                say(f"{name}: would change")
            else:
                write_back(name, new)
                say(f"{name}: formatted", err=True)
    return max(code, int(bool(changed and (only_check or show_diff))))
