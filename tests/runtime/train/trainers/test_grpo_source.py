"""GRPO from a model's source: what is drawn and what is learnt against `transformers`, devices, samplers, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.pytorch import torch_or_skip, transformers_or_skip
from tests.runtime.train.trainers.source import source
from tests.sweep import sweep
from tt_run import contract
from tt_run.runtime import queues
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.config import DeviceConfig
from tt_run.runtime.train.common.data import CharTokenizer
from tt_run.runtime.train.common.model_config import TransformerConfig
from tt_run.runtime.train.models.decoders.export import halved
from tt_run.runtime.train.models.llama import Llama, LlamaConfig
from tt_run.runtime.train.modules.base import RunMode
from tt_run.runtime.train.parallel import named_mesh
from tt_run.runtime.train.parallel.sharded_parameters import whole_array, whole_parameter
from tt_run.runtime.train.trainers import job, model_source
from tt_run.runtime.train.trainers.batch_source import (
    score_rollout,
    validate_rollout_batch,
)
from tt_run.runtime.train.trainers.callback import TrainerCallback
from tt_run.runtime.train.trainers.grpo import GRPOTrainer
from tt_run.runtime.train.trainers.grpo_config import (
    GRPOConfig,
    RemoteRolloutConfig,
    get_grpo_config,
)
from tt_run.runtime.train.trainers.rollouts import RolloutBatch
from tt_run.runtime.train.trainers.sampler import TTMLRolloutSampler, build_rollout_sampler, stop_ids

ROWS = [{"prompt": text, "want": "a"} for text in ("a b c", "d e", "f g h i j", "k l") * 2]


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], AutoContext]]:
    """process(): a context as a new process has it, without a device."""
    monkeypatch.setenv(contract.SYSTEM, "t3000")
    made: list[AutoContext] = []

    def begin() -> AutoContext:
        AutoContext.get_instance().close_device()
        monkeypatch.setattr(AutoContext, "_instance", None)
        monkeypatch.setattr(named_mesh, "_open", None)
        made.append(AutoContext.get_instance())
        made[-1].set_arithmetic("float32")
        made[-1].set_seed(7)
        return made[-1]

    yield begin
    AutoContext.get_instance().close_device()


def settings(kind: str) -> TransformerConfig:
    return TransformerConfig(
        {
            "transformer_config": {
                "model_type": kind,
                "embedding_dim": 64,
                "intermediate_dim": 96,
                "num_blocks": 2,
                "num_heads": 4,
                "num_groups": 2,
                "max_sequence_length": 64,
                "dropout_prob": 0.0,
            }
        }
    )


def device(**changes: Any) -> DeviceConfig:
    return DeviceConfig({"device_config": {"mesh_shape": [1, 1], **changes}})


def config(**changes: Any) -> GRPOConfig:
    sizes = {"per_device_train_batch_size": 8, "num_generations": 4, "prompts_to_train": 2, "max_completion_length": 5}  # fmt: skip
    return GRPOConfig(**{**sizes, **changes})


def reward(completions: list[str], want: list[str]) -> list[float]:
    """The letters before m, with what was wanted counted twice."""
    return [
        sum(letter < "m" for letter in text) + text.count(letter) + 0.1 * place
        for place, (text, letter) in enumerate(zip(completions, want, strict=True))
    ]


class Batches(TrainerCallback):
    """What was made, and the figures of each step."""

    def __init__(self) -> None:
        self.rollouts: list[RolloutBatch] = []
        self.steps: list[dict[str, Any]] = []

    def on_train_begin(self, trainer: Any) -> None:
        plain = trainer.rollout_sampler.generate

        def generate(prompts: Any) -> RolloutBatch:
            self.rollouts.append(plain(prompts))
            return self.rollouts[-1]

        trainer.rollout_sampler.generate = generate

    def on_step_end(self, trainer: Any, step: int, *args: Any, **kwargs: Any) -> None:
        self.steps.append({"step": step, **kwargs})


def trainer(
    folder: Path, kind: str, where: DeviceConfig | None = None, **changes: Any
) -> tuple[GRPOTrainer, Batches]:
    seen = Batches()
    optimizer = changes.pop("optimizer_dict", {"type": "SGD", "lr": 0.05})
    made = GRPOTrainer(
        settings(kind), where or device(), str(folder), lambda: ROWS, config(**changes), reward, optimizer, [seen]
    )  # fmt: skip
    return made, seen


@pytest.mark.torch
@pytest.mark.parametrize("kind", sweep(["llama", "qwen3"], quick=["qwen3"]))
def test_a_step_against_transformers(process: Any, tmp_path: Path, kind: str) -> None:
    """The log-probabilities that came with the tokens, the loss, and the weights after a step, of rows of several lengths."""
    torch, transformers = torch_or_skip(), transformers_or_skip()
    process()
    made, seen = trainer(source(tmp_path, kind), kind, num_iterations=2, epsilon=0.05)
    made.train()
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, torch_dtype=torch.float32)
    optimizer = torch.optim.SGD(theirs.parameters(), 0.05)
    (rollout,) = seen.rollouts
    assert {len(prompt) for prompt in rollout.prompts} == {2, 3} and any(rollout.completions)
    rewards = np.array(
        reward([made.tokenizer.decode(c) for c in rollout.completions], ["a"] * 8), np.float32
    ).reshape(2, 4)
    advantages = (rewards - rewards.mean(1, keepdims=True)).reshape(-1)
    for step in range(2):
        losses = []
        for row, (prompt, completion) in enumerate(zip(rollout.prompts, rollout.completions, strict=True)):
            if not completion:
                continue
            logits = theirs(torch.tensor([[*prompt, *completion]])).logits[0, len(prompt) - 1 : -1]
            logs = torch.log_softmax(logits, -1)[range(len(completion)), completion]
            if step == 0:
                told = rollout.logprobs[row, : len(completion)]
                np.testing.assert_allclose(told, logs.detach(), atol=1e-4)
            ratio = torch.exp(logs - torch.tensor(rollout.logprobs[row, : len(completion)]))
            clipped = ratio.clamp(0.95, 1.05)
            advantage = float(advantages[row])
            losses.append(-torch.minimum(ratio * advantage, clipped * advantage).mean())
        loss = torch.stack(losses).sum() / 8
        assert seen.steps[step]["loss"] == pytest.approx(loss.item(), abs=1e-4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert [step["rollout_weight_version"] for step in seen.steps] == [0, 0]
    assert made.rollout_sampler is not None and made.rollout_sampler.weight_version == 2
    ours = {name: whole_array(value) for name, value in model_source.weights_ref_hf_dict(made.model).items()}
    heads = {"q_proj": 4, "k_proj": 2, "q_norm": 1, "k_norm": 1}
    assert ours.keys() >= theirs.state_dict().keys()
    for name, expected in theirs.state_dict().items():
        found = np.squeeze(ours[name])
        for part, count in heads.items():
            found = halved(found, count) if part in name else found
        np.testing.assert_allclose(found, expected.numpy(), atol=1e-4, err_msg=name)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("kind", "where"),
    [
        pytest.param("llama", {"mesh_shape": [1, 4], "enable_ddp": True}, marks=pytest.mark.wide),
        ("qwen3", {"mesh_shape": [2, 2], "enable_ddp": True, "enable_fsdp": True}),
        pytest.param(
            "qwen3",
            {"mesh_shape": [1, 4], "enable_fsdp": True, "lazy_parameter_init": True},
            marks=pytest.mark.wide,
        ),
    ],
)
def test_devices_train_as_one_does(process: Any, tmp_path: Path, kind: str, where: dict[str, Any]) -> None:
    folder = source(tmp_path, kind)

    def run(each: int, **where: Any) -> tuple[list[list[int]], list[float], np.ndarray]:
        process()
        made, seen = trainer(
            folder, kind, device(**where), per_device_train_batch_size=each, prompts_to_train=4
        )
        made.train()
        weights = np.concatenate(
            [whole_parameter(t).ravel() for _, t in sorted(made.model.parameters().items())]
        )
        drawn = [completion for rollout in seen.rollouts for completion in rollout.completions]
        return drawn, [step["loss"] for step in seen.steps], weights

    several, one = run(2, **where), run(8)
    assert several[0] == one[0]
    np.testing.assert_allclose(several[1], one[1], atol=1e-5)
    np.testing.assert_allclose(several[2], one[2], atol=1e-4)


@pytest.mark.torch
def test_a_checkpoint_is_a_source(process: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A trainer goes on from the folder that another wrote, whose weights have the model's own names; and trains once."""
    folder = source(tmp_path / "first", "llama")
    process()
    made, _ = trainer(folder, "llama", checkpointing=True, checkpoint_interval=1, output_dir=str(tmp_path))
    made.train()
    with pytest.raises(RuntimeError, match=r"train\(\) can only be called once"):
        made.train()
    saved = {name: whole_parameter(tensor) for name, tensor in made.model.parameters().items()}
    process()
    again, _ = trainer(tmp_path / "checkpoints" / "grpo_step_1", "llama")
    assert f"Loaded {len(saved)}/{len(saved)} parameters" in capsys.readouterr().out
    for name, tensor in again.model.parameters().items():
        np.testing.assert_array_equal(whole_parameter(tensor), saved[name])


@pytest.mark.torch
def test_a_program_replaces_how_the_model_is_made(process: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """An open device is used again and weights stay as they were drawn; the data set itself is taken, too, by name or in its place."""
    folder = str(source(tmp_path, "llama"))
    process().open_device((1, 1))
    used: list[str] = []
    monkeypatch.setattr(model_source, "open_device", lambda *given: used.append(given[0]))
    monkeypatch.setattr(model_source, "_download_hf_repo", lambda source: str(tmp_path / "none"))
    monkeypatch.setattr(model_source, "load_from_safetensors", lambda *given, **named: used.append("weights"))
    common = {"reward_func": reward, "optimizer_dict": {"type": "SGD", "lr": 0.1}, "config": config()}
    for given, named in (
        ((settings("llama"), device(), folder, ROWS), {}),
        ((), {"transformer_config": settings("llama"), "device_config": device(), "model_source": folder, "dataset": ROWS}),
    ):  # fmt: skip
        made = GRPOTrainer(*given, **named, **common)
        assert made.dataset is ROWS and made.model_source == folder and made.tokenizer.pad_token_id == 0
    assert used == ["llama", "weights"] * 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"dataset_func": 7}, "'dataset_func' must be a zero-argument callable"),
        ({"dataset_func": None}, "'dataset_func' must be a zero-argument callable"),
        ({"config": None}, "config must be a GRPOConfig, got"),
        ({"optimizer_dict": None}, "optimizer_dict is required"),
        ({"reward_func": None}, "exactly one of reward_func"),
        ({"transformer_config": TransformerConfig({"transformer_config": {"model_type": "gpt2"}})}, "model_type must be one of llama, qwen3, got 'gpt2'"),
        ({"config": config(rollout_source="ttt", rollout_mode="remote_sync")}, "this job is of 1 rank; help: tt-run"),
        ({"completer": None}, r"GRPOTrainer: got an unexpected keyword argument 'completer'; help: GRPOTrainer\(completer"),
    ],
)  # fmt: skip
def test_what_the_form_needs(process: Any, changes: dict[str, Any], said: str) -> None:
    """Nothing is opened for what cannot be trained."""
    context = process()
    given = {"transformer_config": settings("llama"), "device_config": device(), "model_source": "none", "dataset_func": lambda: ROWS}  # fmt: skip
    given |= {"config": config(), "reward_func": reward, "optimizer_dict": {"type": "SGD"}, **changes}
    with pytest.raises((TypeError, ValueError), match=said):
        GRPOTrainer(**given)
    assert context.live_device is None


def test_what_a_sampler_reads_and_gives_back(process: Any) -> None:
    process().open_device((1, 1))
    tensor = Tensor.from_numpy(np.ones((1, 1, 1, 2), np.float32))
    (read,), event = job.async_read_to_host([tensor.get_value()], tensor.get_value().device())
    queues.event_synchronize(event)
    np.testing.assert_array_equal(read.to_numpy(), 1.0)
    assert not job.is_rollout_rank(config())
    job.init_distributed_training(config())
    job.deallocate_tensors([tensor, None])
    with pytest.raises(RuntimeError, match="Tensor is not allocated"):
        tensor.to_numpy()


def drawing(process: Any, **changes: Any) -> TTMLRolloutSampler:
    process().open_device((1, 1))
    model = Llama(LlamaConfig(num_heads=2, num_groups=2, embedding_dim=32, intermediate_dim=32, num_blocks=1, vocab_size=40, max_sequence_length=64))  # fmt: skip
    settings = {"max_completion_length": 6, "temperature": 1.0, "completions_per_prompt": 2, **changes}
    return TTMLRolloutSampler(model, CharTokenizer("abcdefgh"), **settings)


def test_what_a_sampler_draws(process: Any) -> None:
    """The most likely token at temperature 0, whatever else is in the batch; no more tokens than there are positions; stops left out."""
    sampler = drawing(process, temperature=0.0, completions_per_prompt=1)
    together = sampler.generate([[1, 2, 3], [4], list(range(1, 9)) * 4])
    assert (together.batch_id, together.weight_version) == (0, 0)
    for row, prompt in enumerate(together.prompts):
        alone = sampler.generate([prompt])
        assert alone.completions == [together.completions[row]] and len(alone.completions[0]) == 6
        np.testing.assert_allclose(alone.logprobs[0], together.logprobs[row], atol=1e-5)
    assert sampler.model.get_run_mode() is RunMode.TRAIN
    full = sampler.generate([[1] * 61, [2] * 3])
    assert [len(completion) for completion in full.completions] == [3, 3] and not full.logprobs[:, 3:].any()
    assert sampler.generate([[1] * 64]).completions == [[]]
    first = together.completions[0]
    sampler._stops = frozenset(first[2:3])
    shorter = sampler.generate([[1, 2, 3]])
    assert shorter.completions == [first[: first.index(first[2])]]
    assert np.count_nonzero(shorter.logprobs) == len(shorter.completions[0])
    sampler.set_weight_version(5)
    assert sampler.generate([[1]]).weight_version == 5


def test_tokens_are_drawn_as_often_as_they_are_likely(process: Any) -> None:
    sampler = drawing(process, max_completion_length=1, completions_per_prompt=400, temperature=2.0)
    batch = sampler.generate([[1, 2]])
    drawn = np.bincount([completion[0] for completion in batch.completions], minlength=40) / 400
    assert (sampler.temperature, sampler.completions_per_prompt) == (2.0, 400)
    likely = np.zeros(40)
    for completion, told in zip(batch.completions, batch.logprobs, strict=True):
        likely[completion[0]] = np.exp(told[0])
    assert drawn[:40].sum() == 1.0 and np.abs(drawn - likely).max() < 0.06


def test_samplers_that_are_refused(process: Any) -> None:
    sampler = drawing(process)
    with pytest.raises(ValueError, match="prompt 1 has no tokens"):
        sampler.generate([[1], []])
    with pytest.raises(TypeError, match="supports ttml Llama and Qwen3 models, got int"):
        TTMLRolloutSampler(3, CharTokenizer("ab"), 4, 1.0, 1)
    with pytest.raises(ValueError, match="model_kind must be one of llama, qwen3, got 'gpt2'"):
        TTMLRolloutSampler("gpt2", None, None, "none", 4, 1.0)
    with pytest.raises(ValueError, match="unknown rollout_source 'ttt'; help: rollout_source: ttml"):
        build_rollout_sampler("ttt", model=None, tokenizer=None, max_completion_length=1, temperature=1.0, completions_per_prompt=1)  # fmt: skip
    with pytest.raises(TypeError, match="supports ttml Llama and Qwen3 models, got CharTokenizer"):
        model_source.weights_ref_hf_dict(CharTokenizer("ab"))


@pytest.mark.torch
def test_the_older_sampler_makes_its_model(process: Any, tmp_path: Path) -> None:
    folder = str(source(tmp_path, "qwen3"))
    process()
    sampler = TTMLRolloutSampler("qwen3", settings("qwen3"), device(), folder, 4, 0.0)
    batch = sampler.generate([sampler.tokenizer.encode("a b")])
    assert len(batch.completions) == 1 and batch.logprobs.shape == (1, 4)
    assert stop_ids(sampler.tokenizer) == {0, 1}
    with pytest.raises(ValueError, match=r"batch 2 must be divisible by num_devices 4"):
        process()
        wide = device(mesh_shape=[1, 4], enable_ddp=True)
        TTMLRolloutSampler("qwen3", settings("qwen3"), wide, folder, 4, 0.0, 2).generate([[3, 4]])


def rollout(**changes: Any) -> RolloutBatch:
    rows = {
        "prompts": [[1, 2]] * 2,
        "completions": [[3], [4, 5]],
        "logprobs": np.full((2, 3), -1.0, np.float32),
    }
    return RolloutBatch(0, **{**rows, **changes})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"completions": [[3]]}, "expected 2 rows, got 2 prompts / 1 completions"),
        ({"logprobs": [[0.0] * 3] * 2}, r"float32 array of shape \[2, 3\], got list"),
        ({"logprobs": np.zeros((2, 3))}, r"got float64 \[2, 3\]"),
        ({"completions": [[3], [4, 5, 6, 7]]}, "row 1: completion length 4 > max_completion_length 3"),
        ({"logprobs": np.array([[-1, 9, 9], [-1, np.nan, 9]], np.float32)}, "row 1: invalid behavior log-probs .*: nan of token 1"),
        ({"logprobs": np.array([[0.01, 9, 9], [-1, -1, 9]], np.float32)}, "row 0: invalid behavior log-probs .* of token 0"),
    ],
)  # fmt: skip
def test_batches_of_a_sampler_that_are_none(changes: dict[str, Any], said: str) -> None:
    validate_rollout_batch(rollout(), num_prompts=1, num_generations=2, max_completion_length=3)
    with pytest.raises(RuntimeError, match=said):
        validate_rollout_batch(rollout(**changes), num_prompts=1, num_generations=2, max_completion_length=3)


def test_rewards_of_a_batch() -> None:
    def length(completions: list[str], prompts: list[str]) -> list[float]:
        assert prompts == ["ab", "ab"]
        return [float(len(text)) for text in completions]

    def wanted(want: list[str]) -> list[float]:
        return [float(want == ["x", "x"])] * 2

    common = {"tokenizer": CharTokenizer("abcdefgh"), "reward_funcs": [length, wanted], "num_generations": 2}
    scored = score_rollout(rollout(), [[1, 2]], {"want": ["x"]}, **common)
    assert scored.rewards.tolist() == [2.0, 3.0] and scored.rewards.dtype == np.float32
    assert {name: part.tolist() for name, part in scored.reward_components.items()} == {
        "length": [1.0, 2.0],
        "wanted": [1.0, 1.0],
    }
    with pytest.raises(RuntimeError, match=r"in order \(got 2 prompts for 1 x 2\)"):
        score_rollout(rollout(), [[2, 1]], {"want": ["x"]}, **common)


def test_settings_of_another_rank_are_read() -> None:
    file = {
        "training_config": {"grpo_config": {"rollout_source": "ttt", "rollout_mode": "remote_sync"}},
        "remote_rollout_config": {"mesh_shape": [1, 2], "max_batch_size": 8, "max_seq_len": 64},
    }
    assert get_grpo_config(file).remote_rollout == RemoteRolloutConfig([1, 2], 8, 64, None, 32, 1.0)
    file["remote_rollout_config"]["max_sequence"] = 3
    with pytest.raises(
        ValueError, match=r"'max_sequence' in remote_rollout_config; help: did you mean 'max_seq_len'"
    ):
        get_grpo_config(file)
    for name in ("rollout_source", "rollout_mode"):
        with pytest.raises(ValueError, match=f"'{name}' must be one of .*, got 'vllm'"):
            GRPOConfig(**{name: "vllm"})


@pytest.mark.torch
def test_a_run_with_a_sampler_goes_on_with_the_same_bits(process: Any, tmp_path: Path) -> None:
    changes = {"prompts_to_train": 8, "num_iterations": 2, "checkpointing": True, "checkpoint_interval": 1, "output_dir": str(tmp_path)}  # fmt: skip
    folder, expected = source(tmp_path, "llama"), b""
    for step in (0, 3, 4):
        process()
        made, seen = trainer(folder, "llama", **changes)
        if step:
            made.resume(tmp_path / "checkpoints" / f"grpo_step_{step}")
        made.train()
        bits = b"".join(whole_parameter(tensor).tobytes() for tensor in made.model.parameters().values())
        expected = expected or bits
        assert bits == expected
        assert [row["step"] for row in seen.steps] == [*range(step + 1, 9)]
        assert seen.steps[-1]["rollout_weight_version"] == 6
        AutoContext.get_instance().close_device()
