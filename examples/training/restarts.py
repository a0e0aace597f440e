"""A training that survives its ranks: a checkpoint every few steps, and a failed run goes on from the last one that every rank has.

    tt-run --emulate --system n300 --split 1x2 --max-restarts 3 --inject kill=rank:1,op=all_reduce,nth=26 \
        python examples/training/restarts.py /tmp/checkpoints

Random faults, twenty times over:

    tt-run chaos --runs 20 --same-end -- --emulate --system n300 --split 1x2 --max-restarts 3 \
        python examples/training/restarts.py {folder}

Whatever ends a rank on the way, the last line is that of a run that nothing has disturbed.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np
import ttml
import ttnn
from ttml.modules import AbstractModuleBase, LinearLayer

STEPS, EVERY, FEATURES = 20, 4, 64


class Network(AbstractModuleBase):
    def __init__(self):
        super().__init__()
        self.first, self.second = LinearLayer(FEATURES, 64), LinearLayer(64, 32)

    def forward(self, x):
        return self.second(ttml.ops.unary.gelu(self.first(x)))


context = ttml.autograd.AutoContext.get_instance()
ttml.open_device_mesh(ttml.Mesh((1, 2), ("_", "dp")))
rank, ranks = int(ttnn.distributed_context_get_rank()), int(ttnn.distributed_context_get_size())
ttml.manual_seed(0)
halves, model = ttml.mesh().axis_mapper("dp", 0), Network()
optimizer = ttml.optimizers.AdamW(model.parameters(), ttml.optimizers.AdamWConfig.make(lr=0.003))
folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)


def saved_steps(rank):
    return {int(path.stem.partition("-")[2]) for path in folder.glob(f"rank{rank}-*.checkpoint")}


# A rank may have ended while others had saved a step more: what counts is what all have.
common = set.intersection(*(saved_steps(each) for each in range(ranks)))
begun = max(common, default=0)
if begun:
    ttml.checkpointing.load_checkpoint(
        str(folder / f"rank{rank}-{begun}.checkpoint"), model_params=model.parameters(), optimizer=optimizer
    )
    print(f"rank {rank} goes on after step {begun}", flush=True)
target = np.random.default_rng(1).standard_normal((FEATURES, 32), np.float32)
for step in range(begun, STEPS):
    x = np.random.default_rng((2, step)).standard_normal((64, 1, 1, FEATURES), np.float32)
    y = np.tanh(x @ target / 8)
    inputs, wanted = (
        ttml.autograd.Tensor.from_numpy(values, new_type=ttnn.DataType.BFLOAT16, mapper=halves)
        for values in (x, y)
    )
    optimizer.zero_grad()
    loss = ttml.ops.loss.mse_loss(model(inputs), wanted)
    loss.backward()
    context.reset_graph()
    ttml.sync_gradients(model.parameters())
    optimizer.step()
    if (step + 1) % EVERY == 0:
        ttml.checkpointing.save_checkpoint(
            str(folder / f"rank{rank}-{step + 1}.checkpoint"),
            model_params=model.parameters(),
            optimizer=optimizer,
        )
digest = hashlib.sha256()
for _, parameter in sorted(model.parameters().items()):
    digest.update(parameter.to_numpy(ttnn.DataType.FLOAT32).tobytes())
average = ttml.common.utils.get_loss_over_devices(loss)
if rank == 0:
    print(f"loss {average:.6f}, parameters {digest.hexdigest()[:16]}", flush=True)
context.close_device()
