"""The smallest program over several hosts: every rank sends a tensor to rank 0, which adds them and reduces over its mesh.

./runner.sh --emulate                                                # two ranks here, no hardware
tt-run --emulate --system loudbox --meshes 2 python example.py
"""

import argparse
import sys

import numpy as np
import ttml
from ttml.common.config import ConfigError, DeviceConfig, load_config
from ttml.common.utils import initialize_device


def main():
    parser = argparse.ArgumentParser(description="Send, add, reduce.")
    parser.add_argument(
        "-c", "--config", help="training configuration whose device_config says the mesh [1x8]"
    )
    options = parser.parse_args()
    yaml = load_config(options.config) if options.config else {"device_config": {"mesh_shape": [1, 8]}}
    context = ttml.autograd.AutoContext.get_instance()
    context.initialize_distributed_context()
    world = context.get_distributed_context()
    rank, size = world.rank(), world.size()
    if size < 2:
        raise SystemExit(
            "this example needs at least two ranks; help: tt-run --emulate --system loudbox --meshes 2 python example.py"
        )
    context.initialize_socket_manager(ttml.core.distributed.SocketType.FABRIC)
    sockets = context.get_socket_manager()
    initialize_device(yaml)
    devices = DeviceConfig(yaml).total_devices()

    tensor = ttml.autograd.Tensor.from_numpy(
        np.full((1, 1, 1, 1024), rank + 1, np.float32), new_type=ttml.DataType.BFLOAT16
    )
    if rank > 0:
        sockets.send(tensor, world, 0)
    else:
        for other in range(1, size):
            received = sockets.recv(ttml.core.empty_like(tensor), world, other)
            tensor = ttml.ops.binary.add(tensor, received)
        expected = size * (size + 1) / 2
        check("sum over ranks", tensor, expected)
        check("sum over ranks and devices", ttml.ops.distributed.all_reduce(tensor), expected * devices)
    world.barrier()
    context.close_device()
    print(f"Rank {rank}: Finished", flush=True)
    return 0


def check(name, tensor, expected):
    composer = ttml.core.distributed.concat_mesh_to_tensor_composer(
        ttml.autograd.AutoContext.get_instance().get_device(), 0
    )
    values = tensor.to_numpy(composer=composer)
    if not np.all(values == expected):
        raise SystemExit(f"{name}: expected {expected} everywhere, got {np.unique(values)}")
    print(f"{name}: {expected} on all {values.shape[0]} devices", flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ConfigError, FileNotFoundError) as problem:
        sys.exit(f"error: {problem}")
