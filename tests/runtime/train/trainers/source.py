"""A tiny model with a tokenizer as Hugging Face has them, for trainers that begin with one."""

from __future__ import annotations

from pathlib import Path

from tests.runtime.train.pytorch import torch_or_skip, transformers_or_skip

WORDS = ["<pad>", "<end>", *"abcdefghijklmnopqrstuvwxyz0123"]
SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}


def source(folder: Path, kind: str) -> Path:
    """A tiny random model of Hugging Face's with a tokenizer of single letters."""
    torch, transformers = torch_or_skip(), transformers_or_skip()
    from tokenizers import Tokenizer, models, pre_tokenizers  # type: ignore[import-untyped,unused-ignore]

    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<pad>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<end>", unk_token="<pad>"
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(3)
    if kind == "llama":
        config = transformers.LlamaConfig(**SIZES, vocab_size=len(WORDS), rms_norm_eps=1e-5)
        model = transformers.LlamaForCausalLM(config)
    else:
        config = transformers.Qwen3Config(**SIZES, head_dim=32, vocab_size=len(WORDS), attention_bias=False)
        model = transformers.Qwen3ForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4.0)  # so that tokens differ in what is likely
    model.save_pretrained(folder)
    return folder
