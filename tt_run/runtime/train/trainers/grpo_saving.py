"""What GRPO writes of a run: a checkpoint to go on from, the weights alone, and what others need to generate with them; and how it is read again.

A run that goes on has the same bits as one that was not stopped, also between two steps on the same completions: those are in the checkpoint then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common import checkpoints
from tt_run.runtime.train.common.trainer import Placing
from tt_run.runtime.train.parallel.sharded_parameters import whole_array
from tt_run.runtime.train.trainers.completion import Tokens
from tt_run.runtime.train.trainers.grpo_config import GRPOConfig

Pair = tuple[Tensor, Tensor]
"""Of a micro-batch minus the log-probabilities that ratios compare with, and the weight of each token."""


@dataclass
class Batch:
    """What some steps train on: prompts, the completions of them, how much better than its group each is, and the batch's figures."""

    prompts: list[Tokens]
    completions: list[Tokens]
    advantages: np.ndarray
    figures: dict[str, Any]
    before: list[Pair] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """All of it as JSON. Every rank of the mesh must call it."""
        plain = {
            "prompts": self.prompts,
            "completions": self.completions,
            "advantages": self.advantages.tolist(),
            "figures": self.figures,
            "before": [[_as_facts(tensor) for tensor in pair] for pair in self.before],
        }
        found: dict[str, Any] = json.loads(json.dumps(plain, default=float))
        return found

    @classmethod
    def of(cls, facts: Mapping[str, Any], placing: Placing) -> Batch:
        """What `facts` gave, laid over the mesh."""
        before = [(_of_facts(old, placing), _of_facts(weight, placing)) for old, weight in facts["before"]]
        advantages = np.array(facts["advantages"], np.float32)
        return cls(facts["prompts"], facts["completions"], advantages, facts["figures"], before)


@dataclass(frozen=True)
class Resumed:
    """Where a run goes on: behind a step, with the batch that has steps left, and the generators as they were."""

    step: int = 0
    batch: Batch | None = None
    generators: Mapping[str, Any] = field(default_factory=dict)


def resumed(path: str | Path, model: Any, optimizer: Any, settings: Mapping[str, int]) -> Resumed:
    """Fill a model and its optimizer from the folder of a checkpoint. Raises ValueError when it is of another model or of other `settings`."""
    file = Path(path) / "checkpoint.npz" if Path(path).is_dir() else Path(path)
    checkpoint = checkpoints.load(file)
    known = checkpoint.facts.get("settings")
    if known is None:
        raise ValueError(f"{file} was not written by a GRPOTrainer; help: one that its save() gave")
    for name, value in settings.items():
        if known[name] != value:
            raise ValueError(
                f"{file}: the run had {name} {known[name]}, this one has {value}; help: the settings that it was started with"
            )
    step = checkpoints.apply(checkpoint, model, optimizer)
    batch = checkpoint.facts.get("batch")
    return Resumed(step, None if batch is None else Batch.of(batch, Placing.current()), checkpoint.generators)


def _as_facts(tensor: Tensor) -> dict[str, Any]:
    return {"type": tensor.dtype().name, "rows": whole_array(tensor.get_value()).astype(np.float32).tolist()}


def _of_facts(facts: Mapping[str, Any], placing: Placing) -> Tensor:
    rows = np.array(facts["rows"], np.float32)
    tensor = Tensor.from_numpy(rows, new_type=DataType[facts["type"]], mapper=placing.mapper(rows.ndim))
    tensor.set_requires_grad(False)
    return tensor


def save_checkpoint(
    model: Any,
    step: int,
    output_dir: str,
    dp_composer: Any = None,
    tokenizer: Any = None,
    grpo_config: GRPOConfig | None = None,
    optimizer: Any = None,
    model_source: str | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Path:
    """Write `output_dir/checkpoints/grpo_step_STEP` and give it; every rank of the mesh must call it.

    Parameters are saved whole, however they lie, so `dp_composer` is not needed. A tokenizer with `save_pretrained` and the `config.json` of a
    local `model_source` are put beside the weights.
    """
    folder = Path(output_dir) / "checkpoints" / f"grpo_step_{step}"
    checkpoints.save(folder / "checkpoint", step=step, model=model, optimizer=optimizer, facts=facts)
    checkpoints.export_safetensors(folder / "model.safetensors", model)
    files: dict[str, dict[str, Any]] = {"trainer_state.json": {"global_step": step}}
    if optimizer is not None:
        files["trainer_state.json"]["learning_rate"] = optimizer.get_lr()
    if grpo_config is not None:
        files["grpo_config.json"] = asdict(grpo_config)
        ends = {name: getattr(tokenizer, name, None) for name in ("eos_token_id", "pad_token_id")}
        files["generation_config.json"] = {
            "temperature": grpo_config.temperature,
            "max_new_tokens": grpo_config.max_completion_length,
            **{name: number for name, number in ends.items() if number is not None},
        }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    if hasattr(tokenizer, "save_pretrained"):
        tokenizer.save_pretrained(str(folder))
    sizes = Path(model_source or "") / "config.json"
    if model_source and sizes.is_file():
        (folder / "config.json").write_bytes(sizes.read_bytes())
    return folder
