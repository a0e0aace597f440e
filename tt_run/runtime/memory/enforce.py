"""The end of a device's memory: the error that the reference raises, with what takes the room and which lines made it."""

from __future__ import annotations

from tt_run.runtime.errors import fatal
from tt_run.runtime.memory.account import Account, Allocation
from tt_run.runtime.memory.footprint import Bank, banks_of

_LARGEST = 5


def refuse_what_does_not_fit(account: Account, wanted: Allocation) -> None:
    """Raise RuntimeError when a bank cannot hold one more allocation. Holes between allocations are not modelled: all that is free counts."""
    size = wanted.size
    bank = banks_of(account.arch)[size.kind]
    for devices, held in account.held.items():
        if not devices & wanted.devices:
            continue
        used = held[size.kind].bank_now
        if used + size.per_bank > bank.size:
            raise _out_of_memory(account, wanted, bank, used)


def _out_of_memory(account: Account, wanted: Allocation, bank: Bank, used: int) -> Exception:
    size = wanted.size
    free = bank.size - used
    largest = account.on(wanted.devices, size.kind)[:_LARGEST]
    lines = [f"  {a.size.total:>14,} B  {a.site}  {_text(a)}" for a in largest]
    return fatal(
        f"Out of Memory: Not enough space to allocate {size.total} B {size.kind} buffer across {size.banks} banks, "
        f"where each bank needs to store {size.per_bank} B, but bank size is {bank.size} B "
        f"(allocated: {used} B, free: {free} B, largest free block: {free} B)\n"
        f"asked for at {wanted.site}: {_text(wanted)}\n" + "\n".join(["the largest on the device:", *lines]),
        hint="deallocate what is no longer used, cut tensors over more devices, or take a smaller dtype",
    )


def _text(allocation: Allocation) -> str:
    spec = allocation.spec
    return f"{list(spec.shape)} {spec.dtype.name} {spec.layout.name}"
