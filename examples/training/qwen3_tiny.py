"""A Qwen3 from a Hugging Face configuration: trained for some steps, then asked to go on, with a cache of keys and values.

    tt-run --emulate --system n150 python examples/training/qwen3_tiny.py

`create_qwen3_config_from_hf` takes the object that `transformers.AutoConfig.from_pretrained` gives; here one is written out, small.
"""

from types import SimpleNamespace

import numpy as np
import ttml
import ttnn
from ttml.models import KvCache, KvCacheConfig
from ttml.models.qwen3 import Qwen3, build_attn_mask, create_qwen3_config_from_hf
from ttml.models.qwen3.flops import calculate_flops_per_token

HUGGING_FACE = SimpleNamespace(
    vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    head_dim=32, rms_norm_eps=1e-6, attention_bias=False, rope_theta=1e6, tie_word_embeddings=True,
)  # fmt: skip
LENGTH, PERIOD = 32, 7


def ids(rows):
    return ttml.autograd.Tensor.from_numpy(
        np.ascontiguousarray(rows, np.uint32), ttnn.Layout.ROW_MAJOR, ttnn.DataType.UINT32
    )


context = ttml.autograd.AutoContext.get_instance()
context.open_device()
ttml.manual_seed(1)
config = create_qwen3_config_from_hf(HUGGING_FACE, LENGTH)
model = Qwen3(config)
print(f"{calculate_flops_per_token(config, LENGTH):,} operations for each token that is trained")

optimizer = ttml.optimizers.create_optimizer({"type": "AdamW", "lr": 5e-3}, model.parameters())
mask = build_attn_mask(LENGTH)
generator = np.random.default_rng(2)
for step in range(40):
    rows = (generator.integers(0, PERIOD, (8, 1)) + np.arange(LENGTH + 1)) % PERIOD
    optimizer.zero_grad()
    logits = model(ids(rows[:, :-1].reshape(8, 1, 1, LENGTH)), mask)
    loss = ttml.ops.loss.cross_entropy_loss(logits, ids(rows[:, 1:]))
    loss.backward()
    context.reset_graph()
    optimizer.step()
    if step % 10 == 0 or step == 39:
        print(f"step {step}: loss {loss.get_value().item():.4f}")

with ttml.common.utils.no_grad():
    cache = KvCache(
        KvCacheConfig(config.num_hidden_layers, 1, config.num_key_value_heads, LENGTH, config.head_dim)
    )
    text, fresh = [3, 4, 5], [3, 4, 5]
    while len(text) < 12:
        logits = model(
            ids(np.reshape(fresh, (1, 1, 1, -1))),
            build_attn_mask(len(fresh), kv_cache=cache),
            cache,
            len(fresh),
        )
        fresh = [int(logits.to_numpy()[0, 0, -1].argmax())]
        text += fresh
print("goes on as", *text)
assert text == [(3 + i) % PERIOD for i in range(12)]
context.close_device()
