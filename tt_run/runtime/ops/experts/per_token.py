"""What prefill does to tokens one by one: scales of FP8, the gate that looks experts up, sums weighted by token.

Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.each_device import on_each_device
from tt_run.runtime.ops.declaration.operands import floating, on_device, settle
from tt_run.runtime.ops.experts.prefill_checks import check_groups, check_looked_up
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor

Array = npt.NDArray[Any]
_BLOCK = 128  # elements that share a scale
_LARGEST = np.float32(448)  # of FP8 E4M3


SCORES: dict[str, Callable[[Array], Array]] = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sqrtsoftplus": lambda x: np.sqrt(np.logaddexp(0, x)),
}
"""What gates make of logits before they choose."""


def _check_padding(padding_config: Tensor | None) -> None:
    """Raises RuntimeError for a padding config that is not rows of [real tokens, side] of uint32."""
    if padding_config is None:
        return
    found = padding_config
    if found.dtype is not DataType.UINT32 or found.layout is not Layout.ROW_MAJOR or found.shape[-1] < 2:
        raise fatal(
            f"padding_config must be a ROW_MAJOR UINT32 tensor of [real tokens, pad_side], got {found.shape} {cpp(found.dtype)} "
            f"{cpp(found.layout)}",
            "padding_config->logical_shape()[-1] >= 2",
            hint="ttnn.from_torch(torch.tensor([[tokens, 0]]), dtype=ttnn.uint32, layout=ttnn.ROW_MAJOR_LAYOUT, device=device)",
        )


def _without_padding(chosen: Array, config: Array | None, experts: int) -> Array:
    """Rows of chosen experts, those of padding being the first number that is no expert."""
    if config is None:
        return chosen
    rows = chosen.reshape(-1, chosen.shape[-1])
    real, side = (int(n) for n in config.reshape(-1)[:2])
    at = np.arange(len(rows))
    rows[at < len(rows) - real if side else at >= real] = experts
    return rows.reshape(chosen.shape)


def _cut(values: Array) -> Array:
    """float32 values that FP8 E4M3 holds, rounded towards zero."""
    near = values.astype(ml_dtypes.float8_e4m3fn)
    bits = near.view(np.uint8)
    beyond = np.abs(near.astype(np.float32)) > np.abs(values)
    return (bits - beyond).astype(np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)


@operation("ttnn.experimental.deepseek_prefill.per_token_cast_to_fp8", family=families.CONVERSION)
def per_token_cast_to_fp8(
    input_tensor: Tensor,
    memory_config: MemoryConfig | None = None,
    *,
    round_scale_to_power_of_two: bool = False,
) -> tuple[Tensor, Tensor]:
    """x [..., H] -> FP8 values [..., H], cut towards zero, and float32 scales [..., H/128], both in rows.

    The scale of 128 elements is their largest magnitude, at least 1e-4, over 448; rounded up to a power of two if so asked.
    """
    on_device(input_tensor, kind="per_token_cast_to_fp8")
    floating("per_token_cast_to_fp8", input_tensor)
    if input_tensor.shape[-1] % _BLOCK:
        raise fatal(
            f"per_token_cast_to_fp8: the last dimension must be a multiple of 128, got {input_tensor.shape}",
            hint=f"ttnn.pad the last dimension to {-(-input_tensor.shape[-1] // _BLOCK) * _BLOCK}",
        )

    def cast(x: Array) -> tuple[Array, Array]:
        blocks = x.reshape(*x.shape[:-1], -1, _BLOCK)
        scale = np.maximum(np.abs(blocks).max(axis=-1), np.float32(1e-4)) / _LARGEST
        if round_scale_to_power_of_two:
            part, exponent = np.frexp(scale)
            scale = np.ldexp(np.float32(1), exponent - (part == 0.5))
        return _cut((blocks / scale[..., None]).reshape(x.shape)), scale

    values, scales = on_each_device(cast, input_tensor)
    given = (input_tensor,)
    words: dict[str, Any] = {"layout": Layout.ROW_MAJOR, "memory_config": memory_config}
    return (
        settle(given, values, DataType.FP8_E4M3, **words),
        settle(given, scales, DataType.FLOAT32, **words),
    )


@operation("ttnn.experimental.deepseek_prefill.per_token_cast_back", family=families.CONVERSION)
def per_token_cast_back(
    input_e4m3: Tensor,
    input_scale: Tensor | None = None,
    output_dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    narrow_scales_to_bf16: bool = False,
    token_count_aware: bool = False,
    expert_region_offsets: Tensor | None = None,
    expert_token_counts: Tensor | None = None,
    global_expert_idx_table: Tensor | None = None,
    experts_per_chip: int = 0,
    metadata: Tensor | None = None,
) -> Tensor:
    """FP8 values [..., H] times their scales [..., H/128] -> bfloat16 (or float32) [..., H], in rows.

    The scales may stand bit by bit in the last columns of `metadata`. Where a device leaves rows behind the last token untouched
    (token_count_aware), these have values here too.
    """
    scales = input_scale if metadata is None else metadata
    if scales is None or (metadata is not None) == (input_scale is not None):
        raise fatal(
            "per_token_cast_back needs one of input_scale and metadata",
            hint="input_scale= of per_token_cast_to_fp8; metadata= for rows of dispatch",
        )
    if metadata is not None and not token_count_aware:
        raise fatal(
            "per_token_cast_back: metadata needs token_count_aware=True",
            hint="token_count_aware=True, or leave metadata out",
        )
    on_device(input_e4m3, scales, kind="per_token_cast_back")
    dtype = output_dtype or DataType.BFLOAT16
    count = input_e4m3.shape[-1] // _BLOCK

    def restored(x: Array, held: Array) -> tuple[Array]:
        scale = held if metadata is None else np.ascontiguousarray(held[..., -count:]).view(np.float32)
        if narrow_scales_to_bf16:
            scale = finish(scale.copy(), DataType.BFLOAT16)
        return (finish(x * np.repeat(scale, _BLOCK, axis=-1), dtype),)

    (result,) = on_each_device(restored, input_e4m3, scales)
    return settle((input_e4m3,), result, dtype, layout=Layout.ROW_MAJOR, memory_config=memory_config)


@operation("ttnn.experimental.deepseek_prefill.moe_hash_gate", family=families.EXPERTS)
def moe_hash_gate(
    scores: Tensor,
    input_ids: Tensor,
    tid2eid: Tensor,
    *,
    n_activated_experts: int,
    route_scale: float = 1.0,
    epsilon: float = 1e-20,
    score_func: str = "sqrtsoftplus",
    memory_config: MemoryConfig | None = None,
    padding_config: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The experts that a table tid2eid names for each token's id, and their shares of the scores: bfloat16 weights, uint16 indices.

    scores [..., experts], one id for each of its rows. Rows of padding, on the side that padding_config [real tokens, side] names, have the
    number of experts for an index. Raises RuntimeError for an unknown score function and a config of another kind.
    """
    others = () if padding_config is None else (padding_config,)
    on_device(scores, input_ids, tid2eid, *others, kind="gate")
    _check_padding(padding_config)
    if score_func not in SCORES:
        raise fatal(
            f"Unsupported score_func '{score_func}'. Expected 'sigmoid' or 'sqrtsoftplus'.",
            hint=f"score_func={next(iter(SCORES))!r}",
        )
    check_looked_up(scores, input_ids, tid2eid, n_activated_experts)
    shape = (*tuple(scores.shape)[:-1], n_activated_experts)

    def gate(x: Array, ids: Array, table: Array, config: Array | None = None) -> tuple[Array, Array]:
        rows = SCORES[score_func](x.astype(np.float32)).reshape(-1, x.shape[-1])
        experts = table.reshape(-1, table.shape[-1])[ids.reshape(-1)[: len(rows)].astype(np.int64)]
        chosen = experts[:, :n_activated_experts].astype(np.int64)
        weights = np.take_along_axis(rows, chosen, axis=-1)
        weights = (
            weights / (weights.sum(axis=-1, keepdims=True) + np.float32(epsilon)) * np.float32(route_scale)
        )
        indices = _without_padding(chosen, config, x.shape[-1]).reshape(shape).astype(np.uint16)
        return finish(weights.reshape(shape), DataType.BFLOAT16), indices

    weights, indices = on_each_device(gate, scores, input_ids, tid2eid, *others)
    return (
        settle((scores,), weights, DataType.BFLOAT16, memory_config=memory_config),
        settle((scores,), indices, DataType.UINT16, memory_config=memory_config),
    )


@operation("ttnn.experimental.deepseek_prefill.attn_res_weighted_reduce_nc", family=families.REDUCTION)
def attn_res_weighted_reduce_nc(
    input: Tensor,
    weight: Tensor,
    *,
    dim: int = 1,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
) -> Tensor:
    """The sum over C of input [1, C, H, W] times weight [R, C, H, 1] -> [R, 1, H, W]."""
    on_device(input, weight, kind="weighted reduce")
    if dim != 1 or len(input.shape) != 4 or tuple(weight.shape)[1:3] != tuple(input.shape)[1:3]:
        raise fatal(
            f"attn_res_weighted_reduce_nc needs dim 1, input [1, C, H, W] and weight [R, C, H, 1], got {input.shape} and {weight.shape}",
            hint="dim=1, and ttnn.reshape for shapes of four dimensions",
        )

    def summed(x: Array, w: Array) -> tuple[Array]:
        return (finish(np.add.reduce(x * w, axis=1, keepdims=True), input.dtype),)

    (result,) = on_each_device(summed, input, weight)
    return settle((input, weight), result, input.dtype, memory_config=memory_config)


@operation("ttnn.experimental.deepseek_prefill.pack_scaled_fp8_kv_cache", family=families.CONVERSION)
def pack_scaled_fp8_kv_cache(
    latent: Tensor, scales: Tensor, rope: Tensor, *, memory_config: MemoryConfig | None = None
) -> Tensor:
    """Rows of FP8 latents [..., L], float32 scales [..., L/128] and bfloat16 columns [..., R], side by side as bytes: uint8, in rows.

    `ttnn.transformer.sparse_sdpa` reads such rows. Raises RuntimeError for shapes and types that do not fit.
    """
    given = (latent, scales, rope)
    on_device(*given, kind="pack")
    outer = {tuple(t.shape)[:-1] for t in given}
    kinds = tuple(t.dtype for t in given)
    if len(outer) > 1 or latent.shape[-1] != _BLOCK * scales.shape[-1]:
        raise fatal(
            f"rows of {', '.join(str(t.shape) for t in given)} do not fit side by side",
            hint=f"the same rows of each; a scale for each {_BLOCK} columns of latent: {latent.shape[-1] // _BLOCK}",
        )
    if kinds != (DataType.FP8_E4M3, DataType.FLOAT32, DataType.BFLOAT16):
        raise fatal(
            f"latent, scales and rope must be FP8, float32 and bfloat16, got {', '.join(map(str, kinds))}",
            hint="per_token_cast_to_fp8(latent) gives the first two; ttnn.typecast(rope, ttnn.bfloat16) the third",
        )

    def packed(values: Array, factors: Array, columns: Array) -> tuple[Array]:
        parts = zip(
            (values, factors, columns), (ml_dtypes.float8_e4m3fn, np.float32, ml_dtypes.bfloat16), strict=True
        )
        return (
            np.concatenate([np.ascontiguousarray(a.astype(kind)).view(np.uint8) for a, kind in parts], -1),
        )

    (rows,) = on_each_device(packed, *given)
    return settle(given, rows, DataType.UINT8, layout=Layout.ROW_MAJOR, memory_config=memory_config)


@operation("ttnn.experimental.deepseek_prefill.moe_grouped_topk", family=families.EXPERTS)
def moe_grouped_topk(
    scores: Tensor,
    bias: Tensor,
    *,
    n_groups: int = 8,
    summed_experts_per_group: int = 2,
    topk_groups: int = 4,
    n_activated_experts: int = 8,
    route_scale: float = 1.0,
    epsilon: float = 1e-20,
    stable_sort: bool = False,
    score_func: str = "sigmoid",
    memory_config: MemoryConfig | None = None,
    padding_config: Tensor | None = None,
    biased_scores: Tensor | None = None,
    weights_layout: Layout = Layout.TILE,
) -> list[Tensor]:
    """The experts of each token, chosen from its best groups, and their weights: bfloat16 weights and uint16 indices.

    As `deepseek_grouped_gate`, computed in float32. Rows of padding, on the side that padding_config [real tokens, side] names, have the
    number of experts for an index; what the experts are chosen by is written into `biased_scores`. Raises RuntimeError for a score function
    other than sigmoid or sqrtsoftplus, and for those tensors where they do not fit.
    """
    others = () if padding_config is None else (padding_config,)
    on_device(scores, bias, *others, kind="gate")
    _check_padding(padding_config)
    if biased_scores is not None and biased_scores.dtype is not DataType.FLOAT32:
        raise fatal(
            "biased_scores tensor must be FLOAT32", hint="ttnn.zeros_like(scores, dtype=ttnn.float32)"
        )
    if score_func not in SCORES:
        raise fatal(
            f"Unsupported score_func '{score_func}'. Expected 'sigmoid' or 'sqrtsoftplus'.",
            hint=f"score_func={next(iter(SCORES))!r}",
        )
    choices = {
        "summed_experts_per_group": summed_experts_per_group,
        "topk_groups": topk_groups,
        "n_activated_experts": n_activated_experts,
    }
    check_groups(scores, bias, n_groups, choices)

    def gate(x: Array, b: Array, config: Array | None = None) -> list[Array]:
        plain = SCORES[score_func](x.astype(np.float32))
        biased = (plain + b).reshape(*x.shape[:-1], n_groups, -1)
        ranks = np.sort(biased, -1)[..., -summed_experts_per_group:].sum(-1)
        best = np.argsort(-ranks, -1, kind="stable")[..., :topk_groups]
        allowed = np.full_like(biased, -np.inf)
        np.put_along_axis(allowed, best[..., None], np.take_along_axis(biased, best[..., None], -2), -2)
        chosen = np.argsort(-allowed.reshape(x.shape), -1, kind="stable")[..., :n_activated_experts]
        weight = np.take_along_axis(plain, chosen, -1)
        weight = weight / (weight.sum(-1, keepdims=True) + epsilon) * route_scale
        indices = _without_padding(chosen, config, x.shape[-1])
        return [weight, indices.astype(np.float32), biased.reshape(x.shape).astype(np.float32)]

    weights, indices, biased = on_each_device(gate, scores, bias, *others)
    if biased_scores is not None:
        settle((scores, bias), biased, DataType.FLOAT32, output_tensor=biased_scores)
    return [
        settle(
            (scores, bias),
            weights.map(lambda stack: finish(stack, DataType.BFLOAT16)),
            DataType.BFLOAT16,
            layout=weights_layout,
            memory_config=memory_config,
        ),
        settle(
            (scores, bias),
            indices.map(lambda stack: stack.astype(np.uint16)),
            DataType.UINT16,
            layout=Layout.TILE,
            memory_config=memory_config,
        ),
    ]
