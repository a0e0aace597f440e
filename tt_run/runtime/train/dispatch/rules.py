"""Rules of operations: what of their operands may lie cut, what is gathered first, and what is summed afterwards."""

from __future__ import annotations

from typing import Any

from tt_run.runtime.train.dispatch.plans import (
    AllReduce,
    Broadcast,
    OptionalCCL,
    Scatter,
    ShardingPlan,
    register_rule,
)
from tt_run.runtime.train.parallel.layouts import Layout, Replicate, Shard, replicated_layout

ROWS, COLUMNS = (-2, 2), (-1, 3)
"""How the last two dimensions of a matrix [1, 1, rows, columns] are written."""


def _cut_on(layout: Layout, dims: tuple[int, ...]) -> int | None:
    """The first axis that cuts one of the dimensions."""
    return next((axis for axis in range(layout.ndim) if layout.shard_dim(axis) in dims), None)


def _whole_on(layout: Layout, dims: tuple[int, ...]) -> Layout:
    """The layout with those dimensions whole."""
    return Layout(
        placements=[Replicate() if isinstance(p, Shard) and p.dim in dims else p for p in layout.placements]
    )


def _product(
    first: Layout, second: Layout, out: tuple[int, ...], inner: tuple[int, ...], others: list[Layout]
) -> ShardingPlan:
    """x times a matrix whose `out` features are cut, or its `inner` ones, or none; of others, a bias follows the features."""
    column, row = _cut_on(second, out), _cut_on(second, inner)
    rest: list[Any] = [None] * (1 + len(others))
    if column is not None:
        whole = first.with_placement(column, Replicate())
        biases = [each.with_placement(column, Shard(-1)) for each in others]
        result = whole.with_placement(column, Shard(-1))
        return ShardingPlan([whole, second, *biases], result, [Broadcast(column), *rest])
    if row is not None:
        cut = first.with_placement(row, Shard(-1))
        biases = [each.with_placement(row, Replicate()) for each in others]
        result, summed = cut.with_placement(row, Replicate()), AllReduce(row, noop_backward=True)
        return ShardingPlan([cut, second, *biases], result, None, [summed], 2 if others else None)
    whole = _whole_on(first, COLUMNS)
    return ShardingPlan([whole, second, *others], whole)


@register_rule("linear")
def linear_rule(input_layout: Layout, weight_layout: Layout, bias_layout: Layout | None = None, *, runtime: Any = None, **_: Any) -> ShardingPlan:  # fmt: skip
    """Rows of the weight cut: every device makes some of the features. Columns cut: the products are summed, and the bias is added once."""
    return _product(input_layout, weight_layout, ROWS, COLUMNS, [bias_layout] if bias_layout else [])


@register_rule("matmul")
def matmul_rule(a_layout: Layout, b_layout: Layout, *, runtime: Any = None, **keywords: Any) -> ShardingPlan:
    """As `linear_rule`, of a matrix that is not transposed unless `transpose_b` says so. Raises ValueError for `transpose_a` of operands that are cut."""
    if keywords.get("transpose_a") and not (a_layout.is_replicated() and b_layout.is_replicated()):
        raise ValueError(
            "matmul_rule: transpose_a is for operands that are whole on every device; help: gather the first operand before"
        )
    turned = bool(keywords.get("transpose_b"))
    return _product(a_layout, b_layout, ROWS if turned else COLUMNS, COLUMNS if turned else ROWS, [])


@register_rule("binary")
def elementwise_binary_rule(a_layout: Layout, b_layout: Layout | None = None, *, runtime: Any = None, **_: Any) -> ShardingPlan:  # fmt: skip
    """Both lie as the one that is cut over more axes, the first of equal ones."""
    if b_layout is None:
        return ShardingPlan([a_layout], a_layout)
    cuts = [sum(isinstance(p, Shard) for p in each.placements) for each in (a_layout, b_layout)]
    found = b_layout if cuts[1] > cuts[0] else a_layout
    return ShardingPlan([found, found], found)


@register_rule("unary")
def elementwise_unary_rule(*layouts: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:
    """As the operand lies."""
    found = layouts[0] if layouts else replicated_layout()
    return ShardingPlan(list(layouts), found)


@register_rule("dropout")
def dropout_rule(*layouts: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:
    """As the operand lies."""
    return elementwise_unary_rule(*layouts)


@register_rule("rmsnorm_composite")
@register_rule("rmsnorm")
def rmsnorm_rule(*layouts: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:
    """The result as the input lies. Features that an axis cuts are whole while they are normed, for the norm is over them."""
    if not layouts:
        return ShardingPlan([], replicated_layout())
    found = layouts[0]
    axis, whole = _cut_on(found, COLUMNS), _whole_on(found, COLUMNS)
    after: list[OptionalCCL] | None = None if axis is None else [Scatter(-1, axis)]
    return ShardingPlan([whole, *(replicated_layout(each.ndim) for each in layouts[1:])], found, None, after)


@register_rule("composite_layernorm")
@register_rule("layernorm")
def layernorm_rule(*layouts: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:
    """As `rmsnorm_rule`."""
    return rmsnorm_rule(*layouts)


@register_rule("sdpa")
def sdpa_rule(query_layout: Layout | None = None, *layouts: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:  # fmt: skip
    """Batch and heads as the queries lie; positions and features whole, masks too."""
    if query_layout is None:
        return ShardingPlan([], replicated_layout())
    found = _whole_on(query_layout, ROWS + COLUMNS)
    same = [found] * (1 + len(layouts[:2]))
    return ShardingPlan([*same, *(replicated_layout(each.ndim) for each in layouts[2:])], found)


def _as_they_lie(*layouts: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:
    """Operands as they lie, and the result as the operation itself says, which may move dimensions."""
    return ShardingPlan(list(layouts), layouts[0] if layouts else replicated_layout(), named=False)


@register_rule("ring_sdpa")
def ring_sdpa_rule(*layouts: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:
    """As operands lie: each device has a part of the positions and sees all."""
    return _as_they_lie(*layouts)


@register_rule("grouped_heads_creation")
def grouped_heads_creation_rule(*layouts: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:
    """As operands lie: features that are cut become heads that are."""
    return _as_they_lie(*layouts)


@register_rule("heads_creation")
def heads_creation_rule(*layouts: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:
    """As operands lie: features that are cut become heads that are."""
    return _as_they_lie(*layouts)


@register_rule("heads_fusion")
def heads_fusion_rule(*layouts: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:
    """As operands lie: heads that are cut become features that are."""
    return _as_they_lie(*layouts)


@register_rule("rope")
def rope_rule(*layouts: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:
    """As operands lie."""
    return _as_they_lie(*layouts)


@register_rule("embedding")
def embedding_rule(*layouts: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:
    """As operands lie; positions [B, 1, 1, S] that are cut are cut in the result [B, 1, S, D]."""
    plan = _as_they_lie(*layouts)
    moved = [
        Shard(2) if isinstance(p, Shard) and p.dim in COLUMNS else p for p in plan.output_layout.placements
    ]
    plan.output_layout = Layout(placements=moved)
    return plan


@register_rule("reshape")
def reshape_rule(*layouts: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:
    """As the operand lies."""
    return _as_they_lie(*layouts)


@register_rule("cross_entropy_loss")
def cross_entropy_loss_rule(*layouts: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:
    """The vocabulary whole; the batch cut as the predictions are, of which each device has the mean of its own."""
    if not layouts:
        return ShardingPlan([], replicated_layout())
    found = _whole_on(layouts[0], ROWS + COLUMNS)
    return ShardingPlan([found] * len(layouts), found)


def _axis_of(keywords: Any) -> int | None:
    found: int | None = keywords.get("cluster_axis", keywords.get("mesh_axis"))
    return found


def _along(layout: Layout, keywords: Any, placement: Shard | Replicate) -> ShardingPlan:
    """The operand as it lies, the result with another placement along the axis that a call names; of all axes without one."""
    axis = _axis_of(keywords)
    axes = range(layout.ndim) if axis is None else (axis,)
    found = layout
    for each in axes:
        found = found.with_placement(each, placement)
    return ShardingPlan([layout], found, named=False)


@register_rule("broadcast")
def broadcast_rule(input_layout: Layout, *, runtime: Any = None, **keywords: Any) -> ShardingPlan:
    """The operand as it lies; the result is whole along the axis."""
    return _along(input_layout, keywords, Replicate())


@register_rule("all_gather")
def all_gather_rule(input_layout: Layout, *, runtime: Any = None, **keywords: Any) -> ShardingPlan:
    """The operand as it lies; the result is whole along the axis."""
    return _along(input_layout, keywords, Replicate())


@register_rule("all_reduce")
def all_reduce_rule(input_layout: Layout, *, runtime: Any = None, **keywords: Any) -> ShardingPlan:
    """The operand as it lies; the result is whole along the axis."""
    return _along(input_layout, keywords, Replicate())


@register_rule("scatter")
def scatter_rule(input_layout: Layout, *, runtime: Any = None, **keywords: Any) -> ShardingPlan:
    """The operand as it lies; the result is cut along the axis on `dim`."""
    return _along(input_layout, keywords, Shard(keywords.get("dim", 0)))
