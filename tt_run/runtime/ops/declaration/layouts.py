"""Which layout operations want of their operands, where the values alone would not need it. Source: refusals of reference library 0.81.1.

A program that runs here has to run on a device too, whose kernels read tiles or rows and not both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mgd.lean import dataclass
from tt_run.runtime.enums import Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration.broadcast import broadcast_shape
from tt_run.runtime.ops.declaration.element_types import unary_result
from tt_run.runtime.tensor.spec.shape import Shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import is_float


@dataclass(frozen=True)
class Wanted:
    """The operands that have to be of one layout, and the sentence for another; `{operand}` and `{name}` stand for their names.

    `sharded`: those that are cut over cores as well. `beside`: only where all of these are tensors, and `floats`: only of floating types.
    """

    operands: tuple[str, ...]
    layout: Layout
    sentence: str
    sharded: bool = True
    beside: tuple[str, ...] = ()
    floats: bool = False


LAYOUTS: dict[str, list[Wanted]] = {}
"""By the names of operations below `ttnn`."""


def _enter(sentence: str, rows: str, layout: Layout = Layout.TILE, sharded: bool = True) -> None:
    """A line for each set of operands: operations, a colon, their operands."""
    for row in filter(None, map(str.strip, rows.splitlines())):
        names, _, operands = row.partition(":")
        for name in names.split():
            LAYOUTS.setdefault(name, []).append(Wanted(tuple(operands.split()), layout, sentence, sharded))


_enter(
    "{name} {operand} only supports TILE layout.",
    """
    moreh_abs_pow moreh_mean moreh_norm moreh_sum: input
    moreh_abs_pow moreh_mean moreh_sum: output
    moreh_adam: grad exp_avg_in exp_avg_sq_in max_exp_avg_sq_in exp_avg_out exp_avg_sq_out max_exp_avg_sq_out
    moreh_adamw: param_in grad exp_avg_in exp_avg_sq_in max_exp_avg_sq_in param_out exp_avg_out exp_avg_sq_out max_exp_avg_sq_out
    moreh_sgd: grad momentum_buffer_in param_out momentum_buffer_out
    moreh_matmul: input other bias
    moreh_group_norm: input gamma beta output mean rstd
    moreh_layer_norm: input gamma beta
    moreh_group_norm_backward: output_grad input mean rstd gamma
    moreh_mean_backward: output_grad input_grad
    moreh_norm_backward: input output output_grad input_grad
    moreh_sum_backward: output_grad input
    experimental.fast_reduce_nc: input
    experimental.deepseek_moe_fast_reduce_nc: input_tensor
    """,
)
_enter(
    "moreh_matmul input only supports TILE layout.",
    """
    moreh_bmm moreh_linear: input
    moreh_bmm_backward: output_grad input
    moreh_matmul_backward: output_grad input_a
    moreh_linear_backward: output_grad
    """,
)
_enter(
    "moreh_matmul other only supports TILE layout.",
    """
    moreh_bmm moreh_bmm_backward: mat2
    moreh_linear: weight
    moreh_matmul_backward: input_b
    moreh_linear_backward: input weight
    """,
)
_enter(
    "moreh_matmul output only supports TILE layout.",
    """
    moreh_bmm moreh_matmul moreh_linear: output
    moreh_bmm_backward: input_grad mat2_grad
    moreh_matmul_backward: input_a_grad input_b_grad
    moreh_linear_backward: input_grad
    """,
)
_enter(
    "{name}_input_grad {operand} only supports TILE layout.",
    "moreh_group_norm_backward moreh_layer_norm_backward: input_grad",
)
_enter(
    "{name}_gamma_beta_grad {operand} only supports TILE layout.",
    "moreh_group_norm_backward moreh_layer_norm_backward: gamma_grad beta_grad",
)
_enter("moreh_clip_grad_norm_step2 total_norm only supports TILE layout.", "moreh_clip_grad_norm: total_norm")
_enter("moreh_matmul bias only supports TILE layout.", "moreh_linear: bias")
_enter("{name} params_in only supports TILE layout.", "moreh_adam moreh_sgd: param_in")
_enter("{name} params_out only supports TILE layout.", "moreh_adam: param_out")
_enter("{name}  {operand} only supports TILE layout.", "moreh_sum_backward: input_grad")
_enter("moreh_abs_pow output only supports TILE layout.", "moreh_norm: output")
_enter("{name} only supports tiled layout. Got: Layout::ROW_MAJOR", "moreh_layer_norm: mean rstd")
_enter(
    "target_tensor to nll_loss must be tilized",
    "moreh_nll_loss_backward: target_tensor output_grad_tensor input_grad_tensor",
)
_enter("weight_tensor to nll_loss must be in tilized", "moreh_nll_loss_backward: weight_tensor")
_enter("divisor_tensor to nll_loss must be tilized", "moreh_nll_loss_backward: divisor_tensor")
_enter(
    "target_tensor to nll_loss_unreduced must be tilized",
    "moreh_nll_loss_unreduced_backward: target_tensor output_grad_tensor input_grad_tensor",
)
_enter(
    "weight_tensor to nll_loss_unreduced must be in tilized",
    "moreh_nll_loss_unreduced_backward: weight_tensor",
)
_enter(
    "Inputs to softmax must be tilized",
    """
    moreh_softmax moreh_softmin moreh_logsoftmax: input_tensor
    transformer.attention_softmax_: tensor attention_mask
    scale_causal_mask_hw_dims_softmax_in_place: input_tensor
    """,
)
_enter(
    "Output to softmax must be tilized",
    """
    moreh_softmax_backward moreh_softmin_backward moreh_logsoftmax_backward: output_tensor
    """,
)
_enter(
    "Output_grad to softmax must be tilized",
    "moreh_softmax_backward moreh_softmin_backward moreh_logsoftmax_backward: output_grad_tensor",
)
_enter(
    "The provided input tensor has a non-tile layout: ROW_MAJOR.",
    """
    moreh_cumsum: input
    moreh_cumsum_backward: output_grad
    """,
)
_enter("{operand} to nll_loss must be tilized", "moreh_nll_loss: input_tensor target_tensor")
# The words ask for rows, the check takes tiles.
_enter("{operand} to nll_loss must be in row major layout", "moreh_nll_loss: weight_tensor")
_enter(
    "moreh_sum output only supports TILE layout.",
    """
    moreh_nll_loss: divisor_tensor
    moreh_linear_backward: weight_grad
    """,
)
_enter("Uniform: Input tensor must be tilized", "uniform: input")
_enter(
    "Input tensor must be must be tilized",
    "batch_norm: input running_mean running_var weight bias",
)
_enter(
    "Ternary operation requires tensor to be in Tile layout when working with non-sharded input tensor. Input tensor layout: 0",
    """
    addcmul addcdiv: input_a
    lerp: input
    snake_beta: input_tensor alpha beta
    acos_bw acosh_bw asin_bw celu_bw elu_bw erfinv_bw hardswish_bw leaky_relu_bw log10_bw log1p_bw log2_bw log_bw: input_tensor
    logit_bw logiteps_bw reciprocal_bw selu_bw softplus_bw: input_tensor
    """,
    sharded=False,
)
_TERNARY = LAYOUTS["lerp"][0].sentence
LAYOUTS["where"] = [
    Wanted(("predicate",), Layout.TILE, _TERNARY, False, beside=("true_value", "false_value"))
]
LAYOUTS["mac"] = [
    Wanted(("input_tensor_a",), Layout.TILE, _TERNARY, False, beside=("input_tensor_b",), floats=True)
]
LAYOUTS["floor_div"] = [Wanted(("input_tensor_a",), Layout.TILE, _TERNARY, False, beside=("input_tensor_b",))]
_WRITTEN = "Optional output tensor with Row Major input is not supported right now for Elementwise operations"
for _name in ("add_bw", "sub_bw"):
    LAYOUTS[_name] = [Wanted(("grad_tensor",), Layout.TILE, _WRITTEN, beside=("other_tensor",))]
_enter(_WRITTEN, "addalpha_bw rsqrt_bw subalpha_bw: grad_tensor")
_enter(
    "Inputs to SDPA must be tilized",
    """
    transformer.scaled_dot_product_attention: input_tensor_q input_tensor_k input_tensor_v
    transformer.chunked_scaled_dot_product_attention: input_tensor_q input_tensor_k input_tensor_v
    transformer.flash_mla_prefill transformer.chunked_flash_mla_prefill: input_tensor_q input_tensor_k
    """,
)
_enter(
    "Inputs to Joint SDPA must be tilized",
    """
    transformer.joint_scaled_dot_product_attention: input_tensor_q input_tensor_k input_tensor_v
    transformer.joint_scaled_dot_product_attention: joint_tensor_q joint_tensor_k joint_tensor_v
    """,
)
_enter(
    "Inputs to ring-distributed SDPA must be tilized",
    "transformer.ring_distributed_scaled_dot_product_attention: input_tensor_q input_tensor_k input_tensor_v",
)
_enter(
    "Inputs to SDPA must be tilized except for Q",
    """
    transformer.scaled_dot_product_attention_decode: input_tensor_k input_tensor_v
    transformer.paged_scaled_dot_product_attention_decode: input_tensor_k input_tensor_v
    transformer.flash_multi_latent_attention_decode: input_tensor_k input_tensor_v
    transformer.paged_flash_multi_latent_attention_decode: input_tensor_k input_tensor_v
    """,
)
_enter(
    "Inputs to matmul must be tilized",
    "experimental.attn_matmul experimental.attn_matmul_from_cache experimental.group_attn_matmul: input_tensor_a input_tensor_b",
)
_enter("Inputs to {name} must be tilized", "sparse_matmul: input_tensor_a input_tensor_b")
_enter(
    "Inputs to update_cache must be tilized",
    """
    fill_cache: cache_tensor input_tensor
    update_cache kv_cache.fill_cache_for_user_ kv_cache.update_cache_for_token_: cache input
    """,
)
_enter(
    "Cache tensor in update_cache must be tilized",
    """
    experimental.paged_update_cache: cache_tensor
    experimental.paged_fused_update_cache: cache_tensor1 cache_tensor2
    """,
)
_enter(
    "Input tensor in non-fused update_cache must be tilized", "experimental.paged_update_cache: input_tensor"
)
_enter(
    "Input tensor layout must be TILE but got Layout::ROW_MAJOR",
    """
    experimental.nlp_concat_heads experimental.nlp_concat_heads_boltz experimental.nlp_concat_heads_decode: input_tensor
    experimental.create_qkv_heads experimental.nlp_create_q_heads_split: input
    experimental.nlp_create_qkv_heads experimental.create_qkv_heads_from_separate_tensors: input input_kv
    experimental.nlp_create_qkv_heads_falcon7b experimental.nlp_create_qkv_heads_segformer: input
    experimental.nlp_create_qkv_heads_vit: input
    experimental.nlp_create_qkv_heads_boltz: input input_kv
    experimental.nlp_create_qkv_heads_decode experimental.nlp_kv_cache_load_slice: input_tensor
    transformer.concatenate_heads: input_tensor
    transformer.split_query_key_value_and_split_heads: input_tensor kv_input_tensor
    """,
)
_enter(
    "only tile layout is supported, Layout::ROW_MAJOR was provided instead",
    "experimental.intimg: input_tensor",
)
_enter(
    "{operand} to rotary embedding must be tilized",
    """
    experimental.rotary_embedding_llama: input_tensor cos_cache sin_cache trans_mat
    experimental.rotary_embedding_hf: input_tensor cos_cache sin_cache
    """,
)
_enter(
    "Input tensor must have TILE layout, got: Layout::ROW_MAJOR",
    """
    layer_norm_post_all_gather rms_norm_post_all_gather: input_tensor stats
    layer_norm_pre_all_gather rms_norm_pre_all_gather: input_tensor
    experimental.dit_layernorm_post_allgather: input_tensor stats
    experimental.wan_fused_rmsnorm_pre_allgather: input_tensor
    """,
)
_enter(
    "{operand} tensor must be TILE layout",
    """
    experimental.deepseek_grouped_gate experimental.deepseek_prefill.moe_grouped_topk: scores bias
    embedding_bw: output_gradient_tensor
    """,
)
_enter(
    "Inputs to {name} must be tilized",
    """
    experimental.hc_sum_reduce: input
    experimental.prefix_scan: a bx
    experimental.repeat_and_interleave_eltwise_mul: a b
    """,
)
_enter(
    "Residual tensor must have TILE layout, got: Layout::ROW_MAJOR",
    "layer_norm layer_norm_pre_all_gather rms_norm rms_norm_pre_all_gather: residual_input_tensor",
)
_enter(
    "Currently, only tile layout is supported for partial I->S",
    "interleaved_to_sharded_partial: input_tensor",
)
_enter("Fold: only support input in ROW_MAJOR", "moreh_fold: input", Layout.ROW_MAJOR)
_enter(
    "{operand} must have ROW_MAJOR layout, got Layout::TILE",
    """
    embedding_bw plus_one: input_tensor
    experimental.paged_update_cache: update_idxs_tensor page_table
    experimental.paged_fused_update_cache: update_idxs_tensor page_table
    grid_sample: grid
    index_fill index_fill_new: input
    moe_routing_remap: routing_weights_tensor
    sparse_matmul: sparsity
    transformer.chunked_scaled_dot_product_attention transformer.chunked_flash_mla_prefill: page_table_tensor
    transformer.paged_flash_multi_latent_attention_decode: page_table_tensor cur_pos_tensor
    transformer.paged_scaled_dot_product_attention_decode: page_table_tensor cur_pos_tensor
    """,
    Layout.ROW_MAJOR,
)
_enter("Input tensor must be in ROW_MAJOR layout", "rotate: input_tensor", Layout.ROW_MAJOR)
_enter(
    "{name}: only ROW_MAJOR layout is supported.",
    """
    experimental.complex_mul: a_real a_imag b_real b_imag
    experimental.fft: input_real input_imag
    experimental.ifft: spectrum_real spectrum_imag
    experimental.transpose_rm: input
    """,
    Layout.ROW_MAJOR,
)


def check_layouts(
    name: str, wanted: Sequence[Wanted], names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raises RuntimeError for an operand of operation `name` in a layout that it does not take; `names` are its parameters."""

    def given(operand: str) -> Any:
        place = names.index(operand) if operand in names else len(args)
        return args[place] if place < len(args) else kwargs.get(operand)

    for rule in wanted:
        for operand in rule.operands:
            tensor = given(operand)
            if not isinstance(tensor, Tensor) or tensor.layout is rule.layout:
                continue
            if (not rule.sharded and tensor.is_sharded()) or (rule.floats and not is_float(tensor.dtype)):
                continue
            if not all(isinstance(given(other), Tensor) for other in rule.beside):
                continue
            raise fatal(
                rule.sentence.format(name=name, operand=operand),
                hint=f"{operand}=ttnn.to_layout({operand}, {cpp(rule.layout).replace('Layout::', 'ttnn.')}_LAYOUT)",
            )


_UNARY_WITH_A_NUMBER = frozenset(
    {
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "bitwise_left_shift",
        "bitwise_right_shift",
        "logical_left_shift",
    }
    | {"maximum", "minimum", "pow", "remainder"}
)
"""Operations of two operands that are another kernel when the second one is a number."""


def check_room(name: str, tensors: Sequence[Tensor], room: Any, by_number: bool) -> None:
    """Raises RuntimeError for operands whose result operation `name`, of two operands, cannot write into a tensor that is there.

    `by_number`: the second operand is a number.
    """
    if by_number and name in _UNARY_WITH_A_NUMBER:
        # What is left of integers is a floating number, which goes over into any type.
        if name != "remainder" or is_float(tensors[0].dtype):
            check_unary_room(tensors[0], room)
        return
    if isinstance(room, Tensor):
        check_room_shape(tensors, room, _BROADCAST)
    if any(tensor.layout is not Layout.ROW_MAJOR for tensor in tensors):
        return
    raise fatal(
        _WRITTEN,
        hint="tensor = ttnn.to_layout(tensor, ttnn.TILE_LAYOUT), or take the result that is returned without output_tensor",
    )


_BROADCAST = "Shape of Output tensor {room} provided does not match the broadcasted output shape {shape}"
_OF_THREE = (
    "When preallocted output tensor is used, Ternary operation requires its shape to match the computed shape. Computed shape: {shape}, "
    "Shape in preallocated output tensor: {room}"
)


def check_room_shape(tensors: Sequence[Tensor], room: Tensor, said: str = _OF_THREE) -> None:
    """Raises RuntimeError for a tensor of another shape than what these make together, which of two may have fewer ones in front."""
    if said is _BROADCAST and len(tensors) == 2:
        shape = broadcast_shape(*(tuple(t.shape) for t in tensors))
    else:
        try:
            shape = np.broadcast_shapes(*(tuple(t.shape) for t in tensors))
        except ValueError:
            shape = None
    if shape is None:
        return  # which is said elsewhere
    made, there = list(shape), list(room.shape)
    if said is _BROADCAST:
        made, there = ([1] * (max(len(made), len(there)) - len(one)) + one for one in (made, there))
    if made != there:
        raise fatal(
            said.format(room=room.shape, shape=Shape(list(shape))),
            hint="ttnn.empty of that shape, or leave output_tensor out",
        )


def check_unary_room(operand: Tensor, room: Any) -> None:
    """Raises RuntimeError for a tensor in another layout, or of a type into which the operand's does not go over."""
    if not isinstance(room, Tensor):
        return
    unary_result(operand.dtype, room.dtype)
    if room.shape != operand.shape:
        raise fatal(
            f"Unary: Preallocated output shape must match computed shape. Computed: {operand.shape}, Preallocated: {room.shape}",
            hint="ttnn.empty_like(tensor), or leave output_tensor out",
        )
    if room.layout is not operand.layout:
        raise fatal(
            f"Unary: Output format (tile/row-major) must match input when preallocated. Output: {room.layout.value}, "
            f"Input: {operand.layout.value}",
            hint=f"make the output tensor with layout={operand.layout}",
        )
