"""Operations on a rank that holds none of a mesh's devices compute nothing and still know every shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.attention.test_attention import by_user
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, U32, put
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards

pytestmark = pytest.mark.usefixtures("float32_too")

Make = Callable[..., Tensor]


def op(name: str) -> Any:
    return ops.registry[f"ttnn.{name}"]


CALLS: dict[str, Callable[[Make], Any]] = {
    "add": lambda t: ops.add(t(4, 8), t(1, 8)),
    "scalar": lambda t: ops.multiply(2.0, t(4, 8)),
    "gelu": lambda t: ops.gelu(t(4, 8)),
    "where": lambda t: ops.where(t(4, 8), 1.0, t(4, 8)),
    "clamp": lambda t: ops.clamp(t(4, 8), 0.0),
    "matmul": lambda t: ops.matmul(t(2, 4, 8), t(8, 3)),
    "linear": lambda t: ops.linear(t(2, 4, 8), t(8, 3), bias=t(1, 3), activation="relu"),
    "reshape": lambda t: ops.reshape(t(4, 8), (2, -1)),
    "permute": lambda t: ops.permute(t(4, 8, 2), (2, 0, 1)),
    "slice": lambda t: ops.slice(t(4, 8), [0, 1], [4, 5]),
    "split": lambda t: ops.split(t(4, 8), 3, dim=1),
    "concat": lambda t: ops.concat([t(4, 8), t(4, 8)], -1),
    "concat groups": lambda t: ops.concat([t(4, 8), t(4, 8)], -1, groups=2),
    "stack": lambda t: ops.stack([t(4, 8), t(4, 8)], 0),
    "pad": lambda t: ops.pad(t(4, 8), [(0, 1), (0, 2)], 0.0),
    "repeat": lambda t: ops.repeat(t(4, 8), (2, 3)),
    "roll": lambda t: ops.roll(t(4, 8), 2),
    "expand": lambda t: ops.expand(t(1, 8), (4, 8)),
    "gather": lambda t: ops.gather(t(4, 8), 1, ops.to_layout(t(4, 3, dtype=U32), Layout.TILE)),
    "scatter": lambda t: ops.scatter(t(4, 8, dtype=BF16), 1, t(4, 3, dtype=U32), t(4, 3, dtype=BF16)),
    "sum": lambda t: ops.sum(t(4, 8), 1),
    "sum of all": lambda t: ops.sum(t(4, 8)),
    "max": lambda t: ops.max(t(4, 8), 0, True),
    "std": lambda t: ops.std(t(4, 8), -1),
    "argmax": lambda t: ops.argmax(t(4, 8), -1),
    "topk": lambda t: ops.topk(t(4, 8), 2),
    "cumsum": lambda t: ops.cumsum(t(4, 8), 0),
    "nonzero": lambda t: ops.nonzero(t(1, 1, 1, 8)),
    "softmax": lambda t: ops.softmax(t(4, 8), 0),
    "masked softmax": lambda t: ops.scale_mask_softmax(t(1, 2, 4, 8), 0.5, t(1, 1, 4, 8)),
    "layer_norm": lambda t: ops.layer_norm(t(4, 8), weight=t(1, 8), bias=t(8)),
    "rms_norm_pre": lambda t: ops.rms_norm_pre_all_gather(t(1, 1, 4, 8, dtype=BF16)),
    "layer_norm_post": lambda t: ops.layer_norm_post_all_gather(t(1, 1, 4, 8, dtype=BF16), t(1, 1, 4, 128)),
    "group_norm": lambda t: ops.group_norm(t(1, 1, 32, 8), num_groups=2, inplace=False),
    "embedding": lambda t: ops.embedding(t(1, 4, dtype=U32), t(10, 8, dtype=BF16)),
    "typecast": lambda t: ops.typecast(t(4, 8), BF16),
    "clone": lambda t: ops.clone(t(4, 8)),
    "tilize": lambda t: ops.tilize(ops.to_layout(t(32, 64), Layout.ROW_MAJOR)),
    "sampling": lambda t: ops.sampling(
        t(1, 1, 32, 64, dtype=BF16),
        t(1, 1, 32, 64, dtype=I32),
        t(32, dtype=U32),
        *(ops.to_layout(t(32, dtype=BF16), ROW) for _ in "pt"),
    ),
    "sdpa": lambda t: op("transformer.scaled_dot_product_attention")(
        t(1, 4, 6, 32), t(1, 2, 6, 32), t(1, 2, 6, 32)
    ),
    "decode": lambda t: op("transformer.scaled_dot_product_attention_decode")(
        t(1, 2, 4, 8), t(2, 2, 32, 8), t(2, 2, 32, 8), cur_pos=[1, 2]
    ),
    "split heads": lambda t: op("transformer.split_query_key_value_and_split_heads")(
        t(1, 4, 192), num_heads=2
    ),
    "heads decode": lambda t: op("experimental.nlp_create_qkv_heads_decode")(t(1, 1, 4, 192), num_heads=2),
    "concatenate heads": lambda t: op("transformer.concatenate_heads")(t(1, 2, 4, 32)),
    "nlp concat heads": lambda t: op("experimental.nlp_concat_heads")(t(1, 2, 4, 8)),
    "concat heads decode": lambda t: op("experimental.nlp_concat_heads_decode")(
        by_user(t(1, 3, 4, 32)), num_heads=2
    ),
    "rotary": lambda t: op("experimental.rotary_embedding")(t(1, 2, 4, 8), t(1, 1, 4, 8), t(1, 1, 4, 8)),
    "rotary llama": lambda t: op("experimental.rotary_embedding_llama")(
        t(1, 2, 4, 32), t(1, 1, 4, 32), t(1, 1, 4, 32), t(1, 1, 32, 32)
    ),
    "fill_cache": lambda t: ops.fill_cache(t(2, 2, 8, 4), t(1, 2, 3, 4), 1),
    "update_cache": lambda t: ops.update_cache(t(2, 2, 8, 4), t(1, 2, 2, 4), 3),
    "paged_update_cache": lambda t: op("experimental.paged_update_cache")(
        t(2, 2, 8, 32), by_user(t(1, 2, 2, 32)), update_idxs_tensor=t(2, dtype=I32)
    ),
    "plus_one": lambda t: ops.plus_one(t(4, dtype=I32)),
}


def shapes(result: Any) -> Any:
    if isinstance(result, (list, tuple)):
        return [shapes(r) for r in result]
    return tuple(result.shape), result.dtype, result.layout


@pytest.mark.parametrize("name", sorted(CALLS))
def test_shapes_follow_without_shards(one: MeshDevice, name: str):
    def here(*shape: int, dtype: DataType = F32) -> Tensor:
        return put(one, np.ones(shape), dtype, ROW if dtype in (U32, I32) else TILE)

    def elsewhere(*shape: int, dtype: DataType = F32) -> Tensor:
        tensor = here(*shape, dtype=dtype)
        return tensor.derive(Shards(tensor.shards.data[:0], ()))

    assert shapes(CALLS[name](elsewhere)) == shapes(CALLS[name](here))
