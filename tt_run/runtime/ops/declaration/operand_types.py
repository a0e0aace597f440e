"""Which element types operations take in an operand, where the values alone would not need it. Source: refusals of reference library 0.81.1.

What stands here names all types that a kernel takes, so everything else is refused. Elementwise operations have rules of their own in
`element_types`, since there two operands decide together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mgd.lean import dataclass
from tt_run.runtime.enums import DataType, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.tensor import Tensor


@dataclass(frozen=True)
class Taken:
    """The operands that have to be of one of a few element types, and the sentence for another.

    `{operand}`, `{name}` and `{given}` stand for the operand, the operation and the type it was given. Operands that lie in pieces may have to
    be of another type.
    """

    operands: tuple[str, ...]
    types: frozenset[DataType]
    sentence: str
    in_pieces: frozenset[DataType] | None = None

    def for_(self, tensor: Tensor) -> frozenset[DataType]:
        """The types for an operand that lies as this one."""
        return self.types if self.in_pieces is None or not tensor.is_sharded() else self.in_pieces


TYPES: dict[str, list[Taken]] = {}
"""By the names of operations below `ttnn`."""

_BF16, _F32, _BFP8, _BFP4 = DataType.BFLOAT16, DataType.FLOAT32, DataType.BFLOAT8_B, DataType.BFLOAT4_B
_I32, _U32, _U16 = DataType.INT32, DataType.UINT32, DataType.UINT16
_U8 = DataType.UINT8


def _enter(
    sentence: str, types: tuple[DataType, ...], rows: str, in_pieces: tuple[DataType, ...] | None = None
) -> None:
    """A line for each set of operands: operations, a colon, their operands."""
    others = None if in_pieces is None else frozenset(in_pieces)
    for row in filter(None, map(str.strip, rows.splitlines())):
        names, _, operands = row.partition(":")
        for name in names.split():
            TYPES.setdefault(name, []).append(
                Taken(tuple(operands.split()), frozenset(types), sentence, others)
            )


_enter(
    "{name} params_in only supports specific data types. [BFLOAT16]",
    (_BF16,),
    "moreh_adam moreh_sgd: param_in",
)
_enter(
    "{name} {operand} only supports specific data types. [BFLOAT16]",
    (_BF16,),
    """
    moreh_adam: grad exp_avg_in exp_avg_sq_in max_exp_avg_sq_in exp_avg_out exp_avg_sq_out max_exp_avg_sq_out
    moreh_sgd: grad momentum_buffer_in param_out momentum_buffer_out
    moreh_matmul: input other bias
    moreh_group_norm: input gamma beta output mean rstd
    moreh_mean: input output
    moreh_mean_backward: output_grad input_grad
    moreh_norm_backward: input output output_grad input_grad
    moreh_sum_backward: output_grad input
    """,
)
_enter(
    "moreh_clip_grad_norm_step1 input only supports specific data types. [BFLOAT16]",
    (_BF16,),
    "moreh_clip_grad_norm: inputs",
)
_enter(
    "moreh_clip_grad_norm_step2 total_norm only supports specific data types. [BFLOAT16]",
    (_BF16,),
    "moreh_clip_grad_norm: total_norm",
)
_enter(
    "moreh_sum output only supports specific data types. [BFLOAT16, INT32]",
    (_BF16, _I32),
    "moreh_nll_loss: divisor_tensor",
)
_enter(
    "{name}_gamma_beta_grad {operand} only supports specific data types. [BFLOAT16]",
    (_BF16,),
    "moreh_group_norm_backward: gamma_grad beta_grad",
)
_OF_PRODUCT = "moreh_matmul {} only supports specific data types. [BFLOAT16]"
_enter(
    _OF_PRODUCT.format("input"),
    (_BF16,),
    """
    moreh_bmm moreh_linear: input
    moreh_bmm_backward: output_grad input
    moreh_matmul_backward: output_grad input_a
    moreh_linear_backward: output_grad
    """,
)
_enter(
    _OF_PRODUCT.format("other"),
    (_BF16,),
    """
    moreh_bmm moreh_bmm_backward: mat2
    moreh_linear: weight
    moreh_matmul_backward: input_b
    moreh_linear_backward: input weight
    """,
)
_enter(_OF_PRODUCT.format("bias"), (_BF16,), "moreh_linear: bias")
_enter(
    "{name}_input_grad {operand} only supports specific data types. [BFLOAT16]",
    (_BF16,),
    """
    moreh_group_norm_backward: output_grad input mean rstd gamma input_grad
    moreh_layer_norm_backward: output_grad input mean rstd gamma input_grad gamma_grad beta_grad
    """,
)
_enter(
    _OF_PRODUCT.format("output"),
    (_BF16,),
    """
    moreh_bmm moreh_matmul moreh_linear: output
    moreh_bmm_backward: input_grad mat2_grad
    moreh_matmul_backward: input_a_grad input_b_grad
    moreh_linear_backward: input_grad
    """,
)
_enter("{name} params_out only supports specific data types. [BFLOAT16]", (_BF16,), "moreh_adam: param_out")
_enter(
    "{name}  {operand} only supports specific data types. [BFLOAT16]",
    (_BF16,),
    "moreh_sum_backward: input_grad",
)
_enter(
    "Invalid {operand} dtype {given}",
    (_BF16,),
    """
    moreh_nll_loss_backward: output_grad_tensor weight_tensor input_grad_tensor divisor_tensor
    moreh_nll_loss_unreduced_backward: output_grad_tensor weight_tensor input_grad_tensor
    """,
)
_enter(
    "Invalid {operand} dtype {given}",
    (_I32,),
    "moreh_nll_loss_backward moreh_nll_loss_unreduced_backward: target_tensor",
)
_enter(
    "{name} {operand} only supports specific data types. [BFLOAT16, BFLOAT8_B]",
    (_BF16, _BFP8),
    """
    moreh_adamw: param_in grad exp_avg_in exp_avg_sq_in max_exp_avg_sq_in param_out exp_avg_out exp_avg_sq_out max_exp_avg_sq_out
    """,
)
_enter(
    "{name} {operand} only supports specific data types. [BFLOAT16, INT32]",
    (_BF16, _I32),
    """
    moreh_abs_pow moreh_sum: input output
    """,
)
_enter(
    "moreh_abs_pow {operand} only supports specific data types. [BFLOAT16, INT32]",
    (_BF16, _I32),
    "moreh_norm: input output",
)
_enter(
    "moreh_sum output only supports specific data types. [BFLOAT16, INT32]",
    (_BF16, _I32),
    """
    moreh_linear_backward: weight_grad
    moreh_nll_loss: divisor_tensor
    """,
)
_enter(
    "{name} only supports bfloat16. Got: {given}", (_BF16,), "moreh_layer_norm: input gamma beta mean rstd"
)
_enter(
    "Unsupported data format",
    (_BF16, _BFP8),
    """
    moreh_dot: input_tensor_a
    moreh_dot_backward: input
    """,
)
_enter(
    "Inputs must be of bfloat16, bfloat8_b or float32 type. Received: {given}",
    (_BF16, _BFP8, _F32),
    "moreh_softmax moreh_softmin moreh_logsoftmax: input_tensor",
)
_BACK = "moreh_softmax_backward moreh_softmin_backward moreh_logsoftmax_backward: "
_enter("Output_tensor dtype should be bfloat16 or bfloat8_b", (_BF16, _BFP8), _BACK + "output_tensor")
_enter(
    "Output_tensor_grad dtype should be bfloat16 or bfloat8_b", (_BF16, _BFP8), _BACK + "output_grad_tensor"
)
_enter("{operand} type must be bfloat16", (_BF16,), "moreh_nll_loss: input_tensor")
_enter("weight tensor dtype must be bfloat16", (_BF16,), "moreh_nll_loss: weight_tensor")
_enter("target tensor type must be int32", (_I32,), "moreh_nll_loss: target_tensor")
_enter("Input tensor must be of type INT32 or BFLOAT16!", (_BF16, _I32), "moreh_getitem: input")
_enter("Index tensor must be of type INT32!", (_I32,), "moreh_getitem: index_tensors")
_enter(
    "Data type of input tensor must be BFLOAT16, BFLOAT8_B, or BFLOAT4_B and is {given}",
    (_BF16, _BFP8, _BFP4),
    """
    transformer.scaled_dot_product_attention: input_tensor_q input_tensor_k input_tensor_v
    transformer.chunked_scaled_dot_product_attention: input_tensor_q input_tensor_k input_tensor_v
    transformer.flash_mla_prefill transformer.chunked_flash_mla_prefill: input_tensor_q input_tensor_k
    """,
)
_enter(
    "Unsupported data type {given}.",
    (_BF16, _BFP8, _BFP4),
    """
    transformer.scaled_dot_product_attention_decode: input_tensor_q input_tensor_k input_tensor_v
    transformer.paged_scaled_dot_product_attention_decode: input_tensor_q input_tensor_k input_tensor_v
    transformer.flash_multi_latent_attention_decode: input_tensor_q input_tensor_k input_tensor_v
    transformer.paged_flash_multi_latent_attention_decode: input_tensor_q input_tensor_k input_tensor_v
    """,
)
_enter(
    "Inputs to Joint SDPA must be BF16 or BF8",
    (_BF16, _BFP8, _BFP4),
    """
    transformer.joint_scaled_dot_product_attention: input_tensor_q input_tensor_k input_tensor_v
    transformer.joint_scaled_dot_product_attention: joint_tensor_q joint_tensor_k joint_tensor_v
    """,
)
_enter(
    "Inputs to ring-distributed SDPA must be BF16, BF8, or BF4",
    (_BF16, _BFP8, _BFP4),
    "transformer.ring_distributed_scaled_dot_product_attention: input_tensor_q input_tensor_k input_tensor_v",
)
_enter(
    "Attention sink must be in BF16, BFP8, or BFP4 dataformat",
    (_BF16, _BFP8, _BFP4),
    "transformer.chunked_scaled_dot_product_attention transformer.scaled_dot_product_attention: attention_sink",
)
_enter(
    "Expect page_table_tensor to have datatype INT32, got {given}",
    (_I32,),
    "experimental.paged_fill_cache: page_table",
)
_enter(
    "Batch idx tensor must be an integer type",
    (_U32, _I32),
    "experimental.paged_fill_cache: batch_idx_tensor",
)
_enter(
    "valid_seq_len tensor must be an integer type",
    (_U32, _I32),
    "experimental.paged_fill_cache: valid_seq_len_tensor",
)
_enter(
    "Expect page table to have datatype INT32, got {given}",
    (_I32,),
    "experimental.paged_update_cache: page_table",
    in_pieces=(_U16,),
)
_enter(
    "Page table must be int32, got {given}",
    (_I32,),
    "transformer.chunked_scaled_dot_product_attention transformer.chunked_flash_mla_prefill: page_table_tensor",
)
_enter(
    "Expect cur_pos to be INT32, got {given}",
    (_I32,),
    "transformer.paged_flash_multi_latent_attention_decode transformer.paged_scaled_dot_product_attention_decode: cur_pos_tensor",
)
_enter(
    "Attention sink must by a BF16 tensor, but got {given}",
    (_BF16,),
    """
    transformer.scaled_dot_product_attention_decode transformer.paged_scaled_dot_product_attention_decode: attention_sink
    transformer.flash_multi_latent_attention_decode transformer.paged_flash_multi_latent_attention_decode: attention_sink
    """,
)
_enter(
    "Error: SDPA currently only supports INT32 datatype, or UINT16 in shards, got {given}",
    (_I32,),
    "transformer.paged_flash_multi_latent_attention_decode transformer.paged_scaled_dot_product_attention_decode: page_table_tensor",
    in_pieces=(_U16,),
)
_enter(
    "{operand} dtype must be FLOAT32, BFLOAT16, or BFLOAT8_B but got {given}",
    (_F32, _BF16, _BFP8),
    """
    fill_cache: cache_tensor input_tensor
    update_cache kv_cache.fill_cache_for_user_ kv_cache.update_cache_for_token_: cache input
    """,
)
_enter(
    "Data type of cache tensor for paged_fill_cache must be FLOAT32, BFLOAT16, BFLOAT8_B, or BFLOAT4_B and is {given}",
    (_F32, _BF16, _BFP8, _BFP4),
    "experimental.paged_fill_cache: cache_tensor",
)
_enter(
    "Unsupported data format",
    (_F32, _BF16, _BFP8),
    """
    experimental.nlp_concat_heads experimental.nlp_concat_heads_boltz: input_tensor
    experimental.nlp_create_qkv_heads experimental.nlp_create_qkv_heads_segformer: input
    experimental.create_qkv_heads experimental.create_qkv_heads_from_separate_tensors: input
    experimental.nlp_create_q_heads_split: input
    transformer.concatenate_heads transformer.split_query_key_value_and_split_heads: input_tensor
    """,
)
_enter(
    "Unsupported data format",
    (_F32, _BF16),
    "experimental.nlp_concat_heads_decode experimental.nlp_create_qkv_heads_decode: input_tensor",
)
_enter("Unsupported data format", (_F32, _BF16, _BFP8, _BFP4), "bcast: input_a")
_enter("Input tensor dtype must be BFLOAT16 but got {given}", (_BF16,), "fill_rm fill_ones_rm: any")
_enter(
    "gather_codegen: index tensor must be of type UINT32 or UINT16. Got: {given}",
    (_U32, _U16),
    "gather: index",
)
_enter(
    "only ttnn.bfloat16, ttnn.float32 and ttnn.bfloat8_b types are supported for input_tensor",
    (_BF16, _F32, _BFP8),
    "addmm: input_tensor",
)
_enter(
    "{name}: only Float32 and BFloat16 supported (got {given}).",
    (_F32, _BF16),
    """
    experimental.complex_mul: a_real a_imag b_real b_imag
    experimental.fft: input_real input_imag
    experimental.ifft: spectrum_real spectrum_imag
    experimental.transpose_rm: input
    """,
)
_enter(
    "{name} {operand} only supports specific data types. [BFLOAT16, BFLOAT8_B]",
    (_BF16, _BFP8),
    "experimental.deepseek_moe_fast_reduce_nc experimental.deepseek_moe_fast_reduce_nc_fused: input_tensor",
)
_enter(
    "{name} {operand} only supports specific data types. [BFLOAT16]",
    (_BF16,),
    "experimental.deepseek_moe_fast_reduce_nc_fused: scores_tensor",
)
_enter(
    "{name} {operand} only supports specific data types. [BFLOAT16, BFLOAT8_B, FLOAT32]",
    (_BF16, _BFP8, _F32),
    "experimental.fast_reduce_nc experimental.fast_reduce_nc_split: input",
)
_enter(
    "When mask is provided to SDPA, it must be in BF16, BFP8, or BFP4 dataformat",
    (_BF16, _BFP8, _BFP4),
    "transformer.scaled_dot_product_attention transformer.flash_mla_prefill: attn_mask",
)
_enter(
    "Unsupported data type for mask tensor: {given}.",
    (_BF16, _BFP8, _BFP4),
    """
    transformer.scaled_dot_product_attention_decode transformer.paged_scaled_dot_product_attention_decode: attn_mask
    """,
)
_enter(
    "All input tensors must have dtype = bfloat16",
    (_BF16,),
    "experimental.rotary_embedding_llama: input_tensor cos_cache sin_cache trans_mat",
)
_enter(
    "Dropout operation requires input and output data types to match. Input data type: {given}, Output data type: DataType::BFLOAT16",
    (_BF16,),
    "experimental.dropout: input_tensor",
)
_enter(
    "{operand} must be bfloat16",
    (_BF16,),
    "experimental.rotary_embedding_llama_fused_qk: q_input_tensor k_input_tensor cos_cache sin_cache trans_mat",
)
_enter(
    "Unsupported data format for input {operand}!",
    (_BF16, _BFP8),
    """
    experimental.hc_sum_reduce: input
    experimental.repeat_and_interleave_eltwise_mul: a b
    """,
)
_enter(
    "{operand} must be UINT32, got {given}",
    (_U32,),
    """
    experimental.deepseek_prefill.extract experimental.deepseek_prefill.insert: start counts global_expert_idx_table
    experimental.deepseek_prefill.moe_padding_config: actual_start actual_end
    experimental.deepseek_prefill.update_padded_kv_cache: slot_idx
    experimental.kda.reduce_affine_transforms: actual_start
    """,
)
_enter(
    "{operand} must be BFLOAT8_B or BFLOAT16, got {given}",
    (_BFP8, _BF16),
    """
    experimental.deepseek_prefill.extract: global_tensor
    experimental.deepseek_prefill.insert: global_tensor local_tensor
    experimental.deepseek_prefill.routed_expert_ffn: x
    """,
)
_enter(
    "{operand} tensor must be BFLOAT16",
    (_BF16,),
    "experimental.deepseek_grouped_gate: scores bias",
)
_enter(
    "{operand} tensor must be FLOAT32 or BFLOAT16",
    (_F32, _BF16),
    "experimental.deepseek_prefill.moe_grouped_topk: scores bias",
)
_enter(
    "{name}: {operand} must be FLOAT32 or BFLOAT16, got {given}",
    (_F32, _BF16),
    """
    experimental.kda.reduce_affine_transforms: a b
    experimental.kda.sigmoid_gated_rms_norm: input
    """,
)
_enter(
    "{name}: {operand} has unsupported dtype {given}",
    (_BF16,),
    "experimental.kda.sigmoid_gated_rms_norm: gate weight",
)
_enter(
    "{operand} tensor must be BFLOAT16, got: {given}",
    (_BF16,),
    """
    experimental.wan_fused_rmsnorm_post_allgather: input_tensor weight transformation_mat
    experimental.wan_fused_rmsnorm_pre_allgather: input_tensor
    """,
)
_enter(
    "{operand} tensor must be BFLOAT16 or FLOAT32, got: {given}",
    (_BF16, _F32),
    """
    experimental.wan_fused_rmsnorm_post_allgather: stats rope_cos rope_sin
    experimental.dit_layernorm_post_allgather: weight bias
    """,
)


_enter(
    "Addcmul supports only BFLOAT16, BFLOAT8_B, FLOAT32, INT32, and UINT32 dtypes. Got {given}",
    (_BF16, _BFP8, _F32, _I32, _U32),
    "addcmul: input_a",
)
_enter(
    "{name} does not support UINT32 inputs. Got {operand}={given}",
    (_BF16, _F32, _BFP8, _BFP4, _I32, _U16, _U8),
    "lerp: input",
)
_enter(
    "{name} supports only BFLOAT16 or FLOAT32, got {given}",
    (_BF16, _F32),
    "snake_beta: input_tensor",
)
_enter(
    "{name}: unsupported dtype {given}; supported dtypes are BFLOAT16, BFLOAT8_B, FLOAT32, INT32, UINT32",
    (_BF16, _BFP8, _F32, _I32, _U32),
    "outer: input_tensor_a input_tensor_b",
)
_enter(
    "Unary: LGAMMA requires BFLOAT16 or FLOAT32 input, got dtype {given}",
    (_BF16, _F32, _I32, _U32, _U16, _U8),
    "lgamma multigammaln: input_tensor",
)
_enter(
    "Output gradient tensor must be BFLOAT16 or BFLOAT8_B",
    (_BF16, _BFP8),
    "embedding_bw: output_gradient_tensor",
)
_enter(
    "Unsupported data format",
    (_BF16, _F32, _BFP8),
    "experimental.nlp_create_qkv_heads_falcon7b experimental.nlp_create_qkv_heads_vit: input",
)
_enter(
    "Index fill: Index tensor must have UINT32 dtype; got {given}",
    (_U32,),
    "index_fill index_fill_new: index",
)
_enter(
    "Mixed dtype is not supported for binary operation BinaryOpType::MUL, dtype A: {given}, dtype B: DataType::BFLOAT16",
    (_BF16, _F32, _BFP8, _BFP4, _I32, _U32),
    "tril triu: input_tensor",
)


def check_types(
    name: str, taken: Sequence[Taken], names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raises RuntimeError for an operand of operation `name` of a type that it does not take; `names` are its parameters."""
    for rule in taken:
        for operand in rule.operands:
            place = names.index(operand) if operand in names else len(args)
            for tensor in _tensors(args[place] if place < len(args) else kwargs.get(operand)):
                if tensor.dtype not in (types := rule.for_(tensor)):
                    first = next(t for t in _BEST if t in types)
                    raise fatal(
                        rule.sentence.format(name=name, operand=operand, given=cpp(tensor.dtype)),
                        hint=f"{operand}=ttnn.typecast({operand}, ttnn.{first.name.lower()})",
                    )


_BEST = (_BF16, _I32, _U32, _U16)
"""What a refused operand is best made of, first of all."""


def _tensors(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        yield from (each for each in value if isinstance(each, Tensor))
