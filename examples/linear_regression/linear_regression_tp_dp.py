"""Linear regression with tensor and data parallelism together: rows of the mesh take parts of the batch, columns parts of the outputs.

    tt-run --emulate --system t3000 python examples/linear_regression/linear_regression_tp_dp.py
    tt-run --emulate --system t3000 --split 2x1 python examples/linear_regression/linear_regression_tp_dp.py

Order matters: open the device, initialise the parallelism context, then build the model.
"""

import sys

import numpy as np
import ttml

FEATURES, OUTPUTS, BATCH, STEPS = 64, 32, 64, 60


def main():
    context = ttml.autograd.AutoContext.get_instance()
    ttml.core.distributed.enable_fabric(8)
    context.open_device([2, 4])
    context.initialize_parallelism_context(ttml.autograd.DistributedConfig(enable_ddp=True, enable_tp=True))
    parallelism, device = context.get_parallelism_context(), context.get_device()
    context.set_seed(42)

    model = ttml.modules.ColumnParallelLinear(FEATURES, OUTPUTS, gather_output=True)
    optimizer = ttml.optimizers.SGD(model.parameters(), ttml.optimizers.SGDConfig.make(lr=0.5, momentum=0.9))
    cut = ttml.core.distributed.shard_tensor_to_mesh_mapper(device, 0, parallelism.get_ddp_axis())

    draw = np.random.default_rng(0)
    truth = draw.standard_normal((FEATURES, OUTPUTS), np.float32)
    for step in range(STEPS):
        x = draw.standard_normal((BATCH, 1, 1, FEATURES), np.float32)
        inputs, targets = (ttml.autograd.Tensor.from_numpy(a, mapper=cut) for a in (x, x @ truth))
        optimizer.zero_grad()
        loss = ttml.ops.loss.mse_loss(model(inputs), targets)
        loss.backward()
        # Each row of the mesh saw its part of the batch; the mean over rows is the gradient of all of it.
        ttml.core.distributed.synchronize_gradients(model.parameters())
        optimizer.step()
        context.reset_graph()
        value = ttml.common.utils.get_loss_over_devices(loss)
        if step % 10 == 0 or step + 1 == STEPS:
            print(f"step {step + 1}: loss {value:.4f}", flush=True)
    context.close_device()
    return 0 if value < 1.0 else f"the loss is {value:.4f} after {STEPS} steps"


if __name__ == "__main__":
    sys.exit(main())
