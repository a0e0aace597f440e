"""The sections of a model file: kind and sizes of a model, each key with its kind, range, default and source.

A training file may name a model file, hold its section, or change some of its settings; `TransformerConfig` puts them together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tt_run.runtime.train.common.documents import (
    MODEL_FILE,
    SECTIONS,
    ConfigLoop,
    FileSection,
    load_config,
    places,
    whole_of,
)
from tt_run.runtime.train.kinds import choice, flag, nested, number, text, whole_number
from tt_run.runtime.train.optimizers.settings import GUIDE, UPSTREAM
from tt_run.runtime.train.settings import ConfigurationProblems, Given, Path, Section, Setting

_LLAMA = {"num_groups", "theta", "intermediate_dim", "rope_scaling"}


class RopeScalingConfig(Section):
    """The Llama-3 rule for long contexts; off while factor or original length is 0."""

    section = "rope_scaling"
    empty_is_default = True
    scaling_factor = Setting(number(0.0), 0.0, UPSTREAM)
    high_freq_factor = Setting(number(0.0), 4.0, UPSTREAM)
    low_freq_factor = Setting(number(0.0), 1.0, UPSTREAM)
    original_context_length = Setting(whole_number(0), 0, UPSTREAM)


class ExperimentalConfig(Section):
    """Variants of a model's layers."""

    section = "experimental"
    use_composite_layernorm = Setting(flag, False, GUIDE)


class MoeConfig(Section):
    """Sizes and routing of a mixture of experts."""

    section = "moe_hyperparam"
    moe_inter_dim = Setting(whole_number(1), 1408, UPSTREAM)
    n_routed_experts = Setting(whole_number(1), 64, UPSTREAM)
    n_shared_experts = Setting(whole_number(0), 2, UPSTREAM)
    n_activated_experts = Setting(whole_number(1), 6, UPSTREAM)
    n_expert_groups = Setting(whole_number(1), 1, UPSTREAM)
    n_limited_groups = Setting(whole_number(1), 1, UPSTREAM)
    score_func = Setting(choice("softmax", "sigmoid"), "softmax", UPSTREAM)
    route_scale = Setting(number(), 1.0, UPSTREAM)


_FLAT = f"{UPSTREAM}, older files; goes over moe_hyperparam's"


class TransformerConfig(FileSection):
    """Kind and sizes of the model; `dropout_prob` None means the default of the kind."""

    section = "transformer_config"
    empty_is_default = True
    model_type: Setting[str | None] = Setting(text, None, GUIDE)
    model_path: Setting[str | None] = Setting(text, None, GUIDE)
    runner_type = Setting(choice("default", "memory_efficient"), "default", GUIDE)
    num_heads = Setting(whole_number(1), 6, GUIDE)
    embedding_dim = Setting(whole_number(1), 384, GUIDE)
    dropout_prob: Setting[float | None] = Setting(number(0.0, below=1.0), None, GUIDE)
    num_blocks = Setting(whole_number(1), 6, GUIDE)
    vocab_size = Setting(whole_number(1), 96, GUIDE)
    max_sequence_length = Setting(whole_number(1), 128, GUIDE)
    weight_tying = Setting(
        choice("enabled", "disabled", true="enabled", false="disabled", none="disabled"), "disabled", GUIDE
    )
    positional_embedding_type = Setting(choice("trainable", "fixed"), "trainable", GUIDE)
    experimental = Setting(nested(ExperimentalConfig), ExperimentalConfig(), GUIDE)
    intermediate_dim: Setting[int | None] = Setting(whole_number(1), None, GUIDE)
    theta = Setting(number(0.0), 10000.0, GUIDE)
    num_groups = Setting(whole_number(1), 3, GUIDE)
    rope_scaling = Setting(nested(RopeScalingConfig), RopeScalingConfig(), GUIDE)
    q_lora_rank = Setting(whole_number(0), 0, UPSTREAM)
    kv_lora_rank = Setting(whole_number(1), 512, UPSTREAM)
    qk_nope_head_dim = Setting(whole_number(1), 128, UPSTREAM)
    qk_rope_head_dim = Setting(whole_number(1), 64, UPSTREAM)
    v_head_dim = Setting(whole_number(1), 128, UPSTREAM)
    n_dense_layers = Setting(whole_number(0), 1, UPSTREAM)
    inter_dim: Setting[int | None] = Setting(whole_number(1), None, UPSTREAM)
    head_dim: Setting[int | None] = Setting(whole_number(1), None, UPSTREAM)
    moe_type = Setting(choice("dense", "sparse", "sparse_tp", "sparse_ep"), "dense", UPSTREAM)
    moe_hyperparam = Setting(nested(MoeConfig), MoeConfig(), UPSTREAM)
    attention_bias: Setting[bool | None] = Setting(flag, None, UPSTREAM)
    moe_inter_dim: Setting[int | None] = Setting(whole_number(1), None, _FLAT)
    n_routed_experts: Setting[int | None] = Setting(whole_number(1), None, _FLAT)
    n_shared_experts: Setting[int | None] = Setting(whole_number(0), None, _FLAT)
    n_activated_experts: Setting[int | None] = Setting(whole_number(1), None, _FLAT)
    n_expert_groups: Setting[int | None] = Setting(whole_number(1), None, _FLAT)
    n_limited_groups: Setting[int | None] = Setting(whole_number(1), None, _FLAT)
    score_func: Setting[str | None] = Setting(choice("softmax", "sigmoid"), None, _FLAT)
    route_scale: Setting[float | None] = Setting(number(), None, _FLAT)

    @property
    def experts(self) -> dict[str, Any]:
        """Sizes and routing of the experts: those of `moe_hyperparam`, over which those go that stand beside it, as in older files."""
        section = self.moe_hyperparam
        beside = {name: getattr(self, name) for name in section.settings}
        return {name: getattr(section, name) if value is None else value for name, value in beside.items()}

    def update_config(self, source: Any) -> None:
        """Take `transformer_config` of a configuration, or of the file that its `model_config` names, with what `training_config` changes of it."""
        for given, place, path in model_sections(source):
            report = ConfigurationProblems(place, path)
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


class ModelKind:
    """What a training configuration changes of the model's settings, or the path of the file that has them, as older files say it."""

    in_words = "a map, see [transformer_config](#transformer_config), or the path of a file with one"

    def read(self, value: Any, report: ConfigurationProblems) -> TransformerConfig | None:
        if isinstance(value, str):
            try:
                return TransformerConfig(value)
            except (FileNotFoundError, ConfigLoop) as error:
                report.wrong(f": {error}")
                return None
        made = TransformerConfig()
        made.fill(value, report)
        return made


def model_sections(source: Any) -> list[Given]:
    """What makes up the model's settings, in the order in which each goes over those before."""
    found_in = whole_of(source, "transformer_config")
    place, training = places(found_in), found_in.get("training_config")
    found: list[Given] = []
    named = training.get("model_config") if isinstance(training, Mapping) else None
    changed = training.get("transformer_config") if isinstance(training, Mapping) else None
    at: Path = ("training_config", "model_config")
    if isinstance(changed, str):
        named, changed, at = changed, None, ("training_config", "transformer_config")
    if not named:
        named, at = found_in.get(MODEL_FILE), (MODEL_FILE,)
    if _is_given(found_in.get("transformer_config")):
        found.append((found_in["transformer_config"], place, ("transformer_config",)))
    elif named:
        document = _named_by(named, place(at))
        given = document.get("transformer_config", {} if any(n in SECTIONS for n in document) else document)
        found.append((given, places(document), ("transformer_config",)))
    if _is_given(changed):
        found.append((changed, place, ("training_config", "transformer_config")))
    return found


def _is_given(section: Any) -> bool:
    return section is not None and not (isinstance(section, (Mapping, str)) and not section)


def _named_by(named: Any, at: str) -> dict[str, Any]:
    """The file of a model. Raises FileNotFoundError with the place that names it."""
    try:
        return load_config(named)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{at}: {error}" if at else str(error)) from None
