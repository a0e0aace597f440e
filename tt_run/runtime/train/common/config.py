"""Configuration files: where they are found, and their sections as values with the documents' defaults.

Three kinds of files: training (training_config, device_config, eval_config), model (transformer_config), several hosts (multihost_config).
The first may name the others; older files hold everything in one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tt_run.runtime.train.common.keys import (
    SECTIONS,
    ConfigError,
    check,
    flag,
    integer,
    mapping,
    number,
    one_of,
)
from tt_run.runtime.train.device import pair
from tt_run.runtime.train.optimizers.schedulers import SCHEDULES, WarmupHoldDecay

Schedule = Callable[[int], float]

_LLAMA = {"num_groups", "theta", "intermediate_dim", "rope_scaling"}
_FOLDERS = ("training_configs", "model_configs", "multihost_configs")


def get_tt_metal_home() -> str:
    """TT_METAL_HOME, or ~/.tt-metal when it is not set."""
    return os.environ.get("TT_METAL_HOME") or str(Path.home() / ".tt-metal")


def load_config(path: str | os.PathLike[str], configs_root: str | None = None) -> dict[str, Any]:
    """The content of a configuration file.

    A relative path is looked up in the current folder, `configs_root`, $TT_METAL_HOME/tt-train (also its configs/), the configurations
    that ship with the package, and in the folders training_configs, model_configs and multihost_configs of each root. Raises
    FileNotFoundError listing where it looked, and ConfigError for a file that is not well-formed or has unknown keys.
    """
    found = find_config(path, configs_root)
    text = found.read_text(encoding="utf-8")
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise ConfigError(f"{found}{line}: {getattr(problem, 'problem', problem)}") from None
    document = {} if document is None else document
    check(document, str(found), key_lines(text))
    return dict(document)


def find_config(path: str | os.PathLike[str], configs_root: str | None = None) -> Path:
    """The file that a configuration path means. Raises FileNotFoundError listing where it was looked for."""
    from mgd.resources import configs_root as shipped

    given = Path(path).expanduser()
    if given.is_absolute():
        candidates = [given]
    else:
        home = Path(get_tt_metal_home()) / "tt-train"
        roots = [
            Path.cwd(),
            *([Path(configs_root)] if configs_root else []),
            home,
            home / "configs",
            shipped() / "training",
        ]
        stripped = Path(*given.parts[1:]) if given.parts[:1] == ("configs",) else given
        names = dict.fromkeys(
            [given, stripped, *(Path(f) / stripped.name for f in _FOLDERS), Path(stripped.name)]
        )
        candidates = [root / name for root in roots for name in names]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    looked = "\n  ".join(str(c) for c in candidates[:12])
    raise FileNotFoundError(f"configuration file {given} not found; looked for\n  {looked}")


def key_lines(text: str) -> dict[tuple[str, ...], int]:
    """The 1-based line of every key of a YAML map, by its path."""
    lines: dict[tuple[str, ...], int] = {}

    def walk(node: yaml.Node | None, path: tuple[str, ...]) -> None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                here = (*path, str(key.value))
                lines[here] = key.start_mark.line + 1
                walk(value, here)

    walk(yaml.compose(text, Loader=yaml.SafeLoader), ())
    return lines


def _whole(source: Any, name: str) -> Mapping[str, Any]:
    """A configuration given as a map, the path of a file, or one of its sections by itself, here `name`.

    A map may have sections of the program's own. Raises ConfigError naming the unknown keys of ours.
    """
    if source is None:
        return {}
    if isinstance(source, (str, os.PathLike)):
        return load_config(source)
    given = mapping(source, "the configuration")
    if given and not any(section in given for section in SECTIONS):
        given = {name: given}
    check({section: given[section] for section in SECTIONS if section in given}, "the configuration")
    return given


def _section(source: Any, name: str) -> Mapping[str, Any]:
    """A section of a configuration, empty where it has none."""
    return mapping(_whole(source, name).get(name), name)


@dataclass()
class DeviceConfig:
    """The mesh and what runs over its axes."""

    mesh_shape: Sequence[int] = (1, 1)
    device_ids: Sequence[int] = ()
    enable_ddp: bool = False
    enable_tp: bool = False
    enable_pp: bool = False

    def __init__(self, source: Any = None) -> None:
        given = _section(source, "device_config")
        self.mesh_shape = list(pair(given.get("mesh_shape")))
        self.device_ids = list(given.get("device_ids") or [])
        self.enable_ddp = flag(given, "enable_ddp", False)
        self.enable_tp = flag(given, "enable_tp", False)
        self.enable_pp = flag(given, "enable_pp", False)
        if given.get("enable_cp"):
            raise ConfigError(
                "device_config: enable_cp: context parallelism is not emulated; help: enable_ddp or enable_tp"
            )

    def total_devices(self) -> int:
        """Devices of the mesh."""
        return self.mesh_shape[0] * self.mesh_shape[1]


@dataclass()
class MultiHostConfig:
    """Roles of the ranks of a job over several hosts."""

    enabled: bool = False
    num_workers: int = 1
    socket_type: str = "mpi"
    pipeline_parallel_config: dict[str, Any] | None = None

    def __init__(self, source: Any = None) -> None:
        given = _section(source, "multihost_config")
        self.enabled = flag(given, "enabled", False)
        self.num_workers = integer(given, "num_workers", 1)
        self.socket_type = str(given.get("socket_type", "mpi")).lower()
        one_of("socket_type", self.socket_type, ("mpi", "fabric"))
        self.pipeline_parallel_config = None
        if given.get("pipeline_parallel_config") is not None:
            stages = mapping(given["pipeline_parallel_config"], "pipeline_parallel_config")
            per_rank = {}
            for rank, count in mapping(stages.get("blocks_per_rank"), "blocks_per_rank").items():
                key, of = "rank of blocks_per_rank", f"blocks_per_rank of {rank}"
                per_rank[integer({key: rank}, key, 0)] = integer({of: count}, of, 0)
            self.pipeline_parallel_config = {
                "num_blocks": integer(stages, "num_blocks", 0),
                "blocks_per_rank": per_rank,
            }

    @property
    def mode(self) -> str:
        """ "single", "hierarchical" or "pipeline"."""
        if not self.enabled:
            return "single"
        return "hierarchical" if self.pipeline_parallel_config is None else "pipeline"


@dataclass()
class TransformerConfig:
    """Kind and sizes of the model, as a configuration gives them; `dropout_prob` None means the default of the kind."""

    model_type: str | None = None
    model_path: str | None = None
    runner_type: str = "default"
    num_heads: int = 6
    embedding_dim: int = 384
    dropout_prob: float | None = None
    num_blocks: int = 6
    vocab_size: int = 96
    max_sequence_length: int = 128
    weight_tying: str = "disabled"
    positional_embedding_type: str = "trainable"
    experimental: Mapping[str, Any] = field(default_factory=dict)
    intermediate_dim: int | None = None
    theta: float = 10000.0
    num_groups: int = 3
    rope_scaling: Mapping[str, Any] = field(default_factory=dict)
    names_llama: tuple[str, ...] = ()
    """The keys that were given and that only a Llama has."""

    def __init__(self, source: Any = None) -> None:
        given = _model_settings(source)
        self.names_llama = tuple(sorted(_LLAMA & set(given)))
        for name in (
            "num_heads",
            "embedding_dim",
            "num_blocks",
            "vocab_size",
            "max_sequence_length",
            "num_groups",
        ):
            setattr(self, name, integer(given, name, getattr(type(self), name)))
        for name in ("runner_type", "positional_embedding_type"):
            setattr(self, name, str(given.get(name, getattr(type(self), name))))
        tying = {"true": "enabled", "false": "disabled", "none": "disabled"}
        wish = str(given.get("weight_tying")).lower()
        self.weight_tying = one_of("weight_tying", tying.get(wish, wish), ("enabled", "disabled"))
        self.model_type, self.model_path = given.get("model_type"), given.get("model_path")
        dropout, hidden = given.get("dropout_prob"), given.get("intermediate_dim")
        self.dropout_prob = None if dropout is None else number(given, "dropout_prob", 0.0)
        self.intermediate_dim = None if hidden is None else integer(given, "intermediate_dim", 0)
        self.theta = number(given, "theta", 10000.0)
        self.experimental = mapping(given.get("experimental"), "experimental")
        scaling = mapping(given.get("rope_scaling"), "rope_scaling")
        self.rope_scaling = {key: value for key, value in scaling.items() if value is not None}


def _model_settings(source: Any) -> Mapping[str, Any]:
    """`transformer_config` of a configuration or of the file that its `model_config` names, with what `training_config` changes of it."""
    whole = _whole(source, "transformer_config")
    training = mapping(whole.get("training_config"), "training_config")
    given = mapping(whole.get("transformer_config"), "transformer_config")
    if not given and training.get("model_config"):
        given = _section(training["model_config"], "transformer_config")
    changed = mapping(training.get("transformer_config"), "transformer_config")
    return {key: value for key, value in {**given, **changed}.items() if value is not None}


@dataclass()
class SchedulerConfig:
    """Rates and lengths of a schedule with warm-up and hold."""

    max_lr: float = 1e-3
    min_lr: float = 0.0
    warmup_steps: int = 100
    hold_steps: int = 0
    total_steps: int = 1000
    beta1_start: float = 0.85
    beta1_end: float = 0.95
    beta1_warmup_steps: int = 0

    def __init__(self, source: Any = None) -> None:
        whole = _whole(source, "scheduler_config")
        given = mapping(whole.get("scheduler_config"), "scheduler_config")
        for name in ("max_lr", "min_lr", "beta1_start", "beta1_end"):
            setattr(self, name, number(given, name, getattr(type(self), name)))
        for name in ("warmup_steps", "hold_steps", "beta1_warmup_steps"):
            setattr(self, name, integer(given, name, getattr(type(self), name)))
        training = mapping(whole.get("training_config"), "training_config")
        self.total_steps = integer(training, "max_steps", 1000)

    def schedule(self) -> WarmupHoldDecay:
        """The schedule of these settings."""
        return WarmupHoldDecay(**{name: getattr(self, name) for name in WarmupHoldDecay.__match_args__})


def schedule(yaml_config: Mapping[str, Any], total_steps: int) -> Schedule:
    """The learning rate by 0-based step: what `scheduler_config` says where it is given, else what `scheduler_type` names.

    Raises ConfigError for an unknown name, and for a warm-up of beta1, which changes the optimizer and not its rate.
    """
    training = TrainingConfig(yaml_config)
    if "scheduler_config" not in yaml_config:
        return SCHEDULES[training.scheduler_type](training.lr, total_steps)
    given = SchedulerConfig(yaml_config)
    if given.beta1_warmup_steps:
        raise ConfigError(
            "scheduler_config: beta1_warmup_steps needs a loop that sets beta1; use SchedulerConfig.schedule().beta1_at"
        )
    return given.schedule().lr_at


@dataclass()
class EvalConfig:
    """How text is sampled."""

    repetition_penalty: float = 1.0
    temperature: float = 0.7
    top_k: int = 50
    top_p: float = 1.0

    def __init__(self, source: Any = None) -> None:
        given = _section(source, "eval_config")
        self.repetition_penalty = number(given, "repetition_penalty", 1.0)
        self.temperature = number(given, "temperature", 0.7)
        self.top_k = integer(given, "top_k", 50)
        self.top_p = number(given, "top_p", 1.0)


@dataclass()
class TrainingConfig:
    """What to train, how long, and with which optimizer; `source` is a map or the path of a file.

    `seq_len` and `transformer_config` come from the model configuration where one is named.
    """

    source: Any = None
    raw: Mapping[str, Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        whole = _whole(self.source, "training_config")
        given = mapping(whole.get("training_config"), "training_config")
        self.raw = given
        self.project_name = str(given.get("project_name", "tt_train"))
        self.seed = integer(given, "seed", 42)
        self.batch_size = integer(given, "batch_size", 64)
        self.validation_batch_size = integer(given, "validation_batch_size", max(self.batch_size // 2, 1))
        self.steps = integer(given, "max_steps", 1000)
        self.epochs = integer(given, "num_epochs", 1)
        self.eval_every = integer(given, "eval_every", 200)
        self.save_every = integer(given, "model_save_interval", 500)
        self.gradient_accumulation_steps = integer(given, "gradient_accumulation_steps", 1)
        self.model_config = given.get("model_config")
        self.multihost_config = given.get("multihost_config")
        self.data_path = given.get("data_path")
        self.tokenizer_type = str(given.get("tokenizer_type", "char"))
        if self.tokenizer_type not in ("char", "bpe"):
            raise ConfigError(f"Unknown tokenizer_type: {self.tokenizer_type}; one of char, bpe")
        self.use_bpe = self.tokenizer_type == "bpe"
        self.tokenizer_path = given.get("tokenizer_path")
        self.scheduler_type = one_of(
            "scheduler_type", str(given.get("scheduler_type", "identity")), SCHEDULES
        )
        self.use_clip_grad_norm = flag(given, "use_clip_grad_norm", False)
        self.clip_grad_norm_max_norm = number(given, "clip_grad_norm_max_norm", 1.0)
        # The nested form has the last word, as it has when the optimizer is made: schedules start from this rate.
        nested = mapping(given.get("optimizer"), "optimizer")
        self.lr = number(given, "learning_rate", 3e-4)
        for key in ("learning_rate", "lr"):
            self.lr = number(nested, key, self.lr)
        self.beta1 = number(given, "beta1", 0.9)
        self.beta2 = number(given, "beta2", 0.999)
        self.eps = number(given, "eps", 1e-8)
        self.weight_decay = number(given, "weight_decay", 0.01)
        self.checkpoint_dir = str(given.get("checkpoint_dir", "checkpoints"))
        self.arithmetic = given.get("arithmetic")
        self._positive("batch_size", "steps", "epochs", "gradient_accumulation_steps")
        self.transformer_config = TransformerConfig(whole)
        self.seq_len = self.transformer_config.max_sequence_length

    def _positive(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) < 1:
                raise ConfigError(f"training_config: {name} must be at least 1, got {getattr(self, name)}")
