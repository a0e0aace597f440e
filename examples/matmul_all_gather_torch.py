"""The PyTorch twin of matmul_all_gather.py: every copy between devices is written out by hand.

    python examples/matmul_all_gather_torch.py

Section 9.2 of "Programming Mesh of Devices with TT-NN"; on a machine with fewer than two GPUs both devices are the CPU.
"""

import numpy as np
import torch
from arrays import correlation

# Check available GPUs
num_gpus = 2
devices = [
    torch.device(f"cuda:{i}" if torch.cuda.device_count() >= num_gpus else "cpu") for i in range(num_gpus)
]

# Create input tensors, those of the TT-NN program
rng = np.random.default_rng(9)
values_a = rng.standard_normal((1, 1, 128, 128), np.float32)
values_b = rng.standard_normal((1, 1, 128, 256), np.float32)
torch_input_a = torch.from_numpy(values_a).to(torch.bfloat16)
torch_input_b = torch.from_numpy(values_b).to(torch.bfloat16)

# Replicate input A on all devices
replicated_a = [torch_input_a.to(device) for device in devices]

# Manually shard input B across devices (columns)
shard_size = 256 // num_gpus
sharded_b = []
for i in range(num_gpus):
    start_idx = i * shard_size
    end_idx = start_idx + shard_size
    sharded_b.append(torch_input_b[:, :, :, start_idx:end_idx].to(devices[i]))

# Perform matrix multiplication on each device
outputs = [torch.matmul(a, b) for a, b in zip(replicated_a, sharded_b, strict=True)]

# Manual all-gather: copy all outputs to first device
gathered = [output.to(devices[0]) for output in outputs]

# Concatenate gathered outputs along the column dimension to complete all-gather
final_result = torch.cat(gathered, dim=3)

pcc = correlation(values_a @ values_b, final_result.float().cpu().numpy())
assert final_result.shape == (1, 1, 128, 256)
assert pcc > 0.999, pcc
print(f"one device holds {tuple(final_result.shape)}, correlation with NumPy float32 {pcc:.6f}")
