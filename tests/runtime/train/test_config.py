"""Configuration files: every key, unknown ones with line and nearest, where files are found; all that ship can be used."""

from __future__ import annotations

import re
import types
from pathlib import Path
from typing import Any

import pytest

from mgd.resources import configs_root
from tt_run.runtime.train.common.config import (
    DeviceConfig,
    EvalConfig,
    MultiHostConfig,
    SchedulerConfig,
    TrainingConfig,
    schedule,
)
from tt_run.runtime.train.common.documents import SECTIONS, load_config
from tt_run.runtime.train.common.factory import TransformerModelFactory, adjust_vocab_size
from tt_run.runtime.train.common.files import find_config
from tt_run.runtime.train.common.model_config import TransformerConfig
from tt_run.runtime.train.common.utils import build_mesh, create_optimizer
from tt_run.runtime.train.models.gpt import GPT2
from tt_run.runtime.train.models.llama import Llama
from tt_run.runtime.train.models.mlp import MultiLayerPerceptronParameters, create_mlp_model
from tt_run.runtime.train.models.runner import RunnerType, WeightTyingType
from tt_run.runtime.train.optimizers.schedulers import SpeedrunScheduler
from tt_run.runtime.train.parallel.named_mesh import Mesh
from tt_run.runtime.train.settings import ConfigError

SHIPPED = configs_root() / "training"
ROOT = Path(__file__).resolve().parents[3]
FILES = sorted(SHIPPED.glob("*_configs/*.yaml"))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setenv("TT_METAL_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_files_that_ship_can_be_used(file: Path) -> None:
    document = load_config(file)
    if "training_config" in document:
        training = TrainingConfig(document)
        device = DeviceConfig(document)
        assert (
            training.batch_size % (device.mesh_shape[0] if device.enable_tp else device.total_devices()) == 0
            or not device.enable_ddp
        )
        assert "transformer_config" in load_config(str(training.model_config))
        assert (
            training.seq_len
            == load_config(str(training.model_config))["transformer_config"]["max_sequence_length"]
        )
        if training.multihost_config:
            assert MultiHostConfig(str(training.multihost_config)).enabled
        assert schedule(document, 100)(50) > 0
    if "transformer_config" in document:
        TransformerModelFactory(document)
    assert len(document) > 0


def test_there_is_a_configuration_for_each_machine() -> None:
    names = {file.name for file in FILES}
    shapes = {
        tuple(load_config(file)["device_config"]["mesh_shape"])
        for file in FILES
        if "training" in file.parent.name
    }
    assert {(1, 1), (1, 2), (1, 8), (4, 8)} <= shapes
    assert "tinyllama.yaml" in names
    assert load_config("tinyllama.yaml")["transformer_config"]["model_type"] == "llama"


def test_every_setting_is_read_or_said_to_be_for_programs() -> None:
    """Outside of its declaration, by its attribute or its key."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "examples").rglob("*.py")]
    texts += [
        re.sub(r"(?m)^ +\w+(: [^=]+)? = Setting\(.*$", "", path.read_text(encoding="utf-8"))
        for path in (ROOT / "tt_run/runtime/train").rglob("*.py")
    ]
    whole = "\n".join(texts)
    words = {*re.findall(r"\.(\w+)", whole), *re.findall(r"[\"'](\w+)[\"']", whole)}
    elsewhere = re.compile("for programs that read it|chooses kernels of a device")
    unread = [
        f"{section}.{key}"
        for section, kind in SECTIONS.items()
        for key, setting in kind.settings.items()
        if not {setting.name, key} & words and not elsewhere.search(setting.source)
    ]
    assert not unread, f"nothing reads these: let something, or give them the source PROGRAMS: {unread}"


def test_every_setting_has_a_case() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("*.py"))
    words = set(re.findall(r"\w+", text))
    unwritten = [
        f"{section}.{key}"
        for section, kind in SECTIONS.items()
        for key, setting in kind.settings.items()
        if not {setting.name, key} & words
    ]
    assert not unwritten, (
        f"no test writes these: add a case that does to {Path(__file__).name}, and what follows from it: {unwritten}"
    )


def test_unknown_keys_are_named_all_at_once(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(
        "training_config:\n  batch_sise: 3\n  max_steps: 4\ndevice_config:\n  mesh_shape: [1, 1]\n  enable_dpd: true\n"
        "transformer_config:\n  rope_scaling:\n    scaling_facter: 2\nmodel: {}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    assert str(caught.value).splitlines() == [
        f"{file}:2:3: unknown key 'batch_sise' in training_config; help: did you mean 'batch_size'?",
        f"{file}:6:3: unknown key 'enable_dpd' in device_config; help: did you mean 'enable_ddp'?",
        f"{file}:9:5: unknown key 'scaling_facter' in rope_scaling; help: did you mean 'scaling_factor'?",
        str(caught.value).splitlines()[3],
    ]
    assert str(caught.value).splitlines()[3].startswith(f"{file}:10:1: unknown key 'model'; help: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("training_config: [1]\n", "training_config is a map of settings"),
        ("- 1\n", "a configuration is a map"),
        ("training_config: {a: ]\n", ":1:"),
    ],
)
def test_malformed_files(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_config(tmp_path / "x.yaml")


def test_a_setting_that_stands_twice_is_told_and_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(
        "base: &base\n  seed: 1\n  seed: 2\ntraining_config:\n  <<: *base\n  batch_size: 3\n  seed: 4\n  batch_size: 5\ntraining_config: {}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    assert sorted(str(caught.value).splitlines()) == [
        f"{file}:3:3: 'seed' stands twice, first in line 2; help: keep one of the two",
        f"{file}:8:3: 'batch_size' stands twice, first in line 6; help: keep one of the two",
        f"{file}:9:1: 'training_config' stands twice, first in line 4; help: keep one of the two",
    ]


def test_where_files_are_found(tmp_path: Path) -> None:
    places = [
        Path("configs/model_configs/m.yaml"),
        tmp_path / "root/model_configs/m.yaml",
        tmp_path / "home/tt-train/configs/model_configs/m.yaml",
    ]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("eval_config: {}\n")
    root = str(tmp_path / "root")
    assert find_config("configs/model_configs/m.yaml", root) == places[0].absolute()
    places[0].unlink()
    for given in ("configs/model_configs/m.yaml", "model_configs/m.yaml", "m.yaml"):
        assert find_config(given, root) == places[1]
        assert find_config(given) == places[2]
    assert find_config(places[1]) == places[1]
    assert find_config("training_configs/tiny.yaml") == SHIPPED / "training_configs" / "tiny.yaml"
    with pytest.raises(FileNotFoundError, match=r"(?s)looked for in .*help: write the path of a YAML file"):
        find_config("no_such_file.yaml")
    with pytest.raises(FileNotFoundError, match=r"(?s)help: did you mean .*tiny_ddp.yaml"):
        find_config("tiny_dddp.yaml")


def test_every_training_key_reaches_its_attribute() -> None:
    given = {
        "project_name": "p",
        "seed": 1,
        "model_save_interval": 2,
        "batch_size": 12,
        "validation_batch_size": 3,
        "num_epochs": 4,
        "max_steps": 5,
        "eval_every": 6,
        "gradient_accumulation_steps": 7,
        "data_path": "d",
        "tokenizer_type": "bpe",
        "tokenizer_path": "t",
        "scheduler_type": "warmup_linear",
        "learning_rate": 0.5,
        "weight_decay": 0.25,
        "beta1": 0.1,
        "beta2": 0.2,
        "eps": 0.3,
        "use_clip_grad_norm": True,
        "clip_grad_norm_max_norm": 2.0,
        "checkpoint_dir": "c",
        "arithmetic": "float32",
    }
    names = {
        "model_save_interval": "save_every",
        "num_epochs": "epochs",
        "max_steps": "steps",
        "learning_rate": "lr",
    }
    made = TrainingConfig({"training_config": given})
    for key, value in given.items():
        assert getattr(made, names.get(key, key)) == value, key
    assert made.use_bpe
    others = {
        "model_config",
        "multihost_config",
        "optimizer",
        "transformer_config",
        "model_type",
        "total_steps",
        "grpo_config",
        "model_path",
    }
    # Tried with the sections that they belong to.
    others |= {"lazy_parameter_init", "momentum", "is_eval", "logging_interval", "output_dir", "model_id", "weight_sync_every", "rollout_queue_capacity", "model_source", "lr_schedule", "warmup_steps", "ema_decay", "ema_interval", "hflip_augment"}  # fmt: skip
    switches = {"use_moreh_adamw", "use_kahan_summation", "use_sgd"}
    apart = set(TrainingConfig.settings) ^ {*given, *others, *switches}
    assert not apart, f"give these a value in `given` above, or name them in `others`: {sorted(apart)}"


def test_defaults() -> None:
    made = TrainingConfig({})
    assert (made.seed, made.batch_size, made.validation_batch_size, made.steps) == (42, 64, 32, 1000)
    assert (made.lr, made.beta1, made.beta2, made.eps, made.weight_decay) == (3e-4, 0.9, 0.999, 1e-8, 0.01)
    assert (made.eval_every, made.save_every, made.checkpoint_dir, made.seq_len) == (
        200,
        500,
        "checkpoints",
        128,
    )
    limits = EvalConfig({})
    assert (limits.repetition_penalty, limits.temperature, limits.top_k, limits.top_p) == (1.0, 0.7, 50, 1.0)
    assert (DeviceConfig({}).mesh_shape, DeviceConfig({}).total_devices()) == ([1, 1], 1)
    assert (MultiHostConfig({}).enabled, MultiHostConfig({}).mode) == (False, "single")
    assert (SchedulerConfig({}).max_lr, SchedulerConfig({}).total_steps) == (1e-3, 1000)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: TrainingConfig({"training_config": {"tokenizer_type": "words"}}),
            "tokenizer_type: 'words' is not one of char, bpe",
        ),
        (
            lambda: TrainingConfig({"training_config": {"scheduler_type": "warmup"}}),
            "did you mean 'warmup_linear'",
        ),
        (lambda: TrainingConfig({"training_config": {"batch_size": 0}}), "batch_size must be at least 1"),
        (lambda: DeviceConfig({"device_config": {"enable_sp": True}}), "enable_sp requires enable_tp"),
        (
            lambda: DeviceConfig({"device_config": {"sp_linear_impl": "eager"}}),
            "sp_linear_impl: 'eager' is not 'composed' or 'fused'",
        ),
        (
            lambda: DeviceConfig({"device_config": {"sp_overlap": "forward"}}),
            "sp_overlap: 'forward' is not 'off', 'split' or 'backward'",
        ),
        (
            lambda: DeviceConfig({"device_config": {"sp_overlap": True, "sp_ccl_columns": 1}}),
            "exactly one of sp_ccl_rows and sp_ccl_columns, got 1 and 1",
        ),
        (
            lambda: TransformerModelFactory({"device_config": {"enable_tp": True, "enable_sp": True}}),
            "enable_sp: positions of a gpt2 are not cut",
        ),
        (lambda: MultiHostConfig({"multihost_config": {"socket_type": "tcp"}}), "not one of mpi, fabric"),
        (
            lambda: TransformerModelFactory({"transformer_config": {"model_type": "bert"}}),
            "Model type bert not supported",
        ),
        (
            lambda: TransformerModelFactory({"device_config": {"enable_pp": True}}),
            "enable_pp needs a multihost_config",
        ),
    ],
)
def test_values_that_mean_nothing(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_modes_of_several_hosts() -> None:
    stages = {"num_blocks": 4, "blocks_per_rank": {"0": 1, "1": 3}}
    pipeline = MultiHostConfig(
        {"multihost_config": {"enabled": True, "socket_type": "FABRIC", "pipeline_parallel_config": stages}}
    )
    assert (pipeline.mode, pipeline.socket_type) == ("pipeline", "fabric")
    stages = pipeline.pipeline_parallel_config
    assert stages is not None and (stages.num_blocks, stages.blocks_per_rank) == (4, {0: 1, 1: 3})
    assert MultiHostConfig({"multihost_config": {"enabled": True, "num_workers": 3}}).mode == "hierarchical"


def test_the_factory_follows_every_key(opened: Any) -> None:
    opened()
    common = {
        "num_heads": 4,
        "embedding_dim": 64,
        "dropout_prob": 0.1,
        "num_blocks": 1,
        "vocab_size": 70,
        "max_sequence_length": 32,
    }
    common["runner_type"] = "memory_efficient"
    gpt = TransformerModelFactory(
        {
            "transformer_config": {
                **common,
                "weight_tying": "enabled",
                "positional_embedding_type": "fixed",
                "experimental": {"use_composite_layernorm": True},
            }
        }
    ).create_model()
    assert isinstance(gpt, GPT2)
    assert (gpt.config.vocab_size, gpt.config.dropout_prob) == (96, 0.1)
    assert gpt.config.runner_type is RunnerType.MemoryEfficient
    assert gpt.config.weight_tying is WeightTyingType.Enabled
    assert gpt.config.experimental.use_composite_layernorm
    assert not any("pos_emb" in name for name in gpt.parameters())
    scaling = {
        "scaling_factor": 8.0,
        "high_freq_factor": 3.0,
        "low_freq_factor": 2.0,
        "original_context_length": 16,
    }
    llama = TransformerModelFactory(
        {
            "transformer_config": {
                **common,
                "model_type": "llama",
                "num_groups": 2,
                "theta": 5000.0,
                "intermediate_dim": 96,
                "rope_scaling": scaling,
            }
        }
    ).create_model()
    assert isinstance(llama, Llama)
    made = llama.config
    assert (made.num_groups, made.theta, made.intermediate_dim) == (2, 5000.0, 96)
    assert {name: getattr(made, name) for name in scaling} == scaling


def test_the_factory_reads_the_files_that_a_training_configuration_names(opened: Any) -> None:
    """A program may hand over what it loaded and set the vocabulary under training_config, as the multi-host scripts do."""
    opened()
    document = load_config("tiny_2tier.yaml")
    document["training_config"].setdefault("transformer_config", {})["vocab_size"] = 70
    factory = TransformerModelFactory(document)
    named = load_config("tiny_llama.yaml")["transformer_config"]
    assert factory.transformer_config.max_sequence_length == named["max_sequence_length"]
    assert (factory.transformer_config.vocab_size, factory.model_type) == (70, "llama")
    assert (factory.multihost_config.mode, factory.multihost_config.num_workers) == ("hierarchical", 3)
    model = factory.create_model()
    assert isinstance(model, Llama)
    assert (model.config.vocab_size, model.config.num_blocks) == (96, named["num_blocks"])
    assert TrainingConfig(document).seq_len == named["max_sequence_length"]
    own = {**document, "transformer_config": {"max_sequence_length": 64}}
    assert TrainingConfig(own).seq_len == 64


@pytest.mark.parametrize(
    ("shape", "kinds", "names"),
    [
        ([1, 8], ["ddp"], ("_0", "dp")),
        ([4, 1], ["tp"], ("tp", "_1")),
        ([2, 4], ["ddp", "tp"], ("dp", "tp")),
        ([2, 4], ["fsdp", "cp"], ("fsdp", "cp")),
        ([1, 1], [], ("_0", "_1")),
        ([1, 1], ["ddp"], ("dp", "_1")),
    ],
)
def test_a_mesh_with_names(shape: list[int], kinds: list[str], names: tuple[str, str]) -> None:
    config = {"device_config": {"mesh_shape": shape, **{f"enable_{kind}": True for kind in kinds}}}
    assert build_mesh(DeviceConfig(config)) == Mesh((shape[0], shape[1]), names)


@pytest.mark.parametrize(("shape", "kinds"), [([1, 8], ["ddp", "tp"]), ([2, 4], ["tp"])])
def test_a_mesh_with_other_axes_than_kinds(shape: list[int], kinds: list[str]) -> None:
    config = {"device_config": {"mesh_shape": shape, **{f"enable_{kind}": True for kind in kinds}}}
    with pytest.raises(ValueError, match=r"mesh has . ax[ie]s for (dp, )?tp; help: one of enable_ddp"):
        build_mesh(DeviceConfig(config))


def test_settings_may_be_given_by_name() -> None:
    given = SchedulerConfig(max_lr=0.4, warmup_steps=2, hold_steps=1, total_steps=7, beta1_start=None)
    rates = [SpeedrunScheduler(given).lr_at(step) for step in range(9)]
    assert rates == pytest.approx([0.0, 0.2, 0.4, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0])
    assert SpeedrunScheduler(given).beta1_at(3) is None
    # As does anything with the same fields, read anew at each step.
    other = types.SimpleNamespace(max_lr=1.0, min_lr=0.5, warmup_steps=0, hold_steps=0, total_steps=2, beta1_start=0.8, beta1_end=0.9, beta1_warmup_steps=4)  # fmt: skip
    schedule = SpeedrunScheduler(other)
    assert (schedule.lr_at(1), schedule.beta1_at(2)) == pytest.approx((0.75, 0.85))
    other.max_lr = 2.0
    assert schedule.lr_at(0) == 2.0
    with pytest.raises(
        ConfigError, match=r"unknown key 'lr_max' in scheduler_config; help: one of beta1_end"
    ):
        SchedulerConfig(lr_max=1.0)
    with pytest.raises(ConfigError, match=r"scheduler_config.max_lr must be at least 0, not -1"):
        SchedulerConfig(max_lr=-1)


def test_a_section_may_be_given_by_itself() -> None:
    assert DeviceConfig({"mesh_shape": [1, 8], "enable_ddp": True}).mesh_shape == [1, 8]
    assert TrainingConfig({"batch_size": 3, "model_config": "tiny_llama.yaml"}).batch_size == 3
    assert MultiHostConfig({"enabled": True, "num_workers": 2}).num_workers == 2
    assert TransformerConfig({"num_heads": 2, "weight_tying": True}).weight_tying == "enabled"
    assert SchedulerConfig({"max_lr": 0.5}).max_lr == 0.5
    assert EvalConfig({"top_k": 7}).top_k == 7
    with pytest.raises(ConfigError, match=r"unknown key 'batch_sise' in training_config.*'batch_size'"):
        TrainingConfig({"batch_sise": 3})
    with pytest.raises(ConfigError, match=r"weight_tying: 'enabld'.*did you mean 'enabled'"):
        TransformerConfig({"weight_tying": "enabld"})


GUIDE = {
    "one device": """
device_config:
  mesh_shape: [1, 1]  # Single device
  enable_ddp: false
  enable_tp: false

# Use gradient accumulation for effective larger batch
training_config:
  batch_size: 4
  gradient_accumulation_steps: 8  # Effective batch size = 32

# Enable memory-efficient mode for larger models
transformer_config:
  runner_type: "memory_efficient"  # Gradient checkpointing
""",
    "data parallel": """
device_config:
  mesh_shape: [1, 4]  # 4 devices in a row
  enable_ddp: true
  enable_tp: false

training_config:
  batch_size: 16  # Will be split across 4 devices (4 per device)
""",
    "tensor parallel": """
device_config:
  mesh_shape: [1, 32]  # 32 devices
  enable_ddp: false
  enable_tp: true  # Enables FSDP-style parameter sharding

# Vocab size automatically rounded to (32 * 32) = 1024 boundary
transformer_config:
  vocab_size: 32000  # Will be padded to 32768
""",
    "pipeline": """
multihost_config:
  enabled: true
  num_workers: 4
  socket_type: "fabric"  # or "mpi"
  pipeline_parallel_config:
    num_blocks: 24
    blocks_per_rank:
      0: 6  # First 6 blocks on rank 0
      1: 6  # Next 6 blocks on rank 1
      2: 6  # Next 6 blocks on rank 2
      3: 6  # Last 6 blocks on rank 3
""",
}


@pytest.fixture
def guide(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[dict[str, Any], TransformerModelFactory]:
    """A configuration of the onboarding guide, read from a file, and its factory."""
    (tmp_path / "guide.yaml").write_text(GUIDE[request.param])
    document = load_config(tmp_path / "guide.yaml")
    return document, TransformerModelFactory(document)


@pytest.mark.parametrize("guide", GUIDE, indirect=True)
def test_configurations_of_the_guide(guide: tuple[dict[str, Any], TransformerModelFactory]) -> None:
    document, factory = guide
    training, device, hosts = TrainingConfig(document), factory.device_config, factory.multihost_config
    if hosts.enabled:
        assert (hosts.mode, hosts.num_workers, hosts.socket_type) == ("pipeline", 4, "fabric")
        stages = hosts.pipeline_parallel_config
        assert stages is not None
        assert (stages.num_blocks, stages.blocks_per_rank) == (24, dict.fromkeys(range(4), 6))
    elif device.enable_tp:
        vocabulary = adjust_vocab_size(factory.transformer_config.vocab_size, True, device.total_devices())
        assert (vocabulary, device.mesh_shape) == (32768, [1, 32])
    elif device.enable_ddp:
        assert training.batch_size // device.total_devices() == 4
    else:
        assert training.batch_size * training.gradient_accumulation_steps == 32
        assert RunnerType.from_string(factory.transformer_config.runner_type) is RunnerType.MemoryEfficient


def test_keys_that_nothing_reads_are_told() -> None:
    with pytest.raises(ConfigError, match=r"unknown key 'mesh_shpe' in device_config.*'mesh_shape'"):
        DeviceConfig({"device_config": {"mesh_shpe": [1, 8]}, "my_own": {"anything": 1}})
    with pytest.warns(UserWarning, match="num_groups, theta only a Llama has"):
        assert (
            TransformerModelFactory({"transformer_config": {"num_groups": 4, "theta": 1e4}}).model_type
            == "gpt2"
        )
    empty = TransformerConfig(
        {"theta": None, "rope_scaling": {"scaling_factor": None}, "intermediate_dim": None}
    )
    assert (empty.theta, empty.rope_scaling.scaling_factor, empty.names_llama) == (
        10000.0,
        0.0,
        ("rope_scaling",),
    )


def test_vocabularies_are_rounded() -> None:
    assert adjust_vocab_size(70, False, 32) == 96
    assert adjust_vocab_size(32000, True, 32) == 32768


@pytest.mark.parametrize(
    ("training", "name", "rate"),
    [
        ({}, "AdamW", 3e-4),
        ({"use_moreh_adamw": True, "learning_rate": 0.1}, "MorehAdamW", 0.1),
        ({"use_sgd": True, "learning_rate": 0.1}, "SGD", 0.1),
        ({"optimizer": {"type": "sgd", "lr": 0.2, "momentum": 0.9, "nesterov": True}}, "SGD", 0.2),
        (
            {"optimizer": {"type": "AdamWFullPrecision", "lr": 0.2, "amsgrad": True}},
            "AdamWFullPrecision",
            0.2,
        ),
        ({"optimizer": {"type": "Muon", "lr": 0.02, "momentum": 0.9, "ns_steps": 4}}, "Muon", 0.02),
        ({"optimizer": {"type": "NoOp"}}, "NoOp", 0.0),
    ],
)
def test_optimizers_by_configuration(opened: Any, training: dict[str, Any], name: str, rate: float) -> None:
    opened()
    model = create_mlp_model(MultiLayerPerceptronParameters(4, [8], 2))
    optimizer = create_optimizer(model, {"training_config": training})
    assert (optimizer.get_name(), optimizer.get_lr()) == (name, rate)
    with pytest.raises(ConfigError, match="did you mean 'AdamW'"):
        create_optimizer(model, {"training_config": {"optimizer": {"type": "AdamX"}}})


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("optimizer: {lr: 0.1, type: AdamX}", "2:24: optimizer.type: 'AdamX' is not one of"),
        ("optimizer: {nesterov: true}", "2:15: optimizer.nesterov is no setting of AdamW"),
        ("use_sgd: true\n  optimizer: {type: sgd, beta1: 0.1}", "3:26: optimizer.beta1 is no setting of SGD"),
    ],
)
def test_what_an_optimizer_refuses_has_its_line(
    opened: Any, tmp_path: Path, settings: str, told: str
) -> None:
    opened()
    model = create_mlp_model(MultiLayerPerceptronParameters(4, [8], 2))
    (tmp_path / "x.yaml").write_text(f"training_config:\n  {settings}\n")
    with pytest.raises(ConfigError) as caught:
        create_optimizer(model, load_config(tmp_path / "x.yaml"))
    assert str(caught.value).startswith(f"{tmp_path / 'x.yaml'}:{told}")


def test_schedules_by_configuration() -> None:
    warm = schedule({"training_config": {"scheduler_type": "warmup_linear", "learning_rate": 2.0}}, 100)
    assert [round(warm(step), 4) for step in (0, 9, 99)] == [0.2, 2.0, 0.02]
    nested = schedule(
        {"training_config": {"optimizer": {"type": "SGD", "lr": 0.5}, "learning_rate": 2.0}}, 100
    )
    assert nested(50) == 0.5
    held = {"max_lr": 1.0, "min_lr": 0.1, "warmup_steps": 10, "hold_steps": 10}
    own = schedule({"scheduler_config": held, "training_config": {"max_steps": 40}}, 40)
    assert [round(own(step), 4) for step in (0, 5, 10, 20, 30, 40, 50)] == [
        0.0,
        0.5,
        1.0,
        1.0,
        0.55,
        0.1,
        0.1,
    ]
    with pytest.raises(ConfigError, match="beta1_warmup_steps"):
        schedule({"scheduler_config": {**held, "beta1_warmup_steps": 5}}, 40)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"batch_size": "x"}, "batch_size: 'x' is not a number"),
        ({"batch_size": 1.5}, "batch_size: 1.5 is not a whole number"),
        ({"batch_size": True}, "batch_size: True is not a number"),
        ({"batch_size": None}, "batch_size: None is not a number"),
        ({"learning_rate": "fast"}, "learning_rate: 'fast' is not a number"),
        ({"optimizer": {"lr": []}}, r"lr: \[\] is not a number"),
        ({"weight_decay": float("inf")}, "weight_decay: inf is not a number"),
        ({"use_clip_grad_norm": "yess"}, "use_clip_grad_norm: 'yess' is not one of true, false"),
    ],
)
def test_a_setting_of_the_wrong_kind_is_named(section: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TrainingConfig({"training_config": section})


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([4], r"pipeline_parallel_config is a map of settings, not \[4\]"),
        ({"num_blocks": 4, "blocks_per_rank": {0: "two"}}, "blocks_per_rank.0: 'two' is not a number"),
        (
            {"num_blocks": 4, "blocks_per_rank": {"first": 4}},
            "blocks_per_rank.first: 'first' is not a number",
        ),
    ],
)
def test_stages_of_the_wrong_kind_are_named(stages: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        MultiHostConfig({"multihost_config": {"enabled": True, "pipeline_parallel_config": stages}})


@pytest.mark.parametrize("key", ["sp_linear_impl", "sp_linear_backward_impl"])
def test_how_cut_positions_are_multiplied_is_one_of_few(key: str) -> None:
    assert getattr(DeviceConfig({"device_config": {key: "fused"}}), key) == "fused"
    with pytest.raises(ConfigError, match=f"{key}: 'eager' is not .*'composed' or 'fused'"):
        DeviceConfig({"device_config": {key: "eager"}})


def test_numbers_as_yaml_writes_them() -> None:
    given = {"max_steps": "1e3", "learning_rate": "3e-4", "seed": 2**62 + 1, "use_clip_grad_norm": "False"}
    config = TrainingConfig({"training_config": given})
    assert (config.steps, config.lr, config.seed, config.use_clip_grad_norm) == (1000, 3e-4, 2**62 + 1, False)
