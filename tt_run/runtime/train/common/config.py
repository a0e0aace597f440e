"""The sections of a training configuration as values: every key with its kind, range, default and source; a model's are in `model_config.py`.

Three kinds of files: training (training_config, device_config, eval_config), model (transformer_config), several hosts (multihost_config).
The first may name the others; older files hold everything in one; a file may also be one section by itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.common.documents import (
    SECTIONS,
    ConfigLoop,
    FileSection,
    load_config,
    no_position,
    places,
    whole_of,
)
from tt_run.runtime.train.common.model_config import ModelKind, TransformerConfig
from tt_run.runtime.train.common.program_config import PROGRAMS, DiffusionConfig, LoggingConfig
from tt_run.runtime.train.kinds import (
    choice,
    count_by_rank,
    flag,
    list_of,
    nested,
    number,
    number_or_infinity,
    one_name_of,
    one_of,
    patterns,
    shape,
    text,
    whole_number,
)
from tt_run.runtime.train.optimizers.schedulers import SCHEDULES, WarmupHoldDecay
from tt_run.runtime.train.optimizers.settings import GUIDE, UPSTREAM, OptimizerConfig
from tt_run.runtime.train.settings import ConfigurationProblems, Section, Setting

Schedule = Callable[[int], float]

OURS = "the emulation"


class GRPOSettings(Section):
    """What `trainers.GRPOConfig` is made of."""

    section = "grpo_config"
    epsilon = Setting(number(0.0), 0.2, UPSTREAM)
    per_device_train_batch_size = Setting(whole_number(1), 4, UPSTREAM)
    micro_batch_size: Setting[int | None] = Setting(whole_number(1), None, UPSTREAM)
    num_iterations = Setting(whole_number(1), 1, UPSTREAM)
    gradient_accumulation_steps = Setting(whole_number(1), 1, UPSTREAM)
    logging_steps = Setting(whole_number(0), 1, UPSTREAM)
    output_dir = Setting(text, "", UPSTREAM)
    checkpointing = Setting(flag, False, UPSTREAM)
    checkpoint_interval = Setting(whole_number(0), 100, UPSTREAM)
    prompts_to_train = Setting(whole_number(1), 1000, UPSTREAM)
    temperature = Setting(number(0.0), 1.0, UPSTREAM)
    max_completion_length = Setting(whole_number(1), 128, UPSTREAM)
    num_generations = Setting(whole_number(1), 4, UPSTREAM)
    warmup_steps = Setting(whole_number(0), 0, UPSTREAM)
    batch_size: Setting[int | None] = Setting(whole_number(1), None, UPSTREAM)
    lr_scheduler_type = Setting(choice("constant", "cosine"), "constant", UPSTREAM)
    min_lr_rate = Setting(number(0.0, high=1.0), 0.0, UPSTREAM)
    use_clip_grad_norm = Setting(flag, False, UPSTREAM)
    clip_grad_norm_max_norm = Setting(number(0.0), 1.0, UPSTREAM)
    log_completions = Setting(flag, False, UPSTREAM)
    num_completions_to_print = Setting(whole_number(0), 0, UPSTREAM)
    report_to = Setting(choice("none", "wandb"), "none", UPSTREAM)
    run_name: Setting[str | None] = Setting(text, None, UPSTREAM)
    disable_default_monitor = Setting(flag, False, UPSTREAM)
    rollout_source = Setting(choice("ttml", "ttt"), "ttml", UPSTREAM)
    rollout_mode = Setting(choice("in_process", "remote_sync"), "in_process", UPSTREAM)
    weight_sync_every = Setting(whole_number(1), 1, UPSTREAM)


class PipelineParallelHostConfig(Section):
    """How many blocks the model has, and how many of them each rank."""

    section = "pipeline_parallel_config"
    num_blocks = Setting(whole_number(0), 0, GUIDE)
    blocks_per_rank: Setting[dict[int, int]] = Setting(count_by_rank, {}, GUIDE)

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        if cfg is not None:
            report = ConfigurationProblems(no_position, (self.section,))
            self.fill(cfg, report)
            report.settle()


_KERNELS = f"{UPSTREAM}; chooses kernels of a device, with the same numbers here"


class DeviceConfig(FileSection):
    """The mesh and what runs over its axes."""

    section = "device_config"
    mesh_shape = Setting(shape, [1, 1], GUIDE)
    device_ids: Setting[list[int]] = Setting(list_of(whole_number(0)), [], GUIDE)
    enable_ddp = Setting(flag, False, GUIDE)
    enable_tp = Setting(flag, False, GUIDE)
    enable_pp = Setting(flag, False, GUIDE)
    enable_fsdp = Setting(flag, False, UPSTREAM)
    fsdp_replicate_params: Setting[list[str]] = Setting(patterns, [], UPSTREAM)
    fsdp_keep_gathered_gib = Setting(number_or_infinity(0.0), 0.0, UPSTREAM)
    fsdp_overlap_collectives = Setting(flag, False, UPSTREAM)
    fsdp_ccl_subdevice: Setting[dict[str, int]] = Setting(one_of("columns", "rows"), {"columns": 1}, UPSTREAM)
    fsdp_overlap_lookahead = Setting(whole_number(1), 2, UPSTREAM)
    lazy_parameter_init = Setting(flag, False, UPSTREAM)
    enable_cp = Setting(flag, False, UPSTREAM)
    enable_sp = Setting(flag, False, UPSTREAM)
    sp_linear_impl = Setting(one_name_of("composed", "fused"), "composed", PROGRAMS)
    sp_linear_backward_impl = Setting(one_name_of("same", "composed", "fused"), "same", PROGRAMS)
    # YAML reads a bare `off` as false.
    sp_overlap = Setting(
        one_name_of("off", "split", "backward", false="off", true="backward"), "off", UPSTREAM
    )
    sp_ccl_rows = Setting(whole_number(0), 1, UPSTREAM)
    sp_ccl_columns = Setting(whole_number(0), 0, UPSTREAM)
    cp_backward = Setting(choice("two_pass", "cyclic", "cyclic_in_place"), "two_pass", _KERNELS)
    cp_shift_transport = Setting(text, "direct", _KERNELS)
    cp_rows_per_block_tiles = Setting(whole_number(0), 0, _KERNELS)
    cp_layout = Setting(choice("contiguous", "zigzag"), "contiguous", UPSTREAM)
    empty_is_default = True

    def agree(self, report: ConfigurationProblems) -> None:
        """Note sequence without tensor parallelism, overlap without what overlaps, and cores of collectives that are both rows and columns."""
        if self.enable_sp and not self.enable_tp:
            report.below("enable_sp").wrong(" requires enable_tp; help: enable_tp: true")
        if self.fsdp_overlap_collectives and not self.enable_fsdp:
            report.below("fsdp_overlap_collectives").wrong(" requires enable_fsdp; help: enable_fsdp: true")
        if self.sp_overlap != "off" and (self.sp_ccl_rows > 0) == (self.sp_ccl_columns > 0):
            report.below("sp_overlap").wrong(
                " takes exactly one of sp_ccl_rows and sp_ccl_columns, got "
                f"{self.sp_ccl_rows} and {self.sp_ccl_columns}; help: sp_ccl_rows: 1, sp_ccl_columns: 0"
            )

    @property
    def command_queues(self) -> int:
        """Command queues that the mesh is opened with: two where collectives overlap with what is computed."""
        return 2 if self.fsdp_overlap_collectives or self.sp_overlap != "off" else 1

    def total_devices(self) -> int:
        """Devices of the mesh."""
        return self.mesh_shape[0] * self.mesh_shape[1]


class MultiHostConfig(FileSection):
    """Roles of the ranks of a job over several hosts."""

    section = "multihost_config"
    enabled = Setting(flag, False, GUIDE)
    num_workers = Setting(whole_number(0), 1, GUIDE)
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


class SchedulerConfig(FileSection):
    """Rates and lengths of a schedule with warm-up and hold; its length is the training's."""

    section = "scheduler_config"
    max_lr = Setting(number(0.0), 1e-3, UPSTREAM)
    min_lr = Setting(number(0.0), 0.0, UPSTREAM)
    warmup_steps = Setting(whole_number(0), 100, UPSTREAM)
    hold_steps = Setting(whole_number(0), 0, UPSTREAM)
    beta1_start = Setting(number(0.0, below=1.0), 0.85, UPSTREAM)
    beta1_end = Setting(number(0.0, below=1.0), 0.95, UPSTREAM)
    beta1_warmup_steps = Setting(whole_number(0), 0, UPSTREAM)
    total_steps = Setting(whole_number(1), 1000, UPSTREAM)

    def update_config(self, source: Any) -> None:
        """As any section; the length is that of `training_config`."""
        super().update_config(source)
        document = whole_of(source, self.section)
        if document.get("training_config") and "total_steps" not in self.given:
            training = TrainingConfig(document)
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
    top_k = Setting(whole_number(0), 50, GUIDE)
    top_p = Setting(number(0.0, high=1.0), 1.0, GUIDE)
    sample_interval: Setting[int | None] = Setting(whole_number(0), None, PROGRAMS)
    sample_steps: Setting[int | None] = Setting(whole_number(1), None, PROGRAMS)
    cfg_scale: Setting[float | None] = Setting(number(0.0), None, PROGRAMS)


class RemoteRolloutFileConfig(FileSection):
    """What the rank that makes completions has: `trainers.RemoteRolloutConfig`."""

    section = "remote_rollout_config"
    mesh_shape = Setting(shape, [1, 1], UPSTREAM)
    max_batch_size = Setting(whole_number(1), 1, UPSTREAM)
    max_seq_len = Setting(whole_number(1), 1024, UPSTREAM)
    seed: Setting[int | None] = Setting(whole_number(0), None, UPSTREAM)
    top_k = Setting(whole_number(0), 32, UPSTREAM)
    top_p = Setting(number(0.0, high=1.0), 1.0, UPSTREAM)
    architecture_model_id: Setting[str | None] = Setting(text, None, PROGRAMS)


class LoraFileConfig(FileSection):
    """Adapters of a model, as upstream's files name them."""

    section = "lora_config"
    r = Setting(whole_number(1), 8, UPSTREAM)
    lora_alpha = Setting(number(), 16.0, PROGRAMS)
    lora_dropout = Setting(number(0.0, below=1.0), 0.0, UPSTREAM)
    is_bias_trainable = Setting(flag, False, UPSTREAM)
    use_rslora = Setting(flag, False, UPSTREAM)
    target_modules: Setting[list[str]] = Setting(list_of(text), [], UPSTREAM)
    trainable_modules: Setting[list[str]] = Setting(list_of(text), [], UPSTREAM)


class _OptimizerKind:
    """A map of an optimizer's settings, or the path of a file with them."""

    in_words = "a map, see [optimizer](#optimizer), or the path of a file with one"

    def read(self, value: Any, report: ConfigurationProblems) -> OptimizerConfig | None:
        if isinstance(value, str):
            try:
                value = load_config(value)
            except (FileNotFoundError, ConfigLoop) as error:
                report.wrong(f": {error}")
                return None
        made = OptimizerConfig()
        made.fill(value, report)
        return made


class TrainingConfig(FileSection):
    """What to train, how long, and with which optimizer; made from a map or the path of a file.

    `seq_len` and `transformer_config` come from the model configuration where one is named.
    """

    section = "training_config"
    project_name = Setting(text, "tt_train", GUIDE)
    seed = Setting(whole_number(0), 42, GUIDE)
    batch_size = Setting(whole_number(1), 64, GUIDE)
    validation_batch_size = Setting(whole_number(1), 32, GUIDE)
    steps = Setting(whole_number(1), 1000, GUIDE, key="max_steps")
    total_steps: Setting[int | None] = Setting(whole_number(1), None, UPSTREAM)
    epochs = Setting(whole_number(1), 1, GUIDE, key="num_epochs")
    eval_every = Setting(whole_number(0), 200, GUIDE)
    save_every = Setting(whole_number(0), 500, GUIDE, key="model_save_interval")
    gradient_accumulation_steps = Setting(whole_number(1), 1, GUIDE)
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
        ModelKind(), None, GUIDE, key="transformer_config"
    )
    model_type: Setting[str | None] = Setting(text, None, GUIDE)
    model_path: Setting[str | None] = Setting(text, None, UPSTREAM)
    grpo_config: Setting[GRPOSettings | None] = Setting(nested(GRPOSettings), None, UPSTREAM)
    lazy_parameter_init = Setting(flag, False, UPSTREAM)
    momentum: Setting[float | None] = Setting(number(0.0, below=1.0), None, PROGRAMS)
    is_eval = Setting(flag, False, PROGRAMS)
    logging_interval: Setting[int | None] = Setting(whole_number(1), None, PROGRAMS)
    output_dir: Setting[str | None] = Setting(text, None, PROGRAMS)
    model_id: Setting[str | None] = Setting(text, None, PROGRAMS)
    model_source: Setting[str | None] = Setting(text, None, PROGRAMS)
    weight_sync_every = Setting(whole_number(1), 1, PROGRAMS)
    rollout_queue_capacity = Setting(whole_number(1), 1, PROGRAMS)
    lr_schedule: Setting[str | None] = Setting(text, None, PROGRAMS)
    warmup_steps: Setting[int | None] = Setting(whole_number(0), None, PROGRAMS)
    ema_decay: Setting[float | None] = Setting(number(0.0, below=1.0), None, PROGRAMS)
    ema_interval: Setting[int | None] = Setting(whole_number(1), None, PROGRAMS)
    hflip_augment = Setting(flag, False, PROGRAMS)
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
        self.transformer_config = TransformerConfig(whole_of(source, self.section))
        self.seq_len = self.transformer_config.max_sequence_length


SECTIONS.update(
    {
        kind.section: kind
        for kind in (
            TrainingConfig,
            DeviceConfig,
            TransformerConfig,
            MultiHostConfig,
            EvalConfig,
            DiffusionConfig,
            LoggingConfig,
            RemoteRolloutFileConfig,
            SchedulerConfig,
            LoraFileConfig,
            OptimizerConfig,
        )
    }
)


def schedule(yaml_config: Mapping[str, Any], total_steps: int) -> Schedule:
    """The learning rate by 0-based step: what `scheduler_config` says where it is given, else what `scheduler_type` names.

    Raises ConfigError for an unknown name, and for a warm-up of beta1, which changes the optimizer and not its rate.
    """
    yaml_config = whole_of(yaml_config, "training_config")
    training = TrainingConfig(yaml_config)
    if "scheduler_config" not in yaml_config:
        return SCHEDULES[training.scheduler_type](training.lr, total_steps)
    given = SchedulerConfig(yaml_config)
    report = ConfigurationProblems(places(yaml_config), ("scheduler_config",))
    if given.beta1_warmup_steps:
        report.below("beta1_warmup_steps").wrong(
            " needs a loop that sets beta1; use SchedulerConfig.schedule().beta1_at; help: leave it out"
        )
    report.settle()
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


@naming_faults
def yaml_deep_update(original: dict[str, Any], updates: Mapping[str, Any]) -> dict[str, Any]:
    """Put the settings of one map over those of another, section by section; changes and returns the first."""
    for key, value in updates.items():
        own = original.get(key)
        if isinstance(own, dict) and isinstance(value, Mapping):
            yaml_deep_update(own, value)
        else:
            original[key] = value
    return original
