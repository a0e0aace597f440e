"""What the programs of this folder share: a mesh, weights and results on it, and one line of how well they did."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
import ttnn

TILE = 32
HIFI2 = ttnn.WormholeComputeKernelConfig(
    math_fidelity=ttnn.MathFidelity.HiFi2, math_approx_mode=False, fp32_dest_acc_en=True, packer_l1_acc=True
)
WIDTH, HEIGHT = ttnn.TensorMemoryLayout.WIDTH_SHARDED, ttnn.TensorMemoryLayout.HEIGHT_SHARDED


class Bench:
    """A mesh, and the worst correlation and the bits of everything that was compared on it."""

    def __init__(self, mesh: ttnn.MeshDevice) -> None:
        self.mesh, self.shape = mesh, tuple(mesh.shape)
        self.worst, self.bits = 1.0, hashlib.sha256()
        size = mesh.compute_with_storage_grid_size()
        self.size = size
        self.cores = cores((0, 0, size.x - 1, size.y - 1))

    def put(
        self,
        values: torch.Tensor,
        dims: tuple[int | None, int | None] = (None, None),
        memory: ttnn.MemoryConfig = ttnn.DRAM_MEMORY_CONFIG,
        dtype: ttnn.DataType = ttnn.bfloat16,
        layout: ttnn.Layout = ttnn.TILE_LAYOUT,
    ) -> ttnn.Tensor:
        """Values cut over rows and columns of the mesh along `dims`."""
        mapper = ttnn.ShardTensor2dMesh(self.mesh, dims=dims, mesh_shape=self.shape)
        return ttnn.as_tensor(
            values,
            device=self.mesh,
            dtype=dtype,
            layout=layout,
            memory_config=memory,
            mesh_mapper=mapper,
        )

    def rows(
        self,
        values: torch.Tensor,
        dims: tuple[int | None, int | None] = (None, None),
        memory: ttnn.MemoryConfig = ttnn.DRAM_MEMORY_CONFIG,
        dtype: ttnn.DataType = ttnn.bfloat16,
    ) -> ttnn.Tensor:
        """The same in row-major."""
        return self.put(values, dims, memory, dtype, ttnn.ROW_MAJOR_LAYOUT)

    def whole(self, tensor: ttnn.Tensor, dims: tuple[int, int]) -> torch.Tensor:
        """The shards of all devices, joined along `dims`."""
        composer = ttnn.ConcatMesh2dToTensor(self.mesh, dims=dims, mesh_shape=self.shape)
        return ttnn.to_torch(tensor, mesh_composer=composer).float()

    def check(self, name: str, got: torch.Tensor, want: torch.Tensor) -> None:
        """Compare with PyTorch's values."""
        assert got.shape == want.shape, (name, got.shape, want.shape)
        pair = torch.stack([got.flatten().float(), want.flatten().float()])
        found = float(torch.corrcoef(pair)[0, 1])
        self.worst = min(self.worst, found)
        self.bits.update(got.float().contiguous().numpy().tobytes())
        assert found > 0.995, (name, found)

    def semaphores(self, count: int) -> list[object]:
        return [ttnn.create_global_semaphore(self.mesh, self.cores, 0) for _ in range(count)]

    def close(self) -> None:
        """Close the mesh and say how it went."""
        ttnn.close_mesh_device(self.mesh)
        print("worst", self.worst, self.bits.hexdigest())


def cores(*rectangles: tuple[int, int, int, int]) -> ttnn.CoreRangeSet:
    return ttnn.CoreRangeSet(
        [ttnn.CoreRange(ttnn.CoreCoord(*r[:2]), ttnn.CoreCoord(*r[2:])) for r in rectangles]
    )


def on_cores(
    layout: ttnn.TensorMemoryLayout,
    grid: ttnn.CoreRangeSet,
    piece: Sequence[int],
    kept: ttnn.BufferType = ttnn.BufferType.L1,
) -> ttnn.MemoryConfig:
    return ttnn.MemoryConfig(layout, kept, ttnn.ShardSpec(grid, piece, ttnn.ShardOrientation.ROW_MAJOR))


def cosines(positions: torch.Tensor, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosine and sine of every position, each twice beside itself."""
    angles = torch.outer(positions.float(), 1.0 / (10000 ** (torch.arange(0, width, 2).float() / width)))
    return angles.cos().repeat_interleave(2, -1), angles.sin().repeat_interleave(2, -1)


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    other = torch.empty_like(x)
    other[..., 0::2], other[..., 1::2] = -x[..., 1::2], x[..., 0::2]
    return x * cos + other * sin


def turning() -> torch.Tensor:
    """The matrix that puts -odd, even for even, odd: what the rotary embeddings multiply with."""
    found = torch.zeros(1, 1, TILE, TILE)
    even, odd = torch.arange(0, TILE, 2), torch.arange(1, TILE, 2)
    found[..., even, odd], found[..., odd, even] = 1, -1
    return found


def rms(x: torch.Tensor, weight: torch.Tensor, epsilon: float = 1e-5) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * weight


def weights(*shape: int) -> torch.Tensor:
    """Random ones that keep the size of what is multiplied with them."""
    return torch.randn(shape) * shape[-2] ** -0.5


def divisor(number: int, most: int) -> int:
    """The largest divisor that is not above `most`."""
    return max(n for n in range(1, most + 1) if number % n == 0)
