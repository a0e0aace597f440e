"""What GRPO writes of a run: a checkpoint to go on from, the weights alone, and what others need to generate with them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tt_run.runtime.train.common import checkpoints
from tt_run.runtime.train.trainers.grpo_config import GRPOConfig


def save_checkpoint(
    model: Any,
    step: int,
    output_dir: str,
    dp_composer: Any = None,
    tokenizer: Any = None,
    grpo_config: GRPOConfig | None = None,
    optimizer: Any = None,
    model_source: str | None = None,
) -> Path:
    """Write `output_dir/checkpoints/grpo_step_STEP` and give it; every rank of the mesh must call it.

    Parameters are saved whole, however they lie, so `dp_composer` is not needed. A tokenizer with `save_pretrained` and the `config.json` of a
    local `model_source` are put beside the weights.
    """
    folder = Path(output_dir) / "checkpoints" / f"grpo_step_{step}"
    checkpoints.save(folder / "checkpoint", step=step, model=model, optimizer=optimizer)
    checkpoints.export_safetensors(folder / "model.safetensors", model)
    facts: dict[str, dict[str, Any]] = {"trainer_state.json": {"global_step": step}}
    if optimizer is not None:
        facts["trainer_state.json"]["learning_rate"] = optimizer.get_lr()
    if grpo_config is not None:
        facts["grpo_config.json"] = asdict(grpo_config)
        ends = {name: getattr(tokenizer, name, None) for name in ("eos_token_id", "pad_token_id")}
        facts["generation_config.json"] = {
            "temperature": grpo_config.temperature,
            "max_new_tokens": grpo_config.max_completion_length,
            **{name: number for name, number in ends.items() if number is not None},
        }
    for name, content in facts.items():
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    if hasattr(tokenizer, "save_pretrained"):
        tokenizer.save_pretrained(str(folder))
    sizes = Path(model_source or "") / "config.json"
    if model_source and sizes.is_file():
        (folder / "config.json").write_bytes(sizes.read_bytes())
    return folder
