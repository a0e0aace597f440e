"""`mgd completion`: the script that teaches a shell the words of `mgd`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from mgd.cli.output import say
from mgd.cli.usage import Misused

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash:  mgd completion bash > ~/.local/share/bash-completion/completions/mgd
    zsh:   mgd completion zsh > "${fpath[1]}/_mgd"
    fish:  mgd completion fish > ~/.config/fish/completions/mgd.fish
    """
    from mgd.cli.group import cli

    found = get_completion_class(shell)
    if found is None:
        raise Misused(f"click cannot complete for {shell}", "mgd completion bash")
    script = found(cli, {}, "mgd", "_MGD_COMPLETE").source()
    for old, new in _BETTER:
        script = script.replace(old, new)
    say(script)


_BETTER = (
    # Fish: click's script ends a description at its first comma.
    ('string split "," ', 'string split -m 1 "," '),
    # Bash: click's script drops the names of systems where a file may stand as well.
    (
        "COMPREPLY=()\n            compopt -o default",
        'COMPREPLY+=($(compgen -f -- "$value"))\n            compopt -o filenames',
    ),
)
