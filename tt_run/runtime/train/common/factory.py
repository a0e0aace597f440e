"""`TransformerModelFactory`: a model from a configuration: GPT-2, Llama, Qwen3 or DeepSeek, whole, tensor-parallel, or a stage of a pipeline."""

from __future__ import annotations

import contextlib
import difflib
import warnings
from collections.abc import Mapping
from typing import Any

from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.train.common.config import DeviceConfig, MultiHostConfig
from tt_run.runtime.train.common.documents import places, section_of
from tt_run.runtime.train.common.model_config import TransformerConfig, model_sections
from tt_run.runtime.train.models.decoders.deepseek import DeepSeek
from tt_run.runtime.train.models.decoders.flops import swiglu_width
from tt_run.runtime.train.models.decoders.mixture import DeepSeekConfig
from tt_run.runtime.train.models.decoders.qwen3 import Qwen3, Qwen3Config, Qwen3RopeScalingConfig
from tt_run.runtime.train.models.gpt import (
    GPT2TransformerConfig,
    NanoGPTExperimentalConfig,
    create_distributed_gpt2_model,
    create_gpt2_model,
)
from tt_run.runtime.train.models.llama import LlamaConfig, create_distributed_llama_model, create_llama_model
from tt_run.runtime.train.models.pipeline import PipelineParallelConfig, create_pipeline_parallel_llama_model
from tt_run.runtime.train.models.runner import RunnerType, WeightTyingType
from tt_run.runtime.train.modules.base import AbstractModuleBase, ModuleBase
from tt_run.runtime.train.modules.containers import ModuleList
from tt_run.runtime.train.modules.lazy import lazy_init, materialize_module
from tt_run.runtime.train.parallel.fsdp import fully_shard
from tt_run.runtime.train.parallel.fsdp_memory import blocks_to_keep_gathered
from tt_run.runtime.train.parallel.fsdp_overlap import current_overlap, enable_overlap
from tt_run.runtime.train.settings import ConfigurationProblems, Place, place_of, saying_where

_MODELS = ("gpt2", "llama", "qwen3", "deepseek")


def adjust_vocab_size(vocab_size: int, enable_tp: bool, total_devices: int) -> int:
    """Rounded up to 32, or to 32 for each device under tensor parallelism."""
    unit = TILE_SIZE * total_devices if enable_tp else TILE_SIZE
    return -(-vocab_size // unit) * unit


def map_runner_type(name: str) -> RunnerType:
    """The runner that a configuration names. Raises ValueError for an unknown name."""
    return RunnerType.from_string(name)


class TransformerModelFactory:
    """Builds the model of a configuration given as a map.

    Raises ValueError for a model type it does not know: a configuration without `model_type` means GPT-2; ConfigError for `enable_pp` without stages.
    """

    def __init__(self, yaml_config: Mapping[str, Any]) -> None:
        training = section_of(yaml_config, "training_config")
        self._sections = model_sections(yaml_config)
        self.transformer_config = TransformerConfig(yaml_config)
        self.device_config = DeviceConfig(yaml_config)
        self.multihost_config = MultiHostConfig(
            yaml_config if "multihost_config" in yaml_config else training.get("multihost_config")
        )
        named = self.transformer_config.model_type or training.get("model_type")
        if named is None and self.transformer_config.names_llama:
            warnings.warn(
                f"{', '.join(self.transformer_config.names_llama)} only a Llama has, and there is no model_type, which means gpt2; "
                "help: model_type: llama",
                stacklevel=2,
            )
        self.model_type = str(named or "gpt2").lower()
        if self.model_type not in _MODELS:
            near = (difflib.get_close_matches(self.model_type, _MODELS, n=1) or [*_MODELS])[0]
            with saying_where([(training, places(yaml_config), ("training_config",)), *self._sections]):
                raise ValueError(
                    f"Model type {self.model_type} not supported; one of {', '.join(_MODELS)}; help: model_type: {near}"
                )
        self.lazy = self.device_config.lazy_parameter_init or bool(training.get("lazy_parameter_init"))
        self._agree(places(yaml_config))

    def _agree(self, place: Place) -> None:
        """Raise ConfigError for settings that do not go with the type of the model, or with the other sections."""
        model = ConfigurationProblems(
            lambda path: place_of(path[-1], self._sections), ("transformer_config",)
        )
        device = ConfigurationProblems(place, ("device_config",), model.problems)
        if self.device_config.enable_pp and self.multihost_config.mode != "pipeline":
            device.below("enable_pp").wrong(
                " needs a multihost_config with enabled: true and a pipeline_parallel_config; "
                "help: name one in training_config: multihost_config"
            )
        if self.transformer_config.attention_bias and self.model_type != "qwen3":
            model.below("attention_bias").wrong(
                f": the attention of a {self.model_type} has no biases to choose; help: model_type: qwen3, or attention_bias: false"
            )
        if self.device_config.enable_sp and self.model_type != "llama":
            device.below("enable_sp").wrong(
                f": positions of a {self.model_type} are not cut; help: model_type: llama, or enable_sp: false"
            )
        model.settle()

    def create_model(self) -> Any:
        """The model of that type on the open device; with `enable_fsdp` block by block cut over the mesh axis for that, and with
        `lazy_parameter_init` too its parameters are made when they are cut already. What the sizes of a file do not allow is told with its line."""
        with saying_where(self._sections):
            return self._made()

    def _made(self) -> Any:
        if not self.device_config.enable_fsdp:
            return self._whole_model()
        lazy = self.lazy
        with lazy_init() if lazy else contextlib.nullcontext():
            model = self._whole_model()
        self._shard(model)
        return materialize_module(model) if lazy else model

    def _shard(self, model: ModuleBase) -> None:
        whole = self.device_config.fsdp_replicate_params
        if self.device_config.fsdp_overlap_collectives and current_overlap() is None:
            cores = self.device_config.fsdp_ccl_subdevice
            enable_overlap(**cores, lookahead=self.device_config.fsdp_overlap_lookahead)
        assert isinstance(model, AbstractModuleBase)
        blocks: list[Any] = list(model.blocks) if isinstance(model, Qwen3) else []
        for name, child in model.named_children():
            if "block" in name:
                blocks += child if isinstance(child, ModuleList) else (child,)
        room = self.device_config.fsdp_keep_gathered_gib
        keep = blocks_to_keep_gathered(blocks, room) if room else set()
        for number, block in enumerate(blocks):
            fully_shard(block, reshard_after_forward=number not in keep, replicate_params=whole)
        fully_shard(model, replicate_params=whole)

    def _whole_model(self) -> ModuleBase:
        parallel = self.device_config.enable_tp
        stages = self.multihost_config.pipeline_parallel_config if self.multihost_config.enabled else None
        if stages is not None:
            pipeline = PipelineParallelConfig(stages.num_blocks, stages.blocks_per_rank)
            return create_pipeline_parallel_llama_model(self._llama(), pipeline, parallel)
        if self.model_type == "deepseek":
            return DeepSeek(self._deepseek())
        if self.model_type == "qwen3":
            return Qwen3(self._qwen3())
        if self.model_type == "gpt2":
            return (create_distributed_gpt2_model if parallel else create_gpt2_model)(self._gpt2())
        return (create_distributed_llama_model if parallel else create_llama_model)(self._llama())

    def _common(self) -> dict[str, Any]:
        given, device = self.transformer_config, self.device_config
        return {
            "num_heads": given.num_heads,
            "embedding_dim": given.embedding_dim,
            "num_blocks": given.num_blocks,
            "vocab_size": adjust_vocab_size(given.vocab_size, device.enable_tp, device.total_devices()),
            "max_sequence_length": given.max_sequence_length,
            "runner_type": map_runner_type(given.runner_type),
            "weight_tying": WeightTyingType.from_string(given.weight_tying),
        }

    def _gpt2(self) -> GPT2TransformerConfig:
        given = self.transformer_config
        return GPT2TransformerConfig(
            **self._common(),
            dropout_prob=0.2 if given.dropout_prob is None else given.dropout_prob,
            positional_embedding_type=given.positional_embedding_type,
            experimental=NanoGPTExperimentalConfig(given.experimental.use_composite_layernorm),
        )

    def _deepseek(self) -> DeepSeekConfig:
        given = self.transformer_config
        latent = (
            "q_lora_rank",
            "kv_lora_rank",
            "qk_nope_head_dim",
            "qk_rope_head_dim",
            "v_head_dim",
            "n_dense_layers",
        )
        device = self.device_config
        return DeepSeekConfig(
            vocab_size=adjust_vocab_size(given.vocab_size, device.enable_tp, device.total_devices()),
            use_tp=device.enable_tp,
            dim=given.embedding_dim,
            inter_dim=given.inter_dim or swiglu_width(given.embedding_dim),
            n_layers=given.num_blocks,
            n_heads=given.num_heads,
            max_seq_len=given.max_sequence_length,
            rope_theta=given.theta,
            runner_type=map_runner_type(given.runner_type),
            moe_type=given.moe_type,
            **{name: getattr(given, name) for name in latent},
            **given.experts,
        )

    def _qwen3(self) -> Qwen3Config:
        given, device = self.transformer_config, self.device_config
        scaling = given.rope_scaling
        return Qwen3Config(
            vocab_size=adjust_vocab_size(given.vocab_size, device.enable_tp, device.total_devices()),
            hidden_size=given.embedding_dim,
            intermediate_size=given.intermediate_dim or swiglu_width(given.embedding_dim),
            num_hidden_layers=given.num_blocks,
            num_attention_heads=given.num_heads,
            num_key_value_heads=given.num_groups,
            head_dim=given.head_dim or given.embedding_dim // given.num_heads,
            max_position_embeddings=given.max_sequence_length,
            attention_bias=bool(given.attention_bias),
            rope_theta=given.theta,
            runner_type=map_runner_type(given.runner_type),
            weight_tying=WeightTyingType.from_string(given.weight_tying),
            rope_scaling=Qwen3RopeScalingConfig(
                scaling.scaling_factor,
                scaling.high_freq_factor,
                scaling.low_freq_factor,
                scaling.original_context_length,
            ),
            use_tp=device.enable_tp,
        )

    def _llama(self) -> LlamaConfig:
        given = self.transformer_config
        scaling = given.rope_scaling
        return LlamaConfig(
            **self._common(),
            dropout_prob=given.dropout_prob or 0.0,
            num_groups=given.num_groups,
            theta=given.theta,
            intermediate_dim=given.intermediate_dim,
            scaling_factor=scaling.scaling_factor,
            high_freq_factor=scaling.high_freq_factor,
            low_freq_factor=scaling.low_freq_factor,
            original_context_length=scaling.original_context_length,
            sequence_parallel=self.device_config.enable_sp,
        )
