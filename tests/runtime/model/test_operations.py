"""From shapes to work: rows and batches of matmuls, attention over keys, operations that cost nothing."""

from __future__ import annotations

import pytest

from tt_run.runtime.model.operations import Operand, work_of
from tt_run.runtime.model.work import Kernel, Matmul, Work


def shapes(*found: tuple[int, ...]) -> list[Operand]:
    return [Operand(shape) for shape in found]


@pytest.mark.parametrize(
    ("first", "second", "result", "expected"),
    [
        ((1, 1, 32, 2048), (2048, 4096), (1, 1, 32, 4096), (1, 32, 2048, 4096, "few")),
        ((4, 1, 512, 2048), (1, 1, 2048, 4096), (4, 1, 512, 4096), (1, 2048, 2048, 4096, "2d")),
        ((2, 8, 128, 64), (2, 8, 64, 128), (2, 8, 128, 128), (16, 128, 64, 128, "batched")),
    ],
)
def test_matmuls(
    first: tuple[int, ...],
    second: tuple[int, ...],
    result: tuple[int, ...],
    expected: tuple[int, int, int, int, str],
) -> None:
    work = work_of("matmul", "matmul", shapes(first, second), shapes(result))
    assert isinstance(work, Matmul)
    assert (work.batch, work.m, work.k, work.n, work.program) == expected


def test_weights_over_the_banks_are_read_from_there() -> None:
    weights = Operand((2048, 4096), "bfloat8_b", sharded=True)
    work = work_of("linear", "matmul", [Operand((1, 1, 32, 2048)), weights], shapes((1, 1, 32, 4096)))
    assert isinstance(work, Matmul)
    assert (work.program, work.weights) == ("dram_sharded", "bfloat8_b")


def test_block_floats_move_fewer_bytes_and_l1_none() -> None:
    def moved(*operands: Operand) -> float:
        work = work_of("add", "elementwise", operands, operands[:1])
        assert isinstance(work, Kernel)
        return work.bytes

    tensor = Operand((1, 1, 64, 64))
    assert moved(tensor, tensor) == 3 * 64 * 64 * 2
    assert moved(Operand((1, 1, 64, 64), "bfloat8_b")) == 2 * 64 * 64 * 1.0625
    assert moved(Operand((1, 1, 64, 64), in_dram=False)) == 0
    assert moved(Operand((1, 1, 1, 1))) == 2 * 32 * 32 * 2  # a tile at least


def test_attention_grows_with_the_keys() -> None:
    def units(rows: int, keys: int) -> float:
        query, key = Operand((1, 8, rows, 128)), Operand((1, 1, keys, 128))
        work = work_of("sdpa", "attention", [query, key, key], [query])
        assert isinstance(work, Kernel)
        return work.units

    assert units(128, 256) == 2 * units(128, 128) * 2  # half of a square is masked


def test_decoding_reads_the_cache_and_writes_a_row_of_it() -> None:
    query, key = Operand((1, 32, 8, 128)), Operand((32, 1, 256, 128), "bfloat8_b")
    read = work_of("scaled_dot_product_attention_decode", "attention", [query, key, key], [query])
    assert isinstance(read, Kernel)
    assert read.name == "sdpa_decode"
    assert read.bytes == 2 * query.bytes + 2 * key.bytes
    row = Operand((1, 32, 32, 128))
    written = work_of("paged_update_cache", "data movement", [key, row], [key])
    assert isinstance(written, Kernel)
    assert written.bytes == 2 * row.bytes
    found = work_of("embedding", "data movement", [Operand((1, 32)), Operand((128256, 8192))], [row])
    assert isinstance(found, Kernel)
    assert found.bytes == 2 * row.bytes


def test_tensors_in_l1_have_kernels_of_their_own() -> None:
    def kernel(name: str, kind: str, in_dram: bool) -> str:
        operand = Operand((1, 1, 32, 1024), in_dram=in_dram, sharded=not in_dram)
        work = work_of(name, kind, [operand], [operand])
        assert isinstance(work, Kernel)
        return work.name

    assert kernel("mul", "elementwise", True) == "binary"
    assert kernel("mul", "elementwise", False) == "binary_decode"
    assert kernel("rotary_embedding_llama", "elementwise", False) == "rotary_decode"
    assert kernel("rms_norm", "norm", False) == "layer_norm_decode"
    assert kernel("rms_norm", "norm", True) == "norm_after_gather"
    assert kernel("to_torch", "host and device", True) == "host"


@pytest.mark.parametrize(
    ("name", "kind"), [("view", "data movement"), ("all_gather", "collective"), ("deallocate", "creation")]
)
def test_what_costs_a_device_nothing(name: str, kind: str) -> None:
    work: Work | None = work_of(name, kind, shapes((1, 1, 32, 32)), shapes((1, 1, 32, 32)))
    assert work is None
