"""Tensors of a mesh that lives on several ranks (reference library 0.81.1)."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from mgd.resources import configs_root
from tests.runtime.mpi import Result, mpirun, run_ranks

pytestmark = pytest.mark.skipif(mpirun() is None, reason="no mpirun")

DESCRIPTORS = {1: "t3k_mesh_graph_descriptor", 2: "t3k_2x4_two_hosts", 4: "t3k_2x4_four_hosts"}

START = """
import hashlib, json, os, sys
import numpy as np
from tt_run.runtime.enums import DataType, DumpTensorMode, Layout
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.opening import open_mesh_device
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.distribution.per_device import *
from tt_run.runtime.tensor.conversion.copies import *
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.composers import *
from tt_run.runtime.tensor.creation.from_shape import full, rand
from tt_run.runtime.tensor.borders.files import as_tensor, dump_tensor, load_tensor
from tt_run.runtime.tensor.distribution.configs import MeshMapperConfig
from tt_run.runtime.tensor.distribution.mappers import *
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard

def ar(*shape):
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)

def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]

md = open_mesh_device(MeshShape(2, 4))
out = {}
"""
END = "\nmd.close()\nprint(json.dumps(out))\n"


def run(ranks: int, body: str, *args: str) -> Result:
    descriptor = configs_root() / "mgd" / f"{DESCRIPTORS[ranks]}.textproto"
    return run_ranks(ranks, START + body + END, *args, env={"TT_MESH_GRAPH_DESC_PATH": str(descriptor)})


def answers(ranks: int, body: str, *args: str) -> list[dict[str, Any]]:
    """What each rank found out."""
    result = run(ranks, body, *args).check()
    return [json.loads(rank.stdout.splitlines()[-1]) for rank in result.ranks]


TOUR = """
grid = from_torch(ar(4, 8), mesh_mapper=ShardTensor2dMesh(md, (2, 4), (0, 1)), dtype=DataType.BFLOAT16, device=md)
few = from_torch(ar(10, 3), mesh_mapper=ShardTensorToMesh(md, 0), device=md)
same = from_torch(ar(3, 5), device=md)
ints = from_torch(ar(8).astype(np.int32), mesh_mapper=ShardTensorToMesh(md, 0))
whole = ConcatMesh2dToTensor(md, (2, 4), (0, 1))
out["grid"] = digest(grid.to_numpy(whole))
out["few"] = digest(few.to_numpy(ConcatMeshToTensor(md, 0)))
out["same"] = digest(same.to_numpy(ConcatMeshToTensor(md, 0)))
out["ints"] = ints.to_numpy(ConcatMeshToTensor(md, 0)).tolist()
out["random"] = digest(rand([4, 4], md, seed=7).to_numpy(ConcatMeshToTensor(md, 0)))
out["unseeded"] = digest(rand([4, 4], md).to_numpy(ConcatMeshToTensor(md, 0)))
out["topology"] = str(few.tensor_topology())
out["parts"] = [str(p.device_coords()) for p in get_device_tensors(grid)]
out["part values"] = [digest(p.to_numpy()) for p in get_device_tensors(grid.cpu())]
out["host parts"] = [p.item() for p in get_device_tensors(ints)]
"""
LOCAL = """
tensor = from_torch(ar(4, 8), mesh_mapper=ShardTensor2dMesh(md, (2, 4), (0, 1)))
out["local"] = [tensor.host_buffer().is_local(c) for c in md.coords]
out["bytes"] = tensor.shards.data.nbytes
out["lines"] = str(tensor).count("ttnn.Tensor(")
out["device lines"] = [line for line in str(tensor.to(md)).splitlines() if line.startswith("device_id")]
out["shape"] = list(tensor.shape)
"""


@cache
def alone() -> dict[str, Any]:
    return answers(1, TOUR)[0]


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.wide)])
def test_every_rank_reads_what_one_rank_would(ranks: int) -> None:
    assert answers(ranks, TOUR) == [alone()] * ranks


@pytest.mark.wide
def test_a_rank_holds_and_prints_only_its_own_shards() -> None:
    first, second = answers(2, LOCAL)
    assert first["local"] == [True, True, False, False] * 2
    assert second["local"] == [False, False, True, True] * 2
    for found in (first, second):
        assert (found["bytes"], found["lines"], found["shape"]) == (4 * 2 * 2 * 4, 4, [2, 2])
    coords = [[line.split(", ", 1)[1] for line in found["device lines"]] for found in (first, second)]
    assert coords[0] == [f"MeshCoordinate([{r}, {c}])" for r in (0, 1) for c in (0, 1)]
    assert coords[1] == [f"MeshCoordinate([{r}, {c}])" for r in (0, 1) for c in (2, 3)]


@pytest.mark.wide
def test_a_submesh_of_another_rank_can_be_used_but_not_read() -> None:
    body = """
sub = md.create_submesh(MeshShape(2, 2))
tensor = from_torch(ar(4, 2), mesh_mapper=ShardTensorToMesh(sub, 0), device=sub)
out["shape"] = list(tensor.shape)
out["topology"] = str(tensor.tensor_topology().distribution_shape())
out["text"] = str(tensor)[:9]
try:
    out["values"] = tensor.to_numpy(ConcatMeshToTensor(sub, 0)).tolist()
except RuntimeError as error:
    out["values"] = str(error).split("info:\\n")[1]
"""
    first, second = answers(2, body)
    assert first["shape"] == second["shape"] == [1, 2]
    assert first["topology"] == second["topology"] == "MeshShape([4])"
    assert (first["text"], second["text"]) == ("device_id", "")
    assert first["values"] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert second["values"].startswith(
        "The tensor lives on a mesh MeshShape([2, 2]) of rank 0; this rank hosts no device"
    )


@pytest.mark.wide
def test_shards_of_devices_are_read_where_they_are() -> None:
    body = """
tensor = from_torch(ar(8), mesh_mapper=ShardTensorToMesh(md, 0), device=md)
out["values"] = []
for coord, part in zip(md.coords, get_device_tensors(tensor)):
    if md.get_view().is_local(coord):
        out["values"].append(part.item())
        # What is made of it is read where it is, too.
        assert [t.item() for t in (part.cpu(), part + 0, (part + 0).cpu(), get_device_tensors(part + 0)[0])] == [part.item()] * 4
    else:
        try:
            part.item()
        except RuntimeError as error:
            out["error"] = str(error).split("info:\\n")[1]
config = MeshMapperConfig([PlacementReplicate(), PlacementShard(0)], MeshShape(1, 2), MeshCoordinate(0, 1))
two = from_torch(ar(2), mesh_mapper=create_mesh_mapper(md, config), device=md)
out["own"] = [t.item() for t in (two, two + 0, two.cpu())]
try:
    pair = MeshMapperConfig([PlacementReplicate(), PlacementShard(0)], MeshShape(1, 2))
    from_torch(ar(2), mesh_mapper=create_mesh_mapper(md, pair), device=md).item()
except RuntimeError as error:
    out["elsewhere"] = str(error).split("info:\\n")[1]
if md.get_view().is_local(MeshCoordinate(0, 0)):
    # Nobody waits for the other rank, which does not read.
    out["own"].append(two.to_numpy().item())
"""
    first, second = answers(2, body)
    assert (first["own"], second["own"]) == ([0] * 4, [1] * 3)
    assert "Supply a mesh composer" in first["elsewhere"]
    assert second["elsewhere"].startswith(
        "This rank hosts no shard of the tensor, which lies at MeshCoordinate([0, 0]), "
    )
    assert (first["values"], second["values"]) == ([0, 1, 4, 5], [2, 3, 6, 7])
    assert first["error"].startswith(
        "The shard at MeshCoordinate([1, 3]) lives on rank 1 and cannot be read here."
    )
    assert "is_local(coord)" in second["error"]


@pytest.mark.wide
def test_writes_reach_the_local_shards() -> None:
    body = """
device = from_torch(ar(8, 2) * 0, mesh_mapper=ShardTensorToMesh(md, 0), device=md)
copy_host_to_device_tensor(from_torch(ar(8, 2), mesh_mapper=ShardTensorToMesh(md, 0)), device)
out["values"] = device.to_numpy(ConcatMeshToTensor(md, 0)).tolist()
host = from_host_shards([from_torch(ar(2) + i) for i in range(8)], MeshShape(2, 4))
out["shards"] = host.to(md).to_numpy(ConcatMeshToTensor(md, 0)).tolist()
"""
    expected = {
        "values": [[2.0 * i, 2.0 * i + 1] for i in range(8)],
        "shards": [float(v) for i in range(8) for v in (i, i + 1)],
    }
    assert answers(2, body) == [expected] * 2


@pytest.mark.wide
def test_one_rank_writes_the_file_of_all(tmp_path: Any) -> None:
    body = """
path = sys.argv[1] + "/x.tensorbin"
tensor = from_torch(ar(10, 2), mesh_mapper=ShardTensorToMesh(md, 0), dtype=DataType.BFLOAT16)
dump_tensor(path, tensor)
loaded = load_tensor(path, device=md)
out["values"] = loaded.to_numpy(ConcatMeshToTensor(md, 0)).tolist()
out["rows"] = len(loaded.shards.data)
out["topology"] = str(loaded.tensor_topology()) == str(tensor.tensor_topology())
cached = [as_tensor(ar(16, 2) + i, mesh_mapper=ShardTensorToMesh(md, 0), cache_file_name=sys.argv[1] + "/c") for i in (0, 5)]
out["cached"] = [c.to_numpy(ConcatMeshToTensor(md, 0))[0, 0].item() for c in cached]
dump_tensor(sys.argv[1] + "/own.tensorbin", tensor, DumpTensorMode.LOCAL)
own = load_tensor(sys.argv[1] + "/own.tensorbin", device=md)
os.makedirs(f"{sys.argv[1]}/of{md.group.rank}")  # as a host of its own, which no other rank sees
dump_tensor(f"{sys.argv[1]}/of{md.group.rank}/y.tensorbin", tensor)
out["own"] = own.to_numpy(ConcatMeshToTensor(md, 0)).tolist() == out["values"]
"""
    found = answers(2, body, str(tmp_path))
    for rank, rows in zip(found, (3, 2), strict=True):
        assert rank["values"] == [[2.0 * i, 2.0 * i + 1] for i in range(10)]
        assert rank["topology"] and rank["own"]
        assert rank["rows"] == rows
        assert rank["cached"] == [0.0, 0.0]
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")) == [
        "c_dtype_None_layout_ROW_MAJOR.tensorbin",
        "of0",
        "of0/y.tensorbin",
        "of1",
        "own.rank0.tensorbin",
        "own.rank1.tensorbin",
        "x.tensorbin",
    ]


def test_reading_on_one_rank_only_is_an_error_not_a_hang() -> None:
    body = """
tensor = from_torch(ar(8), mesh_mapper=ShardTensorToMesh(md, 0), device=md)
if md.group.rank == 0:
    tensor.to_numpy(ConcatMeshToTensor(md, 0))
"""
    result = run(2, body)
    assert result.returncode not in (0, 124, 137)
    assert "read tensor" in result.stderr
