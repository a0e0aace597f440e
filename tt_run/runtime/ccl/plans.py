"""What is known of a collective before its data: who takes part, what they must agree on, and what the result is like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

from mgd.lean import dataclass
from tt_run.runtime import guard, settings
from tt_run.runtime.ccl import checks, memory_checks
from tt_run.runtime.ccl.exchange import fabric
from tt_run.runtime.ccl.exchange.groups import DeviceGroup
from tt_run.runtime.ccl.exchange.lanes import Lane, Lanes, lanes_of
from tt_run.runtime.ccl.exchange.shard_locations import Outline
from tt_run.runtime.ccl.record import Collective
from tt_run.runtime.ccl.whole_calls import arguments_of_call, memory_text
from tt_run.runtime.comm.world import Group
from tt_run.runtime.enums import DataType, FabricConfig, Topology
from tt_run.runtime.errors import ArgumentMismatch, type_name
from tt_run.runtime.mesh import captures
from tt_run.runtime.mesh.captures import is_captured
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec, spec_of
from tt_run.runtime.tensor.spec.topology import TensorTopology, as_partly, only_shard, partly
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.traffic import Pattern
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, element_size


@dataclass(frozen=True, slots=True, eq=False)
class PlannedExchange:
    """One exchange of a plan; `outlines` remembers what is known of it by the shard index of the tensor."""

    lane: Lane
    outlines: dict[tuple[int, ...], Outline]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A collective on tensors of one kind.

    `traffic` is how its data travels, `lanes` are those of the axis, `moved` the groups over which data moves; `parts` the exchanges of this rank, on each of which it runs `algorithm(rows, *arguments)` when the
    ranks of `group` agree on `signature`. `spec` and `topology` are the result's, `nbytes` is what each device contributes. `whole`: one exchange has all devices of this rank. `by_rows`: the elements of a result are
    rounded in whole rows, once they are added; `sharded`: its buffer is cut over the cores of a device. `links` and `line` are what the program asks
    of the fabric, which no value depends on: so many channels, and no way round.
    """

    collective: Collective
    traffic: Pattern
    device: MeshDevice
    lanes: Lanes
    moved: Sequence[DeviceGroup]
    parts: tuple[PlannedExchange, ...]
    group: Group | None
    signature: guard.Signature
    dim: int | None
    algorithm: Callable[..., Any]
    arguments: tuple[Any, ...]
    detail: str
    spec: TensorSpec
    topology: TensorTopology
    nbytes: int
    whole: bool
    by_rows: bool
    sharded: bool
    links: int | None
    line: bool


_TILE = (TILE_SIZE, TILE_SIZE)
_BY_ROWS = frozenset((*BLOCK_FLOATS, DataType.FP8_E4M3))
# Plans that a mesh remembers.
_REMEMBERED = 1024


Workers = tuple[Any, ...]
"""How many cores and buffers of each device take part, in the order of `_WORKERS`: pairs of them meet across devices."""
_WORKERS = (
    "chunks_per_sync",
    "num_workers_per_link",
    "num_buffers_per_channel",
    "use_l1_small_for_semaphores",
    "intermediate_memory_config",
)
Tuning = (
    tuple[Any, int | None, MemoryConfig | None]
    | tuple[Any, int | None, MemoryConfig | None, str | None]
    | tuple[Any, int | None, MemoryConfig | None, str | None, Workers]
    | tuple[Any, int | None, MemoryConfig | None, str | None, Workers | None, MemoryConfig]
)
"""Topology, links, memory of the result, sub-device, workers, memory of a tensor that is given for the result: no value depends on them
here, but ranks that differ in them hang on a cluster, or write where another has something else."""
NOTHING_TUNED: Tuning = (None, None, None)
_TUNING = ("topology", "num_links", "memory_config", "subdevice_id", "workers", "output tensor in")


def written_into(tuning: Tuning, output: Tensor | None) -> Tuning:
    """The same of a call that is given the tensor for its result."""
    if output is None:
        return tuning
    topology, links, memory, *more = tuning
    subdevice, workers = (*more, None, None)[:2]
    return topology, links, memory, subdevice, workers, output.memory_config()


def on_subdevice(subdevice_id: Any) -> str | None:
    """A sub-device as ranks compare it."""
    return None if subdevice_id is None else str(subdevice_id)


def planned(
    collective: Collective,
    tensor: Tensor,
    cluster_axis: int | None = None,
    asked: Any = None,
    tuning: Tuning | None = None,
    name: str = "",
) -> Plan:
    """The plan of a call, remembered: it checks the arguments, and programs repeat their calls.

    `name` is that of the function where it is not the collective's: ranks that call another form do not meet on a cluster either.
    A plan depends on the spec and the topology of the tensor, which alike tensors share, on the devices without a shard, on the mesh
    and on the fabric.
    """
    if not isinstance(tensor, Tensor):
        return _plan(collective, tensor, cluster_axis, asked, tuning, name)
    # Past the properties, whose calls take longer than the search.
    device, spec, topology, shards = tensor._device, tensor._spec, tensor._topology, tensor._storage.shards
    if device is None or not device.is_open:
        return _plan(collective, tensor, cluster_axis, asked, tuning, name)
    # With the types, since True and 1.0 are not 1 here. One tuple, which is sooner made than several in each other.
    index, known = shards.index, device.known
    key = (
        collective,
        id(spec),
        id(topology),
        cluster_axis,
        asked,
        type(cluster_axis),
        type(asked),
        index if -1 in index else None,
        tuning,
        name,
        settings.CONFIG.strict_ccl_topology,
        bool(captures.covering) and is_captured(device),
        arguments_of_call(),
    )
    plan: Plan
    found = known.get(key)
    if found is None and partly(topology) is None:
        # A program tells the same placement anew with each batch.
        topology = known.setdefault(("operand", topology), topology)
        tensor.hold_topology(topology)
        key = *key[:2], id(topology), *key[3:]
        found = known.get(key)
    if found is not None and found[0] is fabric.current():
        plan = found[1]
        return plan
    if len(known) >= _REMEMBERED:
        known.clear()
    plan = _plan(collective, tensor, cluster_axis, asked, tuning, name)
    known[key] = fabric.current(), plan, spec, topology
    return plan


def _plan(
    collective: Collective,
    tensor: Tensor,
    cluster_axis: int | None,
    asked: Any,
    tuning: Tuning | None,
    name: str,
) -> Plan:
    _check_tuning(tuning)
    device = checks.device_of(tensor, name or collective.name)
    memory_checks.check_named((tuning or NOTHING_TUNED)[2], tensor.layout)
    intent = collective.check(tensor, device, cluster_axis, asked)
    spec = tensor.spec
    words = [f"dim {intent.dim}"] if intent.dim is not None else []
    words += [
        f"layout {spec.layout.name}",
        *([f"tile {'x'.join(map(str, spec.tile.edges))}"] if spec.tile.edges != _TILE else []),
        *([intent.detail] if intent.detail else []),
        *_tuning(spec, tuning),
        *(["capture of a trace"] if is_captured(device) else []),
        *(
            [f"fabric {config.name}"]
            if (config := fabric.current().config) is not FabricConfig.DISABLED
            else []
        ),
    ]
    detail = ", ".join((*words, f"on {mesh_text(device)}", *_further(words)))
    # -1 and NumPy's 1 name the axis that 1 names.
    axis = None if cluster_axis is None else int(cluster_axis) % device.shape.dims()
    signature = guard.Signature(name or collective.name, axis, tuple(spec.shape), spec.dtype.name, detail)
    elements = spec.padded_shape.volume() if intent.elements is None else intent.elements
    lanes = lanes_of(device, cluster_axis, checks.holders(tensor, device))
    if collective.fitting is not None and name in ("", collective.name):
        shape = tensor.shape.dims if intent.shape is None else intent.shape
        collective.fitting(tensor, shape, intent.dim, _memory_of_result(tuning, spec), lanes.members)
    if intent.shape is not None:
        spec = spec_of(intent.shape, spec.dtype, spec.layout, spec.memory_config, spec.tile)
    halves = spec.dtype is DataType.BFLOAT16
    return Plan(
        collective,
        intent.traffic or collective.traffic,
        device,
        lanes,
        lanes.groups if collective.moving is None else collective.moving(lanes.groups, intent.arguments),
        tuple(PlannedExchange(lane.in_halves() if halves else lane, {}) for lane in lanes.parts),
        lanes.group,
        signature,
        intent.dim,
        collective.algorithm,
        intent.arguments,
        intent.detail,
        spec,
        _shared(collective.placing(tensor, device, cluster_axis, intent.dim), tensor, device),
        elements * element_size(spec.dtype),
        len(lanes.parts) == 1 and lanes.parts[0].locals is None,
        spec.dtype in _BY_ROWS,
        spec.memory_config.is_sharded(),
        None if tuning is None else tuning[1],
        tuning is not None and tuning[0] is Topology.Linear,
    )


def _memory_of_result(tuning: Tuning | None, spec: TensorSpec) -> MemoryConfig:
    """Where a call leaves its result: in the tensor that it is given, where it says, or where the operand lies."""
    rest: tuple[Any, ...] = (tuning or NOTHING_TUNED)[2:]
    into: MemoryConfig | None = rest[3] if len(rest) > 3 else None
    return into or rest[0] or spec.memory_config


def _check_tuning(tuning: Tuning | None) -> None:
    """Raises ArgumentMismatch for a topology or a number of links that is none, which no value would depend on."""
    topology, links = (tuning or NOTHING_TUNED)[:2]
    if topology is not None and not isinstance(topology, Topology):
        near = getattr(Topology, str(topology).capitalize(), Topology.Linear)
        raise ArgumentMismatch(f"topology must be a Topology, not {type_name(topology)}\nhelp: ttnn.{near}")
    if links is not None and (not isinstance(links, Integral) or links < 0):
        raise ArgumentMismatch(
            f"num_links must be a count of links, not {links!r}\nhelp: num_links=1, or leave it out"
        )


def _shared(topology: TensorTopology, tensor: Tensor, device: MeshDevice) -> TensorTopology:
    """The one object for equal topologies on a mesh: what a loop feeds back into its collectives has one plan then.

    What a part of the mesh computed stays there.
    """
    where = partly(tensor.tensor_topology())
    if partly(topology) is None:
        topology = as_partly(topology, tensor.tensor_topology())
    known = ("topology", topology, where, only_shard(topology))
    shared: TensorTopology = device.known.setdefault(known, topology)
    return shared


def mesh_text(device: MeshDevice) -> str:
    """A mesh device in the texts of the guard: its shape and where it lies on the system mesh."""
    return f"{'x'.join(map(str, device.shape))} at {device.positions[0]} of mesh {device.mesh_id}"


def _tuning(spec: TensorSpec, tuning: Tuning | None) -> list[str]:
    """What ranks must agree on although no value depends on it, as items `name value`."""
    items = (
        []
        if spec.memory_config == DRAM_MEMORY_CONFIG
        else [f"input memory {memory_text(spec.memory_config)}"]
    )
    for word, value in zip(_TUNING, tuning or (), strict=False):
        if word == "workers":
            items += [
                f"{name} {_shown(each)}" for name, each in zip(_WORKERS, value or (), strict=False) if each
            ]
        # A result where the input lies is what leaving it out means.
        elif value is not None and not (word == "memory_config" and value == spec.memory_config):
            items.append(f"{word} {_shown(value)}")
    return items


def _further(words: list[str]) -> list[str]:
    """The other arguments of a call that makes more of it than a collective, but for what is said already."""
    told = arguments_of_call()
    return [item for item in told.split(", ") if item not in words] if told else []


def _shown(value: Any) -> Any:
    return memory_text(value) if isinstance(value, MemoryConfig) else getattr(value, "name", value)
