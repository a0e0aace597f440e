"""The model and tokenizer of a GRPO trainer: built from their configuration on the devices it names, filled from a Hugging Face directory.

Programs replace functions of this module for their tests (`open_device`, `load_from_safetensors`), so it is published as it is.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tt_run.runtime.ops.data_movement import joining
from tt_run.runtime.tile import whole_tiles
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.parallelism import DistributedConfig, ParallelismContext
from tt_run.runtime.train.common.utils import build_mesh
from tt_run.runtime.train.models.decoders.export import JOINT_PLACES, PLACES
from tt_run.runtime.train.models.decoders.llama import DecoderLlama
from tt_run.runtime.train.models.decoders.llama_config import LlamaConfig, LlamaRopeScalingConfig
from tt_run.runtime.train.models.decoders.qwen3 import Qwen3, create_qwen3_config_from_hf
from tt_run.runtime.train.models.decoders.weights import load_from_safetensors, load_weights_from_hf
from tt_run.runtime.train.models.llama_forms import Llama
from tt_run.runtime.train.models.runner import RunnerType, WeightTyingType
from tt_run.runtime.train.models.safetensors import Weights
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.joint_names import joined
from tt_run.runtime.train.modules.lazy import lazy_init, materialize_module
from tt_run.runtime.train.parallel.distributed import enable_fabric
from tt_run.runtime.train.parallel.fsdp import fully_shard
from tt_run.runtime.train.parallel.named_mesh import maybe_mesh, open_device_mesh
from tt_run.runtime.train.parallel.sharded_parameters import restore_parameter, whole_shape

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

_log = logging.getLogger(__name__)
KINDS = ("llama", "qwen3")


def setup_ttml_model(transformer_config: Any, device_config: Any, model_source: str) -> tuple[Any, Any]:
    """Open the devices and give the model of `transformer_config.model_type` with the weights of `model_source`, and its tokenizer.

    A Llama's sizes are the configuration's and its vocabulary the tokenizer's; a Qwen3's are the `config.json` of `model_source`, but for
    `max_sequence_length` and `runner_type`. Raises ValueError for any other type.
    """
    kind = transformer_config.model_type
    require_kind("setup_ttml_model: model_type", kind)
    return build(
        kind, transformer_config, device_config, model_source, lambda config: open_device(kind, config)
    )


def require_kind(what: str, kind: Any) -> None:
    """Raise ValueError for a kind of model that is neither of the two."""
    if kind not in KINDS:
        raise ValueError(f"{what} must be one of {', '.join(KINDS)}, got {kind!r}")


def build(
    kind: str,
    transformer_config: Any,
    device_config: Any,
    source: str,
    opens: Callable[[Any], Any],
) -> tuple[Any, Any]:
    """As `setup_ttml_model`, on devices that `opens(device_config)` opens."""
    opens(device_config)
    make = _build_llama if kind == "llama" else _build_qwen3
    return make(transformer_config, device_config, source)


def open_device(model_kind: str, device_config: Any) -> Any:
    """Open the devices, a Qwen3's with names for the axes, and give them."""
    context = AutoContext.get_instance()
    if model_kind == "llama":
        enable_fabric(device_config.total_devices())
        context.open_device(device_config.mesh_shape, device_config.device_ids or None)
    else:
        open_device_mesh(build_mesh(device_config), device_config.device_ids or None)
        shape = context.get_device().shape
        wanted = DistributedConfig(device_config.enable_ddp, False, False, device_config.enable_fsdp)
        if wanted.enabled:
            context.imply_parallelism(ParallelismContext(wanted, (shape[0], shape[1])))
    return context.get_device()


def build_for_completions(source: str, longest: int, *, load: bool = True) -> Any:
    """The Llama or Qwen3 whose `config.json` a source has, for texts of at most `longest` tokens; without `load` its weights are random.

    Raises ValueError for a model of another type.
    """
    sizes, positions = (
        _transformers().AutoConfig.from_pretrained(source, trust_remote_code=True),
        whole_tiles(longest),
    )
    require_kind(f"the model_type of {source}", sizes.model_type)
    if sizes.model_type == "qwen3":
        config = create_qwen3_config_from_hf(sizes, positions)
        made = Qwen3(config)
        if load:
            _load_qwen3(made, source, config)
        return made
    # The trainer's own Llama has a row for each token of the tokenizer.
    made = Llama(_llama_sizes(sizes, positions, len(load_tokenizer(source))))
    if load:
        load_from_safetensors(made, _download_hf_repo(source))
    return made


def _llama_sizes(sizes: Any, positions: int, tokens: int) -> LlamaConfig:
    given = getattr(sizes, "rope_parameters", None) or getattr(sizes, "rope_scaling", None) or {}
    tied = getattr(sizes, "tie_word_embeddings", False)
    return LlamaConfig(
        hidden_size=sizes.hidden_size,
        intermediate_size=sizes.intermediate_size,
        num_hidden_layers=sizes.num_hidden_layers,
        num_attention_heads=sizes.num_attention_heads,
        num_key_value_heads=sizes.num_key_value_heads,
        vocab_size=tokens,
        max_position_embeddings=positions,
        rope_theta=float(getattr(sizes, "rope_theta", None) or given.get("rope_theta", 10000.0)),
        attention_bias=bool(getattr(sizes, "attention_bias", False)),
        weight_tying=WeightTyingType.Enabled if tied else WeightTyingType.Disabled,
        rope_scaling=LlamaRopeScalingConfig(
            scaling_factor=float(given.get("factor", 0.0)),
            high_freq_factor=float(given.get("high_freq_factor", 4.0)),
            low_freq_factor=float(given.get("low_freq_factor", 1.0)),
            original_context_length=int(given.get("original_max_position_embeddings", 0)),
        ),
    )


def load_checkpoint(model: Any, checkpoint_path: str, dp_mapper: Any = None) -> None:
    """Fill the parameters that a file, or the files of a directory, have by the model's own names, and print which they have not.

    Every parameter is loaded as it lies, so `dp_mapper` is not needed.
    """
    parameters = model.parameters()
    stored = joined(Weights(checkpoint_path, ""), parameters)
    missing = [name for name in parameters if name not in stored]
    for name, tensor in parameters.items():
        if name in stored:
            tensor.set_value(restore_parameter(tensor, stored[name].reshape(whole_shape(tensor)), name))
    print(f"Loaded {len(parameters) - len(missing)}/{len(parameters)} parameters from {checkpoint_path}")
    if missing:
        print(f"Warning: {len(missing)} parameters not found in checkpoint: {', '.join(missing)}")


def load_hf_state_dict(model_source: str) -> dict[str, np.ndarray]:
    """The arrays of a Hugging Face model by name, float32."""
    return dict(Weights(_download_hf_repo(model_source), ""))


def weights_ref_hf_dict(model: Any) -> dict[str, Value]:
    """The parameters of a Llama or a Qwen3 on their devices by Hugging Face's names, [1, 1, rows, columns] or [1, 1, 1, columns].

    Rows of queries and keys are in interleaved pairs. A Llama's queries, keys, values, gates and ups are slices of what holds them; all others are the
    parameters themselves. Raises TypeError for another model.
    """
    if isinstance(model, Qwen3):
        return _qwen3_weights(model)
    if isinstance(model, DecoderLlama):
        return _llama_weights(model)
    raise TypeError(f"weights_ref_hf_dict supports ttml Llama and Qwen3 models, got {type(model).__name__}")


def _llama_weights(model: DecoderLlama) -> dict[str, Value]:
    config, values = model.config, _values(model)
    each = config.hidden_size // config.num_attention_heads
    heads, groups = config.num_attention_heads * each, config.num_key_value_heads * each
    tied = config.weight_tying is WeightTyingType.Enabled
    found = {
        "model.embed_tokens.weight": values["fc/weight" if tied else "tok_emb/weight"],
        "lm_head.weight": values["fc/weight"],
        "model.norm.weight": values["ln_fc/gamma"],
    }
    for name, value in values.items():
        _, _, place = name.partition("blocks/")
        number, _, inside = place.partition("/")
        root, (layer, _, kind) = f"model.layers.{number}", inside.rpartition("/")
        dim = 2 if kind == "weight" else 3
        if inside in PLACES:
            found[f"{root}.{PLACES[inside]}"] = value
        elif layer in JOINT_PLACES:
            half = value.shape[dim] // 2
            sizes, begin = (heads, groups, groups) if layer == "attention/qkv_linear" else (half, half), 0
            for part, rows in zip(JOINT_PLACES[layer], sizes, strict=True):
                begins, ends = [0] * 4, list(value.shape)
                begins[dim], ends[dim] = begin, begin + rows
                found[f"{root}.{part}.{kind}"] = joining.slice(value, begins, ends)
                begin += rows
    return found


def _qwen3_weights(model: Qwen3) -> dict[str, Value]:
    found = {
        name.replace("/", ".").replace(".gamma", ".weight"): value for name, value in _values(model).items()
    }
    ends = ("model.embed_tokens.weight", "lm_head.weight")
    for own, other in (ends, ends[::-1]):
        if own not in found:  # one table for both
            found[own] = found[other]
    return found


def _values(model: Any) -> dict[str, Value]:
    """Values by the names within the model."""
    return {name.partition("/")[2]: tensor.get_value() for name, tensor in model.parameters().items()}


def _build_llama(settings: Any, device_config: Any, source: str) -> tuple[Any, Any]:
    context, tokenizer = AutoContext.get_instance(), load_tokenizer(source)
    settings.vocab_size = len(tokenizer)
    config = LlamaConfig(
        hidden_size=settings.embedding_dim,
        intermediate_size=settings.intermediate_dim,
        num_hidden_layers=settings.num_blocks,
        num_attention_heads=settings.num_heads,
        num_key_value_heads=settings.num_groups,
        vocab_size=len(tokenizer),
        max_position_embeddings=settings.max_sequence_length,
        rope_theta=settings.theta or 10000.0,
        attention_dropout=settings.dropout_prob or 0.0,
        mlp_dropout=settings.dropout_prob or 0.0,
        runner_type=RunnerType.from_string(str(settings.runner_type)),
        weight_tying=WeightTyingType.from_string(str(settings.weight_tying or "disabled")),
        rope_scaling=LlamaRopeScalingConfig(
            scaling_factor=settings.scaling_factor or 0.0,
            high_freq_factor=settings.high_freq_factor or 4.0,
            low_freq_factor=settings.low_freq_factor or 1.0,
            original_context_length=settings.original_context_length or 0,
        ),
    )
    model = Llama(config)
    if device_config.enable_ddp:
        context.initialize_parallelism_context(DistributedConfig(enable_ddp=True))
    folder = _download_hf_repo(source)
    if _has_own_names(folder, model):
        load_checkpoint(model, folder)
    else:
        load_from_safetensors(model, folder, config)
    return model, tokenizer


def _build_qwen3(settings: Any, device_config: Any, source: str) -> tuple[Any, Any]:
    tokenizer = load_tokenizer(source)
    sizes = _transformers().AutoConfig.from_pretrained(source, trust_remote_code=True)
    runner = RunnerType.from_string(str(settings.runner_type))
    config = create_qwen3_config_from_hf(sizes, int(settings.max_sequence_length or 2048), runner_type=runner)
    mesh = maybe_mesh()
    cut = bool(device_config.enable_fsdp) and mesh is not None and mesh.has_axis("fsdp")
    cut = cut and mesh is not None and mesh.axis_size("fsdp") > 1
    if cut and device_config.lazy_parameter_init:
        with lazy_init():
            model = Qwen3(config)
        _fully_sharded(model, device_config)
        materialize_module(model)
        _load_qwen3(model, source, config)
    else:
        model = Qwen3(config)
        _load_qwen3(model, source, config)
        if cut:
            _fully_sharded(model, device_config)
    return model, tokenizer


def _load_qwen3(model: Qwen3, source: str, config: Any) -> None:
    folder = _download_hf_repo(source)
    if _has_own_names(folder, model):
        load_checkpoint(model, folder)
    else:
        tied = config.weight_tying is WeightTyingType.Enabled
        load_weights_from_hf(model, load_hf_state_dict(folder), config, tie_word_embeddings=tied)


def _fully_sharded(model: Qwen3, device_config: Any) -> None:
    whole = tuple(device_config.fsdp_replicate_params)
    for block in model.blocks:
        assert isinstance(block, AbstractModuleBase)
        fully_shard(block, replicate_params=whole)
    fully_shard(model, replicate_params=whole)


def _has_own_names(folder: str, model: Any) -> bool:
    """Whether the files are a checkpoint of this trainer's, which has the model's own names, rather than Hugging Face's."""
    if not Path(folder).exists():
        return False
    return not set(model.parameters()).isdisjoint(Weights(folder, ""))


def _download_hf_repo(model_source: str) -> str:
    """The directory of a model: itself, or where the hub's client puts it."""
    if Path(model_source).is_dir():
        return str(model_source)
    _log.info("Downloading model from Hugging Face: %s", model_source)
    hub = _needed("huggingface_hub", model_source)
    wanted = ["*.safetensors", "*.json", "*.model", "*.txt"]
    return str(hub.snapshot_download(repo_id=model_source, allow_patterns=wanted))


def load_tokenizer(source: str) -> Any:
    """The tokenizer of a model."""
    return _transformers().AutoTokenizer.from_pretrained(source, trust_remote_code=True)


def _transformers() -> Any:
    return _needed("transformers", "model_source")


def _needed(package: str, what: str) -> Any:
    """A package. Raises ModuleNotFoundError that says what needs it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ModuleNotFoundError(
            f"{what} is read with the package {package}, which is not installed; help: pip install {package}",
            name=package,
        ) from None
