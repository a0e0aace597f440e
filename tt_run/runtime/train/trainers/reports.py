"""Callbacks that tell how a training run goes: a progress bar, losses and their picture, throughput, memory."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tt_run.runtime.train.memory import MIB, MemoryUsageTracker
from tt_run.runtime.train.named_files import naming_file
from tt_run.runtime.train.parallel.sharded_parameters import whole_shape
from tt_run.runtime.train.trainers.callback import TrainerCallback


class ProgressBar(TrainerCallback):
    """A bar with step, loss and rate on stderr when that is a terminal, else a line each `log_interval` steps."""

    def __init__(self, write: Callable[[str], object] | None = None) -> None:
        self._write = write
        self._bar: Any = None
        self._task: Any = None

    def on_train_begin(self, trainer: Any) -> None:
        """Draw the bar."""
        if self._write is None and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import MofNCompleteColumn, Progress

            columns = (*Progress.get_default_columns(), MofNCompleteColumn())
            self._bar = Progress(*columns, console=Console(stderr=True))
            self._bar.start()
            # A trainer whose steps follow from its data has no number of them beforehand.
            self._task = self._bar.add_task(
                "training",
                total=getattr(trainer.config, "max_steps", None),
                completed=getattr(trainer, "step", 0),
            )

    def on_step_end(self, trainer: Any, step: int, *args: Any, **kwargs: Any) -> None:
        """Move it on."""
        told = {**dict(zip(("loss", "lr"), args, strict=False)), **kwargs}
        text = ", ".join(
            f"{name} {value:.4g}"
            for name, value in told.items()
            # Times are for the files of figures, and a bar has room for the most telling alone.
            if isinstance(value, (int, float)) and not name.endswith("_time_s")
            if self._bar is None or name in ("reward_mean", "loss", "lr")
        )
        if self._bar is not None:
            self._bar.update(self._task, completed=step, description=text)
        elif (interval := getattr(trainer.config, "log_interval", 1)) and step % interval == 0:
            (self._write or (lambda line: print(line, file=sys.stderr, flush=True)))(f"step {step}: {text}")

    def on_train_end(self, trainer: Any) -> None:
        """Let it stand."""
        self.close()

    def close(self) -> None:
        """Give the terminal back: its cursor, and what is written to it; nothing happens without a bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@contextlib.contextmanager
def bars_closed(callbacks: Sequence[TrainerCallback]) -> Iterator[None]:
    """A block behind which, however it ends, no bar is left on the terminal."""
    try:
        yield
    finally:
        for callback in callbacks:
            if isinstance(callback, ProgressBar):
                callback.close()


class LossHistory(TrainerCallback):
    """Keeps the losses, and draws them when `path` is given: an SVG of training and evaluation losses by step."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = path
        self.losses: list[tuple[int, float]] = []
        self.eval_losses: list[tuple[int, float]] = []

    def on_train_begin(self, trainer: Any) -> None:
        """Make the folder of the picture, so that what is wrong with it is told before training."""
        if self.path is not None:
            with naming_file("picture of losses", self.path):
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)

    def on_step_end(self, trainer: Any, step: int, *args: Any, **kwargs: Any) -> None:
        """Keep the loss."""
        if args or "loss" in kwargs:
            self.losses.append((step, float(args[0] if args else kwargs["loss"])))

    def on_eval_end(self, trainer: Any, step: int, eval_loss: float) -> None:
        """Keep the evaluation loss."""
        self.eval_losses.append((step, float(eval_loss)))

    def on_train_end(self, trainer: Any) -> None:
        """Draw."""
        if self.path is not None:
            Path(self.path).write_text(self.svg(), encoding="utf-8")

    def svg(self) -> str:
        """The picture; an empty one without losses."""
        every = [*self.losses, *self.eval_losses] or [(0, 0.0)]
        steps, values = [step for step, _ in every], [value for _, value in every]
        left, low = min(steps), min(values)
        wide, high = max(max(steps) - left, 1), max(max(values) - low, 1e-9)

        def line(points: Sequence[tuple[int, float]], color: str) -> str:
            places = " ".join(
                f"{60 + 520 * (s - left) / wide:.1f},{20 + 260 * (1 - (v - low) / high):.1f}"
                for s, v in points
            )
            return f'<polyline fill="none" stroke="{color}" stroke-width="1.5" points="{places}"/>'

        words = [
            (4, 24, f"{low + high:.4g}"),
            (4, 284, f"{low:.4g}"),
            (56, 300, str(left)),
            (550, 300, str(left + wide)),
        ]
        texts = "".join(f'<text x="{x}" y="{y}" font-size="11">{word}</text>' for x, y, word in words)
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" width="600" height="310" font-family="sans-serif">'
            f"<title>loss by step</title>{line(self.losses, '#1f77b4')}{line(self.eval_losses, '#d62728')}{texts}</svg>\n"
        )


class Throughput(TrainerCallback):
    """Tokens per second over the steps so far, without the first one, which warms up."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._start: float | None = None
        self._tokens = self._counted = 0

    def on_after_forward(self, trainer: Any, batch: Any, loss: float) -> None:
        """Count the tokens of a micro-batch, over all devices."""
        whole = whole_shape(batch.input_ids)
        self._tokens += whole[0] * whole[-1]

    def on_step_end(self, trainer: Any, step: int, *args: Any, **kwargs: Any) -> None:
        """Start to measure after the first step."""
        if self._start is None:
            self._start, self._tokens = self._clock(), 0
        else:
            self._counted = self._tokens

    @property
    def tokens_per_second(self) -> float:
        """0 before the second step."""
        passed = 0.0 if self._start is None else self._clock() - self._start
        return self._counted / passed if passed else 0.0


class MemorySummary(TrainerCallback):
    """Counts device memory of the first step, phase by phase, and keeps the text of it in `text`."""

    def __init__(self) -> None:
        self.text = ""
        self._running = False

    def on_train_begin(self, trainer: Any) -> None:
        """Start to count."""
        MemoryUsageTracker.begin_capture()
        self._running = True

    def on_after_forward(self, trainer: Any, batch: Any, loss: float) -> None:
        """The forward pass ends."""
        if self._running:
            MemoryUsageTracker.snapshot("FORWARD_PASS")

    def on_after_backward(self, trainer: Any, batch: Any) -> None:
        """The backward pass ends."""
        if self._running:
            MemoryUsageTracker.snapshot("BACKWARD_PASS")

    def on_step_end(self, trainer: Any, step: int, *args: Any, **kwargs: Any) -> None:
        """The first step ends, and the count with it."""
        if self._running:
            MemoryUsageTracker.end_capture("OPTIMIZER_STEP")
            peak = MemoryUsageTracker.get_dram_peak()
            self.text = f"peak {peak / MIB:.2f} MiB on a device in the first step"
            MemoryUsageTracker.clear()
            self._running = False
