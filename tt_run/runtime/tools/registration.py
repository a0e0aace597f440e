"""Operations of the program's own, and lists of those that there are: what `ttnn.decorators` offers beside calling.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import csv
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tt_run.runtime import catalog
from tt_run.runtime.ops.declaration.dispatch import OUTPUTS, FastOperation, operation

_EXPERIMENTAL = "ttnn.experimental."


def register_python_operation(
    *,
    name: str,
    is_experimental: bool = False,
    is_method: bool = False,
    golden_function: Callable[..., Any] | None = None,
    preprocess_golden_function_inputs: Callable[..., Any] | None = None,
    postprocess_golden_function_outputs: Callable[..., Any] | None = None,
    output_tensor_kwarg_names: Sequence[str] = OUTPUTS,
    doc: str | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Make a Python function the operation `name`, which begins with `ttnn.`; a method is wrapped and published nowhere.

    Raises RuntimeError for another name.
    """
    if not name.startswith("ttnn."):
        raise RuntimeError('Module path must start with "ttnn."')

    def register(function: Callable[..., Any]) -> Any:
        function.__doc__ = doc or function.__doc__
        made = operation(name, golden=golden_function)(function) if not is_method else None
        if made is None:
            made = FastOperation(name, function, golden=golden_function)
            _convert_golden(made, preprocess_golden_function_inputs, postprocess_golden_function_outputs)
            return made
        _convert_golden(made, preprocess_golden_function_inputs, postprocess_golden_function_outputs)
        made.output_tensor_kwarg_names = tuple(output_tensor_kwarg_names)
        made.__dict__.update(is_cpp_operation=False, is_experimental=is_experimental)
        home, _, last = name.rpartition(".")
        setattr(create_module_if_not_exists(home), last, made)
        return made

    return register


def create_module_if_not_exists(module_name: str) -> ModuleType:
    """The module of a dotted name below `ttnn`, made empty where there is none."""
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError:
        parent, _, last = module_name.rpartition(".")
        made = ModuleType(module_name)
        sys.modules[module_name] = made
        if parent:
            setattr(create_module_if_not_exists(parent), last, made)
        return made


def attach_golden_function(
    operation: FastOperation,
    golden_function: Callable[..., Any],
    *,
    preprocess_golden_function_inputs: Callable[..., Any] | None = None,
    postprocess_golden_function_outputs: Callable[..., Any] | None = None,
    output_tensor_kwarg_names: Sequence[str] = OUTPUTS,
) -> None:
    """Compare an operation with `golden_function`, a function of torch tensors, from now on.

    The next two, if given, make its arguments of the operation's, `(args, kwargs)` of both, and its result comparable. The last are
    the keywords that name a tensor which the operation writes.
    """
    operation.golden = golden_function
    operation.output_tensor_kwarg_names = tuple(output_tensor_kwarg_names)
    _convert_golden(operation, preprocess_golden_function_inputs, postprocess_golden_function_outputs)


def _convert_golden(
    operation: FastOperation, inputs: Callable[..., Any] | None, outputs: Callable[..., Any] | None
) -> None:
    """Say what stands between an operation and its golden function when they are compared."""
    operation.preprocess_golden_function_inputs = inputs
    operation.postprocess_golden_function_outputs = outputs


def query_registered_operations(include_experimental: bool = False) -> list[FastOperation]:
    """All operations by name; those below `ttnn.experimental` last, and only when they are asked for."""
    found = catalog.every()
    plain = [each for name, each in found.items() if not name.startswith(_EXPERIMENTAL)]
    late = [each for name, each in found.items() if name.startswith(_EXPERIMENTAL)]
    return plain + late if include_experimental else plain


def register_ttl_operation_as_ttnn_operation(
    python_fully_qualified_name: str, function: Callable[..., Any]
) -> Any:
    """Make a function an experimental operation. Raises RuntimeError for a name that does not begin with `ttnn.`."""
    return register_python_operation(name=python_fully_qualified_name, is_experimental=True)(function)


class RegisteredOperations:
    """All operations, and what a program adds to them."""

    def __init__(self) -> None:
        self._added: list[FastOperation] = []

    def __iter__(self) -> Iterator[FastOperation]:
        return iter([*query_registered_operations(include_experimental=True), *self._added])

    def __contains__(self, operation: object) -> bool:
        return any(each is operation for each in self)

    def add(self, operation: FastOperation, name: str) -> None:
        """Add one more. Raises RuntimeError for one that is there."""
        if operation in self:
            raise RuntimeError(f'Operation with name "{name}" is already registered')
        self._added.append(operation)


REGISTERED_OPERATIONS = RegisteredOperations()


def dump_operations(csv_file: str | Path, include_experimental: bool = False) -> None:
    """Write a table of all operations: name, whether it has a golden function, whether it is experimental."""
    with Path(csv_file).open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(
            ["python_fully_qualified_name", "is_cpp_operation", "has_golden_function", "is_experimental"]
        )
        for each in query_registered_operations(include_experimental):
            late = each.name.startswith(_EXPERIMENTAL)
            table.writerow([each.name, each.is_cpp_operation, each.golden is not None, late])
