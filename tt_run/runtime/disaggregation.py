"""Tables of where parts of key and value caches lie, for programs that prefill on some devices and decode on others.

A table maps a layer, a position in tokens and a slot to an address. Programs fill it and read it; nothing here moves data.
Source: `ttnn.experimental.disaggregation` of reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tt_run.runtime.enums import NamedEnum
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.view import FabricNodeId
from tt_run.runtime.native.classes import Native, native


@native("ttnn._ttnn.operations.experimental.disaggregation.KvChunkTensorType")
class KvChunkTensorType(NamedEnum):
    """What is cached: keys and values of all tokens, or one state."""

    Kv = 0
    Snapshot = 1


@native("ttnn._ttnn.operations.experimental.disaggregation.ChunkCompression")
class ChunkCompression(NamedEnum):
    """How a table keeps its entries."""

    UNROLLED = 0
    STRIDED_ROWS = 1


@native("ttnn._ttnn.operations.experimental.disaggregation.DeviceGroupIndex")
class DeviceGroupIndex(int, metaclass=Native):
    """The number of a group of devices in a table."""

    def __repr__(self) -> str:
        return f"DeviceGroupIndex({int(self)})"

    __str__ = __repr__


@native("ttnn._ttnn.operations.experimental.disaggregation.DeviceGroup")
@dataclass
class DeviceGroup(metaclass=Native):
    """Devices that hold the same part, sorted."""

    fabric_node_ids: list[FabricNodeId] = field(default_factory=list)


@native("ttnn._ttnn.operations.experimental.disaggregation.KvCacheLocation")
@dataclass
class KvCacheLocation(metaclass=Native):
    """An address, a size in bytes, and the group of devices that hold it."""

    noc_addr: int = 0
    size_bytes: int = 0
    device_group_index: DeviceGroupIndex = field(default_factory=DeviceGroupIndex)


@native("ttnn._ttnn.operations.experimental.disaggregation.KvChunkAddressTableConfig")
@dataclass
class KvChunkAddressTableConfig(metaclass=Native):
    """The extents of a table: layers, slots, tokens; tokens and bytes of a chunk."""

    num_layers: int = 0
    max_sequence_length: int = 0
    num_slots: int = 0
    chunk_n_tokens: int = 32
    chunk_size_bytes: int = 19584
    tensor_type: KvChunkTensorType = KvChunkTensorType.Kv


Configs = (
    KvChunkAddressTableConfig | Sequence[KvChunkAddressTableConfig] | Mapping[str, KvChunkAddressTableConfig]
)


@native("ttnn._ttnn.operations.experimental.disaggregation.KvChunkAddressTable")
class KvChunkAddressTable(metaclass=Native):
    """Locations by layer, position and slot, of one configuration or several: numbered, or named and numbered by name."""

    def __init__(self, config: Configs, compressions: Mapping[str, ChunkCompression] | None = None) -> None:
        if isinstance(config, KvChunkAddressTableConfig):
            config = [config]
        named = dict(config) if isinstance(config, Mapping) else {str(i): c for i, c in enumerate(config)}
        self._names = sorted(named) if isinstance(config, Mapping) else list(named)
        self._configs = [named[name] for name in self._names]
        self._compressions = [
            (compressions or {}).get(name, ChunkCompression.UNROLLED) for name in self._names
        ]
        self._entries: dict[tuple[int, int, int, int], KvCacheLocation] = {}
        self._groups: list[DeviceGroup] = []
        self._hosts: dict[FabricNodeId, str] = {}

    def num_configs(self) -> int:
        """Number of configurations."""
        return len(self._configs)

    def config(self, config_id: int = 0) -> KvChunkAddressTableConfig:
        """A configuration by number."""
        return self._configs[config_id]

    def config_name(self, config_id: int) -> str:
        """The name of a configuration."""
        return self._names[config_id]

    def config_id_of(self, name: str) -> int:
        """The number of a configuration. Raises RuntimeError for an unknown name."""
        if name not in self._names:
            raise fatal(
                f"no config {name!r}; there are: {', '.join(self._names)}",
                hint=f"one of {', '.join(map(repr, self._names))}",
            )
        return self._names.index(name)

    def compression(self, config_id: int = 0) -> ChunkCompression:
        """How the entries of a configuration are kept."""
        return self._compressions[config_id]

    def num_position_chunks(self, config_id: int = 0) -> int:
        """Chunks along the sequence."""
        config = self._configs[config_id]
        return -(-config.max_sequence_length // config.chunk_n_tokens)

    def total_entries(self) -> int:
        """Locations of all configurations."""
        return sum(
            c.num_layers * self.num_position_chunks(i) * c.num_slots for i, c in enumerate(self._configs)
        )

    def set(
        self, layer: int, position: int, slot: int, location: KvCacheLocation, config_id: int | str = 0
    ) -> None:
        """Put a location. Raises RuntimeError outside the table and for a position inside of a chunk."""
        self._entries[self._key(layer, position, slot, config_id)] = location

    def lookup(self, layer: int, position: int, slot: int, config_id: int | str = 0) -> KvCacheLocation:
        """The location of a chunk, empty where none was put. Raises RuntimeError as `set` does."""
        return self._entries.get(self._key(layer, position, slot, config_id), KvCacheLocation())

    def lookup_range(
        self, layer: int, start_pos: int, end_pos: int, slot: int, config_id: int | str = 0
    ) -> list[KvCacheLocation]:
        """The locations from one position up to another, excluded."""
        step = self._configs[self._number(config_id)].chunk_n_tokens
        return [self.lookup(layer, position, slot, config_id) for position in range(start_pos, end_pos, step)]

    def add_device_group(self, fabric_node_ids: Sequence[FabricNodeId]) -> DeviceGroupIndex:
        """The number of a group of devices, the same for the same devices."""
        nodes = sorted(fabric_node_ids, key=lambda node: (int(node.mesh_id), node.chip_id))
        group = DeviceGroup(nodes)
        if group not in self._groups:
            self._groups.append(group)
        return DeviceGroupIndex(self._groups.index(group))

    def num_device_groups(self) -> int:
        """Number of groups."""
        return len(self._groups)

    def get_device_group(self, index: int) -> DeviceGroup:
        """A group by number."""
        return self._groups[index]

    def set_fabric_node_host(self, node_id: FabricNodeId, host_name: str) -> None:
        """Say on which host a device is."""
        self._hosts[node_id] = host_name

    def has_host(self, node_id: FabricNodeId) -> bool:
        """Whether a device's host is known."""
        return node_id in self._hosts

    def get_host(self, node_id: FabricNodeId) -> str:
        """The host of a device. Raises RuntimeError when it is not known."""
        if node_id not in self._hosts:
            raise fatal(f"no host is known for {node_id}", hint="ask has_host(node_id) first")
        return self._hosts[node_id]

    def _number(self, config: int | str) -> int:
        return self.config_id_of(config) if isinstance(config, str) else config

    def _key(self, layer: int, position: int, slot: int, config: int | str) -> tuple[int, int, int, int]:
        number = self._number(config)
        extents = self._configs[number]
        if position % extents.chunk_n_tokens:
            raise fatal(
                f"position {position} is not a multiple of chunk_n_tokens {extents.chunk_n_tokens} (config {number})",
                "position % cfg.chunk_n_tokens == 0",
                hint=f"position={position // extents.chunk_n_tokens * extents.chunk_n_tokens}",
            )
        for name, value, limit in (
            ("layer", layer, extents.num_layers),
            ("position", position, extents.max_sequence_length),
            ("slot", slot, extents.num_slots),
        ):
            if not 0 <= value < limit:
                raise fatal(
                    f"{name} {value} is out of range [0, {limit}) (config {number})",
                    hint=f"{name} is 0 to {limit - 1}",
                )
        return number, layer, position // extents.chunk_n_tokens, slot
