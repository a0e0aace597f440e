"""Operations on mesh tensors: each is a function on shards, entered into `registry` under its `ttnn` name.

Importing this package also gives `Tensor` its arithmetic. Source: ttnn specification, section 8.
"""

from tt_run.runtime.ops import (  # noqa: F401 - entering the operations is the point
    arithmetic,
    attention,
    binary,
    caches,
    conversions,
    decoding,
    distributed_norms,
    heads,
    joining,
    lookup,
    movement,
    norms,
    operators,
    ordering,
    products,
    reductions,
    rotary,
    ternary,
    unary,
)
from tt_run.runtime.ops.dispatch import Operation, registry, run, set_recorder

operators.install()

__all__ = ["Operation", "registry", "run", "set_recorder"]


def __getattr__(name: str) -> Operation:
    """An operation by its name below `ttnn`: `ops.add`; names in a submodule as `getattr(ops, "transformer.concatenate_heads")`."""
    try:
        return registry[f"ttnn.{name}"]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
