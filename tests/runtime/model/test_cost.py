"""Costs behave as hardware does: more work takes longer, halving what bounds a time helps, the published figures come out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise, product

import pytest

from tests.sweep import thinned
from tt_run.hardware.files import load, shipped
from tt_run.hardware.numbers import Hardware
from tt_run.runtime.model import galaxy
from tt_run.runtime.model.collectives import hops, wire_bytes
from tt_run.runtime.model.compute import ideal
from tt_run.runtime.model.cost import cost
from tt_run.runtime.model.fabric import bandwidth, ping
from tt_run.runtime.model.operations import Operand, work_of
from tt_run.runtime.model.transformer import models
from tt_run.runtime.model.validation.endtoend import Split, decode_step, first_token, training_step
from tt_run.runtime.model.work import Collective, Kernel, Matmul, Ping, Stream


@cache
def system(architecture: str, name: str) -> Hardware:
    return load(shipped(architecture)).system(name)


@pytest.fixture(scope="module")
def n150() -> Hardware:
    return system("wormhole", "n150")


@pytest.fixture(scope="module")
def t3000() -> Hardware:
    return system("wormhole", "t3000")


@pytest.mark.parametrize("program", ["2d", "1d", "ring", "dram_sharded"])
def test_a_larger_matmul_takes_longer_and_no_less_than_its_arithmetic(n150: Hardware, program: str) -> None:
    small = Matmul(32, 2048, 2048, program=program)
    for larger in (replace(small, m=64), replace(small, k=8192), replace(small, n=8192)):
        assert cost(n150, larger).us >= cost(n150, small).us
    assert cost(n150, replace(small, k=8192)).us > cost(n150, small).us
    big = Matmul(2048, 2048, 2048, program="2d")
    peak = 2 * 32**3 / 16 / 2 * 64 * 1e3  # operations per microsecond of 64 cores at HiFi2
    assert cost(n150, big).us > 2 * 2048**3 / peak


def test_the_formats_and_fidelities_order_as_on_the_hardware(n150: Hardware) -> None:
    times = [
        cost(n150, Matmul(2048, 2048, 2048, activations=f, weights=f, output=f, fidelity=fidelity)).us
        for f, fidelity in (
            ("bfloat16", "HiFi4"),
            ("bfloat16", "HiFi2"),
            ("bfloat8_b", "LoFi"),
            ("bfloat4_b", "LoFi"),
        )
    ]
    assert times == sorted(times, reverse=True)


def test_the_host_bounds_small_operations_that_are_not_traced(n150: Hardware) -> None:
    small = Matmul(512, 512, 512)
    traced, untraced = cost(n150, small), cost(n150, replace(small, traced=False))
    assert traced.us < 30 < untraced.us
    assert untraced.bound == "dispatch"


def test_traffic_bounds_an_operation_without_arithmetic(n150: Hardware) -> None:
    copy = Kernel("binary", units=1024, bytes=100e6)
    assert cost(n150, copy).bound == "dram"
    assert cost(n150, copy).us == pytest.approx(100e6 / n150["dram.interleaved"], rel=0.05)


@pytest.mark.parametrize(
    ("kind", "ring", "expected_hops", "expected_bytes"),
    [
        ("all_gather", False, 7, 700),
        ("all_gather", True, 4, 350),
        ("reduce_scatter", False, 7, 87.5),
        ("reduce_scatter", True, 4, 43.75),
        ("all_reduce", True, 8, 87.5),
        ("all_reduce_by_gather", False, 7, 700),
        ("broadcast", False, 7, 100),
    ],
)
def test_what_the_busiest_link_carries(
    kind: str, ring: bool, expected_hops: int, expected_bytes: float
) -> None:
    work = Collective(kind, 8, 100, ring=ring)
    assert (hops(work), wire_bytes(work)) == (expected_hops, expected_bytes)


def test_a_ring_beats_a_line_and_links_help_large_collectives_only(t3000: Hardware) -> None:
    line = Collective("all_gather", 8, 1 << 22)
    ring = replace(line, ring=True)
    assert cost(t3000, ring).us < cost(t3000, line).us
    assert cost(t3000, line).bound == "link"
    doubled = cost(t3000, replace(line, links=2)).us / cost(t3000, line).us
    assert doubled < 0.6
    small = replace(line, bytes=512)
    assert cost(t3000, small).bound == "latency"
    assert cost(t3000, replace(small, links=2)).us > 0.9 * cost(t3000, small).us
    assert cost(t3000, replace(line, size=1)).us == 0


def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(t3000: Hardware) -> None:
    work = Collective("all_reduce", 8, 1 << 20, ring=True)
    scatter = cost(t3000, replace(work, kind="reduce_scatter")).us
    gather = cost(t3000, replace(work, kind="all_gather", bytes=(1 << 20) / 8)).us
    assert cost(t3000, work).us == pytest.approx(scatter + gather)
    counted = replace(work, wire=2 * 7 / 8 * (1 << 20))
    assert cost(t3000, counted).us == pytest.approx(cost(t3000, work).us)


def test_small_packets_reach_less_of_the_wire(t3000: Hardware) -> None:
    rates = [
        bandwidth(t3000, Stream("NeighborExchangeUnicast", "NOC_UNICAST_WRITE", size))
        for size in (256, 1024, 2048, 4096)
    ]
    assert rates == sorted(rates)
    assert rates[-1] < t3000["fabric.wire"]


def test_pings_grow_with_hops_and_payload(t3000: Hardware) -> None:
    one = ping(t3000, Ping("LatencyLinearUnicast", "NOC_UNICAST_WRITE", 16))
    far = ping(t3000, Ping("LatencyLinearUnicast", "NOC_UNICAST_WRITE", 16, hops=3))
    large = ping(t3000, Ping("LatencyLinearUnicast", "NOC_UNICAST_WRITE", 4096))
    assert far.us == pytest.approx(3 * one.us)
    assert one.us == pytest.approx(1.6, rel=0.1)
    assert large.us == pytest.approx(2.89, rel=0.1)


def test_llama_70b_closes_against_its_published_speeds() -> None:
    """72.5 tokens per second and user over a Galaxy, 15.1 over a box of eight; 153.9 us of kernels in a layer."""
    llama = models()["llama-3.1-70b"]
    chips = system("wormhole", "galaxy")
    layer = sum(cost(chips, work).us for _, works in galaxy.decode_step(llama, ring=True) for work in works)
    assert layer == pytest.approx(153.9, rel=0.05)
    assert 1e6 / decode_step(chips, llama, Split(32)) == pytest.approx(72.5, rel=0.10)
    assert 1e6 / decode_step(system("wormhole", "t3000"), llama, Split(8)) == pytest.approx(15.1, rel=0.10)


def test_decoders_of_other_kinds_follow_from_their_shapes() -> None:
    """No visible measurement fixes them: only what must hold does."""

    def us(name: str, system: str, tensor: int = 1, users: int = 32) -> float:
        hw = load(shipped("wormhole")).system(system)
        return decode_step(hw, models()[name], Split(tensor), users)

    whole, distilled = us("whisper-large-v3", "n150", users=1), us("whisper-distil-large-v3", "n150", users=1)
    assert 5 < whole / distilled < 16  # of 32 layers two are left, and the choice of a token
    mamba = models()["mamba-2.8b"]
    read = mamba.layers * 6 * mamba.hidden * mamba.ffn / 190e9 * 1e6
    assert read < us("mamba-2.8b", "n150") < 4 * read
    # Over 32 chips not every user's experts are another one's: more users, more weights, less than in proportion.
    few, many = (us("deepseek-v3", "galaxy", 32, users) for users in (8, 32))
    assert few < many < 4 * few


EVERY_SYSTEM = [
    (architecture, name)
    for architecture in ("wormhole", "blackhole")
    for name in load(shipped(architecture)).systems
]
SIDES = (32, 64, 128, 160, 256, 512, 1024, 2048, 4096, 8192)
GROWING: dict[str, Callable[[Hardware, int], float]] = {
    "rows of a matmul": lambda hw, n: _call(hw, "matmul", (n, 2048), (2048, 2048), result=(n, 2048)),
    "rows over a deep matmul": lambda hw, n: _call(hw, "matmul", (n, 8192), (8192, 1024), result=(n, 1024)),
    "depth of a matmul": lambda hw, n: _call(hw, "matmul", (64, n), (n, 2048), result=(64, 2048)),
    "columns of a matmul": lambda hw, n: _call(hw, "matmul", (512, 512), (512, n), result=(512, n)),
    "rows of a batch": lambda hw, n: _call(hw, "matmul", (16, n, 64), (16, 64, 128), result=(16, n, 128)),
    "rows of a norm": lambda hw, n: _call(hw, "norm", (n, 4096), result=(n, 4096)),
    "rows of a sum": lambda hw, n: _call(hw, "elementwise", (n, 4096), (n, 4096), result=(n, 4096)),
    "rows of a permutation": lambda hw, n: _call(hw, "data movement", (n, 4096), result=(4096, n)),
    "rows sorted": lambda hw, n: _call(hw, "sort", (n, 4096), result=(n, 4096)),
    "causal attention": lambda hw, n: _attention(hw, n, n, causal=True),
    "keys of a query": lambda hw, n: _attention(hw, 1, n, causal=True),
    "keys of many queries": lambda hw, n: _attention(hw, 512, n, causal=False),
    "queries over keys": lambda hw, n: _attention(hw, n, 4096, causal=False),
    "outputs of a convolution": lambda hw, n: _call(
        hw, "convolution", (1, 64, 56, 56), (n, 64, 3, 3), result=(1, n, 56, 56)
    ),
    "bytes gathered": lambda hw, n: cost(hw, Collective("all_gather", 8, 1000.0 * n)).us,
    "bytes reduced around a ring": lambda hw, n: (
        cost(hw, Collective("all_reduce", 8, 1000.0 * n, ring=True)).us
    ),
    "bytes sent": lambda hw, n: cost(hw, Collective("point_to_point", 2, 1000.0 * n)).us,
    "devices of a line": lambda hw, n: cost(hw, Collective("reduce_scatter", n // 32 + 1, 1e6)).us,
    "users of a decoder": lambda hw, n: decode_step(hw, models()["llama-3.1-8b"], Split(), n // 8),
    "tokens of a prompt": lambda hw, n: first_token(hw, models()["llama-3.1-8b"], Split(), n),
    "tokens of a step": lambda hw, n: training_step(hw, models()["tinyllama-1.1b"], 8.0 * n),
}


def _call(
    hw: Hardware, kind: str, *inputs: tuple[int, ...], result: tuple[int, ...], traced: bool = True
) -> float:
    name = {"norm": "rms_norm", "sort": "topk", "convolution": "conv2d"}.get(kind, kind)
    work = work_of(name, kind, [Operand(shape) for shape in inputs], [Operand(result)], traced=traced)
    assert work is not None
    return cost(hw, work).us


def _attention(hw: Hardware, queries: int, keys: int, causal: bool) -> float:
    first, second = Operand((1, 8, queries, 128)), Operand((1, 2, keys, 128))
    work = work_of("sdpa", "attention", [first, second, second], [first], traced=True, causal=causal)
    assert work is not None
    return cost(hw, work).us


@pytest.mark.parametrize("what", GROWING)
def test_more_of_anything_never_takes_less_time(what: str) -> None:
    for architecture, name in EVERY_SYSTEM:
        hw = system(architecture, name)
        times = [GROWING[what](hw, n) for n in SIDES]
        assert all(b >= a * (1 - 1e-9) for a, b in pairwise(times)), (name, times)
        assert times[-1] > times[0]


@pytest.mark.parametrize(
    "kind",
    thinned(["all_gather", "reduce_scatter", "all_reduce", "broadcast", "point_to_point", "all_to_all"], 3),
)
def test_more_links_and_a_closed_ring_never_take_longer(kind: str) -> None:
    for architecture, name in EVERY_SYSTEM:
        hw = system(architecture, name)
        for size, nbytes in product((2, 3, 4, 8, 32), (512.0, 65536.0, 4e6, 1e9)):
            one = Collective(kind, size, nbytes)
            for form in (one, replace(one, ring=True)):
                times = [cost(hw, replace(form, links=links)).us for links in (1, 2, 3, 4, 8)]
                assert times == sorted(times, reverse=True), (name, form)
            assert cost(hw, replace(one, ring=True)).us <= cost(hw, one).us, (name, one)


def test_what_bounds_a_large_work_is_the_hardware_it_uses() -> None:
    """In the limit a time is its bytes over the rate, or its arithmetic over the cores; fixed parts are lost in it."""
    for architecture, name in EVERY_SYSTEM:
        hw = system(architecture, name)
        for kind in ("all_gather", "reduce_scatter", "all_reduce"):
            work = Collective(kind, 4, 1e9)
            assert cost(hw, replace(work, bytes=2e9)).us / cost(hw, work).us == pytest.approx(2, rel=1e-3)
            assert wire_bytes(work) / cost(hw, work).us < 1.1 * hw["fabric.wire"] * max(
                hw["fabric.channels"], 1
            )
        copy = [_call(hw, "elementwise", (n, 1 << 16), result=(n, 1 << 16)) for n in (4096, 8192)]
        assert copy[1] / copy[0] == pytest.approx(2, rel=1e-2)
        big = Matmul(16384, 16384, 16384)
        assert cost(hw, big).us >= ideal(hw, big)
        assert cost(hw, replace(big, fidelity="HiFi4")).us > 1.5 * cost(hw, big).us


@pytest.mark.parametrize("rows", [32, 128, 160, 1024])
def test_no_product_is_done_before_its_weights_are_read(rows: int) -> None:
    for architecture, name in EVERY_SYSTEM:
        hw = system(architecture, name)
        for inner, columns in ((4096, 14336), (8192, 1024), (2048, 32768)):
            read = inner * columns * 2 / hw["dram.interleaved"]
            found = _call(hw, "matmul", (rows, inner), (inner, columns), result=(rows, columns))
            assert found > read, (name, inner, columns)


def test_attention_that_sees_everything_multiplies_twice_what_looking_back_does(n150: Hardware) -> None:
    back, everything = (_attention(n150, 4096, 4096, causal) for causal in (True, False))
    assert everything / back == pytest.approx(2, rel=0.05)
