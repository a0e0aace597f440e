"""`GRPOMonitor`: the figures of GRPO's steps in a file, in the log, and on request at Weights & Biases."""

from __future__ import annotations

import csv
import logging
import math
import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tt_run.runtime.train.trainers.callback import TrainerCallback
from tt_run.runtime.train.trainers.grpo_config import GRPOConfig

SAMPLES = ("prompts", "completions", "rewards")
"""Figures of a step that are lists: what was completed, for those who read along."""
COLUMNS = ("step", "reward_mean", "reward_std", "mean_completion_len", "min_completion_len", "max_completion_len", "lr", "step_time_s")  # fmt: skip
_JOINED: dict[str, Callable[[Sequence[float]], float]] = {
    "min_completion_len": min,
    "max_completion_len": max,
    "lr": lambda values: values[-1],
}
_log = logging.getLogger(__name__)


class GRPOMonitor(TrainerCallback):
    """Joins the figures of `logging_steps` steps (means; the least, most and last of those that say so), logs them and adds a row to
    `grpo_metrics.csv` in `output_dir`, if there is one. With `report_to="wandb"` they go there too, project and mode from `WANDB_*`.

    `GRPOTrainer` adds one as its last callback unless `disable_default_monitor`.
    """

    def __init__(self, config: GRPOConfig) -> None:
        self.config = config
        self._file = Path(config.output_dir) / "grpo_metrics.csv" if config.output_dir else None
        self._columns: list[str] = []
        self._seen: dict[str, list[float]] = {}
        self._callbacks: list[str] = []
        self._wandb: Any = None
        self._own_run = False

    def on_train_begin(self, trainer: Any) -> None:
        """Make the folder, go on in the file of a run that goes on, and begin a run where one was asked for and none is open."""
        others = (type(callback).__name__ for callback in trainer.callbacks if callback is not self)
        self._callbacks = [f"{name}_time_s" for name in others]
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            if trainer.metrics.get("step") and self._file.is_file():
                with self._file.open(newline="", encoding="utf-8") as file:
                    self._columns = next(csv.reader(file), [])
        if self.config.report_to == "wandb":
            self._begin_run(trainer)

    def on_step_end(self, trainer: Any, step: int, *args: Any, **kwargs: Any) -> None:
        """Take the figures of a step; every `logging_steps` steps write them."""
        for name, value in kwargs.items():
            if isinstance(value, (int, float)) and not math.isnan(value):
                self._seen.setdefault(name, []).append(float(value))
        if not self.config.logging_steps or step % self.config.logging_steps:
            return
        row = {name: _JOINED.get(name, statistics.fmean)(values) for name, values in self._seen.items()}
        self._seen.clear()
        _log.info("%s", {"step": step, **row})
        self._write(step, row)
        shown = self.config.num_completions_to_print if self.config.log_completions else 0
        samples = list(zip(*(kwargs.get(name) or () for name in SAMPLES), strict=False))[:shown]
        for prompt, completion, reward in samples:
            _log.info("step %d: reward %.4g, prompt %r, completion %r", step, reward, prompt, completion)
        if self._wandb is not None:
            self._wandb.log({f"grpo/{name}": value for name, value in row.items()}, step=step)
            if samples:
                table = self._wandb.Table(columns=["step", "prompt", "completion", "reward"])
                for sample in samples:
                    table.add_data(step, *sample)
                self._wandb.log({"grpo/completions": table}, step=step)

    def on_train_end(self, trainer: Any) -> None:
        """End the run that this began."""
        if self._own_run:
            self._wandb.finish()

    def _write(self, step: int, row: dict[str, float]) -> None:
        """A row of the file; its columns are those of the first."""
        if self._file is None:
            return
        if not self._columns:
            known = {*COLUMNS, *self._callbacks}
            self._columns = [*COLUMNS, *self._callbacks, *(name for name in row if name not in known)]
            with self._file.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerow(self._columns)
        values = {"step": step, **row}
        with self._file.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow([values.get(name, math.nan) for name in self._columns])

    def _begin_run(self, trainer: Any) -> None:
        try:
            import wandb  # type: ignore[import-not-found]
        except ImportError:
            _log.warning("report_to is 'wandb' but it is not installed; help: pip install wandb")
            return
        self._wandb = wandb
        if getattr(wandb, "run", None) is not None:
            return
        told = {**asdict(self.config), "model_source": trainer.model_source, "optimizer": dict(trainer.optimizer_dict)}  # fmt: skip
        names = {name: os.environ.get(f"WANDB_{name.upper()}") for name in ("project", "entity", "mode")}
        wandb.init(name=self.config.run_name, config=told, **names)
        self._own_run = True
