"""Training gives the same bits on any split over ranks: each kind of decoder, data-parallel over eight devices, with clipping and Muon."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.launch import tt_run

PROGRAM = """
import hashlib, sys
import numpy as np, ttml, ttnn
from ttml.models import deepseek, llama, qwen3

context = ttml.autograd.AutoContext.get_instance()
ttml.open_device_mesh(ttml.Mesh((2, 4), ("rows", "dp")))
ttml.manual_seed(3)
model = {
    "llama": lambda: llama.Llama(llama.LlamaConfig(hidden_size=64, num_attention_heads=4, num_hidden_layers=1, vocab_size=64,
        attention_bias=True, attention_dropout=0.1)),
    "qwen3": lambda: qwen3.Qwen3(qwen3.Qwen3Config(vocab_size=64, hidden_size=64, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=4, num_key_value_heads=2, head_dim=32, max_position_embeddings=32)),
    "deepseek": lambda: deepseek.DeepSeek(deepseek.DeepSeekConfig(vocab_size=64, dim=64, inter_dim=64, moe_inter_dim=32, n_layers=2,
        n_dense_layers=1, n_heads=2, n_routed_experts=4, max_seq_len=32, q_lora_rank=16, kv_lora_rank=16)),
}[sys.argv[1]]()
optimizer = ttml.optimizers.create_optimizer({"type": "MuonWithAdamW"}, model.parameters())
mask = ttml.autograd.Tensor.from_numpy(ttml.common.data.build_causal_mask(32))
halves = ttml.mesh().axis_mapper("dp", 0)
for step in range(2):
    draw = np.random.default_rng(step).integers(0, 64, (8, 33), np.uint32)
    parts = (np.ascontiguousarray(draw[:, :-1]).reshape(8, 1, 1, 32), np.ascontiguousarray(draw[:, 1:]))
    x, y = (ttml.autograd.Tensor.from_numpy(a, ttnn.Layout.ROW_MAJOR, ttnn.DataType.UINT32, halves) for a in parts)
    optimizer.zero_grad()
    ttml.ops.loss.cross_entropy_loss(model(x, mask), y).backward()
    context.reset_graph()
    ttml.sync_gradients(model.parameters())
    ttml.core.clip_grad_norm(model.parameters(), 1.0)
    optimizer.step()
digest = hashlib.sha256()
for _, tensor in sorted(model.parameters().items()):
    digest.update(np.ascontiguousarray(tensor.to_numpy()).tobytes())
print("weights sha256", digest.hexdigest()[:16])
context.close_device()
"""


@pytest.mark.parametrize(
    "model",
    ["deepseek", *(pytest.param(name, marks=pytest.mark.slow) for name in ("llama", "qwen3"))],
)
def test_a_decoder_trains_with_the_same_bits_on_any_split(tmp_path: Path, model: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    found = set()
    for split in ("1x1", "2x1", "2x2"):
        words = ("--emulate", "--no-prefix", "--system", "t3000", "--split", split, "python", program, model)
        lines = {line for line in tt_run(*words, timeout=100).check().out.splitlines() if "sha256" in line}
        assert len(lines) == 1
        found |= lines
    assert len(found) == 1
