"""What rotary embeddings refuse of shapes and places. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.cores import CoreRangeSet
from tt_run.runtime.enums import HEIGHT_SHARDED, WIDTH_SHARDED, BufferType, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.attention.head_counts import four_dims
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

_BY_USER = "ttnn.to_memory_config(tensor, ttnn.create_sharded_memory_config(…, strategy=ttnn.ShardStrategy.HEIGHT)): a core for each user"
MOST = 256
"""How wide a head of `rotary_embedding_llama` may be."""

WIDEST_IN_32 = 128
"""How wide it may be where sums are kept in 32 bits."""


def check_halves(x: Tensor, cos: Tensor, sin: Tensor, token: int | None) -> None:
    """What `rotary_embedding` refuses."""
    _check_width(x, "dimension")
    _check_alike(cos, sin)
    wide = x.padded_shape[-1]
    if cos.shape != sin.shape:
        raise fatal(
            f"Cosine and Sine cache dimensions must match. Cos cache dimensions: {cos.shape}, Sin cache dimensions: {sin.shape}.",
            hint="cos and sin of the same positions",
        )
    if len(cos.shape) != 4 or tuple(cos.shape)[:2] != (1, 1) or cos.padded_shape[-1] != wide:
        raise fatal(
            f"Cosine cache dimensions must match input dimensions. Expected (1, 1, {wide}), but got {cos.shape}.",
            hint=f"ttnn.reshape the caches to [1, 1, positions, {wide}]",
        )
    if token is None:
        if cos.shape[-2] < x.shape[-2]:
            raise fatal(
                f"Cosine cache must cover the input sequence length. Input sequence length: {x.shape[-2]}, "
                f"Cos cache sequence length: {cos.shape[-2]}.",
                hint=f"caches of shape [1, 1, at least {x.shape[-2]}, {wide}]",
            )
    else:
        if x.shape[0] != 1:
            raise fatal(
                f"When token index is provided, sequence length must be 1. Current sequence length: {x.shape[0]}.",
                hint="a call for each of them, or no token_index",
            )
        if not 0 <= token < cos.shape[-2]:
            raise fatal(
                f"Cosine cache must cover the token index. Token index: {token}, Cos cache sequence length: {cos.shape[-2]}.",
                hint=f"a token_index of 0 to {cos.shape[-2] - 1}",
            )
    spec = x.memory_config().shard_spec
    if spec is not None and spec.shape[1] != wide:
        raise fatal(
            f"Input tensor shard width ({spec.shape[1]}) must equal padded width ({wide})",
            hint="ttnn.to_memory_config(input_tensor, ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG)",
        )


def check_by_rows(x: Tensor, cos: Tensor, sin: Tensor, memory_config: MemoryConfig | None) -> None:
    """What `rotary_embedding_hf` refuses of a sequence."""
    _check_width(x)
    for word, place in (("Input", x.memory_config()), ("Output", memory_config or x.memory_config())):
        if place.memory_layout is WIDTH_SHARDED:
            raise fatal(
                f"{word} cannot be WIDTH_SHARDED", hint="memory_config=ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG"
            )
    _check_pair(cos, sin)
    if cos.shape[1] != 1:
        raise fatal("Cos must have batch dim = 1 in prefill mode", f"{cos.shape}", hint=_caches(x))
    if cos.shape[0] != 1 or cos.padded_shape[-1] != x.padded_shape[-1]:
        raise fatal("Cos dims must match input dims", f"{cos.shape} for {x.shape}", hint=_caches(x))
    if cos.shape[-2] < x.shape[-2]:
        raise fatal(
            f"Cos seq_len must be >= input seq_len. Input seq_len: {x.shape[-2]}, Cos seq_len: {cos.shape[-2]}.",
            hint=_caches(x),
        )


def check_by_user(x: Tensor, cos: Tensor, sin: Tensor, memory_config: MemoryConfig | None) -> None:
    """What `rotary_embedding_hf` refuses of one token of each user."""
    _check_width(x)
    _check_pair(cos, sin)
    for word, tensor in (("Input", x), ("Cos", cos), ("Sin", sin)):
        memory = tensor.memory_config()
        if not memory.is_sharded():
            raise fatal(f"{word} must be sharded in decode mode", hint=_BY_USER)
        if memory.memory_layout is not HEIGHT_SHARDED:
            raise fatal(f"{word} must be HEIGHT_SHARDED in decode mode", hint=_BY_USER)
    if cos.shape[1] != x.shape[1]:
        raise fatal(
            "Cos batch dim must match input",
            f"{cos.shape[1]} != {x.shape[1]}",
            hint=f"cos and sin of shape [1, {x.shape[1]}, 1, {x.shape[-1]}]",
        )
    asked = memory_config or x.memory_config()
    if asked.memory_layout is WIDTH_SHARDED:
        raise fatal(
            "Output cannot be WIDTH_SHARDED", hint="leave memory_config out: the result lies as its input"
        )
    if asked.buffer_type is BufferType.DRAM:
        raise fatal(
            "Only L1 buffers can have an associated circular buffer!",
            hint="leave memory_config out, and ttnn.sharded_to_interleaved the result",
        )
    _check_rows(x)


def check_pairs(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    turn: Tensor,
    decode: bool,
    memory_config: MemoryConfig | None,
    kernel: object,
) -> None:
    """What `rotary_embedding_llama` refuses."""
    four_dims(x)
    _check_sums(x.shape[-1], kernel)
    if cos.shape != sin.shape:
        raise fatal(
            "Cos and Sin dims must match",
            f"{cos.shape} != {sin.shape}",
            hint="cos and sin of the same positions",
        )
    if cos.shape[0] != 1 or cos.shape[-1] != x.shape[-1]:
        raise fatal(
            f"Cos dims must match input dims: cos.shape = {cos.shape}, head_dim = {x.shape[-1]}",
            hint=f"cos and sin of [1, 1, S, {x.shape[-1]}]",
        )
    if x.padded_shape[-1] > MOST:
        raise fatal(
            f"Head dim must be less than {MOST}",
            f"got {x.shape[-1]}",
            hint=f"heads of {MOST} columns, or ttnn.experimental.rotary_embedding",
        )
    _check_turn(turn, decode)
    if decode:
        _check_decoded(x, cos, sin, turn)
    else:
        _check_prefilled(x, cos)
    if memory_config is not None and memory_config.memory_layout is not x.memory_config().memory_layout:
        raise fatal(
            "Input tensor and output tensor must have same memory layout",
            f"{cpp(x.memory_config().memory_layout)} != {cpp(memory_config.memory_layout)}",
            hint="leave memory_config out, and ttnn.to_memory_config the result",
        )


def _check_turn(turn: Tensor, decode: bool) -> None:
    """The matrix that turns pairs: one tile."""
    if len(turn.shape) != 4 or tuple(turn.shape)[:2] != (1, 1):
        raise fatal(
            "Transformation matrix must have 1st & 2nd dim equal to 1",
            f"got {turn.shape}",
            hint="ttnn.reshape(trans_mat, [1, 1, 32, 32])",
        )
    if turn.shape[3] == TILE_SIZE != turn.shape[2] and not decode:
        raise fatal(
            "Transformation matrix must have 3rd dim equal to TILE_HEIGHT",
            f"got {turn.shape}",
            hint="a matrix of 32 x 32",
        )
    if turn.shape[3] != TILE_SIZE:
        raise fatal(
            "Transformation matrix must have 4th dim equal to TILE_WIDTH",
            f"got {turn.shape}",
            hint="a matrix of 32 x 32",
        )


def _check_decoded(x: Tensor, cos: Tensor, sin: Tensor, turn: Tensor) -> None:
    """One token of each user, everything on cores."""
    if x.shape[0] != 1:
        raise fatal(
            "rotary_embedding_llama currently only supports sharded inputs in decode mode, and therefore, seq_len (in dim 0) must be 1.",
            f"got {x.shape}",
            hint="a call for each token",
        )
    check_on_cores(("Sharded inputs for RoPE", x), ("cos tensor for RoPE", cos))
    check_on_cores(("sin tensor for RoPE", sin), ("transformation matrix for RoPE", turn))
    if cos.shape[1] != x.shape[1]:
        raise fatal(
            "Cos and Sin must have the same batch size as the input",
            f"{cos.shape[1]} != {x.shape[1]}",
            hint=f"cos and sin of shape [1, {x.shape[1]}, 1, {x.shape[-1]}]",
        )
    _check_rows(x)


def _check_prefilled(x: Tensor, cos: Tensor) -> None:
    """Interleaved tokens, of which each has its angle."""
    if x.is_sharded():
        raise fatal(
            "Input tensor must be interleaved in prefill mode",
            hint="ttnn.sharded_to_interleaved(input_tensor)",
        )
    if cos.shape[-2] < x.shape[-2]:
        raise fatal(
            f"cos and sin of {cos.shape[-2]} positions do not cover {x.shape[-2]}",
            hint=f"cos and sin of [1, 1, at least {x.shape[-2]}, {x.shape[-1]}]",
        )
    if cos.shape[1] not in (1, x.shape[1]):
        raise fatal(
            f"Num heads in cos/sin must match input tensor num heads or be 1. Expected {x.shape[1]}, got {cos.shape[1]}",
            hint=f"cos and sin of [1, 1, S, {x.shape[-1]}]",
        )


def _check_sums(depth: int, kernel: object) -> None:
    """Raises RuntimeError for wide heads whose sums a program asks to be kept in 32 bits, for which there is no room."""
    if depth > WIDEST_IN_32 and getattr(kernel, "fp32_dest_acc_en", False) is True:
        raise fatal(
            f"If head_dim is > {WIDEST_IN_32}, fp32_dest_acc_en must be False",
            f"got {depth}",
            hint="compute_kernel_config=ttnn.WormholeComputeKernelConfig(fp32_dest_acc_en=False), or none",
        )


def check_apart(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, turn: Tensor, kernel: object) -> None:
    """What `rotary_embedding_llama_fused_qk` refuses of places."""
    _check_sums(q.shape[-1], kernel)
    check_on_cores(("Q input tensor", q), ("K input tensor", k))
    check_on_cores(("Cos tensor", cos), ("Sin tensor", sin), ("Trans mat tensor", turn))
    if q.shape[-1] != k.shape[-1]:
        raise fatal(
            "Q input tensor and K input tensor must have same head dimensions",
            f"{q.shape[-1]} != {k.shape[-1]}",
            hint="a call of ttnn.experimental.rotary_embedding_llama for each",
        )
    if cos.shape != sin.shape or cos.shape[1] != q.shape[1] + k.shape[1]:
        raise fatal(
            "Cos and Sin are repeated for Q and K, so they must have the same batch size as the sum of Q and K batch sizes",
            f"cos {cos.shape} and sin {sin.shape} for {q.shape[1]} and {k.shape[1]} users",
            hint=f"ttnn.concat of the caches for queries and keys along dimension 1: [1, {2 * q.shape[1]}, {TILE_SIZE}, D]",
        )
    first, second = q.memory_config().shard_spec, k.memory_config().shard_spec
    if first is not None and second is not None and _share(first.grid, second.grid):
        raise fatal(
            "Q and K must not overlap",
            f"Q on {first.grid}, K on {second.grid}",
            hint="ttnn.to_memory_config(k, a configuration on cores that Q has none of)",
        )


def _share(first: CoreRangeSet, second: CoreRangeSet) -> bool:
    return first.num_cores() + second.num_cores() > first.merge(second).num_cores()


def check_on_cores(*named: tuple[str, Tensor]) -> None:
    """Raises RuntimeError for tensors that are not cut by height over cores."""
    for word, tensor in named:
        if tensor.memory_config().memory_layout is not HEIGHT_SHARDED:
            raise fatal(f"{word} must be HEIGHT_SHARDED.", hint=_BY_USER)


def _check_rows(x: Tensor) -> None:
    spec = x.memory_config().shard_spec
    if spec is not None and spec.shape[0] != x.padded_shape[-2]:
        raise fatal(
            f"pieces of {spec.shape[0]} rows are not the {x.padded_shape[-2]} of one user",
            hint=f"pieces of {x.padded_shape[-2]} rows: a core for each user",
        )


def _check_width(x: Tensor, word: str = "dim") -> None:
    wide = x.padded_shape[-1]
    if wide != TILE_SIZE and wide % (2 * TILE_SIZE):
        raise fatal(
            f"Input X {word} ({wide}) must be either {TILE_SIZE} (single tile) or divisible by {2 * TILE_SIZE} "
            "(rotate_half midpoint must align with a tile boundary).",
            hint=f"ttnn.pad the heads to {-(-wide // (2 * TILE_SIZE)) * 2 * TILE_SIZE} columns",
        )


def _check_alike(cos: Tensor, sin: Tensor) -> None:
    if cos.dtype is not sin.dtype:
        raise fatal(
            "Cos and Sin dtypes must match",
            f"{cpp(cos.dtype)} != {cpp(sin.dtype)}",
            hint=f"sin_cache=ttnn.typecast(sin_cache, {cos.dtype})",
        )


def _check_pair(cos: Tensor, sin: Tensor) -> None:
    _check_alike(cos, sin)
    if cos.padded_shape != sin.padded_shape:
        raise fatal(
            "Cos and Sin shapes must match",
            f"{cos.shape} != {sin.shape}",
            hint="cos and sin of the same positions",
        )


def _caches(x: Tensor) -> str:
    return f"cos and sin of shape [1, 1, at least {x.shape[-2]}, {x.shape[-1]}]"
