"""`tt-run stacks`: the stacks of all ranks of a run as one tree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tt_run.cli.commands.looking import cut_to_terminal, one_run
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import read
from tt_run.contract import Exit


class Stacks(Arguments):
    """Show where the ranks of a running job are (the newest that goes on, else the newest, unless named): one tree of calls, ranks at its branches."""

    __slots__ = ()
    usage = "tt-run stacks [RUN] [OPTIONS]"
    log_dir: str | None = option(
        "Options", "--log-dir", "DIR", "Where the runs are [./tt-run-logs].", "folder"
    )
    all: bool = option("Options", "--all", "", "Also the calls inside of the emulation.")
    help: bool = option("Options", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Prints the tree; 1 when no rank answers."""
    given = read(words, Stacks)
    if given.help:
        from tt_run.cli.help import command_help

        print(command_help(Stacks))
        return Exit.OK
    from tt_run.supervise.looking.runs import ask_stacks
    from tt_run.supervise.looking.stack_tree import stack_tree, tree_lines, without_emulation

    run = one_run(given.rest, given.log_dir, live=True)
    stacks = ask_stacks(run)
    if not stacks:
        print(f"{run.label}: {run.sentence}; no Python rank of it runs on this machine")
        return Exit.FAILED
    shown = stacks if given.all else [without_emulation(stack) for stack in stacks]
    here = f"{Path.cwd()}/"
    print("\n".join(cut_to_terminal(line.replace(here, "", 1)) for line in tree_lines(stack_tree(shown))))
    return Exit.OK
