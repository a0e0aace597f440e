"""Refusals of the emulated library say what to do, and what they say works."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tt_run.runtime
from tests.runtime.mpi import run_ranks
from tt_run.runtime.enums import Layout, Topology

ROOT = Path(tt_run.runtime.__file__).parent


def test_refusals_say_what_to_do() -> None:
    """Each `fatal(…)` and `throw(…)` has a hint."""
    silent = []
    for path in ROOT.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "fatal(" in text or "throw(" in text else ():
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id in ("fatal", "throw") and "hint" not in [k.arg for k in node.keywords]:
                silent.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not silent, "write a hint with each of these refusals"


# Each refusal with what its hint says to type instead; `t` is bfloat16 in tiles on a 2x4 mesh, `r` in rows, `i` int32, `h` on the host,
# `x` float32; `cut` cuts over so many cores in a row.
MENDED = [
    ("open_mesh_device(MeshShape(0, 1))", "MeshShape(1, 1)", "open_mesh_device(MeshShape(1, 1))"),
    ("open_mesh_device(MeshShape(1, 2), num_command_queues=3)", "num_command_queues=1 or 2", "open_mesh_device(MeshShape(1, 2), num_command_queues=2)"),
    ("m.create_submeshes(MeshShape(2, 3))", "write one of 1, 2, 4", "m.create_submeshes(MeshShape(2, 4))"),
    ("m.get_device_id(MeshCoordinate(3, 3))", "MeshCoordinate(0, 0) to ttnn.MeshCoordinate(1, 3)", "m.get_device_id(MeshCoordinate(1, 3))"),
    ("m.get_view().is_local(MeshCoordinate(3, 3))", "MeshCoordinate(0, 0) to ttnn.MeshCoordinate(1, 3)", "m.get_view().is_local(MeshCoordinate(1, 3))"),
    ("mean(i)", "ttnn.typecast(tensor, ttnn.float32)", "mean(typecast(i, float32))"),
    ("std(i)", "ttnn.typecast(tensor, ttnn.float32)", "std(typecast(i, float32))"),
    ("argmax(t)", "or ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT)", "argmax(to_layout(t, ROW_MAJOR_LAYOUT))"),
    ("argmax(t, dim=9)", "dim is one of 0, 1, 2, 3", "argmax(t, dim=3)"),
    ("sum(t, 9)", "dim is one of 0, 1, 2, 3, or counts from the end: -1 to -4", "sum(t, -4)"),
    ("sum(t, [1, 1])", "name each dimension once", "sum(t, [1])"),
    ("topk(r, 3)", "ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)", "topk(to_layout(r, TILE_LAYOUT), 3)"),
    ("topk(i, 3)", "ttnn.typecast(tensor, ttnn.bfloat16)", "topk(typecast(i, bfloat16), 3)"),
    ("topk(t, 300)", "k=0 to 64", "topk(t, 64)"),
    ("prod(i, 1)", "ttnn.typecast(tensor, ttnn.float32)", "prod(typecast(i, float32), 1)"),
    ("cumsum(r, dim=0)", "ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)", "cumsum(to_layout(r, TILE_LAYOUT), dim=0)"),
    ("concat([t, typecast(t, float32)], 0)", "ttnn.typecast(tensor, ttnn.bfloat16)", "concat([t, typecast(typecast(t, float32), bfloat16)], 0)"),
    ("split(t, [3, 4], 3)", "sizes that add up to 64", "split(t, [32, 32], 3)"),
    ("all_reduce(h)", "ttnn.to_device(tensor, device)", "all_reduce(to_device(h, m))"),
    ("all_reduce(t, cluster_axis=5)", "cluster_axis=1 along rows", "all_reduce(t, cluster_axis=1)"),
    ("all_gather(t, 3, cluster_axis=2)", "a 2x4 mesh has the axes 0, 1", "all_gather(t, 3, cluster_axis=1)"),
    ("reduce_scatter(i, 3)", "ttnn.typecast(tensor, ttnn.float32)", "reduce_scatter(typecast(i, float32), 3)"),
    ("from_torch(a, mesh_mapper=ShardTensor2dMesh(m, (4, 4), (0, 1)))", "such as (2, 4)", "from_torch(a, mesh_mapper=ShardTensor2dMesh(m, (2, 4), (2, 3)))"),
    ("create_mesh_mapper(m, MeshMapperConfig([PlacementShard(3)]))", "name 2 placements", "create_mesh_mapper(m, MeshMapperConfig([PlacementReplicate(), PlacementShard(3)]))"),
    ("embedding(from_torch(a[0, 0], dtype=uint32, device=m), from_torch(a[0, 0, :4], dtype=bfloat16, device=m))", "ids are 0 to 3", "embedding(from_torch(a[0, 0] * 0 + 3, dtype=uint32, device=m), from_torch(a[0, 0, :4], dtype=bfloat16, device=m))"),
    ("arange(0, 10, -1)", "step=1", "arange(0, 10, 1)"),
    ("rms_norm(r)", "ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)", "rms_norm(to_layout(r, TILE_LAYOUT))"),
    ("copy_host_to_device_tensor(t, t)", "ttnn.from_device(source)", "copy_host_to_device_tensor(from_device(t), t)"),
    ("copy_host_to_device_tensor(h, i)", "ttnn.to_dtype(host_tensor, ttnn.int32)", "copy_host_to_device_tensor(to_dtype(h, int32), i)"),
    ("copy_host_to_device_tensor(h, r)", "ttnn.to_layout(host_tensor, ttnn.ROW_MAJOR_LAYOUT)", "copy_host_to_device_tensor(to_layout(h, ROW_MAJOR_LAYOUT), r)"),
    ("transformer.scaled_dot_product_attention(t, t, t, attn_mask=t)", "leave attn_mask out", "transformer.scaled_dot_product_attention(t, t, t)"),
    ("Tile((3, 3))", "ttnn.Tile((32, 32))", "Tile((32, 32))"),
    ("tilize(t)", "ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT)", "tilize(to_layout(t, ROW_MAJOR_LAYOUT))"),
    ("untilize(r)", "ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)", "untilize(to_layout(r, TILE_LAYOUT))"),
    ("transpose(t, 9, 1)", "dim is one of 0, 1, 2, 3", "transpose(t, 3, 1)"),
    ("div(t, t, rounding_mode='x')", "rounding_mode='floor'", "div(t, t, rounding_mode='floor')"),
    ("bitwise_and(t, t)", "ttnn.typecast(tensor, ttnn.int32)", "bitwise_and(typecast(t, int32), typecast(t, int32))"),
    ("group_norm(t, num_groups=0, inplace=False)", "num_groups=1 or more", "group_norm(t, num_groups=1, inplace=False)"),
    ("clamp(t)", "min=…", "clamp(t, min=0.0)"),
    ("to_memory_config(t, cut((31, 64), HEIGHT, 1))", "multiples of 32 and 32", "to_memory_config(t, cut((32, 64), HEIGHT, 1))"),
    ("to_memory_config(t, cut((32, 32), HEIGHT, 1))", "a shard shape of [32, 64]", "to_memory_config(t, cut((32, 64), HEIGHT, 1))"),
    ("to_memory_config(t, cut((64, 64), WIDTH, 1))", "a shard shape of [32, 64]", "to_memory_config(t, cut((32, 64), WIDTH, 1))"),
    ("to_memory_config(t, cut((32, 32), WIDTH, 1))", "a grid of 2 cores", "to_memory_config(t, cut((32, 32), WIDTH, 2))"),
    ("to_memory_config(t, cut((32, 32), WIDTH, 1))", "shards of 64 columns", "to_memory_config(t, cut((32, 64), WIDTH, 1))"),
    ("to_memory_config(t, cut((32, 32), BLOCK, 1))", "a grid of 2 columns", "to_memory_config(t, cut((32, 32), BLOCK, 2))"),
    ("manual_seed(1)", "device=mesh_device", "manual_seed(1, device=m)"),
    ("manual_seed(1, user_ids=32, device=m)", "user_ids=0 to 31", "manual_seed(1, user_ids=31, device=m)"),
    ("moe_routing_remap(r, 32, 4, 2)", "cluster_axis=0 or 1", "moe_routing_remap(r, 32, 4, 1)"),
    ("moe_routing_remap(r, 32, 5, 1)", "expert_parallel_size=1", "moe_routing_remap(r, 32, 1, 1)"),
    ("view(t, [1, 1, 64, 32])", "ttnn.reshape(input_tensor, shape)", "reshape(t, [1, 1, 64, 32])"),
    ("to_dtype(t, float32)", "ttnn.typecast(tensor, ttnn.float32)", "typecast(t, float32)"),
    ("to_dtype(t, float32)", "ttnn.from_device(tensor) first", "to_dtype(from_device(t), float32)"),
    ("moreh_arange(0, 10, 0, m)", "step=1", "moreh_arange(0, 10, 1, m)"),
    ("moreh_arange(0, 10, -2, m)", "step=2", "moreh_arange(0, 10, 2, m)"),
    ("experimental.bluestein_fft(x, 32)", "N=64", "experimental.bluestein_fft(x, 64)"),
    ("experimental.fft(r, precision='p')", "precision='precise'", "experimental.fft(r, precision='precise')"),
    ("experimental.deepseek_prefill.per_token_cast_to_fp8(slice(r, [0, 0, 0, 0], [1, 1, 32, 32]))", "to 128", "experimental.deepseek_prefill.per_token_cast_to_fp8(pad(r, [(0, 0), (0, 0), (0, 0), (0, 64)], 0.0))"),
    ("t.item()", "ttnn.to_torch(tensor) reads them all", "t.cpu()"),
]  # fmt: skip

PROGRAM = """
import json, sys
import numpy as np
import ttnn

names = {name: getattr(ttnn, name) for name in dir(ttnn) if not name.startswith("_")}
m = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
a = np.arange(32 * 64, dtype=np.float32).reshape(1, 1, 32, 64)
h = ttnn.from_torch(a, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)
t = ttnn.to_device(h, m)
r = ttnn.to_layout(t, ttnn.ROW_MAJOR_LAYOUT)
i = ttnn.from_torch(a, dtype=ttnn.int32, layout=ttnn.TILE_LAYOUT, device=m)
x = ttnn.from_torch(a, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=m)
kinds = ttnn.TensorMemoryLayout


def cut(shape, kind, cores):
    grid = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(cores - 1, 0))])
    spec = ttnn.ShardSpec(grid, shape, ttnn.ShardOrientation.ROW_MAJOR)
    return ttnn.MemoryConfig(kind, ttnn.BufferType.L1, spec)


names.update(m=m, a=a, h=h, t=t, r=r, i=i, x=x, cut=cut)
names.update(HEIGHT=kinds.HEIGHT_SHARDED, WIDTH=kinds.WIDTH_SHARDED, BLOCK=kinds.BLOCK_SHARDED)
for wrong, hint, right in CASES:
    try:
        eval(wrong, names)
    except RuntimeError as error:
        said = [line for line in str(error).splitlines() if line.startswith("help: ")]
        assert len(said) == 1 and hint in said[0], (wrong, str(error))
    else:
        raise AssertionError(f"{wrong} is not refused")
    eval(right, names)
    print("mended", wrong)
"""


def test_what_a_hint_says_works() -> None:
    result = run_ranks(1, f"CASES = {MENDED!r}\n{PROGRAM}", env={"TT_RUN_SYSTEM": "t3000"}).check()
    assert result.ranks[0].stdout.count("mended ") == len(MENDED)


def test_a_name_that_an_enumeration_has_not_is_told_with_those_that_it_has() -> None:
    with pytest.raises(
        AttributeError, match=r"^type object 'Layout' has no attribute 'TIL'; it has ROW_MAJOR, TILE,"
    ) as told:
        Layout.TIL  # type: ignore[attr-defined]  # noqa: B018
    assert (told.value.name, told.value.obj) == ("TIL", Layout)  # Python adds: Did you mean: 'TILE'?
    assert not hasattr(Topology, "__wrapped__") and Topology["Ring"] is Topology.Ring
