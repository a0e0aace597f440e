"""A layer of an image encoder in the shape of a served one: everything in L1, cut in blocks, with a program for each product.

The queries, keys and values of each head lie side by side, as splitting on the cores of a block takes them; attention stays on the cores
of its heads. Each device has images of its own.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
import ttnn

from tests.runtime.programs.common import Bench, weights

LENGTH, WIDE, HEADS, IMAGES = 64, 256, 8, 4
DEPTH, BESIDE, DOWN = WIDE // HEADS, 4, IMAGES
"""Width of a head; cores beside and below one another: a column of cores has two heads, a row of them an image."""
BLOCK, ROWS = ttnn.L1_BLOCK_SHARDED_MEMORY_CONFIG, ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG
GRID = ttnn.CoreGrid(x=BESIDE, y=DOWN)
HIGH, EACH = LENGTH // 32, WIDE // BESIDE // 32


def product(
    columns: int, inner: int = EACH, activation: Any = None
) -> ttnn.MatmulMultiCoreReuseMultiCastProgramConfig:
    """Blocks of a whole image by `columns` tiles."""
    return ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(
        compute_with_storage_grid_size=(BESIDE, DOWN), in0_block_w=inner, out_subblock_h=1, out_subblock_w=1,
        per_core_M=HIGH, per_core_N=columns, transpose_mcast=False, fused_activation=activation,
    )  # fmt: skip


def by_head(columns: int, inner: int) -> ttnn.MatmulMultiCoreReuseProgramConfig:
    """One head's product after another, two heads to a core."""
    return ttnn.MatmulMultiCoreReuseProgramConfig(
        compute_with_storage_grid_size=(BESIDE, DOWN), in0_block_w=inner, out_subblock_h=1, out_subblock_w=1,
        per_core_M=2 * HIGH, per_core_N=columns,
    )  # fmt: skip


class Layer:
    def __init__(self, bench: Bench) -> None:
        self.parts = [weights(WIDE, WIDE) for _ in range(3)]
        self.out, self.up, self.down = weights(WIDE, WIDE), weights(WIDE, 4 * WIDE), weights(4 * WIDE, WIDE)
        fused = torch.stack([part.reshape(WIDE, HEADS, DEPTH) for part in self.parts], 2).reshape(WIDE, -1)
        self.fused, self.held_out, self.held_up, self.held_down = (
            bench.put(matrix, dtype=ttnn.bfloat8_b) for matrix in (fused, self.out, self.up, self.down)
        )
        self.scale, self.offset = torch.rand(WIDE) + 0.5, torch.randn(WIDE) * 0.1
        self.norm = {
            "weight": bench.put(self.scale.reshape(1, -1)), "bias": bench.put(self.offset.reshape(1, -1)), "epsilon": 1e-12,
            "memory_config": BLOCK, "program_config": ttnn.LayerNormShardedMultiCoreProgramConfig(
                compute_with_storage_grid_size=(BESIDE, DOWN), subblock_w=EACH, block_h=HIGH, block_w=EACH, inplace=False,
            ),
        }  # fmt: skip

    def attention(self, x: ttnn.Tensor) -> ttnn.Tensor:
        typed = {"dtype": ttnn.bfloat8_b, "memory_config": ROWS}
        fused = ttnn.linear(
            x, self.fused, dtype=ttnn.bfloat8_b, memory_config=BLOCK, program_config=product(3 * EACH)
        )
        query, key, value = ttnn.transformer.split_query_key_value_and_split_heads(
            fused, num_heads=HEADS, memory_config=ROWS
        )
        assert query.memory_config().shard_spec.grid == fused.memory_config().shard_spec.grid
        ttnn.deallocate(fused)
        value = ttnn.reallocate(value)
        scores = ttnn.matmul(query, key, program_config=by_head(HIGH, DEPTH // 32), **typed)
        scores = ttnn.mul_(scores, DEPTH**-0.5)
        shares = ttnn.softmax_in_place(
            scores,
            program_config=ttnn.SoftmaxShardedMultiCoreProgramConfig(
                compute_with_storage_grid_size=(BESIDE, DOWN), subblock_w=HIGH, block_h=2 * HIGH, block_w=HIGH
            ),
        )
        heads = ttnn.matmul(shares, value, program_config=by_head(DEPTH // 32, HIGH), **typed)
        joined = ttnn.transformer.concatenate_heads(heads, memory_config=BLOCK)
        return ttnn.linear(
            joined, self.held_out, dtype=ttnn.bfloat8_b, memory_config=BLOCK, program_config=product(EACH)
        )

    def __call__(self, x: ttnn.Tensor) -> ttnn.Tensor:
        typed = {"dtype": ttnn.bfloat8_b, "memory_config": BLOCK}
        x = ttnn.add(self.attention(ttnn.layer_norm(x, **self.norm)), x, **typed)
        wide = ttnn.linear(
            ttnn.layer_norm(x, **self.norm), self.held_up,
            program_config=product(4 * EACH, activation=(ttnn.UnaryOpType.GELU, True)), **typed,
        )  # fmt: skip
        return ttnn.add(
            ttnn.linear(wide, self.held_down, program_config=product(EACH, 4 * EACH), **typed), x, **typed
        )

    def on_host(self, x: torch.Tensor) -> torch.Tensor:
        def norm(values: torch.Tensor) -> torch.Tensor:
            return F.layer_norm(values, (WIDE,), self.scale, self.offset, 1e-12)

        query, key, value = (
            (norm(x) @ part).reshape(len(x), LENGTH, HEADS, DEPTH).transpose(1, 2) for part in self.parts
        )
        heads = F.scaled_dot_product_attention(query, key, value)
        x = x + heads.transpose(1, 2).reshape(x.shape) @ self.out
        return x + F.gelu(norm(x) @ self.up) @ self.down


def main() -> None:
    torch.manual_seed(0)
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
    bench = Bench(mesh)
    layers = [Layer(bench) for _ in range(2)]
    images = torch.randn(mesh.get_num_devices() * IMAGES, LENGTH, WIDE)
    x = ttnn.from_torch(
        images, dtype=ttnn.bfloat8_b, layout=ttnn.TILE_LAYOUT, device=mesh, memory_config=ttnn.L1_MEMORY_CONFIG,
        mesh_mapper=ttnn.ShardTensorToMesh(mesh, dim=0),
    )  # fmt: skip
    blocks = ttnn.create_sharded_memory_config(
        x.padded_shape, core_grid=GRID, strategy=ttnn.ShardStrategy.BLOCK
    )
    x = ttnn.to_memory_config(x, blocks)
    for layer in layers:
        x, images = layer(x), layer.on_host(images)
    bench.check(
        "encoder", ttnn.to_torch(x, mesh_composer=ttnn.ConcatMeshToTensor(mesh, dim=0)).float(), images
    )
    bench.close()


main()
