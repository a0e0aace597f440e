"""What a training run leaves: a line per step as JSON and CSV, a progress line on a terminal, wandb where it is installed.

Files are written by the first rank alone; a run that is cut short leaves whole lines.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import netrc
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO
from urllib.parse import urlsplit

FIELDS = ("step", "loss", "lr", "seconds", "samples_per_second", "tokens_per_second")


class TrainingLog:
    """Use it as a context; `step` adds a line. `folder` None writes no files; `wandb` "auto" logs there when it is installed.

    The printed line is `Step: N, Loss: x.xxxxxx, Time: t ms, TPS: n`.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None,
        *,
        total_steps: int,
        project: str = "tt_train",
        settings: Mapping[str, Any] | None = None,
        wandb: str = "auto",
        stream: TextIO | None = None,
        quiet: bool = False,
    ) -> None:
        self._folder = None if folder is None else Path(folder)
        self._total, self._quiet = total_steps, quiet
        self._stream = stream or sys.stdout
        self._settings = dict(settings or {})
        self._project, self._wish = project, wandb
        self._wandb: Any = None
        self._json: TextIO | None = None
        self._csv: TextIO | None = None

    def __enter__(self) -> TrainingLog:
        self._started = time.perf_counter()
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            fresh = not (self._folder / "metrics.csv").exists()
            self._json = (self._folder / "metrics.jsonl").open("a", encoding="utf-8", buffering=1)
            self._csv = (self._folder / "metrics.csv").open("a", encoding="utf-8", buffering=1, newline="")
            self._writer = csv.DictWriter(self._csv, FIELDS)
            if fresh:
                self._writer.writeheader()
        if self._wish == "on" or (self._wish == "auto" and importlib.util.find_spec("wandb")):
            self._wandb = self._start_wandb()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_terminal() and not self._quiet:
            print(file=self._stream)
        for file in (self._json, self._csv):
            if file is not None:
                file.close()
        if self._folder is not None and kind is None and importlib.util.find_spec("matplotlib"):
            plot(self._folder / "metrics.jsonl", self._folder / "metrics.png")
        if self._wandb is not None:
            self._wandb.finish()

    def _start_wandb(self) -> Any:
        """A wandb run; without an account it stays offline, and a failure never stops the training."""
        try:
            import wandb  # type: ignore[import-not-found,import-untyped,unused-ignore]

            # Who has logged in, or chosen a mode (also by `wandb offline`), is left to wandb's own settings.
            words = {} if os.environ.get("WANDB_MODE") or _logged_in() else {"mode": "offline"}
            return wandb.init(project=self._project, config=self._settings, **words)
        except Exception as problem:
            print(f"wandb is not used: {problem}", file=sys.stderr)
            return None

    def step(
        self,
        step: int,
        loss: float,
        lr: float,
        seconds: float,
        samples_per_second: float = 0.0,
        tokens_per_second: float = 0.0,
    ) -> None:
        """One step: `step` counts from 1, `seconds` is its duration."""
        line = {
            "step": step,
            "loss": loss,
            "lr": lr,
            "seconds": round(seconds, 6),
            "samples_per_second": round(samples_per_second, 3),
            "tokens_per_second": round(tokens_per_second, 1),
        }
        if self._json is not None and self._csv is not None:
            self._json.write(json.dumps(line) + "\n")
            self._writer.writerow(line)
        if self._wandb is not None:
            self._wandb.log({key: value for key, value in line.items() if key != "step"}, step=step)
        if not self._quiet:
            self._print(step, loss, seconds, tokens_per_second)

    def facts(self, **facts: Any) -> None:
        """Facts about the run, such as its number of parameters: into facts.json and to wandb."""
        if self._folder is not None:
            text = json.dumps(
                {"project": self._project, **facts, "settings": self._settings}, indent=1, default=str
            )
            (self._folder / "facts.json").write_text(text + "\n", encoding="utf-8")
        if self._wandb is not None:
            self._wandb.summary.update(facts)

    def _print(self, step: int, loss: float, seconds: float, rate: float) -> None:
        text = f"Step: {step}, Loss: {loss:.6f}, Time: {seconds * 1000:.1f} ms, TPS: {rate:.0f}"
        if not self._is_terminal():
            print(text, file=self._stream, flush=True)
            return
        passed = time.perf_counter() - self._started
        left = passed / step * (self._total - step) if step else 0.0
        filled = int(24 * min(step / max(self._total, 1), 1.0))
        bar = "█" * filled + "░" * (24 - filled)
        print(
            f"\r{bar} {step}/{self._total}  {text}, ETA: {_clock(left)}   ",
            end="",
            file=self._stream,
            flush=True,
        )

    def _is_terminal(self) -> bool:
        return self._stream.isatty()


def _logged_in() -> bool:
    """Whether `wandb login` has left a key: in the environment, or for its host in ~/.netrc."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlsplit(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname
    try:
        return host is not None and netrc.netrc(Path.home() / ".netrc").authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def plot(lines: Path, picture: Path) -> None:
    """Draw loss and tokens per second over steps from a metrics.jsonl. Needs matplotlib."""
    import matplotlib  # type: ignore[import-not-found,import-untyped,unused-ignore]

    matplotlib.use("Agg")
    from matplotlib import pyplot  # type: ignore[import-not-found,import-untyped,unused-ignore]

    records = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    steps = [record["step"] for record in records]
    figure, (above, below) = pyplot.subplots(2, 1, sharex=True, figsize=(8, 6))
    above.plot(steps, [record["loss"] for record in records])
    above.set_ylabel("loss")
    below.plot(steps, [record["tokens_per_second"] for record in records])
    below.set_ylabel("tokens/s")
    below.set_xlabel("step")
    figure.tight_layout()
    figure.savefig(picture)
    pyplot.close(figure)


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return (
        f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
        if whole >= 3600
        else f"{whole // 60}:{whole % 60:02}"
    )
