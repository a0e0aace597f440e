"""When each tensor was made, last used and given back, and in which lines of the program."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from tt_run.runtime.graph.database.operations import Operation
from tt_run.runtime.graph.database.sources import innermost

Row = tuple[Any, ...]
_FREE = ("ttnn::deallocate", "ttnn.deallocate", "Tensor::deallocate")


def lifetimes(listed: Iterable[Operation], tensors: Sequence[int]) -> list[dict[str, Any]]:
    """Of each tensor the operations that made it first, used it last (other than to give it back) and gave it back first, with lines."""
    made: dict[int, Operation] = {}
    used: dict[int, Operation] = {}
    freed: dict[int, Operation] = {}
    for each in listed:
        for tensor in each.outputs:
            made.setdefault(tensor, each)
        for tensor in each.inputs:
            if each.name in _FREE:
                freed.setdefault(tensor, each)
            else:
                used[tensor] = each
    return [_lifetime(tensor, made.get(tensor), used.get(tensor), freed.get(tensor)) for tensor in tensors]


def _lifetime(
    tensor: int, made: Operation | None, used: Operation | None, freed: Operation | None
) -> dict[str, Any]:
    born, last = innermost(made.stack if made else ""), innermost(used.stack if used else "")
    return {
        "tensor_id": tensor,
        "producer_operation_id": made.id if made else None,
        "last_use_operation_id": used.id if used else None,
        "deallocate_operation_id": freed.id if freed else None,
        "producer_source_file": born[0],
        "producer_source_line": born[1],
        "last_use_source_file": last[0],
        "last_use_source_line": last[1],
    }


def compute_tensor_lifetime_records(
    operations_batch: Sequence[Row],
    input_tensors_batch: Sequence[Row],
    output_tensors_batch: Sequence[Row],
    stack_traces_batch: Sequence[Row],
    tensor_ids: Collection[int],
) -> list[dict[str, Any]]:
    """The same from rows of the tables of operations, their inputs, outputs and stacks, of which some columns count."""
    listed = {row[0]: Operation(id=row[0], name=row[1]) for row in operations_batch}
    for row in input_tensors_batch:
        listed.setdefault(row[0], Operation(id=row[0], name="")).inputs.append(int(row[2]))
    for row in output_tensors_batch:
        listed.setdefault(row[0], Operation(id=row[0], name="")).outputs.append(int(row[2]))
    for row in stack_traces_batch:
        if row[0] in listed:
            listed[row[0]].stack = row[1]
    return lifetimes(listed.values(), sorted(tensor_ids))
