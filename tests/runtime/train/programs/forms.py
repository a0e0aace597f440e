"""Train a small Llama for 8 steps in one form of parallelism; print every loss, and whole parameters into a file.

forms.py FORM OPTIMIZER FILE     FORM, behind "halves_" if each batch is to go through in two: single, ddp, tp, ddp_tp, pp, pp_tp, pp_ddp, pp_ddp_tp, pp_fsdp, pp_sp, pp_cp, zigzag_cp_tp, pp_zigzag_cp, ddp_drop (with dropout, in bfloat16); the mesh is the rank's whole system
"""

import sys

import numpy as np
import ttml
import ttnn
from ttml.common.data import build_causal_mask

from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter

FORM, OPTIMIZER, FILE = sys.argv[1:4]
PARTS = 2 if FORM.startswith("halves_") else 1
FORM = FORM.removeprefix("halves_")
STEPS, BATCH, LENGTH, VOCABULARY = 8, 8, 32, 256
autograd, ops = ttml.autograd, ttml.ops

context = autograd.AutoContext.get_instance()
# Dropout masks follow from the shape of a shard, so that form is compared with itself on other splits only, and in bfloat16.
DROPS = "drop" in FORM
context.set_arithmetic("bfloat16" if DROPS else "float32")
pipeline = FORM.startswith("pp")
TENSOR = FORM.endswith(("tp", "_sp"))
rank, size = 0, 1
if pipeline:
    context.initialize_distributed_context()
    context.initialize_socket_manager(ttml.core.distributed.SocketType.MPI)
    world = context.get_distributed_context()
    rank, size = world.rank(), world.size()
shape = ttnn._ttnn.multi_device.SystemMeshDescriptor().shape()
FSDP = "fsdp" in FORM
if FSDP:
    ttml.open_device_mesh(ttml.Mesh(tuple(shape), ("_", "fsdp")))
else:
    context.open_device([1, 1] if FORM == "single" else list(shape))
    context.initialize_parallelism_context(
        autograd.DistributedConfig(
            enable_ddp="ddp" in FORM,
            enable_tp=TENSOR,
            enable_cp="cp" in FORM,
            cp_layout="zigzag" if "zigzag" in FORM else "contiguous",
        )
    )
context.set_seed(7)
config = ttml.models.llama.LlamaConfig(
    dropout_prob=0.2 if DROPS else 0.0,
    num_heads=8,
    num_groups=8,
    embedding_dim=64,
    intermediate_dim=128,
    num_blocks=4,
    vocab_size=VOCABULARY,
    max_sequence_length=LENGTH,
    sequence_parallel=FORM.endswith("_sp"),
)
if pipeline:
    stages = ttml.models.distributed.pipeline_parallel.PipelineParallelConfig(
        4, dict.fromkeys(range(size), 4 // size)
    )
    model = ttml.models.distributed.pipeline_parallel.llama.create_llama_model(config, stages, TENSOR)
elif TENSOR:
    model = ttml.models.distributed.llama.create_llama_model(config)
else:
    model = ttml.models.llama.create_llama_model(config)
if FSDP:
    for name, block in model.named_children():
        if "block" in name:
            ttml.fsdp.fully_shard(block)
    ttml.fsdp.fully_shard(model)
parameters = model.parameters()
if OPTIMIZER == "sgd":
    optimizer = ttml.optimizers.SGD(parameters, ttml.optimizers.SGDConfig.make(lr=0.1, momentum=0.9))
else:
    optimizer = ttml.optimizers.AdamW(parameters, ttml.optimizers.AdamWConfig.make(lr=1e-3, epsilon=1e-4))

device = context.get_device()
cut = None
if FSDP:
    cut = ttml.mesh().axis_mapper("fsdp", 0)
elif (parallelism := context.get_parallelism_context()).get_ddp_size() > 1:
    cut = ttml.core.distributed.shard_tensor_to_mesh_mapper(device, 0, parallelism.get_ddp_axis())
POSITIONS = None if FSDP else parallelism.get_cp_axis()


def ids(array, form):
    where = cut
    if POSITIONS is not None:
        where = ttml.core.distributed.shard_tensor_to_mesh_mapper(device, len(form) - 1, POSITIONS)
        if "zigzag" in FORM:
            count = parallelism.get_cp_size()
            stretches = np.split(array, 2 * count, axis=-1)
            array = np.concatenate(
                [stretches[i] for first in range(count) for i in (first, 2 * count - 1 - first)], axis=-1
            )
    return autograd.Tensor.from_numpy(
        array.reshape(form), layout=ttnn.Layout.ROW_MAJOR, new_type=ttnn.DataType.UINT32, mapper=where
    )


mask = autograd.Tensor.from_numpy(build_causal_mask(LENGTH))
draw = np.random.default_rng(11)
for _ in range(STEPS):
    text = draw.integers(0, VOCABULARY, (BATCH, LENGTH + 1)).astype(np.uint32)
    optimizer.zero_grad()
    total = 0.0
    for part in np.split(text, PARTS):
        rows = len(part)
        out = model(ids(part[:, :-1].copy(), (rows, 1, 1, LENGTH)), mask)
        if rank == size - 1:
            loss = ops.loss.cross_entropy_loss(out, ids(part[:, 1:].copy(), (rows, LENGTH)))
            loss = ops.binary.mul(loss, 1.0 / PARTS) if PARTS > 1 else loss
            total += ttml.common.utils.get_loss_over_devices(loss)
            loss.backward(False)
        else:
            out.backward(False)
        context.reset_graph()
    if rank == size - 1:
        print(f"loss {total!r}", flush=True)
    if not FSDP:
        ttml.core.distributed.synchronize_gradients(parameters)
    optimizer.step()

# Without the root's name a stage of a pipeline and a whole model call a parameter the same.
arrays = {name.split("/", 1)[1]: whole_parameter(tensor) for name, tensor in parameters.items()}
first_of_mesh = (
    pipeline or not ttnn.using_distributed_env() or int(ttnn.distributed_context_world_rank()) == 0
)
if first_of_mesh:
    np.savez(f"{FILE}.{rank}.npz", **arrays)
