"""The addresses that programs ask buffers for.

A buffer gets one when it is first asked for: the first place that no other buffer with an address holds, from the bottom of DRAM or the top of
L1. It keeps it through everything that is written there, and what is given back can be taken again, so that a program which records a trace,
gives its input back and allocates another finds that one at the same address, as on devices.
"""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING

from tt_run.runtime.enums import BufferType, Layout
from tt_run.runtime.tensor.spec.memory_config import ShardSpec
from tt_run.runtime.values.dtypes import tile_bytes

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice
    from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
    from tt_run.runtime.values.storage import Buffer, Place

_STEP = 64
_DRAM_BOTTOM, _DRAM_BANKS = 1049024, {True: 12, False: 8}
_L1_TOP = {True: 1464 * 1024, False: 1536 * 1024}
"""Of Wormhole chips, and of others."""

_Held = tuple[int, int, "weakref.ref[Place]", "weakref.ref[Buffer]"]
_HELD: weakref.WeakKeyDictionary[MeshDevice, dict[bool, list[_Held]]] = weakref.WeakKeyDictionary()
"""Of each mesh by whether it is DRAM: where each buffer begins and how long it is, in order."""


def address_of(buffer: Buffer, spec: TensorSpec, device: MeshDevice) -> int:
    """Where a buffer lies in each bank of its memory."""
    dram = spec.memory_config.buffer_type is BufferType.DRAM
    wormhole = device.arch().name.lower().startswith("wormhole")
    spaces = _HELD.setdefault(device, {})
    held = spaces[dram] = [entry for entry in spaces.get(dram, ()) if _living(entry)]
    found = next((entry for entry in held if entry[2]() is buffer.place), None)
    if found is None:
        size = _per_bank(spec, _DRAM_BANKS[wormhole] if dram else device.core_grid.x * device.core_grid.y)
        start = 0
        for begin, length, *_ in held:
            if start + size <= begin:
                break
            start = begin + length
        found = (start, size, weakref.ref(buffer.place), weakref.ref(buffer))
        held.append(found)
        held.sort(key=lambda entry: entry[:2])
    buffer.place.address = _DRAM_BOTTOM + found[0] if dram else _L1_TOP[wormhole] - found[0] - found[1]
    return buffer.place.address


def _living(entry: _Held) -> bool:
    place, buffer = entry[2](), entry[3]()
    return place is not None and (buffer is None or buffer.allocated)


def _per_bank(spec: TensorSpec, banks: int) -> int:
    """Bytes that a buffer takes of the fullest bank, at least one step: no two buffers share an address."""
    shard = spec.memory_config.shard_spec or spec.memory_config.nd_shard_spec
    if shard is None:
        page = math.prod(spec.tile.edges) if spec.layout is Layout.TILE else max(spec.padded_shape[-1], 1)
        size = -(-spec.padded_shape.volume() // page // banks) * tile_bytes(page, spec.dtype)
    else:
        piece = math.prod(shard.shape if isinstance(shard, ShardSpec) else shard.shard_shape)
        pieces = -(-spec.padded_shape.volume() // max(piece, 1) // shard.grid.num_cores())
        size = pieces * tile_bytes(piece, spec.dtype)
    return max(-(-size // _STEP), 1) * _STEP
