"""What decoding refuses, in the order and the words of reference library 0.81.1: the first fault of a call is told."""

from __future__ import annotations

from typing import Any

from mgd.lean import dataclass
from tt_run.runtime.cores import core_of
from tt_run.runtime.enums import HEIGHT_SHARDED, BufferType, DataType, Layout, cpp
from tt_run.runtime.ops.attention.operand_shapes import Wrong, beyond_device, refuse, without_four_dims
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

_LARGEST = 512
"""The longest chunk of keys that a device chooses by itself."""


@dataclass(frozen=True)
class Step:
    """A call of decoding; `width`: of values that are the first columns of the keys, `heads`: of keys as the call sees them."""

    q: Tensor
    k: Tensor
    v: Tensor
    heads: int
    program: Any = None
    mask: Tensor | None = None
    sink: Tensor | None = None
    pages: Tensor | None = None
    at: Tensor | tuple[int, ...] | None = None
    is_causal: bool = True
    output: MemoryConfig | None = None
    latent: bool = False
    width: int | None = None
    share_cache: bool = False
    candidates: int = 1
    reshaped: bool = False

    @property
    def chunk(self) -> int:
        """How many keys are read at a time; 0 where the kernel chooses it."""
        given: int = getattr(self.program, "k_chunk_size", 0) or 0
        if given or self.pages is not None:
            return given
        rows = self.k.shape[2]
        return min(_LARGEST, max(2, rows & -rows))


def check_step(step: Step) -> None:
    """Raises RuntimeError for queries, caches, positions and programs that decoding does not take."""
    refuse(
        _chunk(step), without_four_dims(step.q, step.k, step.v), _places(step), _mask(step),
        _paged(step) if step.pages is not None else _plain(step), _heads(step), _sink(step), _rows(step), _positions(step), _cores(step),
    )  # fmt: skip


def _chunk(step: Step) -> Wrong:
    given, size = getattr(step.program, "k_chunk_size", 0) or 0, step.chunk
    if given & (given - 1):
        yield f"User provided k_chunk_size must be power of 2, got: {given}", "k_chunk_size=32, 64, 128, …"
    if given % TILE_SIZE:
        yield f"User provided k_chunk_size must be multiple of {TILE_SIZE}, got: {given}", "k_chunk_size=32"
    if not given and size % TILE_SIZE:
        yield (
            f"Chunk size must be multiple of {TILE_SIZE}, but the maximum calculated k_chunk_size is: {size}",
            f"a cache of {-(-step.k.shape[2] // TILE_SIZE) * TILE_SIZE} positions",
        )
    if step.latent and not step.is_causal:
        yield (
            "Multi-latent attention decode only tested for causal!",
            "is_causal=True, and cur_pos of the last position",
        )
    if (
        step.latent
        and step.width is not None
        and step.v is not step.k
        and step.v.padded_shape[-1] != step.width
    ):
        yield (
            f"Head dimension of the V tensor must be equal to head_dim_v parameter value, got {step.v.padded_shape[-1]} and {step.width}",
            f"head_dim_v={step.v.padded_shape[-1]}",
        )


def _places(step: Step) -> Wrong:
    """Queries lie in rows on cores or in DRAM, caches in DRAM."""
    q, k = step.q, step.k
    if step.latent:
        mine, theirs = q.padded_shape[3], k.padded_shape[3]
        if mine != theirs:
            yield (
                f"Head dimension of Q must be equal to head dim of K, got {mine} and {theirs}",
                f"queries of {theirs} columns",
            )
        if step.width is not None and step.width > mine:
            yield (
                f"Head dimension of V must be less than or equal to head dim of Q, got {step.width} and {mine}",
                f"head_dim_v={mine} or less",
            )
    own = q.memory_config()
    if q.is_sharded() and own.memory_layout is not HEIGHT_SHARDED:
        yield (
            f"Q tensor memory layout must be HEIGHT_SHARDED when sharded but got {cpp(own.memory_layout)}",
            "ttnn.sharded_to_interleaved(q, ttnn.DRAM_MEMORY_CONFIG)",
        )
    if q.layout is Layout.ROW_MAJOR and not q.is_sharded():
        yield (
            "ROW_MAJOR Q is only supported when Q is HEIGHT_SHARDED in L1; interleaved ROW_MAJOR Q is not supported. "
            "Convert Q to TILE layout or shard it.",
            "ttnn.to_layout(q, ttnn.TILE_LAYOUT)",
        )
    if not q.is_sharded() and own.buffer_type is not BufferType.DRAM:
        yield (
            f"Q tensor buffer type must be DRAM when not sharded but got {cpp(own.buffer_type)}",
            "ttnn.to_memory_config(q, ttnn.DRAM_MEMORY_CONFIG)",
        )
    for number, held in enumerate((k, step.v), 1):
        if held.memory_config().buffer_type is not BufferType.DRAM:
            yield (
                f"Input tensor {number} buffer type must be DRAM but got {cpp(held.memory_config().buffer_type)}",
                "ttnn.to_memory_config(cache, ttnn.DRAM_MEMORY_CONFIG)",
            )
    output = step.output
    if output is not None and output.is_sharded() and output.memory_layout is not HEIGHT_SHARDED:
        yield (
            f"Output memory config layout must be HEIGHT_SHARDED when sharded but got {cpp(output.memory_layout)}",
            "memory_config=ttnn.DRAM_MEMORY_CONFIG",
        )


def _mask(step: Step) -> Wrong:
    """A mask [1, B, H, S] goes with queries [1, B, H, D] and a cache of S positions."""
    mask, q, k = step.mask, step.q, step.k
    if mask is None:
        return
    if step.is_causal:
        yield (
            "attn_mask must not be provided when is_causal=True. Pass is_causal=False to use an explicit mask.",
            "is_causal=False",
        )
    rows, wanted = mask.padded_shape[min(2, len(mask.shape) - 1)], q.padded_shape[2]
    if len(mask.shape) != 4 or rows != wanted:
        yield (
            f"Expect same number of padded heads in mask as in Q, got {rows} and {wanted}",
            "attn_mask of shape [1, B, H, S] in ttnn.TILE_LAYOUT",
        )
    if mask.shape[-2] != q.shape[2]:
        yield (
            f"Expect same number of heads in mask as in Q, got {mask.shape[-2]} and {q.shape[2]}",
            f"a mask of {q.shape[2]} rows: one per head",
        )
    long = mask.padded_shape[-1]
    if step.pages is None and long != k.padded_shape[2]:
        yield (
            f"Expect same sequence length in mask as in K, got {long} and {k.padded_shape[2]}",
            f"a mask of {k.shape[2]} columns: the whole cache",
        )
    if step.pages is not None and getattr(step.program, "k_chunk_size", None) == 0:
        yield "Must provide k_chunk_size if using attention mask!", "SDPAProgramConfig(k_chunk_size=32, …)"
    if step.chunk and long % step.chunk:
        yield (
            f"Mask sequence length must be multiple of chunk size, got: {long} and {step.chunk}",
            f"k_chunk_size={long & -long}",
        )
    if step.pages is not None and mask.shape[-1] < step.pages.shape[-1] * k.shape[2]:
        yield (
            f"a mask of {mask.shape[-1]} columns for the {step.pages.shape[-1] * k.shape[2]} positions of the page table",
            f"ttnn.pad the mask to {step.pages.shape[-1] * k.shape[2]} columns",
        )


def _paged(step: Step) -> Wrong:
    q, k, v, pages = step.q, step.k, step.v, step.pages
    assert pages is not None
    users = q.shape[1] if pages.is_sharded() else pages.shape[0]
    if step.is_causal:
        if not isinstance(step.at, Tensor):
            yield (
                "Must have cur_pos tensor for paged attention in causal mode",
                f"cur_pos_tensor=… of {q.shape[1]} positions, or is_causal=False",
            )
            return
        rows = users * step.candidates
        if not step.at.is_sharded() and step.at.shape[-1] != rows:
            yield (
                f"cur_pos must have batch size equal to Q, got {step.at.shape[-1]} and {rows}",
                f"a position for each of {rows} rows of the page table",
            )
    if q.shape[0] != 1:
        yield (
            f"Q tensor batch size must be 1 for decode mode but got {q.shape[0]}",
            "queries of shape [1, users, heads, width]",
        )
    if users != q.shape[1]:
        yield (
            f"Page table batch size must match that of Q. Got Page table: {users}, Q: {q.shape[1]}",
            "a row of the page table for each user",
        )
    if k.shape[2] != v.shape[2]:
        yield (
            f"K and V must have same block size. Got K: {k.shape[2]}, V: {v.shape[2]}",
            "one block size for keys and values",
        )
    if (
        not step.latent
        and not step.reshaped
        and not k.padded_shape[3] == v.padded_shape[3] == q.padded_shape[3]
    ):
        yield (
            f"Q, K, V must have same hidden size. Got Q: {q.shape[3]}, K: {k.shape[3]}, V: {v.shape[3]}",
            f"caches of {q.shape[3]} columns",
        )


def _plain(step: Step) -> Wrong:
    q, k, v = step.q, step.k, step.v
    for word, held in (("K", k), ("V", v)):
        if step.share_cache and held.shape[0] != 1:
            yield (
                f"Share cache expects {word} to have batch size of 1, but got {held.shape[0]}",
                "share_cache=False",
            )
        if not step.share_cache and held.shape[0] != q.shape[1]:
            yield (
                f"{word} tensor batch size ({held.shape[0]}) must equal B ({q.shape[1]})",
                "a cache for each user, or share_cache=True and one for all",
            )
    if q.shape[0] != 1:
        yield (
            f"Q tensor batch size must be 1 for decode mode but got {q.shape[0]}",
            "queries of shape [1, users, heads, width]",
        )
    long, size = k.padded_shape[2], step.chunk
    if long != v.padded_shape[2]:
        yield (
            f"K and V tensors must have the same sequence length. K: {long}, V: {v.padded_shape[2]}",
            "a value for each key",
        )
    if long % size:
        yield (
            f"K sequence length must be multiple of chunk size, got: {long} and {size}",
            f"k_chunk_size={long & -long}, or 0 for one that fits",
        )
    for word, held in (("K", k),) if step.latent else (("K", k), ("V", v)):
        mine, theirs = q.padded_shape[3], held.padded_shape[3]
        if theirs != mine:
            yield (
                f"{word} tensor hidden dimension ({theirs}) must equal Q tensor hidden dimension ({mine})",
                f"a cache of {q.shape[3]} columns",
            )
    if isinstance(step.at, tuple) and any(position >= long for position in step.at):
        yield (
            f"cur_pos must be <= K sequence dim, got {max(step.at)} for {long} keys",
            f"positions below {long}: a later token needs a longer cache",
        )


def _heads(step: Step) -> Wrong:
    q, k, v = step.q, step.k, step.v
    if k.shape[1] != v.shape[1]:
        yield (
            f"Flash decode expects K and V to have same number of heads, but got {k.shape[1]} and {v.shape[1]}",
            "as many heads of values as of keys",
        )
    if step.heads < 2:
        return
    if step.output is not None and step.output.is_sharded():
        yield "Sharded output not supported for GQA", "memory_config=ttnn.DRAM_MEMORY_CONFIG"
    if q.dtype in (DataType.BFLOAT8_B, DataType.BFLOAT4_B):
        yield (
            f"GQA expects BFLOAT16 input tensor, but got {cpp(q.dtype)}",
            "ttnn.typecast(q, ttnn.bfloat16)",
        )
    if q.shape[2] % step.heads:
        yield (
            f"GQA expects Q to have a multiple of K heads, but got {q.shape[2]} and {step.heads}",
            "a number of key heads that divides the query heads",
        )


def _sink(step: Step) -> Wrong:
    sink, heads = step.sink, step.q.shape[2]
    if sink is None:
        return
    right = f"a sink of shape [{heads}, {TILE_SIZE}], whose first column counts"
    if len(sink.shape) != 2:
        yield f"Attention sink must have 2 dimensions, got {sink.shape}", right
    if sink.layout is not Layout.TILE:
        yield (
            f"Attention sink must be in TILE layout, but got {cpp(sink.layout)}",
            "ttnn.to_layout(attention_sink, ttnn.TILE_LAYOUT)",
        )
    rows, wide = sink.padded_shape
    if rows != step.q.padded_shape[2] and step.q.layout is Layout.TILE:
        yield f"Attention sink must have the same padded num heads as Q but got {rows}", right
    if wide != TILE_SIZE:
        yield f"Attention sink must be a single tile wide, but got {wide}", right
    if sink.memory_config().buffer_type is not BufferType.DRAM:
        yield (
            f"Attention sink must be in DRAM memory, but got {cpp(sink.memory_config().buffer_type)}",
            "ttnn.to_memory_config(attention_sink, ttnn.DRAM_MEMORY_CONFIG)",
        )


def _rows(step: Step) -> Wrong:
    """Queries in rows give rows, on the cores that hold them."""
    if step.q.layout is Layout.ROW_MAJOR and (step.output is None or not step.output.is_sharded()):
        yield (
            "ROW_MAJOR Q produces a ROW_MAJOR output, which requires a HEIGHT_SHARDED output memory config; got "
            "TensorMemoryLayout::INTERLEAVED",
            "memory_config=q.memory_config()",
        )


def _positions(step: Step) -> Wrong:
    """A position for each user, where a call needs them."""
    users, at = step.q.shape[1], step.at
    if step.is_causal and at is None:
        yield (
            "causal decoding needs the users' positions",
            f"cur_pos=[…] of {users} positions, cur_pos_tensor=…, or is_causal=False",
        )
    if isinstance(at, tuple) and len(at) < users and step.is_causal:
        yield f"{len(at)} positions for {users} users", f"cur_pos=[…] of {users} positions"
    if not isinstance(at, Tensor) or step.pages is not None:
        return
    dims = at.padded_shape.dims
    if at.layout is not Layout.ROW_MAJOR or any(length != 1 for length in dims[:-1]):
        yield (
            f"cur_pos tensor must hold all positions in its last dim (e.g. [B] or [1, B]), got shape {at.padded_shape}",
            f"cur_pos_tensor of shape [{users}] in ttnn.ROW_MAJOR_LAYOUT",
        )
    if dims[-1] < users:
        yield (
            f"cur_pos tensor must have at least one position per batch ({users}), got shape {at.padded_shape}",
            f"cur_pos_tensor of shape [{users}]",
        )


def _cores(step: Step) -> Wrong:
    grid, device = getattr(step.program, "compute_with_storage_grid_size", None), step.q.device()
    if grid is None or device is None:
        return
    asked, most = core_of(grid), device.compute_with_storage_grid_size()
    cores, there, users = asked.x * asked.y, most.x * most.y, step.q.shape[1]
    right = "compute_with_storage_grid_size=device.compute_with_storage_grid_size()"
    chosen = step.program.sub_core_grids
    if chosen is not None:
        if chosen.num_cores() != cores:
            yield (
                f"sub_core_grids cores ({chosen.num_cores()}) must match compute_with_storage_grid_size ({cores})",
                f"a compute_with_storage_grid_size of {chosen.num_cores()} cores, or leave sub_core_grids out",
            )
        if not step.q.is_sharded() and not (step.output is not None and step.output.is_sharded()):
            yield "Subcoregrids require sharded Q or output", "leave sub_core_grids out"
    if cores > there:
        yield f"Cores available ({cores}) exceeds grid size ({there})", right
    if cores < users:
        yield f"Cores available ({cores}) must be >= batch size ({users})", right
    yield from beyond_device(asked, most)
