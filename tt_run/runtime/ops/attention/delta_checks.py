"""What the operations of delta attention say of operands that do not fit. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tt_run.runtime.enums import DataType, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

HISTORY = 3
"""Tokens before one that its convolution looks at."""


def _first(name: str, rules: Iterable[tuple[bool, str]], given: str, hint: str) -> None:
    """Refuses by the first rule that does not hold; later ones may not make sense then."""
    for holds, message in rules:
        if not holds:
            raise fatal(f"{name}: {message} ({given})", hint=hint)


def _aligned(*sizes: int) -> bool:
    return all(size > 0 and size % TILE_SIZE == 0 for size in sizes)


def check_chunks(
    tensors: tuple[Tensor, ...], heads: int, mask: int, halves: int, gate_scale: float, offset: int
) -> None:
    """q, k, g [1, T, heads K], v [1, T, heads V] and logits [1, T, …], of whole chunks and tiles."""
    name = "prepare_chunk_recurrence"
    q, k, v, g, beta = tensors
    given = f"q {q.shape}, k {k.shape}, v {v.shape}, g {g.shape}, beta {beta.shape}, {heads} heads"
    hint = f"q, k, g [1, rows, {heads} * K], v [1, rows, {heads} * V], beta [1, rows, {heads}]; rows a multiple of {TILE_SIZE}"
    _first(
        name,
        (
            (heads > 0, "num_heads must be positive"),
            (
                all(len(t.shape) == 3 for t in (q, k, v, g)),
                "q, k, v, and g must be rank 3 production-flat tensors",
            ),
        ),
        given,
        hint,
    )
    rows, widths = q.shape[1], (q.shape[2], v.shape[2])
    logits = tuple(beta.shape)
    _first(
        name,
        (
            (all(t.shape[0] == 1 for t in (q, k, v, g)), "q, k, v, and g must have leading dimension 1"),
            (q.shape == k.shape == g.shape, "q, k, and g must have matching shapes"),
            (v.shape[1] == rows, "q, k, v, and g must have matching sequence lengths"),
            (_aligned(rows), "sequence length must be positive and divisible by 32"),
            (not any(w % heads for w in widths), "flat widths must be divisible by num_heads"),
            (_aligned(*(w // heads for w in widths)), "K and V must be positive and tile aligned"),
            (
                len(logits) == 3 and logits[:2] == (1, rows) and offset % TILE_SIZE == 0 and logits[2] >= offset + heads,
                "beta logits must be token-major [1, num_chunks * 32, columns] with a tile-aligned column offset and num_heads "
                "columns after it",
            ),
        ),
        given,
        hint,
    )  # fmt: skip
    if mask & ~halves:
        raise fatal(
            f"{name}: unsupported KDA prep BF16 mask {mask:#x}",
            hint=f"output_bf16_mask={mask & halves:#x}: the other results are float32",
        )
    if not math.isfinite(gate_scale):
        raise fatal(f"{name}: gate_scale must be finite", hint="gate_scale=1.0")


def check_gated(
    tensors: tuple[Tensor, Tensor, Tensor], heads: int, epsilon: float, offset: int, dtype: DataType, place: MemoryConfig | None
) -> None:  # fmt: skip
    """Rows [B heads, T, V], a gate with heads V columns at the offset, and V weights."""
    name = "sigmoid_gated_rms_norm"
    rows, gate, weight = tensors
    given = f"input {rows.shape}, gate {gate.shape}, weight {weight.shape}, {heads} heads"
    hint = f"input [B * {heads}, T, V], gate [B, T, {heads} * V and the offset], weight [V]"
    _first(
        name,
        (
            (heads > 0, "num_heads must be positive"),
            (len(rows.shape) == 3, "input must be [B*H,T,V]"),
            (len(gate.shape) == 3, "gate must be rank 3 [B,T,W]"),
        ),
        given,
        hint,
    )
    joined, length, width = tuple(rows.shape)
    columns = heads * width
    _first(
        name,
        (
            (joined % heads == 0, "leading dimension must be divisible by num_heads"),
            (_aligned(length), "sequence must be positive and tile aligned"),
            (_aligned(width), "value_dim must be positive and tile aligned"),
            (offset % TILE_SIZE == 0, "gate_column_offset must be tile aligned"),
            (
                tuple(gate.shape)[:2] == (joined // heads, length) and gate.shape[2] >= offset + columns,
                f"gate {gate.shape} must be [B, T, W] and hold H*V = {columns} columns at gate_column_offset {offset}",
            ),
            (weight.logical_volume() == width, "weight volume must equal V"),
        ),
        given,
        hint,
    )
    if not 0 < epsilon < math.inf:
        raise fatal(f"{name}: epsilon must be finite and positive", hint="epsilon=1e-5")
    if dtype not in (DataType.FLOAT32, DataType.BFLOAT16):
        raise fatal(
            f"{name}: output_dtype must be FLOAT32 or BFLOAT16, got {dtype}",
            hint="output_dtype=ttnn.bfloat16",
        )
    if place is not None and place.is_sharded():
        raise fatal(
            f"{name}: output memory configuration must be interleaved", hint="memory_config=ttnn.DRAM_MEMORY_CONFIG"
        )  # fmt: skip


def check_transitions(name: str, a: Tensor, b: Tensor, groups: int) -> None:
    """a [B H G, K, K] and b [B H G, K, V], with whole heads of groups."""
    given = f"a {a.shape}, b {b.shape}, {groups} groups a head"
    hint = "ttnn.reshape(a, [B*H*G, K, K]), ttnn.reshape(b, [B*H*G, K, V])"
    both = "inputs must have" if name == "reduce_affine_transforms" else "a and b must have"
    _first(name, ((len(a.shape) == len(b.shape) == 3, "inputs must be rank 3"),), given, hint)
    _first(
        name,
        (
            (a.shape[0] > 0, "leading dimension must be positive"),
            (a.shape[0] == b.shape[0], f"{both} matching leading dimensions"),
            (a.shape[1] == a.shape[2], "a must contain square KxK matrices"),
            (a.shape[1] == b.shape[1], "a and b must have matching K dimensions"),
            (_aligned(a.shape[1], b.shape[2]), "K and V must be positive and tile aligned"),
            (groups > 0, "groups_per_head must be positive"),
        ),
        given,
        hint,
    )
    if a.shape[0] % groups:
        raise fatal(
            f"{name}: leading dimension must be divisible by groups_per_head ({given})", hint="groups_per_head=1"
        )  # fmt: skip


def check_state(name: str, state: Tensor, b: Tensor, groups: int) -> None:
    """A state [B H, K, V] for each head."""
    wanted = (b.shape[0] // groups, b.shape[1], b.shape[2])
    if tuple(state.shape) != wanted:
        raise fatal(
            f"{name}: initial_state shape must be [batch_heads, K, V]: {list(wanted)}, got {state.shape}",
            hint=f"ttnn.reshape(initial_state, {list(wanted)})",
        )


def check_summary(name: str, terms: tuple[Tensor, ...], groups: int, packed: bool) -> None:
    """The prepared terms of whole heads of groups, with keys as wide as values."""
    v, kd = terms[:2]
    given = ", ".join(str(t.shape) for t in terms) + f", {groups} groups a head"
    hint = "what prepare_chunk_recurrence gives, reshaped to [B*H*G, N, …]"
    _first(name, ((all(len(t.shape) == 4 for t in terms), "inputs must be rank 4"),), given, hint)
    _first(
        name,
        (
            (len({tuple(t.shape)[:2] for t in terms}) == 1, "inputs must have matching leading dimensions"),
            (v.shape[-1] == kd.shape[-1], "summary requires K == V"),
            (groups > 0, "groups_per_head must be positive"),
            (terms[3].dtype is DataType.FLOAT32, f"intra must be FLOAT32, got {cpp(terms[3].dtype)}"),
            (terms[6].dtype is DataType.FLOAT32, f"t_inv must be FLOAT32, got {cpp(terms[6].dtype)}"),
        ),
        given,
        hint,
    )
    if v.shape[0] % groups or (packed and groups != 1):
        what = (
            "packed_head requires groups_per_head == 1"
            if packed and groups != 1
            else "leading dimension must be divisible by groups_per_head"
        )
        raise fatal(f"{name}: {what} ({given})", hint="groups_per_head=1")


def check_convolution(
    name: str, x: Tensor, before: tuple[Tensor, ...], taps: tuple[Tensor, ...], channels: int, offset: int
) -> None:
    """An input [1, T, W] with the channels of three tokens before it and of four taps."""
    stop = offset + channels
    rows = x.shape[1] if len(x.shape) == 3 else 0
    if not rows or x.shape[0] != 1 or not 0 <= offset <= stop <= x.shape[2]:
        raise fatal(
            f"{name}: input {x.shape} must be [1, T, W] with {channels} channels from {offset} on",
            hint=f"input_column_offset=0 and at least {channels} columns: ttnn.pad(input, …) adds some",
        )
    for tensor in before:
        if tuple(tensor.shape) != (1, HISTORY, channels) or any(t.logical_volume() != channels for t in taps):
            raise fatal(
                f"{name}: history {tensor.shape} must be [1, {HISTORY}, {channels}], and each tap have {channels} elements",
                hint=f"ttnn.reshape(history, [1, {HISTORY}, {channels}])",
            )
