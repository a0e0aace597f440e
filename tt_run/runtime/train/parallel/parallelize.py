"""`ttml.distributed`: a model that is whole on each device becomes one that is cut over an axis, by names of its layers.

What layers of a plan compute is what `ColumnParallelLinear` and `RowParallelLinear` do, with the weights that the model has.
"""

from __future__ import annotations

import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.dispatch.calls import dispatch
from tt_run.runtime.train.dispatch.plans import get_module_rule
from tt_run.runtime.train.dispatch.trace import dispatch_trace
from tt_run.runtime.train.models.decoders.llama import GroupedQueryAttention, LlamaMLP
from tt_run.runtime.train.models.decoders.qwen3 import Qwen3Attention
from tt_run.runtime.train.modules.base import AbstractModuleBase, ModuleBase
from tt_run.runtime.train.modules.joint_names import joint_names
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.ops import distributed
from tt_run.runtime.train.ops.distributed import GradOutputType
from tt_run.runtime.train.ops.ring_attention import ring_attention_sdpa
from tt_run.runtime.train.parallel.distributed import synchronize_gradients
from tt_run.runtime.train.parallel.layouts import Layout, Shard, distribute_tensor
from tt_run.runtime.train.parallel.mesh_runtime import MeshRuntime, get_runtime, set_runtime


class ParallelStyle(ABC):
    """How a linear layer is cut."""

    @abstractmethod
    def get_layouts(self, mesh_device: Any, tp_axis: int) -> dict[str, Layout]:
        """The layouts of `weight` [1, 1, out, in] and `bias` [1, 1, 1, out]."""

    @abstractmethod
    def forward(self, axis: int, weight: Tensor, bias: Tensor | None, x: Tensor) -> Tensor:
        """What the layer computes of a tensor [..., in]."""


@dataclass(frozen=True)
class ColwiseParallel(ParallelStyle):
    """Output features cut over the axis; with `gather_output` every device ends with all of them."""

    gather_output: bool = False

    def get_layouts(self, mesh_device: Any, tp_axis: int) -> dict[str, Layout]:
        """Rows of the weight, and the bias, cut."""
        ndim = mesh_device.shape.dims()
        return {"weight": Layout(ndim, {tp_axis: Shard(-2)}), "bias": Layout(ndim, {tp_axis: Shard(-1)})}

    def forward(self, axis: int, weight: Tensor, bias: Tensor | None, x: Tensor) -> Tensor:
        """[..., in] on every device -> [..., out / size] on each, or [..., out]."""
        out: Tensor = dispatch("linear", x, weight, *([] if bias is None else [bias]))
        if not self.gather_output:
            return out
        return distributed.all_gather(out, out.get_rank() - 1, axis, GradOutputType.REPLICATED)


@dataclass(frozen=True)
class RowwiseParallel(ParallelStyle):
    """Input features cut over the axis, and the products summed over it; an input that is whole is cut first."""

    def get_layouts(self, mesh_device: Any, tp_axis: int) -> dict[str, Layout]:
        """Columns of the weight cut, the bias whole."""
        ndim = mesh_device.shape.dims()
        return {"weight": Layout(ndim, {tp_axis: Shard(-1)}), "bias": Layout(ndim)}

    def forward(self, axis: int, weight: Tensor, bias: Tensor | None, x: Tensor) -> Tensor:
        """[..., in / size] on each device, or [..., in] -> [..., out] on every device."""
        out: Tensor = dispatch("linear", x, weight, *([] if bias is None else [bias]))
        return out


@naming_faults
def parallelize_module(
    module: AbstractModuleBase,
    mesh_device: Any,
    parallelize_plan: Mapping[str, ParallelStyle],
    *,
    tp_axis: int = 0,
    cp_axis: int | None = None,
) -> AbstractModuleBase:
    """Cut the linear layers that a plan names over an axis; changes and returns the module. Make the optimizer afterwards.

    Names are dotted and relative to the module, `blocks.0.mlp.w2`; a key of the plan is a name or a regular expression for whole names; a Llama's `q_linear` or `w1` means
    the joint layer that holds it. Attention
    of a Llama or a Qwen3 whose layers are cut has its heads dealt to the devices; with `cp_axis` each
    device along that axis has a part of the positions, and its attention sees all. Raises TypeError for what is no
    style, ValueError for features and heads that do not divide, for a key that names no linear layer, and for `cp_axis` without such attention.
    """
    seeing = [] if cp_axis is None else _attentions(module)
    for planned, style in parallelize_plan.items():
        if not isinstance(style, ParallelStyle):
            raise TypeError(
                f"parallelize_module: {planned!r} must be cut in a ParallelStyle, not {style!r}; help: {{{planned!r}: ttml.distributed.ColwiseParallel()}}"
            )
    size, used = int(mesh_device.shape[tp_axis]), set[str]()
    layers = [(name, found) for name, found in module.named_modules() if isinstance(found, LinearLayer)]
    chosen: dict[int, tuple[str, LinearLayer, ParallelStyle]] = {}
    for name, found in layers:
        key = _key(name, parallelize_plan)
        if key is not None:
            used.add(key)
            chosen[id(found)] = name, found, parallelize_plan[key]
    missing = [key for key in parallelize_plan if key not in used]
    if missing:
        raise ValueError(
            f"parallelize_module: {missing[0]!r} names no linear layer; help: one of {', '.join(name for name, _ in layers[:6])}, …"
        )
    for name, found, style in chosen.values():
        _check(name, found, style, mesh_device, tp_axis, _halves(module, found))
    sections = _deal_heads(module, set(chosen), size, tp_axis)
    for name, found, style in chosen.values():
        _cut(name, found, style, mesh_device, tp_axis, sections.get(id(found), (1,)))
    for attends in seeing:
        _see_all_positions(attends, cp_axis)
    set_runtime(MeshRuntime(mesh_device, tp_axis=tp_axis if chosen else None, cp_axis=cp_axis))
    return module


def _attentions(module: AbstractModuleBase) -> list[GroupedQueryAttention | Qwen3Attention]:
    kinds = (GroupedQueryAttention, Qwen3Attention)
    found = [each for _, each in module.named_modules() if isinstance(each, kinds)]
    if not found:
        raise ValueError(f"parallelize_module: cp_axis cuts positions of a Llama or a Qwen3, {module.get_name()} has no attention of theirs")  # fmt: skip
    return found


def _see_all_positions(found: GroupedQueryAttention | Qwen3Attention, axis: int | None) -> None:
    """Queries of a device's own positions meet the keys of all, turned by the places that they have in the whole."""

    def sdpa(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return ring_attention_sdpa(query, key, value, mask, cp_axis=axis)

    found.rope_params.axis = axis
    found.sdpa = sdpa  # type: ignore[method-assign]


def distribute_module(
    model: AbstractModuleBase,
    mesh_device: Any,
    policy: Mapping[str, Layout],
    cp_axis: int | None = None,
) -> AbstractModuleBase:
    """As `parallelize_module`, by layouts of weights, `{".*\\.w1\\.weight": Layout(…)}`: rows cut is column-wise, columns cut row-wise.

    What a program registered for a class of modules by `register_module_rule` is called for each of them first.

    Raises ValueError for a layout that cuts a weight in any other way, and where two axes are cut.
    """
    for name, found in list(model.named_modules()):
        if (rule := get_module_rule(type(found))) is not None:
            rule(found, mesh_device, policy, name)
    plan: dict[str, ParallelStyle] = {}
    axes = set[int]()
    for key, layout in policy.items():
        cut = {axis: p.dim for axis, p in enumerate(layout.placements) if isinstance(p, Shard)}
        if not key.endswith("weight"):
            continue  # a bias follows its weight
        if len(cut) != 1 or next(iter(cut.values())) not in (-2, 2, -1, 3):
            raise ValueError(
                f"distribute_module: {key!r} is {layout}; help: Shard(-2) or Shard(-1) over one axis of the mesh"
            )
        (axis, dim), *_ = cut.items()
        axes.add(axis)
        plan[re.sub(r"\\?\.weight$", "", key)] = ColwiseParallel() if dim in (-2, 2) else RowwiseParallel()
    if len(axes) > 1:
        raise ValueError(f"distribute_module: the policy cuts over axes {sorted(axes)}, one is emulated")
    return parallelize_module(model, mesh_device, plan, tp_axis=axes.pop() if axes else 0, cp_axis=cp_axis)


def sync_gradients(
    model: ModuleBase, runtime: MeshRuntime | None = None, cluster_axes: Sequence[int] | None = None
) -> None:
    """Replace every gradient by its mean over mesh axes: those given, else the data and context axes of the runtime. Nothing without any."""
    if cluster_axes is None:
        found = runtime or get_runtime()
        axes = (None, None) if found is None else (found.dp_axis, found.cp_axis)
        cluster_axes = [axis for axis in axes if axis is not None]
    if cluster_axes:
        synchronize_gradients(model.parameters(), list(cluster_axes))


def match_policy(name: str, policy: Mapping[str, Layout]) -> Layout | None:
    """What a policy says of a parameter by its dotted name, else by the first regular expression for the whole name; None where it says nothing.

    What is no regular expression names nothing but itself.
    """
    if name in policy:
        return policy[name]
    for pattern, layout in policy.items():
        try:
            if re.fullmatch(pattern, name):
                return layout
        except re.error:
            continue
    return None


def _key(name: str, plan: Mapping[str, ParallelStyle]) -> str | None:
    if name in plan:
        return name
    return next(
        (key for key in plan if re.fullmatch(key, name) or re.fullmatch(joint_names(key), name)), None
    )


def _deal_heads(
    module: AbstractModuleBase, cut: set[int], size: int, axis: int
) -> dict[int, tuple[int, ...]]:
    """Give each device its heads of every attention whose layers are cut; the sections of joint layers, by layer."""
    sections: dict[int, tuple[int, ...]] = {}
    dealt: list[tuple[GroupedQueryAttention | Qwen3Attention, dict[str, int]]] = []
    for name, found in module.named_modules():
        if isinstance(found, LlamaMLP):
            sections[id(found.w_gate_up)] = (1, 1)
            continue
        if isinstance(found, GroupedQueryAttention):
            layers, kinds = (found.qkv_linear, found.out_linear), ("num_heads", "num_groups")
        elif isinstance(found, Qwen3Attention):
            layers = (found.q_proj, found.k_proj, found.v_proj, found.o_proj)  # type: ignore[assignment]
            kinds = ("num_heads", "num_kv_heads")
        else:
            continue
        chosen = [id(each) in cut for each in layers]
        if not any(chosen):
            continue
        if not all(chosen):
            raise ValueError(
                f"parallelize_module: a plan cuts all layers of {name!r} or none; help: name all of them in the plan, or leave all out"
            )
        counts = {kind: getattr(found, kind) for kind in kinds}
        for kind, count in counts.items():
            if count % size:
                raise ValueError(
                    f"{name}: {kind} ({count}) must be divisible by the {size} devices of the axis; help: an axis of fewer devices, or a model with a multiple of {size}"
                )
        dealt.append((found, {kind: count // size for kind, count in counts.items()}))
    for found, counts in dealt:
        for kind, count in counts.items():
            setattr(found, kind, count)
        if isinstance(found, GroupedQueryAttention):
            sections[id(found.qkv_linear)] = (found.num_heads, found.num_groups, found.num_groups)
        else:
            for norm in (found.q_norm, found.k_norm):
                # Every device norms its own heads by the one gamma.
                norm.sequence_axis = axis
    return sections


def _halves(module: AbstractModuleBase, layer: LinearLayer) -> int:
    """How many equal matrices a layer holds side by side: two where it is a feed-forward's gate and up."""
    found = any(isinstance(each, LlamaMLP) and each.w_gate_up is layer for _, each in module.named_modules())
    return 2 if found else 1


def _check(name: str, layer: LinearLayer, style: ParallelStyle, device: Any, axis: int, halves: int) -> None:
    """Raise ValueError for features that do not divide."""
    size = int(device.shape[axis])
    for kind, layout in style.get_layouts(device, axis).items():
        tensor, dim = layer._tensors.get(kind), layout.shard_dim(axis)
        parts = size * (halves if isinstance(style, ColwiseParallel) else 1)
        if tensor is not None and dim is not None and tensor.shape()[dim] % parts:
            raise ValueError(
                f"{name}.{kind}: {tensor.shape()} does not divide over {size} devices on dimension {dim}"
                + (f", {halves} matrices side by side" if halves > 1 else "")
                + f"; help: make it a multiple of {parts}, or leave the layer out of the plan"
            )


def _cut(
    name: str, layer: LinearLayer, style: ParallelStyle, device: Any, axis: int, sections: tuple[int, ...]
) -> None:
    # Rows that are gathered again, and columns, lie as in the whole matrix.
    dealt = sections if isinstance(style, ColwiseParallel) and not style.gather_output else (1,)
    for kind, layout in style.get_layouts(device, axis).items():
        tensor = layer._tensors.get(kind)
        if tensor is not None:
            moved = distribute_tensor(tensor, device, layout, sections=dealt)
            tensor.set_value(moved.get_value(PreferredPrecision.FULL))
            tensor.joint = moved.joint
    layer.forward = functools.partial(_forward, name, layer, style, axis)  # type: ignore[method-assign]


def _forward(name: str, layer: LinearLayer, style: ParallelStyle, axis: int, tensor: Tensor) -> Tensor:
    with dispatch_trace.module_scope(name):
        return style.forward(axis, layer.get_weight(), layer.get_bias(), tensor)
