"""What is under way between the host and a device: values of one type, in pieces of any size."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.comm.deadlines import Patience
from tt_run.runtime.comm.world import seconds_to_wait
from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import fatal
from tt_run.runtime.sockets.attaching import Answer, Facts
from tt_run.runtime.sockets.streams import LOOK, others_may_send
from tt_run.runtime.values.bfloat16 import from_wire, to_wire
from tt_run.runtime.values.dtypes import element_size, stored_dtype

Array = npt.NDArray[Any]


class Queue:
    """Values of one type on their way. A wait for more ends at once where nobody else could bring them."""

    def __init__(self) -> None:
        self._pieces: deque[Array] = deque()
        self._changed = threading.Condition()
        self.dtype: DataType | None = None
        self.elements = 0
        self.reached = False
        """Whether another process may write or read."""

    @property
    def nbytes(self) -> int:
        """Bytes that are there."""
        return 0 if self.dtype is None else self.elements * element_size(self.dtype)

    def put(self, values: Array, dtype: DataType) -> None:
        """Add values behind the others. Raises RuntimeError for another type than is waiting."""
        with self._changed:
            if self.dtype is not None and self.elements and dtype is not self.dtype:
                raise fatal(
                    f"the socket holds {self.dtype} data, {dtype} cannot follow before it is read",
                    hint=f"read what is there first, or ttnn.typecast(tensor, ttnn.{self.dtype.name.lower()})",
                )
            self.dtype = dtype
            self._pieces.append(np.array(values).reshape(-1))
            self.elements += values.size
            self._changed.notify_all()

    def take(self, count: int, dtype: DataType) -> Array:
        """The next `count` values. Raises RuntimeError when they do not come, or are of another type."""
        with self._changed:
            patience = Patience()
            while self.elements < count:
                patience.look()
                if not (self.reached or others_may_send()) or patience.over(seconds_to_wait()):
                    raise fatal(
                        f"the socket holds {self.elements} of the {count} elements that are to be read; the other end is in this "
                        "process and must write them first"
                        if not self.reached
                        else f"the socket holds {self.elements} of the {count} elements that are to be read, and nobody wrote more",
                        "fifo holds the pages",
                        hint="write first, or read fewer",
                    )
                self._changed.wait(LOOK)
            if self.dtype is not None and count and dtype is not self.dtype:
                raise fatal(
                    f"the socket holds {self.dtype} data, the tensor is {dtype}",
                    hint=f"a tensor of ttnn.{self.dtype.name.lower()}",
                )
            whole = np.concatenate(self._pieces)
            self.elements -= count
            self._pieces = deque([whole[count:]] if self.elements else [])
            self._changed.notify_all()
            return whole[:count]

    def drained(self, seconds: float) -> bool:
        """Whether everything was taken within so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.elements, seconds)

    def clear(self) -> int:
        """Drop everything; the bytes that were there."""
        with self._changed:
            dropped = self.nbytes
            self._pieces.clear()
            self.elements = 0
            self._changed.notify_all()
            return dropped


def packed(values: Array, dtype: DataType) -> bytes:
    """Values as bytes for another process."""
    return (to_wire(values) if dtype is DataType.BFLOAT16 else np.ascontiguousarray(values)).tobytes()


def unpacked(body: bytes, dtype: DataType) -> Array:
    """Undo `packed`."""
    if dtype is DataType.BFLOAT16:
        return from_wire(np.frombuffer(body, np.uint16))
    return np.frombuffer(body, stored_dtype(dtype))


def serve_requests(queue: Queue) -> Answer:
    """What the owner of a queue does for another process."""

    def answer(request: Facts, body: bytes) -> tuple[Facts, bytes]:
        do = request["do"]
        if do == "has":
            return {"has": queue.nbytes >= max(request["page"], 1)}, b""
        if do == "clear":
            return {"bytes": queue.clear()}, b""
        if do == "drain":
            if not queue.drained(request["seconds"]):
                raise fatal(
                    f"barrier: {queue.elements} elements are still under way after {request['seconds']:.1f} s",
                    hint="take them at the other end, or wait longer: timeout_ms=…",
                )
            return {}, b""
        dtype = DataType[request["dtype"]]
        if do == "put":
            queue.put(unpacked(body, dtype), dtype)
            return {}, b""
        return {}, packed(queue.take(request["count"], dtype), dtype)

    return answer
