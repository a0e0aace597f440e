"""`SFTTrainer`: supervised fine-tuning, on one device or on several, with adapters or without.

A run that resumes from a checkpoint goes on with the same bits as one that was never interrupted, also in the middle of a shuffled pass.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd.axis_placement import is_replicated
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common import checkpoints
from tt_run.runtime.train.common.data import build_causal_mask
from tt_run.runtime.train.common.utils import get_loss_over_devices, no_grad, run_mode
from tt_run.runtime.train.datasets.dataloader import TTMLDataloader
from tt_run.runtime.train.models.runner import RunnerType
from tt_run.runtime.train.modules.base import RunMode
from tt_run.runtime.train.modules.lora import LoraConfig, LoraModel
from tt_run.runtime.train.ops import binary, unary
from tt_run.runtime.train.ops.loss import ReduceType, cross_entropy_loss
from tt_run.runtime.train.ops.vocab_parallel import vocab_parallel_cross_entropy_loss
from tt_run.runtime.train.optimizers import registry
from tt_run.runtime.train.optimizers.base import OptimizerBase
from tt_run.runtime.train.optimizers.clipping import clip_grad_norm
from tt_run.runtime.train.parallel.distributed import synchronize_gradients
from tt_run.runtime.train.parallel.named_mesh import maybe_mesh, sync_gradients
from tt_run.runtime.train.trainers.callback import TrainerCallback, check_callbacks
from tt_run.runtime.train.trainers.reports import ProgressBar, bars_closed
from tt_run.runtime.train.trainers.sft_config import SFTConfig


class SFTTrainer:
    """Trains a model on batches whose losses are weighed by position.

    `optimizer` is one, or its configuration, or None for AdamW; `peft_config` wraps the model with adapters; `lr_schedule` maps the 0-based
    step to a rate (default: a linear warm-up, then constant); `compute_loss_func(logits, batch)` replaces the weighed cross entropy;
    `loss_composer` joins the losses of devices where the default, their mean, is not meant; `attention_mask` takes the place of the causal one.
    `checkpoint_saver(trainer, path)` writes and `checkpoint_loader(trainer, path) -> step` reads checkpoints of the program's own kind.
    Gradients are averaged over the axes of data (`dp`, `fsdp`, `cp`) before each step. `step` counts the steps taken.
    """

    def __init__(
        self,
        model: Any,
        train_dataloader: TTMLDataloader,
        eval_dataloader: TTMLDataloader | None,
        config: SFTConfig,
        optimizer: Any = None,
        peft_config: LoraConfig | None = None,
        lr_schedule: Callable[[int], float] | None = None,
        callbacks: Sequence[TrainerCallback] | None = None,
        compute_loss_func: Callable[[Tensor, Any], Tensor] | None = None,
        loss_composer: Any = None,
        attention_mask: Tensor | None = None,
        checkpoint_saver: Callable[[SFTTrainer, str], None] | None = None,
        checkpoint_loader: Callable[[SFTTrainer, str], int] | None = None,
    ) -> None:
        for name, given, needed, kind in (
            ("model", model, "parameters", "a module of ttml"),
            ("config", config, "max_steps", "an SFTConfig"),
        ):
            if not hasattr(given, needed):
                raise TypeError(
                    f"SFTTrainer: {name} must be {kind}, not {type_name(given)}; help: SFTTrainer(model, loader, None, SFTConfig())"
                )
        for name, loader in (("train_dataloader", train_dataloader), ("eval_dataloader", eval_dataloader)):
            if loader is not None:
                _check_loader(name, loader)
        _check_functions(lr_schedule=lr_schedule, compute_loss_func=compute_loss_func)
        check_callbacks("SFTTrainer", callbacks)
        if config.seed is not None:
            AutoContext.get_instance().set_seed(config.seed)
        self.model = LoraModel(model, peft_config) if peft_config is not None else model
        if config.gradient_checkpointing:
            _recompute(model)
        self.train_dataloader, self.eval_dataloader = train_dataloader, eval_dataloader
        self.config, self.callbacks = config, list(callbacks or ())
        told = any(isinstance(callback, ProgressBar) for callback in self.callbacks)
        if config.log_interval and not (config.disable_progress_bar or told) and sys.stderr.isatty():
            self.callbacks.append(ProgressBar())
        self.optimizer = self._optimizer(optimizer)
        self.lr_schedule = lr_schedule or self._warm_up
        self.compute_loss_func, self.loss_composer = compute_loss_func, loss_composer
        self.attention_mask = attention_mask
        self.checkpoint_saver, self.checkpoint_loader = checkpoint_saver, checkpoint_loader
        self.step = 0
        self._taken = 0
        self._pass_start: Any = None
        self._pass_number = 0
        self._batches: Iterator[Any] | None = None
        self._began: tuple[dict[str, Any], dict[str, Any]] | None = None
        self._masks: dict[int, Tensor] = {}

    # --- the loop ----------------------------------------------------------------------------------------------------

    def train(self) -> None:
        """Train until `max_steps` steps have been taken; the data are gone through as often as that needs."""
        self.model.train()
        with bars_closed(self.callbacks):
            self._tell("on_train_begin")
            while self.step < self.config.max_steps:
                self._next_step()
            self._tell("on_train_end")

    def _next_step(self) -> None:
        rate = self.lr_schedule(self.step)
        if not isinstance(rate, numbers.Real) or not math.isfinite(rate):
            raise ValueError(
                f"SFTTrainer: lr_schedule({self.step}) must be a finite number, not {rate!r}; help: lambda step: 1e-4"
            )
        self.optimizer.set_lr(rate)
        loss = self._one_step()
        self.step += 1
        self._tell("on_step_end", self.step, loss, rate)
        if self._due(self.config.eval_interval) and self.eval_dataloader is not None:
            self._tell("on_eval_end", self.step, self.evaluate())
        if self._due(self.config.save_interval):
            self._tell("on_save", self.step, str(self.save()))

    def _one_step(self) -> float:
        """Accumulate over micro-batches and step; the mean loss."""
        # Until the optimizer's step a checkpoint is of here: gradients are not in it, and whoever resumes accumulates them again.
        self._began = self._place(), checkpoints.generator_states()
        self.optimizer.zero_grad()
        count, losses = self.config.gradient_accumulation_steps, []
        for _ in range(count):
            batch = self._next_batch()
            loss = self.compute_loss(batch)
            losses.append(self._number(loss))
            self._tell("on_after_forward", batch, losses[-1])
            (loss if count == 1 else binary.mul(loss, 1.0 / count)).backward(False)
            self._tell("on_after_backward", batch)
            AutoContext.get_instance().reset_graph()
        average_gradients(self.model.parameters())
        self._tell("on_before_optimizer_step")
        if self.config.max_grad_norm:
            clip_grad_norm(self.model.parameters(), self.config.max_grad_norm)
        self.optimizer.step()
        self._began = None
        return float(np.mean(losses))

    def compute_loss(self, batch: Any) -> Tensor:
        """The loss of a batch, [1, 1, 1, 1]."""
        if not hasattr(batch, "input_ids"):
            raise TypeError(
                f"SFTTrainer: a batch has input_ids, labels and loss_mask, the loader gave {type_name(batch)}; "
                "help: InMemoryDataloader(examples, collate_fn, batch_size=…)"
            )
        logits = self.model(batch.input_ids, self._mask(batch.input_ids.shape()[-1]))
        if self.compute_loss_func is not None:
            loss = self.compute_loss_func(logits, batch)
            if not isinstance(loss, Tensor):
                raise TypeError(
                    f"SFTTrainer: compute_loss_func(logits, batch) must return the loss, a ttml.autograd.Tensor, not {type_name(loss)}; help: return the tensor that was computed"
                )
            return loss
        each = self._each(logits, batch.labels)
        return unary.mean(each if batch.loss_mask is None else binary.mul(each, batch.loss_mask))

    @staticmethod
    def _each(logits: Tensor, labels: Tensor) -> Tensor:
        """The loss of each position; of logits whose vocabulary is cut over the tensor-parallel axis, too."""
        context = AutoContext.get_instance()
        axes = context.get_parallelism_context() if context.is_parallelism_context_initialized() else None
        if axes is None or axes.get_tp_size() == 1:
            return cross_entropy_loss(logits, labels, ReduceType.NONE)
        return vocab_parallel_cross_entropy_loss(logits, labels, axes.get_tp_axis(), ReduceType.NONE)

    def evaluate(self) -> float:
        """The mean loss over the evaluation set, without dropout and without a graph. Raises ValueError when there is none."""
        if self.eval_dataloader is None:
            raise ValueError(
                "SFTTrainer: there is no evaluation set; help: give the trainer an eval_dataloader"
            )
        with run_mode(self.model, RunMode.EVAL), no_grad():
            losses = [self._number(self.compute_loss(batch)) for batch in self.eval_dataloader]
        return float(np.mean(losses))

    def _number(self, loss: Tensor) -> float:
        if self.loss_composer is None or is_replicated(loss.get_value(), None):
            return get_loss_over_devices(loss)
        return float(loss.to_numpy(composer=self.loss_composer).mean())

    def _tell(self, hook: str, *facts: Any) -> None:
        for callback in list(self.callbacks):
            getattr(callback, hook)(self, *facts)

    def remove_callback(self, callback: TrainerCallback) -> None:
        """Call it no more, from the next event on; nothing happens for one that is not there."""
        if callback in self.callbacks:
            self.callbacks.remove(callback)

    def _due(self, interval: int) -> bool:
        return interval > 0 and self.step % interval == 0

    # --- data --------------------------------------------------------------------------------------------------------

    def _next_batch(self) -> Any:
        for _ in range(2):
            if self._batches is None:
                self._start_pass()
            assert self._batches is not None
            try:
                batch = next(self._batches)
            except StopIteration:
                self._batches = None
                continue
            self._taken += 1
            return batch
        raise ValueError(
            "SFTTrainer: the training set gave no batch; help: more examples than a batch has, or drop_last=False"
        )

    def _start_pass(self) -> None:
        _check_loader("train_dataloader", self.train_dataloader)
        self._pass_start, self._taken = checkpoints.generator_states(), 0
        self._pass_number = getattr(self.train_dataloader, "passes", 0)
        self._batches = iter(self.train_dataloader)

    # --- checkpoints -------------------------------------------------------------------------------------------------

    def save(self, path: str | Path | None = None) -> Path:
        """Write a checkpoint, by default `<checkpoint_dir>/[<checkpoint_prefix>_]step_<N>.npz`. Every rank of the mesh must call it.

        One that a callback writes within a step is of that step's beginning.
        """
        prefix = f"{self.config.checkpoint_prefix}_" if self.config.checkpoint_prefix else ""
        target = Path(path) if path else Path(self.config.checkpoint_dir) / f"{prefix}step_{self.step}"
        if self.checkpoint_saver is not None:
            target = target if path else target.with_name(f"{target.name}.pkl")
            target.parent.mkdir(parents=True, exist_ok=True)
            self.checkpoint_saver(self, str(target))
            return target
        place, generators = self._began or (self._place(), None)
        return checkpoints.save(
            target,
            step=self.step,
            model=self.model,
            optimizer=self.optimizer,
            facts=place,
            generators=generators,
        )

    def _place(self) -> dict[str, Any]:
        """Where in the data the next batch is."""
        return {"pass_start": self._pass_start, "pass_number": self._pass_number, "taken": self._taken}

    def load_checkpoint(self, path: str | Path) -> int:
        """`resume`, and the step that was saved."""
        self.resume(path)
        return self.step

    def resume(self, path: str | Path) -> None:
        """Go on from a checkpoint. Raises ValueError when it is of another model."""
        if self.checkpoint_loader is not None:
            self.step = int(self.checkpoint_loader(self, str(path)))
            return
        checkpoint = checkpoints.load(path)
        start, taken = checkpoint.facts.get("pass_start"), int(checkpoint.facts.get("taken", 0))
        if start:
            # The pass begins as it did, the batches that were taken are passed over, and then everything is as it was saved.
            checkpoints.restore_generators(start)
            if hasattr(self.train_dataloader, "passes"):
                self.train_dataloader.passes = int(checkpoint.facts.get("pass_number", 0))
            self._start_pass()
            for _ in range(taken):
                self._next_batch()
        self.step = checkpoints.apply(checkpoint, self.model, self.optimizer)

    # --- what is made once -------------------------------------------------------------------------------------------

    def _optimizer(self, given: Any) -> Any:
        config = self.config
        if given is None:
            given = {
                "type": "AdamW",
                "lr": config.learning_rate,
                "beta1": config.beta1,
                "beta2": config.beta2,
                "epsilon": config.eps,
                "weight_decay": config.weight_decay,
            }
        if isinstance(given, Mapping):
            return registry.create_optimizer(given, self.model.parameters())
        if not hasattr(given, "step") or isinstance(given, type):
            raise TypeError(
                f"SFTTrainer: optimizer must be one, or its configuration, not {type_name(given)}; help: {{'type': 'AdamW', 'lr': 1e-4}}"
            )
        if isinstance(given, OptimizerBase) and not given.updates(self.model.parameters()):
            raise ValueError(
                "SFTTrainer: the optimizer updates no parameter of this model; help: make it of model.parameters() of the same model"
            )
        return given

    def _warm_up(self, step: int) -> float:
        config = self.config
        return config.learning_rate * min(1.0, (step + 1) / max(config.warmup_steps, 1))

    def _mask(self, length: int) -> Tensor:
        """The mask that was given, else the causal one of a length. Raises ValueError beyond `max_seq_len`."""
        if length > self.config.max_seq_len:
            raise ValueError(
                f"a batch of {length} positions exceeds max_seq_len {self.config.max_seq_len}; help: a larger max_seq_len in SFTConfig"
            )
        if self.attention_mask is not None:
            return self.attention_mask
        if length not in self._masks:
            mask = Tensor.from_numpy(build_causal_mask(length), new_type=DataType.BFLOAT16)
            mask.set_requires_grad(False)
            self._masks[length] = mask
        return self._masks[length]


def average_gradients(parameters: Mapping[str, Tensor]) -> None:
    """Means over the axes of data of the named mesh, else of the parallelism context; nothing where neither has one."""
    if maybe_mesh() is not None:
        sync_gradients(parameters, ("dp", "fsdp", "cp"))
    elif AutoContext.get_instance().is_parallelism_context_initialized():
        synchronize_gradients(parameters)


def _check_loader(name: str, given: Any) -> None:
    """Raise TypeError for a loader that cannot be gone through."""
    if not hasattr(given, "__iter__"):
        raise TypeError(
            f"SFTTrainer: {name} must be a loader of batches, not {type_name(given)}; help: InMemoryDataloader(examples, collate_fn, batch_size=…)"
        )


def _check_functions(**functions: Any) -> None:
    """Raise TypeError for what is neither None nor can be called."""
    for name, given in functions.items():
        if given is not None and not callable(given):
            raise TypeError(f"SFTTrainer: {name} must be a function, not {given!r}; help: {name}=None")


def _recompute(model: Any) -> None:
    """Make a model compute activations again. Raises ValueError for one whose configuration does not say how it runs."""
    config: Any = getattr(model, "config", None)
    if not hasattr(config, "runner_type"):
        raise ValueError(
            f"gradient_checkpointing: {type(model).__name__} has no config.runner_type to switch; help: gradient_checkpointing=False"
        )
    model.config = replace(config, runner_type=RunnerType.MemoryEfficient)
