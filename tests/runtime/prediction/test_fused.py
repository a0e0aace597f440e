"""Operations that are a collective and more: which works they are, which of those run together, and what is read beside them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tt_run.hardware.files import load, shipped
from tt_run.hardware.numbers import Hardware
from tt_run.runtime.model.cost import cost
from tt_run.runtime.model.operations import Operand
from tt_run.runtime.model.work import Collective, Kernel, Matmul, Together
from tt_run.runtime.prediction.account import as_json, from_json
from tt_run.runtime.prediction.forecast import prefetched
from tt_run.runtime.prediction.fused import is_fused, works_of

SCATTER = Collective("reduce_scatter", 4, 120_000.0, ring=True, implementation="decode")
GATHER = Collective("all_gather", 4, 30_000.0, ring=True, implementation="decode")
ROWS, GATE = Operand((1, 1, 32, 2048)), Operand((1, 1, 2048, 3584), "bfloat4_b")


@pytest.fixture(scope="module")
def galaxy() -> Hardware:
    return load(shipped("wormhole")).system("galaxy")


def product(first: Operand, weights: Operand, rows: int) -> Matmul:
    return Matmul(
        rows, weights.shape[-2], weights.shape[-1], weights=weights.dtype, fidelity="LoFi", program="ring"
    )


def test_heads_follow_their_collective_and_a_norm_has_its_gather_in_it() -> None:
    assert works_of("llama_rs_create_heads", [ROWS], [SCATTER], product) == [
        SCATTER,
        Kernel("create_heads_decode", 1),
    ]
    assert works_of("fused_rms_minimal", [ROWS], [GATHER], product) == [
        Kernel("rms_all_gather", 64, cores=16)
    ]
    assert not is_fused("all_gather")


def test_a_collective_runs_beside_the_matmul_that_it_is_fused_with() -> None:
    one = product(ROWS, GATE, 32)
    assert works_of("llama_rs_matmul", [ROWS, GATE, Operand((32, 512)), GATE], [SCATTER], product) == [
        Together((one, SCATTER)),
        one,
    ]
    flat = replace(GATE, shape=GATE.shape[2:])
    assert len(works_of("llama_rs_matmul", [ROWS, GATE, Operand((32, 512)), flat], [SCATTER], product)) == 2
    # Gathered first: four devices' columns are the rows of the weights.
    part = replace(ROWS, shape=(1, 1, 32, 512))
    assert works_of("all_gather_matmul_async", [part, GATE], [GATHER], product) == [Together((one, GATHER))]


def test_what_runs_together_takes_as_long_as_the_longest(galaxy: Hardware) -> None:
    one = product(ROWS, GATE, 32)
    both = Together((one, SCATTER))
    assert cost(galaxy, both).us == max(cost(galaxy, one).us, cost(galaxy, SCATTER).us)
    assert from_json(json.loads(json.dumps(as_json(both)))) == both


def test_weights_of_a_ring_are_read_beside_it(galaxy: Hardware) -> None:
    one = product(ROWS, GATE, 32)
    assert prefetched(galaxy, one) == pytest.approx(2048 * 3584 * 0.5625 / galaxy["dram.sharded"])
    assert prefetched(galaxy, Together((one, SCATTER))) == prefetched(galaxy, one)
    assert prefetched(galaxy, replace(one, program="1d")) == prefetched(galaxy, SCATTER) == 0
