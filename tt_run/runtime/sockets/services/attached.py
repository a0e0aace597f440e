"""What a service of another process can do here: what concerns its mesh is for the process that made it."""

from __future__ import annotations

from typing import NoReturn

from tt_run.runtime.sockets.attaching import Attachment, owners_only, spec_from
from tt_run.runtime.sockets.services.service import StreamService
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec


class AttachedService(StreamService):
    """An attached service; there is no mesh here."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment
        self._global = spec_from(attachment.facts["spec"])
        self._metadata = int(attachment.facts["metadata"])

    def barrier(self, timeout_ms: int | None = None) -> None:
        """What the owner's `barrier` does. Raises RuntimeError with what it says against it."""
        self._attachment.ask({"do": "barrier"})

    def get_per_shard_spec(self) -> TensorSpec:
        """The spec of one device's part."""
        spec = spec_from(self._attachment.facts["part"])
        if spec is None:
            raise owners_only("get_per_shard_spec")
        return spec

    def get_backing_tensor(self) -> NoReturn:
        """It is on the mesh of another process: raises RuntimeError."""
        raise owners_only("get_backing_tensor")

    def get_worker_cores(self) -> NoReturn:
        """They are of the mesh of another process: raises RuntimeError."""
        raise owners_only("get_worker_cores")

    def export_descriptor(self, service_id: str) -> NoReturn:
        """Only the process that has the mesh exports: raises RuntimeError."""
        raise owners_only("export_descriptor")
