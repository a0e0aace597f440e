"""`tt-run completion`: the script that teaches a shell the words of `tt-run`."""

from __future__ import annotations

from collections.abc import Sequence

from mgd.diagnostics import Diagnostic
from tt_run.cli.completion import SHELLS, completion_script
from tt_run.cli.help import command_help
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import read
from tt_run.contract import Exit
from tt_run.errors import UsageError


class Completion(Arguments):
    """Print the completion script of a shell: bash, zsh or fish.

    To have it in every new shell:
      bash:  tt-run completion bash > ~/.local/share/bash-completion/completions/tt-run
      zsh:   tt-run completion zsh > "${fpath[1]}/_tt-run"
      fish:  tt-run completion fish > ~/.config/fish/completions/tt-run.fish
    """

    __slots__ = ()
    usage = "tt-run completion SHELL"
    ranks: bool = option(
        "Options", "--ranks", "", "For the scripts: the ranks that the line behind -- is about."
    )
    help: bool = option("Options", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Prints the script. Raises UsageError for another shell."""
    given = read(words, Completion)
    if given.help:
        print(command_help(Completion))
        return Exit.OK
    if given.ranks:
        from tt_run.cli.line_ranks import ranks_of_line

        ranks = ranks_of_line(" ".join(given.rest))
        print(*range(ranks or 0), sep="\n")
        return Exit.OK if ranks else Exit.FAILED
    if len(given.rest) != 1 or given.rest[0] not in SHELLS:
        known = ", ".join(SHELLS)
        told = f"{' '.join(given.rest)!r} is none of {known}" if given.rest else f"name one of {known}"
        raise UsageError(
            Diagnostic(
                "TTR021",
                f"tt-run completion: {told}",
                help="write tt-run completion bash",
            )
        )
    print(completion_script(given.rest[0]))
    return Exit.OK
