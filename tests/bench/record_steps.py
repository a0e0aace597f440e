"""Programs of the benchmark of records: `tt-run --emulate --record DIR … python -m tests.bench.record_steps WHAT ROUNDS FILE`.

Rank 0 writes the CPU seconds of rounds that are recorded and of rounds that are not, in turn: one launch under one load, where two
launches differ by more than recording costs. What a call makes of calls inside is not written down, so a round is left out by being
inside of one.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import ttnn

from tests.bench.train_steps import our_step
from tt_run.runtime.record import process

HIDDEN, HEADS, BATCH, PAST = 1024, 8, 32, 512
BF16, TILE = ttnn.bfloat16, ttnn.TILE_LAYOUT


def sums(rows: int, times: int) -> Callable[[], object]:
    """A loop of nothing but sums over four devices of two ranks, of values that change."""
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
    x = ttnn.rand((1, 1, rows, rows), dtype=BF16, layout=TILE, device=mesh)
    draw = np.random.default_rng(9).random

    def run() -> None:
        for _ in range(times):  # a factor of its own each: what has been written before is not written again
            ttnn.all_reduce(ttnn.multiply(x, 0.5 + float(draw())), cluster_axis=1)

    return run


def _cut(mesh: Any, shape: tuple[int, ...], dim: int | None, seed: int) -> Any:
    values = np.random.default_rng(seed).standard_normal(shape, np.float32) / shape[-2] ** 0.5
    mapper = ttnn.ReplicateTensorToMesh(mesh) if dim is None else ttnn.ShardTensorToMesh(mesh, dim=dim)
    return ttnn.from_torch(values, dtype=BF16, layout=TILE, device=mesh, mesh_mapper=mapper)


def mlp(tokens: int = 128) -> Callable[[], object]:
    """A tensor-parallel MLP over two devices: columns, rows, and a sum."""
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
    up, down = _cut(mesh, (1, 1, HIDDEN, 4 * HIDDEN), 3, 1), _cut(mesh, (1, 1, 4 * HIDDEN, HIDDEN), 2, 2)
    x = _cut(mesh, (1, 1, tokens, HIDDEN), None, 3)

    def run() -> None:
        nonlocal x
        x = ttnn.all_reduce(ttnn.matmul(ttnn.gelu(ttnn.matmul(x, up)), down))
        x = ttnn.rms_norm(x)

    return run


def decode() -> Callable[[], object]:
    """A block of a decoder for one token of each of 32 users, tensor-parallel over two devices: heads cut, two sums."""
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
    wide, own = HIDDEN // HEADS, HEADS // 2
    query, out = _cut(mesh, (1, 1, HIDDEN, HIDDEN), 3, 1), _cut(mesh, (1, 1, HIDDEN, HIDDEN), 2, 2)
    up, down = _cut(mesh, (1, 1, HIDDEN, 4 * HIDDEN), 3, 3), _cut(mesh, (1, 1, 4 * HIDDEN, HIDDEN), 2, 4)
    keys, values = (_cut(mesh, (BATCH, HEADS, PAST, wide), 1, seed) for seed in (5, 6))
    x = _cut(mesh, (1, 1, BATCH, HIDDEN), None, 7)

    def run() -> None:
        nonlocal x
        heads = ttnn.reshape(ttnn.matmul(ttnn.rms_norm(x), query), (1, BATCH, own, wide))
        mixed = ttnn.transformer.scaled_dot_product_attention_decode(
            heads, keys, values, cur_pos=[PAST - 1] * BATCH
        )
        mixed = ttnn.reshape(mixed, (1, 1, BATCH, own * wide))
        x = ttnn.add(x, ttnn.all_reduce(ttnn.matmul(mixed, out)))
        inner = ttnn.gelu(ttnn.matmul(ttnn.rms_norm(x), up))
        x = ttnn.rms_norm(ttnn.add(x, ttnn.all_reduce(ttnn.matmul(inner, down))))

    return run


PROGRAMS: dict[str, Callable[[], Callable[[], object]]] = {
    "small": lambda: sums(32, 200),
    "large": lambda: sums(512, 10),
    "mlp": mlp,
    "decode": decode,
    "training": lambda: our_step(2, "bfloat16", 8),
    "training-4": lambda: our_step(4, "bfloat16", 8),
}


def main() -> None:
    what, rounds, file = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    step = PROGRAMS[what]()
    book = process.book(0, 0)
    pairs, sizes = [], []
    for turn in range(rounds + 2):
        spent = {}
        for recorded in (True, False)[:: 1 if turn % 2 else -1]:
            book.inside.now = not recorded
            before, started = book.file.size, time.process_time()  # type: ignore[union-attr]
            step()
            spent[recorded] = time.process_time() - started
            if recorded:
                sizes.append(book.file.size - before)  # type: ignore[union-attr]
        pairs.append([spent[True], spent[False]])
    book.inside.now = False
    if int(ttnn.distributed_context_get_rank()) == 0:
        file.write_text(json.dumps({"pairs": pairs[2:], "bytes": max(sizes[2:])}))


if __name__ == "__main__":
    main()
