"""Pieces of models that the reference fuses into one operation: state-space scans, products with caches, rotations, heads, norms.

Tables where one function of a device's shard says it all; compositions of the operations beside them where not.
Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

from tt_run.runtime.enums import BufferType, DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.activations import activation as function_of
from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.mesh import MeshCoordinate
from tt_run.runtime.ops.attention import rotary_checks
from tt_run.runtime.ops.attention.cache_checks import check_apart
from tt_run.runtime.ops.attention.caches import paged_update_cache
from tt_run.runtime.ops.data_movement.joining import chunk
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import keep_label, on_device
from tt_run.runtime.ops.declaration.rows import PLACED, Row, declare
from tt_run.runtime.ops.elementwise.unary import apply
from tt_run.runtime.ops.goldens import creation_goldens
from tt_run.runtime.ops.normalisation.norms import rms_norm
from tt_run.runtime.ops.products.operations import minimal_product, side_by_side
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, whole_tiles
from tt_run.runtime.values.shards import combine

_TUNED = f"{PLACED}, dtype: DataType | None = None, compute_kernel_config: object = None"
_STATE = f"*, {PLACED}, dtype: DataType | None = None, math_fidelity: object = None"
LATENT = 32
"""States of each channel of a state-space model."""
HIDDEN = 5120


def _scan(a: Any, bx: Any, before: Any) -> Any:
    """h = a h + bx from row to row."""
    rows = []
    state = before
    for row in range(a.shape[2]):
        state = a[:, :, row : row + 1] * state + bx[:, :, row : row + 1]
        rows.append(state)
    return library().cat(rows, 2)


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


def _turned_halves(x: Any, cos: Any, sin: Any, is_decode_mode: bool = False) -> Any:
    """x cos + rotate_half(x) sin, whose halves are those of whole tiles."""
    depth, wide = x.shape[-1], whole_tiles(x.shape[-1])
    pad = library().nn.functional.pad
    rows = slice(0, 1) if is_decode_mode else slice(0, x.shape[-2])
    whole, cos, sin = (pad(t, (0, wide - t.shape[-1])) for t in (x, cos[..., rows, :], sin[..., rows, :]))
    turned = library().cat((-whole[..., wide // 2 :], whole[..., : wide // 2]), -1)
    found = whole * cos + turned * sin
    return found[..., :depth].reshape(x.shape)


def _check_halves(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    x, cos, sin = given
    if arguments["is_decode_mode"]:
        rotary_checks.check_by_user(x, cos, sin, arguments["memory_config"])
    else:
        rotary_checks.check_by_rows(x, cos, sin, arguments["memory_config"])


def _heads(x: Any, count: int, turned: bool = False) -> Any:
    batch, _, length, width = x.shape
    out = x.reshape(batch, length, count, width // count)
    return out.permute(0, 2, 3, 1) if turned else out.permute(0, 2, 1, 3)


def _in_whole_rows(x: Any) -> Any:
    spare = whole_tiles(x.shape[-2]) - x.shape[-2]
    return library().nn.functional.pad(x, (0, 0, 0, spare)) if spare else x


def _check_spread(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for results that are to lie on cores."""
    if (arguments["memory_config"] or given[0].memory_config()).is_sharded():
        word = name.rpartition(".")[2]
        raise fatal(
            f"Sharded output memory config is not supported for {word}",
            hint="memory_config=ttnn.DRAM_MEMORY_CONFIG",
        )


def _segformer_heads(x: Any) -> Any:
    """Heads 32 wide of one projection. The reference gives three results and writes the first of them alone."""
    if x.shape[-1] % LATENT:
        raise fatal(
            f"nlp_create_qkv_heads_segformer: heads are {LATENT} wide, and {x.shape[-1]} is no multiple of it",
            hint=f"ttnn.pad the last dimension to {-(-x.shape[-1] // LATENT) * LATENT}",
        )
    heads = _heads(_in_whole_rows(x), x.shape[-1] // LATENT)
    return [heads, heads.new_zeros(heads.shape), heads.new_zeros(heads.shape)]


def _falcon_heads(x: Any) -> Any:
    """71 heads of queries, one of keys, one of values, each 64 wide."""
    if x.shape[-1] != 73 * 64:
        raise fatal(
            f"nlp_create_qkv_heads_falcon7b needs a width of {73 * 64}, got {x.shape[-1]}",
            hint="ttnn.experimental.nlp_create_qkv_heads(x, num_heads=…, num_kv_heads=…) takes other widths",
        )
    q, k, v = _in_whole_rows(x).split((71 * 64, 64, 64), -1)
    return [_heads(q, 71), _heads(k, 1), _heads(v, 1)]


def _over_batches(x: Any, dims: Sequence[int] = (0, 1)) -> Any:
    most = max(x.dim() - 2, 0)
    wrong = [dim for dim in dims if not 0 <= dim < most]
    if wrong:
        raise fatal(
            f"FastReduceNC reduces only outer dims: dim must be between 0 and {most - 1}, but has {wrong[0]}",
            hint="ttnn.sum(x, dim=…) takes others",
        )
    height, width = x.shape[-2:]
    spare = (0, whole_tiles(width) - width, 0, whole_tiles(height) - height)
    return library().nn.functional.pad(x.sum(tuple(dims) or (0, 1), keepdim=True), spare)


def _summed_in_two(x: Any, dim: int, split_output_width: int) -> list[Any]:
    _two_parts("fast_reduce_nc_split", x.shape, split_output_width)
    if dim not in (0, 1):
        raise fatal(
            f"fast_reduce_nc_split: dim must be 0 or 1, got {dim}",
            hint="dim=0 or 1; ttnn.sum(x, dim=…) takes others",
        )
    total = x.sum(dim, keepdim=True)
    return [total[..., :split_output_width].contiguous(), total[..., split_output_width:].contiguous()]


def _heads_in_two(x: Any, num_heads: int, split_head_dim: int) -> list[Any]:
    if x.shape[-1] % max(num_heads, 1):
        raise fatal(
            f"nlp_create_q_heads_split: {x.shape[-1]} columns are not those of {num_heads} heads",
            hint=f"num_heads={math.gcd(x.shape[-1], max(num_heads, 1))}",
        )
    found = _heads(x, num_heads)
    _two_parts("nlp_create_q_heads_split", found.shape, split_head_dim)
    return [found[..., :split_head_dim].contiguous(), found[..., split_head_dim:].contiguous()]


def _two_parts(name: str, shape: Sequence[int], first: int) -> None:
    """Raises RuntimeError unless there are four dimensions and the last is cut into two parts of whole tiles."""
    if len(shape) != 4 or shape[-1] % LATENT or first % LATENT or not 0 < first < shape[-1]:
        raise fatal(
            f"{name}: {list(shape)} cannot be cut after {first} columns into two parts of whole tiles",
            hint=f"four dimensions, and a first part of {LATENT}, {2 * LATENT}, … columns, fewer than all",
        )


STATE_SPACE = declare(
    families.REDUCTION,
    Row("experimental.prefix_scan", f"(a: Tensor, bx: Tensor, h_prev: Tensor, {_STATE})", _scan,
        "The states h = a h + bx of a sequence (1, 1, L, E), row after row from h_prev on.", integers=False, check=_check_scan),
    Row("experimental.hc_sum_reduce", f"(input: Tensor, {_STATE})",
        _summed_states,
        "The sums of each 32 elements of the last dimension.", integers=False),
    Row("experimental.repeat_and_interleave_eltwise_mul", f"(a: Tensor, b: Tensor, {_STATE})", _repeated_product,
        "a repeated as a whole times b with each element repeated 32 times.", integers=False),
    Row("experimental.fast_reduce_nc",
        f"(input: Tensor, *, dims: Sequence[int] = (0, 1), output: Tensor | None = None, {PLACED}, "
        "compute_kernel_config: object = None, sub_core_grids: CoreRangeSet | None = None)",
        _over_batches, "The sum over batch and channel dimensions, which stay as ones; as many rows and columns as whole tiles have.", integers=False, memory=DRAM_MEMORY_CONFIG),
    Row("experimental.fast_reduce_nc_split",
        f"(input: Tensor, *, dim: int, split_output_width: int, {PLACED}, compute_kernel_config: object = None)", _summed_in_two,
        "The sum over dimension 0 or 1 of four, which stays as one, cut after split_output_width columns.", integers=False),
)  # fmt: skip

PRODUCTS = declare(
    families.MATMUL,
    Row("experimental.dit_minimal_matmul_addcmul_fused",
        "(matmul_input_tensor: Tensor, matmul_weight_tensor: Tensor, scalar: float, addcmul_input_tensor1: Tensor, addcmul_input_tensor2: Tensor, "
        f"bias_tensor: Tensor | None = None, *, config: object = None, {_TUNED})",
        lambda x, w, scalar, first, second, bias=None, config=None: first + scalar * (x @ w + (0 if bias is None else bias)) * second,
        "first + scalar (x w + bias) second, rounded once.", integers=False),
)  # fmt: skip

HEADS = declare(
    families.HEADS,
    Row("experimental.nlp_create_qkv_heads_falcon7b", f"(input: Tensor, *, {PLACED})", _falcon_heads,
        "Falcon-7B's 71 heads of queries, one of keys and one of values, with the rows of whole tiles.", check=_check_spread),
    Row("experimental.nlp_create_qkv_heads_segformer",
        f"(input: Tensor, *, {PLACED}, output_tensors: Sequence[Tensor] | None = None)", _segformer_heads,
        "Heads 32 wide of Segformer's queries, keys or values, with the rows of whole tiles: the first result, as many zeros twice.",
        check=_check_spread),
    Row("experimental.nlp_create_q_heads_split",
        f"(input: Tensor, *, num_heads: int, split_head_dim: int, {PLACED})", _heads_in_two,
        "Heads of (B, 1, S, H D) in two: their first split_head_dim columns and the others."),
    Row("experimental.rotary_embedding_hf",
        f"(input_tensor: Tensor, cos_cache: Tensor, sin_cache: Tensor, *, is_decode_mode: bool = False, {PLACED}, compute_kernel_config: object = None)",
        _turned_halves, "x cos + rotate_half(x) sin; in decode mode one angle for each user.", integers=False, check=_check_halves),
)  # fmt: skip


@operation("ttnn.experimental.paged_fused_update_cache", family=families.CACHE)
def paged_fused_update_cache(
    cache_tensor1: Tensor,
    input_tensor1: Tensor,
    cache_tensor2: Tensor,
    input_tensor2: Tensor,
    *,
    update_idxs: Sequence[int] = (),
    update_idxs_tensor: Tensor | None = None,
    share_cache: bool | None = None,
    page_table: Tensor | None = None,
    batch_offset: int = 0,
    compute_kernel_config: object = None,
    mesh_coords: Set[MeshCoordinate] | None = None,
) -> tuple[Tensor, Tensor]:
    """`paged_update_cache` of keys and values at once, in place; returns both caches."""
    words: dict[str, Any] = {
        "update_idxs": update_idxs,
        "update_idxs_tensor": update_idxs_tensor,
        "share_cache": share_cache,
        "page_table": page_table,
        "batch_offset": batch_offset,
        "mesh_coords": mesh_coords,
    }
    check_apart(input_tensor1, input_tensor2)
    pairs = ((cache_tensor1, input_tensor1), (cache_tensor2, input_tensor2))
    first, second = (paged_update_cache.compute(cache, new, **words) for cache, new in pairs)
    return first, second


@operation("ttnn.experimental.minimal_matmul_split", family=families.MATMUL)
def minimal_matmul_split(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    *,
    chunks: int = 3,
    dim: int = -1,
    bias_tensor: Tensor | None = None,
    fused_activation: Any = None,
    config: object = None,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    compute_kernel_config: object = None,
    fuse_swiglu: bool = False,
) -> list[Tensor]:
    """`minimal_matmul`, its result cut into equal parts along the last dimension. Raises RuntimeError for another dimension."""
    if dim not in (-1, len(input_tensor.shape) - 1):
        raise fatal(f"minimal_matmul_split: only the last dimension can be split, got {dim}", hint="dim=-1")
    if weight_tensor.shape[-1] % (chunks * TILE_SIZE):
        raise fatal(
            f"Each chunk size N/chunks={weight_tensor.shape[-1] / chunks:g} must be a multiple of TILE_WIDTH={TILE_SIZE}",
            hint="ttnn.experimental.minimal_matmul, and ttnn.split of its result",
        )
    whole = minimal_product(
        side_by_side(input_tensor, weight_tensor), weight_tensor, bias_tensor, fused_activation, memory_config, dtype, fuse_swiglu
    )  # fmt: skip
    return list(chunk.compute(whole, chunks, dim))


@operation("ttnn.experimental.slice_write", family=families.MOVEMENT, golden=creation_goldens.written_slice)
def slice_write(
    input_tensor: Tensor, output_tensor: Tensor, start: Sequence[int], end: Sequence[int], step: Sequence[int]
) -> Tensor:
    """The input into a part of the output tensor, in place; returns the output tensor. Raises RuntimeError when it does not fit."""
    on_device(input_tensor, output_tensor, kind="slice write")
    if min(map(int, step), default=1) < 1:
        raise fatal("Step must be greater than 0", hint=f"step is {list(step)}")
    everywhere = (
        slice(None),
        *(slice(int(a), int(b), int(s)) for a, b, s in zip(start, end, step, strict=True)),
    )

    def write(values: Any, held: Any) -> Any:
        result = held.copy()
        place = result[everywhere]
        if place.shape != values.shape:
            raise fatal(
                f"slice_write: {list(values.shape[1:])} does not fit a part of {list(place.shape[1:])}",
                hint=f"ttnn.reshape or ttnn.slice the input to {list(place.shape[1:])}, or other begins and ends",
            )
        place[...] = values
        return result

    output_tensor.overwrite(combine(write, input_tensor.shards, output_tensor.shards))
    return keep_label(output_tensor, (input_tensor,))


@operation("ttnn.experimental.dit_rms_norm_unary_fused", family=families.NORM)
def dit_rms_norm_unary_fused(
    input_tensor: Tensor,
    epsilon: float = 1e-5,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual_input_tensor: Tensor | None = None,
    *,
    memory_config: MemoryConfig | None = None,
    program_config: object = None,
    compute_kernel_config: object = None,
    activation: Any = None,
) -> Tensor:
    """`rms_norm` followed by a fused activation."""
    normed: Tensor = rms_norm.compute(
        input_tensor, epsilon=epsilon, weight=weight, bias=bias, residual_input_tensor=residual_input_tensor,
        memory_config=memory_config,
    )  # fmt: skip
    return normed if activation is None else apply(normed, function_of(activation), name="activation")
