"""Tokens to experts and back, against loops over single tokens."""

import numpy as np
import pytest

from tests.runtime.ccl import reference
from tt_run.runtime import catalog
from tt_run.runtime.ccl import experts
from tt_run.runtime.ccl.exchange import fabric
from tt_run.runtime.ccl.experts import all_to_all_combine, all_to_all_dispatch
from tt_run.runtime.ccl.fused import prefill_combine, prefill_dispatch
from tt_run.runtime.ccl.fused.expert_groups import check_ring
from tt_run.runtime.ccl.fused.prefill_dispatch import _real
from tt_run.runtime.enums import DataType, FabricConfig, Layout, Topology
from tt_run.runtime.errors import sentence_of
from tt_run.runtime.mesh import MeshCoordinate, MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.mesh.hardware import Arch
from tt_run.runtime.ops import zeros_like
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.conversion.layouts import to_layout
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMesh, ShardTensorToMesh
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG
from tt_run.runtime.values import shapes
from tt_run.runtime.values.dtypes import convert

MESH, DEVICES, EXPERTS = (2, 4), 8, 16
BATCH, SEQUENCE, WIDTH, CHOICES = 2, 3, 8, 4
OWNER = np.random.default_rng(3).permutation(np.repeat(np.arange(DEVICES), EXPERTS // DEVICES))


@pytest.fixture
def device():
    device = open_mesh_device(MeshShape(*MESH))
    yield device
    device.close()


@pytest.fixture
def tokens(device):
    """Tokens, the experts of each and the mapping; the first two with one shard per device."""
    rng = np.random.default_rng(0)
    words = halved(rng.standard_normal((DEVICES, BATCH, SEQUENCE, 1, WIDTH)))
    chosen = np.stack(
        [rng.permutation(EXPERTS)[:CHOICES] for _ in range(DEVICES * BATCH * SEQUENCE)]
    ).reshape(DEVICES, BATCH, SEQUENCE, 1, CHOICES)
    mapping = (OWNER[:, None] == np.arange(DEVICES)).astype(np.uint16)[None, None]
    return words, chosen, mapping


def halved(values):
    """As bfloat16 holds them."""
    return (values.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)


def on(device, shards, dtype):
    return from_torch(
        np.concatenate(list(shards)),
        dtype=dtype,
        layout=Layout.ROW_MAJOR,
        device=device,
        mesh_mapper=ShardTensorToMesh(device, dim=0),
    )


def tensors(device, tokens):
    words, chosen, mapping = tokens
    replicated = from_torch(
        mapping, dtype=DataType.UINT16, device=device, mesh_mapper=ReplicateTensorToMesh(device)
    )
    return (
        on(device, words, DataType.BFLOAT16),
        on(device, chosen.astype(np.uint16), DataType.UINT16),
        replicated,
    )


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dim", [1, 2])
def test_dispatch_gives_each_device_the_tokens_of_its_experts(device, tokens, axis, dim):
    words, chosen, _ = tokens
    sparse, metadata = all_to_all_dispatch(*tensors(device, tokens), cluster_axis=axis, output_concat_dim=dim)
    for group in reference.groups(MESH, axis):
        every = np.concatenate([words[p][:, :, 0] for p in group], dim - 1)
        choices = np.concatenate([chosen[p][:, :, 0] for p in group], dim - 1)
        for p in group:
            assert np.array_equal(metadata.shards.of(p)[0], choices)
            for b, s in np.ndindex(*every.shape[:2]):
                wanted = every[b, s] if p in OWNER[choices[b, s]] else np.zeros(WIDTH, np.float32)
                assert np.array_equal(sparse.shards.of(p)[0, b, s], wanted)
    assert tuple(sparse.shape) == sparse.shards.data.shape[1:]
    given = tensors(device, tokens)
    with shapes.only():
        bare = all_to_all_dispatch(*given, cluster_axis=axis, output_concat_dim=dim)
    assert [each.spec for each in bare] == [sparse.spec, metadata.spec]
    asked = experts._check_dispatch(given[0], device, axis, (dim, tuple(given[1].shape)))
    assert asked.shape == tuple(sparse.shape)  # which a rank without devices in it goes by
    assert asked.elements == words[0].size + chosen[0].size  # the choices travel with the tokens
    asked = experts._check_metadata(given[0], device, axis, tuple(given[1].shape))
    assert asked.elements == words[0].size + 2 * chosen[0].size  # and their scores
    members = len(reference.groups(MESH, axis)[0])
    assert asked.shape == (1, members * BATCH * SEQUENCE, WIDTH)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("local_reduce", [False, True])
@pytest.mark.parametrize("dim", [1, 2])
def test_combine_brings_results_back_to_their_tokens(device, tokens, axis, local_reduce, dim):
    inputs = tensors(device, tokens)
    _, metadata = all_to_all_dispatch(*inputs, cluster_axis=axis, output_concat_dim=dim)
    groups = reference.groups(MESH, axis)
    members = len(groups[0])
    rows = 1 if local_reduce else EXPERTS // DEVICES
    rng = np.random.default_rng(5)
    joined = (members * BATCH, SEQUENCE) if dim == 1 else (BATCH, members * SEQUENCE)
    outcome = halved(rng.standard_normal((DEVICES, rows, *joined, WIDTH)))
    found = all_to_all_combine(
        on(device, outcome, DataType.BFLOAT16),
        metadata,
        inputs[2],
        local_reduce=local_reduce,
        cluster_axis=axis,
        output_shard_dim=dim,
    )
    assert tuple(found.shape) == (CHOICES, BATCH, SEQUENCE, WIDTH)
    chosen = tokens[1]
    for group in groups:
        for i, p in enumerate(group):
            for b, s in np.ndindex(BATCH, SEQUENCE):
                choices = chosen[p][b, s, 0]
                for k, expert in enumerate(choices):
                    owner = OWNER[expert]
                    wanted = np.zeros(WIDTH, np.float32)
                    later = local_reduce and expert > min(e for e in choices if OWNER[e] == owner)
                    if owner in group and not later:
                        row = 0 if local_reduce else np.flatnonzero(owner == OWNER).tolist().index(expert)
                        at = (i * BATCH + b, s) if dim == 1 else (b, i * SEQUENCE + s)
                        wanted = outcome[owner][(row, *at)]
                    assert np.array_equal(found.shards.of(p)[k, b, s], wanted)


def test_what_does_not_fit_is_refused(device, tokens):
    """In the words of the reference library, but for the rank and the results of other tokens."""
    words, chosen, mapping = tensors(device, tokens)
    with pytest.raises(RuntimeError, match=r"except the last\. Mismatch at dimension 0 with shape"):
        all_to_all_dispatch(words, on(device, tokens[1][:, :1].astype(np.uint16), DataType.UINT16), mapping)
    with pytest.raises(RuntimeError, match="Output concat dimension must be 1 or 2, got 3"):
        all_to_all_dispatch(words, chosen, mapping, output_concat_dim=3)
    flat = on(device, tokens[0].reshape(DEVICES, -1), DataType.BFLOAT16)
    with pytest.raises(RuntimeError, match="the same number of dimensions"):
        all_to_all_dispatch(flat, chosen, mapping)
    with pytest.raises(RuntimeError, match=r"must be \[batch, sequence, 1, width\]"):
        all_to_all_dispatch(
            flat, on(device, tokens[1].astype(np.uint16).reshape(DEVICES, -1), DataType.UINT16), mapping
        )
    with pytest.raises(RuntimeError, match="must agree in batch and sequence"):
        all_to_all_combine(words, chosen, mapping, cluster_axis=0)
    with pytest.raises(RuntimeError, match="Axis must be specified at the moment"):
        all_to_all_combine(words, chosen, mapping)
    with pytest.raises(RuntimeError, match="Output shard dimension must be 1 or 2, got 0"):
        all_to_all_combine(words, chosen, mapping, cluster_axis=0, output_shard_dim=0)


@pytest.mark.parametrize(
    ("results", "choices"),
    [
        ((2, 2, 3, 8), (1, 4, 3, 4)),  # another batch, which divides
        ((2, 4, 2, 8), (1, 4, 3, 4)),  # another sequence
        ((2, 4, 3), (1, 4, 3, 4)),  # no width
        ((2, 3, 3, 8), (1, 3, 3, 4)),  # a batch that does not divide by two devices
    ],
)
def test_results_are_those_of_the_tokens_in_their_metadata(device, tokens, results, choices):
    mapping = tensors(device, tokens)[2]
    given = on(device, [np.zeros(results, np.float32)] * 8, DataType.BFLOAT16)
    metadata = on(device, [np.zeros(choices, np.uint16)] * 8, DataType.UINT16)
    with pytest.raises(RuntimeError) as error:
        all_to_all_combine(given, metadata, mapping, cluster_axis=0)
    assert sentence_of(error.value) == (
        f"all_to_all_combine: results {list(results)} and metadata {list(choices)} must agree in batch and sequence, "
        "and dimension 1 must divide by 2 devices"
    )


def test_tiles_and_other_numbers_are_refused(device, tokens):
    given = tensors(device, tokens)
    words, chosen, mapping = given
    tiled = [to_layout(each, Layout.TILE) for each in given]
    wide = on(device, tokens[0], DataType.FLOAT32)
    numbers = on(device, tokens[1].astype(np.int32), DataType.INT32)
    for call, first, second in (
        (lambda *given: all_to_all_dispatch(*given, cluster_axis=0), "Input", "Indices"),
        (lambda *given: all_to_all_combine(*given, cluster_axis=0), "Input", "Metadata"),
    ):
        for refused, message in (
            ((tiled[0], chosen, mapping), f"{first} tensor must be in row major layout"),
            ((wide, tiled[1], mapping), f"{second} tensor must be in row major layout"),
            ((wide, numbers, mapping), f"{first} tensor must be bfloat16"),
            ((words, numbers, mapping), f"{second} tensor must be uint16"),
        ):
            with pytest.raises(RuntimeError, match=message):
                call(*refused)
    assert all_to_all_dispatch(words, chosen, tiled[2], cluster_axis=0)[0].shape[1] == MESH[0] * BATCH
    with pytest.raises(RuntimeError, match="Metadata tensor must be in row major layout"):
        all_to_all_combine(words, chosen, tiled[2], cluster_axis=0)
    with pytest.raises(RuntimeError, match=r"is DataType::INT32; ttnn\.typecast"):
        all_to_all_combine(words, chosen, numbers, cluster_axis=0)


@pytest.mark.parametrize(
    ("held", "experts", "reduced", "words"),
    [
        (3, 16, False, "Expected input shape dim 0: 3 to be equal to expert mapping dim 2: 16"),
        (2, 15, False, "Experts 15 must be evenly divisible by devices"),
        (2, 16, True, "Expecting input dim 0 equal to num devices: 8, got: 2"),
    ],
)
def test_results_of_other_experts_than_there_are_are_refused(device, held, experts, reduced, words):
    sent, chosen = (held, 16, 1, 32), (1, 16, 1, 4)
    mapping = on(device, [np.zeros((1, 1, experts, 8), np.uint16)] * 8, DataType.UINT16)
    results = on(device, [np.zeros(sent, np.float32)] * 8, DataType.BFLOAT16)
    choices = on(device, [np.zeros(chosen, np.uint16)] * 8, DataType.UINT16)
    with pytest.raises(RuntimeError, match=words):
        all_to_all_combine(results, choices, mapping, cluster_axis=0, local_reduce=reduced)


def prefilled(submesh, dtype=DataType.BFLOAT16, **words):
    """Eight tokens a device of a row of four, each to experts t and t + 1 of eight, two experts a device."""
    rng = np.random.default_rng(1)
    values = np.rint(rng.uniform(-8, 8, (4, 8, 128))).astype(np.float32)
    chosen = np.stack([np.arange(8), (np.arange(8) + 1) % 8], -1)[None].repeat(4, 0)
    offsets = np.arange(4)[:, None] * 2 + np.tile([0, 32], 4)
    given = (
        on(submesh, values, dtype),
        on(submesh, chosen.astype(np.uint16), DataType.UINT16),
        on(submesh, offsets.astype(np.int32), DataType.INT32),
        from_torch(
            (np.arange(8) // 2)[None].astype(np.int32),
            device=submesh,
            mesh_mapper=ReplicateTensorToMesh(submesh),
        ),
    )
    sizes = {
        "dispatch_group_size": 4, "experts_per_chip": 2, "num_routed_experts": 8, "num_experts_per_tok": 2,
        "metadata_len": 3, "max_dispatch_buffer_token_size": 64, "cluster_axis": 1,
    }  # fmt: skip
    return values, call("dispatch", *given, **{**sizes, **words})


def call(name, *args, **words):
    found = catalog.find(f"ttnn.experimental.deepseek_prefill.{name}")
    assert found is not None
    return found(*args, **words)


def test_tokens_of_a_submesh_name_its_own_devices(device):
    submesh = device.create_submesh(MeshShape(1, 4), MeshCoordinate(1, 0))
    scales = np.arange(4 * 8, dtype=np.float32).reshape(4, 8, 1) / 7
    values, (buffer, notes) = prefilled(
        submesh, DataType.FP8_E4M3, fp8_output=True, fp8_scaled_input=True, metadata_len=4,
        scales_tensor=on(submesh, scales, DataType.FLOAT32),
    )  # fmt: skip
    assert buffer.dtype is DataType.FP8_E4M3
    for p in range(4):
        for expert in (2 * p, 2 * p + 1):
            first = 32 * (expert % 2)
            rows = notes.shards.of(p)[0, 0, first : first + 8]
            wanted = [(q, t, int(t != expert)) for q in range(4) for t in sorted([expert, (expert - 1) % 8])]
            assert rows[:, :3].tolist() == [list(row) for row in wanted]
            assert rows[:, 3].view(np.float32).tolist() == [scales[q, t, 0] for q, t, _ in wanted]
            held = buffer.shards.of(p)[0, 0, first : first + 8]
            assert np.array_equal(held, [values[q, t] for q, t, _ in wanted])
    _, (buffer, notes) = prefilled(submesh, max_dispatch_buffer_token_size=34)
    assert notes.shards.of(0)[0, 0, 32:34, 1].tolist() == [0, 1]  # what does not fit is dropped
    _, (buffer, notes) = prefilled(submesh, max_dispatch_buffer_token_size=1)
    assert buffer.shape[-2] == 1 and notes.shards.of(0)[0, 0, :, :2].tolist() == [[0, 0]]


def test_a_blackhole_sends_rows_in_fp8(device, monkeypatch):
    """Small whole numbers, which FP8 holds, and others, which are rounded once."""
    submesh = device.create_submesh(MeshShape(1, 4), MeshCoordinate(0, 0))
    _, (plain, notes) = prefilled(submesh)
    monkeypatch.setattr(type(submesh), "arch", lambda self: Arch.BLACKHOLE)
    _, (buffer, _) = prefilled(submesh, fp8_output=True)
    counts, regions = (on(submesh, np.tile(n, (4, 4)).astype(np.int32), DataType.INT32) for n in ((8, 8), (0, 32)))  # fmt: skip
    back = {
        "dispatch_group_size": 4, "experts_per_chip": 2, "num_experts_per_tok": 2, "seq_len_per_chip": 8, "cluster_axis": 1,
    }  # fmt: skip
    wanted = call("combine", plain, notes, counts, regions, **back)
    tiled = to_layout(plain, Layout.TILE)
    found = call("combine", tiled, notes, counts, regions, use_fp8_combine=True, **back)
    assert (buffer.dtype, found.dtype) == (DataType.FP8_E4M3, DataType.FP8_E4M3)
    for p in range(4):
        assert np.array_equal(buffer.shards.of(p), plain.shards.of(p))
        assert wanted.shards.of(p).any() and np.array_equal(found.shards.of(p), wanted.shards.of(p))
    finer = tiled.derive(
        tiled.shards.map(lambda values: convert(values * np.float32(1.1), DataType.BFLOAT16))
    )
    wanted = call("combine", finer, notes, counts, regions, **back)
    found = call("combine", finer, notes, counts, regions, use_fp8_combine=True, **back)
    for p in range(4):
        rounded = convert(wanted.shards.of(p), DataType.FP8_E4M3)
        assert np.array_equal(found.shards.of(p), rounded) and not np.array_equal(
            rounded, wanted.shards.of(p)
        )
    with pytest.raises(RuntimeError, match="requires TILE-layout dispatched buffer"):
        call("combine", plain, notes, counts, regions, use_fp8_combine=True, **back)


def test_prefill_refuses_what_does_not_fit(device):
    submesh = device.create_submesh(MeshShape(1, 4), MeshCoordinate(0, 0))
    for words, text in (
        ({"dispatch_group_size": 2}, "dispatch_group_size 2 is not that of the axis, 4"),
        ({"num_experts_per_tok": 3}, "do not have num_experts_per_tok=3 columns"),
        ({"metadata_len": 5}, "metadata_len must be 3 here, got 5"),
        ({"fp8_output": True}, "FP8 dispatch is not supported on Wormhole_B0"),
        ({"fp8_scaled_input": True}, "go together"),
    ):
        with pytest.raises(RuntimeError, match=text):
            prefilled(submesh, **words)
    _, (buffer, notes) = prefilled(submesh)
    counts = on(submesh, np.full((4, 8), 8, np.int32), DataType.INT32)
    back = {"experts_per_chip": 2, "num_experts_per_tok": 2, "seq_len_per_chip": 8, "cluster_axis": 1}
    with pytest.raises(RuntimeError, match="requires Blackhole hardware"):
        call("combine", buffer, notes, counts, counts, dispatch_group_size=4, use_fp8_combine=True, **back)
    with pytest.raises(RuntimeError, match="must have 3 words for each row"):
        call("combine", buffer, counts, counts, counts, dispatch_group_size=4, **back)
    with pytest.raises(RuntimeError, match="must be Ring or Torus"):
        call(
            "combine_fabric2d",
            buffer,
            notes,
            counts,
            counts,
            counts,
            2,
            2,
            8,
            1,
            1,
            Topology.Linear,
            DRAM_MEMORY_CONFIG,
        )
    with pytest.raises(RuntimeError, match="an even number of devices, at least four; axis 0 has 1"):
        call(
            "combine_fabric2d",
            buffer,
            notes,
            counts,
            counts,
            counts,
            2,
            2,
            8,
            0,
            1,
            Topology.Ring,
            DRAM_MEMORY_CONFIG,
        )


@pytest.mark.parametrize(
    ("axis", "topology", "links", "refused"),
    [
        (1, Topology.Ring, 1, None),
        (1, Topology.Torus, 4, None),
        (1, Topology.Ring, 0, "num_links must be 1 to 4, got 0"),
        (1, Topology.Ring, 5, "num_links must be 1 to 4, got 5"),
        (1, Topology.Linear, 1, "topology must be Ring or Torus"),
        (0, Topology.Ring, 1, "an even number of devices, at least four; axis 0 has 2"),
    ],
)
def test_which_rings_serve(device, axis, topology, links, refused):
    tensor = on(device, np.zeros((DEVICES, 1, 32), np.float32), DataType.FLOAT32)
    if refused is None:
        check_ring(tensor, axis, topology, links)
        return
    with pytest.raises(RuntimeError, match=refused):
        check_ring(tensor, axis, topology, links)


@pytest.mark.parametrize("missing", ["expert_offsets", "fwd_arrived", "final_arrived", "expert_go"])
def test_experts_that_combine_need_their_semaphores(device, missing):
    submesh = device.create_submesh(MeshShape(1, 4), MeshCoordinate(0, 0))
    _, (buffer, notes) = prefilled(submesh)
    numbers = [on(submesh, np.tile(n, (4, 4)).astype(np.int32), DataType.INT32) for n in ((0, 32), (8, 8))]
    names = on(submesh, np.arange(8).reshape(4, 2).astype(np.int32), DataType.INT32)
    mapper = ReplicateTensorToMesh(submesh)
    weights = [
        [from_torch(np.ones(shape, np.float32), DataType.BFLOAT16, layout=Layout.TILE, device=submesh, mesh_mapper=mapper)] * 2
        for shape in ((128, 64), (128, 64), (64, 128))
    ]  # fmt: skip
    words = {f"{name}_semaphore": object() for name in ("fwd_arrived", "final_arrived", "expert_go")}
    words["expert_offsets"] = numbers[0]
    del words[missing if missing in words else f"{missing}_semaphore"]
    with pytest.raises(
        RuntimeError, match="dispatched_metadata needs expert_offsets and the three semaphores"
    ):
        prefill_combine.hybrid_routed_expert_moe.compute(
            buffer, *numbers, names, *weights, 64, dispatched_metadata=notes, **words
        )


@pytest.mark.parametrize(
    ("padding", "right_only", "real"),
    [
        (None, False, [1, 1, 1, 1]),
        ([3, 0], False, [1, 1, 1, 0]),
        ([0, 0], False, [0, 0, 0, 0]),
        ([4, 0], True, [1, 1, 1, 1]),
        ([3, 1], False, [0, 1, 1, 1]),
        ([1, 1], False, [0, 0, 0, 1]),
        ([3, 1], True, [1, 1, 1, 1]),
        ([3, 0, 9], True, [1, 1, 1, 0]),
    ],
)
def test_tokens_of_the_padding_are_not_sent(padding, right_only, real):
    given = None if padding is None else np.array(padding, np.int32)
    assert _real(given, 4, right_only).astype(int).tolist() == real


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ((2, 3, 1, 8), (2, 3, 8)),
        ((2, 1, 3, 8), (2, 3, 8)),
        ((2, 3, 4, 1), None),
        ((1, 3, 4, 8), None),
        ((2, 1, 8), None),
    ],
)
def test_tokens_are_a_batch_and_a_sequence_of_either_form(shape, found):
    if found is None:
        with pytest.raises(RuntimeError) as error:
            experts._tokens(shape, "x")
        assert (
            sentence_of(error.value) == f"x must be [batch, sequence, 1, width] per device, got {list(shape)}"
        )
    else:
        assert experts._tokens(shape, "x") == found


@pytest.mark.parametrize(("dim", "choices"), [(0, (3, 3, 1, 4)), (1, (2, 4, 1, 4)), (2, (2, 3, 2, 4))])
def test_every_dimension_but_the_last_is_compared(device, tokens, dim, choices):
    words, _, mapping = tensors(device, tokens)
    other = on(device, [np.zeros(choices, np.uint16)] * 8, DataType.UINT16)
    with pytest.raises(RuntimeError) as error:
        all_to_all_dispatch(words, other, mapping)
    assert sentence_of(error.value) == (
        "Input and indices tensor must have the same shape for all dimensions except the last. "
        f"Mismatch at dimension {dim} with shape {words.shape[dim]} and {choices[dim]}"
    )


def test_results_go_into_the_tensors_that_are_given(device, tokens):
    given = tensors(device, tokens)
    found = all_to_all_dispatch(*given, cluster_axis=1)
    room = [zeros_like(each) for each in found]
    into = all_to_all_dispatch(*given, cluster_axis=1, output_tensors=room)
    for one, other, made in zip(into, room, found, strict=True):
        assert one.storage is other.storage
        assert np.array_equal(one.shards.of(5), made.shards.of(5))


def test_every_device_sends_to_every_other_over_a_fabric_of_one_dimension(device, tokens, monkeypatch):
    monkeypatch.setattr(MeshDevice, "any_open", classmethod(lambda _: False))
    given = tensors(device, tokens)
    fabric.set_fabric_config(FabricConfig.FABRIC_1D)
    try:
        assert all_to_all_dispatch(*given)[0].shape[1] == DEVICES * BATCH
    finally:
        fabric.set_fabric_config(FabricConfig.DISABLED)


def test_a_rank_without_devices_makes_results_of_the_same_shapes(device, tokens, monkeypatch):
    """It goes by the plan: nothing comes to it that would tell."""
    given = tensors(device, tokens)
    scores = on(device, tokens[1].astype(np.float32), DataType.BFLOAT16)
    metadata = catalog.find("ttnn.experimental.all_to_all_dispatch_metadata")
    assert metadata is not None
    submesh = device.create_submesh(MeshShape(1, 4), MeshCoordinate(0, 0))

    def made():
        sent = all_to_all_dispatch(*given, cluster_axis=1)
        outcome = on(device, np.zeros((DEVICES, 2, 4 * BATCH, SEQUENCE, WIDTH)), DataType.BFLOAT16)
        return [
            *sent,
            *metadata(given[0], given[1], scores, given[2], cluster_axis=1),
            all_to_all_combine(outcome, chosen, given[2], cluster_axis=1),
            *prefilled(submesh, metadata_len=3)[1],
        ]

    _, chosen = all_to_all_dispatch(*given, cluster_axis=1)
    wanted = made()
    monkeypatch.setattr(experts, "_in_groups", lambda *_: iter(()))
    monkeypatch.setattr(prefill_dispatch, "in_groups", lambda *_: iter(()))
    for each, other in zip(made(), wanted, strict=True):
        assert each.spec == other.spec and tuple(each.shards.shape) == tuple(other.shards.shape)
        assert set(each.shards.index) == {-1} and len(each.shards.data) == 0
