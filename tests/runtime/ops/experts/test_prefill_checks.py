"""What operations of an expert's prefill refuse, in the reference's words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, TILE, U16, U32, message, put
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG
from tt_run.runtime.tensor.tensor import Tensor

PREFILL = "experimental.deepseek_prefill."
pytestmark = pytest.mark.torch
pytest.importorskip("torch")


def zeros(device: MeshDevice, shape: tuple[int, ...], dtype: Any, layout: Any) -> Tensor:
    return put(device, np.zeros(shape), dtype, layout)


def in_l1(tensor: Tensor) -> Tensor:
    moved: Tensor = call("to_memory_config", tensor, L1_MEMORY_CONFIG)
    return moved


def operands(device: MeshDevice, name: str) -> dict[str, Tensor]:
    numbers = ("start", "counts", "global_expert_idx_table")
    matrices = ("global_tensor", "local_tensor") if name == "insert" else ("global_tensor",)
    return {
        **{each: zeros(device, (64, 128), BF16, TILE) for each in matrices},
        **{each: zeros(device, (8,), U32, ROW) for each in numbers},
    }


MATRIX = [
    (((64, 128), F32, TILE), "{} must be BFLOAT8_B or BFLOAT16, got DataType::FLOAT32"),
    (((64, 128), BF16, ROW), "{} must be TILE layout, got Layout::ROW_MAJOR"),
    (((1, 64, 128), BF16, TILE), "{} must be 2D, got rank 3"),
    (((50, 128), BF16, TILE), "{} rows/tokens (50) must be a multiple of TILE_HEIGHT (32)"),
    (None, "{} must be DRAM interleaved"),
]
NUMBERS = [
    (((8,), U16, ROW), "{} must be UINT32, got DataType::UINT16"),
    (((8,), U32, TILE), "{} must be ROW_MAJOR layout, got Layout::TILE"),
    (((2, 8), U32, ROW), "{} must be 1D or 2D with first dimension == 1, got shape Shape([2, 8])"),
    (((1, 1, 8), U32, ROW), "{} must be 1D or 2D with first dimension == 1, got shape Shape([1, 1, 8])"),
    (None, "{} must be DRAM interleaved"),
]
CASES = [
    *(
        (name, each, made, words)
        for name, each in (
            ("extract", "global_tensor"),
            ("insert", "global_tensor"),
            ("insert", "local_tensor"),
        )
        for made, words in MATRIX
    ),
    *(
        (name, each, made, words)
        for name in ("extract", "insert")
        for each in ("start", "counts", "global_expert_idx_table")
        for made, words in NUMBERS
    ),
    (
        "extract",
        "counts",
        ((9,), U32, ROW),
        "start and counts must have the same last dimension, got start=8 and counts=9",
    ),
    (
        "insert",
        "counts",
        ((9,), U32, ROW),
        "start and counts must have the same last dimension, got start=8 and counts=9",
    ),
    (
        "insert",
        "local_tensor",
        ((64, 64), BF16, TILE),
        "local_tensor hidden_dim (64) must match global_tensor hidden_dim (128)",
    ),
]


def refusal(name: str, *arguments: Any, **words: Any) -> str:
    with pytest.raises(RuntimeError) as found:
        call(PREFILL + name, *arguments, **words)
    return message(found.value)


@pytest.mark.parametrize(("name", "operand", "made", "words"), CASES)
def test_operands_that_do_not_fit(one: MeshDevice, name: str, operand: str, made: Any, words: str) -> None:
    given = operands(one, name)
    given[operand] = in_l1(given[operand]) if made is None else zeros(one, *made)
    more = {"max_dispatched_tokens_per_expert": 32} if name == "extract" else {}
    assert refusal(name, *given.values(), local_expert_id=0, **more) == words.format(operand)


def test_matrices_of_two_types(one: MeshDevice) -> None:
    given = operands(one, "insert")
    given["local_tensor"] = call("typecast", given["local_tensor"], BFP8)
    words = "must have the same dtype, got global=DataType::BFLOAT16 local=DataType::BFLOAT8_B"
    assert words in refusal("insert", *given.values(), local_expert_id=0)


@pytest.mark.parametrize(
    ("expert", "room", "words"),
    [
        (
            8,
            32,
            "local_expert_id (8) must be in the range [0, 7] (global_expert_idx_table last dimension - 1)",
        ),
        (0, 0, "max_dispatched_tokens_per_expert must be > 0"),
        (0, 17, "max_dispatched_tokens_per_expert (17) must be a multiple of TILE_HEIGHT (32)"),
    ],
)
def test_numbers_that_do_not_fit(one: MeshDevice, expert: int, room: int, words: str) -> None:
    given = operands(one, "extract").values()
    assert refusal("extract", *given, local_expert_id=expert, max_dispatched_tokens_per_expert=room) == words


@pytest.mark.parametrize(
    ("chosen", "mask", "each", "words"),
    [
        (((64, 8), U16, ROW), ((8,), I32, ROW), 6, "Only TILE layout is supported for input!"),
        (((64, 8), U32, TILE), ((8,), I32, ROW), 6, "Only UINT16 is supported for input!"),
        (
            ((1, 1, 64, 8), U16, TILE),
            ((8,), I32, ROW),
            6,
            "Input tensor must be 2D [sp_dim, topk_dim], got 4 dimensions",
        ),
        (((64, 8), U16, TILE), ((8,), U32, ROW), 6, "Expert dispatch table must be INT32!"),
        (((64, 8), U16, TILE), ((8,), I32, ROW), 10, "num_experts_per_token must be in (0, 8], got 10"),
        (
            ((64, 8), U16, TILE),
            ((4,), I32, ROW),
            6,
            "Expert dispatch table must have shape [>=8] or [1, >=8], got 1D tensor with last dim 4",
        ),
    ],
)
def test_counts_that_do_not_fit(one: MeshDevice, chosen: Any, mask: Any, each: int, words: str) -> None:
    assert refusal("masked_bincount", zeros(one, *chosen), zeros(one, *mask), 8, each) == words


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"n_groups": 4}, "n_groups must be 8 at the moment. Got 4"),
        ({"summed_experts_per_group": 3}, "summed_experts_per_group must be 2 at the moment. Got 3"),
        ({"topk_groups": 9}, "topk_groups must be 4 at the moment. Got 9"),
        ({"n_activated_experts": 16}, "n_activated_experts must be 8 at the moment. Got 16"),
    ],
)
def test_groups_that_gates_do_not_know(one: MeshDevice, more: dict[str, int], words: str) -> None:
    given = [zeros(one, (1, 1, 32, 256), F32, TILE) for _ in range(2)]
    assert refusal("moe_grouped_topk", *given, **more) == words
    lone = {"n_groups": 1, "summed_experts_per_group": 1, "topk_groups": 1, "n_activated_experts": 6}
    assert tuple(call(PREFILL + "moe_grouped_topk", *given, **lone)[0].shape) == (1, 1, 32, 6)


def test_a_bias_of_another_shape(one: MeshDevice) -> None:
    given = zeros(one, (1, 1, 64, 256), F32, TILE), zeros(one, (1, 1, 32, 256), F32, TILE)
    assert refusal("moe_grouped_topk", *given) == "Scores and bias must have the same shape"


@pytest.mark.parametrize(
    ("operand", "made", "each", "words"),
    [
        (0, ((1, 1, 64, 256), BF16, TILE), 6, "Scores tensor must be FLOAT32"),
        (1, ((2, 32), I32, ROW), 6, "input_ids tensor must be UINT32"),
        (2, ((512, 16), U32, ROW), 6, "tid2eid tensor must be UINT16"),
        (
            1,
            ((1, 32), U32, ROW),
            6,
            "input_ids (32 ids) must supply at least one id per score token row (64)",
        ),
        (2, ((512, 16), U16, ROW), 17, "tid2eid last dim (16) must be >= n_activated_experts (17)"),
    ],
)
def test_tables_that_do_not_fit(one: MeshDevice, operand: int, made: Any, each: int, words: str) -> None:
    given = [
        zeros(one, (1, 1, 64, 256), F32, TILE),
        zeros(one, (2, 32), U32, ROW),
        zeros(one, (512, 16), U16, ROW),
    ]
    given[operand] = zeros(one, *made)
    assert refusal("moe_hash_gate", *given, n_activated_experts=each) == words


def test_signals_whose_parts_do_not_fit(one: MeshDevice) -> None:
    signal = zeros(one, (64,), F32, ROW)
    for name, given, more, words in (
        ("fft", (signal, zeros(one, (32,), F32, ROW)), {}, "input_real and input_imag must share shape"),
        (
            "ifft",
            (signal, zeros(one, (64,), BF16, ROW)),
            {},
            "input_real/input_imag dtype mismatch (real=1, imag=0)",
        ),
        ("fft", (zeros(one, (1,), F32, ROW),), {}, "last-dim length N must be >= 2 (got N=1)"),
        ("fft", (signal,), {"precision": "exact"}, "precision must be 'precise' or 'fast' (got 'exact')"),
    ):
        with pytest.raises(RuntimeError) as found:
            call(f"experimental.{name}", *given, **more)
        assert words in message(found.value)
