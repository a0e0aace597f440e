"""Where operations want their operands and results to lie, where the values alone would not need it. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mgd.lean import dataclass
from tt_run.runtime.enums import BufferType, Layout, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet, MemoryConfig
from tt_run.runtime.tensor.spec.sharding import of_matrix
from tt_run.runtime.tensor.spec.tensor_spec import padded_shape
from tt_run.runtime.tensor.tensor import Tensor

_CUT = "memory_config=ttnn.create_sharded_memory_config(…)"
_SPREAD = "ttnn.sharded_to_interleaved"


@dataclass(frozen=True)
class Place:
    """What a call's first operand, or `operand`, and the memory configuration that it asks for have to be, and the sentence where they are not.

    `result` is the parameter of the configuration; `…_cut`: whether it is cut over cores, `cuts`: in which ways, `result_cuts`: the same of the result, `banks`: in which memory; `all_rows`: each piece has a whole matrix's rows. `named`: the result, which has this `layout` or
    the operand's, says over which: its layout says the sentence. `alike`: both are cut in the same way; with `if_cut` only what is cut needs a
    result that is. Only operands of layout `of` and, where `whole`, that are not cut are asked. `through_tiles`: rows are turned into tiles first,
    in the pieces that they lie in, which have words of their own; where `beside` only in a call whose second operand is a tensor, too. A result
    that is not cut frees `freed` pieces of it, those of all rows where the higher ones are filled up on the way.
    """

    sentence: str = ""
    result: str = "memory_config"
    operand_cut: bool | None = None
    cuts: tuple[TensorMemoryLayout, ...] | None = None
    result_cuts: tuple[TensorMemoryLayout, ...] | None = None
    operand: str = ""
    banks: BufferType | None = None
    all_rows: bool = False
    result_cut: bool | None = None
    named: bool = False
    alike: bool = False
    if_cut: bool = False
    layout: Layout | None = None
    of: Layout | None = None
    whole: bool = False
    through_tiles: bool = False
    beside: bool = False
    freed: tuple[TensorMemoryLayout, ...] = ()

    @property
    def asks_all(self) -> bool:
        """Whether it may refuse a call whose first operand is not cut and which asks for no place of its result."""
        return self.operand_cut is True or self.banks is not None or bool(self.operand)

    def said(self, tensor: Tensor) -> str:
        """The sentence for this operand."""
        return self.sentence or _NAMELESS[self.layout or tensor.layout]

    def remedy(self, own: MemoryConfig, operand: str) -> str:
        """What to type instead, for an operand of that name which lies so."""
        if self.banks not in (None, own.buffer_type):
            return f"ttnn.to_memory_config({operand}, ttnn.DRAM_MEMORY_CONFIG)"
        if own.is_sharded() and (self.operand_cut is False or self.cuts is not None or self.all_rows):
            return f"{_SPREAD}({operand})"
        return f"leave {self.result} out, or give one that fits: {_CUT}"

    def frees(self, tensor: Tensor, asked: MemoryConfig | None) -> bool:
        """Whether pieces of this operand need be no tiles, since the result is not cut."""
        return (
            asked is not None
            and not asked.is_sharded()
            and tensor.memory_config().memory_layout in self.freed
        )

    def broken(self, tensor: Tensor, asked: MemoryConfig | None) -> bool:
        """Whether a call with this operand and this configuration is refused."""
        own = tensor.memory_config()
        if self.of not in (None, tensor.layout) or (self.whole and own.is_sharded()):
            return False
        if self.operand_cut is not None and own.is_sharded() is not self.operand_cut:
            return True
        if self.cuts is not None and own.is_sharded() and own.memory_layout not in self.cuts:
            return True
        if self.banks not in (None, own.buffer_type):
            return True
        if (
            self.all_rows
            and own.shard_spec is not None
            and own.shard_spec.shape[0] != tensor.padded_shape[-2]
        ):
            return True
        if asked is None:
            return False
        if (
            self.result_cuts is not None
            and asked.is_sharded()
            and asked.memory_layout not in self.result_cuts
        ):
            return True
        if self.result_cut is not None and (own.is_sharded() or not self.if_cut):
            return asked.is_sharded() is not self.result_cut
        if self.named and asked.nameless:
            return True
        if self.alike and own.memory_layout is not asked.memory_layout:
            return not self.if_cut or (own.is_sharded() and asked.is_sharded())
        return (
            self.if_cut
            and not self.alike
            and self.result_cut is None
            and own.is_sharded()
            and not asked.is_sharded()
        )


_NAMELESS = {
    Layout.TILE: "bad optional access",
    Layout.ROW_MAJOR: "MemoryConfig must have Shard Spec specified for sharded memory layout",
}

PLACES: dict[str, list[Place]] = {}
"""By the names of operations below `ttnn`."""


def _enter(names: str, *places: Place) -> None:
    for name in names.split():
        PLACES.setdefault(name, []).extend(places)


_TILES, _ROWS = Layout.TILE, Layout.ROW_MAJOR
_H, _B = TensorMemoryLayout.HEIGHT_SHARDED, TensorMemoryLayout.BLOCK_SHARDED
_W = TensorMemoryLayout.WIDTH_SHARDED
_enter(
    """
    assign clone concat moreh_abs_pow moreh_bmm moreh_cumsum moreh_getitem moreh_group_norm moreh_layer_norm moreh_linear moreh_matmul
    moreh_mean moreh_nll_loss moreh_norm moreh_softmax moreh_sum pad typecast
    """,
    Place(named=True),
)
_enter(
    "experimental.isin",
    Place("Elements tensor is sharded", operand_cut=False),
    Place("Test elements tensor is sharded", operand="test_elements", operand_cut=False),
)
_enter(
    "repeat_interleave scale_mask_softmax softmax sort topk transformer.scaled_dot_product_attention tril triu",
    Place(named=True, layout=_TILES),
)
_enter(
    """
    add addalpha bcast bias_gelu clamped_silu_glu div div_no_nan divide eq experimental.dit_layernorm_pre_allgather experimental.rotary_embedding
    experimental.wan_fused_rmsnorm_post_allgather floor_div ge gt ldexp le logaddexp logaddexp2
    logical_and logical_or logical_right_shift logical_xor lt mul multigammaln multiply ne normalize_hw polyval rsub squared_difference std_hw sub subalpha
    subtract transformer.attention_softmax tril triu var_hw xlogy
    """,
    Place(through_tiles=True),
)
_GRADIENTS = """
abs acos acosh asin asinh atan atan2 atanh bias_gelu celu clamp clip cos cosh deg2rad digamma div_no_nan elu erf erfc erfinv exp2 expm1 hardsigmoid hardswish
hardtanh hypot i0 ldexp leaky_relu lgamma log log10 log1p log2 log_sigmoid logaddexp logaddexp2 logit logiteps max min mul multigammaln pow prod rad2deg rdiv
reciprocal relu6 rpow rsqrt selu silu sin sinh softplus softshrink softsign sqrt square squared_difference tan tanhshrink xlogy
"""
_enter(" ".join(f"{name}_bw" for name in _GRADIENTS.split()), Place(through_tiles=True))
_enter(
    """
    atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor clamp clip fmod gcd hypot isclose l1_loss lcm logical_left_shift
    maximum minimum moreh_bmm moreh_linear moreh_matmul mse_loss nextafter pow remainder
    """,
    Place(through_tiles=True, beside=True),
)
_enter("max mean min scale_mask_softmax softmax", Place(through_tiles=True, freed=(_W,)))
_enter("std sum tilize var", Place(through_tiles=True, freed=(_H, _W, _B)))
_enter("argmax untilize", Place(named=True, layout=_ROWS))
_enter("scatter", Place(named=True, layout=_ROWS, whole=True))
_enter(
    "layer_norm rms_norm",
    Place(named=True, whole=True),
)
_enter(
    "experimental.nlp_concat_heads experimental.nlp_concat_heads_boltz transformer.concatenate_heads",
    Place("bad optional access", result_cut=False, whole=True),
)
_enter(
    "experimental.nlp_concat_heads experimental.nlp_concat_heads_boltz",
    Place("Sharded input requires a sharded output memory config but got {asked}", if_cut=True),
)
_enter("tilize", Place(named=True, layout=_TILES, whole=True))
_enter("move", Place(named=True, of=_ROWS))
_enter("reshard", Place("input must be sharded", operand_cut=True))
_enter("cumsum prod", Place(named=True, of=_TILES))
_enter("std var", Place(named=True, layout=_TILES, of=_ROWS))
_enter("scatter", Place("Sharded tensors are not supported - input_tensor is sharded.", operand_cut=False))
_enter(
    "nonzero",
    Place(
        "non_zero_indices: output_memory_config must be INTERLEAVED; variable-length output cannot be sharded",
        result_cut=False,
    ),
)
_enter(
    "upsample",
    Place("Output memory config is sharded but input memory config is not", result_cut=False, whole=True),
)
_enter(
    "typecast",
    Place(
        "Typecast operation requires Input and Output memory layout to match. Input layout: {own}, Output layout: {asked}",
        alike=True,
    ),
)
_enter(
    "clone",
    Place(
        "Clone: input and output must have the same memory layout when both are sharded",
        alike=True,
        if_cut=True,
    ),
)
_enter(
    "layer_norm rms_norm",
    Place("Sharded inputs require sharded outputs.", if_cut=True),
    Place(
        "Input and output memory layouts must match, got input: {own} vs output: {asked}",
        alike=True,
        if_cut=True,
    ),
)
_enter("move reallocate", Place("Expected output tensor memory config to be sharded", if_cut=True))
_enter(
    "sharded_to_interleaved",
    Place("Output memory config must be Interleaved", result_cut=False, if_cut=True),
)
_enter(
    "transformer.scaled_dot_product_attention",
    *(
        Place("Operands to SDPA need to be DRAM/L1 interleaved", operand=name, operand_cut=False)
        for name in ("input_tensor_q", "input_tensor_k", "input_tensor_v")
    ),
)
_enter(
    "transformer.flash_mla_prefill",
    *(
        Place("Operands to SDPA need to be DRAM/L1 interleaved", operand=name, operand_cut=False)
        for name in ("input_tensor_q", "input_tensor_k")
    ),
)
_enter(
    """
    transformer.attention_softmax transformer.chunked_flash_mla_prefill transformer.chunked_scaled_dot_product_attention
    transformer.flash_mla_prefill transformer.flash_multi_latent_attention_decode transformer.paged_flash_multi_latent_attention_decode
    transformer.ring_distributed_scaled_dot_product_attention
    """,
    Place(named=True, layout=_TILES),
)
_enter(
    "transformer.paged_scaled_dot_product_attention_decode transformer.scaled_dot_product_attention_decode",
    Place(named=True),
)
_enter("experimental.rotate_half", Place("RotateHalf does not currently support sharding", operand_cut=False))
_enter(
    "normalize_hw std_hw var_hw",
    Place("HW bcast in0 supports Height Sharding or Interleaving", cuts=(_H,)),
)

_enter(
    "experimental.nlp_concat_heads experimental.rotary_embedding transformer.concatenate_heads",
    Place("Input tensor memory layout must not be WIDTH_SHARDED but got {own}", cuts=(_H, _B)),
)
_enter(
    "experimental.nlp_concat_heads_decode",
    Place("Input tensor must be sharded", operand_cut=True),
    Place("Input tensor memory layout must be HEIGHT_SHARDED but got {own}", cuts=(_H,)),
    Place("Shard spec shape[0] ({piece}) must match input tensor padded shape[-2] ({rows})", all_rows=True),
)
_enter(
    "experimental.paged_update_cache",
    Place("Expect input_tensor to be sharded", operand="input_tensor", operand_cut=True),
)
_enter(
    "experimental.concatenate_heads experimental.rotary_embedding_llama",
    Place(named=True),
)
_enter(
    "experimental.nlp_create_q_heads_split",
    Place("Q head split requires interleaved input", operand_cut=False),
    Place("Output memory config layout must be INTERLEAVED but got {asked}", result_cut=False),
)
_enter(
    "experimental.dropout experimental.fast_reduce_nc experimental.hc_sum_reduce layer_norm_post_all_gather layer_norm_pre_all_gather rms_norm_post_all_gather "
    "rms_norm_pre_all_gather",
    Place(named=True),
)
_enter(
    "experimental.wan_fused_rmsnorm_pre_allgather",
    Place("Input tensor must use INTERLEAVED memory layout, got: {own}", operand_cut=False),
)
_enter(
    "experimental.rotary_embedding",
    Place("Output memory config layout must not be WIDTH_SHARDED but got {asked}", result_cuts=(_H, _B)),
)
_enter("experimental.rotate_half", Place("bad optional access", result_cut=False))
_enter(
    "experimental.attn_matmul experimental.attn_matmul_from_cache experimental.minimal_matmul",
    Place(named=True),
)
_enter(
    "experimental.matmul_decode",
    *(
        Place(
            f"Input tensor {word} must be in width sharded memory layout, but got {{own}}",
            operand=f"input_tensor_{word.lower()}",
            operand_cut=True,
            cuts=(TensorMemoryLayout.WIDTH_SHARDED,),
        )
        for word in "AB"
    ),
)


def _check_through_tiles(tensor: Tensor) -> None:
    """Raises RuntimeError for rows on cores whose pieces, or whose padding, do not come out in tiles."""
    memory = tensor.memory_config()
    if tensor.layout is Layout.TILE or not memory.is_sharded() or tensor.device() is None:
        return
    padded = padded_shape(tuple(tensor.shape), Layout.TILE, tensor.tile).dims
    sharding.settled(memory, padded, Layout.TILE, tensor.tile.edges)


_IN_PAGES = TensorMemoryLayout.INTERLEAVED


def at_rest(args: Sequence[Any]) -> bool:
    """Whether the first operand is not cut and no place is asked for: most calls are so, and few places ask anything of them."""
    first = args[0] if args else None
    if first.__class__ is list and first:
        first = first[0]
    if not isinstance(first, Tensor) or first.spec.memory_config.memory_layout is not _IN_PAGES:
        return False
    for value in args:  # noqa: SIM110 - a generator takes three times as long
        if value.__class__ is MemoryConfig:
            return False
    return True


def check_places(
    places: Sequence[Place], names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raises RuntimeError for a place that an operation does not take; `names` are its parameters."""

    def given(name: str) -> Any:
        at = names.index(name) if name in names else len(args)
        return args[at] if at < len(args) else kwargs.get(name)

    for place in places:
        operand = place.operand or names[0]
        tensor, asked = given(operand), given(place.result)
        if isinstance(tensor, (list, tuple)) and tensor:
            tensor = tensor[0]
        if not isinstance(tensor, Tensor) or tensor.device() is None:
            continue
        asked = asked if isinstance(asked, MemoryConfig) else None
        if place.through_tiles:
            if not place.frees(tensor, asked) and (not place.beside or isinstance(given(names[1]), Tensor)):
                _check_through_tiles(tensor)
            continue
        if not place.broken(tensor, asked):
            continue
        own = tensor.memory_config()
        *_, rows, _ = (1, 1, *tensor.padded_shape)
        wanted = (asked or own).memory_layout
        raise fatal(
            place.said(tensor).format(
                own=cpp(own.memory_layout),
                asked=cpp(wanted),
                banks=cpp(own.buffer_type),
                piece=own.shard_spec and own.shard_spec.shape[0],
                rows=rows,
            ),
            hint=place.remedy(own, operand),
        )


def like_operand(tensor: Tensor, memory_config: MemoryConfig | None) -> MemoryConfig | None:
    """A configuration without cores has those and the pieces of its operand, whatever the cut is called; any other is itself.

    None for pieces of any rank that are those of a matrix is that matrix's cut. So it is for results of the operand's shape that are
    computed element by element.
    """
    held = tensor.memory_config()
    spec = held.shard_spec
    if spec is None or tensor.device() is None:
        return memory_config
    if memory_config is None and held.created_with_nd_shard_spec:
        return of_matrix(held)
    if memory_config is None or not memory_config.nameless:
        return memory_config
    return MemoryConfig(memory_config.memory_layout, memory_config.buffer_type, spec)


def check_filled(tensor: Tensor, shape: Sequence[int] | None = None, *, high: bool = True) -> None:
    """Raises RuntimeError for several matrices on cores, where an operation fills the padding of their tiles first; `high`: that of rows too.

    `shape` is the tensor's own unless it is turned before.
    """
    if not tensor.is_sharded() or tensor.memory_config().buffer_type is not BufferType.L1:
        return
    edges, dims = tensor.tile.edges, tensor.shape.dims if shape is None else shape
    *batch, rows, wide = (1, 1, *dims)
    if tensor.layout is not Layout.TILE or not ((high and rows % edges[0]) or wide % edges[1]):
        return
    if math.prod(batch) > 1:
        raise fatal(
            f"FillPadL1ShardedProgramFactory: N_slices > 1 not yet supported (got {math.prod(batch)})",
            "N_slices == 1",
            hint=f"{_SPREAD}(tensor) before",
        )


def check_cores(sub_core_grids: CoreRangeSet | None, sub_device_id: object) -> None:
    """An operation is told the cores it may use in one way."""
    if sub_core_grids is not None and sub_device_id is not None:
        raise fatal("Cannot specify both sub_core_grids and sub_device_id", hint="leave one of them out")
