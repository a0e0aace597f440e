"""From a row of a points table to what is asked of the model: which system, which work, and in which unit the answer is wanted.

Rows that the model cannot answer raise NotCovered with the reason; nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from tt_run.hardware.numbers import Hardware
from tt_run.runtime.model import galaxy
from tt_run.runtime.model.compute import ideal
from tt_run.runtime.model.cost import cost
from tt_run.runtime.model.fabric import bandwidth, nearest, ping
from tt_run.runtime.model.operations import FEW_ROWS
from tt_run.runtime.model.transformer import models
from tt_run.runtime.model.validation import notation
from tt_run.runtime.model.validation.attention_rows import attention
from tt_run.runtime.model.validation.collective_rows import collective_row, names_collective
from tt_run.runtime.model.validation.constants import constant, value
from tt_run.runtime.model.validation.plain import plain_operation
from tt_run.runtime.model.validation.points import NotCovered, Point
from tt_run.runtime.model.validation.published import named_operation, whole_model
from tt_run.runtime.model.validation.quantities import RATES, TIMES, first_word
from tt_run.runtime.model.work import Matmul, Ping, Stream

Predict = Callable[[Hardware], float]


@dataclass(frozen=True, slots=True)
class Question:
    """What a row asks: of which architecture and system, the answer in the row's unit, and the class that its error counts in."""

    architecture: str
    system: str
    predict: Predict
    group: str


# The first pattern that a row's architecture and devices match, in this order; case does not count, architectures are WH and BH.
SYSTEMS = (
    (r"p150x4", "p150x4"),
    (r"p150x8", "p150x8"),
    # A decoder's rows and columns, as reports on the older one call them.
    (r"WH 4U|^WH \d+ in (row|column)", "galaxy_4u"),
    # The report on data-parallel replicas is older than the 6U.
    (r"WH.*galaxy.*TP ?=? ?8(?!\d).*DP ?=? ?4(?!\d)", "galaxy_4u"),
    (r"BH.*QuietBox|QuietBox.*BH|QuietBox ?2\b", "p150x4"),
    (r"BH.*LoudBox|LoudBox.*BH", "p150x8"),
    (r"\b6U|galaxy|\bTG\b", "galaxy"),
    (r"\bT3K|QuietBox|LoudBox|T3000", "t3000"),
    (r"\bn300", "n300"),
    (r"\bn150", "n150"),
    (r"\bp300", "p300"),
    (r"\bp100", "p100"),
    (r"BH p150[abc]? (x ?)?8|\b8 ?x? ?p150", "p150x8"),
    (r"BH p150[abc]? (x ?)?4|\b4 ?x? ?p150", "p150x4"),
    (r"\bp150", "p150"),
    (r"WH (x ?)?8\b", "t3000"),
    (r"WH (x ?)?32\b", "galaxy"),
    (r"BH (x ?)?32\b", "galaxy"),
    (r"WH (x ?)?2\b", "n300"),
    (r"BH (x ?)?4\b", "p150x4"),
    (r"BH (x ?)?8\b", "p150x8"),
    (r"\bBH", "p150"),
    (r"\bWH", "n150"),
)


def question(point: Point) -> Question:
    """What a row asks. Raises NotCovered."""
    asked = KINDS.get(point.kind)
    if asked is None:
        raise NotCovered(f"no model of kind {point.kind!r}; there are {', '.join(KINDS)}")
    if point.measured is None:
        raise NotCovered(f"the value {point.value!r} is not a number")
    architecture, system = place(point)
    predict, group = asked(point)
    worth = _worth(point)
    return Question(architecture, system, lambda hw: predict(hw) / worth, group)


# Kinds of rows -> what their units are worth in the unit that the kind is computed in, and which unit a row without one has.
UNITS: dict[str, tuple[dict[str, float], str]] = {
    "fabric_bw": (RATES, "GB/s"),
    "fabric_latency": (TIMES, "ns"),
    "matmul": (TIMES, "us"),
    "ccl": (TIMES, "us"),
    "op": (TIMES, "us"),
    "op_in_model": (TIMES, "us"),
}

OPERATIONS = {
    "TFLOPS": 1e6,
    "TFLOPs/s": 1e6,
    "TFLOPS/s": 1e6,
    "TFLOP/s": 1e6,
    "TFLOPs": 1e6,
    "GFLOPS": 1e3,
    "GFLOP/s": 1e3,
}
"""What a unit of a product's rate is worth in operations per microsecond."""


def _worth(point: Point) -> float:
    """What one of a row's unit is in the unit that its kind is computed in. Raises NotCovered for a unit of something else."""
    if point.kind not in UNITS:
        return 1.0
    units, usual = UNITS[point.kind]
    unit = first_word(point.unit) or usual
    if point.kind == "matmul" and (unit in OPERATIONS or unit.startswith("%")):
        return 1.0
    if unit not in units:
        raise NotCovered(f"unit {point.unit!r}: {point.kind} is predicted in {', '.join(units)}")
    return units[unit]


def place(point: Point) -> tuple[str, str]:
    """Architecture and system that a row was measured on."""
    more = {"attention": point.shape, "e2e": point.op, "training": point.op}.get(point.kind, "")
    text = f"{point.arch} {point.devices} {more}"
    for word, short in ((r"wormhole(_b0)?", "WH"), (r"blackhole", "BH")):
        text = re.sub(word, short, text, flags=re.IGNORECASE)
    text = re.sub(r"(?<!\w)(\d+) ?x ?(\d+)(?!\w)", lambda mesh: str(int(mesh[1]) * int(mesh[2])), text)
    architecture = (
        "blackhole" if re.search(r"\bBH|\bp[13][05]0|QuietBox ?2\b", text, re.IGNORECASE) else "wormhole"
    )
    system = next((name for pattern, name in SYSTEMS if re.search(pattern, text, re.IGNORECASE)), None)
    if system is None:
        raise NotCovered(f"no system known for {point.arch} {point.devices}")
    return architecture, system


def _packet(text: str) -> int:
    found = notation.nbytes(text) or (int(text) if text.isdecimal() else 0)
    if not found:
        raise NotCovered(f"no size in bytes in {text!r}")
    return int(found)


def traced(point: Point) -> bool:
    """Whether an operation was replayed from a trace: unless a row says that it was not."""
    said = f"{point.op} {point.topology} {point.dtype}"
    return not re.search(r"trace ?= ?(False|0)|untraced|no trace", said, re.IGNORECASE)


def _stream(point: Point) -> tuple[Predict, str]:
    pattern, _, write = point.op.split("/") if point.op.count("/") == 2 else (point.op, "", "")
    packet = _packet(point.shape)
    custom = re.fullmatch(r"CustomMaxPacketSize(Linear|Mesh)\w*", pattern)
    if custom:
        pattern = f"{custom[1]}Multicast"
    work = Stream(pattern, write, packet, notation.links(point.topology) or 1)

    def predict(hw: Hardware) -> float:
        return bandwidth(hw, replace(work, pattern=nearest(hw, work.pattern, work.write))) / 1e3

    return predict, "fabric"


def _ping(point: Point) -> tuple[Predict, str]:
    found = re.match(r"(\w+)/(\w+)(?: dev(\d+)->dev(\d+))?", point.op)
    if not found:
        raise NotCovered(f"cannot read pattern and write from {point.op!r}")
    told = re.search(r"(\d+) hops?\b|\bhops? ?=? ?(\d+)", f"{point.op} {point.shape} {point.topology}")
    first, last = int(found[3] or 0), int(found[4] or 1)
    hops = int(told[1] or told[2]) if told else abs(last - first)
    work = Ping(found[1], found[2], _packet(point.shape), max(hops, 1))
    return lambda hw: ping(hw, work).us, "fabric"


def _matmul(point: Point) -> tuple[Predict, str]:
    ring = re.search(r"ring matmul.*\b(do|ff13|ff2|qkv)", point.op)
    if ring:
        name = {"do": "DO_MM", "ff13": "FF1_MM", "ff2": "FF2_MM", "qkv": "QKV_MM"}[ring[1]]
        work = galaxy.decoder(models()["llama-3.1-70b"], ring=True)[name][0]
        assert isinstance(work, Matmul)
        return _in_unit(point, work), "matmul small"
    shape = notation.product(point.shape)
    if not shape:
        raise NotCovered(f"no m x k x n in {point.shape!r}")
    m, k, n, batch = shape
    cores = re.search(r"(\d+)(?:, ?| ?x ?)(\d+)", point.topology)
    grid = (int(cores[1]), int(cores[2])) if cores else None
    if min(m, k, n, batch, *(grid or (1,))) < 1:
        raise NotCovered(f"an empty product or grid: {point.shape!r}, {point.topology!r}")
    program = "batched" if batch > 1 else "few" if m <= FEW_ROWS and grid is None else "2d"
    if re.search(r"dram.?sharded", f"{point.op} {point.topology}", re.IGNORECASE):
        program = "dram_sharded"
    work = Matmul(m, k, n, batch=batch, grid=grid, traced=traced(point), program=program, **_operands(point))
    group = "matmul large" if min(m, k, n) >= 1024 else "matmul small"
    return _in_unit(point, work), group


def _in_unit(point: Point, work: Matmul) -> Predict:
    """A product's time, or the rate or part of the peak that a row asks for."""
    if point.unit.startswith("%"):
        return lambda hw: 100 * ideal(hw, work) / cost(hw, work).us
    if first_word(point.unit) in OPERATIONS:
        done = 2 * work.m * work.k * work.n * work.batch / OPERATIONS[first_word(point.unit)]
        return lambda hw: done / cost(hw, work).us
    return lambda hw: cost(hw, work).us


def _operands(point: Point) -> dict[str, str]:
    """Formats of a product's operands and its fidelity: those that a row names, the rest as the library has it."""
    named = notation.formats(f"{point.dtype} {point.op}") or ["bfloat16"]
    activations, weights = named[0], named[1] if len(named) > 1 else named[0]
    return {
        "activations": activations,
        "weights": weights,
        "output": named[2] if len(named) > 2 else activations,
        "fidelity": notation.fidelity(f"{point.dtype} {point.op}", weights),
    }


def _constant(point: Point) -> tuple[Predict, str]:
    key, worth = constant(point)
    return lambda hw: value(hw, key) / worth, "constant"


def _operation(point: Point) -> tuple[Predict, str]:
    """One of a decoder's by its name, else what it is on the shape that the row gives."""
    if names_collective(point.op) and notation.shapes(point.shape):
        return collective_row(point)
    try:
        return named_operation(point)
    except NotCovered as unknown:
        if not notation.dimensions(point.shape):
            raise
        try:
            work = plain_operation(point, traced(point))
        except NotCovered as other:
            raise NotCovered(f"{other}; nor {unknown}") from None
        large = isinstance(work, Matmul) and min(work.m, work.k, work.n) >= 1024
        group = "other" if not isinstance(work, Matmul) else "matmul large" if large else "matmul small"
        return lambda hw: cost(hw, work).us, group


KINDS: dict[str, Callable[[Point], tuple[Predict, str]]] = {
    "fabric_bw": _stream,
    "fabric_latency": _ping,
    "matmul": _matmul,
    "ccl": collective_row,
    "op_in_model": named_operation,
    "op": _operation,
    "attention": attention,
    "constant": _constant,
    "e2e": whole_model,
    "training": whole_model,
}
