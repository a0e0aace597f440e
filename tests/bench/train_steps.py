"""Programs of the training benchmark, each a process of its own: `python -m tests.bench.train_steps WHAT ROUNDS` prints one JSON object.

step-nanogpt-float32, step-llama-bfloat16, …: ours and torch eager in turn, CPU seconds of a step. ddp8: eight devices and one, the same total batch.
memory-llama-bfloat16, …: peak of a step and the tracker's sum. ranks: tokens/s of this rank's job (run by tt-run). gloo: the same of torch DDP.
layers: seconds of a small step over a Galaxy (run by tt-run).
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

BATCH, LENGTH, WIDTH, BLOCKS, HEADS, VOCABULARY = 4, 128, 384, 6, 6, 96
GROUPS, INNER = 3, 1024  # of the Llama
RATE = 3e-4


def windows(batch: int = BATCH) -> np.ndarray:
    return np.random.default_rng(0).integers(0, VOCABULARY, (batch, LENGTH + 1)).astype(np.uint32)


def our_model(kind: str) -> Any:
    """The model in the open context."""
    from tt_run.runtime.train.models.gpt import NanoGPTConfig, create_nanogpt
    from tt_run.runtime.train.models.llama import LlamaConfig, create_llama_model
    from tt_run.runtime.train.models.runner import WeightTyingType

    if kind == "llama":
        sizes = {"num_blocks": BLOCKS, "vocab_size": VOCABULARY, "max_sequence_length": LENGTH}
        return create_llama_model(LlamaConfig(HEADS, GROUPS, WIDTH, INNER, **sizes))
    return create_nanogpt(
        NanoGPTConfig(VOCABULARY, LENGTH, WIDTH, BLOCKS, HEADS, 0.2, weight_tying=WeightTyingType.Enabled)
    )


def our_step(
    devices: int, arithmetic: str, batch: int = BATCH, on_phase: Any = None, kind: str = "nanogpt"
) -> Callable[[], float]:
    """A step of a model on a mesh [1, devices] in a context of its own."""
    from tt_run.runtime.train.autograd.context import AutoContext
    from tt_run.runtime.train.autograd.parallelism import DistributedConfig
    from tt_run.runtime.train.common.trainer import Trainer
    from tt_run.runtime.train.optimizers.adamw import AdamW, AdamWConfig

    context = AutoContext._instance = AutoContext()
    context.set_arithmetic(arithmetic)
    context.open_device([1, devices])
    context.initialize_parallelism_context(DistributedConfig(enable_ddp=devices > 1))
    context.set_seed(1)
    model = our_model(kind)
    optimizer = AdamW(model.parameters(), AdamWConfig.make(lr=RATE))
    trainer = Trainer(model, optimizer, sequence_length=LENGTH, batch_size=batch)
    trainer.on_phase = on_phase
    text = windows(batch)

    def step() -> float:
        AutoContext._instance = context
        return trainer.step(lambda: (text[:, :-1].copy(), text[:, 1:].copy()))[0]

    return step


def torch_model() -> Any:
    """The same model in torch eager."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.fc1, self.fc2 = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            q, k, v = (
                t.view(batch, length, HEADS, -1).transpose(1, 2) for t in self.qkv(self.ln1(x)).chunk(3, -1)
            )
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + functional.dropout(self.out(mixed.transpose(1, 2).reshape(x.shape)), 0.2)
            return x + functional.dropout(self.fc2(functional.gelu(self.fc1(self.ln2(x)))), 0.2)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.blocks = nn.ModuleList([Block() for _ in range(BLOCKS)])
            self.ln_f = nn.LayerNorm(WIDTH)

        def forward(self, ids: Any) -> Any:
            x = functional.dropout(self.wte(ids) + self.wpe(torch.arange(ids.shape[1])), 0.2)
            for block in self.blocks:
                x = block(x)
            return self.ln_f(x) @ self.wte.weight.T

    return Model()


def torch_llama() -> Any:
    """The same Llama in torch eager."""
    import torch
    from torch import nn
    from torch.nn import functional

    each = WIDTH // HEADS
    angles = torch.outer(torch.arange(LENGTH).float(), 10000.0 ** (-torch.arange(0, each, 2).float() / each))
    turn = torch.polar(torch.ones_like(angles), angles)

    def turned(x: Any) -> Any:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turn).flatten(-2)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.RMSNorm(WIDTH, 1e-5), nn.RMSNorm(WIDTH, 1e-5)
            self.q, self.out = nn.Linear(WIDTH, WIDTH, False), nn.Linear(WIDTH, WIDTH, False)
            self.kv = nn.Linear(WIDTH, 2 * GROUPS * each, False)
            self.w1, self.w3 = nn.Linear(WIDTH, INNER, False), nn.Linear(WIDTH, INNER, False)
            self.w2 = nn.Linear(INNER, WIDTH, False)

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            seen = self.norm1(x)
            q = turned(self.q(seen).view(batch, length, HEADS, each).transpose(1, 2))
            k, v = (t.view(batch, length, GROUPS, each).transpose(1, 2) for t in self.kv(seen).chunk(2, -1))
            mixed = functional.scaled_dot_product_attention(q, turned(k), v, is_causal=True, enable_gqa=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
            seen = self.norm2(x)
            return x + self.w2(functional.silu(self.w1(seen)) * self.w3(seen))

    blocks = [Block() for _ in range(BLOCKS)]
    ends = nn.RMSNorm(WIDTH, 1e-5), nn.Linear(WIDTH, VOCABULARY, False)
    return nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), *blocks, *ends)


def torch_step(
    batch: int = BATCH, wrap: Callable[[Any], Any] = lambda model: model, kind: str = "nanogpt"
) -> Callable[[], float]:
    import torch

    torch.set_num_threads(1)
    model = wrap(torch_llama() if kind == "llama" else torch_model())
    optimizer = torch.optim.AdamW(model.parameters(), RATE)
    text = torch.tensor(windows(batch).astype(np.int64))

    def step() -> float:
        optimizer.zero_grad()
        out = model(text[:, :-1]).reshape(-1, VOCABULARY)
        loss = torch.nn.functional.cross_entropy(out, text[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


def in_turn(a: Callable[[], object], b: Callable[[], object], rounds: int) -> list[list[float]]:
    """CPU seconds of both, pair by pair, after two steps of warming up."""
    pairs = []
    for turn in range(rounds + 2):
        times = {}
        for name, call in (("a", a), ("b", b))[:: 1 if turn % 2 else -1]:
            started = time.process_time()
            call()
            times[name] = time.process_time() - started
        pairs.append([times["a"], times["b"]])
    return pairs[2:]


def memory(kind: str, arithmetic: str) -> dict[str, float]:
    """Bytes of the third step's peak above what was there before the model, and the tracker's peak for the same."""
    import tracemalloc

    import tt_run.runtime.ops
    from tt_run.runtime.train.memory import MemoryUsageTracker

    tracemalloc.start()
    guard = MemoryUsageTracker.begin_capture()
    step = our_step(1, arithmetic, kind=kind)
    before = tracemalloc.get_traced_memory()[0]
    step()
    step()
    MemoryUsageTracker.snapshot("WARM")
    tracemalloc.reset_peak()
    step()
    MemoryUsageTracker.end_capture("STEP")
    guard.release()
    assert before and tt_run.runtime.ops
    return {
        "real": float(tracemalloc.get_traced_memory()[1]),
        "tracked": float(MemoryUsageTracker.get_dram_peak()),
    }


def rate(step: Callable[[], object], rounds: int, tokens: int) -> float:
    """Tokens per second of wall time, the median of steps."""
    times = []
    for _ in range(rounds + 2):
        started = time.perf_counter()
        step()
        times.append(time.perf_counter() - started)
    return tokens / statistics.median(times[2:])


def gloo_rank(rank: int, port: int, rounds: int) -> None:
    """One of two torch DDP processes of one thread; the first prints."""
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    found = rate(torch_step(BATCH, DistributedDataParallel), rounds, 2 * BATCH * LENGTH)
    if rank == 0:
        print(json.dumps({"rate": found}), flush=True)
    dist.destroy_process_group()


def gloo(rounds: int) -> None:
    import socket

    import torch.multiprocessing as spawning

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    spawning.spawn(gloo_rank, args=(port, rounds), nprocs=2)


def layers(rounds: int) -> float:
    """Seconds of the quickest step of four layers of 128 x 128 over a Galaxy, 8 ways of data by 4 of copies, as the rank sees it."""
    from importlib import import_module

    from tt_run.runtime.mesh.distributed import distributed_context_barrier, using_distributed_env

    ttml: Any = import_module("ttml")  # there in ranks alone
    ttml.open_device_mesh(ttml.Mesh((8, 4), ("dp", "tp")))
    ttml.manual_seed(0)
    stack = [ttml.modules.LinearLayer(128, 128) for _ in range(4)]
    parameters = {
        f"{n}/{key}": value for n, each in enumerate(stack) for key, value in each.parameters().items()
    }
    optimizer = ttml.optimizers.SGD(parameters, ttml.optimizers.SGDConfig.make(lr=0.01))
    data = np.random.default_rng(0).standard_normal((32, 1, 32, 128), np.float32)
    batch = ttml.autograd.Tensor.from_numpy(data, mapper=ttml.mesh().axis_mapper("dp", 0))
    times = []
    for _ in range(rounds + 2):
        started = time.perf_counter()
        optimizer.zero_grad()
        found = batch
        for layer in stack:
            found = layer(found)
        ttml.ops.unary.mean(found).backward()
        ttml.autograd.AutoContext.get_instance().reset_graph()
        ttml.sync_gradients(parameters)
        optimizer.step()
        if using_distributed_env():
            distributed_context_barrier()
        times.append(time.perf_counter() - started)
    return min(times[2:])


def main() -> None:
    what, rounds = sys.argv[1], int(sys.argv[2])
    if what.startswith("step-"):
        _, kind, arithmetic = what.split("-")
        ours, theirs = our_step(1, arithmetic, kind=kind), torch_step(kind=kind)
        print(json.dumps({"pairs": in_turn(ours, theirs, rounds)}))
    elif what == "ddp8":
        # Eight sequences: one for each device.
        print(json.dumps({"pairs": in_turn(our_step(8, "float32", 8), our_step(1, "float32", 8), rounds)}))
    elif what.startswith("memory-"):
        print(json.dumps(memory(*what.split("-")[1:])))
    elif what == "gloo":
        gloo(rounds)
    elif what == "layers":
        print(f"seconds {layers(rounds)!r}", flush=True)
    else:
        found = rate(our_step(2, "float32", 2 * BATCH), rounds, 2 * BATCH * LENGTH)
        print(f"rate {found!r}", flush=True)


if __name__ == "__main__":
    main()
