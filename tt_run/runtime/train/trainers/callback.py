"""`TrainerCallback`: what a program may hook into a training loop."""

from __future__ import annotations

from typing import Any

from tt_run.runtime.errors import type_name


class TrainerCallback:
    """Derive and define any of these; all of them do nothing by themselves."""

    def on_train_begin(self, trainer: Any) -> None:
        """Before the first step."""

    def on_after_forward(self, trainer: Any, batch: Any, loss: float) -> None:
        """After the forward pass of each micro-batch, with its loss."""

    def on_after_backward(self, trainer: Any, batch: Any) -> None:
        """After the backward pass of each micro-batch, while its activations are still held."""

    def on_before_optimizer_step(self, trainer: Any) -> None:
        """When the gradients of a step are complete, before they are clipped."""

    def on_step_end(self, trainer: Any, step: int, *args: Any, **kwargs: Any) -> None:
        """After each optimizer step; `loss` and `lr` of fine-tuning, the figures of GRPO as keywords."""

    def on_eval_end(self, trainer: Any, step: int, eval_loss: float) -> None:
        """After each pass over the evaluation set."""

    def on_save(self, trainer: Any, step: int, path: str) -> None:
        """After each checkpoint."""

    def on_train_end(self, trainer: Any) -> None:
        """After the last step."""


def check_callbacks(owner: str, given: Any) -> None:
    """Raise TypeError for what is no list of callbacks: one without a list, a class, anything that has no hooks."""
    if given is None:
        return
    if isinstance(given, TrainerCallback) or not hasattr(given, "__iter__"):
        raise TypeError(f"{owner}: callbacks must be a list, not {type_name(given)}; help: callbacks=[…]")
    for callback in given:
        if isinstance(callback, type):
            raise TypeError(
                f"{owner}: callbacks must be objects, {callback.__name__} is a class; help: {callback.__name__}()"
            )
        if not hasattr(callback, "on_step_end"):
            raise TypeError(
                f"{owner}: callbacks must be TrainerCallbacks, not {type_name(callback)}; help: derive from TrainerCallback"
            )
