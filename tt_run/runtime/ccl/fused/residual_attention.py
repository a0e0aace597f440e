"""Attention over residual streams of a row that is cut over devices: the live stream joins what was summed before it. Source: reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl.collectives import gather_as
from tt_run.runtime.ccl.plans import on_subdevice
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import DataType, Layout, Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import ordered_sums
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.elementwise import binary
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


@operation("ttnn.experimental.deepseek_prefill.attn_res_gather_softmax", family=families.COLLECTIVE)
@whole_call
def attn_res_gather_softmax(
    partial: Tensor,
    running_sum: Tensor,
    shift: Tensor,
    mass: Tensor,
    q: Tensor,
    stats: Tensor,
    semaphore: Any,
    *,
    cluster_axis: int,
    site: int = 0,
    inv_hidden_size: float,
    eps: float = 0.0,
    pending: Tensor | None = None,
    num_links: int | None = None,
    topology: Topology | None = None,
    subdevice_id: Any = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
) -> list[Tensor]:
    """The live stream running_sum [1, 1, N, d] folded by softmax into partial [R, 1, N, d], whose scores have the largest `shift` and `mass`.

    Its score is q . x / rms(x) over the whole rows, of which each device holds d columns; shift and mass are [R, 1, N, 1]. `site` picks
    of R sites; `pending` is added to the stream, and the sum is the second result. Raises RuntimeError for shapes that do not fit.
    """
    given = (partial, running_sum, shift, mass, q)
    device = on_device(*given, kind="residual attention")
    rows, width = tuple(running_sum.shape)[-2:]
    if tuple(device.shape)[cluster_axis] < 2:
        raise fatal(
            f"attn_res_gather_softmax needs more than one device on axis {cluster_axis}",
            hint=f"cluster_axis={1 - cluster_axis}, if there are more along it; on one device ttnn.softmax needs no gathering",
        )
    if tuple(partial.shape)[-2:] != (rows, width) or any(
        tuple(t.shape)[-2:] != (rows, 1) for t in (shift, mass)
    ):
        raise fatal(
            f"{', '.join(str(t.shape) for t in given)} do not fit each other",
            hint=f"partial [..., {rows}, {width}], shift and mass [..., {rows}, 1] for running_sum {running_sum.shape}",
        )
    if q.shape[-1] != width or any(site >= t.shape[0] > 1 for t in given) or site < 0:
        raise fatal(
            f"q {q.shape} must have {width} columns, and site {site} be one of those there are",
            hint=f"ttnn.slice q to {width} columns; site=0 is always there",
        )
    live = running_sum if pending is None else binary.add.compute(running_sum, pending)

    def own(x: Array, query: Array) -> Array:
        values = np.ascontiguousarray(x[:, 0, 0], np.float32)
        picked = _site(query, site).reshape(len(query), -1, width)
        return np.stack(
            [ordered_sums.total(values * picked[:, :1]), ordered_sums.total(np.square(values))], -1
        )[:, None, None]

    sums = settle((live, q), combine(own, live.shards, q.shards), DataType.FLOAT32, layout=Layout.ROW_MAJOR)
    tuning = topology, num_links, None, on_subdevice(subdevice_id)
    every = gather_as("attn_res_gather_softmax", sums, 3, cluster_axis, tuning)
    scale, small = np.float32(inv_hidden_size), np.float32(eps)

    def folded(before: Array, x: Array, highest: Array, weight: Array, parts: Array) -> Array:
        dots, squares = (ordered_sums.total(np.ascontiguousarray(parts[..., i::2])) for i in (0, 1))
        score = (dots / np.sqrt(squares * scale + small))[..., None]
        top = _site(highest, site)
        peak = np.maximum(top, score)
        old, new = np.exp(top - peak), np.exp(score - peak)
        mixed = (_site(before, site) * old + x * new) / (_site(weight, site) * old + new)
        return finish(np.ascontiguousarray(mixed, np.float32), running_sum.dtype)

    operands = (partial, live, shift, mass, every)
    shards = combine(folded, *(t.shards for t in operands))
    mixed = settle(
        (running_sum, *operands), shards, running_sum.dtype, layout=Layout.TILE, memory_config=memory_config
    )
    return [mixed] if pending is None else [mixed, live]


def _site(stack: Array, site: int) -> Array:
    """One site's plane of a stack (devices, sites, …); the only one there is counts for every site."""
    at = site if stack.shape[1] > 1 else 0
    return np.asarray(stack[:, at : at + 1], np.float32)
