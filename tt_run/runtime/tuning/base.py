"""What all configuration objects share: keyword construction, identity, the reference's text and JSON."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, ClassVar, TypeVar

from tt_run.runtime.cores import CoreCoord, CoreRangeSet, json_data, json_text, set_data
from tt_run.runtime.enums import NamedEnum, cpp
from tt_run.runtime.native.fields import Checked
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam

Made = TypeVar("Made", bound="Tuning")


class Tuning(Checked):
    """A configuration object: equal only to itself, hashable, attributes may be set.

    Subclasses are `@dataclass(kw_only=True, eq=False, repr=False)`. `_separator` and `_flags` are how the reference
    prints.
    """

    _hidden: ClassVar[tuple[str, ...]] = ()
    _separator: ClassVar[str] = ","
    _flags: ClassVar[tuple[str, str]] = ("0", "1")

    def __post_init__(self) -> None:
        """What subclasses extend."""

    def __repr__(self) -> str:
        fields = [f.name for f in dataclasses.fields(self) if f.name not in self._hidden]  # type: ignore[arg-type]
        words = [f"{name}={self._text(getattr(self, name))}" for name in fields]
        return f"{type(self).__name__}({self._separator.join(words)})"

    def _text(self, value: Any) -> str:
        if value is None:
            return "std::nullopt"
        if isinstance(value, bool):
            return self._flags[value]
        if isinstance(value, NamedEnum):
            return cpp(value)
        return "{" + ", ".join(map(str, value)) + "}" if isinstance(value, (tuple, list)) else str(value)


class JsonTuning(Tuning):
    """A configuration object that can be written as JSON and read back."""

    def to_json(self) -> str:
        """The JSON text that `from_json` reads."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return json_text({f.name: _plain(getattr(self, f.name)) for f in fields})

    @classmethod
    def from_json(cls: type[Made], text: str) -> Made:
        """The configuration that a JSON text describes. Raises ValueError for text that is no JSON, KeyError for a missing key."""
        values = json_data(text)
        names = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]
        return cls(**{name: _value(name, values[name]) for name in names})


def _plain(value: Any) -> Any:
    if isinstance(value, CoreCoord):
        return {"x": value.x, "y": value.y}
    if isinstance(value, CoreRangeSet):
        return set_data(value)
    if hasattr(value, "op_type"):
        return {"op_type": value.op_type.value, "param": list(value.params)}
    return value


def _value(name: str, entry: Any) -> Any:
    if name in ("hop_cores", "allowed_worker_cores") and entry is not None:
        return CoreRangeSet.from_json(json.dumps(entry))
    if name == "fused_activation" and entry is not None:
        return UnaryWithParam(UnaryOpType(entry["op_type"]), entry["param"])
    return CoreCoord(entry["x"], entry["y"]) if isinstance(entry, dict) else entry
