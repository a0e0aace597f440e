"""Services of another process of this machine: a file in shared memory names a local socket, over which transfers go as bytes.

The process that has the mesh writes the file (`export`) and answers on a thread of its own; any other one attaches by its name (`attach`). A
random key in the file, which its owner alone may read, keeps strangers out.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec

_FOLDER = Path("/dev/shm")
_PAUSE = 0.01
CONNECT_MS = 10_000
"""How long attaching waits for the file, in milliseconds, unless the program says otherwise."""

Facts = dict[str, Any]
Answer = Callable[[Facts, bytes], tuple[Facts, bytes]]
"""What the owner makes of a request and its bytes. A RuntimeError goes back to who asked."""


def descriptor_path(kind: str, service_id: str) -> Path:
    """The file of an exported service. Raises RuntimeError for a name that is no file's."""
    if not service_id or "/" in service_id or "\0" in service_id:
        raise fatal(
            f"service_id {service_id!r} cannot be part of a file's name",
            hint='a word such as service_id="prefill"',
        )
    return _FOLDER / f"tt_{kind}_{service_id}.bin"


def export(owner: object, kind: str, service_id: str, facts: Facts, answer: Answer) -> str:
    """Let other processes attach to a service until `owner` is gone; the path of the file. `facts` are told to whoever attaches."""
    path = descriptor_path(kind, service_id)
    room = Path(tempfile.mkdtemp(prefix="tt-run-service-"))
    key = secrets.token_bytes(32)
    listener = Listener(str(room / "socket"), "AF_UNIX", authkey=key)
    text = json.dumps({**facts, "address": str(room / "socket"), "key": key.hex(), "pid": os.getpid()})
    draft = path.with_suffix(f".{os.getpid()}")
    draft.touch(0o600)
    draft.write_text(text)
    draft.replace(path)
    words = {"args": (listener, room / "socket", answer), "name": f"tt-run {kind}", "daemon": True}
    threading.Thread(target=_serve, **words).start()  # type: ignore[arg-type]
    weakref.finalize(owner, _remove, listener, path, room)
    return str(path)


def _remove(listener: Listener, path: Path, room: Path) -> None:
    with suppress(OSError):
        listener.close()
    path.unlink(missing_ok=True)
    shutil.rmtree(room, ignore_errors=True)


def _serve(listener: Listener, address: Path, answer: Answer) -> None:
    """Answers whoever attaches, until the file at `address` is gone: a listener that is closed no longer knows where it was."""
    while True:
        try:
            connection = listener.accept()
        except (OSError, EOFError, AuthenticationError):  # closed, or somebody without the key
            if not address.exists():
                return
            continue
        words = {"args": (connection, answer), "name": "tt-run stream service", "daemon": True}
        try:
            threading.Thread(target=_talk, **words).start()  # type: ignore[arg-type]
        except RuntimeError:  # no more threads, as in Python 3.12 from the first exit handler on
            _talk(connection, answer)


def _talk(connection: Connection, answer: Answer) -> None:
    with suppress(EOFError, OSError), connection:
        while True:
            request, body = json.loads(connection.recv_bytes()), connection.recv_bytes()
            try:
                reply, data = answer(request, body)
            except RuntimeError as error:
                reply, data = {"error": str(error)}, b""
            connection.send_bytes(json.dumps(reply).encode())
            connection.send_bytes(data)


class Attachment:
    """A service of another process."""

    def __init__(self, kind: str, service_id: str, timeout_ms: int | None) -> None:
        path = descriptor_path(kind, service_id)
        wait = CONNECT_MS if timeout_ms is None else timeout_ms
        until = time.monotonic() + wait / 1000
        while not path.exists():
            if time.monotonic() > until:
                raise fatal(
                    f"no process exported the service {service_id!r} within {wait} ms: there is no {path}",
                    hint="service.export_descriptor(service_id) in the process that has the mesh; timeout_ms=… waits longer",
                )
            time.sleep(_PAUSE)
        self._id = service_id
        try:
            self.facts: Facts = json.loads(path.read_text())
            self._connection = Client(
                self.facts["address"], "AF_UNIX", authkey=bytes.fromhex(self.facts["key"])
            )
        except (OSError, ValueError, KeyError) as error:
            raise fatal(
                f"{path} leads to no service: {type(error).__name__}: {error}",
                hint=f"rm {path}, which a process that was killed has left",
            ) from None

    def ask(self, request: Facts, body: bytes = b"") -> tuple[Facts, bytes]:
        """The owner's answer. Raises RuntimeError with what it says against it, or when it is gone."""
        try:
            self._connection.send_bytes(json.dumps(request).encode())
            self._connection.send_bytes(body)
            reply, data = json.loads(self._connection.recv_bytes()), self._connection.recv_bytes()
        except (EOFError, OSError):
            raise fatal(
                f"the process that exported the service {self._id!r} has ended",
                hint="attach again once it runs",
            ) from None
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply, data


def facts_of(spec: TensorSpec | None, part: TensorSpec | None, metadata_bytes: int) -> Facts:
    """What another process has to know of a service."""
    return {"spec": _told(spec), "part": _told(part), "metadata": metadata_bytes}


def _told(spec: TensorSpec | None) -> Any:
    return None if spec is None else [list(spec.shape), spec.dtype.name, spec.layout.name]


def spec_from(told: Any) -> TensorSpec | None:
    """Undo what `facts_of` makes of a spec."""
    if told is None:
        return None
    shape, dtype, layout = told
    return TensorSpec(tuple(shape), DataType[dtype], Layout[layout])


def owners_only(method: str) -> RuntimeError:
    """The error of what only the process with the mesh can do."""
    return fatal(
        f"{method} is for the process that made the service; this one has attached to it",
        "is_owner",
        hint="call it there",
    )
