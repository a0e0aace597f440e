"""What a program allocates before a point-to-point transfer: packets of whole pages. Source: reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.enums import Layout
from tt_run.runtime.mesh.device_queries import FABRIC_PAYLOAD_BYTES
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.tensor import pages
from tt_run.runtime.tensor.spec.tensor_spec import Shape, TensorSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, element_size


def intermediate_spec(
    input_tensor: Tensor,
    sender_coord: MeshCoordinate,
    receiver_coord: MeshCoordinate,
    topology: object = None,
) -> TensorSpec:
    """The spec of the tensor in which packets wait: a row for each, as many pages in it as a packet takes, at least one."""
    page, count = pages.page_bytes(input_tensor), pages.page_count(input_tensor)
    together = max(FABRIC_PAYLOAD_BYTES // page, 1)
    size = 1 if input_tensor.dtype in BLOCK_FLOATS else element_size(input_tensor.dtype)
    return TensorSpec(
        Shape((-(-count // together), together * page // size)), input_tensor.dtype, Layout.ROW_MAJOR
    )
