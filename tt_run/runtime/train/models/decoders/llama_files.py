"""Which tensors of a Hugging Face Llama make which parameter, and what is said of a file and a model that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tt_run.runtime.train.models.decoders.llama_config import LlamaConfig
from tt_run.runtime.train.models.loading import interleaved
from tt_run.runtime.train.models.runner import WeightTyingType
from tt_run.runtime.train.parallel.named_mesh import maybe_mesh
from tt_run.runtime.train.parallel.sharded_parameters import cuts

Array = npt.NDArray[Any]

ROW_DIM, COLUMN_DIM = 2, 3
"""Where rows and columns are in a weight [1, 1, out, in]."""
TIED_NAMES = ("Llama/fc/weight", "Llama/tok_emb/weight")
"""The parameter that a tied model has once, by either of its places."""
_OTHER_NAMES = {"wte.weight": "embed_tokens.weight", "transformer.wte.weight": "embed_tokens.weight"}


@dataclass(frozen=True)
class FileParameter:
    """A parameter, and the tensors of the file whose rows it holds in this order; `turn` makes them of those."""

    param: str
    sources: tuple[str, ...]
    turn: Callable[..., list[Array]] | None = None

    def of(self, blocks: list[Array]) -> list[Array]:
        """The blocks of rows that the sources make."""
        return blocks if self.turn is None else self.turn(*blocks)


def canonical(name: str) -> str:
    """A name without `model.`, and one word for what files call in several."""
    bare = name.removeprefix("model.")
    return _OTHER_NAMES.get(bare, bare)


def rules(config: LlamaConfig, names: Collection[str]) -> Iterator[FileParameter]:
    """What makes the parameters of a Llama that are no biases. Raises RuntimeError for a tied model that has two tables, or none."""
    if config.weight_tying is WeightTyingType.Enabled:
        tied = [name for name in TIED_NAMES if name in names]
        if len(tied) != 1:
            raise RuntimeError(
                f"a model with tied weights has exactly one of {', '.join(TIED_NAMES)}, this one has {', '.join(tied) or 'neither'}"
            )
        yield FileParameter(tied[0], ("embed_tokens.weight",))
    else:
        yield FileParameter("Llama/tok_emb/weight", ("embed_tokens.weight",))
        yield FileParameter("Llama/fc/weight", ("lm_head.weight",))
    yield FileParameter("Llama/ln_fc/gamma", ("norm.weight",))
    for number in range(config.num_hidden_layers):
        own, root = f"Llama/blocks/{number}", f"layers.{number}"
        yield FileParameter(f"{own}/attention_norm/gamma", (f"{root}.input_layernorm.weight",))
        yield FileParameter(f"{own}/mlp_norm/gamma", (f"{root}.post_attention_layernorm.weight",))
        for layer, sources, turn in _layers(config):
            found = tuple(f"{root}.{source}.weight" for source in sources)
            yield FileParameter(f"{own}/{layer}/weight", found, turn)


def bias_rules(
    config: LlamaConfig, names: Collection[str], stored: Collection[str]
) -> Iterator[FileParameter]:
    """What makes the biases of a model whose file has biases; nothing of one that has none."""
    if not any(name.endswith(".bias") for name in stored):
        return
    for number in range(config.num_hidden_layers):
        for layer, sources, turn in _layers(config):
            name = f"Llama/blocks/{number}/{layer}/bias"
            if name in names:
                yield FileParameter(name, tuple(f"layers.{number}.{source}.bias" for source in sources), turn)


def _layers(
    config: LlamaConfig,
) -> Iterator[tuple[str, tuple[str, ...], Callable[..., list[Array]] | None]]:
    """Linear layers within a block, what holds their rows, and how those are turned."""

    def paired(query: Array, key: Array, value: Array) -> list[Array]:
        heads, groups = config.num_attention_heads, config.num_key_value_heads
        return [interleaved(query, heads), interleaved(key, groups), value]

    attention = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
    yield "attention/qkv_linear", attention, paired
    yield "attention/out_linear", ("self_attn.o_proj",), None
    yield "mlp/w_gate_up", ("mlp.gate_proj", "mlp.up_proj"), None
    yield "mlp/w2", ("mlp.down_proj",), None


def check_coverage(
    names: Collection[str], found: Sequence[FileParameter], stored: Collection[str] = ()
) -> None:
    """Raise RuntimeError unless every parameter has a rule and every rule a parameter; biases need none where the file has no biases."""
    targets = {rule.param for rule in found}
    free = (
        set() if any(name.endswith(".bias") for name in stored) else {n for n in names if n.endswith("/bias")}
    )
    left, strange = sorted(set(names) - targets - free), sorted(targets - set(names))
    if left or strange:
        lines = [f"  no rule feeds       {name}" for name in left]
        lines += [f"  no such parameter   {name}" for name in strange]
        raise RuntimeError(
            "\n".join(["the loader and this Llama disagree about its parameters:", *lines])
            + "\nhelp: weight_tying and attention_bias of the LlamaConfig as in the model's config.json"
        )


def check_sources(found: Sequence[FileParameter], stored: Collection[str]) -> None:
    """Raise RuntimeError naming what the file lacks."""
    missing = {
        rule.param: absent for rule in found if (absent := [s for s in rule.sources if s not in stored])
    }
    if not missing:
        return
    lines = [f"  {param}: the checkpoint has no {', '.join(absent)}" for param, absent in missing.items()]
    if list(missing.values()) == [["lm_head.weight"]]:
        lines.append("help: its weights are tied: LlamaConfig(weight_tying=WeightTyingType.Enabled)")
    raise RuntimeError("\n".join(["the checkpoint lacks tensors the model needs:", *lines]))


def assemble(blocks: Sequence[Array], shard_dim: int | None, parts: int, subject: str) -> Array:
    """Blocks of rows as one array; where its rows are cut, each part has its rows of every block.

    Raises RuntimeError for blocks of several widths, and for rows that do not divide over the parts.
    """
    if len(blocks) == 1:
        return blocks[0]
    for number, block in enumerate(blocks):
        if block.shape[1:] != blocks[0].shape[1:]:
            raise RuntimeError(
                f"{subject}: block {number} has {block.shape[1]} columns, expected {blocks[0].shape[1]}"
            )
        if shard_dim == ROW_DIM and len(block) % parts:
            raise RuntimeError(
                f"{subject}: block {number} has {len(block)} rows, not divisible over {parts} devices"
            )
    if shard_dim != ROW_DIM:
        return np.concatenate(blocks)
    cut = [np.split(block, parts) for block in blocks]
    return np.concatenate([pieces[part] for part in range(parts) for pieces in cut])


def require_shape(array: Array, shape: tuple[int, ...], subject: str) -> None:
    """Raise RuntimeError for an array of another shape than a parameter's."""
    if array.shape != tuple(shape):
        raise RuntimeError(
            f"{subject}: the checkpoint has {array.shape}, but the parameter is {tuple(shape)}"
        )


def pad_to(array: Array, shape: tuple[int, int], subject: str = "") -> Array:
    """A matrix with rows and columns behind it, drawn from N(0, 0.02) by a seed of its own. Raises RuntimeError for one that is larger."""
    if array.shape[0] > shape[0] or array.shape[1] > shape[1]:
        raise RuntimeError(f"{subject}: {array.shape} cut to {tuple(shape)} would discard weights")
    padded = np.random.default_rng(0).normal(0.0, 0.02, shape).astype(array.dtype)
    padded[: array.shape[0], : array.shape[1]] = array
    return padded


def sharded_dim(param: Any, subject: str) -> int | None:
    """The dimension on which the open mesh's axis `tp` cuts a parameter, None where it cuts none. Raises RuntimeError for a cut over another axis."""
    mesh = maybe_mesh()
    if mesh is None or not mesh.has_axis("tp"):
        return None
    placed, axis = cuts(param.get_value()), mesh.axis_index("tp")
    if other := sorted(set(placed) - {axis}):
        raise RuntimeError(f"{subject}: cut over axis {other[0]} of the mesh; only 'tp' may cut it here")
    return placed.get(axis)


def to_bf16_4d(array: Array) -> Array:
    """A matrix as [1, 1, rows, columns] in bfloat16, row after row in memory."""
    return np.ascontiguousarray(array.reshape(1, 1, *array.shape)).astype(ml_dtypes.bfloat16)
