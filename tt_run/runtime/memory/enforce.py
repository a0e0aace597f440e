"""The end of a device's memory: the error that the reference raises, with what takes the room and which lines made it."""

from __future__ import annotations

from tt_run.runtime.errors import fatal
from tt_run.runtime.memory.account import Allocation, Buffers, Devices, MemoryAccount, MemoryInUse
from tt_run.runtime.memory.footprint import L1, Bank

_LARGEST = 5
_HOLES = "enough is free, but not in one piece: allocate what stays first, or ttnn.reallocate(…) what lies between the holes"

_SMALLER = "choose smaller blocks in program_config (in0_block_w, out_block_h, out_block_w, q_chunk_size, k_chunk_size)"


def refuse_what_does_not_fit(account: MemoryAccount, wanted: Allocation) -> None:
    """Raise RuntimeError when no hole of a bank can hold one more allocation, however much is free in all."""
    size = wanted.size
    bank = account.bank(size.kind)
    for devices, held in account.held.items():
        if not devices & wanted.devices:
            continue
        here = held[size.kind]
        if here.space.place(size.per_bank) + size.per_bank > bank.size:
            raise _out_of_memory(account, wanted, bank, here)


def refuse_buffers_that_do_not_fit(account: MemoryAccount, wanted: Buffers, devices: Devices) -> None:
    """Raise RuntimeError when an operation's circular buffers, which begin where tensors end, are more than is left of L1."""
    bank = account.bank(L1)
    if wanted.size + wanted.tensors <= bank.size:
        return
    largest = account.on(devices, L1)[:_LARGEST]
    lines = [f"  {a.size.per_bank:>14,} B  {a.site}  {_text(a)}" for a in largest]
    if wanted.size > bank.size:
        raise fatal(
            f"Statically allocated circular buffers grow to {wanted.size} B which is beyond max L1 size of {bank.size} B\n"
            f"in the operation at {wanted.site}",
            hint=_SMALLER,
        )
    raise fatal(
        f"Statically allocated circular buffers clash with L1 buffers. L1 buffer allocated at {bank.size - wanted.tensors} "
        f"and static circular buffer region ends at {wanted.size}\n"
        f"in the operation at {wanted.site}\n" + "\n".join(["the largest in L1, on each core:", *lines]),
        hint=f"deallocate tensors in L1 or keep them in DRAM, or {_SMALLER}",
    )


def _out_of_memory(account: MemoryAccount, wanted: Allocation, bank: Bank, here: MemoryInUse) -> Exception:
    size, used = wanted.size, here.bank_now
    free, hole = max(bank.size - used, 0), here.space.largest(bank.size)
    largest = account.on(wanted.devices, size.kind)[:_LARGEST]
    lines = [f"  {a.size.total:>14,} B  {a.site}  {_text(a)}" for a in largest]
    return fatal(
        f"Out of Memory: Not enough space to allocate {size.total} B {size.kind} buffer across {size.banks} banks, "
        f"where each bank needs to store {size.per_bank} B, but bank size is {bank.size} B "
        f"(allocated: {used} B, free: {free} B, largest free block: {hole} B)\n"
        f"asked for at {wanted.site}: {_text(wanted)}\n" + "\n".join(["the largest on the device:", *lines]),
        hint=_HOLES
        if free >= size.per_bank
        else "deallocate what is no longer used, cut tensors over more devices, or take a smaller dtype",
    )


def _text(allocation: Allocation) -> str:
    spec = allocation.spec
    if spec is None:
        return "a global semaphore"
    return f"{list(spec.shape)} {spec.dtype.name} {spec.layout.name}"
