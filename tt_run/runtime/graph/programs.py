"""What the program of a native operation adds to a graph: buffers of its kernels as far as they are known, and that it ran.

Source: captures of reference library 0.81.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_run.runtime.graph.device_operations import BINARY, UNARY
from tt_run.runtime.graph.nodes import Nodes, Params
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.dtypes import tile_bytes

_FACTORIES = {
    BINARY: "ttnn::operations::binary_ng::BinaryNgDeviceOperation::ProgramFactory",
    UNARY: "ttnn::operations::unary::UnaryDeviceOperation::ProgramFactory",
    "TernaryDeviceOperation": "ttnn::operations::ternary::TernaryDeviceOperation::TernaryProgramFactory",
    "ConcatDeviceOperation": "ttnn::prim::ConcatProgramFactory",
    "TypecastDeviceOperation": "ttnn::prim::TypecastProgramFactory",
    "UntilizeCodegenDeviceOperation": "ttnn::prim::UntilizeCodegenProgramFactory",
    "RepeatCodegenDeviceOperation": "ttnn::prim::RepeatCodegenProgramFactory",
    "InterleavedToShardedDeviceOperation": "ttnn::prim::InterleavedToShardedProgramFactory",
    "ShardedToInterleavedDeviceOperation": "ttnn::prim::ShardedToInterleavedProgramFactory",
    "RandDeviceOperation": "ttnn::operations::rand::RandDeviceOperation::RandProgramFactory",
    "CloneOperation": "ttnn::operations::data_movement::clone::CloneProgramFactory",
    "SDPAOperation": "ttnn::prim::SDPAOperation::SDPAProgramFactory",
    "NLPConcatHeadsDeviceOperation": "ttnn::experimental::prim::NLPConcatHeadsProgramFactory",
}
"""Native operations that have one program only, their first."""
_PLAIN = frozenset(
    f"ttnn.{word}"
    for word in [
        "add",
        "subtract",
        "multiply",
        "sub",
        "mul",
        "div",
        "eq",
        "ne",
        "ge",
        "gt",
        "le",
        "lt",
        "maximum",
        "minimum",
        "pow",
        "rsub",
    ]
)
"""Operations of two operands whose kernels keep nothing between them."""
_L1_BASE = 105824
"""Where kernels' buffers begin in a core."""
_CALLS = 1024  # each program of a device counts on from a multiple of it


@dataclass(frozen=True, slots=True)
class Program:
    """The program of a call: the operation, and whether the device has it already."""

    operation: str
    cached: bool

    def factory(self, native: str) -> Params:
        """Which of the native operation's programs it is, where that has one."""
        made_by = _FACTORIES.get(native)
        return {} if made_by is None else {"program_factory_index": 0, "program_factory_type": made_by}


def program_of(
    operation: FastOperation, args: tuple[Any, ...], kwargs: Mapping[str, Any], given: Sequence[Tensor]
) -> Program:
    """What a call runs, before it does."""
    device = next((tensor.device() for tensor in given if tensor.device() is not None), None)
    known = device is not None and operation.program(args, kwargs) in device.program_cache
    return Program(operation.name, known)


class Programs:
    """The programs of one capture. Only what is `dispatched` runs; then those that a device has already tell no buffers."""

    def __init__(self, nodes: Nodes, *, dispatched: bool) -> None:
        self._nodes, self._dispatched = nodes, dispatched
        self._ran = 0

    def run(
        self, function: int, native: str, given: Sequence[Tensor], results: Sequence[Tensor], program: Program
    ) -> None:
        """A program is made ready in an open function, and runs."""
        device = next((each.device() for each in (*given, *results) if each.device() is not None), None)
        if device is None:
            return
        self._nodes.inside("circular_buffer_deallocate_all", {"device_id": device.id()}, [function])
        if not (self._dispatched and program.cached):
            self._set_aside(device, native, given, results, program)
        if self._dispatched:
            self._execute(device)

    def _set_aside(
        self,
        device: MeshDevice,
        native: str,
        given: Sequence[Tensor],
        results: Sequence[Tensor],
        program: Program,
    ) -> None:
        """Buffers of kernels; those of data flow are told only where nothing is dispatched."""
        grid = device.compute_with_storage_grid_size()
        cores = {"core_range_set": f"{{[0-0 - {grid.x - 1}-{grid.y - 1}]}}"}
        address = _L1_BASE
        for size in _binary(native, given, results, program.operation):
            for chip in range(device.get_num_devices()) if self._dispatched else (device.id(),):
                params = {"address": address * self._dispatched, **cores, "device_id": chip}
                more = {"globally_allocated": "0", "size": size}
                self._nodes.inside("circular_buffer_allocate", params | more, [])
            address += size
        if not self._dispatched:
            for size in _unary(native, given, results):
                params = {
                    "address": 0,
                    "borrows_memory": "0",
                    **cores,
                    "device_id": device.id(),
                    "size": size,
                }
                self._nodes.inside("dataflow_buffer_allocate", params, [])

    def _execute(self, device: MeshDevice) -> None:
        grid = device.compute_with_storage_grid_size()
        cores = [{"end": {"x": grid.x - 1, "y": grid.y - 1}, "start": {"x": 0, "y": 0}}]
        if not self._ran:
            sub_devices = [{"sub_device_id": 0, "worker_core_ranges": cores}]
            manager = {
                "device_id": device.id(),
                "sub_device_manager_id": 0,
                "sub_devices": _text(sub_devices),
            }
            self._nodes.inside("sub_device_manager", manager, [])
        self._ran += 1
        for chip in range(device.get_num_devices()):
            params = {
                "command_queue_id": 0,
                "device_id": device.id(),
                "global_call_count": self._ran * _CALLS + chip,
                "physical_device_id": chip,
                "runtime_id": self._ran,
                "sub_device_id": 0,
                "sub_device_manager_id": 0,
                "worker_core_ranges": _text(cores),
            }
            self._nodes.inside("program_execution", params, [])


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _tile(tensor: Tensor) -> int:
    return tile_bytes(TILE_SIZE * TILE_SIZE, tensor.dtype)


def _binary(native: str, given: Sequence[Tensor], results: Sequence[Tensor], operation: str) -> Iterator[int]:
    """Two tiles of each operand and of the result; of a number one. Operands of which a row or column is spread are not known."""
    operands = given[:2]
    alike = len({tuple(each.padded_shape)[-2:] for each in operands}) == 1
    if native == BINARY and operation in _PLAIN and alike and _interleaved((*given, *results)):
        yield 2 * _tile(operands[0])
        yield 2 * _tile(operands[1]) if len(operands) > 1 else _tile(operands[0])
        yield 2 * _tile(results[0])


def _unary(native: str, given: Sequence[Tensor], results: Sequence[Tensor]) -> Iterator[int]:
    """Two tiles of the operand and of the result."""
    if native == UNARY and given and _interleaved((*given, *results)):
        yield 2 * _tile(given[0])
        yield 2 * _tile(results[0])


def _interleaved(found: Sequence[Tensor]) -> bool:
    return not any(each.memory_config().is_sharded() for each in found)
