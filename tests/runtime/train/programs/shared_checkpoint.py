"""Two steps of Muon on a bfloat16 weight that is cut over the mesh, then one checkpoint that all ranks name: shared_checkpoint.py FILE."""

import hashlib
import sys

import ml_dtypes
import numpy as np
import ttml

ttml.open_device_mesh(ttml.Mesh((1, 2), ("_", "tp")))
draw = np.random.default_rng(3)
mapper = ttml.mesh().axis_mapper("tp", 2)


def cut(scale: float) -> ttml.autograd.Tensor:
    numbers = scale * draw.standard_normal((1, 1, 128, 64))
    return ttml.autograd.Tensor.from_numpy(numbers.astype(ml_dtypes.bfloat16), mapper=mapper)


parameters = {"weight": cut(1.0)}
optimizer = ttml.optimizers.Muon(parameters, ttml.optimizers.MuonConfig.make(lr=0.25))
for _ in range(2):
    optimizer.zero_grad()
    parameters["weight"].set_grad(cut(1e-3).get_value())
    optimizer.step()
ttml.checkpointing.save_checkpoint(sys.argv[1], model_params=parameters, optimizer=optimizer)
found = ttml.Sharding.from_tensor(parameters["weight"]).gather(parameters["weight"])
print(f"bits {hashlib.sha256(found.tobytes()).hexdigest()}", flush=True)
ttml.close_device_mesh()
