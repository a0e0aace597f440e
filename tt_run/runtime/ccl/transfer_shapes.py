"""What a program allocates before a point-to-point transfer: packets of whole pages. Source: reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.ccl import memory_checks
from tt_run.runtime.ccl.exchange import fabric
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh.device_queries import FABRIC_PAYLOAD_BYTES
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.tensor import pages
from tt_run.runtime.tensor.spec.tensor_spec import Shape, TensorSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import element_size


def intermediate_spec(
    input_tensor: Tensor,
    sender_coord: MeshCoordinate,
    receiver_coord: MeshCoordinate,
    topology: object = None,
) -> TensorSpec:
    """The spec of the tensor in which packets wait: a row for each, as many pages in it as a packet takes.

    A page that is longer than a packet takes several. It has the layout of the tensor. Raises RuntimeError for block floats.
    """
    memory_checks.check_packets(input_tensor)
    count, step = pages.page_count(input_tensor), memory_checks.PAGE_STEP
    page = -(-pages.page_bytes(input_tensor) // step) * step
    packet = FABRIC_PAYLOAD_BYTES + fabric.packet_header_bytes()
    if input_tensor.dtype is DataType.BFLOAT16:
        packet = 1 << packet.bit_length() - 1
    if page > packet:
        rows, width = count * -(-page // packet), packet
    else:
        together = min(packet // page, count)
        rows, width = -(-count // together), together * page
    return TensorSpec(
        Shape((rows, width // element_size(input_tensor.dtype))),
        input_tensor.dtype,
        input_tensor.layout,
        input_tensor.memory_config().buffer_type,
    )
