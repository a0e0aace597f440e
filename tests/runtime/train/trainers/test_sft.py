"""Supervised fine-tuning: batches, the loop against PyTorch, resuming with the same bits, several devices, what may be hooked in."""

from __future__ import annotations

import dataclasses
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.pytorch import torch_or_skip
from tests.runtime.train.references import frequencies, llama
from tests.sweep import sweep
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.datasets.collation import IGNORED, causal_lm_collate_fn, sft_collate_fn
from tt_run.runtime.train.datasets.dataloader import InMemoryDataloader
from tt_run.runtime.train.models.llama import Llama, LlamaConfig, create_distributed_llama_model
from tt_run.runtime.train.modules.base import RunMode
from tt_run.runtime.train.modules.lora import LoraConfig
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper, synchronize_gradients
from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter
from tt_run.runtime.train.trainers.callback import TrainerCallback
from tt_run.runtime.train.trainers.reports import LossHistory, MemorySummary, ProgressBar, Throughput
from tt_run.runtime.train.trainers.sft import SFTTrainer
from tt_run.runtime.train.trainers.sft_config import SFTConfig

SIZES: dict[str, Any] = {"num_heads": 2, "num_groups": 2, "embedding_dim": 32, "intermediate_dim": 32, "num_blocks": 1, "vocab_size": 32, "max_sequence_length": 32}  # fmt: skip


def examples(count: int = 12, seed: int = 0) -> list[dict[str, list[int]]]:
    """Sums: digits, then their reversal, of which only that is trained."""
    generator = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        own = generator.integers(1, 30, generator.integers(3, 9)).tolist()
        made.append({"input_ids": [*own, 31, *own[::-1]], "labels": [IGNORED] * len(own) + [*own[::-1], 0]})
    return made


def model(**changes: Any) -> Llama:
    return Llama(LlamaConfig(**{**SIZES, **changes}))


def loader(
    mapper: Any = None, count: int = 12, shuffle: bool = False, size: int = 4, seed: int | None = None
) -> InMemoryDataloader:
    collate = partial(sft_collate_fn, max_seq_len=32, pad_token_id=0, mapper=mapper)
    return InMemoryDataloader(examples(count), collate, size, shuffle, seed=seed)


def trainer(module: Any, **changes: Any) -> SFTTrainer:
    own = {
        k: changes.pop(k)
        for k in (
            "callbacks",
            "peft_config",
            "optimizer",
            "eval_dataloader",
            "train",
            "attention_mask",
            "checkpoint_saver",
            "checkpoint_loader",
        )
        if k in changes
    }
    settings = {
        "max_steps": 5,
        "learning_rate": 0.01,
        "max_seq_len": 32,
        "save_interval": 0,
        "eval_interval": 0,
        **changes,
    }
    return SFTTrainer(
        module, own.pop("train", loader()), own.pop("eval_dataloader", None), SFTConfig(**settings), **own
    )


def bits(module: Any) -> dict[str, bytes]:
    return {name: whole_parameter(t).tobytes() for name, t in module.parameters().items()}


# --- batches -------------------------------------------------------------------------------------------------------


def test_a_batch_weighs_what_is_trained(opened: Any) -> None:
    opened()
    batch = sft_collate_fn(
        [{"input_ids": [5, 6, 7], "labels": [IGNORED, 7, 8]}, {"input_ids": [9, 9, 9, 9, 9], "labels": [IGNORED] * 4 + [3]}], 4, 1
    )  # fmt: skip
    assert batch.input_ids.to_numpy().reshape(2, 4).tolist() == [[5, 6, 7, 1], [9, 9, 9, 9]]
    assert batch.labels.to_numpy().tolist() == [[1, 7, 8, 1], [1, 1, 1, 1]]
    weights = batch.loss_mask.to_numpy().reshape(2, 4)
    assert weights.tolist() == [[0, 4, 4, 0], [0, 0, 0, 0]] and weights.sum() == weights.size
    assert not batch.loss_mask.get_requires_grad()
    with pytest.raises(ValueError, match="3 input_ids and 2 labels"):
        sft_collate_fn([{"input_ids": [1, 2, 3], "labels": [1, 2]}], 4, 0)
    with pytest.raises(ValueError, match="no position of the batch is trained"):
        sft_collate_fn([{"input_ids": [1], "labels": [IGNORED]}], 4, 0)
    assert sft_collate_fn([{"input_ids": [1], "labels": [2]}], 32, 0, pad_to=8).labels.shape() == [1, 8]


@pytest.mark.parametrize(
    ("count", "drop", "sizes"), [(7, True, [3, 3]), (7, False, [3, 3, 1]), (6, False, [3, 3])]
)
def test_a_loader_goes_through_all(count: int, drop: bool, sizes: list[int]) -> None:
    made = InMemoryDataloader(range(count), list, 3, shuffle=False, drop_last=drop)
    assert ([len(b) for b in made], len(made)) == (sizes, len(sizes))
    np.random.seed(3)
    shuffled = InMemoryDataloader(range(count), list, 3, shuffle=True, drop_last=False)
    one, other = ([i for batch in shuffled for i in batch] for _ in range(2))
    assert one != other and sorted(one) == sorted(other) == list(range(count))
    seeded, same = (InMemoryDataloader(range(9), list, 3, shuffle=True, seed=4) for _ in range(2))
    passes = [[i for batch in one for i in batch] for one in (seeded, seeded, same, same)]
    assert passes[:2] == passes[2:] and passes[0] != passes[1] and sorted(passes[0]) == list(range(9))
    with pytest.raises(ValueError, match="has 2 examples, a batch 3"):
        next(iter(InMemoryDataloader(range(2), list, 3)))


# --- the loop ------------------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize("clip", sweep([0.0, 0.3], quick=[0.3]))
def test_twenty_steps_against_torch(opened: Any, clip: float) -> None:
    torch = torch_or_skip()
    opened()
    module = model()
    p = {
        n.removeprefix("llama/"): torch.tensor(t.to_numpy(), requires_grad=True)
        for n, t in module.parameters().items()
    }
    history = LossHistory()
    trainer(
        module, max_steps=20, max_grad_norm=clip, gradient_accumulation_steps=2, callbacks=[history]
    ).train()
    optimizer = torch.optim.AdamW(p.values(), 0.01, (0.9, 0.999), 1e-8, 0.01)
    every, at, expected = list(loader()), 0, []
    for _ in range(20):
        optimizer.zero_grad()
        total = 0.0
        for _ in range(2):
            batch, at = every[at % 3], at + 1
            ids, labels, weights = (
                torch.tensor(t.to_numpy().astype(np.float64))
                for t in (batch.input_ids, batch.labels, batch.loss_mask)
            )
            logits = llama(torch, p, ids.long().flatten(1), 1, 2, 2, frequencies(16, 10000.0))
            each = torch.nn.functional.cross_entropy(
                logits.flatten(0, 1), labels.long().flatten(), reduction="none"
            )
            loss = (each * weights.float().flatten()).mean()
            (loss / 2).backward()
            total += float(loss.detach()) / 2
        if clip:
            torch.nn.utils.clip_grad_norm_(p.values(), clip)
        optimizer.step()
        expected.append(total)
    np.testing.assert_allclose([loss for _, loss in history.losses], expected, rtol=2e-3)
    assert expected[-1] < 0.7 * expected[0]


@pytest.mark.parametrize("seed", [None, 8])
def test_resuming_is_not_stopping(opened: Any, tmp_path: Path, seed: int | None) -> None:
    """In the middle of a shuffled pass, with dropout, accumulation and a schedule."""

    def fresh() -> SFTTrainer:
        opened()
        np.random.seed(11)
        return trainer(
            model(dropout_prob=0.1), max_steps=7, warmup_steps=3, gradient_accumulation_steps=2, save_interval=4,
            checkpoint_dir=str(tmp_path), seed=5, train=loader(count=20, shuffle=True, seed=seed),
        )  # fmt: skip

    whole = fresh()
    whole.train()
    expected = bits(whole.model)
    again = fresh()
    np.random.seed(99)
    again.resume(tmp_path / "step_4.npz")
    assert again.step == 4
    again.train()
    assert bits(again.model) == expected


@pytest.mark.parametrize("mode", RunMode)
def test_an_evaluation_leaves_the_mode(opened: Any, mode: RunMode) -> None:
    opened()
    made = trainer(model(), eval_dataloader=loader())
    made.model.set_run_mode(mode)
    assert made.evaluate() > 0 and made.model.get_run_mode() is mode
    made.eval_dataloader = [None]  # type: ignore[assignment]
    with pytest.raises(TypeError, match="a batch has input_ids"):
        made.evaluate()
    assert made.model.get_run_mode() is mode


class Saves(TrainerCallback):
    """A checkpoint at the nth call of a hook."""

    def __init__(self, hook: str, call: int, path: Path) -> None:
        self.calls, self.call, self.path = 0, call, path
        setattr(self, hook, self._called)

    def _called(self, trainer: SFTTrainer, *facts: Any) -> None:
        self.calls += 1
        if self.calls == self.call:
            trainer.save(self.path)


@pytest.mark.parametrize(
    ("hook", "call", "step"),
    [
        pytest.param("on_after_backward", 5, 1, marks=pytest.mark.wide),
        pytest.param("on_after_forward", 3, 0, marks=pytest.mark.wide),
        ("on_before_optimizer_step", 3, 2),
        pytest.param("on_step_end", 2, 2, marks=pytest.mark.wide),
    ],
)
def test_resuming_within_a_step_is_not_stopping(
    opened: Any, tmp_path: Path, hook: str, call: int, step: int
) -> None:
    """Three micro-batches for each step, over the end of a pass, with dropout: whoever resumes begins the step again."""

    def run(callbacks: list[TrainerCallback], saved: Path | None = None) -> list[bytes]:
        opened().set_seed(3)
        np.random.seed(3)
        train = loader(count=14, shuffle=True)
        made = trainer(
            model(dropout_prob=0.2), train=train, gradient_accumulation_steps=3, callbacks=callbacks
        )
        if saved is not None:
            made.resume(saved)
            assert made.step == step
        made.train()
        return [tensor.to_numpy().tobytes() for tensor in made.model.parameters().values()]

    path = tmp_path / "within.npz"
    unbroken = run([])
    assert run([Saves(hook, call, path)]) == unbroken
    assert run([], path) == unbroken


def test_the_rate_by_its_former_name() -> None:
    make: Any = SFTConfig
    config = make(lr=0.5)
    assert config.learning_rate == config.lr == 0.5 and make().lr == 2e-5
    changed = dataclasses.replace(config, learning_rate=0.25, max_steps=3)
    assert (changed.lr, changed.max_steps) == (0.25, 3)
    with pytest.raises(TypeError, match="'learning_rate' must be float, got str; help: learning_rate=2e-05"):
        make(lr="fast")
    with pytest.raises(TypeError, match="learning_rate or lr, not both"):
        make(lr=0.5, learning_rate=0.5)


def test_gradient_checkpointing_changes_no_bit(opened: Any) -> None:
    def run(on: bool) -> dict[str, bytes]:
        opened()
        made = trainer(model(), gradient_checkpointing=on)
        made.train()
        return bits(made.model)

    assert run(True) == run(False)
    with pytest.raises(ValueError, match=r"no config\.runner_type"):
        trainer(type("Model", (), {"parameters": dict})(), gradient_checkpointing=True)


class Synchronize(TrainerCallback):
    def on_before_optimizer_step(self, trainer: Any) -> None:
        synchronize_gradients(trainer.model.parameters())


@pytest.mark.parametrize(
    "callbacks", [[], [Synchronize()]], ids=["the trainer averages", "so does a callback"]
)
def test_devices_train_as_one_does(opened: Any, callbacks: list[Any]) -> None:
    """Each device has as many trained positions as the others, so the mean of devices is the mean."""
    same = [{"input_ids": e["input_ids"][:6] * 2, "labels": (e["input_ids"][:6] * 2)} for e in examples(16, 2) if len(e["input_ids"]) >= 6]  # fmt: skip

    def run(parts: int) -> tuple[list[float], dict[str, np.ndarray]]:
        context = opened((1, parts), ddp=parts > 1)
        mapper = shard_tensor_to_mesh_mapper(context.get_device(), 0) if parts > 1 else None
        collate = partial(sft_collate_fn, max_seq_len=32, pad_token_id=0, mapper=mapper, pad_to=12)
        history = LossHistory()
        made = trainer(model(), train=InMemoryDataloader(same, collate, 8), callbacks=[*callbacks, history])
        made.train()
        return [loss for _, loss in history.losses], {
            n: whole_parameter(t) for n, t in made.model.parameters().items()
        }

    alone, several = run(1), run(4)
    np.testing.assert_allclose(several[0], alone[0], rtol=1e-5)
    for name, expected in alone[1].items():
        np.testing.assert_allclose(several[1][name], expected, atol=2e-4, err_msg=name)


def windows(count: int = 8) -> list[dict[str, list[int]]]:
    draw = np.random.default_rng(4).integers(0, 32, (count, 9)).tolist()
    return [{"input_ids": row[:-1], "labels": row[1:]} for row in draw]


def test_windows_of_a_text_are_trained_at_every_position(opened: Any) -> None:
    """As with weights of one, and as with the causal mask that the trainer makes."""
    opened()
    plain = causal_lm_collate_fn(windows(2), 8)
    assert (plain.input_ids.shape(), plain.labels.shape(), plain.loss_mask) == ([2, 1, 1, 8], [2, 8], None)
    with pytest.raises(ValueError, match="example 0 has 8 input_ids, the batch is of 9"):
        causal_lm_collate_fn(windows(1), 9)

    def run(collate: Any, masked: bool = False) -> dict[str, bytes]:
        opened()
        seen = np.tril(np.ones((1, 1, 8, 8), np.float32))
        own = {"attention_mask": Tensor.from_numpy(seen)} if masked else {}
        made = trainer(model(), train=InMemoryDataloader(windows(), collate, 4), **own)
        made.train()
        return bits(made.model)

    weighed = run(partial(sft_collate_fn, max_seq_len=8, pad_token_id=0))
    assert run(partial(causal_lm_collate_fn, seq_len=8)) == weighed
    assert run(partial(causal_lm_collate_fn, seq_len=8), masked=True) == weighed


def test_logits_that_are_cut_over_the_vocabulary(opened: Any) -> None:
    """A head that leaves its logits cut over the tensor-parallel axis trains as one device does; so does one that gathers them."""

    sizes = LlamaConfig(**{**SIZES, "num_heads": 4, "num_groups": 4})

    def run(parts: int, gathers: bool = True) -> list[float]:
        opened((1, parts), tp=parts > 1)
        module = create_distributed_llama_model(sizes) if parts > 1 else Llama(sizes)
        module.fc.gather_output = gathers
        history = LossHistory()
        trainer(module, callbacks=[history], max_steps=3).train()
        return [loss for _, loss in history.losses]

    expected = run(1)
    for gathers in (True, False):
        np.testing.assert_allclose(run(4, gathers), expected, rtol=2e-5)


def test_checkpoints_of_a_program(opened: Any, tmp_path: Path) -> None:
    opened()
    saved: dict[str, Any] = {}

    class Once(TrainerCallback):
        def on_step_end(self, trainer: Any, step: int, *args: Any, **kwargs: Any) -> None:
            rates.append(round(args[1], 6))
            if step == 3:
                trainer.remove_callback(self)
                trainer.remove_callback(self)

    def save(own: Any, path: str) -> None:
        saved[path] = own.step

    rates: list[float] = []
    settings = {
        "max_steps": 4,
        "save_interval": 2,
        "checkpoint_dir": str(tmp_path / "new"),
        "checkpoint_prefix": "run",
        "warmup_steps": 2,
    }
    made = trainer(model(), checkpoint_saver=save, callbacks=[Once()], **settings)
    made.train()
    assert saved == {str(tmp_path / "new" / f"run_step_{n}.pkl"): n for n in (2, 4)}
    assert rates == [0.005, 0.01, 0.01]
    again = trainer(model(), checkpoint_loader=lambda own, path: saved[path], **settings)
    assert again.load_checkpoint(str(tmp_path / "new" / "run_step_2.pkl")) == again.step == 2


def test_adapters_and_an_optimizer_by_configuration(opened: Any) -> None:
    opened()
    made = trainer(
        model(),
        peft_config=LoraConfig(rank=2, target_modules=["qkv_linear"]),
        optimizer={"type": "SGD", "lr": 0.1},
    )
    assert made.optimizer.get_name() == "SGD"
    before = bits(made.model)
    made.train()
    changed = [name for name, own in bits(made.model).items() if own != before[name]]
    assert changed and all("lora_" in name for name in changed)


def test_hooks_come_in_order_and_reports_tell(opened: Any, tmp_path: Path) -> None:
    opened()
    seen: list[str] = []

    class Note(TrainerCallback):
        def __getattribute__(self, name: str) -> Any:
            if name.startswith("on_"):
                return lambda trainer, *facts: seen.append(name[3:])
            return super().__getattribute__(name)

    lines: list[str] = []
    clock = iter(range(100))
    history, rate, memory = (
        LossHistory(tmp_path / "loss.svg"),
        Throughput(lambda: float(next(clock))),
        MemorySummary(),
    )
    made = trainer(
        model(), max_steps=2, eval_interval=2, save_interval=2, checkpoint_dir=str(tmp_path), eval_dataloader=loader(count=4),
        callbacks=[Note(), history, rate, memory, ProgressBar(lines.append)],
    )  # fmt: skip
    made.train()
    step = ["after_forward", "after_backward", "before_optimizer_step", "step_end"]
    assert seen == ["train_begin", *step, *step, "eval_end", "save", "train_end"]
    assert [line.split(":")[0] for line in lines] == ["step 1", "step 2"] and "lr 0.01" in lines[0]
    assert len(history.losses) == 2 and history.eval_losses[0][0] == 2
    assert (tmp_path / "loss.svg").read_text().count("<polyline") == 2
    assert rate.tokens_per_second > 0
    assert memory.text.startswith("peak ") and "MiB" in memory.text
    assert (tmp_path / "step_2.npz").is_file()


def test_no_bar_is_left_on_a_terminal(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However training ends: a hidden cursor and lines that are drawn over would stay behind."""
    opened()
    shown: list[str] = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stderr, "write", shown.append)
    monkeypatch.setenv("TERM", "xterm")

    class Ends(TrainerCallback):
        def on_step_end(self, trainer: Any, step: int, *args: Any, **kwargs: Any) -> None:
            if step == 2:
                raise RuntimeError("ends")

    made = trainer(model(), max_steps=4, callbacks=[Ends()])
    with pytest.raises(RuntimeError, match="ends"):
        made.train()
    text = "".join(shown)
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l") >= 0 and "1/4" in text


@pytest.mark.parametrize(("name", "value"), [("max_steps", 0), ("gradient_accumulation_steps", 0), ("learning_rate", -1.0), ("eval_interval", -1)])  # fmt: skip
def test_settings_that_mean_nothing(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"SFTConfig: {name}"):
        SFTConfig(**{name: value})  # type: ignore[arg-type]
