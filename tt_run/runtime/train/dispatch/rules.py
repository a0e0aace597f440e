"""Rules of operations: what of their operands may lie cut, what is gathered first, and what is summed afterwards."""

from __future__ import annotations

from typing import Any

from tt_run.runtime.train.dispatch.plans import AllReduce, Broadcast, ShardingPlan, register_rule
from tt_run.runtime.train.layouts import Layout, Replicate, Shard, replicated_layout

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
        raise ValueError("matmul_rule: transpose_a is for operands that are whole on every device")
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


@register_rule("rmsnorm")
def rmsnorm_rule(input_layout: Layout, *others: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:
    """Features whole, for the norm is over them; batch and positions as they lie."""
    whole = _whole_on(input_layout, COLUMNS)
    return ShardingPlan([whole, *(replicated_layout(each.ndim) for each in others)], whole)


@register_rule("layernorm")
def layernorm_rule(input_layout: Layout, *others: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:
    """As `rmsnorm_rule`."""
    return rmsnorm_rule(input_layout, *others)


@register_rule("scaled_dot_product_attention")
def sdpa_rule(query_layout: Layout, key_layout: Layout, value_layout: Layout, *masks: Layout, runtime: Any = None, **_: Any) -> ShardingPlan:  # fmt: skip
    """Batch and heads as the queries lie; positions and features whole, masks too."""
    found = _whole_on(query_layout, ROWS + COLUMNS)
    return ShardingPlan([found, found, found, *(replicated_layout(each.ndim) for each in masks)], found)


@register_rule("cross_entropy_loss")
def cross_entropy_loss_rule(prediction_layout: Layout, target_layout: Layout, *, runtime: Any = None, **_: Any) -> ShardingPlan:  # fmt: skip
    """The vocabulary whole; the batch cut as the predictions are, of which each device has the mean of its own."""
    found = _whole_on(prediction_layout, ROWS + COLUMNS)
    return ShardingPlan([found, found], found)
