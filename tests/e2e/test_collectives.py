"""Collectives through `tt-run`: both mesh axes, shapes that fill tiles and that do not, the same bits on 1, 2 and 4 ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.launch import tt_run

PROGRAM = """
import hashlib
import numpy as np
import ttnn

mesh_device = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
groups = {None: [list(range(8))] * 8, 0: [[p % 4, p % 4 + 4] for p in range(8)], 1: [[*range(p // 4 * 4, p // 4 * 4 + 4)] for p in range(8)]}
for shape in ((1, 1, 32, 32), (1, 2, 5, 7), (33, 48)):
    for dim in (-1, -2):
        chunks = np.random.default_rng(len(shape)).standard_normal((8, *shape)).astype(np.float32)
        tensor = ttnn.from_torch(
            np.concatenate(chunks, -1), dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=mesh_device,
            mesh_mapper=ttnn.ShardTensorToMesh(mesh_device, dim=-1))
        for axis in (None, 0, 1):
            gathered = ttnn.all_gather(tensor, dim=dim, cluster_axis=axis)
            total = ttnn.all_reduce(tensor, cluster_axis=axis)
            for result, join in ((gathered, lambda m: np.concatenate(m, dim)), (total, lambda m: sum(m[1:], m[0]))):
                parts = [ttnn.to_torch(t) for t in ttnn.get_device_tensors(ttnn.from_device(result))]
                parts = [np.asarray(p) for p in parts]
                for p, part in enumerate(parts):
                    wanted = join([chunks[i] for i in groups[axis][p]])
                    assert part.shape == wanted.shape, (shape, dim, axis, p, part.shape, wanted.shape)
                    assert np.array_equal(part, wanted), (shape, dim, axis, p)
                digest = hashlib.sha256(b"".join(np.ascontiguousarray(p).tobytes() for p in parts)).hexdigest()[:16]
                print(f"case {shape}/{dim}/{axis}".replace(" ", ""), "sha256", digest, flush=True)
ttnn.close_mesh_device(mesh_device)
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("collectives") / "collectives.py"
    path.write_text(PROGRAM)
    return path


def run(program: Path, split: str) -> list[str]:
    """The digests that each rank printed; all ranks read all shards, so all print the same."""
    ran = tt_run("--emulate", "--system", "t3000", "--split", split, "--no-prefix", "python", program).check()
    digests = sorted(line for line in ran.out.splitlines() if line.startswith("case"))
    ranks = eval(split.replace("x", "*"))
    assert len(digests) == ranks * 3 * 2 * 3 * 2
    return digests[::ranks]


@pytest.fixture(scope="module")
def one_rank(program: Path) -> list[str]:
    return run(program, "1x1")


@pytest.mark.wide  # tests/runtime/ccl/test_ranks.py shows it quickly, for every collective
@pytest.mark.parametrize("split", ["1x2", "2x1", "2x2"])
def test_both_axes_and_odd_shapes_have_the_bits_of_one_rank(
    program: Path, one_rank: list[str], split: str
) -> None:
    assert run(program, split) == one_rank
