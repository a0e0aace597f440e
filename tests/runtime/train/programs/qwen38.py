"""Train a small Qwen3.8 for three steps over a data-parallel and a tensor-parallel axis; print losses and one digest of all parameters.

qwen38.py ROWS COLUMNS KIND     the mesh, and float32 or bfloat16
"""

import hashlib
import sys

import numpy as np
import ttml
import ttnn
from ttml.models.qwen38 import Qwen38Config, Qwen38Transformer

from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter

rows, columns = int(sys.argv[1]), int(sys.argv[2])
BATCH, LENGTH, ENTRIES = 4, 32, 128
context = ttml.autograd.AutoContext.get_instance()
context.set_arithmetic(sys.argv[3])
ttml.open_device_mesh(ttml.Mesh((rows, columns), ("dp", "tp")))
context.initialize_parallelism_context(ttml.autograd.DistributedConfig(enable_ddp=rows > 1, enable_tp=True))
context.set_seed(5)
model = Qwen38Transformer(
    Qwen38Config(
        hidden_size=64, intermediate_size=128, num_hidden_layers=4, vocab_size=ENTRIES, num_attention_heads=8,
        num_key_value_heads=4, head_dim=32, linear_num_key_heads=4, linear_num_value_heads=8, linear_key_head_dim=16,
        linear_value_head_dim=32, max_position_embeddings=64, delta_chunk_size=16, use_tp=True,
    )
)  # fmt: skip
optimizer = ttml.optimizers.AdamW(model.parameters(), ttml.optimizers.AdamWConfig.make(lr=0.01))
cut = ttml.core.distributed.shard_tensor_to_mesh_mapper(context.get_device(), 0, 0) if rows > 1 else None


def ids(array, *form):
    array = np.ascontiguousarray(array).reshape(form)
    return ttml.autograd.Tensor.from_numpy(array, ttnn.Layout.ROW_MAJOR, ttnn.DataType.UINT32, cut)


for step in range(3):
    text = np.random.default_rng(step).integers(0, ENTRIES, (BATCH, LENGTH + 1)).astype(np.uint32)
    optimizer.zero_grad()
    logits = model(ids(text[:, :-1], BATCH, 1, 1, LENGTH))
    loss = ttml.ops.distributed.vocab_parallel_cross_entropy_loss(
        logits, ids(text[:, 1:], BATCH, LENGTH), cluster_axis=1
    )
    print(f"loss {ttml.common.utils.get_loss_over_devices(loss)!r}", flush=True)
    loss.backward()
    context.reset_graph()
    ttml.core.distributed.synchronize_gradients(model.parameters())
    optimizer.step()
arrays = (whole_parameter(tensor) for _, tensor in sorted(model.parameters().items()))
print(f"sha256 {hashlib.sha256(b''.join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()}")
context.close_device()
