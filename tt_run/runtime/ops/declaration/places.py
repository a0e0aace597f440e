"""Where operations want their operands and results to lie, where the values alone would not need it. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_run.runtime.enums import cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor

_CUT = "memory_config=ttnn.create_sharded_memory_config(…)"
_SPREAD = "ttnn.sharded_to_interleaved"


@dataclass(frozen=True)
class Place:
    """What a call's first operand and the memory configuration that it asks for have to be, and the sentence where they are not.

    `result` is the parameter of the configuration; `…_cut`: whether it is cut over cores. `named`: the result says over which. `alike`:
    both are cut in the same way; with `if_cut` only what is cut needs a result that is.
    """

    sentence: str
    result: str = "memory_config"
    operand_cut: bool | None = None
    result_cut: bool | None = None
    named: bool = False
    alike: bool = False
    if_cut: bool = False

    def broken(self, tensor: Tensor, asked: MemoryConfig | None) -> bool:
        """Whether a call with this operand and this configuration is refused."""
        own = tensor.memory_config()
        if self.operand_cut is not None and own.is_sharded() is not self.operand_cut:
            return True
        if asked is None:
            return False
        if self.result_cut is not None and (own.is_sharded() or not self.if_cut):
            return asked.is_sharded() is not self.result_cut
        if self.named and asked.nameless:
            return True
        if self.alike and own.memory_layout is not asked.memory_layout:
            return not self.if_cut or (own.is_sharded() and asked.is_sharded())
        return (
            self.if_cut
            and not self.alike
            and self.result_cut is None
            and own.is_sharded()
            and not asked.is_sharded()
        )


PLACES: dict[str, list[Place]] = {}
"""By the names of operations below `ttnn`."""


def _enter(names: str, *places: Place) -> None:
    for name in names.split():
        PLACES.setdefault(name, []).extend(places)


_enter("clone pad softmax typecast untilize", Place("bad optional access", named=True))
_enter(
    "typecast",
    Place(
        "Typecast operation requires Input and Output memory layout to match. Input layout: {own}, Output layout: {asked}",
        alike=True,
    ),
)
_enter(
    "clone",
    Place(
        "Clone: input and output must have the same memory layout when both are sharded",
        alike=True,
        if_cut=True,
    ),
)
_enter("layer_norm rms_norm", Place("Sharded inputs require sharded outputs.", if_cut=True))
_enter("move", Place("Expected output tensor memory config to be sharded", if_cut=True))
_enter(
    "sharded_to_interleaved",
    Place("Output memory config must be Interleaved", result_cut=False, if_cut=True),
)
_enter("experimental.rotate_half", Place("RotateHalf does not currently support sharding", operand_cut=False))


def check_places(
    places: Sequence[Place], names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raises RuntimeError for a place that an operation does not take; `names` are its parameters."""

    def given(name: str) -> Any:
        at = names.index(name) if name in names else len(args)
        return args[at] if at < len(args) else kwargs.get(name)

    for place in places:
        tensor, asked = given(names[0]), given(place.result)
        if not isinstance(tensor, Tensor) or tensor.device() is None:
            continue
        if not place.broken(tensor, asked if isinstance(asked, MemoryConfig) else None):
            continue
        own = tensor.memory_config()
        wanted = asked.memory_layout if isinstance(asked, MemoryConfig) else own.memory_layout
        cut = own.is_sharded() and place.operand_cut is False
        raise fatal(
            place.sentence.format(own=cpp(own.memory_layout), asked=cpp(wanted)),
            hint=f"{_SPREAD}({names[0]})"
            if cut
            else f"leave {place.result} out, or give one that fits: {_CUT}",
        )
