"""Agreement before data moves: a divergence, an absence or a deadlock is an error that names rank and line, never a hang."""

from __future__ import annotations

from tt_run.runtime.comm import Group
from tt_run.runtime.guard.signature import Signature

__all__ = ["Signature", "collective"]


def collective(group: Group, signature: Signature) -> None:
    """Return when every rank of the group is in this collective with an equal signature. Raises RuntimeError otherwise."""
    if group.size == 1:
        return
    texts = group.allgather_bytes(str(signature).encode())
    if len(set(texts)) > 1:
        lines = "\n".join(
            f"  rank {rank}: {text.decode()}" for rank, text in zip(group.ranks, texts, strict=True)
        )
        raise RuntimeError(f"the ranks call different collectives:\n{lines}")
