"""The sections of a training configuration as values: every key with its kind, range, default and source, declared here and nowhere else.

Three kinds of files: training (training_config, device_config, eval_config), model (transformer_config), several hosts (multihost_config).
The first may name the others; older files hold everything in one; a file may also be one section by itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from tt_run.runtime.train.common.files import Configuration, find_config, read_config
from tt_run.runtime.train.optimizers.registry import KNOWN
from tt_run.runtime.train.optimizers.schedulers import SCHEDULES, WarmupHoldDecay
from tt_run.runtime.train.optimizers.settings import GUIDE, UPSTREAM, OptimizerConfig
from tt_run.runtime.train.settings import (
    ConfigError,
    Path,
    Report,
    Section,
    Setting,
    choice,
    count_by_rank,
    either,
    flag,
    nested,
    number,
    patterns,
    several,
    shape,
    text,
    whole,
)

Schedule = Callable[[int], float]

OURS = "the emulation"
_LLAMA = {"num_groups", "theta", "intermediate_dim", "rope_scaling"}


class RopeScalingConfig(Section):
    """The Llama-3 rule for long contexts; off while factor or original length is 0."""

    section = "rope_scaling"
    empty_is_default = True
    scaling_factor = Setting(number(0.0), 0.0, UPSTREAM)
    high_freq_factor = Setting(number(0.0), 4.0, UPSTREAM)
    low_freq_factor = Setting(number(0.0), 1.0, UPSTREAM)
    original_context_length = Setting(whole(0), 0, UPSTREAM)


class ExperimentalConfig(Section):
    """Variants of a model's layers."""

    section = "experimental"
    use_composite_layernorm = Setting(flag, False, GUIDE)


class MoeConfig(Section):
    """Sizes and routing of a mixture of experts."""

    section = "moe_hyperparam"
    moe_inter_dim = Setting(whole(1), 1408, UPSTREAM)
    n_routed_experts = Setting(whole(1), 64, UPSTREAM)
    n_shared_experts = Setting(whole(0), 2, UPSTREAM)
    n_activated_experts = Setting(whole(1), 6, UPSTREAM)
    n_expert_groups = Setting(whole(1), 1, UPSTREAM)
    n_limited_groups = Setting(whole(1), 1, UPSTREAM)
    score_func = Setting(choice("softmax", "sigmoid"), "softmax", UPSTREAM)
    route_scale = Setting(number(), 1.0, UPSTREAM)


class GRPOSettings(Section):
    """What `trainers.GRPOConfig` is made of."""

    section = "grpo_config"
    epsilon = Setting(number(0.0), 0.2, UPSTREAM)
    per_device_train_batch_size = Setting(whole(1), 4, UPSTREAM)
    micro_batch_size: Setting[int | None] = Setting(whole(1), None, UPSTREAM)
    num_iterations = Setting(whole(1), 1, UPSTREAM)
    gradient_accumulation_steps = Setting(whole(1), 1, UPSTREAM)
    logging_steps = Setting(whole(0), 1, UPSTREAM)
    output_dir = Setting(text, "", UPSTREAM)
    checkpointing = Setting(flag, False, UPSTREAM)
    checkpoint_interval = Setting(whole(1), 100, UPSTREAM)
    prompts_to_train = Setting(whole(1), 1000, UPSTREAM)
    temperature = Setting(number(0.0), 1.0, UPSTREAM)
    max_completion_length = Setting(whole(1), 128, UPSTREAM)
    num_generations = Setting(whole(1), 4, UPSTREAM)
    warmup_steps = Setting(whole(0), 0, UPSTREAM)
    batch_size: Setting[int | None] = Setting(whole(1), None, UPSTREAM)
    lr_scheduler_type = Setting(choice("constant", "cosine"), "constant", UPSTREAM)
    min_lr_rate = Setting(number(0.0), 0.0, UPSTREAM)
    use_clip_grad_norm = Setting(flag, False, UPSTREAM)
    clip_grad_norm_max_norm = Setting(number(0.0), 1.0, UPSTREAM)
    log_completions = Setting(flag, False, UPSTREAM)
    num_completions_to_print = Setting(whole(0), 0, UPSTREAM)
    report_to = Setting(choice("none", "wandb"), "none", UPSTREAM)
    run_name: Setting[str | None] = Setting(text, None, UPSTREAM)
    disable_default_monitor = Setting(flag, False, UPSTREAM)


class PipelineParallelHostConfig(Section):
    """How many blocks the model has, and how many of them each rank."""

    section = "pipeline_parallel_config"
    num_blocks = Setting(whole(0), 0, GUIDE)
    blocks_per_rank: Setting[dict[int, int]] = Setting(count_by_rank, {}, GUIDE)

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        if cfg is not None:
            report = Report(_nowhere, (self.section,))
            self.fill(cfg, report)
            report.settle()


class FileSection(Section):
    """A section of a file: made from a whole configuration, from the path of one, from the section by itself, or from settings by name.

    A setting that is given as None keeps its default."""

    def __init__(self, source: Any = None, **settings: Any) -> None:
        super().__init__()
        self.update_config(source)
        report = Report(_nowhere, (self.section,))
        self.fill({name: value for name, value in settings.items() if value is not None}, report)
        report.settle()

    def update_config(self, source: Any) -> None:
        """Take the settings that another configuration gives, and keep the others. Raises ConfigError."""
        whole_of = _whole(source, self.section)
        report = Report(_places(whole_of), (self.section,))
        self.fill(whole_of.get(self.section), report)
        report.settle()


class DeviceConfig(FileSection):
    """The mesh and what runs over its axes."""

    section = "device_config"
    mesh_shape = Setting(shape, [1, 1], GUIDE)
    device_ids: Setting[list[int]] = Setting(several(whole(0)), [], GUIDE)
    enable_ddp = Setting(flag, False, GUIDE)
    enable_tp = Setting(flag, False, GUIDE)
    enable_pp = Setting(flag, False, GUIDE)
    enable_fsdp = Setting(flag, False, UPSTREAM)
    fsdp_replicate_params: Setting[list[str]] = Setting(patterns, [], UPSTREAM)
    enable_cp = Setting(flag, False, UPSTREAM)
    enable_sp = Setting(flag, False, UPSTREAM)
    sp_linear_impl = Setting(either("composed", "fused"), "composed", UPSTREAM)
    empty_is_default = True

    def update_config(self, source: Any) -> None:
        """As any section. Raises ConfigError for sequence without tensor parallelism too."""
        super().update_config(source)
        if self.enable_sp and not self.enable_tp:
            raise ConfigError("device_config.enable_sp requires enable_tp; help: enable_tp: true")

    def total_devices(self) -> int:
        """Devices of the mesh."""
        return self.mesh_shape[0] * self.mesh_shape[1]


class MultiHostConfig(FileSection):
    """Roles of the ranks of a job over several hosts."""

    section = "multihost_config"
    enabled = Setting(flag, False, GUIDE)
    num_workers = Setting(whole(0), 1, GUIDE)
    socket_type = Setting(choice("mpi", "fabric"), "mpi", GUIDE)
    pipeline_parallel_config: Setting[PipelineParallelHostConfig | None] = Setting(
        nested(PipelineParallelHostConfig), None, GUIDE
    )

    @property
    def mode(self) -> str:
        """ "single", "hierarchical" or "pipeline"."""
        if not self.enabled:
            return "single"
        return "hierarchical" if self.pipeline_parallel_config is None else "pipeline"


class TransformerConfig(FileSection):
    """Kind and sizes of the model; `dropout_prob` None means the default of the kind."""

    section = "transformer_config"
    empty_is_default = True
    model_type: Setting[str | None] = Setting(text, None, GUIDE)
    model_path: Setting[str | None] = Setting(text, None, GUIDE)
    runner_type = Setting(choice("default", "memory_efficient"), "default", GUIDE)
    num_heads = Setting(whole(1), 6, GUIDE)
    embedding_dim = Setting(whole(1), 384, GUIDE)
    dropout_prob: Setting[float | None] = Setting(number(0.0, below=1.0), None, GUIDE)
    num_blocks = Setting(whole(1), 6, GUIDE)
    vocab_size = Setting(whole(1), 96, GUIDE)
    max_sequence_length = Setting(whole(1), 128, GUIDE)
    weight_tying = Setting(
        choice("enabled", "disabled", true="enabled", false="disabled", none="disabled"), "disabled", GUIDE
    )
    positional_embedding_type = Setting(choice("trainable", "fixed"), "trainable", GUIDE)
    experimental = Setting(nested(ExperimentalConfig), ExperimentalConfig(), GUIDE)
    intermediate_dim: Setting[int | None] = Setting(whole(1), None, GUIDE)
    theta = Setting(number(0.0), 10000.0, GUIDE)
    num_groups = Setting(whole(1), 3, GUIDE)
    rope_scaling = Setting(nested(RopeScalingConfig), RopeScalingConfig(), GUIDE)
    q_lora_rank = Setting(whole(0), 0, UPSTREAM)
    kv_lora_rank = Setting(whole(1), 512, UPSTREAM)
    qk_nope_head_dim = Setting(whole(1), 128, UPSTREAM)
    qk_rope_head_dim = Setting(whole(1), 64, UPSTREAM)
    v_head_dim = Setting(whole(1), 128, UPSTREAM)
    n_dense_layers = Setting(whole(0), 1, UPSTREAM)
    inter_dim: Setting[int | None] = Setting(whole(1), None, UPSTREAM)
    head_dim: Setting[int | None] = Setting(whole(1), None, UPSTREAM)
    moe_type = Setting(choice("dense", "sparse", "sparse_tp", "sparse_ep"), "dense", UPSTREAM)
    moe_hyperparam = Setting(nested(MoeConfig), MoeConfig(), UPSTREAM)

    def update_config(self, source: Any) -> None:
        """Take `transformer_config` of a configuration, or of the file that its `model_config` names, with what `training_config` changes of it."""
        for given, place, path in _model_sections(source):
            report = Report(place, path)
            self.fill(given, report)
            report.settle()

    @property
    def rope(self) -> dict[str, Any] | None:
        """What the configuration gives of `rope_scaling`, None when it gives nothing; its settings are attributes here, too."""
        return dict(self.rope_scaling.given) or None

    @property
    def scaling_factor(self) -> float:
        """`rope_scaling.scaling_factor`, as programs that make a model's own configuration read it."""
        return self.rope_scaling.scaling_factor

    @property
    def high_freq_factor(self) -> float:
        """`rope_scaling.high_freq_factor`."""
        return self.rope_scaling.high_freq_factor

    @property
    def low_freq_factor(self) -> float:
        """`rope_scaling.low_freq_factor`."""
        return self.rope_scaling.low_freq_factor

    @property
    def original_context_length(self) -> int:
        """`rope_scaling.original_context_length`."""
        return self.rope_scaling.original_context_length

    @property
    def names_llama(self) -> tuple[str, ...]:
        """The keys that were given and that only a Llama has."""
        return tuple(sorted(_LLAMA & set(self.given)))


class SchedulerConfig(FileSection):
    """Rates and lengths of a schedule with warm-up and hold; its length is the training's."""

    section = "scheduler_config"
    max_lr = Setting(number(0.0), 1e-3, UPSTREAM)
    min_lr = Setting(number(0.0), 0.0, UPSTREAM)
    warmup_steps = Setting(whole(0), 100, UPSTREAM)
    hold_steps = Setting(whole(0), 0, UPSTREAM)
    beta1_start = Setting(number(0.0, below=1.0), 0.85, UPSTREAM)
    beta1_end = Setting(number(0.0, below=1.0), 0.95, UPSTREAM)
    beta1_warmup_steps = Setting(whole(0), 0, UPSTREAM)
    total_steps = Setting(whole(1), 1000, UPSTREAM)

    def update_config(self, source: Any) -> None:
        """As any section; the length is that of `training_config`."""
        super().update_config(source)
        whole_of = _whole(source, self.section)
        if whole_of.get("training_config") and "total_steps" not in self.given:
            training = TrainingConfig(whole_of)
            if {"max_steps", "total_steps"} & set(training.given):
                self.total_steps = training.given.get("total_steps") or training.steps

    def schedule(self) -> WarmupHoldDecay:
        """The schedule of these settings."""
        return WarmupHoldDecay(**{name: getattr(self, name) for name in WarmupHoldDecay.__match_args__})


class EvalConfig(FileSection):
    """How text is sampled."""

    section = "eval_config"
    repetition_penalty = Setting(number(0.0), 1.0, GUIDE)
    temperature = Setting(number(0.0), 0.7, GUIDE)
    top_k = Setting(whole(0), 50, GUIDE)
    top_p = Setting(number(0.0, high=1.0), 1.0, GUIDE)


class LoraFileConfig(FileSection):
    """Adapters of a model, as upstream's files name them."""

    section = "lora_config"
    r = Setting(whole(1), 8, UPSTREAM)
    lora_alpha = Setting(number(), 16.0, UPSTREAM)
    lora_dropout = Setting(number(0.0, below=1.0), 0.0, UPSTREAM)
    is_bias_trainable = Setting(flag, False, UPSTREAM)
    use_rslora = Setting(flag, False, UPSTREAM)
    target_modules: Setting[list[str]] = Setting(several(text), [], UPSTREAM)
    trainable_modules: Setting[list[str]] = Setting(several(text), [], UPSTREAM)


class _OptimizerKind:
    """A map of an optimizer's settings, or the path of a file with them.

    Of an optimizer that is not one of ttml's the program that registers it knows the settings.
    """

    told = "a map, see [optimizer](#optimizer), or the path of a file with one"

    def read(self, value: Any, report: Report) -> OptimizerConfig | None:
        if isinstance(value, str):
            try:
                value = load_config(value)
            except FileNotFoundError as error:
                report.wrong(f": {error}")
                return None
        made = OptimizerConfig()
        kind = value.get("type") if isinstance(value, Mapping) else None
        if kind is None or str(kind).lower() in {name.lower() for name in KNOWN}:
            made.fill(value, report)
        else:
            made.given = dict(value)
        return made


class _ModelKind:
    """What a training configuration changes of the model's settings, or the path of the file that has them, as older files say it."""

    told = "a map, see [transformer_config](#transformer_config), or the path of a file with one"

    def read(self, value: Any, report: Report) -> TransformerConfig | None:
        if isinstance(value, str):
            try:
                return TransformerConfig(value)
            except FileNotFoundError as error:
                report.wrong(f": {error}")
                return None
        made = TransformerConfig()
        made.fill(value, report)
        return made


class TrainingConfig(FileSection):
    """What to train, how long, and with which optimizer; made from a map or the path of a file.

    `seq_len` and `transformer_config` come from the model configuration where one is named.
    """

    section = "training_config"
    project_name = Setting(text, "tt_train", GUIDE)
    seed = Setting(whole(0), 42, GUIDE)
    batch_size = Setting(whole(1), 64, GUIDE)
    validation_batch_size = Setting(whole(1), 0, f"{GUIDE}; half of batch_size where it is not given")
    steps = Setting(whole(1), 1000, GUIDE, key="max_steps")
    total_steps: Setting[int | None] = Setting(whole(1), None, UPSTREAM)
    epochs = Setting(whole(1), 1, GUIDE, key="num_epochs")
    eval_every = Setting(whole(0), 200, GUIDE)
    save_every = Setting(whole(0), 500, GUIDE, key="model_save_interval")
    gradient_accumulation_steps = Setting(whole(1), 1, GUIDE)
    model_config: Setting[str | None] = Setting(text, None, GUIDE)
    multihost_config: Setting[str | None] = Setting(text, None, GUIDE)
    data_path: Setting[str | None] = Setting(text, None, GUIDE)
    tokenizer_type = Setting(choice("char", "bpe"), "char", GUIDE)
    tokenizer_path: Setting[str | None] = Setting(text, None, GUIDE)
    scheduler_type = Setting(choice(*SCHEDULES), "identity", GUIDE)
    lr = Setting(number(0.0), 3e-4, GUIDE, key="learning_rate")
    beta1 = Setting(number(0.0, below=1.0), 0.9, GUIDE)
    beta2 = Setting(number(0.0, below=1.0), 0.999, GUIDE)
    eps = Setting(number(0.0), 1e-8, GUIDE)
    weight_decay = Setting(number(0.0), 0.01, GUIDE)
    use_moreh_adamw = Setting(flag, False, GUIDE)
    use_kahan_summation = Setting(flag, False, GUIDE)
    use_sgd = Setting(flag, False, GUIDE)
    use_clip_grad_norm = Setting(flag, False, GUIDE)
    clip_grad_norm_max_norm = Setting(number(0.0), 1.0, GUIDE)
    checkpoint_dir = Setting(text, "checkpoints", GUIDE)
    optimizer: Setting[OptimizerConfig] = Setting(_OptimizerKind(), OptimizerConfig(), UPSTREAM)
    transformer_overrides: Setting[TransformerConfig | None] = Setting(
        _ModelKind(), None, GUIDE, key="transformer_config"
    )
    model_type: Setting[str | None] = Setting(text, None, GUIDE)
    model_path: Setting[str | None] = Setting(text, None, UPSTREAM)
    grpo_config: Setting[GRPOSettings | None] = Setting(nested(GRPOSettings), None, UPSTREAM)
    arithmetic: Setting[str | None] = Setting(choice("bfloat16", "float32"), None, OURS)

    def update_config(self, source: Any) -> None:
        """As any section, with the model's settings."""
        super().update_config(source)
        if "validation_batch_size" not in self.given:
            self.validation_batch_size = max(self.batch_size // 2, 1)
        self.use_bpe = self.tokenizer_type == "bpe"
        # The nested form has the last word, as it has when the optimizer is made: schedules start from this rate.
        nested_rate = self.optimizer.lr if self.optimizer.lr is not None else self.optimizer.learning_rate
        self.lr = self.lr if nested_rate is None else nested_rate
        self.optimizer_settings = dict(self.optimizer.given)
        self.transformer_config = TransformerConfig(_whole(source, self.section))
        self.seq_len = self.transformer_config.max_sequence_length


SECTIONS: dict[str, type[Section]] = {
    kind.section: kind
    for kind in (
        TrainingConfig,
        DeviceConfig,
        TransformerConfig,
        MultiHostConfig,
        EvalConfig,
        SchedulerConfig,
        LoraFileConfig,
        OptimizerConfig,
    )
}
"""What a file may hold, by its name at the top."""
MODEL_FILE = "transformer_config_path"
"""At the top of a file: the path of another one with `transformer_config`."""


def load_config(path: str | os.PathLike[str], configs_root: str | None = None) -> dict[str, Any]:
    """The content of a configuration file; where it is looked for says `find_config`.

    Raises FileNotFoundError listing where it looked, and ConfigError, a line for each problem, for a file that is not well-formed, has unknown
    keys, or values of the wrong kind or out of range.
    """
    found = read_config(find_config(path, configs_root))
    check(found, found.file_place)
    return found


def check(document: Mapping[str, Any], place: Callable[[Path], str]) -> None:
    """Raise ConfigError naming everything that is wrong with a whole configuration, or with one section by itself."""
    report = Report(place)
    alone = _alone(document)
    if alone is not None:
        alone().fill(document, report)
    else:
        for name, content in document.items():
            below = report.below(str(name))
            kind = SECTIONS.get(name)
            if name == MODEL_FILE:
                text.read(content, below)
            elif kind is None:
                below.unknown((*SECTIONS, MODEL_FILE))
            else:
                Section.fill(_blank(kind), content, below)
    report.settle()


def _alone(document: Mapping[str, Any]) -> type[Section] | None:
    """The section that a map without section names is, by its keys."""
    if not document or any(name in SECTIONS or name == MODEL_FILE for name in document):
        return None
    best = max(SECTIONS.values(), key=lambda kind: len(set(kind.settings) & set(document)))
    return (lambda: _blank(best)) if set(best.settings) & set(document) else None  # type: ignore[return-value]


def _blank(kind: type[Section]) -> Section:
    """A section with its defaults, whatever else its constructor would do."""
    made = kind.__new__(kind)
    Section.__init__(made)
    return made


def _whole(source: Any, name: str) -> Mapping[str, Any]:
    """A configuration given as a map, the path of a file, or one of its sections by itself, here `name`.

    A map may have sections of the program's own.
    """
    if source is None:
        return {}
    if isinstance(source, (str, os.PathLike)):
        return _whole(load_config(source), name)
    if not isinstance(source, Mapping):
        raise ConfigError(f"the configuration is a map of settings, not {source!r}")
    if source and not any(name in source for name in (*SECTIONS, MODEL_FILE) if name != "optimizer"):
        return _Alone({name: source}, source)
    return source


class _Alone(dict[str, Any]):
    """A section by itself, under its name."""

    def __init__(self, content: Mapping[str, Any], source: Mapping[str, Any]) -> None:
        super().__init__(content)
        self.source = source


def _places(document: Mapping[str, Any]) -> Callable[[Path], str]:
    if isinstance(document, _Alone) and isinstance(document.source, Configuration):
        alone = document.source
        return lambda path: alone.place(path[1:])
    return document.place if isinstance(document, Configuration) else _nowhere


def _nowhere(path: Path) -> str:
    return ""


def _model_sections(source: Any) -> list[tuple[Any, Callable[[Path], str], Path]]:
    """What makes up the model's settings, in the order in which each goes over those before."""
    whole_of = _whole(source, "transformer_config")
    place, training = _places(whole_of), whole_of.get("training_config")
    found: list[tuple[Any, Callable[[Path], str], Path]] = []
    named = training.get("model_config") if isinstance(training, Mapping) else None
    changed = training.get("transformer_config") if isinstance(training, Mapping) else None
    at: Path = ("training_config", "model_config")
    if isinstance(changed, str):
        named, changed, at = changed, None, ("training_config", "transformer_config")
    if not named:
        named, at = whole_of.get(MODEL_FILE), (MODEL_FILE,)
    if whole_of.get("transformer_config"):
        found.append((whole_of["transformer_config"], place, ("transformer_config",)))
    elif named:
        document = _named_by(named, place(at))
        given = document.get("transformer_config", {} if any(n in SECTIONS for n in document) else document)
        found.append((given, _places(document), ("transformer_config",)))
    if changed:
        found.append((changed, place, ("training_config", "transformer_config")))
    return found


def _named_by(named: Any, at: str) -> dict[str, Any]:
    """The file of a model. Raises FileNotFoundError with the place that names it."""
    try:
        return load_config(named)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{at}: {error}" if at else str(error)) from None


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
            "scheduler_config.beta1_warmup_steps needs a loop that sets beta1; use SchedulerConfig.schedule().beta1_at"
        )
    return given.schedule().lr_at


# --- files by name -------------------------------------------------------------------------------------------------


def get_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a configuration file: `load_config`."""
    return load_config(path)


def get_training_config(
    training_config_src: str | os.PathLike[str], configs_root: str | None = None
) -> TrainingConfig:
    """The training configuration of a file. Raises as `load_config`."""
    return TrainingConfig(load_config(training_config_src, configs_root))


def get_device_config(
    device_config_src: str | os.PathLike[str], configs_root: str | None = None
) -> DeviceConfig:
    """The device configuration of a file. Raises as `load_config`."""
    return DeviceConfig(load_config(device_config_src, configs_root))


def get_model_config(
    model_config_src: str | os.PathLike[str], configs_root: str | None = None
) -> TransformerConfig:
    """The model configuration of a file. Raises as `load_config`."""
    return TransformerConfig(load_config(model_config_src, configs_root))


def get_multihost_config(
    multihost_config_src: str | os.PathLike[str], configs_root: str | None = None
) -> MultiHostConfig:
    """The configuration of a job over several hosts of a file. Raises as `load_config`."""
    return MultiHostConfig(load_config(multihost_config_src, configs_root))


def yaml_deep_update(original: dict[str, Any], updates: Mapping[str, Any]) -> dict[str, Any]:
    """Put the settings of one map over those of another, section by section; changes and returns the first."""
    for key, value in updates.items():
        own = original.get(key)
        if isinstance(own, dict) and isinstance(value, Mapping):
            yaml_deep_update(own, value)
        else:
            original[key] = value
    return original
