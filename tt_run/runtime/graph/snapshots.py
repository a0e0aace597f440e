"""The buffers of devices after each operation of a capture, with the pages that lie in L1: what a report draws of every core.

Told where `enable_detailed_buffer_tracing` asks for it, since each operation lists everything that lives then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tt_run.runtime.memory.views import BufferInfo, BufferPageInfo, get_buffer_pages, get_buffers
from tt_run.runtime.mesh.device import MeshDevice

_switched = {"on": False}


def enable_detailed_buffer_tracing() -> None:
    """From the next capture on, note all buffers after each operation."""
    _switched["on"] = True


def disable_detailed_buffer_tracing() -> None:
    """Note only what is allocated and freed."""
    _switched["on"] = False


def is_detailed_buffer_tracing_enabled() -> bool:
    """Whether a capture that begins now notes them."""
    return _switched["on"]


class Snapshots:
    """The buffers after each function of the program, by the node in which it began; pages by address and by when they came there."""

    def __init__(self) -> None:
        self.buffers: dict[str, list[dict[str, int]]] = {}
        self.pages: dict[str, list[dict[str, Any]]] = {}

    def take(self, start: int, end: int, devices: Iterable[MeshDevice]) -> None:
        """Note what lives when a function has ended."""
        held = [device for device in devices if device.is_open]
        self.buffers[str(start)] = [_buffer(each) for each in get_buffers(held)]
        found: dict[str, list[dict[str, int]]] = {}
        for page in get_buffer_pages(held):
            found.setdefault(str(page.address), []).append(_page(page))
        for address, pages in found.items():
            told = self.pages.setdefault(address, [])
            if not told or told[-1]["pages"] != pages:
                told.append({"alloc_counter": end, "pages": pages})


def _buffer(buffer: BufferInfo) -> dict[str, int]:
    return {
        "device_id": buffer.device_id,
        "address": buffer.address,
        "max_size_per_bank": buffer.max_size_per_bank,
        "buffer_type": buffer.buffer_type.value,
        "buffer_layout": buffer.buffer_layout.value,
    }


def _page(page: BufferPageInfo) -> dict[str, int]:
    return {
        "device_id": page.device_id,
        "address": page.address,
        "core_y": page.core_y,
        "core_x": page.core_x,
        "bank_id": page.bank_id,
        "page_index": page.page_index,
        "page_address": page.page_address,
        "page_size": page.page_size,
        "buffer_type": page.buffer_type.value,
    }
