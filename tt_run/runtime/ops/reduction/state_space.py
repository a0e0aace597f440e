"""State-space models: the scan over a sequence and the sums and products around it. PyTorch computes them. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tt_run.runtime.enums import BufferType, DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.rows import PLACED, Row, declare
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

_STATE = f"*, {PLACED}, dtype: DataType | None = None, math_fidelity: object = None"


LATENT = 32
"""States of each channel of a state-space model."""


HIDDEN = 5120


def _scan(a: Any, bx: Any, before: Any) -> tuple[Any, Any]:
    """h = a h + bx from row to row, and the last of them."""
    rows = []
    state = before
    for row in range(a.shape[2]):
        state = a[:, :, row : row + 1] * state + bx[:, :, row : row + 1]
        rows.append(state)
    return library().cat(rows, 2), state


def _check_scan(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for a first state in tiles, and for anything that is not on cores."""
    a, bx, before = given
    if before.layout is not Layout.ROW_MAJOR:
        raise fatal(
            "Expected initial hidden state to be row-major",
            hint="ttnn.to_layout(h_prev, ttnn.ROW_MAJOR_LAYOUT)",
        )
    if not (a.is_sharded() and bx.is_sharded() and before.is_sharded()):
        raise fatal(
            "Expected input tensors to be sharded",
            hint="ttnn.to_memory_config(tensor, ttnn.L1_WIDTH_SHARDED_MEMORY_CONFIG) of all three",
        )
    asked = arguments["memory_config"] or a.memory_config()
    if asked.nameless:
        raise fatal("bad optional access", hint="memory_config=ttnn.create_sharded_memory_config(…)")
    if not asked.is_sharded() or asked.buffer_type is BufferType.DRAM:
        raise fatal(
            "Only L1 buffers can have an associated circular buffer!",
            hint="leave memory_config out, and ttnn.sharded_to_interleaved the result",
        )


def _check_format(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for a result of another type than the two that the kernels write."""
    if arguments["dtype"] not in (None, DataType.BFLOAT16, DataType.BFLOAT8_B):
        raise fatal(
            "Unsupported data format for output!",
            cpp(arguments["dtype"]),
            hint="dtype=ttnn.bfloat16, and ttnn.typecast of the result",
        )


def _summed_states(x: Any) -> Any:
    if x.shape[-1] % (LATENT * TILE_SIZE):
        raise fatal(
            "Final dim/TILE_SIZE must be a multiple of latent size!",
            f"{x.shape[-1]} / {TILE_SIZE} % {LATENT} == 0",
            hint=f"ttnn.pad the last dimension to {-(-x.shape[-1] // (LATENT * TILE_SIZE)) * LATENT * TILE_SIZE}",
        )
    return x.reshape(*x.shape[:-1], -1, LATENT).sum(-1)


def _repeated_product(a: Any, b: Any) -> Any:
    of_a, of_b, wide = a.shape[-1], b.shape[-1], LATENT * HIDDEN
    for refused, text in (
        (of_a == of_b, "Use eltwise mul for same size inputs!"),
        (of_a not in (LATENT, wide), f"Input a width must be {LATENT} or {LATENT}*{HIDDEN}!"),
        (of_b not in (HIDDEN, wide), f"Input b width must be {HIDDEN} or {LATENT}*{HIDDEN}!"),
    ):
        if refused:
            raise fatal(f"repeat_and_interleave_eltwise_mul: {text}", hint=f"a is {of_a} wide, b {of_b}")
    return (a.repeat(1, 1, 1, wide // of_a) if of_a < wide else a) * b.repeat_interleave(wide // of_b, -1)


STATE_SPACE = declare(
    families.REDUCTION,
    Row("experimental.prefix_scan", f"(a: Tensor, bx: Tensor, h_prev: Tensor, {_STATE})", _scan,
        "The states h = a h + bx of a sequence (1, 1, L, E), row after row from h_prev on, which becomes the last of them.",
        integers=False, check=_check_scan, rooms=("", "h_prev"), seen=("h_prev",), first_only=True),
    Row("experimental.hc_sum_reduce", f"(input: Tensor, {_STATE})",
        _summed_states,
        "The sums of each 32 elements of the last dimension.", integers=False, check=_check_format),
    Row("experimental.repeat_and_interleave_eltwise_mul", f"(a: Tensor, b: Tensor, {_STATE})", _repeated_product,
        "a repeated as a whole times b with each element repeated 32 times.", integers=False, check=_check_format),
)  # fmt: skip
