"""The state folder of a cluster: the files through which its parts find each other."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Config:
    """What a cluster is: its hosts with their addresses, whether each runs an sshd, seconds without use until it removes itself (0: never)."""

    hosts: dict[str, str]
    sshd: bool
    ttl: float
    login_env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class State:
    """Names of the files in one state folder."""

    folder: Path

    @property
    def config_file(self) -> Path:
        return self.folder / "cluster.json"

    def use(self) -> None:
        """Says that somebody uses the cluster."""
        with contextlib.suppress(OSError):
            os.utime(self.config_file)

    def idle(self) -> float | None:
        """Seconds since it was used last; None once it is gone."""
        try:
            return time.time() - self.config_file.stat().st_mtime
        except FileNotFoundError:
            return None

    @property
    def pid_file(self) -> Path:
        return self.folder / "switch.pid"

    @property
    def orders(self) -> Path:
        """A fifo: lines `kill HOST`, `cut HOST`, `heal HOST`."""
        return self.folder / "orders"

    @property
    def agent(self) -> Path:
        """A script that stands in for ssh. Remote daemons start others with it too, so it must be one absolute word."""
        return self.folder / "agent"

    @property
    def etc_hosts(self) -> Path:
        return self.folder / "hosts"

    @property
    def ready(self) -> Path:
        return self.folder / "ready"

    @property
    def failed(self) -> Path:
        return self.folder / "failed"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def socket(self, host: str) -> Path:
        return self.folder / f"{host}.sock"

    @contextlib.contextmanager
    def address(self, host: str) -> Iterator[str]:
        """The socket's address while the block runs: through the folder's descriptor, since an address holds 107 bytes and a folder may be deeper."""
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield f"/proc/self/fd/{folder}/{self.socket(host).name}"
        finally:
            os.close(folder)

    def tmp(self, host: str) -> Path:
        return self.folder / f"tmp.{host}"

    def done(self, verb: str, host: str) -> Path:
        return self.folder / f"done.{verb}.{host}"

    def read(self) -> Config:
        return Config(**json.loads(self.config_file.read_text()))

    def write(self, config: Config) -> None:
        self.config_file.write_text(json.dumps(asdict(config)))
