"""A layer of experts in one call on one device, against loops over single tokens."""

import contextlib
import math

import numpy as np
import pytest

from tt_run.runtime import catalog, events
from tt_run.runtime.ccl.fused.expert_returns import _cores, _in_range, check_returns
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout, Topology
from tt_run.runtime.mesh import MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.conversion.layouts import to_memory_config
from tt_run.runtime.tensor.distribution.mappers import ShardTensorToMesh
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)
from tt_run.runtime.tuning.choices import MoEActivationFunction
from tt_run.runtime.values import shapes
from tt_run.runtime.values.shards import Shards

HIDDEN, BETWEEN, TOKENS, EXPERTS, CHOICES = 64, 384, 6, 3, 2
rng = np.random.default_rng(11)
WORDS = rng.integers(-2, 3, (1, TOKENS, HIDDEN)).astype(np.float32)
CHOSEN = np.array([[0, 2], [2, 0], [1, 0], [0, 1], [2, 1], [0, 2]], np.uint16)
SCORES = rng.integers(1, 9, (TOKENS, CHOICES)).astype(np.float32) / 8
LAYERS = 2
GATE, UP = (rng.integers(-2, 3, (LAYERS, EXPERTS, HIDDEN, BETWEEN)).astype(np.float32) / 16 for _ in range(2))
DOWN = rng.integers(-2, 3, (LAYERS, EXPERTS, BETWEEN, HIDDEN)).astype(np.float32) / 16
BIASES = [
    rng.integers(-8, 9, (LAYERS, EXPERTS, n)).astype(np.float32) / 8 for n in (BETWEEN, BETWEEN, HIDDEN)
]
Kind = MoEActivationFunction


def call(name, *given, **words):
    found = catalog.find(f"ttnn.experimental.{name}")
    assert found is not None
    return found(*given, **words)


@pytest.fixture
def one():
    device = open_mesh_device(MeshShape(1, 1))
    yield device
    device.close()


def put(device, values, dtype=DataType.BFLOAT16, layout=Layout.ROW_MAJOR, place=L1_MEMORY_CONFIG):
    return from_torch(values, dtype=dtype, layout=layout, device=device, memory_config=place)


def operands(device, bias=False):
    words = {"L": LAYERS, "E": EXPERTS, "K": HIDDEN, "N": BETWEEN}
    gate, up, down, *biases = (
        put(device, v, DataType.FLOAT32, Layout.TILE) for v in (GATE, UP, DOWN, *(BIASES if bias else ()))
    )
    kind = "with_bias" if bias else "for_moe_compute"
    return [
        put(device, WORDS), put(device, CHOSEN, DataType.UINT16), put(device, SCORES),
        put(device, np.zeros((1, EXPERTS), np.uint16), DataType.UINT16),
        call(f"prepare_w0_w1_tensor_{kind}", gate, up, *biases[:2], **words),
        call(f"prepare_w2_tensor_{kind}", down, *biases[2:], **words),
    ]  # fmt: skip


def computed(given, **words):
    sizes = {"layer_id": 0, "output_height_shard_dim": 4, "intermediate_size": BETWEEN}
    return call("moe_compute", *given, **{**sizes, **words})


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def silu(g, u):
    return g * sigmoid(g) * u


def swiglu(g, u):
    g, u = min(g, 7.0), max(-7.0, min(u, 7.0))
    return (u + 1) * g * sigmoid(1.702 * g)


def gelu(g, u):
    return 0.5 * g * (1 + math.tanh(math.sqrt(2 / math.pi) * (g + 0.044715 * g**3))) * u


def clamped(g, u):
    g = min(g, 1.5)
    return g * sigmoid(g) * max(-1.5, min(u, 1.5))


def wanted(act, layer=0, bias=False, places=(0, 1, 2)):
    """[K, tokens, hidden] in float64; `places` are those of the experts among the weights."""
    out = np.zeros((CHOICES, TOKENS, HIDDEN))
    for token, slot in np.ndindex(TOKENS, CHOICES):
        e = places[CHOSEN[token, slot]]
        sides = [WORDS[0, token].astype(np.float64) @ w[layer, e] for w in (GATE, UP)]
        if bias:
            sides = [side + b[layer, e] for side, b in zip(sides, BIASES, strict=False)]
        hidden = np.array([act(g, u) for g, u in zip(*sides, strict=True)])
        out[slot, token] = hidden @ DOWN[layer, e] + (BIASES[2][layer, e] if bias else 0)
    return out


def same(found, expected):
    """Within one rounding to bfloat16 of the largest."""
    return np.allclose(found, expected, rtol=2**-7, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("kind", "limit", "act"),
    [
        (None, None, silu),
        (Kind.SWIGLU, None, swiglu),
        (Kind.GELU, None, gelu),
        (Kind.CLAMPED_SILU, 1.5, clamped),
    ],
)
def test_every_activation_has_its_meaning(one, kind, limit, act):
    found = computed(operands(one), activation_type=kind, activation_limit=limit)
    assert len(found) == 6
    assert same(found[5].shards.of(0), wanted(act))


def test_biases_and_layers(one):
    found = computed(operands(one, bias=True), has_bias=True, layer_id=1)
    assert same(found[5].shards.of(0), wanted(silu, 1, bias=True))


def test_tables_say_who_goes_where(one):
    counts, lines, lists, _, _ = computed(operands(one), compute_only=True)
    grid = one.compute_with_storage_grid_size()
    every = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(grid.x - 1, grid.y - 1))])
    assert counts.shape == (grid.x * grid.y, 4)
    place = counts.memory_config()
    assert (place.shard_spec.grid, tuple(place.shard_spec.shape)) == (every, (1, 4))
    assert np.array_equal(counts.shards.of(0)[:, :EXPERTS], np.tile([5, 3, 4], (grid.x * grid.y, 1)))
    tokens = lists.shards.of(0).reshape(EXPERTS, TOKENS + 1, 4)[:, :, 0]
    for expert in range(EXPERTS):
        own = [t for t in range(TOKENS) if expert in CHOSEN[t]]
        assert tokens[expert, : len(own) + 1].tolist() == [*own, 0xFFFFFFFF]
    table = lines.shards.of(0).reshape(TOKENS, 8)
    for token, line in enumerate(table):
        assert line[0] == token
        for slot, expert in enumerate(CHOSEN[token]):
            assert line[1 + expert] == slot
            bits = np.array([line[1 + EXPERTS + expert] << 16], np.uint32)
            assert bits.view(np.float32)[0] == SCORES[token, slot]


def test_the_last_two_experts_rows_lie_in_the_combine_cores(one):
    found = computed(operands(one))
    cores = call("get_moe_combine_cores", one, 4, 2, HIDDEN)
    grid = one.compute_with_storage_grid_size()
    assert not found[3].shards.of(0).any()
    for slot in (3, 4):
        place = found[slot].memory_config().shard_spec
        assert place.grid.num_cores() == grid.x * grid.y and tuple(place.shape) == (64, HIDDEN)
    rooms = found[4].shards.of(0)[[core.y * grid.x + core.x for core in cores]].reshape(4, 2, 2, 64, 32)
    back = found[5].shards.of(0)
    for expert, buffer in ((1, 1), (2, 0)):
        own = [(t, CHOSEN[t].tolist().index(expert)) for t in range(TOKENS) if expert in CHOSEN[t]]
        shares = [len(own) // 4 + (h < len(own) % 4) for h in range(4)]
        places = [(h, row) for h, share in enumerate(shares) for row in range(share)]
        for (token, slot), (h, row) in zip(own, places, strict=True):
            assert np.array_equal(rooms[h, :, buffer, row].reshape(-1), back[slot, token])


def test_an_axis_of_one_device_leaves_the_rows_of_others_alone():
    mesh = open_mesh_device(MeshShape(1, 2))
    given = operands(mesh)
    given[3] = put(mesh, np.tile(np.array([0, 0, 1], np.uint16), (2, 1)), DataType.UINT16)
    held = put(mesh, np.full((CHOICES, TOKENS, HIDDEN), 7, np.float32))
    found = computed(given, cluster_axis=0, optional_output_tensor=held)
    assert found[5].storage is held.storage and found[5].memory_config() == held.memory_config()
    for device, owned in ((0, CHOSEN < 2), (1, CHOSEN == 2)):
        shard, mine = held.shards.of(device), owned.T
        assert (shard[~mine] == 7).all()
        # The first expert of a device has the first of its weights.
        assert same(shard[mine], wanted(silu, places=(0, 1, 0))[mine])
    mesh.close()


def test_what_does_not_fit_is_refused(one):
    given = operands(one)
    for words, text in (
        ({"compute_only": True, "cluster_axis": 0}, r"compute_only=true\) requires cluster_axis"),
        ({"topology": Topology.Ring}, r"cluster_axis=None\) requires topology"),
        ({"compute_only": True, "mux_core_range_set": CoreRangeSet([])}, "requires mux_core_range_set"),
        ({"activation_limit": 1.0}, "required for CLAMPED_SILU and must be omitted"),
        ({"activation_type": Kind.CLAMPED_SILU, "activation_limit": -1.0}, "finite and positive, got -1"),
        ({"intermediate_size": 768}, r"is not packed for 2 layers x 3 experts over a ring of 12"),
        ({"intermediate_size": 32}, r"at least 1 tile per ring core \(1 tiles < 12 cores\)"),
        ({"layer_id": 2}, "layer_id 2 of 2 layers"),
        ({"num_shared_experts_per_device": 4}, r"\(4\) must be <= experts_per_device \(3\)"),
        ({"cluster_axis": 0, "num_shared_experts_per_device": 1}, "does not support shared experts"),
        ({"cluster_axis": 0, "topology": Topology.Mesh}, "only supports Topology::Linear or Topology::Ring"),
        (
            {
                "cluster_axis": 0,
                "optional_output_tensor": given[0],
                "output_memory_config": DRAM_MEMORY_CONFIG,
            },
            "differs from output_memory_config",
        ),
        ({"cluster_axis": 2}, "out of range for a mesh with 2 axes"),
        (
            {"optional_output_tensor": put(one, np.zeros((2, 3, HIDDEN), np.float32))},
            "the output tensor has shape",
        ),
    ):
        with pytest.raises(RuntimeError, match=text):
            computed(given, **words)
    more = [*given[:3], put(one, np.zeros((1, 5), np.uint16), DataType.UINT16), *given[4:]]
    far = [given[0], put(one, CHOSEN, DataType.UINT16, place=DRAM_MEMORY_CONFIG), *given[2:]]
    with pytest.raises(RuntimeError, match="indices must be in L1"):
        computed(far)
    with pytest.raises(RuntimeError, match="gives device 0 5 experts, its weights have 3"):
        computed(more)
    beyond = put(one, np.maximum(CHOSEN, 3 * (CHOSEN == 2)).astype(np.uint16), DataType.UINT16)
    with pytest.raises(RuntimeError, match="a token has expert 3, and the mapping 3 of them"):
        computed([given[0], beyond, *given[2:]])
    by_width = MemoryConfig(
        TensorMemoryLayout.WIDTH_SHARDED,
        BufferType.L1,
        ShardSpec(
            CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))]),
            (CHOICES * TOKENS, HIDDEN // 2),
            ShardOrientation.ROW_MAJOR,
        ),
    )
    for words in (
        {"output_memory_config": by_width},
        {"optional_output_tensor": put(one, np.zeros((CHOICES, TOKENS, HIDDEN), np.float32), place=by_width)},
    ):
        with pytest.raises(RuntimeError, match="must be INTERLEAVED or HEIGHT_SHARDED, not"):
            computed(given, cluster_axis=0, **words)


def test_tokens_divide_by_the_devices_of_the_axis(trio):
    with pytest.raises(RuntimeError, match="4 tokens do not divide by the 3 devices of axis 1"):
        given = operands(trio)
        computed(
            [
                *(each.derive(each.shards.map(lambda values: values[..., :4, :])) for each in given[:3]),
                *given[3:],
            ],
            cluster_axis=1,
        )


def test_a_combination_over_devices_needs_room_for_its_semaphores():
    mesh = open_mesh_device(MeshShape(1, 2))
    with pytest.raises(RuntimeError, match="opened with l1_small_size = 0"):
        computed(operands(mesh), cluster_axis=1)
    mesh.close()


def test_a_separate_combination_needs_all_rows():
    mesh = open_mesh_device(MeshShape(1, 2), l1_small_size=16384)
    slots = computed(operands(mesh), compute_only=True)
    cores = call("get_moe_combine_cores", mesh, 4, 2, HIDDEN)
    sizes = (HIDDEN, TOKENS, 1, CHOICES, 1, Topology.Linear, 1, 4, 2, cores, CoreRangeSet([]))
    with pytest.raises(RuntimeError, match="the rows of the last 2 of 3 experts only"):
        call("selective_reduce_combine", slots[4], slots[1], slots[2], slots[0], *sizes)
    with pytest.raises(RuntimeError, match=r"aligned 2 \* experts_per_device \+ 1 elements per token"):
        call("selective_reduce_combine", slots[4], slots[1], slots[2], slots[0], HIDDEN, 8, *sizes[2:])
    mesh.close()


def test_a_run_in_shapes_gives_the_same_shapes():
    mesh = open_mesh_device(MeshShape(1, 2), l1_small_size=16384)
    found = computed(operands(mesh), cluster_axis=1)
    with shapes.only():
        bare = computed(operands(mesh), cluster_axis=1)
    assert [t.spec for t in bare] == [t.spec for t in found]
    assert found[5].shape == (CHOICES, TOKENS // 2, HIDDEN)
    mesh.close()


def in_columns(mesh):
    """What `selective_reduce_combine` is called with, by name, the experts of each token, and each expert's rows.

    Two experts a device, eight tokens of two devices, rows of 40 elements in two parts of 32: the last eight are filled up.
    """
    rng = np.random.default_rng(5)
    tokens, hidden, part, experts = 8, 40, 32, 2
    chosen = np.stack([rng.permutation(4)[:CHOICES] for _ in range(tokens)])
    every = rng.integers(-9, 9, (4, tokens, hidden)).astype(np.float32)
    dense = np.zeros(
        (2, 2, 2, experts, tokens // 2, part), np.float32
    )  # device, part, share of tokens, expert, …
    lines = np.zeros((2, tokens, 8), np.uint32)
    lists = np.zeros((2, experts, tokens + 1, 4), np.uint32)
    counts = np.zeros((2, 1, 4), np.uint32)
    for expert in range(4):
        device, place = divmod(expert, experts)
        own = [t for t in range(tokens) if expert in chosen[t]]
        counts[device, 0, place] = len(own)
        lists[device, place, : len(own) + 1, 0] = [*own, 0xFFFFFFFF]
        first = -(-len(own) // 2)
        for number, token in enumerate(own):
            share, row = (0, number) if number < first else (1, number - first)
            whole = np.concatenate([every[expert, token], np.full(24, 99, np.float32)])
            dense[device, :, share, place, row] = whole.reshape(2, part)
    for device in range(2):
        here = [t for t in range(tokens) if {2 * device, 2 * device + 1} & set(chosen[t])]
        for row, token in enumerate(here):
            slots = [[*chosen[token], e].index(e) for e in (2 * device, 2 * device + 1)]
            lines[device, row, :3] = [token, *slots]

    def each(values, dtype, place=None):
        mapper = ShardTensorToMesh(mesh, dim=0)
        return from_torch(
            values, dtype=dtype, layout=Layout.ROW_MAJOR, device=mesh, mesh_mapper=mapper, memory_config=place
        )

    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 1))])
    spec = ShardSpec(grid, (experts * tokens // 2, part), ShardOrientation.ROW_MAJOR)
    place = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, spec)
    by_columns = [CoreCoord(x, y) for x in range(2) for y in range(2)]
    words = {
        "dense_input_tensor": each(dense.reshape(4, 2, experts, tokens // 2, part), DataType.BFLOAT16, place),
        "dense_activations_tensor": each(lines.reshape(2, -1), DataType.UINT32),
        "dense_token_maps_tensor": each(lists.reshape(4, -1), DataType.UINT32),
        "dense_token_counts_tensor": each(counts.reshape(2, 4), DataType.UINT32),
        "hidden_size": hidden, "batch_size": tokens, "seq_size": 1, "select_experts_k": CHOICES, "cluster_axis": 1,
        "topology": Topology.Linear, "num_links": 1, "token_parallel_core_dim": 2, "data_parallel_core_dim": 2,
        "worker_cores": by_columns, "mux_core_range_set": CoreRangeSet([]),
    }  # fmt: skip
    return words, chosen, every


@pytest.fixture
def trio():
    device = open_mesh_device(MeshShape(1, 3), l1_small_size=16384)
    yield device
    device.close()


@pytest.fixture
def pair():
    device = open_mesh_device(MeshShape(1, 2), l1_small_size=16384)
    yield device
    device.close()


def test_rows_come_back_from_cores_in_columns_of_a_grid(pair):
    words, chosen, every = in_columns(pair)
    found = call("selective_reduce_combine", **words)
    for device in range(2):
        for slot, row in np.ndindex(CHOICES, 4):
            token = device * 4 + row
            assert np.array_equal(found.shards.of(device)[slot, row], every[chosen[token, slot], token])


def test_a_separate_combination_names_what_does_not_fit(pair):
    words, _, _ = in_columns(pair)
    dense, maps, counts = (words[f"dense_{name}_tensor"] for name in ("input", "token_maps", "token_counts"))
    few = counts.derive(counts.shards.map(lambda values: values + 1))
    for changed, text in (
        ({"dense_input_tensor": to_memory_config(dense, DRAM_MEMORY_CONFIG)}, "must be in height over the worker cores"),
        ({"worker_cores": words["worker_cores"][:3]}, "3 worker_cores are not 2 x 2"),
        ({"token_parallel_core_dim": 1}, "4 worker_cores are not 1 x 2"),
        (
            {"worker_cores": [*words["worker_cores"][:3], CoreCoord(2, 0)]},
            "has 4 pieces on .*, none of them on 2-0",
        ),
        ({"dense_token_maps_tensor": maps.derive(maps.shards.map(lambda values: values[..., :32]))}, "must have 4 words for each of 8 tokens"),
        ({"batch_size": 7}, r"aligned 2 \* experts_per_device \+ 1 elements per token"),
        ({"dense_token_counts_tensor": few}, "selective_reduce_combine: "),
        ({"select_experts_k": 0}, "8 tokens of 0 choices do not divide by the 2 devices of axis 1"),
        ({"hidden_size": 0}, "8 tokens of 2 choices do not divide by the 2 devices of axis 1"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=text):
            call("selective_reduce_combine", **{**words, **changed})


def without(tensor, place):
    """The tensor with no shard on one device."""
    index = [-1 if i == place else row for i, row in enumerate(tensor.shards.index)]
    shards = Shards.unchecked(tensor.shards.data, tuple(index))
    return tensor.successor(shards, tensor.spec, tensor.tensor_topology())


@pytest.mark.parametrize("name", ["activations", "token_maps", "token_counts"])
def test_a_device_without_one_of_the_operands_gives_no_rows_back(pair, name):
    """And is named, alone: the one behind it has its operands."""
    words, _, _ = in_columns(pair)
    name = f"dense_{name}_tensor"
    with pytest.raises(RuntimeError, match=r"positions \[0\] hold no shard"):
        call("selective_reduce_combine", **{**words, name: without(words[name], 0)})


def test_a_device_without_rows_takes_no_part(pair):
    words, chosen, every = in_columns(pair)
    dense = words["dense_input_tensor"]
    found = call("selective_reduce_combine", **{**words, "dense_input_tensor": without(dense, 0)})
    assert tuple(found.shape) == (CHOICES, 8, 40) and found.shards.of(0) is None
    for slot, token in np.ndindex(CHOICES, 8):
        expert = chosen[token, slot]
        wanted = every[expert, token] if expert > 1 else np.zeros(40)
        assert np.array_equal(found.shards.of(1)[slot, token], wanted)


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("inside", [False, True], ids=["values", "shapes"])
def test_a_device_without_one_of_the_operands_computes_nothing(number, inside):
    mesh = open_mesh_device(MeshShape(1, 2))
    given = operands(mesh)
    whole = computed(given, compute_only=True)
    given[number] = without(given[number], 0)
    with shapes.only() if inside else contextlib.nullcontext():
        counts = computed(given, compute_only=True)[0]
    assert counts.shards.of(0) is None
    assert inside or np.array_equal(counts.shards.of(1), whole[0].shards.of(1))
    mesh.close()


def test_rows_come_back_to_where_they_are_asked_for(pair):
    words, _, _ = in_columns(pair)
    for place in (L1_MEMORY_CONFIG, DRAM_MEMORY_CONFIG, None):
        found = call("selective_reduce_combine", **words, memory_config=place)
        assert found.memory_config() == (place or DRAM_MEMORY_CONFIG)


def test_rows_over_cores_in_width_are_no_rows_in_height(pair):
    words, _, _ = in_columns(pair)
    dense = words["dense_input_tensor"]
    spec = ShardSpec(
        CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))]), (32, 32), ShardOrientation.ROW_MAJOR
    )
    place = MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1, spec)
    with pytest.raises(RuntimeError, match=r"must be in height over the worker cores, not .*WIDTH_SHARDED"):
        call("selective_reduce_combine", **{**words, "dense_input_tensor": to_memory_config(dense, place)})


@pytest.mark.parametrize(
    ("asked", "refused"),
    [((2, 1, 1), False), ((0, 1, 1), True), ((2, 0, 1), True), ((2, 1, 0), True), ((3, 1, 1), True)],
)
def test_what_comes_back_is_at_least_one_of_each(pair, asked, refused):
    tensor = put(pair, np.zeros((2, 2), np.float32))
    if refused:
        with pytest.raises(
            RuntimeError, match=f"{asked[0]} tokens of {asked[2]} choices do not divide by the 2"
        ):
            check_returns(tensor, pair, 1, asked)
    else:
        intent = check_returns(tensor, pair, 1, asked)
        assert (intent.shape, intent.elements) == ((1, 1, 1), 1)
        assert intent.detail == "2 tokens of 1 elements, 1 choices each"


def test_devices_that_combine_with_no_other_tell_nobody(one):
    mesh = open_mesh_device(MeshShape(1, 2))
    seen = []
    stop = events.subscribe(seen.append)
    try:
        computed(operands(one))
        computed(operands(mesh), cluster_axis=0)
    finally:
        stop()
    assert [event.name for event in seen if event.kind == "collective"] == []
    mesh.close()


@pytest.mark.parametrize("by_rows", [True, False])
def test_cores_of_a_range_come_by_rows_or_by_columns(by_rows):
    found = _in_range(CoreRange(CoreCoord(1, 0), CoreCoord(2, 2)), by_rows)
    rows = [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2)]
    assert [(core.x, core.y) for core in found] == (rows if by_rows else sorted(rows))


@pytest.mark.parametrize(
    ("width", "hidden", "grid", "part"),
    [
        (32, 40, (2, 2), 32),
        (32, 32, (2, 2), 16),
        (64, 32, (2, 2), 16),
        (32, 32, (4, 1), 32),
        (64, 32, (4, 1), 64),
    ],
)
def test_a_core_has_a_part_of_a_row_or_all_of_it(one, width, hidden, grid, part):
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 1))])
    spec = ShardSpec(cores, (8, width), ShardOrientation.ROW_MAJOR)
    place = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, spec)
    dense = put(one, np.zeros((4, 8, width), np.float32), place=place)
    chosen = [CoreCoord(x, y) for x in range(2) for y in range(2)]
    assert _cores(dense, 2, chosen, grid, hidden) == ([0, 2, 1, 3], 4, part)


def test_a_token_goes_where_its_sender_sends_its_experts():
    """Each of two devices has the mapping of both, and each has its own: the tokens of the first by the first row, the rest by the second."""
    mesh = open_mesh_device(MeshShape(1, 2), l1_small_size=16384)
    given = operands(mesh)
    given[3] = put(mesh, np.array([[0, 1, 1], [1, 1, 0]], np.uint16), DataType.UINT16)
    counts = computed(given, cluster_axis=1)[0]
    for device in range(2):
        owned = [np.flatnonzero(np.array(row) == device).tolist() for row in ([0, 1, 1], [1, 1, 0])]
        places = sorted({expert for each in owned for expert in each})
        wanted = [0] * len(places)
        for token, chosen in enumerate(CHOSEN):
            mine = owned[token // (TOKENS // 2)]
            for expert in chosen:
                if expert in mine:
                    wanted[places.index(expert)] += 1
        assert counts.shards.of(device)[0, : len(places)].tolist() == wanted
    mesh.close()


@pytest.mark.parametrize("number", [4, 5])
def test_each_device_has_its_own_weights(number):
    """Of the first matrices or of the second: what is unpacked for one device is not taken for the other."""
    mesh = open_mesh_device(MeshShape(1, 2))
    given = operands(mesh)
    given[3] = put(
        mesh, np.repeat(np.arange(2, dtype=np.uint16), EXPERTS).reshape(2, EXPERTS), DataType.UINT16
    )
    one = given[number]
    stack = one.shards.data[:1]

    def with_weights(rows, index):
        shards = Shards.unchecked(np.concatenate(rows), index)
        given[number] = one.successor(shards, one.spec, one.tensor_topology())
        return computed(given, cluster_axis=0)[5].shards

    plain, twice = (with_weights([values], (0, 0)) for values in (stack, 2 * stack))
    mixed = with_weights([stack, 2 * stack], (0, 1))
    assert not np.array_equal(plain.of(1), twice.of(1))
    assert np.array_equal(mixed.of(0), plain.of(0)) and np.array_equal(mixed.of(1), twice.of(1))
    mesh.close()
