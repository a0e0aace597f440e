"""Parameters of a Llama cut over one axis of the mesh, positions over the other: the losses of one device, a quarter of the memory.

    tt-run --emulate --system t3000 python examples/training/fsdp_llama.py
    tt-run --emulate --system t3000 --split 1x2 python examples/training/fsdp_llama.py
    tt-run --emulate --system t3000 --split 2x2 python examples/training/fsdp_llama.py
    tt-run --emulate --system t3000 --predict python examples/training/fsdp_llama.py --overlap

One, two and four ranks print the same hash: the bits do not depend on how the devices are split over them. With `--overlap` a second command
queue gathers what comes next: the same hash, in less predicted time.
"""

import hashlib
import sys

import numpy as np
import ttml
import ttnn
from ttml.models.llama import Llama, LlamaConfig

STEPS, BATCH, LENGTH = 6, 8, 32

overlap = "--overlap" in sys.argv
context = ttml.autograd.AutoContext.get_instance()
ttml.open_device_mesh(ttml.Mesh((2, 4), ("fsdp", "tp")), num_command_queues=2 if overlap else 1)
if overlap:
    ttml.fsdp.enable_overlap(columns=1)
ttml.manual_seed(5)
mesh = ttml.mesh()

config = LlamaConfig(
    hidden_size=64, num_attention_heads=4, num_key_value_heads=4, num_hidden_layers=2, vocab_size=128,
    max_position_embeddings=32, use_tp=True, sequence_parallel=True,
)  # fmt: skip
with ttml.lazy_init():  # shapes only, so that no device ever holds a whole model
    model = Llama(config)
for block in model.blocks:
    ttml.fsdp.fully_shard(block)
ttml.fsdp.fully_shard(model)
ttml.materialize_module(model)

whole = ttml.common.utils.parameter_count(model)
own = sum(int(np.prod(tensor.shape())) for tensor in model.parameters().values())
optimizer = ttml.optimizers.create_optimizer({"type": "AdamW", "lr": 0.01}, model.parameters())
mask = ttml.autograd.Tensor.from_numpy(ttml.common.data.build_causal_mask(LENGTH))
rows = mesh.axis_mapper("fsdp", 0)
digest = hashlib.sha256()
for step in range(STEPS):
    text = np.random.default_rng(step).integers(0, 16, (BATCH, 1), np.uint32)
    text = (text + np.arange(LENGTH + 1, dtype=np.uint32)) % 128  # counting: what the model learns
    x, y = (np.ascontiguousarray(part) for part in (text[:, :-1].reshape(BATCH, 1, 1, LENGTH), text[:, 1:]))
    ids, targets = (
        ttml.autograd.Tensor.from_numpy(part, ttnn.Layout.ROW_MAJOR, ttnn.DataType.UINT32, rows)
        for part in (x, y)
    )
    optimizer.zero_grad()
    loss = ttml.ops.loss.cross_entropy_loss(model(ids, mask), targets)
    value = ttml.common.utils.get_loss_over_devices(loss)
    loss.backward()
    context.reset_graph()
    ttml.sync_gradients(model.parameters(), ("dp", "fsdp"))  # what is too small to be cut
    optimizer.step()
    digest.update(np.float32(value).tobytes())
    print(f"step {step}: loss {value:.4f}")

print(f"{whole:,} parameters, {own:,} of them on each of {mesh.num_devices()} devices")
print(f"losses sha256 {digest.hexdigest()[:16]}")
context.close_device()
