"""Programs that an operation compiles beside its own, because the reference makes it of several.

Programs count them with `device.num_program_cache_entries()`. Source: the test suites of reference library 0.81.1.
"""

from __future__ import annotations

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.tensor.tensor import Tensor


def compile_scatter(input: Tensor, index: Tensor, src: Tensor, axis: int) -> None:
    """Enter what a scatter compiles beside itself: its kernel takes rows, along the last dimension, of a source of the index's shape."""
    device = input.device()
    if device is None:
        return
    rank, shapes = len(input.shape), [tuple(t.shape) for t in (input, index, src)]
    kinds = [t.dtype for t in (input, index, src)]
    tiled = input.layout is Layout.TILE

    def compiled(step: str, shape: tuple[int, ...], kind: DataType) -> None:
        device.program_cache.use((f"scatter: {step}", shape, kind))

    if shapes[2] != shapes[1]:
        compiled("slice", shapes[2], kinds[2])
        if tiled and rank == 1:  # a row of tiles is cut as rows
            compiled("untilize", shapes[2], kinds[2])
            compiled("tilize", shapes[1], kinds[2])
        shapes[2] = shapes[1]
    if tiled:
        for shape, kind in zip(shapes, kinds, strict=True):
            compiled("untilize", shape, kind)
        compiled("tilize", shapes[0], kinds[0])
    if axis != rank - 1:
        turned = list(shapes[0])
        turned[axis], turned[-1] = turned[-1], turned[axis]
        for shape, kind in zip([*shapes, tuple(turned)], [*kinds, kinds[0]], strict=True):
            compiled("transpose", shape, kind)


def compile_isin(elements: Tensor, test_elements: Tensor) -> None:
    """Enter what `isin` compiles beside itself: its kernel takes lines, so others are made lines, and the result is given its shape again."""
    device = elements.device()
    if device is None:
        return
    for tensor, steps in ((elements, ("line", "shape")), (test_elements, ("line",))):
        if len(tensor.shape) > 1:
            for step in steps:
                device.program_cache.use((f"isin: {step}", tuple(tensor.shape), tensor.dtype))
