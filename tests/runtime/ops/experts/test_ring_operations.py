"""What programs ask around moe_compute on a device, against the packing of the host."""

from collections.abc import Iterator

import numpy as np
import pytest

from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.ops.experts import ring_weights
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ShardTensorToMesh

torch = pytest.importorskip("torch")

SIZES = {"L": 1, "E": 2, "K": 288, "N": 416}


@pytest.fixture
def one() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(1, 1))
    yield device
    device.close()


def call(name: str, *given: object, **words: object):
    found = catalog.find(f"ttnn.experimental.{name}")
    assert found is not None
    return found(*given, **words)


def test_weights_are_packed_as_on_the_host(one):
    generator = torch.Generator().manual_seed(0)
    shapes = {
        "gate": (288, 416),
        "up": (288, 416),
        "down": (416, 288),
        "b0": (416,),
        "b1": (416,),
        "b2": (288,),
    }
    host = {name: torch.randn(1, 2, *dims, generator=generator) for name, dims in shapes.items()}
    here = {n: from_torch(t, dtype=DataType.FLOAT32, layout=Layout.TILE, device=one) for n, t in host.items()}
    maps = call("get_weight_core_shard_maps", one, 288, 416)
    first, second = maps.w0_w1_shard_map, maps.w2_shard_map
    sizes = tuple(SIZES.values())
    turned = (1, 2, 416, 288)
    for name, operands, more in (
        ("prepare_w0_w1_tensor_for_moe_compute", ("gate", "up"), (*sizes, first)),
        ("prepare_w0_w1_tensor_with_bias", ("gate", "up", "b0", "b1"), (*sizes, first)),
        ("prepare_w2_tensor_for_moe_compute", ("down",), (*turned, second, first)),
        ("prepare_w2_tensor_with_bias", ("down", "b2"), (*turned, second, first)),
    ):
        found = call(name, *(here[n] for n in operands), **SIZES)
        wanted = getattr(ring_weights, name)(*(host[n] for n in operands), *more)
        assert found.layout is Layout.TILE
        assert np.array_equal(found.shards.of(0), wanted.numpy())


def test_packed_weights_fit_where_they_lie(one):
    gate = from_torch(np.ones((1, 2, 288, 416), np.float32), layout=Layout.TILE, device=one)
    packed = call("prepare_w0_w1_tensor_for_moe_compute", gate, gate, **SIZES)
    places = call(
        "get_weight_mem_configs",
        one,
        num_layers=1,
        experts_per_device=2,
        hidden_size=288,
        intermediate_size=416,
    )
    spec = places.w0_w1.shard_spec
    assert spec.num_cores() == 12
    assert spec.shape[0] * 12 * 128 == np.prod(tuple(packed.shape))
    assert places.w2.shard_spec.shape[1] == 128


def test_a_bias_takes_another_row_of_tiles(one):
    gate = from_torch(np.ones((1, 2, 448, 416), np.float32), layout=Layout.TILE, device=one)
    bias = from_torch(np.ones((1, 2, 416), np.float32), layout=Layout.TILE, device=one)
    sizes = {"num_layers": 1, "experts_per_device": 2, "hidden_size": 448, "intermediate_size": 416}
    rows = []
    for name, biases in (("for_moe_compute", ()), ("with_bias", (bias, bias))):
        packed = call(f"prepare_w0_w1_tensor_{name}", gate, gate, *biases, **{**SIZES, "K": 448})
        spec = call("get_weight_mem_configs", one, has_bias=bool(biases), **sizes).w0_w1.shard_spec
        assert spec.shape[0] * 12 * 128 == np.prod(tuple(packed.shape))
        rows.append(spec.shape[0])
    assert rows[1] > rows[0]


def test_cores_are_apart_and_inside_of_the_grid(one):
    mux = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(2, 2))])
    cores = call("get_moe_combine_cores", one, 4, 4, 4096, mux_core_range_set=mux)
    drain = call("get_moe_tilize_drain_core", one, 4, 4, 4096, mux_core_range_set=mux)
    box = call("get_moe_worker_mcast_bounding_box", one, 4, 4, 4096)
    assert len(set(cores)) == 16
    assert drain not in cores
    assert all(box.contains(core) and not mux.contains(core) for core in (*cores, drain))
    with pytest.raises(RuntimeError, match="no room for 64 x 4 combine cores"):
        call("get_moe_combine_cores", one, 64, 4, 4096)


def test_other_sizes_are_refused(one):
    gate = from_torch(np.ones((1, 2, 288, 416), np.float32), layout=Layout.TILE, device=one)
    with pytest.raises(RuntimeError, match=r"N dimension \(400\) must be divisible by TILE_SIZE \(32\)"):
        call("prepare_w0_w1_tensor_for_moe_compute", gate, gate, **{**SIZES, "N": 400})
    with pytest.raises(RuntimeError, match=r"not \[2, 2, 288, 416\] as L, E, K and N say"):
        call("prepare_w0_w1_tensor_for_moe_compute", gate, gate, **{**SIZES, "L": 2})


def test_shared_experts_follow_the_routed_ones():
    mesh = open_mesh_device(MeshShape(1, 2))
    mapper = ShardTensorToMesh(mesh, dim=1)
    rng = np.random.default_rng(1)
    routed, shared = (rng.standard_normal((1, n, 32, 64)).astype(np.float32) for n in (4, 2))
    there, more = (
        from_torch(v, dtype=DataType.FLOAT32, layout=Layout.TILE, device=mesh, mesh_mapper=mapper)
        for v in (routed, shared)
    )
    for found in call("add_shared_expert_weights", there, there, there, more, more, more, cluster_axis=1):
        for device in range(2):
            own = np.concatenate([routed[:, 2 * device : 2 * device + 2], shared[:, device : device + 1]], 1)
            assert np.array_equal(found.shards.of(device), own)
    with pytest.raises(RuntimeError, match="split over 2 devices of the other axis are not emulated"):
        call("add_shared_expert_weights", there, there, there, more, more, more, cluster_axis=0)
    mesh.close()
