"""Gathers of one entry of a cache or of what of it is active, as prefill asks for: by numbers or by tensors that hold them.

Source: reference library 0.81.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl import form_checks
from tt_run.runtime.ccl.collectives import gather_as, result
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]
_NAME = "high_bw_all_gather"


@operation("ttnn.experimental.high_bw_all_gather", family=families.COLLECTIVE)
@whole_call
def high_bw_all_gather(
    input_tensor: Tensor,
    dim: int,
    output_tensor: Tensor,
    *,
    cluster_axis: int | None,
    subdevice_id: Any = None,
    sub_core_grids: Any = None,
    num_links: int | None = None,
    input_batch_index: int | None = None,
    gathered_dim_size: int | None = None,
    input_batch_index_tensor: Tensor | None = None,
    batch_slot_num_layers: int = 1,
    batch_slot_layer_idx: int = 0,
    gathered_prefix_tensor: Tensor | None = None,
    gathered_slab_global: int = 0,
    ready_semaphore: Any = None,
    data_valid_semaphore: Any = None,
) -> Tensor:
    """`all_gather` into `output_tensor`, of one entry of the first dimension or of the active part of `dim` if so asked.

    The entry is `input_batch_index`, or a layer of the user in input_batch_index_tensor. gathered_dim_size rows are active of all devices,
    or those up to the end of the slab after gathered_prefix_tensor's; each device's first ones are written into its part, the rest stays.
    """
    form_checks.check_gather_from_dram(input_tensor)
    _check_pairs(input_batch_index, input_batch_index_tensor, gathered_dim_size, gathered_prefix_tensor)
    tuning = None, num_links, None
    index = input_batch_index if input_batch_index_tensor is None else input_batch_index_tensor
    tensor = input_tensor
    if index is not None:
        tensor = _entry(tensor, index, (batch_slot_num_layers, batch_slot_layer_idx), dim)
    active = gathered_dim_size if gathered_prefix_tensor is None else gathered_prefix_tensor
    if active is None:
        return gather_as(_NAME, tensor, dim, cluster_axis, tuning, output_tensor)
    whole = gather_as(_NAME, tensor, dim, cluster_axis, tuning)
    dim %= len(tensor.shape)
    _check_extent(active, gathered_slab_global, whole.shape[dim], whole.shape[dim] // tensor.shape[dim])
    if list(output_tensor.shape) != list(whole.shape):
        return result(tensor, whole.shards, whole.tensor_topology(), None, output_tensor)  # which refuses it
    number = 0 if isinstance(active, Tensor) else int(active)
    given = (whole, output_tensor, *((active,) if isinstance(active, Tensor) else ()))

    def kept(found: Array, old: Array, *starts: Array) -> Array:
        out = old.copy()
        for device in range(len(found)):
            size = number
            if starts:
                size = _extent(starts[0][device], gathered_slab_global, found.shape[dim + 1])
            share = tensor.shape[dim]
            rows = np.arange(found.shape[dim + 1]) % share < size * share // found.shape[dim + 1]
            at = (device, *(slice(None),) * dim, rows)
            out[at] = found[at]
        return out

    shards = combine(kept, *(t.shards for t in given))
    return result(tensor, shards, whole.tensor_topology(), None, output_tensor)


def _check_pairs(
    index: int | None, index_tensor: Tensor | None, size: int | None, prefix: Tensor | None
) -> None:
    if index is not None and index_tensor is not None:
        raise fatal(
            f"{_NAME}: input_batch_index and input_batch_index_tensor are mutually exclusive -- pass the scalar OR the 1-element tensor, "
            "never both (the tensor is the trace-safe form)",
            hint="leave input_batch_index out",
        )
    if size is not None and prefix is not None:
        raise fatal(
            f"{_NAME}: gathered_dim_size and gathered_prefix_tensor are mutually exclusive -- pass the scalar extent OR the 1-element "
            "start-position tensor (the tensor is the trace-safe form)",
            "!args.gathered_dim_size.has_value()",
            hint="leave gathered_dim_size out",
        )
    for word, tensor in (("input_batch_index_tensor", index_tensor), ("gathered_prefix_tensor", prefix)):
        if tensor is not None and (tensor.dtype, tensor.layout) != (DataType.UINT32, Layout.ROW_MAJOR):
            raise fatal(
                f"{_NAME} {word} must be UINT32 and ROW_MAJOR, got {tensor.dtype} and {tensor.layout}",
                hint="ttnn.from_torch(number, dtype=ttnn.uint32, device=device)",
            )


def _entry(tensor: Tensor, index: int | Tensor, slots: tuple[int, int], dim: int) -> Tensor:
    """The entry of the first dimension that a number names, or a tensor by its user."""
    layers, layer = slots
    entries = tensor.shape[0]
    if dim in (0, -len(tensor.shape)):
        raise fatal(
            f"{_NAME} input_batch_index cannot be used when gathering dim 0",
            hint="dim=… of another dimension",
        )
    if isinstance(index, int):
        _check_entry(index, entries)
        return tensor.derive(combine(lambda stack: stack[:, index : index + 1].copy(), tensor.shards))
    if layers < 1 or entries % layers or not 0 <= layer < layers:
        raise fatal(
            f"{_NAME} batch_slot_layer_idx {layer} must be < batch_slot_num_layers {layers}, which divides the {entries} slots",
            "args.batch_slot_layer_idx < args.batch_slot_num_layers",
            hint="batch_slot_num_layers=1 and batch_slot_layer_idx=0 of a cache of one layer",
        )

    def of_user(stack: Array, users: Array) -> Array:
        out = np.empty((len(stack), 1, *stack.shape[2:]), stack.dtype)
        for device, row in enumerate(stack):
            place = int(users[device].reshape(-1)[0]) * layers + layer
            _check_entry(place, entries)
            out[device, 0] = row[place]
        return out

    return tensor.derive(combine(of_user, tensor.shards, index.shards))


def _check_entry(index: int, entries: int) -> None:
    if not 0 <= index < entries:
        raise fatal(
            f"{_NAME} input_batch_index {index} must be < input batch {entries}",
            hint=f"input_batch_index=0 to {entries - 1}",
        )


def _check_extent(active: int | Tensor, slab: int, full: int, devices: int) -> None:
    """Raises RuntimeError for an active part that is not all devices' alike, or slabs that are not."""
    if isinstance(active, int):
        if not 0 < active <= full or active % devices:
            raise fatal(
                f"{_NAME} gathered_dim_size {active} must be in (0, {full}] and a multiple of the {devices} devices",
                "gathered_dim_size > 0 && gathered_dim_size <= expected_output_shape[args.dim]",
                hint=f"gathered_dim_size={full} is all of it",
            )
    elif slab < 1 or slab % devices or full % slab:
        raise fatal(
            f"{_NAME} gathered_slab_global {slab} must divide the full gathered extent {full}, in parts for {devices} devices",
            "full_gathered_dim_size % operation_attributes.gathered_slab_global == 0",
            hint=f"gathered_slab_global={full} is one slab",
        )


def _extent(start: Array, slab: int, full: int) -> int:
    """How much is active: up to the end of the slab after a start."""
    end = int(start.reshape(-1)[0]) + slab
    return min(-(-end // slab) * slab, full)
