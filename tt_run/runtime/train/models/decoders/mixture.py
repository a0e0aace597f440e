"""The settings of a DeepSeek, its feed-forward, and a mixture of experts.

Every expert computes every token and those not chosen are weighted with zero: the numbers of sparse routing, for small models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.tensor.tensor import Tensor as Value
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.decoders.cut_layers import narrow, parts_of, wide
from tt_run.runtime.train.models.runner import RunnerType
from tt_run.runtime.train.models.sizes import check_sizes
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.containers import ModuleList
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.modules.parameter import Buffer
from tt_run.runtime.train.ops import binary, pieces
from tt_run.runtime.train.ops.unary import silu
from tt_run.runtime.train.parallel.distributed import (
    concat_mesh_to_tensor_composer,
    summed_over_devices,
)
from tt_run.runtime.train.parallel.named_mesh import maybe_mesh

Array = npt.NDArray[Any]


@dataclass
class DeepSeekConfig:
    """Sizes of a DeepSeek. Raises TypeError for sizes that are no numbers, ValueError for experts that do not divide into groups."""

    vocab_size: int = 32000
    dim: int = 512
    inter_dim: int = 1536
    moe_inter_dim: int = 256
    n_layers: int = 8
    n_dense_layers: int = 2
    n_heads: int = 8
    n_routed_experts: int = 8
    n_shared_experts: int = 1
    n_activated_experts: int = 2
    n_expert_groups: int = 2
    n_limited_groups: int = 1
    score_func: str = "sigmoid"
    route_scale: float = 2.5
    moe_type: str = "sparse"
    q_lora_rank: int = 256
    kv_lora_rank: int = 128
    qk_nope_head_dim: int = 64
    qk_rope_head_dim: int = 32
    v_head_dim: int = 64
    max_seq_len: int = 512
    rope_theta: float = 10000.0
    runner_type: RunnerType = RunnerType.Default
    use_tp: bool = False
    moe_tp_axis_name: str | None = None
    moe_axis_name: str | None = "tp"
    moe_parallel_type: str = "tp"

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.score_func not in ("sigmoid", "softmax"):
            raise ValueError(
                f"score_func: {self.score_func!r} is not one of sigmoid, softmax; help: score_func='sigmoid'"
            )
        if self.moe_type not in ("dense", "sparse", "sparse_ep", "sparse_tp"):
            raise ValueError(
                f"moe_type: {self.moe_type!r} is not one of dense and sparse, which give the same numbers here, sparse_ep and sparse_tp"
            )
        if self.moe_parallel_type not in ("tp", "ep"):
            raise ValueError(
                f"moe_parallel_type: {self.moe_parallel_type!r} is not one of tp, which cuts each expert, and ep, which deals them; help: 'tp'"
            )
        if self.n_routed_experts % self.n_expert_groups:
            raise ValueError(
                f"{self.n_routed_experts} experts do not divide into {self.n_expert_groups} groups; help: a multiple of n_expert_groups"
            )
        most = self.n_routed_experts // self.n_expert_groups * self.n_limited_groups
        if not 0 < self.n_activated_experts <= most or self.n_limited_groups > self.n_expert_groups:
            raise ValueError(
                f"{self.n_activated_experts} experts cannot be chosen from {self.n_limited_groups} of {self.n_expert_groups} groups "
                f"of {self.n_routed_experts} experts; help: fewer n_activated_experts, or more n_limited_groups"
            )


class DeepSeekMLP(AbstractModuleBase):
    """w2(silu(w1 x) * w3 x): a dense layer, an expert, or the experts that every token passes."""

    def __init__(
        self, dim: int, inter_dim: int, *, use_tp: bool = False, axis_name: str | None = None
    ) -> None:
        super().__init__()
        self.w1 = wide(dim, inter_dim, use_tp, axis_name=axis_name)
        self.w3 = wide(dim, inter_dim, use_tp, axis_name=axis_name)
        self.w2 = narrow(inter_dim, dim, use_tp, axis_name=axis_name)

    def forward(self, x: Tensor) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        out: Tensor = self.w2(binary.mul(silu(self.w1(x)), self.w3(x)))
        return out


class Expert(DeepSeekMLP):
    """One of the experts that tokens are routed to."""


def axis_of_experts(config: Any) -> str | None:
    """The axis that `moe_tp_axis_name` names, None where the open mesh has no such axis of several devices."""
    name: str | None = getattr(config, "moe_tp_axis_name", None)
    opened = maybe_mesh()
    if name is None or opened is None or not opened.has_axis(name) or opened.axis_size(name) < 2:
        return None
    return name


class MoE(AbstractModuleBase):
    """A mixture of experts: scores of a gate choose some for each token, and weigh what they compute.

    The choice goes by score plus a bias, which `update_expert_bias` moves between steps so that experts are used evenly; weights go by the
    score alone. With groups, the best groups are chosen first, by the sum of their two best scores.
    """

    def __init__(self, config: DeepSeekConfig) -> None:
        super().__init__()
        self.config = config
        self.dim, self.num_experts, self.n_activated = (
            config.dim,
            config.n_routed_experts,
            config.n_activated_experts,
        )
        self.n_groups, self.n_limited_groups = config.n_expert_groups, config.n_limited_groups
        self.score_func, self.route_scale = config.score_func, config.route_scale
        self.gate = LinearLayer(config.dim, config.n_routed_experts, False)
        # A program may give an object with the sizes of a mixture alone.
        axis = axis_of_experts(config)
        cut = axis is not None or parts_of(getattr(config, "use_tp", False)) > 1
        self._make_experts(config, cut, axis)
        self.shared_experts = (
            DeepSeekMLP(
                config.dim, config.n_shared_experts * config.moe_inter_dim, use_tp=cut, axis_name=axis
            )
            if config.n_shared_experts
            else None
        )
        numbers = (1, 1, 1, config.n_routed_experts)
        self._expert_bias = Buffer(Tensor.from_numpy(np.zeros(numbers, np.float32)))
        self._token_counts = Buffer(Tensor.from_numpy(np.zeros(numbers, np.float32)))

    def _make_experts(self, config: DeepSeekConfig, cut: bool, axis: str | None) -> None:
        self.experts = ModuleList(
            Expert(config.dim, config.moe_inter_dim, use_tp=cut, axis_name=axis)
            for _ in range(config.n_routed_experts)
        )

    def chosen(self, scores: Value) -> Value:
        """Ones for the experts of each token and zeros for the others, [B, 1, S, experts]."""
        config = self.config
        bias = self._expert_bias.tensor.get_value(PreferredPrecision.FULL)
        groups, each = config.n_expert_groups, config.n_routed_experts // config.n_expert_groups

        def choose(s: Array, b: Array) -> Array:
            wish = s + b
            if groups > 1:
                parts = wish.reshape(*wish.shape[:-1], groups, each)
                best = np.sort(parts, axis=-1)[..., -min(2, each) :].sum(axis=-1, dtype=np.float32)
                inside = np.repeat(_largest(best, config.n_limited_groups), each, axis=-1)
                wish = np.where(inside > 0, wish, -np.inf)
            return _largest(wish, config.n_activated_experts)

        return stacks.compute(choose, scores, bias)

    def compute_routing(self, x: Tensor) -> tuple[Tensor, Value, Value]:
        """Scores of all experts [B, 1, S, experts], and of each token's choice the wishes (score plus bias) and the experts, best first."""
        scores = self._scores(x)
        wishes, indices = self._best(scores)
        return scores, wishes, indices

    def _best(self, scores: Tensor) -> tuple[Value, Value]:
        """Wishes and numbers of each token's experts, best first."""
        read, bias = scores.get_value(), self._expert_bias.tensor.get_value(PreferredPrecision.FULL)
        count = self.config.n_activated_experts

        def best(s: Array, b: Array, m: Array) -> Array:
            return np.argsort(-np.where(m > 0, s + b, -np.inf), axis=-1, kind="stable")[..., :count]

        mask = self.chosen(read)
        experts = stacks.compute(
            lambda s, b, m: best(s, b, m).astype(np.float32), read, bias, mask, dtype=DataType.FLOAT32
        )
        wishes = stacks.compute(
            lambda s, b, m: np.take_along_axis(s + b, best(s, b, m), axis=-1), read, bias, mask
        )
        indices = experts.derive(
            experts.shards.map(lambda stack: stack.astype(np.uint16)), dtype=DataType.UINT16
        )
        return wishes, indices

    def _scores(self, x: Tensor) -> Tensor:
        logits = self.gate(x)
        return pieces.sigmoid(logits) if self.config.score_func == "sigmoid" else pieces.softmax(logits)

    def _weights(self, scores: Tensor) -> Tensor:
        """What each expert's output counts for each token [B, 1, S, experts]; zero where it was not chosen. Counts the tokens of each."""
        mask = self.chosen(scores.get_value())
        self._count(mask)
        if self.config.score_func == "sigmoid":
            return pieces.share_out(scores, mask, self.config.route_scale)
        return binary.mul(binary.mul(scores, Tensor(mask, requires_grad=False)), self.config.route_scale)

    def forward(self, x: Tensor) -> Tensor:
        """[B, 1, S, D] -> the same shape."""
        weights = self._weights(self._scores(x))
        shape, out = weights.shape(), None
        for number, expert in enumerate(self.experts):
            weight = pieces.cut(weights, (0, 0, 0, number), (*shape[:3], number + 1))
            part = binary.mul(expert(x), weight)
            out = part if out is None else binary.add(out, part)
        assert out is not None
        return out if self.shared_experts is None else binary.add(out, self.shared_experts(x))

    def _count(self, mask: Value) -> None:
        held = self._token_counts.tensor

        def add(counts: Array, m: Array) -> Array:
            own = m.reshape(len(m), -1, m.shape[-1]).sum(axis=1, dtype=np.float32)
            return counts + own.reshape(-1, 1, 1, 1, m.shape[-1])

        before = held.get_value(PreferredPrecision.FULL)
        held.set_value(stacks.compute(add, before, mask, dtype=DataType.FLOAT32))

    def read_activation_probabilities(self) -> Array:
        """The share of tokens, of all devices, that chose each expert since `update_expert_bias` [experts]; evenly used ones have chosen / all."""
        counts = self._token_counts.tensor
        device = counts.get_value().device()
        assert device is not None
        parts = counts.to_numpy(composer=concat_mesh_to_tensor_composer(device, 0))
        total = parts.reshape(-1, self.num_experts).sum(axis=0, dtype=np.float32)
        return total * np.float32(self.n_activated / max(float(total.sum()), 1.0))

    def update_expert_bias(self, coeff: float = 0.001) -> None:
        """Make experts that fewer tokens chose than the mean more likely, and others less; starts to count anew.

        The tokens of all devices count, so that data-parallel copies go on choosing alike, as one device would. Every rank of the mesh calls it.
        """
        step = np.float32(coeff)

        def move(bias: Array, counts: Array) -> Array:
            delta = step * np.sign(counts.mean(axis=-1, keepdims=True, dtype=np.float32) - counts)
            return bias + delta - delta.mean(axis=-1, keepdims=True, dtype=np.float32)

        bias, counts = (
            held.tensor.get_value(PreferredPrecision.FULL) for held in (self._expert_bias, self._token_counts)
        )
        counts = summed_over_devices(counts)
        self._expert_bias.tensor.set_value(stacks.compute(move, bias, counts, dtype=DataType.FLOAT32))
        self._token_counts.tensor.set_value(stacks.full_like(counts, 0.0))


def _largest(scores: Array, count: int) -> Array:
    """Ones at the largest entries of the last dimension, the first ones of equal ones, zeros elsewhere."""
    order = np.argsort(-scores, axis=-1, kind="stable")[..., :count]
    found = np.zeros(scores.shape, np.float32)
    np.put_along_axis(found, order, np.float32(1), axis=-1)
    return found
