"""`ttml.testing`: errors in units in the last place of bfloat16, tensors of a mesh as one array, a mesh for the length of a block."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import system_mesh
from tt_run.runtime.tensor.distribution import composers
from tt_run.runtime.tensor.distribution.configs import MeshComposerConfig
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.parallel import named_mesh

if TYPE_CHECKING:
    from tt_run.runtime.train.autograd.tensor import Tensor
    from tt_run.runtime.train.parallel.named_mesh import Mesh

Array = npt.NDArray[Any]

TP_AXIS_SIZE = 2
"""Devices along `tp` of the mesh that tests of tensor parallelism open."""

MANTISSA_BITS = 7
LEAST_NORMAL = 2.0**-126


def bf16_spacing(x: npt.ArrayLike) -> Array:
    """The distance of neighbouring bfloat16 numbers at x; below the least normal number it is that number's."""
    size = np.maximum(np.abs(np.asarray(x, np.float64)), LEAST_NORMAL)
    mantissa, exponent = np.frexp(size)
    # What rounds up to the next power of two has the spacing of that one.
    exponent = np.where(mantissa >= 1.0 - 2.0**-9, exponent, exponent - 1)
    found: Array = 2.0 ** (exponent - MANTISSA_BITS)
    return found


def ulp_error(got: Array, expected: Array) -> tuple[float, float]:
    """The largest |got - expected| in spacings at the largest |expected|, and the 99th percentile of errors in spacings at their own place."""
    error = np.abs(got - expected)
    scale = max(float(np.abs(expected).max()), 1e-30)
    return float(error.max() / bf16_spacing(scale)), float(np.percentile(error / bf16_spacing(expected), 99))


def assert_within_ulp(
    got: npt.ArrayLike, expected: npt.ArrayLike, label: str, max_ulp: float, max_ulp_p99: float = math.inf
) -> None:
    """Raise AssertionError, with both figures of `ulp_error`, where one exceeds its limit, or where shapes differ."""
    got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    if got.shape != expected.shape:
        raise AssertionError(f"{label}: shape {got.shape} != {expected.shape}")
    peak, percentile = ulp_error(got, expected)
    if peak > max_ulp or percentile > max_ulp_p99:
        raise AssertionError(
            f"{label}: ulp={peak:.2f} (limit {max_ulp}), ulp_p99={percentile:.2f} (limit {max_ulp_p99})"
        )


def mesh_composer(concat_dims: Mapping[str, int] | None = None) -> composers.MeshToTensor:
    """What joins the shards along each named axis of the open mesh on a dimension of its own: axis i on dimension i unless told otherwise.

    Raises AssertionError for two axes on one dimension.
    """
    mesh = named_mesh.mesh()
    dims = list(range(len(mesh.shape)))
    for name, dim in (concat_dims or {}).items():
        dims[mesh.axis_index(name)] = dim
    if len(set(dims)) != len(dims):
        raise AssertionError(f"composer needs distinct dims per axis, got {dims}")
    return composers.create_mesh_composer(AutoContext.get_instance().get_device(), MeshComposerConfig(dims))


def read_mesh_tensor(tensor: Tensor, concat_dims: Mapping[str, int] | None = None) -> Array:
    """The shards of a tensor side by side, in float64: copies too, one behind the other."""
    return tensor.to_numpy(DataType.FLOAT32, composer=mesh_composer(concat_dims)).astype(np.float64)


@contextlib.contextmanager
def device_mesh(shape: Sequence[int], axis_names: Sequence[str], reason: str) -> Iterator[Mesh]:
    """A named mesh for the length of a block; the test is skipped, with the reason, where the system has fewer chips."""
    (rows, columns), (first, second) = shape, axis_names
    present = math.prod(system_mesh().shape)
    if present < rows * columns:
        import pytest

        pytest.skip(f"{reason}: {present} chip(s) present, need {rows * columns}")
    named_mesh.close_device_mesh()
    named_mesh.open_device_mesh(named_mesh.Mesh((rows, columns), (first, second)))
    try:
        yield named_mesh.mesh()
    finally:
        named_mesh.close_device_mesh()
