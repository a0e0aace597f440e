"""A block of an image generator on 2x4: images and words attend to each other; rows share the images, columns the channels.

Norms over columns, attention around a ring of rows, products whose sums are scattered, and products with their gate and residual.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
import ttnn

from tests.runtime.programs.common import HIFI2, Bench, cosines, turned, weights

WIDTH, HEADS, DEPTH, IMAGE, WORDS = 256, 8, 32, 256, 64
ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)
bench = Bench(ttnn.open_mesh_device(ttnn.MeshShape(2, 4)))
ROWS, COLUMNS = bench.shape
OWN = HEADS // COLUMNS
GRID = bench.size
BLOCKS = ttnn.MinimalMatmulConfig(
    M_block_size=2, K_block_size=2, N_block_size=2, subblock_h=1, subblock_w=1, compute_with_storage_grid_size=GRID
)  # fmt: skip
RECIPROCALS = ttnn.create_layer_norm_reciprocals(bench.mesh, bench.cores, WIDTH // COLUMNS)


def gathered(x: ttnn.Tensor, axis: int = 1) -> ttnn.Tensor:
    return ttnn.experimental.all_gather_async(
        x, dim=3, multi_device_global_semaphore=bench.semaphores(2), barrier_semaphore=bench.semaphores(1)[0],
        num_links=1, topology=ttnn.Topology.Linear, cluster_axis=axis,
    )  # fmt: skip


def scattered(x: ttnn.Tensor) -> ttnn.Tensor:
    return ttnn.experimental.reduce_scatter_minimal_async(
        x, persistent_output_buffers=None, dim=3, multi_device_global_semaphore=bench.semaphores(3),
        barrier_semaphore=bench.semaphores(1)[0], num_links=1, topology=ttnn.Topology.Linear, cluster_axis=1,
    )  # fmt: skip


def product(x: ttnn.Tensor, weight: ttnn.Tensor, chunks: int = 1, act: object = None) -> list[ttnn.Tensor]:
    """x @ weight, cut into `chunks` along the columns."""
    words = {"fused_activation": act, "compute_kernel_config": HIFI2, "config": BLOCKS}
    if chunks == 1:
        return [ttnn.experimental.minimal_matmul(x, weight, **words)]
    return ttnn.experimental.minimal_matmul_split(x, weight, chunks=chunks, dim=-1, **words)


def normed(x: ttnn.Tensor, scale: ttnn.Tensor, shift: ttnn.Tensor) -> ttnn.Tensor:
    """Layer norm over the columns of the mesh, scaled and shifted by what the time says."""
    parts = gathered(
        ttnn.experimental.dit_layernorm_pre_allgather(x, RECIPROCALS, compute_kernel_config=HIFI2)
    )
    return ttnn.experimental.dit_layernorm_post_allgather(
        x, parts, weight=scale + 1.0, bias=shift, epsilon=1e-6, compute_kernel_config=HIFI2
    )


def by_column(weight: torch.Tensor, parts: int) -> torch.Tensor:
    """Every column's share of each part side by side, as products cut over columns need it."""
    cut = [part.chunk(COLUMNS, -1) for part in weight.chunk(parts, -1)]
    return torch.cat([torch.cat([part[c] for part in cut], -1) for c in range(COLUMNS)], -1)


def split(x: torch.Tensor) -> torch.Tensor:
    return x.view(1, -1, HEADS, DEPTH).transpose(1, 2)


class Stream:
    """The images or the words: values, weights, and both on the mesh."""

    def __init__(self, length: int, row: int | None) -> None:
        self.row, self.x = row, torch.randn(1, 1, length, WIDTH)
        self.qkv, self.out = weights(WIDTH, 3 * WIDTH), weights(WIDTH, WIDTH)
        self.up, self.down = weights(WIDTH, 2 * WIDTH), weights(2 * WIDTH, WIDTH)
        self.time = weights(WIDTH, 6 * WIDTH)
        self.turn = cosines(torch.arange(length), DEPTH)

    def start(self, time: ttnn.Tensor) -> list[ttnn.Tensor]:
        """Queries, keys and values of the own heads, turned by their place."""
        self.own = bench.put(self.x, (self.row, 3))
        self.says = product(time, bench.put(by_column(self.time, 6), (None, 1)), 6)
        found = product(
            gathered(normed(self.own, self.says[0], self.says[1])),
            bench.put(by_column(self.qkv, 3), (None, 1)), 3,
        )  # fmt: skip
        q, k, v = (
            ttnn.experimental.nlp_create_qkv_heads(t, num_heads=OWN, num_kv_heads=0, transpose_k_heads=False)[
                0
            ]
            for t in found
        )
        cos, sin = (bench.put(t[None, None], (self.row, None)) for t in self.turn)
        q, k = (ttnn.add(t * cos, ttnn.alt_complex_rotate90(t) * sin) for t in (q, k))
        return [q, k, v]

    def end(self, seen: ttnn.Tensor) -> torch.Tensor:
        """What was seen joins the stream, times its gate; then two products, of which the second is summed over columns."""
        joined = gathered(ttnn.experimental.nlp_concat_heads(seen))
        x = ttnn.experimental.dit_minimal_matmul_addcmul_fused(
            joined, bench.put(self.out, (None, 1)), 1.0, self.own, self.says[2],
            config=BLOCKS, compute_kernel_config=HIFI2,
        )  # fmt: skip
        wide = product(
            gathered(normed(x, self.says[3], self.says[4])), bench.put(self.up, (None, 1)), act=(ttnn.UnaryOpType.GELU, False)
        )[0]  # fmt: skip
        narrow = scattered(product(wide, bench.put(self.down, (None, 0)))[0])
        x = ttnn.addcmul(x, narrow, self.says[5])
        dims = (1, 3) if self.row is None else (self.row, 3)
        return bench.whole(x, dims)[:, :1]

    def start_wanted(self, time: torch.Tensor) -> list[torch.Tensor]:
        self.said = (time @ self.time).chunk(6, -1)
        x = F.layer_norm(self.x, (WIDTH,), eps=1e-6) * (1 + self.said[0]) + self.said[1]
        q, k, v = (split(t) for t in (x @ self.qkv).chunk(3, -1))
        return [turned(q, *self.turn), turned(k, *self.turn), v]

    def end_wanted(self, seen: torch.Tensor) -> torch.Tensor:
        x = self.x + seen.transpose(1, 2).flatten(2)[None] @ self.out * self.said[2]
        inner = F.layer_norm(x, (WIDTH,), eps=1e-6) * (1 + self.said[3]) + self.said[4]
        return x + F.gelu(inner @ self.up) @ self.down * self.said[5]


torch.manual_seed(0)
time = torch.randn(1, 1, 1, WIDTH)
image, words = Stream(IMAGE, 2), Stream(WORDS, None)
step = bench.put(time)
ours, theirs = image.start(step), words.start(step)
room = [bench.put(torch.zeros(1, OWN, IMAGE, DEPTH)) for _ in range(2)]
seen, heard, _ = ttnn.transformer.ring_joint_scaled_dot_product_attention(
    *ours, *theirs, persistent_output_buffer_k=room[0], persistent_output_buffer_v=room[1], joint_strategy="rear",
    logical_n=IMAGE, compute_kernel_config=HIFI2, dim=2, multi_device_global_semaphore=bench.semaphores(2), num_links=1,
    program_config=ttnn.SDPAProgramConfig(
        compute_with_storage_grid_size=(GRID.x, GRID.y - 1), q_chunk_size=32, k_chunk_size=64, exp_approx_mode=False
    ),
    cluster_axis=0, mesh_device=bench.mesh, topology=ttnn.Topology.Linear, subdevice_id=None,
    ccl_core_grid_offset=(0, GRID.y - 1),
)  # fmt: skip
q, k, v = (
    torch.cat(pair, 2) for pair in zip(image.start_wanted(time), words.start_wanted(time), strict=True)
)
wanted = F.scaled_dot_product_attention(q, k, v)
bench.check("image", image.end(seen), image.end_wanted(wanted[:, :, :IMAGE]))
bench.check("words", words.end(heard), words.end_wanted(wanted[:, :, IMAGE:]))
bench.close()
