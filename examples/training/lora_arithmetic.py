"""Fine-tuning with adapters: a small Llama learns sums, is frozen, and learns differences with two narrow matrices in each layer.

    tt-run --emulate --system n150 python examples/training/lora_arithmetic.py

The problems are made here, in the manner of GSM8K: a question of which no position is trained, and an answer of which all are.
"""

from functools import partial

import numpy as np
import ttml
from ttml.datasets import InMemoryDataloader, sft_collate_fn
from ttml.models.llama import Llama, LlamaConfig
from ttml.trainers import LoraConfig, LossHistory, SFTConfig, SFTTrainer, Throughput

CHARACTERS = "_0123456789+-=."
PAD, LENGTH = 0, 32


def encode(text):
    return [CHARACTERS.index(character) for character in text]


def problems(sign, count, seed):
    """`7+5=` and `12.`, with labels one position ahead, -100 where the question is."""
    generator, made = np.random.default_rng(seed), []
    for a, b in generator.integers(0, 10, (count, 2)):
        a, b = max(a, b), min(a, b)
        question, answer = f"{a}{sign}{b}=", f"{a + b if sign == '+' else a - b}."
        ids = encode(question + answer)
        made.append({"input_ids": ids[:-1], "labels": [-100] * (len(question) - 1) + encode(answer)})
    return made


def loader(sign, count, seed):
    collate = partial(sft_collate_fn, max_seq_len=LENGTH, pad_token_id=PAD, pad_to=8)
    return InMemoryDataloader(problems(sign, count, seed), collate, 32, shuffle=True)


def fit(model, sign, steps, rate, **settings):
    history, speed = LossHistory(), Throughput()
    trainer = SFTTrainer(
        model, loader(sign, 256, 1), loader(sign, 64, 2),
        SFTConfig(max_steps=steps, learning_rate=rate, max_seq_len=LENGTH, eval_interval=steps, save_interval=0, warmup_steps=5),
        callbacks=[history, speed], **settings,
    )  # fmt: skip
    trainer.train()
    first, last = history.losses[0][1], history.eval_losses[-1][1]
    print(
        f"  {sign}: loss {first:.3f} -> {last:.3f} on new problems, {speed.tokens_per_second:,.0f} tokens/s"
    )
    return trainer.model


context = ttml.autograd.AutoContext.get_instance()
context.open_device()
ttml.common.utils.set_seed(3)
base = Llama(
    LlamaConfig(hidden_size=64, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2,
                intermediate_size=128, vocab_size=32, max_position_embeddings=LENGTH)
)  # fmt: skip
print(f"every one of {ttml.common.utils.parameter_count(base):,} parameters:")
fit(base, "+", 120, 5e-3)
peft = LoraConfig(rank=4, alpha=8.0, target_modules=["qkv_linear", "w_gate_up", "w2"])
frozen = {name: tensor.to_numpy().copy() for name, tensor in base.parameters().items()}
adapted = fit(base, "-", 120, 2e-2, peft_config=peft)
trained = [t for t in adapted.parameters().values() if t.get_requires_grad()]
print(f"only {sum(int(np.prod(t.shape())) for t in trained):,} of them, in adapters")
kept = sum(np.array_equal(t.to_numpy(), frozen[n.replace("LoraModel/model", "Llama")])
           for n, t in adapted.parameters().items() if n.replace("LoraModel/model", "Llama") in frozen)  # fmt: skip
print(f"{kept} of {len(frozen)} weights of the base model are as they were")
context.close_device()
