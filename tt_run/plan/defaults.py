"""Words that the inputs call for; those that depend on the launcher's version are added where its line is made."""

from __future__ import annotations

from collections import Counter

from tt_run.inputs.mpi_args import MpiArgs, host_token
from tt_run.plan.model import Default


def wanted_words(mpi_args: MpiArgs) -> tuple[Default, ...]:
    """`--oversubscribe` when a --host list repeats a bare name, which the reference takes for a wish to share the host
    (reference launcher 0.81.1)."""
    names = Counter(name for name, count in map(host_token, mpi_args.hosts) if count is None)
    repeated = [name for name, count in names.items() if count > 1]
    if not repeated or mpi_args.oversubscribe:
        return ()
    words = ["--oversubscribe"]
    if "mpi_yield_when_idle" not in mpi_args.mca:
        words += ["--mca", "mpi_yield_when_idle", "1"]
    return (Default(tuple(words), f"--host repeats {repeated[0]}"),)
