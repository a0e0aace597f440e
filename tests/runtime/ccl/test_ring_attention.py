"""Attention over a ring of four devices against its golden function, which sees whole sequences: masks, sinks, caches, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import DataType, Layout, Topology
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMesh, ShardTensorToMesh
from tt_run.runtime.tools.golden import get_golden_function

torch = pytest.importorskip("torch")
JOINT, MLA = "ring_joint_scaled_dot_product_attention", "ring_mla"


@pytest.fixture(scope="module")
def ring() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(1, 4))
    yield device
    device.close()


def draw(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


Q, K, V = draw(2, 4, 128, 32), draw(2, 2, 128, 32), draw(2, 2, 128, 32) * 2
BEHIND = (draw(2, 4, 32, 32), draw(2, 2, 32, 32), draw(2, 2, 32, 32) * 2)
ONE, HELD = draw(1, 4, 128, 32), (draw(6, 2, 256, 32), draw(6, 2, 256, 32) * 2)
ROUND = (HELD[0][:1], HELD[1][:1])
LATENTS = draw(3, 1, 256, 32)
INT = np.int32

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *((JOINT, (Q, K, V), words) for words in (
        {"logical_n": 128, "is_causal": True},
        {"logical_n": 128, "is_causal": True, "sliding_window_size": 20},
        {"logical_n": 110, "sliding_window_size": 21},
        {"logical_n": 128, "is_causal": True, "attention_sink": draw(1, 4, 1, 1)},
        {"logical_n": 128, "is_cross": True, "scale": 0.3},
    )),
    (JOINT, (Q, K, V, *BEHIND), {"logical_n": 128, "is_causal": True}),
    (JOINT, (Q, K, V, *BEHIND), {"logical_n": 100, "logical_l": 20}),
    (JOINT, (ONE, *HELD), {"logical_n": 228, "kv_cache_batch_idx": 1, "kv_actual_isl": 100, "is_causal": True}),
    (JOINT, (ONE, *HELD), {"logical_n": 256, "slot_id": np.array([1], INT), "kv_actual_isl_tensor": np.array([128], INT),
        "kv_cache_num_layers": 3, "kv_cache_layer_idx": 2, "is_causal": True}),
    *((JOINT, (ONE, *ROUND), {"logical_n": end, "kv_actual_isl": end - 128, "is_causal": True, "circular_kv_cache": True, "sliding_window_size": window})
        for end, window in ((512, 100), (448, 60), (128, 40))),
    (MLA, (ONE, LATENTS[:1, :, :128]), {"head_dim_v": 16, "logical_n": 100}),
    (MLA, (draw(1, 4, 128, 64), draw(1, 1, 128, 64)), {"head_dim_v": 16, "logical_n": 100}),
    (JOINT, (draw(2, 4, 128, 64), draw(2, 2, 128, 64), draw(2, 2, 128, 64)), {"logical_n": 128}),
    (MLA, (ONE, LATENTS), {"head_dim_v": 16, "logical_n": 256, "kv_cache_batch_idx": 2, "kv_actual_isl": 100, "scale": 0.2}),
    (MLA, (ONE, draw(6, 1, 256, 32)), {"head_dim_v": 16, "logical_n": 256, "slot_id": np.array([1], INT),
        "kv_actual_isl_tensor": np.array([128], INT), "kv_cache_num_layers": 3, "kv_cache_layer_idx": 2}),
]  # fmt: skip


def on(device: MeshDevice, value: Any, dim: int | None = None) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    mapper: Any = ReplicateTensorToMesh(device) if dim is None else ShardTensorToMesh(device, dim=dim)
    whole = value.dtype.kind == "i"
    return from_torch(
        value,
        dtype=DataType.INT32 if whole else DataType.FLOAT32,
        layout=Layout.ROW_MAJOR if whole else Layout.TILE,
        device=device,
        mesh_mapper=mapper,
    )


def attend(device: MeshDevice, name: str, given: tuple[Any, ...], words: dict[str, Any]) -> Any:
    operation = catalog.find(f"ttnn.transformer.{name}")
    assert operation is not None
    rows = 1 if given[0].shape[0] == 1 else len(given[1])
    words_of = ("kv",) if name == MLA else ("k", "v")
    buffers: dict[str, Any] = {
        f"persistent_output_buffer_{word}": on(device, np.zeros((rows, *given[1].shape[1:]), np.float32))
        for word in words_of
    }
    options: dict[str, Any] = {"joint_strategy": "rear"} if name == JOINT else {}
    options |= {"program_config": None, "dim": 2, "num_links": 1, "cluster_axis": 1} | words
    ring = 2 if name == MLA else 3
    return operation(
        *(on(device, tensor, 2) for tensor in given[:ring]),
        *(on(device, tensor) for tensor in given[ring:]),
        multi_device_global_semaphore=[],
        mesh_device=device,
        topology=Topology.Ring,
        ccl_core_grid_offset=CoreCoord(0, 0),
        **buffers,
        **{word: on(device, value) for word, value in options.items()},
    )


def held(tensor: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(tensor.shards.of(device)) for device in range(4)]


@pytest.mark.parametrize(("name", "given", "words"), CASES)
def test_a_ring_attends_as_one_device_would(
    ring: MeshDevice, name: str, given: tuple[Any, ...], words: dict[str, Any]
) -> None:
    operation = catalog.find(f"ttnn.transformer.{name}")
    assert operation is not None
    wide = {w: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for w, v in words.items()}
    wanted = get_golden_function(operation)(*map(torch.from_numpy, given), **wide)
    results = attend(ring, name, given, words)
    np.testing.assert_allclose(np.concatenate(held(results[0]), 2), wanted[0].numpy(), rtol=1e-4, atol=1e-5)
    if len(given) > 3:
        rows = wanted[1].shape[2]
        for shard in held(results[1]):
            np.testing.assert_allclose(shard[:, :, :rows], wanted[1].numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [JOINT, MLA])
def test_a_balanced_sequence_has_the_rows_of_one_in_order(ring: MeshDevice, name: str) -> None:
    rng = np.random.default_rng(3)
    order = [piece for device in range(4) for piece in (device, 7 - device)]
    width = 1 if name == MLA else 2
    q = rng.standard_normal((1, 2, 256, 32)).astype(np.float32)
    rest = [rng.standard_normal((1, width, 256, 32)).astype(np.float32) for _ in range(3 - (name == MLA) - 1)]
    words: dict[str, Any] = {"logical_n": 256, **({"head_dim_v": 16} if name == MLA else {"is_causal": True})}

    def balanced(whole: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        pieces = np.split(whole, 8, 2)
        return np.concatenate([pieces[piece] for piece in order], 2)

    in_order = attend(ring, name, (q, *rest), words)
    found = attend(ring, name, (balanced(q), *map(balanced, rest)), {**words, "is_balanced": True})
    for one, other in zip(in_order, found, strict=True):
        wanted = balanced(np.concatenate(held(one), 2))
        np.testing.assert_allclose(np.concatenate(held(other), 2), wanted, rtol=1e-5, atol=1e-6)


JOINED = dict(zip(("joint_tensor_q", "joint_tensor_k", "joint_tensor_v"), BEHIND, strict=True))
ALONE = {name: part[:1] for name, part in JOINED.items()}


@pytest.mark.parametrize(
    ("name", "words", "text"),
    [
        (JOINT, {"slot_id": np.array([1], INT)}, "slot_id and kv_actual_isl_tensor must be given together"),
        (JOINT, {"kv_actual_isl_tensor": np.array([1], INT)}, "slot_id and kv_actual_isl_tensor must be given together"),
        *((JOINT, {"slot_id": np.array([1], INT), "kv_actual_isl_tensor": np.array([1], INT), **more}, text) for more, text in (
            ({"kv_cache_batch_idx": 1}, "stand in the place of kv_cache_batch_idx and kv_actual_isl"),
            ({"kv_actual_isl": 1}, "stand in the place of kv_cache_batch_idx and kv_actual_isl"),
            ({"kv_cache_num_layers": 3, "kv_cache_layer_idx": 3}, "kv_cache_layer_idx must be below kv_cache_num_layers 3, got 3"),
            ({"kv_cache_layer_idx": 1}, "kv_cache_layer_idx must be below kv_cache_num_layers 1, got 1"),
        )),
        (JOINT, {"kv_cache_batch_idx": 6}, "row 6 is outside of the cache's 6"),
        (JOINT, {"kv_cache_batch_idx": 0, "circular_kv_cache": True}, "needs kv_actual_isl and sliding_window_size"),
        (JOINT, {"kv_cache_batch_idx": 0, "kv_actual_isl": 4, "circular_kv_cache": True}, "needs kv_actual_isl and sliding_window_size"),
        (JOINT, {"is_balanced": True}, "is_balanced goes with causal attention"),
        (JOINT, {"is_balanced": True, "is_causal": True, "kv_actual_isl": 4}, "is_balanced does not go with kv_actual_isl"),
        (JOINT, {"is_balanced": True, "is_causal": True, **ALONE}, "is_balanced does not go with joined tensors"),
        (JOINT, {"is_cross": True, "is_causal": True}, "is_cross goes with attention that is not causal"),
        (JOINT, {"kv_actual_isl": 4, **ALONE}, "kv_actual_isl does not go with joined tensors"),
        (JOINT, {"kv_valid_end_tensor": np.array([1], INT)}, "kv_valid_end_tensor is not emulated"),
        (JOINT, {"joint_strategy": "front"}, "joint_strategy must be rear, got front"),
        (JOINT, {"dim": 1}, "gathers along the sequence, dim 2, got dim 1"),
        (JOINT, {"kv_cache_batch_idx": 0, "joint_tensor_q": BEHIND[0][:1]}, "go together or not at all"),
        (JOINT, {"kv_cache_batch_idx": 0, "logical_n": 0}, "logical_n must be 1 to 256, where the gathered keys end, got 0"),
        (JOINT, {"kv_cache_batch_idx": 0, "logical_n": 257}, "logical_n must be 1 to 256, where the gathered keys end, got 257"),
        (
            JOINT,
            {"kv_cache_batch_idx": 0, "kv_actual_isl": 384, "circular_kv_cache": True, "sliding_window_size": 200, "is_causal": True},
            "does not lie in a circular cache of 256 rows",
        ),
        (MLA, {"kv_valid_end_tensor": np.array([1], INT)}, "kv_valid_end_tensor is not emulated"),
        (MLA, {"cluster_axis": None}, "a ring without cluster_axis is not emulated"),
        (MLA, {"dim": 3}, "gathers along the sequence, dim 2, got dim 3"),
        (MLA, {"is_balanced": True, "kv_actual_isl": 4}, "is_balanced does not go with kv_actual_isl"),
    ],
)  # fmt: skip
def test_what_is_refused(ring: MeshDevice, name: str, words: dict[str, Any], text: str) -> None:
    given = (ONE, LATENTS) if name == MLA else (ONE, *HELD)
    words = {"logical_n": 512 if "kv_actual_isl" in words else 256, **words}
    with pytest.raises(RuntimeError, match=text):
        attend(ring, name, given, {**words, **({"head_dim_v": 16} if name == MLA else {})})


def test_a_balanced_sequence_has_two_pieces_on_each_device(ring: MeshDevice) -> None:
    odd = [draw(1, 2, 4 * 31, 32) for _ in range(3)]
    with pytest.raises(RuntimeError, match="has two pieces of one length on each device, not 31 rows"):
        attend(ring, JOINT, tuple(odd), {"logical_n": 124, "is_balanced": True, "is_causal": True})


def test_a_joined_sequence_of_no_rows_comes_back_as_it_was(ring: MeshDevice) -> None:
    """Models hand one over for text that is left out; what is attended to is then the ring alone."""
    empty = (BEHIND[0][:, :, :0], BEHIND[1][:, :, :0], BEHIND[2][:, :, :0])
    alone = attend(ring, JOINT, (Q, K, V), {"logical_n": 128})
    beside = attend(ring, JOINT, (Q, K, V, *empty), {"logical_n": 128})
    assert tuple(beside[1].shape) == (2, 4, 0, 32)
    for got, wanted in zip(held(beside[0]), held(alone[0]), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("sink", [None, draw(1, 4, 1, 1)])
def test_the_last_result_is_the_logarithm_of_all_that_a_query_weighs(ring: MeshDevice, sink: Any) -> None:
    """Of the scores of all keys, and of a sink as one of them; along the sequence counted from either end."""
    words = {"logical_n": 128, "scale": 0.3, "dim": -2} | ({} if sink is None else {"attention_sink": sink})
    (whole, joined, sums), (again, _, others) = (
        attend(ring, JOINT, (Q, K, V), {**words, "dim": dim}) for dim in (-2, 2)
    )
    assert tuple(sums.shape) == (2, 4, 32, 1) and joined.storage is whole.storage
    for device, (found, other) in enumerate(zip(held(sums), held(others), strict=True)):
        own = Q[:, :, 32 * device : 32 * device + 32]
        scores = 0.3 * own.astype(np.float64) @ K.repeat(2, 1).swapaxes(2, 3)
        total = np.exp(scores).sum(-1, keepdims=True)
        if sink is not None:
            total += np.exp(0.3 * sink.astype(np.float64))
        np.testing.assert_allclose(found, np.log(total), rtol=1e-5)
        assert np.array_equal(found, other)
    assert all(np.array_equal(a, b) for a, b in zip(held(whole), held(again), strict=True))
    latents = ONE, LATENTS[:1, :, :128]
    one, other = (
        attend(ring, MLA, latents, {"head_dim_v": 16, "logical_n": 100, "dim": dim}) for dim in (-2, 2)
    )
    assert all(np.array_equal(a, b) for a, b in zip(held(one[0]), held(other[0]), strict=True))
