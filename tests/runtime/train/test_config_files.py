"""What a configuration file may not hold: each refusal with file, line and column; and how optimizers are made from one."""

from __future__ import annotations

import re
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.config import (
    SECTIONS,
    DeviceConfig,
    MultiHostConfig,
    TrainingConfig,
    get_config,
    get_model_config,
    schedule,
    yaml_deep_update,
)
from tt_run.runtime.train.common.documents import load_config
from tt_run.runtime.train.common.factory import TransformerModelFactory
from tt_run.runtime.train.common.files import get_tt_metal_runtime_root
from tt_run.runtime.train.common.model_config import TransformerConfig
from tt_run.runtime.train.common.utils import create_optimizer, initialize_device
from tt_run.runtime.train.models import llama_forms
from tt_run.runtime.train.models.decoders.deepseek import DeepSeek
from tt_run.runtime.train.models.decoders.llama import DecoderLlama
from tt_run.runtime.train.models.decoders.qwen3 import Qwen3
from tt_run.runtime.train.models.llama import Llama
from tt_run.runtime.train.models.mlp import MultiLayerPerceptronParameters, create_mlp_model
from tt_run.runtime.train.optimizers import registry
from tt_run.runtime.train.optimizers.base import OptimizerBase
from tt_run.runtime.train.optimizers.muon import MuonComposite
from tt_run.runtime.train.parallel import named_mesh
from tt_run.runtime.train.parallel.fsdp import fsdp_axis_of
from tt_run.runtime.train.settings import ConfigError, ConfigurationProblems, Section
from tt_run.runtime.train.trainers.grpo_config import get_grpo_config

OPTIMIZER = "training_config:\n  optimizer:\n    type: {}\n    {}\n"


def refusal(tmp_path: Path, content: str | bytes) -> str:
    """The message, without the folder."""
    file = tmp_path / "c.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    return str(caught.value).replace(str(file), "c.yaml")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (OPTIMIZER.format("Muon", "ns_steps: 2.7"), "c.yaml:4:5: training_config.optimizer.ns_steps: 2.7 is not a whole number; help: write ns_steps: 1"),
        (OPTIMIZER.format("AdamW", "beta1: abc"), "c.yaml:4:5: training_config.optimizer.beta1: 'abc' is not a number; help: write beta1: 0.5"),
        (OPTIMIZER.format("AdamW", "beta1: 1.0"), "c.yaml:4:5: training_config.optimizer.beta1 must be below 1, not 1.0; help: write beta1: 0.5"),
        ("", "c.yaml:1:1: the file is empty; help: write training_config: {max_steps: 100}"),
        ("- 3\n", "c.yaml:1:1: a configuration is a map of sections, not [3]; help: write training_config: {max_steps: 100}"),
        (
            "training_config:\n  scheduler_type: cosine\n",
            "c.yaml:2:3: training_config.scheduler_type: 'cosine' is not one of identity, warmup_linear; help: write scheduler_type: identity",
        ),
        (OPTIMIZER.format("AdamW", "amsgrad: maybe"), "c.yaml:4:5: training_config.optimizer.amsgrad: 'maybe' is not one of true, false; help: write amsgrad: true"),
        (OPTIMIZER.format("AdamW", "wieght_decay: 0"), "c.yaml:4:5: unknown key 'wieght_decay' in optimizer; help: did you mean 'weight_decay'?"),
        ("training_config:\n  beta1: abc\n", "c.yaml:2:3: training_config.beta1: 'abc' is not a number; help: write beta1: 0.5"),
        ("training_config:\n  seed: -1\n", "c.yaml:2:3: training_config.seed must be at least 0, not -1; help: write seed: 1"),
        ("training_config: {seed: 1, batch_size: 0}\n", "c.yaml:1:28: training_config.batch_size must be at least 1, not 0; help: write batch_size: 1"),
        ("device_config:\n  mesh_shape: [1, 2, 3]\n", "c.yaml:2:3: device_config.mesh_shape: [1, 2, 3] is not a list of 2 positive integers: [rows, columns]; help: [1, 2]"),
        ("device_config:\n  fsdp_replicate_params: norm\n", "c.yaml:2:3: device_config.fsdp_replicate_params must be a list of regex patterns, not 'norm'"),
        ("device_config:\n  fsdp_replicate_params: ['norm(']\n", "c.yaml:2:3: device_config.fsdp_replicate_params: 'norm(' is an invalid pattern: missing ), unterminated subpattern at position 4"),
        ("eval_config:\n  top_p: 1.5\n", "c.yaml:2:3: eval_config.top_p must be at most 1, not 1.5; help: write top_p: 0.5"),
        ("transformer_config:\n  rope_scaling:\n    scaling_factor: lots\n", "c.yaml:3:5: transformer_config.rope_scaling.scaling_factor: 'lots' is not a number; help: write scaling_factor: 0.001"),
        ("multihost_config:\n  pipeline_parallel_config:\n    blocks_per_rank: {0: two}\n", "c.yaml:3:23: multihost_config.pipeline_parallel_config.blocks_per_rank.0: 'two' is not a number"),
        ("transformer_config:\n  dropout_prob: !!int x\n", "c.yaml:2:17: \"x\" is no !!int; help: leave !!int out"),
        ("training_config:\n  seed: !!timestamp x\n", "c.yaml:2:9: \"x\" is no !!timestamp; help: leave !!timestamp out"),
        ("training_config:\n  [seed]: 1\n", "c.yaml:2:3: [seed] is no key of a setting; help: write key: value"),
        ("device_config:\n  fsdp_replicate_params: ['a{99999999999999999}']\n", "c.yaml:2:3: device_config.fsdp_replicate_params: 'a{99999999999999999}' is an invalid pattern: the repetition number is too large"),
        ("training_config:\n  grpo_config: {min_lr_rate: 2}\n", "c.yaml:2:17: training_config.grpo_config.min_lr_rate must be at most 1, not 2; help: write min_lr_rate: 0.5"),
        (OPTIMIZER.format("SGD", "{lr: 1}").replace("{lr: 1}", "lr: 1\n    learning_rate: 2"), "c.yaml:5:5: training_config.optimizer.learning_rate is the same as lr, which is 1.0; help: keep one of the two"),
        (b"training_config:\n  project_name: \xff\n", "c.yaml:2:17: the byte 0xff is not UTF-8; help: save the file as UTF-8"),
        ("training_config: {project_name: " + 400 * "[" + 400 * "]" + "}\n", "c.yaml:1:231: nested deeper than 200 levels"),
    ],
)  # fmt: skip
def test_refusals_say_where(tmp_path: Path, content: str | bytes, message: str) -> None:
    assert refusal(tmp_path, content) == message


@pytest.mark.parametrize(
    ("content", "place"),
    [("training_config:\n  ~: 1\n", "2:3"), ("training_config:\n  seed: 1\n  yes: 1\n", "3:3"), ("device_config:\n  0x10: 1\n", "2:3")],
)  # fmt: skip
def test_a_key_that_is_no_word_is_told_where_it_stands(tmp_path: Path, content: str, place: str) -> None:
    assert refusal(tmp_path, content).startswith(f"c.yaml:{place}: unknown key '")


def test_the_keys_that_there_are_stand_once(tmp_path: Path) -> None:
    told = refusal(
        tmp_path, "eval_config:\n" + "".join(f"  {letter * 9}: 1\n" for letter in "xyz")
    ).splitlines()
    assert [len(line.split("; help: one of")) for line in told] == [2, 1, 1]


@pytest.mark.parametrize("key", ["optimizer", "transformer_config"])
@pytest.mark.parametrize("by_way_of_another", [False, True])
def test_a_file_cannot_be_part_of_itself(tmp_path: Path, key: str, by_way_of_another: bool) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(f"training_config:\n  {key}: {tmp_path}/c.yaml\n")
    named = other if by_way_of_another else tmp_path / "c.yaml"
    told = refusal(tmp_path, f"training_config:\n  {key}: {named}\n").replace(str(tmp_path), "")
    assert told.endswith(
        f":2:3: training_config.{key}: configuration file c.yaml names itself{' by way of others' * by_way_of_another}"
    )


def test_patterns_that_are_too_deep(tmp_path: Path) -> None:
    told = refusal(tmp_path, f"device_config:\n  fsdp_replicate_params: ['{'(' * 20000}{')' * 20000}']\n")
    assert told.startswith("c.yaml:2:3: ") and told.endswith("is an invalid pattern: nested too deeply")


MODEL = "transformer_config:\n  num_blocks: 1\n  "


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("device_config:\n  enable_sp: true\n", "c.yaml:2:3: device_config.enable_sp requires enable_tp; help: enable_tp: true"),
        ("device_config:\n  fsdp_overlap_collectives: true\n", "c.yaml:2:3: device_config.fsdp_overlap_collectives requires enable_fsdp; help: enable_fsdp: true"),
        ("device_config:\n  mesh_shape: [1, 1]\n  sp_overlap: split\n  sp_ccl_columns: 1\n", "c.yaml:3:3: device_config.sp_overlap takes exactly one of"),
        ("device_config:\n  enable_pp: true\n", "c.yaml:2:3: device_config.enable_pp needs a multihost_config"),
        (f"{MODEL}attention_bias: true\n", "c.yaml:3:3: transformer_config.attention_bias: the attention of a gpt2 has no biases"),
        (f"{MODEL}model_type: bert\n", "c.yaml:3:3: Model type bert not supported"),
        ("training_config:\n  model_type: bert\n", "c.yaml:2:3: Model type bert not supported"),
        (f"{MODEL}num_heads: 5\n", "c.yaml:3:3: embedding_dim must be divisible by num_heads"),
        (f"{MODEL}model_type: qwen3\n  num_groups: 4\n", "c.yaml:1:1: Number of attention heads must be divisible"),
        (f"{MODEL}model_type: deepseek\n  moe_hyperparam:\n    n_expert_groups: 3\n", "c.yaml:5:5: 64 experts do not divide into 3 groups"),
        (
            f"{MODEL}model_type: llama\n  rope_scaling:\n    scaling_factor: 2\n    high_freq_factor: 1\n    original_context_length: 32\n",
            "c.yaml:6:5: rope: high_freq_factor must be above low_freq_factor, got 1.0 and 1.0",
        ),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_told_with_its_place(
    opened: Any, tmp_path: Path, content: str, message: str
) -> None:
    opened()
    file = tmp_path / "c.yaml"
    file.write_text(content)
    with pytest.raises((ValueError, RuntimeError, AssertionError)) as caught:
        TransformerModelFactory(load_config(file)).create_model()
    assert str(caught.value).startswith(f"{tmp_path}/{message}")


def test_the_sizes_of_a_model_are_told_in_the_file_that_has_them(opened: Any, tmp_path: Path) -> None:
    opened()
    (tmp_path / "m.yaml").write_text("transformer_config:\n  num_blocks: 1\n  num_heads: 5\n")
    (tmp_path / "c.yaml").write_text(f"training_config:\n  model_config: {tmp_path}/m.yaml\n")
    document = load_config(tmp_path / "c.yaml")
    with pytest.raises(AssertionError, match=r"m.yaml:3:3: embedding_dim must be divisible by num_heads"):
        TransformerModelFactory(document).create_model()
    document["training_config"]["transformer_config"] = {"num_heads": 7}
    with pytest.raises(AssertionError, match=r"^embedding_dim must be divisible by num_heads"):
        TransformerModelFactory(document).create_model()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("type: SGD\n    nesterov: true", "c.yaml:4:5: Nesterov momentum requires a positive momentum"),
        ("type: AdamW\n    stochastic_rounding: true\n    kahan_summation: true", "c.yaml:5:5: AdamW: with kahan_summation"),
        ("type: [a]", "c.yaml:3:5: training_config.optimizer.type: ['a'] is not a text"),
        ("type: MuonWithAdamW\n    muon: {ns_steps: 2.7}", "c.yaml:4:12: optimizer.muon.ns_steps: 2.7 is not a whole number"),
        ("type: MuonWithAdamW\n    mun: {}", "c.yaml:4:5: unknown key 'mun' in optimizer; help: did you mean 'muon'?"),
        ("type: MuonWithAdamW\n    adamw: {lr: fast}", "c.yaml:4:13: optimizer.adamw.lr: 'fast' is not a number"),
        ("type: MuonWithAdamW\n    adamw: {momentum: 1}", "c.yaml:4:13: optimizer.adamw.momentum is no setting of AdamW"),
        ("type: MuonWithAdamW\n    adamw: 3", "c.yaml:4:5: optimizer.adamw is a map of settings, not 3"),
        ("type: MuonWithAdamW\n    adamw_modules: fc", "c.yaml:4:5: optimizer.adamw_modules: 'fc' is not a list"),
    ],
)  # fmt: skip
def test_optimizers_of_a_file_that_cannot_be_made(
    opened: Any, tmp_path: Path, settings: str, message: str
) -> None:
    opened()
    model = create_mlp_model(MultiLayerPerceptronParameters(4, [8], 2))
    file = tmp_path / "c.yaml"
    file.write_text(f"training_config:\n  optimizer:\n    {settings}\n")
    with pytest.raises((ValueError, RuntimeError)) as caught:
        create_optimizer(model, load_config(file))
    assert str(caught.value).startswith(f"{tmp_path}/{message}")


def test_an_optimizer_of_the_program_stands_in_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "o.yaml").write_text("type: MuonWithAdamW\nmuon: {lr: 0.3}\n")
    (tmp_path / "c.yaml").write_text(f"training_config:\n  optimizer: {tmp_path}/o.yaml\n")
    training = TrainingConfig(load_config(tmp_path / "c.yaml"))
    assert training.optimizer_settings == {"type": "MuonWithAdamW", "muon": {"lr": 0.3}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("training_config:\n  seed: 1\n", "c.yaml:1:1: training_config must contain a 'grpo_config' section"),
        (
            "training_config:\n  grpo_config:\n    epsilon: 0.1\nremote_rollout_config:\n  max_batch_size: 1\n  max_seq_len: 1\n",
            "c.yaml:4:1: remote_rollout_config.mesh_shape is missing; help: write mesh_shape: [1, 1]",
        ),
        (
            "training_config:\n  grpo_config:\n    rollout_source: ttt\n",
            "c.yaml:3:5: GRPOConfig: rollout_source and rollout_mode must be one of",
        ),
    ],
)
def test_settings_of_grpo_that_do_not_go_together(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "c.yaml").write_text(content)
    with pytest.raises(ValueError) as caught:
        get_grpo_config(load_config(tmp_path / "c.yaml"))
    assert str(caught.value).startswith(f"{tmp_path}/{message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("device_config:\n  mesh_shape: [1, 2]\n  device_ids: [0]\n", "c.yaml:2:3: mesh_shape [1, 2] has 2 devices, device_ids names 1"),
        ("device_config:\n  mesh_shape: [1, 99]\n", "c.yaml:2:3: "),
    ],
)  # fmt: skip
def test_a_mesh_of_a_file_that_cannot_be_opened(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "c.yaml").write_text(content)
    with pytest.raises(RuntimeError) as caught:
        initialize_device(load_config(tmp_path / "c.yaml"))
    assert str(caught.value).startswith(f"{tmp_path}/{message}")


def test_schedules_of_a_file_that_no_rate_has(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("scheduler_config:\n  beta1_warmup_steps: 3\n")
    with pytest.raises(ConfigError, match=r"c.yaml:2:3: scheduler_config.beta1_warmup_steps needs a loop"):
        schedule(load_config(tmp_path / "c.yaml"), 10)


@pytest.mark.parametrize(
    "value", [3, "words", [1], object(), 10**5000], ids=lambda value: type(value).__name__
)
@pytest.mark.parametrize(
    "make",
    [
        TransformerModelFactory,
        get_grpo_config,
        lambda value: schedule(value, 3),
        lambda value: TransformerModelFactory({"training_config": value}),
        lambda value: get_grpo_config({"training_config": value}),
        lambda value: TransformerConfig({"transformer_config": value}),
        lambda value: TrainingConfig({"tokenizer_type": value}),
        lambda value: registry.create_optimizer({"type": value}, {}),
    ],
)
def test_what_a_program_gives_in_place_of_settings(make: Any, value: Any) -> None:
    with pytest.raises(
        ValueError if not isinstance(value, str) else (ValueError, FileNotFoundError)
    ) as caught:
        make(value)
    assert len(str(caught.value)) < 1500 and re.search(r"help: | is not |, not ", str(caught.value))


@pytest.mark.parametrize(
    "bomb",
    [
        "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)),
        "m0: &m0 {k: v}\n"
        + "".join(f"m{n}: &m{n} {{{', '.join(f'k{i}: *m{n - 1}' for i in range(9))}}}\n" for n in range(1, 9)),
        "m0: &m0 {k: v}\n" + "".join(f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}\n" for n in range(1, 9)),
    ],
    ids=["lists", "maps", "merges"],
)  # fmt: skip
def test_a_small_file_does_not_grow(tmp_path: Path, bomb: str) -> None:
    start = time.monotonic()
    assert "c.yaml:" in refusal(tmp_path, bomb)
    assert time.monotonic() - start < 1.0


def test_a_file_that_is_missing_is_told_with_those_beside_it(tmp_path: Path) -> None:
    for name in ("small.yaml", "wide.yml"):
        (tmp_path / name).write_text("training_config: {seed: 1}\n")
    for missing, near in (("smal.yaml", ["small.yaml"]), ("x", ["small.yaml", "wide.yml"])):
        with pytest.raises(FileNotFoundError) as caught:
            load_config(tmp_path / missing)
        told = " or ".join(str(tmp_path / name) for name in near)
        assert str(caught.value).endswith(f"help: did you mean {told}?")


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    told = refusal(tmp_path, "training_config:\n  seed: x\n  beta9: 1\nplan: 1\n").splitlines()
    assert [line.split(" ")[0] for line in told] == ["c.yaml:2:3:", "c.yaml:3:3:", "c.yaml:4:1:"]


def test_a_value_that_a_program_changed_has_no_line(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("training_config:\n  seed: 1\n  batch_size: 4\n")
    document = load_config(file)
    document["training_config"]["batch_size"] = 0
    with pytest.raises(
        ConfigError, match=r"^the configuration: training_config.batch_size must be at least 1"
    ):
        TrainingConfig(document)


ODD = [object(), [], {}, "odd words", -5.5, float("nan")]


@pytest.mark.parametrize(
    ("section", "key"), [(s, k) for s in SECTIONS.values() for k in s.settings], ids=lambda x: getattr(x, "section", x)
)  # fmt: skip
def test_every_setting_refuses_what_it_is_not(section: type[Section], key: str) -> None:
    """Each kind takes some of these at most; what it takes stays of its own type, what it does not is named."""
    refused = 0
    for value in ODD:
        report, made = ConfigurationProblems(lambda path: "f:1:2", (section.section,)), section()
        made.fill({key: value}, report)
        refused += len(report.problems) > 0
        assert all(line.startswith("f:1:2: ") and key in line for line in report.problems)
        if not report.problems:
            default, found = section.settings[key].default, getattr(made, section.settings[key].name)
            assert default is None or isinstance(found, type(default))
    assert refused >= 2
    assert section.settings[key].source


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"type": "SGD", "momentum": 0.9, "nesterov": "false"}, ("nesterov", False)),
        ({"type": "SGD", "momentum": 0.9, "nesterov": "True"}, ("nesterov", True)),
        ({"type": "AdamW", "amsgrad": "false"}, ("amsgrad", False)),
        ({"type": "AdamW", "kahan_summation": "true"}, ("use_kahan_summation", True)),
        ({"type": "AdamW", "eps": "1e-6"}, ("epsilon", 1e-6)),
        ({"type": "Muon", "ns_steps": "4"}, ("ns_steps", 4)),
    ],
)
def test_words_of_settings_mean_what_they_say(
    opened: Any, settings: dict[str, Any], expected: tuple[str, Any]
) -> None:
    opened()
    model = create_mlp_model(MultiLayerPerceptronParameters(4, [8], 2))
    for made in (
        registry.create_optimizer(settings, model.parameters()),
        create_optimizer(model, {"training_config": {"optimizer": settings}}),
    ):
        assert getattr(made._config, expected[0]) == expected[1]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"type": "AdamV"}, "did you mean 'AdamW'"),
        (
            {"type": "SGD", "beta1": 0.9},
            "optimizer.beta1 is no setting of SGD; it has lr, learning_rate, momentum",
        ),
        ({"type": "AdamW", "beta3": 0.9}, "unknown key 'beta3' in optimizer"),
        ({"type": "SGD", "lr": "fast"}, "optimizer.lr: 'fast' is not a number"),
    ],
)
def test_optimizers_that_cannot_be_made(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        registry.create_optimizer(config, {})


def test_an_optimizer_of_the_program(opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened()
    monkeypatch.setattr(registry, "registered", {})

    class Sign(OptimizerBase):
        def step(self) -> None:
            self._steps += 1

    seen: list[dict[str, Any]] = []

    def creator(config: dict[str, Any], parameters: dict[str, Tensor]) -> Sign:
        seen.append(config)
        return Sign(parameters, lr=config["rate"])

    registry.register_optimizer("Sign", creator)
    file = tmp_path / "c.yaml"
    file.write_text("training_config:\n  optimizer: {type: Sign, rate: 0.5}\n")
    model = create_mlp_model(MultiLayerPerceptronParameters(4, [8], 2))
    assert create_optimizer(model, load_config(file)).get_lr() == 0.5
    assert seen == [{"type": "Sign", "rate": 0.5}]
    with pytest.raises(TypeError, match="the creator is called with"):
        registry.register_optimizer("Bad", 3)  # type: ignore[arg-type]


def test_matrices_by_muon_and_the_rest_by_adamw(opened: Any) -> None:
    opened()
    model = create_mlp_model(MultiLayerPerceptronParameters(4, [8], 2))
    both = registry.create_optimizer(
        {"type": "MuonWithAdamW", "muon": {"lr": 0.3, "ns_steps": 2}, "adamw": {"lr": 0.1}},
        model.parameters(),
    )
    assert isinstance(both.muon_optimizer(), MuonComposite)
    assert all(name.endswith("weight") for name in both.muon_optimizer().get_parameters())
    assert all(name.endswith("bias") for name in both.adamw_optimizer().get_parameters())
    assert (both.get_lr(), both.get_adamw_lr(), both.get_name()) == (0.3, 0.1, "MuonWithAdamW")
    both.set_steps(3)
    other = registry.create_optimizer({"type": "MuonWithAdamW"}, model.parameters())
    other.set_state_dict(both.get_state_dict())
    assert (other.get_steps(), other.get_lr(), other.get_adamw_lr()) == (3, 0.3, 0.1)
    with pytest.raises(
        ConfigError, match=r"optimizer.muon.ns_steps: 2.7 is not a whole number; help: write ns_steps: 1"
    ):
        registry.create_optimizer({"type": "MuonWithAdamW", "muon": {"ns_steps": 2.7}}, model.parameters())


UPSTREAM = {
    "optimizer_configs/adamw.yaml": "type: AdamW\nlr: 0.0003\nbeta1: 0.9\nbeta2: 0.999\nepsilon: 1.0e-8\nweight_decay: 0.01\namsgrad: false\nstochastic_rounding: false\n",
    "lora_configs/default_lora.yaml": "lora_config:\n  r: 128\n  lora_alpha: 1.0\n  lora_dropout: 0.0\n  is_bias_trainable: false\n",
    "model_configs/deepseek.yaml": (
        "transformer_config:\n  model_type: deepseek\n  vocab_size: 102400\n  q_lora_rank: 0\n  kv_lora_rank: 512\n  qk_nope_head_dim: 128\n"
        "  qk_rope_head_dim: 64\n  v_head_dim: 128\n  n_dense_layers: 1\n  inter_dim: 10944\n  moe_type: sparse_tp\n  moe_hyperparam:\n"
        "    moe_inter_dim: 1408\n    n_routed_experts: 64\n    score_func: softmax\n    route_scale: 1.0\n  runner_type: memory_efficient\n"
    ),
    "device_configs/galaxy_tp.yaml": "device_config:\n  mesh_shape: [1, 32]\n  enable_tp: true\n  device_ids:\n",
    "training_configs/t.yaml": (
        'training_config:\n  model_config: "${TT_METAL_RUNTIME_ROOT}/tt-train/configs/model_configs/deepseek.yaml"\n'
        "  optimizer: optimizer_configs/adamw.yaml\n  max_steps: 5000\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("variable", ["TT_METAL_RUNTIME_ROOT", "TT_METAL_HOME"])
def test_files_as_upstream_lays_them_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name, content in UPSTREAM.items():
        file = tmp_path / "tt-train/configs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    monkeypatch.delenv("TT_METAL_RUNTIME_ROOT", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    assert get_tt_metal_runtime_root() == str(tmp_path)
    training = TrainingConfig(get_config("training_configs/t.yaml"))
    assert training.optimizer_settings["type"] == "AdamW"
    assert training.optimizer_settings["epsilon"] == 1e-8
    assert training.lr == 3e-4
    assert training.transformer_config.moe_hyperparam.moe_inter_dim == 1408
    model = get_model_config("configs/model_configs/deepseek.yaml")
    assert (model.inter_dim, model.kv_lora_rank, model.moe_type) == (10944, 512, "sparse_tp")
    assert load_config("lora_configs/default_lora.yaml")["lora_config"]["r"] == 128
    assert DeviceConfig("device_configs/galaxy_tp.yaml").device_ids == []
    given = TransformerConfig({"num_heads": 4})
    given.update_config({"transformer_config": {"num_blocks": 2}})
    assert (given.num_heads, given.num_blocks) == (4, 2)


@pytest.mark.parametrize(
    "content",
    [
        "training_config:\n  model_path: transformer.msgpack\n  transformer_config: {}\n",
        "training_config:\n  model_config: {}\n  data_path: data/shakespeare.txt\n",
        "transformer_config_path: {}\ntraining_config:\n  max_steps: 3\n",
    ],
)
def test_ways_to_name_the_file_of_a_model(tmp_path: Path, content: str) -> None:
    (tmp_path / "model.yaml").write_text("transformer_config:\n  num_blocks: 9\n  max_sequence_length: 64\n")
    file = tmp_path / "c.yaml"
    file.write_text(content.format(tmp_path / "model.yaml"))
    training = TrainingConfig(load_config(file))
    assert (training.transformer_config.num_blocks, training.seq_len) == (9, 64)
    file.write_text("training_config:\n  transformer_config: absent.yaml\n")
    with pytest.raises(
        ConfigError, match=r"c.yaml:2:3: training_config.transformer_config: .*absent.yaml not found"
    ):
        load_config(file)


def test_the_factory_builds_experts(opened: Any) -> None:
    opened()
    sizes = {
        "model_type": "deepseek",
        "vocab_size": 64,
        "embedding_dim": 32,
        "num_blocks": 2,
        "num_heads": 2,
        "inter_dim": 48,
    }
    latent = {
        "kv_lora_rank": 16,
        "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 8,
        "v_head_dim": 8,
        "n_dense_layers": 1,
    }
    experts = {"moe_inter_dim": 16, "n_routed_experts": 4, "n_activated_experts": 2, "score_func": "softmax"}
    model = TransformerModelFactory(
        {"transformer_config": {**sizes, **latent, "moe_type": "sparse_ep", "moe_hyperparam": experts}}
    ).create_model()
    assert isinstance(model, DeepSeek)
    assert (model.config.n_routed_experts, model.config.inter_dim, len(model.get_moe_layers())) == (4, 48, 1)


def test_rope_scaling_is_read_flat_too() -> None:
    """As programs do that make a model's own configuration from it; defaults where nothing is given."""
    scaling = {"scaling_factor": 32.0, "high_freq_factor": 3.0, "original_context_length": 8192}
    config = TransformerConfig({"transformer_config": {"rope_scaling": scaling}})
    told = (config.scaling_factor, config.high_freq_factor, config.low_freq_factor, config.original_context_length)  # fmt: skip
    assert told == (32.0, 3.0, 1.0, 8192) and config.rope == scaling
    plain = TransformerConfig({"transformer_config": {}})
    assert (plain.scaling_factor, plain.original_context_length, plain.rope) == (0.0, 0, None)


@pytest.mark.parametrize("names", ["documents", "hugging face"])
def test_either_kind_of_llama(opened: Any, names: str) -> None:
    opened()
    if names == "documents":
        model = llama_forms.Llama(
            llama_forms.LlamaConfig(num_heads=4, num_groups=2, embedding_dim=64, num_blocks=1)
        )
        assert (
            isinstance(model, Llama) and "llama/llama_block_0/attention/q_linear/weight" in model.parameters()
        )
        return
    config = llama_forms.LlamaConfig(hidden_size=64, num_attention_heads=4, num_hidden_layers=1)
    made: Any = llama_forms.Llama(config)
    assert (
        isinstance(made, DecoderLlama) and "Llama/blocks/0/attention/qkv_linear/weight" in made.parameters()
    )
    with pytest.raises(TypeError, match="num_heads"):
        llama_forms.LlamaConfig(hidden_size=64, num_heads=4)


def test_maps_are_updated_section_by_section() -> None:
    original = {"a": {"b": 1, "c": {"d": 2}}, "e": 3}
    assert yaml_deep_update(original, {"a": {"c": {"d": 4, "f": 5}}, "e": {"g": 6}}) is original
    assert original == {"a": {"b": 1, "c": {"d": 4, "f": 5}}, "e": {"g": 6}}


def test_sections_have_a_text_and_compare_by_value() -> None:
    one, other = (MultiHostConfig({"enabled": True, "num_workers": 2}) for _ in range(2))
    assert one == other and "num_workers=2" in repr(one)
    other.num_workers = 3
    assert one != other


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("device_config:\n  mesh_shape: [1, 2]\ntransformer_config_path: {}\n", "c.yaml:3:1"),
        ("training_config:\n  model_config: {}\n", "c.yaml:2:3"),
    ],
)
@pytest.mark.parametrize("name", ["nothing.yaml", 300 * "a"])
def test_a_model_file_that_is_not_there_is_told_with_the_place_that_names_it(
    tmp_path: Path, content: str, place: str, name: str
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(content.format(name))
    with pytest.raises(FileNotFoundError) as caught:
        TransformerConfig(str(file))
    assert str(caught.value).startswith(f"{tmp_path}/{place}: configuration file {name} not found")


EXPERTS = {"moe_inter_dim": 32, "n_routed_experts": 4, "n_shared_experts": 1, "n_activated_experts": 2, "n_expert_groups": 2, "n_limited_groups": 1, "score_func": "sigmoid", "route_scale": 2.5}  # fmt: skip


@pytest.mark.parametrize("nested", [True, False])
def test_experts_stand_in_a_section_or_beside_it(nested: bool) -> None:
    given = TransformerConfig({"transformer_config": {"moe_hyperparam": EXPERTS} if nested else EXPERTS})
    assert given.experts == EXPERTS
    assert TransformerConfig({"transformer_config": {"moe_hyperparam": {"n_routed_experts": 8}, "route_scale": 3.0}}).experts == {**MOE_DEFAULTS, "n_routed_experts": 8, "route_scale": 3.0}  # fmt: skip


MOE_DEFAULTS = {"moe_inter_dim": 1408, "n_routed_experts": 64, "n_shared_experts": 2, "n_activated_experts": 6, "n_expert_groups": 1, "n_limited_groups": 1, "score_func": "softmax", "route_scale": 1.0}  # fmt: skip
SIZES = {"num_heads": 4, "num_groups": 2, "embedding_dim": 64, "num_blocks": 2, "vocab_size": 90, "max_sequence_length": 32}  # fmt: skip


def test_a_qwen3_of_a_file(opened: Any) -> None:
    opened()
    sizes = {**SIZES, "model_type": "qwen3", "head_dim": 32, "intermediate_dim": 96, "weight_tying": "enabled", "runner_type": "memory_efficient"}  # fmt: skip
    model = TransformerModelFactory({"transformer_config": sizes}).create_model()
    assert isinstance(model, Qwen3)
    shapes = {name: tensor.shape() for name, tensor in model.parameters().items()}
    assert shapes["Qwen3/model/layers/1/self_attn/q_proj/weight"] == [1, 1, 128, 64]
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert not any("bias" in name for name in shapes)
    biased = TransformerModelFactory({"transformer_config": {**sizes, "attention_bias": True}}).create_model()
    assert "Qwen3/model/layers/0/self_attn/q_proj/bias" in biased.parameters()
    with pytest.raises(
        ConfigError, match="attention of a gpt2 has no biases to choose; help: model_type: qwen3"
    ):
        TransformerModelFactory({"transformer_config": {"model_type": "gpt2", "attention_bias": True}})


@pytest.mark.parametrize("section", ["device_config", "training_config"])
def test_parameters_wait_until_they_are_cut(
    opened: Any, section: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a file says so, no parameter of a Qwen3 is made whole."""
    context = opened((1, 2), tp=True)
    names = named_mesh.Mesh((1, 2), ("dp", "fsdp"))
    monkeypatch.setattr(named_mesh, "_open", named_mesh.OpenMesh(names, weakref.ref(context.get_device())))
    written: dict[str, dict[str, Any]] = {
        "transformer_config": {**SIZES, "model_type": "qwen3", "head_dim": 32},
        "device_config": {"enable_fsdp": True, "mesh_shape": [1, 2]},
        "training_config": {},
    }
    written[section]["lazy_parameter_init"] = True
    factory = TransformerModelFactory(written)
    assert factory.lazy
    model = factory.create_model()
    assert all(fsdp_axis_of(tensor) == 1 for tensor in model.parameters().values())
    assert hasattr(model.blocks[0], "unshard") and hasattr(model, "unshard")


def test_sections_that_programs_read(tmp_path: Path) -> None:
    """What upstream's programs of diffusion, of digits and of completions made elsewhere keep in their files is taken and checked."""
    file = tmp_path / "c.yaml"
    file.write_text(
        "training_config: {model_id: a/b, weight_sync_every: 2, rollout_queue_capacity: 1, output_dir: runs, logging_interval: 50, momentum: 0.9, is_eval: false, model_source: a/b}\n"
        "device_config: {cp_backward: cyclic, cp_shift_transport: direct, cp_layout: contiguous, cp_rows_per_block_tiles: 0}\n"
        "eval_config: {sample_interval: 0, sample_steps: 50, cfg_scale: 2.0}\n"
        "diffusion_config: {recipe: edm, timesteps: 10, beta_start: 0.0001, beta_end: 0.02, cfg_drop_prob: 0.1}\n"
        "logging_config: {log_interval: 100, wandb: false}\n"
        "remote_rollout_config: {architecture_model_id: c/d, mesh_shape: [1, 2], max_batch_size: 32, max_seq_len: 512}\n"
    )
    document = load_config(file)
    training = TrainingConfig(document)
    (tmp_path / "noise.yaml").write_text(
        "training_config: {lr_schedule: cosine, warmup_steps: 9, ema_decay: 0.9, ema_interval: 25, hflip_augment: true}\n"
    )
    assert TrainingConfig(load_config(tmp_path / "noise.yaml")).given["ema_interval"] == 25
    assert (training.model_id, training.weight_sync_every, training.momentum) == ("a/b", 2, 0.9)
    assert document["diffusion_config"]["timesteps"] == 10
    document["training_config"]["grpo_config"] = {"num_generations": 2, "checkpoint_interval": 0}
    remote = get_grpo_config(document).remote_rollout
    assert remote is not None and (remote.architecture_model_id, remote.mesh_shape) == ("c/d", [1, 2])
    for line, words in (
        ("device_config: {cp_layout: striped}", "cp_layout: 'striped' is not"),
        ("diffusion_config: {cfg_drop_prob: 2}", "cfg_drop_prob must be at most 1"),
        ("logging_config: {log_intervall: 5}", "did you mean 'log_interval'"),
    ):
        assert words in refusal(tmp_path, line)
