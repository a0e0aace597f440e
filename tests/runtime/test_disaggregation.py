"""Tables of cache addresses, tiles as bytes, and where experts are."""

from __future__ import annotations

import numpy as np
import pytest

from tt_run.runtime import disaggregation as tables
from tt_run.runtime.mesh import MeshShape, open_mesh_device
from tt_run.runtime.mesh.view import FabricNodeId, MeshId
from tt_run.runtime.ops.experts import expert_layouts as layouts
from tt_run.runtime.tensor.borders import packing
from tt_run.runtime.values.blockfloat import round_blocks


def test_a_table_of_locations() -> None:
    config = tables.KvChunkAddressTableConfig(num_layers=2, max_sequence_length=128, num_slots=2)
    table = tables.KvChunkAddressTable(config)
    assert (table.num_position_chunks(), table.total_entries(), table.config_name(0)) == (4, 16, "0")
    table.set(0, 32, 1, tables.KvCacheLocation(5, 100))
    assert table.lookup(0, 32, 1).noc_addr == 5
    assert [place.size_bytes for place in table.lookup_range(0, 0, 64, 1)] == [0, 100]
    for position, slot, message in (
        (40, 0, "position 40 is not a multiple"),
        (0, 9, "slot 9 is out of range"),
    ):
        with pytest.raises(RuntimeError, match=message):
            table.lookup(0, position, slot)
    node = FabricNodeId(MeshId(0), 1)
    group = table.add_device_group([node])
    assert (group, table.add_device_group([node]), table.num_device_groups()) == (0, 0, 1)
    table.set_fabric_node_host(node, "a")
    assert (table.has_host(node), table.get_host(node)) == (True, "a")
    both = tables.KvChunkAddressTable({"v": config, "k": config})
    assert (both.config_id_of("k"), both.lookup(0, 0, 0, "v").size_bytes) == (0, 0)
    with pytest.raises(RuntimeError, match="no config 'x'"):
        both.config_id_of("x")


def test_tiles_of_block_floats_as_bytes() -> None:
    values = np.random.default_rng(0).standard_normal((64, 96)).astype(np.float32)
    packed = packing.tilize_and_pack_bfp8_b(values, 64, 96)
    assert len(packed) == 6 * 1088
    assert len(packing.tilize_and_pack_bfp4_b(values, 64, 96)) == 6 * 576
    tensor = packing.tensor_from_bfp8_bytes(packed, (1, 1, 64, 96))
    assert np.array_equal(tensor.to_numpy().reshape(64, 96), round_blocks(values, 7))
    # One element of each face's first row: its exponent first, then its byte.
    single = np.zeros((32, 32), np.float32)
    single[0, 16] = -1.5
    bytes_of = packing.tilize_and_pack_bfp8_b(single, 32, 32)
    assert (bytes_of[16], bytes_of[64 + 256]) == (127, 0b11100000)
    with pytest.raises(RuntimeError, match="not whole tiles"):
        packing.tilize_and_pack_bfp8_b(values, 64, 95)
    with pytest.raises(RuntimeError, match="bytes are not the"):
        packing.tensor_from_bfp8_bytes(packed[1:], (64, 96))


def test_where_experts_are() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    assert [layouts.shard_tiles(64, core, 12) for core in range(12)] == [6, 5, 5] * 4
    assert sum(layouts.w2_shard_tiles(224, core, 64, 12) for core in range(12)) == 224
    assert (layouts.auto_output_width_shard_dim(2880), layouts.auto_output_width_shard_dim(7168)) == (3, 4)
    assert (layouts.cluster_distance(0, 4, (2, 4), 0), layouts.cluster_distance(0, 5, (2, 4), 0)) == (1, None)
    mapping = torch.tensor([[0, 1, 2, 3]] * 4)
    shared = {4: [0, 2], 5: [1, 3]}
    wider = layouts.map_shared_experts(mapping, shared, (2, 2), 0)
    assert wider[:, 4:].tolist() == [[0, 1], [0, 1], [2, 1], [0, 3]]
    routed = torch.arange(4.0).reshape(1, 4, 1, 1)
    own = {4: torch.full((1, 1, 1, 1), 40.0), 5: torch.full((1, 1, 1, 1), 50.0)}
    w0, _, _ = layouts.add_shared_expert_weights(routed, routed, routed, own, own, own, shared, 4)
    assert w0.flatten().tolist() == [0, 40, 1, 50, 2, 40, 3, 50]
    with pytest.raises(RuntimeError, match="contiguous continuation"):
        layouts.map_shared_experts(mapping, {7: [0], 8: [1], 9: [2], 10: [3]}, (2, 2), 0)
    mesh = open_mesh_device(MeshShape(1, 1))
    assert layouts.effective_matmul_ring_size(mesh) == 12
    mesh.close()
