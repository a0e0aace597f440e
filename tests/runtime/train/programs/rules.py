"""What `ttml.distributed.init_ops` changes, on a 2x4 mesh: operations and layers go by rules, and the trace tells."""

from __future__ import annotations

import numpy as np
import ttml
import ttml.distributed.dispatch
import ttnn
from ttml.distributed import (
    DispatchTracer,
    Layout,
    MeshRuntime,
    Replicate,
    Shard,
    distribute_tensor,
    get_layout,
    init_ops,
    set_runtime,
)
from ttml.distributed.dispatch import _get_raw
from ttml.distributed.redistribute import redistribute

context = ttml.autograd.AutoContext.get_instance()
context.open_device([2, 4])
device = context.get_device()
WHOLE, CUT = Layout((Replicate(), Replicate())), Layout((Replicate(), Shard(-1)))


def on(array: np.ndarray, layout: Layout) -> ttml.autograd.Tensor:
    return distribute_tensor(ttml.autograd.Tensor.from_numpy(array), device, layout)


def read(tensor: ttml.autograd.Tensor) -> np.ndarray:
    composer = ttml.core.distributed.concat_mesh_to_tensor_composer(device, 0)
    return ttml.autograd.to_numpy(redistribute(tensor, WHOLE), composer=composer)[:1]


rng = np.random.default_rng(0)
x, weight, gamma = (
    rng.standard_normal(shape).astype(np.float32) for shape in ((1, 1, 8, 32), (1, 1, 16, 32), (1, 1, 1, 32))
)
layer = ttml.modules.LinearLayer(32, 16, has_bias=False)
layer.weight.tensor = on(weight, CUT)
with DispatchTracer() as before:
    ttml.ops.unary.silu(on(x, CUT))
init_ops()
init_ops()
set_runtime(MeshRuntime(device, tp_axis=1, dp_axis=0))
with DispatchTracer() as tracer:
    for made in (layer(on(x, CUT)), ttml.ops.linear.linear(on(x, WHOLE), layer.weight.tensor)):
        np.testing.assert_allclose(read(made), x @ weight[0, 0].T, rtol=1e-4, atol=1e-4)
    normed = ttml.ops.rmsnorm.rmsnorm(on(x, CUT), on(gamma, CUT), epsilon=1e-5)
    heads = ttml.ops.multi_head_utils.heads_creation(on(np.tile(x, 12), CUT), 4)
    gathered = ttml.ops.distributed.all_gather(on(x, CUT), dim=-1, cluster_axis=1)
np.testing.assert_allclose(
    read(normed), gamma * x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5), rtol=1e-4, atol=1e-4
)
np.testing.assert_array_equal(read(gathered), x)
assert get_layout(normed) == CUT and get_layout(gathered) == WHOLE, (get_layout(normed), get_layout(gathered))
batch = on(np.tile(x, (2, 1, 1, 1)), Layout(2, {0: Shard(0)}))
assert get_layout(ttml.ops.binary.add(batch, on(x, WHOLE))).shard_dim(0) == 0
assert _get_raw("silu") is not ttml.ops.unary.silu and callable(ttml.distributed.dispatch)
assert ttnn.Layout.TILE  # the program imports both
print([entry.op_name for entry in before.entries], [entry.op_name for entry in tracer.entries])
print(tracer.entries[-1].to_dict()["op_kwargs"])
