"""Every prediction as it was when a person last read it: costs of single works, of whole steps, and answers to rows of tables.

`TT_RUN_WRITE_EXPECTED=1 pytest tests/runtime/model/test_predictions.py` writes them again, as after a calibration; their difference is for reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.words import same_as_read
from tt_run.hardware.files import load, shipped
from tt_run.hardware.numbers import Hardware
from tt_run.runtime.model import galaxy
from tt_run.runtime.model.collectives import hops, link_bandwidth, wire_bytes
from tt_run.runtime.model.compute import ideal
from tt_run.runtime.model.cost import cost, in_program
from tt_run.runtime.model.fabric import bandwidth, nearest, ping
from tt_run.runtime.model.operations import Operand, work_of
from tt_run.runtime.model.transformer import models, networks
from tt_run.runtime.model.validation.calibrate import Bench
from tt_run.runtime.model.validation.endtoend import (
    Split,
    decode_step,
    first_token,
    inference,
    training_step,
)
from tt_run.runtime.model.validation.errors import errors, has_measurements
from tt_run.runtime.model.validation.points import NotCovered, read, with_first_tokens
from tt_run.runtime.model.validation.scores import by_class, score
from tt_run.runtime.model.work import Collective, Cost, Kernel, Matmul, Ping, Stream, Together, Work

HERE = Path(__file__).parent
WRITE = "NOC_UNICAST_WRITE"


@cache
def system(architecture: str, name: str) -> Hardware:
    return load(shipped(architecture)).system(name)


def number(value: float) -> str:
    return f"{value:.7g}"


def shown(found: Cost) -> str:
    parts = ", ".join(f"{name} {number(us)}" for name, us in found.parts.items())
    return f"{number(found.us)} {found.bound} ({parts})"


def named(work: Any) -> str:
    """The fields of a work that are not as they are by default."""
    if isinstance(work, Together):
        return " | ".join(map(named, work.works))
    told = [
        str(value) if field.name in ("name", "kind", "m", "k", "n") else f"{field.name} {value}"
        for field in fields(work)
        if (value := getattr(work, field.name)) != field.default
    ]
    return f"{type(work).__name__} {', '.join(told)}"


def matmuls() -> Iterator[Matmul]:
    shapes = ((32, 2048, 1024), (100, 70, 4000), (2048, 2048, 2048), (8192, 4096, 8192))
    for program, (m, k, n) in product(
        ("2d", "1d", "few", "batched", "dram_sharded", "ring", "other"), shapes
    ):
        yield Matmul(m, k, n, program=program)
    one = Matmul(96, 1024, 3072)
    for program in ("2d", "1d", "batched", "dram_sharded", "ring"):
        yield replace(one, program=program, batch=3, traced=False)
        yield replace(
            one,
            program=program,
            activations="bfloat8_b",
            weights="bfloat4_b",
            output="float32",
            fidelity="LoFi",
        )
        yield replace(one, program=program, weights="bfloat8_b", fidelity="HiFi4", grid=(5, 3))
        yield replace(one, program=program, m=40_000, traced=False)


def kernels() -> Iterator[Kernel]:
    for name, units in product(("binary", "sdpa", "sdpa_decode", "topk", "nobody's", "host"), (1, 65, 5000)):
        yield Kernel(name, units, bytes=2048.0 * units)
        yield Kernel(name, units, cores=7, traced=False)
    yield Kernel("binary", 1024, bytes=1e8, cores=1000)


def collectives() -> Iterator[Collective]:
    kinds = (
        *("all_gather", "reduce_scatter", "all_reduce", "all_reduce_by_gather", "all_broadcast", "broadcast"),
        *("all_to_all", "all_to_all_dispatch", "all_to_all_combine", "point_to_point"),
    )
    for kind, size, ring in product(kinds, (1, 2, 3, 8), (False, True)):
        yield Collective(kind, size, 1e6, ring=ring)
    for implementation, kind in product(
        ("decode", "prefill", "old", "async"), ("all_gather", "reduce_scatter")
    ):
        yield Collective(kind, 4, 3e4, ring=True, links=2, packet=2048, implementation=implementation, rows=5)
        yield Collective(kind, 4, 30, implementation=implementation, wire=1e5, detour=2)
    yield Collective("all_reduce", 4, 1e5, wire=1e6, detour=3)


def operations() -> Iterator[Work | None]:
    """What calls of operations of each class come down to."""
    large, row, sharded = (
        Operand((2, 3, 100, 70)),
        Operand((1, 1, 1, 70)),
        Operand((1, 1, 64, 96), sharded=True),
    )
    inside, vector = replace(large, in_dram=False), Operand((33,), "float32")
    for kind in ("elementwise", "reduction", "data movement", "creation", "pool", "sort", "norm", "other"):
        yield work_of("it", kind, [large], [large])
        yield work_of("it", kind, [inside, vector], [row], traced=True)
        yield work_of("it", kind, [sharded], [sharded])
        yield work_of("it", kind, [], [vector])
    for name in (
        *("nlp_create_qkv_heads_x", "concatenate_heads", "rotary_embedding_llama", "typecast", "to_memory_config", "reshard"),
        *("interleaved_to_sharded", "sharded_to_interleaved", "plus_one", "sampling", "split_query_key_value_and", "embedding"),
        *("paged_update_cache", "fill_cache", "view", "deallocate"),
    ):  # fmt: skip
        yield work_of(name, "data movement", [large, row], [large])
        yield work_of(name, "data movement", [inside], [inside], traced=True)
    yield work_of("from_torch", "host and device", [large], [])
    yield work_of("to_torch", "host and device", [large], [row])
    yield work_of("all_gather", "collective", [large], [large])
    yield work_of("nothing", "elementwise", [], [])
    for rows, batch in product((1, 128, 129, 1000), (1, 3)):
        first, second = Operand((2, rows, 96), "bfloat8_b"), Operand((batch, 96, 640), "bfloat4_b")
        result = Operand((batch if batch > 1 else 2, rows, 640), "uint16")
        yield work_of("matmul", "matmul", [first, second], [result], fidelity="HiFi3", ring=rows == 128)
    banked = Operand((96, 640), "uint8", sharded=True)
    yield work_of(
        "matmul", "matmul", [Operand((96, 1)), banked], [Operand((1, 640))], transposed=True, traced=True
    )
    yield work_of("matmul", "matmul", [Operand((96,)), banked], [Operand((640,))], transposed=True)
    for queries, keys, causal in product((1, 32, 100), (32, 100), (None, True, False)):
        q, k = Operand((2, 4, queries, 70)), Operand((2, 1, keys, 70))
        yield work_of("sdpa", "attention", [q, k, k], [q], causal=causal)
    yield work_of("sdpa", "attention", [vector, vector], [vector], traced=True)
    yield work_of("sdpa", "attention", [vector], [vector])
    yield work_of("conv2d", "convolution", [sharded], [sharded])
    images, filters = Operand((1, 64, 56, 56)), Operand((128, 64, 3, 3))
    yield work_of("conv2d", "convolution", [images, filters], [Operand((1, 128, 54, 54))])
    yield work_of("conv2d", "convolution", [images, filters], [], traced=True)
    yield work_of("conv2d", "convolution", [row, row], [row])


def single_works() -> Iterator[str]:
    chips = [system("wormhole", "n150"), system("blackhole", "p150")]
    works: list[Matmul | Kernel] = [*matmuls(), *kernels()]
    for work in works:
        yield f"{named(work)}: {'; '.join(shown(cost(hw, work)) for hw in chips)}"
        if isinstance(work, Matmul):
            yield f"  at least {', '.join(number(ideal(hw, work)) for hw in chips)}; measured {has_measurements(chips[0], work)}"
        else:
            yield f"  in a program {shown(in_program(chips[0], work))}; measured {has_measurements(chips[0], work)}"
    for program in ("2d", "1d", "ring"):
        yield f"in a program, {program}: {shown(in_program(chips[0], Matmul(64, 512, 512, program=program)))}"
    boxes = [system("wormhole", "t3000"), system("blackhole", "p150x8"), system("wormhole", "galaxy")]
    for each in collectives():
        ways = f"{hops(each)} hops, {number(wire_bytes(each))} B" if each.size > 1 else "alone"
        yield f"{named(each)}: {ways}; {'; '.join(shown(cost(hw, each)) for hw in boxes)}"
        if each.size > 1:
            rates = ", ".join(number(link_bandwidth(hw, each)) for hw in boxes)
            yield f"  links {rates}; measured {has_measurements(boxes[0], each)}"
    yield shown(in_program(boxes[0], Collective("all_gather", 1, 1e6)))
    together = Together((Matmul(32, 2048, 2048), Collective("all_gather", 8, 1e6), Kernel("binary", 9)))
    yield f"{named(together)}: {shown(cost(boxes[0], together))}; {shown(in_program(boxes[0], together))}"


def fabrics() -> Iterator[str]:
    boxes = [system("wormhole", "t3000"), system("blackhole", "p150x4")]
    patterns = (
        "NeighborExchangeLinear",
        "FullRingUnicast",
        "LinearMulticast",
        "HalfRingMulticast",
        "MeshMulticastNorth",
    )
    for hw, pattern, packet, links in product(boxes, patterns, (16, 2048, 4096), (1, 2)):
        name = nearest(hw, pattern, WRITE)
        yield f"{hw.system} {pattern} as {name}, {packet} B, {links}: {number(bandwidth(hw, Stream(name, WRITE, packet, links)))}"
    for hw, pattern, payload, many in product(
        boxes, ("LinearUnicast", "RingUnicast", "MeshUnicast"), (16, 4096), (1, 3)
    ):
        yield f"{hw.system} {pattern}, {payload} B, {many} hops: {shown(ping(hw, Ping(pattern, WRITE, payload, many)))}"
    for hw, pattern in product(boxes, ("Linear", "RingFooBar", "FooBarBazExchange", "Foo")):
        try:
            yield f"{hw.system} {pattern} as {nearest(hw, pattern, WRITE)}"
        except NotCovered as reason:
            yield f"{hw.system} {pattern}: {reason}"


def whole_steps() -> Iterator[str]:
    chip, box = system("wormhole", "n150"), system("wormhole", "t3000")
    older, black = system("wormhole", "galaxy_4u"), system("blackhole", "p150x8")
    for name, model in models().items():
        yield f"{name}: qkv {model.qkv}, parameters {number(model.parameters)}"
        splits = ((chip, Split()), (box, Split(2, 4)), (older, Split(32)), (black, Split(8)))
        for hw, split in splits:
            steps = [number(decode_step(hw, model, split, users)) for users in (1, 70)]
            tokens = [number(first_token(hw, model, split, tokens)) for tokens in (128, 5000)]
            trained = [number(training_step(hw, model, many, split)) for many in (100.0, 65536.0)]
            yield f"  {hw.system} {split.tensor}x{split.data}: {', '.join(steps)}; first {', '.join(tokens)}; trained {', '.join(trained)}"
    for name, network in networks().items():
        yield f"{name}: {', '.join(number(inference(chip, network, *each)) for each in ((1, 1), (33, 4), (3, 4)))}"
    model = models()["llama-3.1-70b"]
    mesh = system("wormhole", "galaxy")
    yield f"{mesh.system}: {number(decode_step(mesh, model, Split(32)))}, first {number(first_token(mesh, model, Split(32), 512))}"
    parts = {
        "decoder": galaxy.decoder(model, True),
        "around": galaxy.around(model, False),
        "prefill 512": galaxy.prefill(model, 512),
        "prefill 5000": galaxy.prefill(model, 5000),
    }
    for part, found in parts.items():
        yield from (f"{part} {name}: {', '.join(map(named, works))}" for name, works in found.items())
    yield f"decoding: {' '.join(name for name, _ in galaxy.decode_step(model, True))}"
    yield f"a prompt: {len(galaxy.prefill_layer(model, 512))} works"
    yield from (f"error of {name}: {each}" for name, each in errors().items())


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("works", single_works),
        ("fabric", fabrics),
        ("steps", whole_steps),
        ("operations", lambda: ("nothing" if work is None else named(work) for work in operations())),
    ],
)
def test_predictions_are_as_they_were_read(name: str, lines: Any) -> None:
    same_as_read("\n".join(lines()) + "\n", HERE / "predictions" / f"{name}.txt")


def test_answers_to_rows_are_as_they_were_read() -> None:
    """The rows of `predictions/rows.tsv`: how each is understood, its class, and what it is answered with."""
    bench = Bench({name: load(shipped(name)) for name in ("wormhole", "blackhole")})
    found = score(bench, with_first_tokens(read(HERE / "predictions" / "rows.tsv")))
    lines = []
    for one in found:
        point = one.point
        answer = one.reason or f"{one.group}: {number(one.predicted or 0)}, error {number(one.error or 0)}"
        told = "none" if point.measured is None else f"{number(point.measured)} {point.measured_unit}"
        lines.append(
            f"{point.line} {point.kind} {point.op}, {told}{', left out' if point.held_out else ''}: {answer}"
        )
    lines += [
        f"{each.group}: {each.count} rows, {number(each.median)} {number(each.p90)} {number(each.bias)}, goal {each.goal}"
        for each in by_class(found, lambda point: not point.held_out)
    ]
    same_as_read("\n".join(lines) + "\n", HERE / "predictions" / "answers.txt")
