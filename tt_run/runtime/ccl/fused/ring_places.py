"""Where the queries and keys of attention over a ring stand in the whole sequence, and which of them see each other.

Source: the golden functions of the reference library 0.81.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.data_movement.joining import slice as cut
from tt_run.runtime.ops.declaration.operands import settle
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
SEQUENCE = 2
"""The dimension that is cut over the ring."""


@dataclass(frozen=True)
class Sight:
    """Which keys the queries of a device see: those of a sequence gathered around the ring, and of a joined one behind it.

    `logical`: where the sequence ends, one of `gathered` rows. `own` queries of each device out of `everywhere`; with `before` the first
    of them all has that many positions before it. `joined`: rows of the joined sequence, of which the first `joined_end` count. `chunk`:
    rows that a circular cache is written in; what was overwritten is seen by nobody. A `balanced` sequence is cut into twice as many
    pieces as there are devices, and each holds one from the front and one from the back: 0 and 7, 1 and 6, 2 and 5, 3 and 4.
    """

    logical: int | Tensor
    gathered: int
    own: int
    everywhere: int
    joined: int = 0
    joined_end: int = 0
    causal: bool = False
    window: int | None = None
    before: int | None = None
    circular: bool = False
    balanced: bool = False

    @property
    def plain(self) -> bool:
        """Whether the place of a query changes nothing."""
        return not self.causal and self.window is None

    def mask(self, rest: dict[str, Array], user: int) -> Array | None:
        """0 where a query sees a key, minus infinity elsewhere: (1, queries, keys); None where every query sees all."""
        told = rest.get("length")
        end = int(told.ravel()[0]) if told is not None else int(self.logical)  # type: ignore[arg-type]
        keys = self._places()
        last = int(keys.max(initial=0)) + 1
        if not 0 < end <= last:
            raise fatal(
                f"logical_n must be 1 to {last}, where the gathered keys end, got {end}",
                hint=f"logical_n={last} reads all keys",
            )
        if self.plain and end == self.gathered and self.joined_end == self.joined:
            return None
        there = np.concatenate([(keys >= 0) & (keys < end), np.arange(self.joined) < self.joined_end])
        at = np.concatenate([keys, end + np.arange(self.joined)])
        first = max(0, end - self.everywhere) if self.before is None else self.before
        start = int(rest["start"].ravel()[0]) if "start" in rest else 0
        own = keys[start : start + self.own] if self.balanced else start + np.arange(self.own)
        queries = np.concatenate([own, self.everywhere + np.arange(self.joined)])
        way = at[None] - (first + queries)[:, None]
        seen = np.broadcast_to(there, way.shape)
        if self.causal:
            seen = seen & (way <= 0)
        if self.window is not None:
            seen = seen & (way > -self.window if self.causal else np.abs(way) <= self.window // 2)
        return np.where(seen, np.float32(0), np.float32(-np.inf))[None]

    def _places(self) -> Array:
        """The position of each gathered row; -1 for one that holds nothing."""
        rows = np.arange(self.gathered)
        if self.balanced:
            device, row = np.divmod(rows, self.own)
            piece, late = self.own // 2, row >= self.own // 2
            return np.where(late, self.gathered - (device + 2) * piece, device * piece) + row
        if not self.circular:
            return rows
        slab, row = np.divmod(rows, self.everywhere)
        before, slabs = self.before or 0, self.gathered // self.everywhere
        groups = -(-(before + self.everywhere) // self.everywhere)
        window = self.window or 0
        reached = max(0, before - (window - 1 if self.causal else window // 2))
        if self.gathered % self.everywhere or reached < max(0, groups - slabs) * self.everywhere:
            raise fatal(
                f"a window of {window} keys before position {before} does not lie in a circular cache of {self.gathered} rows, "
                f"written in chunks of {self.everywhere}",
                hint=f"a shorter sliding_window_size, or a cache of more rows, a multiple of {self.everywhere}",
            )
        last = slab + (groups - 1 - slab) // slabs * slabs
        return np.where(last >= 0, last * self.everywhere + row, -1)


def check_balanced(name: str, own: int, before: int | None, *, causal: bool, joined: bool) -> None:
    """Raises RuntimeError where a sequence cannot be balanced over the devices: its halves are those of causal attention to itself alone."""
    if not causal:
        raise fatal(f"{name}: is_balanced goes with causal attention", hint="is_causal=True")
    if joined or before is not None:
        what = "joined tensors" if joined else "kv_actual_isl"
        raise fatal(f"{name}: is_balanced does not go with {what}", hint=f"leave {what} or is_balanced out")
    if own % 2:
        raise fatal(
            f"{name}: a balanced sequence has two pieces of one length on each device, not {own} rows",
            hint="pad the sequence to a multiple of twice the devices",
        )


def first_query_places(q: Tensor, cluster_axis: int) -> Tensor:
    """The place of each device's first query in the whole sequence."""
    rows = q.shape[SEQUENCE]
    places = [np.full((1, 1, 1, 1), at[cluster_axis] * rows, np.uint32) for at in q.site.local_coords]
    return settle((q,), Shards.from_each(places), DataType.UINT32, layout=Layout.ROW_MAJOR)


def number(value: int | Tensor | None, otherwise: int = 0) -> int:
    """A number that may be the one element of a tensor, the same on every device."""
    if value is None:
        return otherwise
    return int(value.shards.row(0).reshape(-1)[0]) if isinstance(value, Tensor) else int(value)


@dataclass(frozen=True)
class Cached:
    """How a call names the rows of a cache that it means, and how many positions they held before it."""

    row: int | None
    before: int | None
    slot: Tensor | None
    written: Tensor | None
    layers: int | None
    layer: int | None

    def of(self, name: str, users: int, *caches: Tensor) -> tuple[list[Tensor], int | None]:
        """The rows meant, and the positions before. Raises RuntimeError where a slot lacks its position, has two, or is not there."""
        if (self.slot is None) != (self.written is None):
            raise fatal(
                f"{name}: slot_id and kv_actual_isl_tensor must be given together",
                hint="give both, or kv_cache_batch_idx=… and kv_actual_isl=… in their place",
            )
        row, before = self.row, self.before
        if self.slot is not None:
            if row is not None or before is not None:
                raise fatal(
                    f"{name}: slot_id and kv_actual_isl_tensor stand in the place of kv_cache_batch_idx and kv_actual_isl",
                    hint="leave kv_cache_batch_idx and kv_actual_isl out",
                )
            layers, layer = self.layers or 1, self.layer or 0
            if not 0 <= layer < layers:
                raise fatal(
                    f"{name}: kv_cache_layer_idx must be below kv_cache_num_layers {layers}, got {layer}",
                    hint=f"kv_cache_layer_idx is 0 to {layers - 1}",
                )
            row, before = number(self.slot) * layers + layer, number(self.written)
        if row is None and caches[0].shape[0] == users:
            return list(caches), before
        row = row or 0
        if not 0 <= row < caches[0].shape[0]:
            raise fatal(
                f"{name}: row {row} is outside of the cache's {caches[0].shape[0]}",
                hint=f"rows are 0 to {caches[0].shape[0] - 1}",
            )
        return [cut.compute(t, [row, 0, 0, 0], [row + 1, *t.shape.dims[1:]]) for t in caches], before
