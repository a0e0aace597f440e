"""GRPO: the loss against PyTorch, a reward that is learnt, several devices, checkpoints and settings."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.pytorch import torch_or_skip
from tests.sweep import sweep
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.data import CharTokenizer
from tt_run.runtime.train.models.llama import Llama, LlamaConfig
from tt_run.runtime.train.parallel.distributed import (
    concat_mesh_to_tensor_composer,
    shard_tensor_to_mesh_mapper,
)
from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter
from tt_run.runtime.train.settings import ConfigError
from tt_run.runtime.train.trainers.async_grpo import (
    FullyAsyncGRPOTrainer,
    FullyAsyncRolloutBatch,
    OneStepAsyncGRPOTrainer,
)
from tt_run.runtime.train.trainers.callback import TrainerCallback
from tt_run.runtime.train.trainers.completion import ModelCompleter
from tt_run.runtime.train.trainers.grpo import GRPOTrainer
from tt_run.runtime.train.trainers.grpo_config import GRPOConfig, get_grpo_config
from tt_run.runtime.train.trainers.grpo_monitor import GRPOMonitor
from tt_run.runtime.train.trainers.grpo_saving import save_checkpoint
from tt_run.runtime.train.trainers.rollouts import (
    RolloutBatch,
    RolloutSampler,
    advantages_of,
    compute_advantages_ttnn,
    iter_batched_completions,
    iter_micro_batch,
    layout_microbatch,
    place_old_nlog_probs,
    reward_names,
    upload_micro_advantages,
)

PROMPTS = [{"prompt": word, "want": "a"} for word in ("ab", "cd", "ef", "gh") * 8]


class Figures(TrainerCallback):
    def __init__(self) -> None:
        self.steps: list[dict[str, float]] = []

    def on_step_end(self, trainer: Any, step: int, *args: Any, **kwargs: Any) -> None:
        self.steps.append(kwargs)


def reward(completions: list[str], want: list[str]) -> list[float]:
    """The share of the letter that is wanted."""
    return [text.count(letter) / max(len(text), 1) for text, letter in zip(completions, want, strict=True)]


def trainer(
    opened: Any, parts: int = 1, kind: type[GRPOTrainer] = GRPOTrainer, **changes: Any
) -> tuple[GRPOTrainer, Figures]:
    opened((1, parts), ddp=parts > 1)
    tokenizer = CharTokenizer("abcdefgh")
    model = Llama(LlamaConfig(num_heads=2, num_groups=2, embedding_dim=32, intermediate_dim=32, num_blocks=1, vocab_size=32, max_sequence_length=64))  # fmt: skip
    settings = {"per_device_train_batch_size": 16 // parts, "num_generations": 8, "prompts_to_train": 16, "max_completion_length": 6, **changes}  # fmt: skip
    config = GRPOConfig(**settings)
    completer = ModelCompleter(
        model, tokenizer, num_generations=config.num_generations, max_completion_length=6
    )
    figures = Figures()
    made = kind(completer, PROMPTS, config, reward, {"type": "AdamW", "lr": 0.02}, [figures])
    return made, figures


def test_a_reward_is_learnt(opened: Any) -> None:
    made, figures = trainer(opened, prompts_to_train=32)
    made.train()
    rewards = [step["reward_mean"] for step in figures.steps]
    assert len(rewards) == 16 and np.mean(rewards[-3:]) > np.mean(rewards[:3]) + 0.3
    assert figures.steps[0]["max_completion_len"] == 6


def test_devices_train_as_one_does(opened: Any) -> None:
    def run(parts: int) -> list[float]:
        made, figures = trainer(
            opened, parts, num_iterations=2, gradient_accumulation_steps=2, prompts_to_train=8
        )
        made.train()
        return [step["reward_mean"] for step in figures.steps] + [step["loss"] for step in figures.steps]

    np.testing.assert_allclose(run(4), run(1), atol=1e-5)


@pytest.mark.torch
def test_the_loss_against_torch(opened: Any) -> None:
    torch = torch_or_skip()
    made, _ = trainer(opened)
    generator = np.random.default_rng(2)
    old, new = (generator.standard_normal((6, 32), np.float32) for _ in range(2))
    new = (old + 0.3 * new).astype(np.float32)
    mask = (generator.random((6, 32)) < 0.4).astype(np.float32)
    mask[2] = 0
    advantage = generator.standard_normal((6, 1)).astype(np.float32)
    shares = mask / np.maximum(mask.sum(1, keepdims=True), 1)
    ours = Tensor.from_numpy(new)
    made.loss(
        Tensor.from_numpy(old), ours, Tensor.from_numpy(shares), Tensor.from_numpy(advantage), 24
    ).backward()
    tn = torch.tensor(new, requires_grad=True)
    ratio = torch.exp(torch.tensor(old) - tn)
    better = torch.minimum(ratio * torch.tensor(advantage), ratio.clamp(0.8, 1.2) * torch.tensor(advantage))
    (-(better * torch.tensor(shares)).sum() / 24).backward()
    np.testing.assert_allclose(ours.get_grad().to_numpy(), tn.grad, rtol=1e-4, atol=1e-7)


def test_probabilities_of_completions(opened: Any) -> None:
    """Those of the tokens after the prompt count; what a token sees does not depend on the batch."""
    made, _ = trainer(opened)
    completer = made.completer
    nlog, mask = completer.compute_nlog_probs([[1, 2, 3], [4]], [[5, 6], [7, 8, 9]])
    assert mask.to_numpy().nonzero()[1].tolist() == [2, 3, 0, 1, 2]
    alone, _ = completer.compute_nlog_probs([[4]], [[7, 8, 9]])
    np.testing.assert_allclose(nlog.to_numpy()[1, :3], alone.to_numpy()[0, :3], rtol=1e-5)
    assert completer.generate_str(["ab"])[0] and len(completer.generate([[1], [2]])) == 16


def handed_over(made: Any, ahead: int) -> list[Any]:
    """Give a trainer's completer the methods of an asynchronous one, which makes batches on demand; what was called of them."""
    completer, called, waiting = made.completer, [], []

    def push(*version: int) -> None:
        called.append(("weights", *version))

    def submit(prompts: list[list[int]]) -> None:
        waiting.append(completer.generate(prompts))
        called.append("submitted")

    def start(batches: list[Any], *, initial_version: int) -> None:
        waiting.extend(batches)
        called.append(("started", len(batches), initial_version))

    def hand() -> Any:
        if not ahead:
            return waiting.pop(0)
        prompts, columns = waiting.pop(0)
        completions = completer.generate(prompts)
        logprobs = [[-1.0] * len(completion) for completion in completions]
        return FullyAsyncRolloutBatch(prompts, columns, completions, made.steps, logprobs, f"b{made.steps}")

    methods = {
        "push_weights": push,
        "publish_weights": push,
        "submit_generate": submit,
        "await_generate": hand,
    }
    methods |= {"start_async_rollouts": start, "await_async_rollout": hand}
    methods["close_async_rollouts"] = lambda: called.append("closed")
    for name, method in methods.items():
        setattr(completer, name, method)
    return called


def test_weights_are_handed_over_after_each_step(opened: Any) -> None:
    """Fully asynchronous, with batches made when they are asked for, is what the trainer of one process does."""
    sizes = {"prompts_to_train": 4, "num_iterations": 2}
    plain, expected = trainer(opened, **sizes)
    plain.train()
    made, figures = trainer(opened, kind=FullyAsyncGRPOTrainer, **sizes)
    with pytest.raises(TypeError, match=r"start_async_rollouts\(\).* ModelCompleter does not"):
        made.train()
    called = handed_over(made, ahead=1)
    made.train()
    assert called == [("started", 2, 0), *(("weights", n) for n in (1, 2, 3, 4)), "closed"]
    assert [step["loss"] for step in figures.steps] == [step["loss"] for step in expected.steps]
    assert [step["behavior_version"] for step in figures.steps] == [0, 0, 2, 2]


class Bare(FullyAsyncGRPOTrainer):
    """A trainer that makes itself: its own rewards and steps, no model and no figures."""

    def __init__(self, completer: Any) -> None:
        self.completer, self.callbacks, self.optimized = completer, [], []
        self.config = SimpleNamespace(num_generations=2, num_iterations=2)  # type: ignore[assignment]
        self._prompts, self._extra_dataset_columns, self._generation_batch_prompts = [[0], [1]], {}, 1

    def _setup(self) -> None: ...
    def _reset_step_metrics(self) -> None: ...
    def _publish_step_metrics(self) -> None: ...
    def _maybe_checkpoint(self) -> None: ...
    def _apply_gradients(self) -> None: ...

    def _compute_rewards(self, prompts: Any, completions: Any, columns: Any) -> np.ndarray:
        return np.zeros(len(completions), np.float32)

    def _optimize(self, prompts: Any, completions: Any, advantages: Any) -> None:
        self.optimized.append((prompts, completions))


def test_a_trainer_that_makes_itself_steps_on_what_it_is_handed() -> None:
    batches = [
        FullyAsyncRolloutBatch([[n]], {}, [[n], [n + 1]], n, [[-1.0], [-1.0]], f"b{n}") for n in (7, 9)
    ]
    published: list[int] = []
    completer = SimpleNamespace(
        start_async_rollouts=lambda prompts, initial_version: None,
        await_async_rollout=lambda: batches.pop(0),
        publish_weights=published.append,
        close_async_rollouts=lambda: published.append(-1),
    )
    made = Bare(completer)
    made.train()
    assert published == [1, 2, 3, 4, -1]
    assert made.optimized == [([[n], [n]], [[n], [n + 1]]) for n in (7, 7, 9, 9)]
    assert made.metrics == {
        "step": 4,
        "behavior_version": 9,
        "generation_wait_s": made.metrics["generation_wait_s"],
    }


def test_the_next_batch_is_made_with_the_weights_before_the_step(opened: Any) -> None:
    made, figures = trainer(opened, kind=OneStepAsyncGRPOTrainer, prompts_to_train=6)
    called = handed_over(made, ahead=0)
    made.train()
    assert called == [("weights",), "submitted"] * 3 and len(figures.steps) == 3
    with pytest.raises(ValueError, match="num_iterations == 1"):
        trainer(opened, kind=OneStepAsyncGRPOTrainer, num_iterations=2)[0].train()


def test_batches_whose_rows_do_not_belong_together() -> None:
    def batch(**changes: Any) -> FullyAsyncRolloutBatch:
        rows = {"completions": [[1, 2], [3]], "behavior_logprobs": [[-1.0, -1.0], [-2.0]], **changes}
        return FullyAsyncRolloutBatch([[7]], {"want": ["a"], **rows.pop("columns", {})}, behavior_version=0, group_id="g", **rows)  # fmt: skip

    batch().validate(2)
    for changes, said in (
        ({"completions": [[1]]}, "'g' has 1 completions for 1 prompts, 2 each"),
        ({"behavior_logprobs": [[-1.0]]}, "'g' has 1 behavior logprobs"),
        ({"behavior_logprobs": [[-1.0], [-2.0]]}, "row 0 has 2 tokens but 1 behavior logprobs"),
        ({"columns": {"want": []}}, "column 'want' has 0 rows"),
    ):
        with pytest.raises(ValueError, match=said):
            batch(**changes).validate(2)


def test_rates_clipping_and_several_rewards(opened: Any, capsys: pytest.CaptureFixture[str]) -> None:
    config = GRPOConfig(warmup_steps=2, lr_scheduler_type="cosine", min_lr_rate=0.1)
    assert [round(config.rate_factor(step, 6), 4) for step in range(7)] == [0.5, 1.0, 1.0, 0.8682, 0.55, 0.2318, 0.1]  # fmt: skip
    made, figures = trainer(opened, prompts_to_train=2, use_clip_grad_norm=True, clip_grad_norm_max_norm=1e-3, log_completions=True, num_completions_to_print=2)  # fmt: skip
    made.reward_funcs.append(lambda completions: [1.0] * len(completions))
    norms = []

    class Norm(TrainerCallback):
        def on_step_end(self, trainer: Any, step: int, *args: Any, **kwargs: Any) -> None:
            squares = (np.square(t.get_grad().to_numpy()).sum() for t in trainer.model.parameters().values())
            norms.append(float(np.sqrt(sum(squares))))

    made.callbacks.append(Norm())
    made.train()
    assert figures.steps[0]["reward_mean"] >= 1.0 and norms[0] <= 1.001e-3
    assert capsys.readouterr().out.count("[completion, reward ") == 2
    for changes, said in (
        ({"lr_scheduler_type": "linear"}, "one of constant, cosine"),
        ({"min_lr_rate": 2.0}, "min_lr_rate must be in"),
        ({"use_clip_grad_norm": True, "clip_grad_norm_max_norm": 0.0}, "must be positive"),
        ({"report_to": "tensorboard"}, "report_to must be one of none, wandb, got 'tensorboard'"),
        ({"num_completions_to_print": -1}, "at least 0, got -1"),
    ):
        with pytest.raises(ValueError, match=said):
            GRPOConfig(**changes)


def test_advantages_compare_with_the_own_group() -> None:
    assert advantages_of(np.array([1, 3, 10, 10], np.float32), 2).tolist() == [-1, 1, 0, 0]
    with pytest.raises(ValueError, match="3 rewards are no whole number of groups of 2"):
        advantages_of(np.zeros(3, np.float32), 2)


def test_advantages_on_devices_are_those_of_the_host(opened: Any) -> None:
    """Whole groups on each device, less their means, in bfloat16."""
    context = opened((1, 2), ddp=True)
    rewards = np.array([1, 3, 10, 10, 0, 1, -4, 2], np.float32)
    mapper = shard_tensor_to_mesh_mapper(context.get_device(), 0)
    found = compute_advantages_ttnn(rewards, 2, mapper, 2)
    assert list(found.shape) == [4, 1]
    assert Tensor(found, False).to_numpy(composer=concat_mesh_to_tensor_composer(context.get_device(), 0)).ravel().tolist() == advantages_of(rewards, 2).tolist()  # fmt: skip
    for size, devices in ((3, 1), (4, 4)):
        with pytest.raises(
            ValueError, match=f"no whole number of groups of {size} on each of {devices} devices"
        ):
            compute_advantages_ttnn(rewards, size, None, devices)


def test_completions_come_in_batches_with_their_columns() -> None:
    class Twice:
        def generate(self, prompts: list[list[int]]) -> list[list[int]]:
            return [[*prompt, count] for prompt in prompts for count in range(2)]

    batches = list(
        iter_batched_completions(Twice(), [[1], [2], [3]], {"answer": "abc"}, batch_size=2, num_generations=2)
    )
    assert [batch[:3] for batch in batches] == [
        ([[1], [1], [2], [2]], [[1, 0], [1, 1], [2, 0], [2, 1]], {"answer": ["a", "a", "b", "b"]}),
        ([[3], [3]], [[3, 0], [3, 1]], {"answer": ["c", "c"]}),
    ]
    assert all(batch[3] >= 0 for batch in batches)
    sizes = [len(batch[0]) for batch in iter_batched_completions(Twice(), [[1]] * 33, {}, num_generations=2)]
    assert sizes == [64, 2]
    parts = list(iter_micro_batch([[1], [2], [3]], [[4], [5], [6]], micro_batch_size=2))
    assert parts == [([[1], [2]], [[4], [5]]), ([[3]], [[6]])]
    with pytest.raises(ValueError, match="2 completions of 1 prompts, 3 of each are wanted"):
        list(iter_batched_completions(Twice(), [[1]], {}, num_generations=3))


def test_advantages_of_a_micro_batch_are_dealt_out_in_order(opened: Any) -> None:
    device = opened((1, 4), ddp=True).get_device()
    cut = shard_tensor_to_mesh_mapper(device, 0)
    dealt = Tensor(upload_micro_advantages(np.arange(8, dtype=np.float32), cut, 4))
    assert dealt.shape() == [2, 1]
    assert dealt.to_numpy(composer=concat_mesh_to_tensor_composer(device, 0)).flatten().tolist() == [
        *range(8)
    ]
    with pytest.raises(ValueError, match=r"must be divisible by num_devices \(4\)"):
        upload_micro_advantages(np.zeros(6, np.float32), cut, 4)


def test_figures_are_written_and_each_reward_is_told(opened: Any, tmp_path: Path) -> None:
    """Of pairs of steps, with what callbacks add and take; a program that brings a monitor of its own gets no second one."""

    def length(completions: list[str]) -> list[float]:
        return [float(len(text)) for text in completions]

    class Judge(TrainerCallback):
        def on_step_end(self, trainer: Any, step: int, *args: Any, **kwargs: Any) -> None:
            trainer.metrics["judged"] = 2.0 * step

    made, figures = trainer(opened, prompts_to_train=8, logging_steps=2, output_dir=str(tmp_path))
    rewards = [reward, length, lambda completions: [0.5] * len(completions)]
    made = GRPOTrainer(made.completer, PROMPTS, made.config, None, {"type": "AdamW", "lr": 0.02}, [figures, Judge()], reward_funcs=rewards)  # fmt: skip
    made.train()
    assert [type(callback) for callback in made.callbacks] == [Figures, Judge, GRPOMonitor]
    with (tmp_path / "grpo_metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == ["2", "4"] and [row["judged"] for row in rows] == ["3.0", "7.0"]
    assert {"Figures_time_s", "Judge_time_s", "reward_mean", "length_mean", "lr"} <= rows[0].keys()
    for number, row in enumerate(rows):
        pair = figures.steps[2 * number : 2 * number + 2]
        for name in ("reward_mean", "length_mean", "reward_std"):
            assert float(row[name]) == pytest.approx(np.mean([step[name] for step in pair])), name
        assert float(row["max_completion_len"]) == max(step["max_completion_len"] for step in pair)
        assert row["reward_2_mean"] == "0.5"
        parts = (float(row[f"{name}_mean"]) for name in ("reward", "length", "reward_2"))
        assert float(row["reward_std"]) >= 0 and sum(parts) > 0

    class OldMonitor(TrainerCallback):
        pass

    OldMonitor.__name__ = "GRPOMonitor"
    own = OldMonitor()
    again = GRPOTrainer(made.completer, PROMPTS, made.config, reward, {"type": "SGD", "lr": 0.1}, [own])
    assert again.callbacks == [own]


def test_names_of_rewards() -> None:
    def length(completions: list[str]) -> list[float]:
        return [0.0 for _ in completions]

    assert reward_names([length, lambda completions: [], length]) == ["length", "reward_1", "length_2"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"reward_func": reward}, "optimizer_dict is required"),
        ({"optimizer_dict": {"type": "SGD"}}, "exactly one of reward_func"),
        ({"optimizer_dict": {"type": "SGD"}, "reward_funcs": []}, "at least one"),
        ({"optimizer_dict": {"type": "SGD"}, "reward_func": reward, "reward_funcs": [reward]}, "exactly one"),
    ],
)
def test_what_a_trainer_needs(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GRPOTrainer(None, PROMPTS, GRPOConfig(), **given)  # type: ignore[arg-type]


def test_steps_are_told_with_only_what_they_need(opened: Any) -> None:
    """A trainer derived from this one may fill in the state by itself: the number of the step and its beginning."""
    figures = Figures()
    made = OneStepAsyncGRPOTrainer.__new__(OneStepAsyncGRPOTrainer)
    made.callbacks, made.metrics, made._step_start_time = [figures], {"step": 5, "reward_mean": 0.3}, 0.0
    made._publish_step_metrics()
    assert made.metrics["step"] == 5 and figures.steps[0]["reward_mean"] == 0.3
    assert {"step_time_s", "Figures_time_s"} <= made.metrics.keys()
    assert made._async_gen_next_batch(iter([])) is None


def test_checkpoints_hold_settings_and_state(opened: Any, tmp_path: Path) -> None:
    made, _ = trainer(
        opened, prompts_to_train=2, checkpointing=True, checkpoint_interval=1, output_dir=str(tmp_path)
    )
    made.train()
    folder = tmp_path / "checkpoints" / "grpo_step_1"
    assert json.loads((folder / "trainer_state.json").read_text())["global_step"] == 1
    assert json.loads((folder / "grpo_config.json").read_text())["num_generations"] == 8
    assert (folder / "checkpoint.npz").is_file()


def test_settings_from_a_file() -> None:
    config = get_grpo_config(
        {"training_config": {"grpo_config": {"epsilon": "0.1", "num_generations": 2}}}, "out"
    )
    assert (config.epsilon, config.num_generations, config.output_dir) == (0.1, 2, "out")
    with pytest.raises(ConfigError, match="must contain a 'grpo_config' section"):
        get_grpo_config({"training_config": {}})
    with pytest.raises(
        ConfigError, match=r"unknown key 'epsilom' in grpo_config; help: did you mean 'epsilon'"
    ):
        get_grpo_config({"training_config": {"grpo_config": {"epsilom": 0.1}}})
    with pytest.warns(UserWarning, match="is now 'per_device_train_batch_size'"):
        assert (
            get_grpo_config(
                {"training_config": {"grpo_config": {"micro_batch_size": 3}}}
            ).per_device_train_batch_size
            == 3
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_generations": 3}, "must be divisible by num_generations"),
        ({"prompts_to_train": 3}, "must be divisible by the 2 prompts"),
        ({"rollout_mode": "remote_sync"}, "must be one of ttml in_process, ttt remote_sync, got ttml remote_sync"),
        ({"rollout_source": "ttt", "rollout_mode": "remote_sync"}, "this job is of 1 rank; help: tt-run"),
    ],
)  # fmt: skip
def test_sizes_that_do_not_divide(opened: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trainer(opened, **changes)[0].train()


@pytest.mark.parametrize(
    ("rows", "message"),
    [([], "the data set has no rows"), ([{"prompt": "ab", "want": "a"}, {"text": "ab"}], "row 1 of the data set has no 'prompt', it has text")],
)  # fmt: skip
def test_rows_that_are_no_prompts(opened: Any, rows: list[dict[str, str]], message: str) -> None:
    made, _ = trainer(opened, prompts_to_train=2)
    made.dataset = rows
    with pytest.raises(ValueError, match=message):
        made.train()


def test_completions_of_weights_before(opened: Any) -> None:
    """A micro-batch as inputs, targets and mask; probabilities that came with the completions at the places of their tokens."""
    prompts, completions = [[1, 2, 3], [4, 5]], [[6], [7, 8]]
    inputs, targets, mask, length = layout_microbatch(prompts, completions, 9)
    assert inputs[:, :4].tolist() == [[1, 2, 3, 9], [4, 5, 7, 9]] and length == 32
    assert targets[:, :4].tolist() == [[2, 3, 6, 9], [5, 7, 8, 9]]
    assert mask.nonzero()[1].tolist() == [2, 1, 2] and mask.dtype == np.float32
    old = place_old_nlog_probs(prompts, completions, np.array([[-0.5, 0.0], [-1.0, -2.0]]), length)
    assert old[mask > 0].tolist() == [0.5, 1.0, 2.0] and old.sum() == 3.5
    with pytest.raises(ValueError, match="Prompt is too short: prompt 0 has 1 tokens"):
        layout_microbatch([[1]], [[2]], 9)

    class Shared(RolloutSampler):
        def generate(self, prompts: Any) -> RolloutBatch:
            return RolloutBatch(self.weight_version, prompts, completions, np.zeros((2, 2)))

    sampler = Shared()
    sampler.update_weights(None, 2)
    assert sampler.generate(prompts).weight_version == 2
    with pytest.raises(ValueError, match="version 2 must be > current weight_version 2"):
        sampler.update_weights(None, 2)


def test_what_others_need_to_generate_is_beside_a_checkpoint(opened: Any, tmp_path: Path) -> None:
    made, _ = trainer(opened)
    (tmp_path / "config.json").write_text("{}")

    class Tokens:
        eos_token_id, pad_token_id = 3, None

        def save_pretrained(self, folder: str) -> None:
            (Path(folder) / "tokenizer.json").write_text("{}")

    folder = save_checkpoint(
        made.model, 7, str(tmp_path), tokenizer=Tokens(), grpo_config=made.config, optimizer=made.optimizer, model_source=str(tmp_path)
    )  # fmt: skip
    assert folder.name == "grpo_step_7"
    names = {"checkpoint.npz", "model.safetensors", "config.json", "tokenizer.json", "grpo_config.json"}
    assert names <= {file.name for file in folder.iterdir()}
    generation = json.loads((folder / "generation_config.json").read_text())
    assert generation == {"temperature": 1.0, "max_new_tokens": 6, "eos_token_id": 3}
    assert json.loads((folder / "trainer_state.json").read_text()) == {
        "global_step": 7,
        "learning_rate": 0.02,
    }


def weights_of(made: GRPOTrainer) -> bytes:
    return b"".join(whole_parameter(tensor).tobytes() for tensor in made.model.parameters().values())


@pytest.mark.parametrize("parts", sweep([1, 4], quick=[4]))
def test_a_run_that_goes_on_has_the_bits_of_one_that_was_not_stopped(
    opened: Any, tmp_path: Path, parts: int
) -> None:
    """From between two steps on the same completions, and from between two batches; in bfloat16, too."""
    settings: dict[str, Any] = {"prompts_to_train": 8, "num_iterations": 2, "warmup_steps": 3}
    settings |= {"lr_scheduler_type": "cosine", "checkpointing": True, "checkpoint_interval": 1, "output_dir": str(tmp_path)}  # fmt: skip
    whole, figures = trainer(opened, parts, **settings)
    whole.train()
    expected = weights_of(whole)
    rows = (tmp_path / "grpo_metrics.csv").read_text().splitlines()
    assert len(rows) == 9
    for step in (3, 4):
        (tmp_path / "grpo_metrics.csv").write_text("".join(f"{row}\n" for row in rows[: step + 1]))
        again, seen = trainer(opened, parts, **settings)
        np.random.seed(step)
        AutoContext.get_instance().set_seed(step)
        again.resume(tmp_path / "checkpoints" / f"grpo_step_{step}")
        again.train()
        assert weights_of(again) == expected
        for name in ("reward_mean", "loss", "lr"):
            assert [row[name] for row in seen.steps] == [row[name] for row in figures.steps[step:]]
        numbers = [row.split(",")[0] for row in (tmp_path / "grpo_metrics.csv").read_text().splitlines()]
        assert numbers == ["step", *map(str, range(1, 9))]


def test_what_a_run_cannot_go_on_from_is_told(opened: Any, tmp_path: Path) -> None:
    settings = {"prompts_to_train": 2, "output_dir": str(tmp_path)}
    made, _ = trainer(opened, **settings)
    made.train()
    folder = made.save()
    save_checkpoint(made.model, 7, str(tmp_path))
    other, _ = trainer(opened, num_iterations=2, **settings)
    with pytest.raises(ValueError, match="the run had num_iterations 1, this one has 2; help"):
        other.resume(folder)
    with pytest.raises(ValueError, match="was not written by a GRPOTrainer; help"):
        other.resume(tmp_path / "checkpoints" / "grpo_step_7")
    elsewhere, _ = trainer(opened, kind=FullyAsyncGRPOTrainer)
    with pytest.raises(NotImplementedError, match="made elsewhere are not in a checkpoint; help"):
        elsewhere.resume(folder)
