"""Every operation of the emulated library, found by its name: which modules declare them, loaded as far as a program asks.

A new module of operations is one line here or in `tt_run.runtime.ops.MODULES`; the list of names is written from what they declare
(`scripts/gen`), so that a name that no operation has is told, and names are listed, without loading them all.
"""

from __future__ import annotations

from importlib import import_module

from tt_run.runtime import ops
from tt_run.runtime.ops.declaration.dispatch import Operation, registry
from tt_run.runtime.ops.declaration.written_names import written_names

MODULES = (
    *(f"tt_run.runtime.ops.{name}" for name in ops.MODULES),
    "tt_run.runtime.ccl.collectives",
    "tt_run.runtime.ccl.asynchronous",
    "tt_run.runtime.ccl.single_shards",
    "tt_run.runtime.ccl.experts",
    "tt_run.runtime.ccl.fused.expert_offsets",
    "tt_run.runtime.ccl.fused.prefill_dispatch",
    "tt_run.runtime.ccl.fused.prefill_combine",
    "tt_run.runtime.ccl.fused.expert_returns",
    "tt_run.runtime.ccl.fused.expert_compute",
    "tt_run.runtime.ccl.fused.expert_gpt",
    "tt_run.runtime.ccl.reduce_to_root",
    "tt_run.runtime.ccl.all_to_all",
    "tt_run.runtime.ccl.gather_forms",
    "tt_run.runtime.ccl.part_gathers",
    "tt_run.runtime.ccl.scatter_forms",
    "tt_run.runtime.ccl.users_heads",
    "tt_run.runtime.ccl.fused.fused_products",
    "tt_run.runtime.ccl.fused.fused_norms",
    "tt_run.runtime.ccl.fused.diffusion_norms",
    "tt_run.runtime.ccl.fused.compressor",
    "tt_run.runtime.ccl.fused.delta_carries",
    "tt_run.runtime.ccl.fused.ring_indexer",
    "tt_run.runtime.ccl.fused.residual_attention",
    "tt_run.runtime.ccl.fused.ring_attention",
    "tt_run.runtime.ccl.halos",
    "tt_run.runtime.sockets.transfer",
    "tt_run.runtime.sockets.host_transfer",
    "tt_run.runtime.sockets.services.sync",
)

_unread = list(reversed(MODULES))


def find(name: str) -> Operation | None:
    """The operation of a qualified name (`ttnn.transformer.attention_softmax`), None when there is none."""
    if name not in registry and _unread and name in written_names():
        while name not in registry and _unread:
            import_module(_unread.pop())
    return registry.get(name)


def every() -> dict[str, Operation]:
    """All operations by their qualified names, aliases included, sorted."""
    while _unread:
        import_module(_unread.pop())
    return dict(sorted(registry.items()))


def names(namespace: str) -> list[str]:
    """The operations right below a namespace: `ttnn.transformer` -> `attention_softmax`, …"""
    found = (name.rpartition(".") for name in sorted(written_names() if _unread else registry))
    return [last for parent, _, last in found if parent == namespace]
