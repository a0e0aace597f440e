"""Every operation's values: against its golden function over element types, layouts, ranks, odd shapes and broadcasts, or where else."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.golden import check
from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, TILE, U32, held, put
from tests.runtime.ops.tested_elsewhere import ELSEWHERE, WITHOUT
from tests.runtime.ops.value_cases import CALLS, IN_TILES, Call, Shape
from tests.sweep import sweep, thinned
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration.dispatch import VALUES
from tt_run.runtime.ops.declaration.layouts import LAYOUTS

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
FLOATS = [
    (F32, TILE, (2, 3, 33)),
    (BF16, ROW, (7,)),
    (BF16, TILE, (1, 2, 1, 5, 34)),
    (BFP8, TILE, (3, 35, 50)),
]
INTEGERS = [(I32, TILE, (2, 3, 33)), (U32, ROW, (7,))]
Form = tuple[DataType, Layout, tuple[Shape, ...]]


def forms(name: str, call: Call) -> Iterator[Form]:
    """The element types, layouts and shapes of the operands of a call of operation `name`."""
    tiles = call.tiles or name in LAYOUTS or name in IN_TILES
    if call.shapes:
        if not call.short:
            yield F32, TILE, call.shapes
        yield BF16, TILE if tiles else ROW, call.shapes
        return
    whole = INTEGERS[: 1 if call.signed else 2] if call.integers or call.only else []
    kinds = [*([] if call.only else FLOATS), *whole]
    for dtype, layout, shape in kinds:
        taken = call.blocks or dtype is not BFP8
        if taken and len(shape) >= call.least and not (tiles and layout is ROW):
            yield dtype, layout, (shape,) * call.operands


def operands(call: Call, dtype: DataType, shapes: tuple[Shape, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    if dtype in (I32, U32):
        low = max(int(call.low), 0 if dtype is U32 else -9)
        return [rng.integers(low, max(int(call.high), low + 9), s) for s in shapes]
    return [rng.uniform(call.low, call.high, s).astype(np.float32) for s in shapes]


@pytest.mark.parametrize("name", thinned(sorted(CALLS), 3))
def test_values_are_those_of_the_golden_function(one: MeshDevice, name: str):
    for call in CALLS[name]:
        for dtype, layout, shapes in forms(name, call):
            given = operands(call, dtype, shapes)
            check(
                one,
                name,
                given,
                *call.arguments,
                dtype=dtype,
                layout=layout,
                steps=call.steps,
                **call.keywords,
            )


def names() -> dict[str, set[str]]:
    """Every operation that computes values, by the first of its names, with all of them."""
    found: dict[int, set[str]] = {}
    for name, operation in catalog.every().items():
        if operation.state == VALUES:
            found.setdefault(id(operation), set()).add(name.removeprefix("ttnn."))
    return {min(spelled, key=len): spelled for spelled in found.values()}


def test_every_operation_has_a_test_of_its_values_or_a_reason():
    known = {*CALLS, *itertools.chain(*map(str.split, ELSEWHERE.values())), *WITHOUT}
    missing = sorted(name for name, spelled in names().items() if not spelled & known)
    assert not missing, (
        "no test compares the values of these: add a line in value_cases.py (or a name in tested_elsewhere.py)"
    )
    stale = known - set().union(*names().values())
    assert not stale, "these are no operations that compute values"


@pytest.mark.parametrize("file", sorted(ELSEWHERE))
def test_files_elsewhere_name_what_they_test(file: str):
    """A name may be put together there, so its first word will do."""
    text = (Path(__file__).parents[1] / file).read_text()
    for name in ELSEWHERE[file].split():
        assert name.rpartition(".")[2].split("_")[0] in text, name


@pytest.mark.parametrize("name", sweep(sorted(CALLS), quick=sorted(CALLS)[::6]))
def test_a_device_gives_the_same_bits_alone_and_among_others(one: MeshDevice, mesh: MeshDevice, name: str):
    """What a rank stacks follows from the split, so a result may not: here eight shards together, then two of them alone."""
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    for call in CALLS[name][:2]:
        for dtype, layout, shapes in list(forms(name, call))[::2]:
            stacks = [operands(call, dtype, ((8, *shape),))[0] for shape in shapes]
            stacks = [np.roll(stack, i, axis=0) for i, stack in enumerate(stacks)]
            cut = [stack.reshape(8 * stack.shape[1], *stack.shape[2:]) for stack in stacks]
            together = operation(
                *(put(mesh, a, dtype, layout, shard=0) for a in cut), *call.arguments, **call.keywords
            )
            for device in (0, 5):
                alone = operation(
                    *(put(one, s[device], dtype, layout) for s in stacks), *call.arguments, **call.keywords
                )
                assert bits(together, device) == bits(alone, 0), (dtype, shapes, device)


def bits(result: Any, device: int) -> list[bytes]:
    """Every result's shard of a local device."""
    several = result if isinstance(result, (list, tuple)) else [result]
    return [held(tensor, device).tobytes() for tensor in several if tensor is not None]
