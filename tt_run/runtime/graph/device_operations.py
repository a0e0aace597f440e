"""What an operation is called inside of the library: the one native operation that it runs on a device, and the shapes it takes for that.

Source: captures of reference library 0.81.1. Operations that run several, or other ones for other arguments, are not here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_run.runtime.enums import Layout
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.activation import UnaryOpType

BINARY, UNARY = "BinaryNgDeviceOperation", "UnaryDeviceOperation"
_NAMES = {
    BINARY: (
        "add add_ subtract subtract_ sub sub_ multiply multiply_ mul mul_ rsub rsub_ eq eq_ ne ne_ ge ge_ gt gt_ le le_ lt lt_"
        " logical_and logical_and_ logical_or logical_or_ logical_xor logical_xor_ maximum minimum squared_difference squared_difference_"
        " logaddexp logaddexp_ logaddexp2 logaddexp2_ ldexp ldexp_ bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div div_"
        " remainder fmod atan2 hypot xlogy"
    ),
    UNARY: "full_like zeros_like ones_like fill swish logit cosh sinh mish elu reciprocal isnan clip clamp logical_not",
    "TernaryDeviceOperation": "addcdiv addcmul lerp mac",
    "MatmulDeviceOperation": "matmul linear",
    "MinimalMatmulDeviceOperation": "experimental.minimal_matmul",
    "LayerNormDeviceOperation": "layer_norm rms_norm",
    "LayerNormPreAllGatherDeviceOperation": "layer_norm_pre_all_gather rms_norm_pre_all_gather",
    "LayerNormPostAllGatherDeviceOperation": "layer_norm_post_all_gather rms_norm_post_all_gather",
    "GroupNormDeviceOperation": "group_norm",
    "BatchNormOperation": "batch_norm",
    "SoftmaxDeviceOperation": "softmax softmax_in_place scale_mask_softmax scale_mask_softmax_in_place",
    "SDPAOperation": "transformer.scaled_dot_product_attention transformer.chunked_scaled_dot_product_attention",
    "JointSDPADeviceOperation": "transformer.joint_scaled_dot_product_attention",
    "SdpaDecodeDeviceOperation": "transformer.scaled_dot_product_attention_decode",
    "NlpCreateHeadsDeviceOperation": "experimental.nlp_create_qkv_heads transformer.split_query_key_value_and_split_heads",
    "NLPConcatHeadsDeviceOperation": "experimental.nlp_concat_heads transformer.concatenate_heads",
    "NLPCreateQKVHeadsDecodeDeviceOperation": "experimental.nlp_create_qkv_heads_decode",
    "NLPConcatHeadsDecodeDeviceOperation": "experimental.nlp_concat_heads_decode",
    "RotaryEmbeddingDeviceOperation": "experimental.rotary_embedding",
    "RotaryEmbeddingLlamaDeviceOperation": "experimental.rotary_embedding_llama",
    "UpdateKVCacheOperation": "fill_cache update_cache",
    "PagedFillCacheDeviceOperation": "experimental.paged_fill_cache",
    "PagedUpdateCacheDeviceOperation": "experimental.paged_update_cache",
    "EmbeddingsDeviceOperation": "embedding",
    "CloneOperation": "clone",
    "CopyDeviceOperation": "copy assign",
    "ConcatDeviceOperation": "concat stack",
    "TransposeDeviceOperation": "transpose",
    "TypecastDeviceOperation": "typecast",
    "SliceDeviceOperation": "slice Tensor.__getitem__",
    "PadDeviceOperation": "pad",
    "RepeatCodegenDeviceOperation": "repeat",
    "SortDeviceOperation": "sort",
    "TopKDeviceOperation": "topk",
    "GatherCodegenDeviceOperation": "gather",
    "ArgMaxDeviceOperation": "argmax",
    "NonZeroIndicesDeviceOperation": "nonzero",
    "AccumulationDeviceOperation": "cumsum",
    "TilizeDeviceOperation": "tilize",
    "TilizeWithValPaddingDeviceOperation": "tilize_with_val_padding",
    "UntilizeCodegenDeviceOperation": "untilize",
    "ReshapeViewDeviceOperation": "reshape Tensor.reshape",
    "RandDeviceOperation": "rand",
    "InterleavedToShardedDeviceOperation": "interleaved_to_sharded",
    "ShardedToInterleavedDeviceOperation": "sharded_to_interleaved",
    "ReshardDeviceOperation": "reshard",
    "BcastDeviceOperation": "bcast",
    "FastReduceNCDeviceOperation": "experimental.fast_reduce_nc",
    "MorehSoftmaxOperation": "moreh_softmax",
    "SamplingDeviceOperation": "sampling",
    "PlusOneDeviceOperation": "plus_one",
    "BernoulliDeviceOperation": "bernoulli",
    "DropoutDeviceOperation": "experimental.dropout",
    "AllBroadcastDeviceOperation": "all_broadcast",
    "PointToPointOp": "point_to_point",
}
_OF = {f"ttnn.{name}": native for native, names in _NAMES.items() for name in names.split()}

LISTS = ("SortDeviceOperation", "SplitDeviceOperation")
"""Native operations with several results that tell them; others with several tell none."""

_ALWAYS, _UNLESS_4D = "always", "unless it has four dimensions"
_BEFORE = {
    **dict.fromkeys(
        ("softmax", "transpose", "pad", "repeat", "topk", "sort", "gather", "cumsum", "permute"), _UNLESS_4D
    ),
    **dict.fromkeys(("sum", "mean", "max"), _UNLESS_4D),
    **dict.fromkeys(
        (
            "embedding",
            "stack",
            "reshape",
            "Tensor.reshape",
            "transformer.split_query_key_value_and_split_heads",
        ),
        _ALWAYS,
    ),
}
"""Operations that take their operands as other shapes, most of them as four dimensions: when they do."""
_AFTER = {
    **dict.fromkeys(("transpose", "repeat", "topk", "sort", "gather", "cumsum", "permute"), _UNLESS_4D),
    **dict.fromkeys(
        ("softmax", "pad", "slice", "Tensor.__getitem__", "embedding", "reshape", "Tensor.reshape"), _ALWAYS
    ),
    **dict.fromkeys(("scale_mask_softmax_in_place", "transformer.concatenate_heads"), _ALWAYS),
    **dict.fromkeys(("sum", "mean", "max", "std", "var"), _ALWAYS),
}
"""The same of their results."""
_OPERANDS = {"ttnn.embedding": 2, "ttnn.gather": 2, "ttnn.stack": 99}


@dataclass(frozen=True, slots=True)
class Steps:
    """A native operation, so many operands that become another view before it, and whether its results do after it.

    `within` is a function of the library that stands between the program's and the native one.
    """

    native: str
    before: int = 0
    after: bool = False
    within: str = ""


def steps(operation: str, args: Sequence[Any], kwargs: Mapping[str, Any], given: Sequence[Tensor]) -> Steps:
    """What a call runs on a device; `ttnn::max` stands for what the table does not say."""
    native = native_name(operation, args, kwargs, given)
    if native.startswith("ttnn::"):
        return Steps(native)
    word = operation.removeprefix("ttnn.")
    flat = bool(given) and len(given[0].shape) != 4
    if word == "permute" and native.startswith("Permute"):
        return Steps(native)
    return Steps(
        native,
        _OPERANDS.get(operation, 1) if _applies(_BEFORE.get(word), flat) else 0,
        _applies(_AFTER.get(word), flat),
        "ttnn.slice" if word == "Tensor.__getitem__" else "",
    )


def _applies(when: str | None, flat: bool) -> bool:
    return when is _ALWAYS or (when is _UNLESS_4D and flat)


def native_name(
    operation: str,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    given: Sequence[Tensor] = (),
) -> str:
    """The native operation behind `ttnn.exp`, or `ttnn::exp` where neither table nor arguments say which it is."""
    chosen = _CHOSEN.get(operation)
    found = chosen(args, kwargs or {}, given) if chosen is not None and given else _OF.get(operation)
    if found is None and hasattr(UnaryOpType, operation.removeprefix("ttnn.").upper()):
        return UNARY
    return found or operation.replace(".", "::")


def _argument(
    place: int, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], default: Any = None
) -> Any:
    return args[place] if len(args) > place else kwargs.get(name, default)


Chosen = Callable[[Sequence[Any], Mapping[str, Any], Sequence[Tensor]], str | None]


def _by_operands(second: str | None, first: str | None) -> Chosen:
    """One native operation where two operands are tensors, another where one is."""
    return lambda args, kwargs, given: second if len(given) > 1 else first


def _where(args: Sequence[Any], kwargs: Mapping[str, Any], given: Sequence[Tensor]) -> str | None:
    return ("TernaryDeviceOperation", BINARY, UNARY)[3 - min(len(given), 3)]


def _to_layout(args: Sequence[Any], kwargs: Mapping[str, Any], given: Sequence[Tensor]) -> str | None:
    tensor = given[0]
    whole = tensor.shape == tensor.padded_shape and not any(
        length % 32 for length in tuple(tensor.shape)[-2:]
    )
    if tensor.layout is Layout.TILE:
        return "UntilizeCodegenDeviceOperation" if whole else "UntilizeWithUnpaddingDeviceOperation"
    return "TilizeDeviceOperation" if whole else "TilizeWithValPaddingDeviceOperation"


def _to_memory_config(args: Sequence[Any], kwargs: Mapping[str, Any], given: Sequence[Tensor]) -> str | None:
    memory = _argument(1, "memory_config", args, kwargs)
    if memory is None:
        return None
    kinds = {
        (False, False): "CopyDeviceOperation",
        (False, True): "InterleavedToShardedDeviceOperation",
        (True, False): "ShardedToInterleavedDeviceOperation",
        (True, True): "ReshardDeviceOperation",
    }
    return kinds[given[0].memory_config().is_sharded(), memory.is_sharded()]


def _permute(args: Sequence[Any], kwargs: Mapping[str, Any], given: Sequence[Tensor]) -> str | None:
    dims = _argument(1, "dims", args, kwargs)
    rank = len(given[0].shape)
    if dims is None or rank > 4:
        return None
    order = (*range(4 - rank), *(dim % rank + 4 - rank for dim in dims))
    return f"{'Transpose' if order in ((0, 2, 1, 3), (0, 1, 3, 2)) else 'Permute'}DeviceOperation"


def _of_tiles(native: str) -> Chosen:
    """A collective of whole tiles; of others the library makes several operations."""

    def chosen(args: Sequence[Any], kwargs: Mapping[str, Any], given: Sequence[Tensor]) -> str | None:
        tensor = given[0]
        whole = tensor.layout is Layout.TILE and tensor.shape == tensor.padded_shape
        return native if whole else None

    return chosen


def _split(args: Sequence[Any], kwargs: Mapping[str, Any], given: Sequence[Tensor]) -> str | None:
    size, dim, rank = (
        _argument(1, "split_size", args, kwargs),
        _argument(2, "dim", args, kwargs, 0),
        len(given[0].shape),
    )
    halves = isinstance(size, int) and 2 * size == given[0].shape[dim]
    return "SplitDeviceOperation" if rank == 4 and halves and dim % rank == 3 else None


def _reduction(native: str) -> Chosen:
    """A reduction of one of the two inner dimensions that keeps it; other ones take several programs."""

    def chosen(args: Sequence[Any], kwargs: Mapping[str, Any], given: Sequence[Tensor]) -> str | None:
        dim, keeps = _argument(1, "dim", args, kwargs), _argument(2, "keepdim", args, kwargs, False)
        inner = isinstance(dim, int) and (rank := len(given[0].shape)) > 0 and rank - dim % rank <= 2
        return native if inner and keeps else None

    return chosen


_CHOSEN: dict[str, Chosen] = {
    "ttnn.where": _where,
    "ttnn.pow": _by_operands(BINARY, UNARY),
    "ttnn.maximum": _by_operands(BINARY, UNARY),
    "ttnn.minimum": _by_operands(BINARY, UNARY),
    "ttnn.to_layout": _to_layout,
    "ttnn.to_memory_config": _to_memory_config,
    "ttnn.permute": _permute,
    "ttnn.split": _split,
    "ttnn.all_gather": _of_tiles("AllGatherDeviceOperation"),
    "ttnn.experimental.all_gather_async": _of_tiles("AllGatherAsyncDeviceOperation"),
    "ttnn.reduce_scatter": _of_tiles("ReduceScatterDeviceOperation"),
    "ttnn.experimental.reduce_scatter_minimal_async": _of_tiles("ReduceScatterMinimalAsyncDeviceOperation"),
    **{f"ttnn.{word}": _reduction("ReduceDeviceOperation") for word in ("sum", "mean", "max")},
    **{f"ttnn.{word}": _reduction("WelfordReduceDeviceOperation") for word in ("std", "var")},
    **{
        f"ttnn.{word}": lambda args, kwargs, given: BINARY if kwargs.get("reduction") is None else None
        for word in ("l1_loss", "mse_loss")
    },
}
"""Operations of which the arguments choose the native one."""
