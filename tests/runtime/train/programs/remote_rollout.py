"""Train by reinforcement with completions of another rank: rank 0 trains, rank 1 serves a sampler of its own; then both print their weights.

remote_rollout.py SOURCE KIND SYNC [MODE]     a Hugging Face directory, llama or qwen3, and after how many steps weights are sent

With MODE "both", both ranks make the trainer, which knows its part by the rank.
"""

import hashlib
import sys

import numpy as np
import ttml
from ttml.common.config import DeviceConfig, TransformerConfig
from ttml.trainers import GRPOConfig, GRPOTrainer, TrainerCallback
from ttml.trainers.grpo_trainer import RemoteRolloutConfig, TTMLRolloutSampler
from ttml.trainers.grpo_trainer.grpo_ttml_model import setup_ttml_model
from ttml.trainers.grpo_trainer.remote_rollout.mpi_rollout import MPIRolloutServer
from ttml.trainers.grpo_trainer.remote_rollout.weight_bridge import TTML_RANK, HostWeightBridge

SOURCE, KIND, SYNC = sys.argv[1], sys.argv[2], int(sys.argv[3])
MODE = sys.argv[4] if len(sys.argv) > 4 else "own"
LIMIT, GENERATIONS = 4, 4
sizes = {"model_type": KIND, "num_heads": 4, "num_groups": 2, "embedding_dim": 64, "intermediate_dim": 96, "num_blocks": 2, "max_sequence_length": 64}  # fmt: skip
form = TransformerConfig({"transformer_config": sizes})
device = DeviceConfig({"device_config": {"mesh_shape": [1, 2], "enable_ddp": True}})
context = ttml.autograd.AutoContext.get_instance()
context.set_arithmetic("float32")
context.initialize_distributed_context(*sys.argv)
rank = context.get_distributed_context().rank()


class Tell(TrainerCallback):
    def on_step_end(self, trainer, step, **facts):
        print(f"version {facts['rollout_weight_version']}", flush=True)


if rank == TTML_RANK or MODE == "both":
    remote = RemoteRolloutConfig([1, 2], 8, 64)
    config = GRPOConfig(
        per_device_train_batch_size=4, num_generations=GENERATIONS, prompts_to_train=8, max_completion_length=LIMIT,
        rollout_source="ttt", rollout_mode="remote_sync", weight_sync_every=SYNC, remote_rollout=remote,
    )  # fmt: skip
    rows = [{"prompt": text} for text in ("a b c", "d e f", "g h i", "j k l")] * 2
    trainer = GRPOTrainer(
        form, device, SOURCE, lambda: rows, config,
        lambda completions: [float(len(text) % 3) for text in completions],
        {"type": "SGD", "lr": 0.5}, [Tell()],
    )  # fmt: skip
    trainer.train()
    model = trainer.model
else:
    model, tokenizer = setup_ttml_model(form, device, SOURCE)
    sampler = TTMLRolloutSampler(model, tokenizer, LIMIT, 0.0, GENERATIONS)
    mesh = context.get_device()
    bridge = HostWeightBridge.init_receiver(mesh=mesh, peer_rank=TTML_RANK, submeshes=[mesh])
    MPIRolloutServer(peer_rank=TTML_RANK, bridge=bridge, sampler=sampler).serve_forever()
if model is None:
    print(
        f"served {trainer.rollout_sampler.weight_version} {len(trainer.rollout_sampler.submeshes)}",
        flush=True,
    )
    sys.exit()
parts = (np.ascontiguousarray(t.to_numpy()).tobytes() for _, t in sorted(model.parameters().items()))
print(f"weights {hashlib.sha256(b''.join(parts)).hexdigest()[:16]}")
context.close_device()
