"""What is known of a collective before its data: who takes part, what they must agree on, and what the result is like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tt_run.runtime import guard
from tt_run.runtime.ccl import checks, fabric
from tt_run.runtime.ccl.lanes import Lane, Lanes, lanes_of
from tt_run.runtime.ccl.record import Collective
from tt_run.runtime.ccl.shard_locations import Outline
from tt_run.runtime.comm.world import Group
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec, spec_of
from tt_run.runtime.tensor.spec.topology import TensorTopology
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import element_size


class Part(NamedTuple):
    """One exchange of a plan; `outlines` remembers what is known of it by the shard index of the tensor."""

    lane: Lane
    outlines: dict[tuple[int, ...], Outline]


class Plan(NamedTuple):
    """A collective on tensors of one kind.

    `lanes` are those of the axis; `parts` the exchanges of this rank, on each of which it runs `algorithm(rows, *arguments)` when the
    ranks of `group` agree on `signature`. `spec` and `topology` are the result's, `nbytes` is what each device contributes.
    """

    collective: Collective
    device: MeshDevice
    lanes: Lanes
    parts: tuple[Part, ...]
    group: Group | None
    signature: guard.Signature
    dim: int | None
    algorithm: Callable[..., Any]
    arguments: tuple[Any, ...]
    detail: str
    spec: TensorSpec
    topology: TensorTopology
    nbytes: int


# Plans that a mesh remembers.
_REMEMBERED = 1024


def planned(
    collective: Collective, tensor: Tensor, cluster_axis: int | None = None, asked: Any = None
) -> Plan:
    """The plan of a call, remembered: it checks the arguments, and programs repeat their calls.

    A plan depends on the spec and the topology of the tensor, which alike tensors share, on the mesh and on the fabric.
    """
    device = tensor.device() if isinstance(tensor, Tensor) else None
    if device is None or not device.is_open:
        return _plan(collective, tensor, cluster_axis, asked)
    spec, topology = tensor.spec, tensor.tensor_topology()
    # With the types, since True and 1.0 are not 1 here.
    key = (collective, cluster_axis, asked, type(cluster_axis), type(asked), id(spec), id(topology))
    plan: Plan
    found = device.known.get(key)
    if found is not None and found[0] is fabric.current():
        plan = found[1]
        return plan
    plan = _plan(collective, tensor, cluster_axis, asked)
    if len(device.known) >= _REMEMBERED:
        device.known.clear()
    device.known[key] = fabric.current(), plan, spec, topology
    return plan


def _plan(collective: Collective, tensor: Tensor, cluster_axis: int | None, asked: Any) -> Plan:
    device = checks.device_of(tensor, collective.name)
    intent = collective.check(tensor, device, cluster_axis, asked)
    spec = tensor.spec
    words = [f"dim {intent.dim}"] if intent.dim is not None else []
    words += [spec.layout.name, f"on {mesh_text(device)}", *([intent.detail] if intent.detail else [])]
    signature = guard.Signature(
        collective.name, cluster_axis, tuple(spec.shape), spec.dtype.name, ", ".join(words)
    )
    elements = spec.padded_shape.volume() if intent.elements is None else intent.elements
    if intent.shape is not None:
        spec = spec_of(intent.shape, spec.dtype, spec.layout, spec.memory_config, spec.tile)
    lanes = lanes_of(device, cluster_axis)
    halves = spec.dtype is DataType.BFLOAT16
    return Plan(
        collective,
        device,
        lanes,
        tuple(Part(lane.in_halves() if halves else lane, {}) for lane in lanes.parts),
        lanes.group,
        signature,
        intent.dim,
        collective.algorithm,
        intent.arguments,
        intent.detail,
        spec,
        collective.placing(tensor.tensor_topology(), device, cluster_axis, intent.dim),
        elements * element_size(spec.dtype),
    )


def mesh_text(device: MeshDevice) -> str:
    """A mesh device in the texts of the guard: its shape and where it lies on the system mesh."""
    return f"{'x'.join(map(str, device.shape))} at {device.positions[0]} of mesh {device.mesh_id}"
