"""An editor as debuggers see one: the Debug Adapter Protocol over a socket, as far as attaching, stopping, looking and going on need it."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Any


class Editor:
    """Attached to the debugger on a port of this machine, which may not listen yet."""

    def __init__(self, port: int, timeout: float = 60) -> None:
        self._deadline = time.monotonic() + timeout
        self._socket = self._connected(port)
        self._stream = self._socket.makefile("rb")
        self._sent = 0
        self._seen: list[dict[str, Any]] = []

    def __enter__(self) -> Editor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
        self._socket.close()

    def _connected(self, port: int) -> socket.socket:
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=self._left())
            except ConnectionRefusedError:
                time.sleep(0.05)

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the debugger did not answer in time")
        return left

    def attach(self, breakpoints: dict[Path, list[int]]) -> None:
        """Attach, with breakpoints at lines of files, and let the program begin."""
        self.ask("initialize", adapterID="test", linesStartAt1=True, pathFormat="path")
        attached = self._send("attach", {"justMyCode": False})
        self.event("initialized")
        for path, lines in breakpoints.items():
            found = self.ask(
                "setBreakpoints", source={"path": str(path)}, breakpoints=[{"line": line} for line in lines]
            )
            assert all(each["verified"] for each in found["breakpoints"]), found
        self.ask("configurationDone")
        self._answer(attached)

    def stopped(self) -> tuple[int, dict[str, Any]]:
        """The thread that has stopped next, and its innermost frame."""
        thread = self.event("stopped")["threadId"]
        frames = self.ask("stackTrace", threadId=thread)["stackFrames"]
        return thread, frames[0]

    def value(self, frame: dict[str, Any], expression: str) -> str:
        """What an expression is at a frame."""
        return str(
            self.ask("evaluate", expression=expression, frameId=frame["id"], context="watch")["result"]
        )

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """The body of the answer to a request."""
        return self._answer(self._send(command, arguments))

    def event(self, name: str) -> dict[str, Any]:
        """The body of the next event of a name."""
        return dict(self._next(lambda message: message.get("event") == name).get("body") or {})

    def _answer(self, number: int) -> dict[str, Any]:
        found = self._next(lambda message: message.get("request_seq") == number)
        assert found["success"], found
        return dict(found.get("body") or {})

    def _send(self, command: str, arguments: dict[str, Any]) -> int:
        self._sent += 1
        text = json.dumps(
            {"seq": self._sent, "type": "request", "command": command, "arguments": arguments}
        ).encode()
        self._socket.sendall(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        return self._sent

    def _next(self, wanted: Any) -> dict[str, Any]:
        while True:
            for at, message in enumerate(self._seen):
                if wanted(message):
                    return self._seen.pop(at)
            self._seen.append(self._read())

    def _read(self) -> dict[str, Any]:
        length = 0
        self._socket.settimeout(self._left())
        while line := self._stream.readline().strip():
            name, value = line.split(b":")
            length = int(value) if name.lower() == b"content-length" else length
        if not length:
            raise ConnectionError("the debugger has closed the connection")
        found: dict[str, Any] = json.loads(self._stream.read(length))
        return found


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
