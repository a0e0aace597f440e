"""Containers of converted parameters: `ParameterDict` with attribute access, `ParameterList` for lists of modules."""

from __future__ import annotations

from typing import Any, TextIO

from tt_run.runtime.tensor.tensor import Tensor


class ParameterDict(dict[Any, Any]):
    """Parameters and child modules by name: `p.dense.weight` is `p["dense"]["weight"]`.

    Raises AttributeError that lists the names for one that is not there.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(
                f"no parameter or module {name!r}; there are: {', '.join(map(str, self))}"
            ) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError:
            raise AttributeError(f"no parameter or module {name!r}") from None

    def __repr__(self) -> str:
        return _text(self, "")


class ParameterList(list[Any]):
    """Parameters of a list of modules; `i in p` tells whether there is a module i."""

    def __contains__(self, index: object) -> bool:
        return isinstance(index, int) and index < len(self)

    def __repr__(self) -> str:
        return _text(self, "")


def make_parameter_dict(dictionary: dict[Any, Any]) -> ParameterDict:
    """Nested plain dictionaries as ParameterDicts; one that is a ParameterDict already is returned itself."""
    if isinstance(dictionary, ParameterDict):
        return dictionary
    return ParameterDict(
        {
            key: make_parameter_dict(value) if type(value) is dict else value
            for key, value in dictionary.items()
        }
    )


class DotAccessDict(dict[Any, Any]):
    """A dictionary whose keys are attributes too. A key that is not there is a KeyError either way, as in the reference."""

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __delattr__(self, name: str) -> None:
        del self[name]


def make_dot_access_dict(dictionary: Any, *, ignore_types: Any = None) -> Any:
    """Nested plain dictionaries as DotAccessDicts; what is one already, or of a type to ignore, is returned itself."""
    ignored = ignore_types is not None and isinstance(dictionary, ignore_types)
    if ignored or isinstance(dictionary, DotAccessDict):
        return dictionary
    return DotAccessDict(
        {
            key: make_dot_access_dict(value, ignore_types=ignore_types) if isinstance(value, dict) else value
            for key, value in dictionary.items()
        }
    )


def repr_parameters(file: TextIO, parameters: Any, indentation: str = "") -> None:
    """Write parameters as text: containers line by line, of a tensor what it is like."""
    file.write(_text(parameters, indentation))


def _text(value: Any, indent: str) -> str:
    if isinstance(value, ParameterDict):
        return _block("{}", [f"{key}: {_text(item, indent + '  ')}" for key, item in value.items()], indent)
    if isinstance(value, ParameterList):
        return _block("[]", [_text(item, indent + "  ") for item in value], indent)
    if isinstance(value, Tensor):
        return f"ttnn.Tensor(shape={value.shape}, layout={value.layout}, dtype={value.dtype})"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        kind = "torch" if type(value).__module__.startswith("torch") else "numpy"
        return f"{kind}.Tensor(shape={value.shape}, dtype={value.dtype})"
    return repr(value)


def _block(brackets: str, lines: list[str], indent: str) -> str:
    if not lines:
        return brackets
    inner = ",\n".join(f"{indent}  {line}" for line in lines)
    return f"{brackets[0]}\n{inner}\n{indent}{brackets[1]}"
