"""What only kernels use, and what asks the machine for their cores, connections or buffers: importable, refused when it is used."""

from __future__ import annotations

from typing import Any, NoReturn

from tt_run.runtime.errors import fatal
from tt_run.runtime.native.classes import Native, native


def _refusal(name: str, why: str) -> RuntimeError:
    return fatal(
        f"ttnn.{name} is not emulated: {why}",
        hint="the emulation runs programs, not kernels; run this part of the program on hardware",
    )


@native("ttnn._ttnn.tensor_accessor_args.TensorAccessorArgs")
class TensorAccessorArgs(metaclass=Native):
    """How a kernel would find the pages of a tensor. Raises RuntimeError: there are no kernels."""

    def __init__(self, tensor: object) -> None:
        raise _refusal("TensorAccessorArgs", "it tells a kernel where a tensor's pages lie")


def setup_fabric_connection(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError: there are no kernels that could send through the fabric."""
    raise _refusal("setup_fabric_connection", "it connects a kernel to the fabric")


def setup_routing_plane_connection(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError, as `setup_fabric_connection` does."""
    raise _refusal("setup_routing_plane_connection", "it connects a kernel to the fabric")


_PIPELINE = (
    "it lays a pipeline over the links between meshes of a pod; name the stages and their sockets yourself"
)


def generate_blitz_decode_pipeline(initialize_loopback: bool = True) -> NoReturn:
    """Raises RuntimeError: links between meshes are not laid out here."""
    raise _refusal("_ttnn.multi_device.experimental.generate_blitz_decode_pipeline", _PIPELINE)


def resolve_blitz_decode_pipeline_allocation(initialize_loopback: bool = True) -> NoReturn:
    """Raises RuntimeError, as `generate_blitz_decode_pipeline` does."""
    raise _refusal("_ttnn.multi_device.experimental.resolve_blitz_decode_pipeline_allocation", _PIPELINE)
