"""Golden functions of a result's type: as the reference library 0.81.1 rounds, saturates and widens, and where that type is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, U16, held, put
from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.elementwise.unary import GeluVariant
from tt_run.runtime.tools.golden import get_fallback_function, get_golden_function
from tt_run.runtime.tools.tensor_ids import (
    default_preprocess_golden_function_inputs,
    merge_local_golden_metadata,
)
from tt_run.runtime.tuning.matmul import MatmulMultiCoreReuseMultiCast1DProgramConfig

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

# Blocks of 16 in which ones beside 1024 have no room.
UNEVEN = np.ones((1, 1, 32, 32), np.float32)
UNEVEN[..., ::16] = 1024.0


def golden(name: str) -> Any:
    return get_golden_function(catalog.every()[f"ttnn.{name}"])


@pytest.mark.parametrize("dtype", [BFP8, DataType.BFLOAT4_B])
@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("add", (torch.zeros(1, 1, 32, 32),)),
        ("maximum", (torch.zeros(1, 1, 32, 32),)),
        ("matmul", (torch.eye(32),)),
        ("clone", ()),
        ("tilize", ()),
        ("typecast", ()),
    ],
)
def test_block_floats_round(name: str, others: tuple[Any, ...], dtype: DataType) -> None:
    found = golden(name)(torch.from_numpy(UNEVEN), *others, dtype=dtype)
    assert found.dtype is torch.float32
    assert sorted(set(found.flatten().tolist())) == [0.0, 1024.0]


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("interleaved_to_sharded", (None,)),
        ("sharded_to_interleaved", (None,)),
        ("to_dtype", ()),
        ("typecast", ()),
    ],
)
def test_a_type_by_place(name: str, others: tuple[Any, ...]) -> None:
    assert set(golden(name)(torch.from_numpy(UNEVEN), *others, BFP8).flatten().tolist()) == {0.0, 1024.0}


def test_the_type_of_a_tensor_that_is_written(one: MeshDevice) -> None:
    x = put(one, UNEVEN, BF16)
    _, named = default_preprocess_golden_function_inputs((x, x), {"output_tensor": put(one, UNEVEN, BFP8)})
    assert named["dtype"] is BFP8
    _, named = default_preprocess_golden_function_inputs((x, x), {"output_tensor": x, "dtype": F32})
    assert named["dtype"] is F32


@pytest.mark.parametrize(
    ("name", "arguments", "named", "dtype"),
    [
        ("clone", (), {"dtype": F32}, F32),
        ("typecast", (F32,), {}, F32),
        ("relu", (), {}, BF16),
        ("quantize", (1.0, 0), {}, I32),
    ],
)
def test_fallbacks_keep_the_type_asked_for(
    one: MeshDevice, name: str, arguments: Any, named: Any, dtype: DataType
) -> None:
    fallback = get_fallback_function(catalog.every()[f"ttnn.{name}"])
    assert fallback(put(one, UNEVEN, BF16), *arguments, **named).dtype is dtype


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32])
@pytest.mark.parametrize(
    ("name", "wanted"),
    [("add", [4, 2, 8]), ("subtract", [-2, 6, 6]), ("maximum", [3, 7, 7]), ("lt", [True, False, False])],
)
def test_unsigned_numbers(dtype: Any, name: str, wanted: list[int]) -> None:
    a, b = torch.tensor([1, 7, 7], dtype=dtype), torch.tensor([3, 1, 1], dtype=dtype)
    b[1] = 1 if name != "add" else torch.iinfo(dtype).max - 4
    found = golden(name)(a, b)
    if name == "lt":
        assert found.tolist() == wanted
    else:
        assert found.dtype is dtype
        assert found.tolist() == [value % (torch.iinfo(dtype).max + 1) for value in wanted]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("add", 16777219), ("subtract", 16777215), ("rsub", -16777215), ("maximum", 16777217)],
)
def test_whole_numbers_stay_whole_beside_a_float(name: str, wanted: int) -> None:
    x = torch.tensor([16777217], dtype=torch.int32)
    assert (golden(name)(x, 2.0).dtype, golden(name)(x, 2.0).item()) == (torch.int32, wanted)
    assert golden("add")(x, 2.5).dtype is torch.float32


def test_counts_that_no_element_has_room_for() -> None:
    x, counts = torch.full((5,), -1, dtype=torch.int32), torch.tensor([31, 32, -1, 33, 0], dtype=torch.int32)
    found = golden("logical_right_shift")(x, counts)
    assert (found.dtype, found.tolist()) == (torch.int32, [1, 0, 0, 0, -1])


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [(None, [300, -300, 3]), (DataType.INT8, [127, -128, 3]), (DataType.UINT8, [255, 0, 3])],
)
def test_quantized_numbers_saturate(dtype: DataType | None, wanted: list[int]) -> None:
    x = torch.tensor([300.0, -300.0, 3.0])
    assert golden("quantize")(x, 1.0, 0, dtype=dtype).tolist() == wanted
    assert golden("requantize")(x.int(), 1.0, 0, 1.0, 0, dtype=dtype).tolist() == wanted


@pytest.mark.parametrize(
    ("target", "host", "wanted"),
    [
        (DataType.UINT8, {}, [1, 255, 44, 2]),
        (DataType.UINT8, {"_ttnn_is_host": True}, [1, 0, 255, 2]),
        (U16, {}, [2, 0, 300, 3]),
        (U16, {"_ttnn_input_dtype": BFP8}, [1, 0, 300, 2]),
        (U16, {"_ttnn_input_dtype": BF16, "input_dtype": BFP8}, [2, 0, 300, 3]),
        (U16, {"_ttnn_is_host": True}, [1, 0, 300, 2]),
        (DataType.UINT32, {}, [1, 0, 300, 2]),
        (DataType.INT8, {"_ttnn_is_host": True}, [1, -1, 44, 2]),
        (I32, {}, [1, -1, 300, 2]),
    ],
)
def test_typecasts_as_a_device_or_a_host_does(
    target: DataType, host: dict[str, Any], wanted: list[int]
) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        values = torch.tensor([1.7, -1.0, 300.0, 2.5], dtype=dtype)
        assert golden("typecast")(values, target, **host).tolist() == wanted


def test_what_is_said_of_operands_goes_along() -> None:
    local = ((), {"_ttnn_is_host": True, "other": 1})
    assert merge_local_golden_metadata(local, ([5], {"_ttnn_is_host": False, "c": 2})) == (
        [5],
        {"_ttnn_is_host": True, "c": 2},
    )


def test_the_first_of_equal_elements_comes_first() -> None:
    values, places = golden("topk")(torch.zeros(2, 64), 4)
    assert (values.shape, places.tolist()) == ((2, 4), [[0, 1, 2, 3]] * 2)
    names = torch.arange(63, -1, -1, dtype=torch.int32).to(torch.uint16).expand(2, 64)
    _, found = golden("topk")(torch.arange(64.0).expand(2, 64), 2, indices_tensor=names)
    assert found.tolist() == [[0, 1]] * 2


def test_leaky_relu_of_unsigned_numbers_and_gelu_by_table() -> None:
    x = torch.tensor([0, 255], dtype=torch.uint8)
    assert golden("leaky_relu")(x, 0.5) is x
    assert golden("gelu")(torch.ones(3), variant=GeluVariant.FastLut) is None


def test_bits_of_a_shard_in_a_wider_type() -> None:
    bits = torch.ones(3, dtype=torch.bfloat16).view(torch.int16)
    assert golden("bitcast")(bits.long(), BF16).tolist() == [1.0] * 3
    assert golden("bitcast")(torch.ones(3), U16).tolist() == bits.tolist()


def test_a_slice_takes_the_type_of_what_it_is_written_over(one: MeshDevice) -> None:
    part, whole = put(one, UNEVEN), put(one, np.zeros((1, 1, 32, 32)), BFP8)
    catalog.every()["ttnn.sharded_to_interleaved_partial"](part, whole, 1, 0)
    assert set(held(whole).flatten().tolist()) == {0.0, 1024.0}


PROGRAM = MatmulMultiCoreReuseMultiCast1DProgramConfig(
    compute_with_storage_grid_size=CoreCoord(1, 1), in0_block_w=2, out_subblock_h=1, out_subblock_w=1, out_block_h=1, out_block_w=1,
    per_core_M=1, per_core_N=1, fuse_batch=False, fused_activation=None, mcast_in0=True,
)  # fmt: skip


def test_products_with_experts_by_number_and_in_a_small_room(one: MeshDevice) -> None:
    random = np.random.default_rng(0)
    a, b = random.standard_normal((1, 2, 32, 64)), random.standard_normal((1, 4, 64, 32))
    operation = catalog.every()["ttnn.sparse_matmul"]
    sparsity = np.zeros((1, 2, 1, 4), np.float32)
    sparsity[0, 0, 0, 3] = sparsity[0, 1, 0, 1] = 1
    chosen = operation(
        put(one, a[:, :1]),
        put(one, b),
        sparsity=put(one, sparsity[:, :1], BF16, ROW),
        indices=put(one, np.array([[[[3, 1]]]]), U16, ROW),
        program_config=PROGRAM,
    )
    np.testing.assert_allclose(held(chosen)[0, 0, 0], a[0, 0] @ b[0, [3, 1]], rtol=1e-4, atol=1e-4)
    room = put(one, np.zeros((1, 2, 32, 32)))
    operation(
        put(one, a),
        put(one, b),
        sparsity=put(one, sparsity, BF16, ROW),
        nnz=2,
        optional_output_tensor=room,
        program_config=PROGRAM,
    )
    np.testing.assert_allclose(held(room)[0], a[0] @ b[0, [3, 1]], rtol=1e-4, atol=1e-4)
    with pytest.raises(RuntimeError, match="does not support integer input dtype"):
        operation(
            put(one, np.ones((1, 1, 32, 64)), I32),
            put(one, b),
            sparsity=put(one, sparsity, BF16, ROW),
            program_config=PROGRAM,
        )
