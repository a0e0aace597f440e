"""Rows that measured a collective: which one, what each device puts in, over how many devices, along which axis of a mesh."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from tt_run.hardware.numbers import Hardware
from tt_run.runtime.model import galaxy
from tt_run.runtime.model.collectives import collective
from tt_run.runtime.model.cost import cost
from tt_run.runtime.model.transformer import models
from tt_run.runtime.model.validation import notation
from tt_run.runtime.model.validation.points import NotCovered, Point
from tt_run.runtime.model.work import FORMAT_BYTES, Collective

Predict = Callable[[Hardware], float]

# Collectives that rows may name, however they write them -> how the bytes go; the first whose name is in a row's.
COLLECTIVES = (
    ("all_gather", "all_gather"),
    ("reduce_scatter", "reduce_scatter"),
    ("all_reduce", "all_reduce"),
    ("all_broadcast", "all_broadcast"),
    ("broadcast", "broadcast"),
    ("all_to_all_dispatch", "all_to_all_dispatch"),
    ("all_to_all_combine", "all_to_all_combine"),
    ("all_to_all", "all_to_all"),
    ("point_to_point", "point_to_point"),
    ("send_recv", "point_to_point"),
    ("send_async", "point_to_point"),
)
# Fused collectives of the decoder over a Galaxy, as reports call them -> the label of the same in `galaxy.py`; the first that matches.
OF_DECODER = (
    (r"^llama.*reduce.?scatter.*(create|head)|^llama.*rs.*head", "LlamaReduceScatterCreateHeads"),
    (r"^llama.*reduce.?scatter", "ReduceScatter_FF3"),
    (r"^llama.*gather.*concat", "AllGatherConcat"),
    (r"^llama.*gather", "AllGatherAsync_Binary_Mult"),
    (r"^llama.*all.?reduce", "AllReduceAsync_FF2"),
    (r"^llama.*(rms|norm)", "RMS"),
)
MOST = 512
"""Devices of a group whose links are counted."""
LARGE = 1 << 20
"""Bytes, of all devices together where everything goes to everybody, from which a collective is large."""


def names_collective(text: str) -> str | None:
    """How the bytes of the collective that a text names go; None where it names none."""
    plain = re.sub(r"[-_ ]", "", text.lower())
    return next((kind for name, kind in COLLECTIVES if name.replace("_", "") in plain), None)


def collective_row(point: Point) -> tuple[Predict, str]:
    """What predicts a row's collective, and its class. Raises NotCovered."""
    dims = notation.shapes(point.shape)[:1]
    if "MoE" in point.shape and not dims and names_collective(point.op):
        return _experts(point), "ccl small" if "decode" in point.shape else "ccl large"
    label = next((name for words, name in OF_DECODER if re.search(words, point.op, re.IGNORECASE)), None)
    if label is not None and not dims:
        works = galaxy.decoder(models()["llama-3.1-70b"], ring="ring" in point.topology.lower())[label]
        return lambda hw: sum(cost(hw, work).us for work in works), "ccl small"
    kind, nbytes = names_collective(point.op), _contribution(point, dims)
    if kind is None or not nbytes:
        raise NotCovered(f"no collective or no shape in {point.op!r}, {point.shape!r}")
    ring = bool(re.search(r"ring|torus", point.topology, re.IGNORECASE))
    implementation = "old" if "old" in point.topology else "outer" if "dim 0" in point.op else "async"
    group = 2 if kind == "point_to_point" else _group_size(point, dims[0][-1] if dims else 0)
    moved = nbytes * ((group or 8) if kind in ("all_gather", "all_broadcast") else 1)
    links = notation.links(point.topology)

    def predict(hw: Hardware) -> float:
        size = group or hw.devices
        if size < 2:
            raise NotCovered(f"no number of devices in {point.devices!r}")
        if size > MOST:
            raise NotCovered(f"{size} devices in one line or ring: at most {MOST} are counted link by link")
        asked = Collective(kind, size, nbytes, ring=ring, links=links, implementation=implementation)
        return collective(hw, asked).us

    return predict, "ccl large" if moved >= LARGE else "ccl small"


def _contribution(point: Point, dims: list[list[int]]) -> float | None:
    """Bytes that one device puts in: of the shape, of the tokens and their width, or as the row says."""
    named = notation.formats(point.dtype)
    element = FORMAT_BYTES[named[0] if named else "bfloat16"]
    if dims:
        return math.prod(dims[0]) * element
    width = notation.after("hidden(?:[ _]size)?", point.shape)
    tokens = notation.after("tokens(?: per device)?", point.shape) or math.prod(
        notation.after(word, point.shape) or 1 for word in ("batch(?:[ _]size)?", "seq(?:[ _]len)?")
    )
    return tokens * width * element if width else notation.nbytes(point.shape)


def _group_size(point: Point, width: int) -> int | None:
    """How many devices take part, None for all of the system's.

    On an 8x4 mesh an axis says it, or the width, which tells a decoder's rows from its columns.
    """
    mesh = re.search(r"(\d+) ?x ?(\d+)( mesh)?", point.devices)
    axis = re.search(r"(?:axis|dim) ?=? ?([01])\b", f"{point.devices} {point.topology}") or re.search(
        r"axis ?=? ?([01])", point.op
    )
    if mesh and axis:
        return int(mesh[1 + int(axis[1])])
    if mesh and mesh[3] and mesh[0].startswith("8x4"):
        hidden = models()["llama-3.1-70b"].hidden // galaxy.COLUMNS
        return galaxy.ROWS if width in (hidden, hidden // galaxy.ROWS) else galaxy.COLUMNS
    found = re.match(r"x?(\d+)(?: ?x ?(\d+))?(?![\dU])", point.devices)
    return int(found[1]) * int(found[2] or 1) if found else None


def _experts(point: Point) -> Predict:
    """Mixture of experts: along the rows of a mesh; decode and prefill differ by the tokens per device, which the tests do not print."""
    kind = "all_to_all_dispatch" if "dispatch" in point.op else "all_to_all_combine"
    phase = "prefill" if "prefill" in point.shape else "decode"

    def predict(hw: Hardware) -> float:
        tokens = hw[f"experts.{phase}_tokens"]
        nbytes = tokens * hw["experts.width"] * FORMAT_BYTES["bfloat16"]
        around = hw.system == "galaxy"
        work = Collective(kind, galaxy.ROWS, nbytes, ring=around, implementation="experts")
        return collective(hw, work).us

    return predict
