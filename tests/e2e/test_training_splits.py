"""Training gives the same bits on any split over ranks: each kind of decoder, data-parallel with clipping and Muon, and the other parallel forms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.launch import tt_run
from tests.runtime.train.trainers.source import source

pytestmark = pytest.mark.wide


def weights(
    folder: Path,
    text: str,
    *words: object,
    system: str = "t3000",
    splits: Sequence[str] = ("1x1", "2x1", "2x2"),
) -> list[str]:
    """What a program prints of its weights, the same on each split."""
    program = folder / "program.py"
    program.write_text(text)
    launch = ("--emulate", "--no-prefix", "--system", system)
    first, *others = (
        sorted(
            {
                line
                for line in tt_run(*launch, "--split", split, "python", program, *words, timeout=100)
                .check()
                .out.splitlines()
                if "sha256" in line
            }
        )
        for split in splits
    )
    for split, found in zip(splits[1:], others, strict=True):
        assert found == first, split
    return first


PROGRAM = """
import hashlib, sys
import numpy as np, ttml, ttnn
from ttml.models import deepseek, llama, qwen3

context = ttml.autograd.AutoContext.get_instance()
LLAMA = dict(hidden_size=64, num_attention_heads=4, num_hidden_layers=1, vocab_size=64, attention_bias=True)
DEEPSEEK = dict(vocab_size=64, dim=64, inter_dim=64, moe_inter_dim=32, n_layers=2, n_dense_layers=1, n_heads=2, n_routed_experts=4,
    max_seq_len=32, q_lora_rank=16, kv_lora_rank=16)
FORMS = {  # names of the axes of the 2x4 mesh, the model, where sequences and positions are cut
    "llama": (("rows", "dp"), lambda: llama.Llama(llama.LlamaConfig(**LLAMA, attention_dropout=0.1)), "dp", None),
    "qwen3": (("rows", "dp"), lambda: qwen3.Qwen3(qwen3.Qwen3Config(vocab_size=64, hidden_size=64, intermediate_size=64,
        num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, head_dim=32, max_position_embeddings=32)), "dp", None),
    "deepseek": (("rows", "dp"), lambda: deepseek.DeepSeek(deepseek.DeepSeekConfig(**DEEPSEEK)), "dp", None),
    "sharded": (("fsdp", "tp"), lambda: llama.Llama(llama.LlamaConfig(**LLAMA, num_key_value_heads=4, use_tp=True,
        sequence_parallel=True)), "fsdp", None),
    "context": (("dp", "cp"), lambda: llama.Llama(llama.LlamaConfig(**LLAMA)), "dp", "cp"),
    "experts": (("dp", "ep"), lambda: deepseek.DeepSeek(deepseek.DeepSeekConfig(**DEEPSEEK, moe_type="sparse_ep",
        moe_axis_name="ep")), "dp", None),
}

def train(name):
    axes, make, data, positions = FORMS[name]
    ttml.open_device_mesh(ttml.Mesh((2, 4), axes))
    ttml.manual_seed(3)
    model = make()
    if "fsdp" in axes:
        ttml.fsdp.fully_shard(model, replicate_params=["norm", "bias"])
    muon = len(sys.argv) == 2 and name in ("llama", "qwen3", "deepseek")
    settings = {"type": "MuonWithAdamW"} if muon else {"type": "AdamW", "lr": 0.01}
    optimizer = ttml.optimizers.create_optimizer(settings, model.parameters())
    mask = ttml.autograd.Tensor.from_numpy(ttml.common.data.build_causal_mask(32))

    def placed(array):
        shards = {data: ttnn.PlacementShard(0), positions: ttnn.PlacementShard(array.ndim - 1)}
        config = ttnn.MeshMapperConfig([shards.get(axis, ttnn.PlacementReplicate()) for axis in axes])
        mapper = ttnn.create_mesh_mapper(context.get_device(), config)
        return ttml.autograd.Tensor.from_numpy(array, ttnn.Layout.ROW_MAJOR, ttnn.DataType.UINT32, mapper)

    for step in range(2):
        draw = np.random.default_rng(step).integers(0, 64, (8, 33), np.uint32)
        x, y = placed(np.ascontiguousarray(draw[:, :-1]).reshape(8, 1, 1, 32)), placed(np.ascontiguousarray(draw[:, 1:]))
        optimizer.zero_grad()
        ttml.ops.loss.cross_entropy_loss(model(x, mask), y).backward()
        context.reset_graph()
        ttml.sync_gradients(model.parameters(), ("dp", "fsdp", "cp"))
        ttml.core.clip_grad_norm(model.parameters(), 1.0)
        for mixture in model.get_moe_layers() if isinstance(model, deepseek.DeepSeek) else ():
            mixture.update_expert_bias()
        optimizer.step()
    digest = hashlib.sha256()
    for _, tensor in sorted(model.parameters().items()):
        digest.update(ttml.Sharding.from_tensor(tensor).gather(tensor).tobytes())
    print("weights sha256", name, digest.hexdigest()[:16])
    ttml.close_device_mesh()

for name in sys.argv[1:]:
    train(name)
"""


@pytest.mark.parametrize(
    "models",
    [
        ("deepseek", "sharded", "context", "experts"),
        *(pytest.param((name,), marks=pytest.mark.slow) for name in ("deepseek", "llama", "qwen3")),
    ],
    ids="-".join,
)
def test_training_gives_the_same_bits_on_any_split(tmp_path: Path, models: tuple[str, ...]) -> None:
    assert len(weights(tmp_path, PROGRAM, *models)) == len(models)


GRPO = """
import hashlib, sys
import ttml
from ttml.common.config import DeviceConfig, TransformerConfig
from ttml.trainers import GRPOConfig, GRPOTrainer

model = {"model_type": "qwen3", "max_sequence_length": 64}
device = {"mesh_shape": [2, 4], "enable_ddp": True, "enable_fsdp": True, "lazy_parameter_init": True}
rows = [{"prompt": text} for text in ("a b c", "d e", "f g h i j", "k l")]
ttml.manual_seed(5)
trainer = GRPOTrainer(TransformerConfig({"transformer_config": model}), DeviceConfig({"device_config": device}), sys.argv[1],
    lambda: rows, GRPOConfig(per_device_train_batch_size=1, num_generations=4, prompts_to_train=4, num_iterations=2,
    max_completion_length=5), lambda completions: [float(len(set(text))) for text in completions], {"type": "AdamW", "lr": 0.01})
trainer.train()
digest = hashlib.sha256()
for _, tensor in sorted(trainer.model.parameters().items()):
    digest.update(ttml.Sharding.from_tensor(tensor).gather(tensor).tobytes())
print("weights sha256", digest.hexdigest()[:16], trainer.steps)
"""


@pytest.mark.torch
@pytest.mark.timeout(300)
def test_grpo_from_a_source_gives_the_same_bits_on_any_split(tmp_path: Path) -> None:
    (line,) = weights(tmp_path, GRPO, source(tmp_path / "model", "qwen3"))
    assert line.endswith(" 4")


ODD = """
import hashlib
import numpy as np, ttml, ttnn
from ttml.models import llama, nanogpt, qwen3

context = ttml.autograd.AutoContext.get_instance()
SIZES = dict(hidden_size=64, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=1)
MODELS = {  # sequences on each device, positions, vocabulary
    "nanogpt": (3, 17, 61, lambda v: nanogpt.create_nanogpt(nanogpt.NanoGPTConfig(v, 64, 64, 1, 4, 0.1))),
    "llama": (5, 29, 97, lambda v: llama.Llama(llama.LlamaConfig(**SIZES, intermediate_size=40, vocab_size=v))),
    "qwen3": (1, 13, 101, lambda v: qwen3.Qwen3(qwen3.Qwen3Config(**SIZES, intermediate_size=40, vocab_size=v, head_dim=32,
        max_position_embeddings=32))),
}
ttml.open_device_mesh(ttml.Mesh((1, 2), ("rows", "dp")))
for name, (each, length, entries, make) in MODELS.items():
    ttml.manual_seed(3)
    model = make(entries)
    optimizer = ttml.optimizers.create_optimizer({"type": "AdamW", "lr": 0.01}, model.parameters())
    mapper, rows = ttml.core.distributed.shard_tensor_to_mesh_mapper(context.get_device(), 0), 2 * each
    for step in range(20):
        draw = np.random.default_rng(step).integers(0, entries, (rows, length + 1), np.uint32)
        x, y = (ttml.autograd.Tensor.from_numpy(np.ascontiguousarray(part).reshape(shape), ttnn.Layout.ROW_MAJOR, ttnn.DataType.UINT32, mapper)
            for part, shape in ((draw[:, :-1], (rows, 1, 1, length)), (draw[:, 1:], (rows, length))))
        optimizer.zero_grad()
        ttml.ops.loss.cross_entropy_loss(model(x, None), y).backward()
        context.reset_graph()
        ttml.core.distributed.synchronize_gradients(model.parameters())
        optimizer.step()
    digest = hashlib.sha256()
    for _, tensor in sorted(model.parameters().items()):
        digest.update(ttml.Sharding.from_tensor(tensor).gather(tensor).tobytes())
    print("weights sha256", name, digest.hexdigest()[:16])
"""


def test_odd_shapes_give_the_same_bits_on_any_split(tmp_path: Path) -> None:
    """Twenty steps in which neither vocabulary nor positions nor batch are multiples of a tile."""
    assert len(weights(tmp_path, ODD, system="n300", splits=("1x1", "1x2"))) == 3


PLANS = """
import hashlib
import numpy as np, ttml, ttnn
from ttml.distributed import ColwiseParallel, Layout, Replicate, RowwiseParallel, Shard, distribute_batch, distribute_module
from ttml.distributed import distribute_tensor, get_layout, parallelize_module, sync_gradients
from ttml.models import llama, qwen3

context = ttml.autograd.AutoContext.get_instance()
SIZES = dict(hidden_size=64, num_attention_heads=4, num_key_value_heads=4, num_hidden_layers=1, vocab_size=128)
PLAN = {r".*\\.(qkv_linear|w_gate_up|[qkv]_proj|gate_proj|up_proj)": ColwiseParallel(), "fc|lm_head": ColwiseParallel(gather_output=True),
    r".*\\.(out_linear|w2|o_proj|down_proj)": RowwiseParallel()}
POLICY = {r".*\\.(qkv_linear|w_gate_up)\\.weight": Layout(placements=(Replicate(), Shard(-2))),
    r".*\\.(out_linear|w2)\\.weight": Layout(2, {1: Shard(-1)})}
ways = {
    "plan": (lambda: llama.Llama(llama.LlamaConfig(**SIZES, attention_bias=True)), lambda m, d: parallelize_module(m, d, PLAN, tp_axis=1)),
    "policy": (lambda: llama.Llama(llama.LlamaConfig(**SIZES)), lambda m, d: distribute_module(m, d, POLICY)),
    "qwen3": (lambda: qwen3.Qwen3(qwen3.Qwen3Config(**SIZES, intermediate_size=64, head_dim=32, max_position_embeddings=32)),
        lambda m, d: parallelize_module(m, d, PLAN, tp_axis=1)),
    "positions": (lambda: llama.Llama(llama.LlamaConfig(**SIZES)), lambda m, d: parallelize_module(m, d, PLAN, tp_axis=1, cp_axis=0)),
}
context.open_device([2, 4])
device = context.get_device()
whole = ttml.autograd.Tensor.from_numpy(np.arange(64, dtype=np.float32).reshape(1, 1, 8, 8))
moved = distribute_tensor(whole, device, Layout(2, {0: Shard(-2), 1: Shard(-1)}))
assert get_layout(moved).placements == (Shard(-2), Shard(-1)) and get_layout(distribute_batch(
    ttml.autograd.Tensor.from_numpy(np.zeros((2, 1, 4, 8), np.float32)), device, 0)).placements == (Shard(0), Replicate())
for name, (make, cut) in ways.items():
    ttml.manual_seed(3)
    model = cut(make(), device)
    optimizer = ttml.optimizers.create_optimizer({"type": "SGD", "lr": 0.1, "momentum": 0.9}, model.parameters())
    losses = []
    for step in range(3):
        draw = np.random.default_rng(step).integers(0, 128, (4, 33), np.uint32)
        x, y = (ttml.autograd.Tensor.from_numpy(np.ascontiguousarray(part).reshape(shape), ttnn.Layout.ROW_MAJOR, ttnn.DataType.UINT32,
            Layout(2, {0: Shard(len(shape) - 1 if name == "positions" else 0)}).build_mapper(device, len(shape))) for part, shape in ((draw[:, :-1], (4, 1, 1, 32)), (draw[:, 1:], (4, 32))))
        optimizer.zero_grad()
        loss = ttml.ops.loss.cross_entropy_loss(model(x), y)
        losses.append(ttml.common.utils.get_loss_over_devices(loss))
        loss.backward()
        context.reset_graph()
        sync_gradients(model, cluster_axes=[0])
        optimizer.step()
    digest = hashlib.sha256(np.float32(losses).tobytes())
    for _, tensor in sorted(model.parameters().items()):
        digest.update(ttml.Sharding.from_tensor(tensor).gather(tensor).tobytes())
    print("weights sha256", name, digest.hexdigest()[:16])
"""


def test_a_model_cut_by_a_plan_gives_the_same_bits_on_any_split(tmp_path: Path) -> None:
    """`ttml.distributed` over ranks that hold both rows, halves of rows, one row, and parts of both."""
    assert len(weights(tmp_path, PLANS, splits=("1x1", "1x2", "2x1", "2x2"))) == 4
