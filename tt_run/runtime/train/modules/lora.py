"""Low-rank adapters: a frozen linear layer plus the product of two narrow matrices, which are all that is trained."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from tt_run.runtime.errors import type_name
from tt_run.runtime.native.arguments import check_fields
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import AbstractModuleBase, RunMode
from tt_run.runtime.train.modules.containers import ModuleDict, ModuleList
from tt_run.runtime.train.modules.joint_names import joint_names, part_names
from tt_run.runtime.train.modules.linear import ColumnParallelLinear, LinearLayer, RowParallelLinear
from tt_run.runtime.train.modules.parameter import Parameter
from tt_run.runtime.train.ops import binary, distributed
from tt_run.runtime.train.ops.distributed import GradOutputType
from tt_run.runtime.train.ops.dropout import dropout
from tt_run.runtime.train.ops.matmul import linear
from tt_run.runtime.train.parallel.sharded_parameters import whole_shape
from tt_run.runtime.train.parallel.tensor_parallel import SEQUENCE_DIM

AnyLinear = LinearLayer | ColumnParallelLinear | RowParallelLinear


@dataclass
class LoraConfig:
    """Which layers get adapters, and of what width.

    `target_modules` are regular expressions searched in dotted paths of linear layers; `qkv_linear` and `w_gate_up` mean `q_linear`,
    `kv_linear`, `w1` and `w3` where a model has these apart, and a part means the joint layer where not. `trainable_modules` are parts of paths
    of parameters that stay trained. The update is scaled by alpha / rank, by alpha / sqrt(rank) with `use_rslora`. `verbose` prints each
    layer that gets an adapter. Raises ValueError for a rank
    or a dropout that cannot be, and for a text that is no expression.
    """

    rank: int = 8
    alpha: float = 16.0
    target_modules: list[str] = field(default_factory=list)
    use_rslora: bool = False
    is_bias_trainable: bool = False
    trainable_modules: list[str] = field(default_factory=list)
    lora_dropout: float = 0.0
    verbose: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.rank < 1:
            raise ValueError(
                f"LoraConfig: rank must be at least 1, not {self.rank}; help: LoraConfig(rank=8)"
            )
        if not 0.0 <= self.lora_dropout < 1.0:
            raise ValueError(
                f"LoraConfig: lora_dropout is in [0, 1), not {self.lora_dropout}; help: lora_dropout=0.0"
            )
        for name in ("target_modules", "trainable_modules"):
            given = getattr(self, name)
            if isinstance(given, str):
                raise ValueError(f"LoraConfig: {name} is a list of names; help: {name}=[{given!r}]")
            if not isinstance(given, Collection) or not all(isinstance(each, str) for each in given):
                raise TypeError(
                    f"LoraConfig: {name} is a list of names, not {given!r}; help: {name}=['q_linear']"
                )
        for text in self.target_modules:
            try:
                re.compile(text)
            except re.error as error:
                raise ValueError(
                    f"LoraConfig: target_modules: {text!r} is no regular expression: {error}; "
                    "help: the name of a layer"
                ) from None

    @property
    def scaling(self) -> float:
        """What the adapter's product is multiplied by."""
        return self.alpha / (math.sqrt(self.rank) if self.use_rslora else self.rank)


class LoraLinear(AbstractModuleBase):
    """linear(x) + scaling * B(A(x)) with A [1, 1, rank, in] from U(-k, k), k = sqrt(1 / in), and B [1, 1, out, rank] zeros.

    A is drawn from the context's generator, so that the ranks of a mesh agree on it; the reference draws it from NumPy's.
    """

    @naming_faults
    def __init__(self, linear: LinearLayer, config: LoraConfig) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight = linear.weight
        self.weight.tensor.set_requires_grad(False)
        self.bias = linear.bias
        if self.bias is not None:
            self.bias.tensor.set_requires_grad(config.is_bias_trainable)
        self.lora_A = Parameter(initial.fan_in(self.in_features)((1, 1, config.rank, self.in_features)))
        self.lora_B = Parameter(initial.zeros()((1, 1, self.out_features, config.rank)))
        self.dropout_prob, self.scaling = config.lora_dropout, config.scaling

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        out = linear(x, self._tensors["weight"], self._tensors.get("bias"))
        if self.get_run_mode() is RunMode.TRAIN:
            x = dropout(x, self.dropout_prob)
        update = linear(linear(x, self._tensors["lora_A"]), self._tensors["lora_B"])
        return binary.add(out, binary.mul(update, self.scaling))


class ParallelLoraLinear(AbstractModuleBase):
    """`LoraLinear` over a layer that is cut over the tensor-parallel axis: the matrix on the cut side is cut as the layer is.

    What is whole meets other numbers on each device, so its gradient is summed over the axis; the collectives are those of the layer.
    """

    def __init__(self, layer: ColumnParallelLinear | RowParallelLinear, config: LoraConfig) -> None:
        super().__init__()
        object.__setattr__(self, "_layer", layer)
        self.weight, self.bias = layer.weight, layer.bias
        self.weight.tensor.set_requires_grad(False)
        if self.bias is not None:
            self.bias.tensor.set_requires_grad(config.is_bias_trainable)
        # Of the whole weight: `fully_shard` may have cut the piece of a device once more.
        *_, self.out_features, self.in_features = whole_shape(self.weight.tensor)
        self.by_columns = isinstance(layer, ColumnParallelLinear)
        cut_a, cut_b = (None, layer.mapper(2)) if self.by_columns else (layer.mapper(3), None)
        self.lora_A = Parameter(
            initial.fan_in(self.in_features)((1, 1, config.rank, self.in_features), cut_a)
        )
        self.lora_B = Parameter(initial.zeros()((1, 1, self.out_features, config.rank), cut_b))
        if self.by_columns:
            # Its rows are features of the layer, and lie as that one's.
            self.lora_B.tensor.joint = self.weight.tensor.joint
        self.dropout_prob, self.scaling = config.lora_dropout, config.scaling
        # One table of both: what stands in the place of a parameter, gathered by `fully_shard` say, is what the layer computes with.
        layer._tensors = self._tensors

    _layer: ColumnParallelLinear | RowParallelLinear

    def forward(self, x: Tensor) -> Tensor:
        """As the layer's own."""
        out = self._layer.forward(x)
        if self.get_run_mode() is RunMode.TRAIN:
            x = dropout(x, self.dropout_prob)
        update = self._columns(x) if self.by_columns else self._rows(x)
        return binary.add(out, binary.mul(update, self.scaling))

    def _columns(self, x: Tensor) -> Tensor:
        axis = self._layer.axis
        seen = (
            distributed.all_gather(x, SEQUENCE_DIM, axis)
            if self._layer.sequence_parallel
            else distributed.broadcast(x, axis)
        )
        narrow = linear(seen, distributed.broadcast(self._tensors["lora_A"], axis))
        update = linear(narrow, self._tensors["lora_B"])
        if not getattr(self._layer, "gather_output", False):
            return update
        return distributed.all_gather(update, update.get_rank() - 1, axis, GradOutputType.REPLICATED)

    def _rows(self, x: Tensor) -> Tensor:
        axis, layer = self._layer.axis, self._layer
        if not getattr(layer, "input_is_parallel", True):
            x = distributed.scatter(x, x.get_rank() - 1, axis)
        partial = linear(x, self._tensors["lora_A"])
        if layer.sequence_parallel:
            narrow = distributed.reduce_scatter(partial, SEQUENCE_DIM, axis)
            return linear(narrow, distributed.broadcast(self._tensors["lora_B"], axis))
        return linear(distributed.all_reduce(partial, True, axis), self._tensors["lora_B"])


class LoraModel(AbstractModuleBase):
    """A model, its parameters frozen, with adapters in the layers that a configuration names.

    Adapters start from the seed alone, so that forms of one model that are made one after the other have the same.
    Raises ValueError, listing the linear layers, when no layer is meant.
    """

    @naming_faults
    def __init__(self, model: AbstractModuleBase, config: LoraConfig) -> None:
        if not isinstance(config, LoraConfig):
            raise TypeError(
                f"LoraModel: config is a LoraConfig, not {type_name(config)}; help: LoraConfig(rank=8, target_modules=[…])"
            )
        super().__init__()
        self.model = model
        for tensor in model.parameters().values():
            tensor.set_requires_grad(False)
        layers = list(_linear_layers(model))
        patterns = [_pattern(text, [path for path, *_ in layers]) for text in config.target_modules]
        adapted = [entry for entry in layers if any(p.search(entry[0]) for p in patterns)]
        if patterns and not adapted:
            raise ValueError(
                f"LoraModel: no linear layer matches {config.target_modules}; there are {', '.join(path for path, *_ in layers)}; "
                "help: names as they end, target_modules=['q_linear']"
            )
        with AutoContext.get_instance().drawing_apart("LoRA"):
            for path, parent, name, layer in adapted:
                if config.verbose:
                    print(f"LoRA: {path}, rank {config.rank}")
                adapter = LoraLinear if isinstance(layer, LinearLayer) else ParallelLoraLinear
                _replace(parent, name, adapter(layer, config))  # type: ignore[arg-type]
        for path, tensor in model.parameters().items():
            if any(part in path for part in config.trainable_modules):
                tensor.set_requires_grad(True)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the model computes."""
        return self.model(*args, **kwargs)


def _pattern(text: str, paths: list[str]) -> re.Pattern[str]:
    """What a target finds; a joint layer that the model has not stands for its parts, each with an adapter of its own, and a part for its joint."""
    for words in (text, part_names(text), joint_names(text)):
        found = re.compile(words)
        if any(found.search(path) for path in paths):
            return found
    return re.compile(text)


def _linear_layers(
    module: AbstractModuleBase, prefix: str = ""
) -> Iterable[tuple[str, AbstractModuleBase, str, AnyLinear]]:
    """Dotted path, parent, name and layer of every linear layer."""
    for name, child in module.named_children():
        path = f"{prefix}.{name}" if prefix else name
        if isinstance(child, (LinearLayer, ColumnParallelLinear, RowParallelLinear)):
            yield path, module, name, child
        elif isinstance(child, AbstractModuleBase):
            yield from _linear_layers(child, path)


def _replace(parent: AbstractModuleBase, name: str, layer: AbstractModuleBase) -> None:
    if isinstance(parent, ModuleList):
        parent[int(name)] = layer
    elif isinstance(parent, ModuleDict):
        parent[name] = layer
    else:
        setattr(parent, name, layer)
