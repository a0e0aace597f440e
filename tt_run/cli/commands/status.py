"""`tt-run status`: each rank of a run, where it is now or how it ended, and who is the odd one out."""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.cli.commands.looking import age, one_run
from tt_run.cli.options import Arguments, option
from tt_run.cli.parse import read
from tt_run.contract import Exit


class Status(Arguments):
    """Show each rank of a run (the newest unless named): state, place in the user's code, memory, and whether it waits in MPI."""

    __slots__ = ()
    usage = "tt-run status [RUN] [OPTIONS]"
    log_dir: str | None = option(
        "Options", "--log-dir", "DIR", "Where the runs are [./tt-run-logs].", "folder"
    )
    help: bool = option("Options", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Prints a line for each rank."""
    given = read(words, Status)
    if given.help:
        from tt_run.cli.help import command_help

        print(command_help(Status))
        return Exit.OK
    from tt_run.supervise.runs import RUNNING, ask_stacks

    run = one_run(given.rest, given.log_dir)
    print(f"{run.name}: {run.sentence}, started {age(run.began)} ago")
    stacks = {stack.rank: stack for stack in ask_stacks(run)} if run.state == RUNNING else {}
    for status in run.ranks:
        stack = stacks.get(status.rank)
        if status.ended or not status.started:
            what = status.outcome()
        elif stack is None or stack.where is None:
            what = "running" if run.state == RUNNING else status.outcome()
        else:
            what = f"{'waits for others' if stack.in_mpi else 'computes'} at {stack.where}"
        print(f"rank {status.rank} on {status.host or '?'}  {_memory(status.pid, status.ended)}{what}")
    waiting = [rank for rank, stack in stacks.items() if stack.in_mpi]
    busy = [rank for rank in stacks if rank not in waiting]
    if waiting and busy:
        from tt_run.supervise.stacks import rank_list

        print(f"{rank_list(waiting)} wait{'s' if len(waiting) == 1 else ''} for {rank_list(busy)}")
    return Exit.OK


def _memory(pid: int | None, ended: bool) -> str:
    """The resident memory of a live process of this machine."""
    if pid is None or ended:
        return ""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as stream:
            pages = int(stream.read().split()[1])
    except (OSError, ValueError, IndexError):
        return ""
    return f"{pages * 4 // 1024:5} MiB  "
