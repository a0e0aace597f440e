"""Reinforcement with completions made elsewhere: one rank trains, another makes completions; weights and tokens go through sockets.

    tt-run --emulate --system n300 --meshes 2 python examples/training/grpo_remote_rollout.py
    tt-run --emulate --rank-binding examples/training/grpo_2_6/rank_bindings.yaml python examples/training/grpo_remote_rollout.py

The first has two devices for each rank, the second two that train and six that make completions. One device of either mesh is joined to one
of the other, and what arrives is broadcast within the mesh, so the sizes of the meshes need not be related. The model learns to say "a".
"""

import hashlib

import numpy as np
import ttml
import ttnn
from ttml.common.data import CharTokenizer
from ttml.models.llama import Llama, LlamaConfig
from ttml.trainers import GRPOConfig, GRPOTrainer, ModelCompleter, TrainerCallback

TRAINER, ROLLOUT = 0, 1
GENERATIONS, PER_STEP, STEPS, LIMIT = 12, 1, 12, 6
PROMPTS = [{"prompt": text} for text in ("bc", "de", "fg", "ha") * (STEPS * PER_STEP // 4)]
CORE, ORIGIN = ttnn.CoreCoord(0, 0), ttnn.MeshCoordinate(0, 0)

context = ttml.autograd.AutoContext.get_instance()
context.initialize_distributed_context()
rank = context.get_distributed_context().rank()
rows, columns = ttnn.SystemMeshDescriptor().shape()
ttml.open_device_mesh(ttml.Mesh((1, rows * columns) if rows == 1 else (rows, columns), ("rows", "dp")))
device = context.get_device()
ttml.manual_seed(4)


def socket(sender, receiver):
    """The end of this rank of a connection between the first devices of two ranks."""
    one = ttnn.MeshCoreCoord(ORIGIN, CORE)
    memory = ttnn.SocketMemoryConfig(ttnn.BufferType.L1, 4096)
    config = ttnn.SocketConfig(
        [ttnn.SocketConnection(one, one)], memory, sender_rank=sender, receiver_rank=receiver
    )
    return ttnn.MeshSocket(device, config)


down, up = socket(TRAINER, ROLLOUT), socket(ROLLOUT, TRAINER)


def send(value, through):
    ttnn.experimental.send_async(value, through)


def receive(like, through):
    """What arrives at the first device, on every device of the mesh."""
    ttnn.experimental.recv_async(like, through)
    return ttnn.broadcast(like, ORIGIN)


def tokens(lists, width):
    """Token ids as a tensor, each list with its length in front."""
    table = np.zeros((1, 1, len(lists), width + 1), np.uint32)
    for row, own in enumerate(lists):
        table[0, 0, row, : len(own) + 1] = [len(own), *own]
    return ttml.autograd.Tensor.from_numpy(table, ttnn.Layout.ROW_MAJOR, ttnn.DataType.UINT32).get_value()


def lists(value):
    """The token ids of such a tensor."""
    return [row[1 : row[0] + 1].tolist() for row in ttml.autograd.Tensor(value, False).to_numpy()[0, 0]]


def weights(model):
    """Parameters in an order that both sides know."""
    return [tensor for _, tensor in sorted(model.parameters().items())]


tokenizer = CharTokenizer("abcdefgh", add_begin_end_tokens=False)
model = Llama(LlamaConfig(hidden_size=32, num_attention_heads=2, num_key_value_heads=2, num_hidden_layers=1, intermediate_size=32, vocab_size=32, max_position_embeddings=32))  # fmt: skip
local = ModelCompleter(model, tokenizer, num_generations=GENERATIONS, max_completion_length=LIMIT)


class RemoteCompleter(ModelCompleter):
    """Completions by the other rank, with the weights as they are now; log-probabilities here, where gradients are needed."""

    def generate(self, prompts):
        for tensor in weights(self.model):
            send(tensor.get_value(), down)
        send(tokens(prompts, 8), down)
        return lists(receive(tokens([[]] * (len(prompts) * GENERATIONS), LIMIT), up))


class Tell(TrainerCallback):
    def on_step_end(self, trainer, step, **facts):
        print(f"step {step}: reward {facts['reward_mean']:.3f}", flush=True)
        rewards.append(facts["reward_mean"])


rewards = []
if rank == TRAINER:
    remote = RemoteCompleter(model, tokenizer, num_generations=GENERATIONS, max_completion_length=LIMIT)
    config = GRPOConfig(
        per_device_train_batch_size=GENERATIONS * PER_STEP // device.get_num_devices(),
        num_generations=GENERATIONS, prompts_to_train=len(PROMPTS), max_completion_length=LIMIT,
    )  # fmt: skip
    trainer = GRPOTrainer(
        remote, PROMPTS, config, lambda completions: [text.count("a") / LIMIT for text in completions],
        {"type": "AdamW", "lr": 0.03}, [Tell()],
    )  # fmt: skip
    trainer.train()
    assert rewards[-1] > rewards[0] + 0.3, rewards
    parts = (np.ascontiguousarray(tensor.to_numpy()).tobytes() for tensor in weights(model))
    print(f"weights sha256 {hashlib.sha256(b''.join(parts)).hexdigest()[:16]}")
else:
    made = 0
    for _ in range(STEPS):
        for tensor in weights(model):
            tensor.set_value(receive(tensor.get_value(), down))
        prompts = lists(receive(tokens([[]] * PER_STEP, 8), down))
        completions = local.generate(prompts)
        send(tokens(completions, LIMIT), up)
        made += len(completions)
    print(f"made {made} completions on {device.get_num_devices()} devices")
ttnn.synchronize_device(device)
context.close_device()
