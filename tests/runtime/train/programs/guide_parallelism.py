"""The Python of the "Distributed Training Guide" and what its troubleshooting section says goes wrong, on a Galaxy of 4x8."""

import numpy as np
import ttml
from ttml.autograd import DistributedConfig
from ttml.common.config import load_config
from ttml.common.utils import initialize_device

autograd_ctx = ttml.autograd.AutoContext.get_instance()


def says(call, *words):
    """Print the error of a call."""
    try:
        call(*words)
    except Exception as error:
        print(f"error {type(error).__name__}: {error}")
    else:
        print("error none")


says(autograd_ctx.get_parallelism_context)
for shape in ([1, 32], [32, 1], [4], "4x8", [5, 8]):
    says(autograd_ctx.open_device, shape)
says(autograd_ctx.open_device, [1, 2], [0, 99])
mesh_rows, mesh_cols = 4, 8
autograd_ctx.open_device([mesh_rows, mesh_cols])
says(autograd_ctx.open_device, [1, 1])
says(autograd_ctx.initialize_parallelism_context, DistributedConfig(enable_ddp=True))
says(
    autograd_ctx.initialize_parallelism_context,
    DistributedConfig(enable_ddp=True, enable_tp=True, enable_cp=True),
)
says(ttml.modules.ColumnParallelLinear, 4, 8)
says(ttml.models.distributed.llama.create_llama_model, ttml.models.llama.LlamaConfig(num_blocks=1))

# Initialize ONCE
autograd_ctx.initialize_parallelism_context(DistributedConfig(enable_ddp=True, enable_tp=True))

says(autograd_ctx.initialize_parallelism_context, DistributedConfig(enable_ddp=True, enable_tp=True))
context = autograd_ctx.get_parallelism_context()
print("axes", context.get_ddp_axis(), context.get_ddp_size(), context.get_tp_axis(), context.get_tp_size())
says(ttml.modules.ColumnParallelLinear, 4, 12)
says(ttml.modules.RowParallelLinear, 12, 4)
says(autograd_ctx.get_distributed_context)
says(autograd_ctx.get_socket_manager)
mapper = ttml.core.distributed.shard_tensor_to_mesh_mapper(autograd_ctx.get_device(), 0, 0)
cut = ttml.autograd.Tensor.from_numpy(np.arange(8, dtype=np.float32).reshape(8, 1, 1, 1), mapper=mapper)
print("shape", cut.shape())
says(cut.to_numpy)
autograd_ctx.close_device()

config = load_config("configs/training_configs/training_llama8b_tp_ddp_galaxy.yaml")
print("batch", config["training_config"]["batch_size"])
initialize_device(config)
print("mesh", list(autograd_ctx.get_device().shape))
autograd_ctx.close_device()
for rows, columns in ([1, 8], [8, 4], [1, 1]):
    autograd_ctx.open_device([rows, columns])
    print("opened", list(autograd_ctx.get_device().shape))
    autograd_ctx.close_device()
