"""Comparison mode: every operation is compared with its golden function, on each distinct shard of this rank.

Switched by `ttnn.CONFIG.enable_comparison_mode`. A result whose correlation with the golden one is below
`CONFIG.comparison_mode_pcc` is told on the log of `ttnn`, or raises with `CONFIG.comparison_mode_should_raise_exception`.
It looks at operations from outside, before and after; their values and order are what they are without it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime import events
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.ops.declaration.costs import tensors
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.ops.goldens.creation_goldens import SOURCE
from tt_run.runtime.settings import CONFIG
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tools.comparison_records import note
from tt_run.runtime.tools.tensor_ids import get_output_tensor_ids, produced, set_tensor_id
from tt_run.runtime.tools.tolerances import correlation
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, quantize

Array = npt.NDArray[Any]
_log = logging.getLogger("ttnn")
_leave: Callable[[], None] | None = None
_RANDOM = frozenset(["ttnn.uniform", "ttnn.bernoulli", "ttnn.sampling"])


def switch(on: bool) -> None:
    """Begin or end comparing."""
    global _leave
    if on and _leave is None:
        _leave = events.precede(_before)
    elif not on and _leave is not None:
        _leave()
        _leave = None


def _before(begun: events.Begun) -> events.After | None:
    """Compute the golden results from the operands as they are before the operation, which may write over them."""
    operation = begun.subject
    if not isinstance(operation, FastOperation):
        return None
    wanted = _wanted(operation, begun)

    def after(result: Any, error: BaseException | None) -> None:
        if error is not None:
            return
        for device, golden in wanted.items():
            _compare(operation.name, device, golden, result)
        produced.update(get_output_tensor_ids(result))

    return after


def _wanted(operation: FastOperation, begun: events.Begun) -> dict[int, Any]:
    """The golden results by local device; none where there is no golden function, or it does not take the call."""
    if operation.golden is None or operation.name in _RANDOM:
        return {}
    devices = _devices(begun.args, begun.kwargs)
    try:
        return {device: _golden(operation, begun.args, begun.kwargs, device) for device in devices}
    except Exception as error:
        _log.warning("%s: no golden result to compare with: %s", operation.name, error)
        return {}


def _devices(args: Any, kwargs: Any) -> list[int]:
    """Local devices, one for each distinct combination of the operands' shards."""
    given = list(tensors((args, tuple(kwargs.values()))))
    found: dict[tuple[int, ...], int] = {}
    for device, rows in enumerate(zip(*(t.shards.index for t in given), strict=True)):
        if min(rows) >= 0:
            found.setdefault(rows, device)
    return list(found.values())


def _golden(operation: FastOperation, args: Any, kwargs: Any, device: int) -> Any:
    from tt_run.runtime.tools.golden import (
        get_golden_function,  # not before it is needed: it loads the tables of operations
    )

    before, after = (operation.__dict__.get(word) for word in ("before_golden", "after_golden"))
    with torch_cpu.quiet():
        given, named = before(args, kwargs) if before else (args, kwargs)
        result = get_golden_function(operation)(
            *(_shard(a, device) for a in given), **{k: _shard(v, device) for k, v in named.items()}
        )
        return _shard(after(result, args, kwargs), device) if after else result


def _shard(value: Any, device: int) -> Any:
    """A torch tensor in place of a tensor: float32, or int64 for integers."""
    if isinstance(value, Tensor):
        shard = np.asarray(value.shards.of(device))
        values = torch_cpu.library().from_numpy(
            shard.astype(np.float32 if shard.dtype.kind == "f" else np.int64)
        )
        setattr(values, SOURCE, value.dtype)
        return values
    if isinstance(value, (list, tuple)):
        return type(value)(_shard(item, device) for item in value)
    return value


def _compare(name: str, device: int, golden: Any, result: Any) -> None:
    for place, (wanted, found) in enumerate(zip(_leaves(golden), tensors(result), strict=False)):
        if not hasattr(wanted, "detach") or wanted.is_complex():
            continue
        shard = found.shards.of(device)
        if found.dtype in BLOCK_FLOATS and wanted.dim():
            rounded = quantize(np.ascontiguousarray(wanted.detach().float().numpy()), found.dtype)
            wanted = _carried(wanted, torch_cpu.library().from_numpy(rounded))
        matches, pcc = _agreement(wanted, shard)
        _note(found, wanted, matches, pcc)
        if matches:
            continue
        text = (
            f"{name}: Comparing output tensor {place} against CPU failed: pcc is {pcc} but should be >= "
            f"{CONFIG.comparison_mode_pcc}"
        )
        if CONFIG.comparison_mode_should_raise_exception:
            raise RuntimeError(text)
        _log.error(text)


def _carried(golden: Any, rounded: Any) -> Any:
    """Rounded values with what the golden tensor asks for beside them."""
    rounded.__dict__.update(golden.__dict__)
    return rounded


def _note(found: Tensor, golden: Any, matches: bool, pcc: float) -> None:
    from tt_run.runtime.tools.compared import record_of  # not before it is needed: it loads PyTorch

    set_tensor_id(golden)
    note(record_of(found, golden, matches, CONFIG.comparison_mode_pcc, pcc))


def _agreement(golden: Any, shard: Array | None) -> tuple[bool, float]:
    """Whether a shard is close to its golden one, and their correlation, or what the golden tensor asks for in its place."""
    from tt_run.runtime.tools.compared import asked_of, close  # not before it is needed: it loads PyTorch

    shape = tuple(golden.shape)
    if shard is None or shard.shape != shape:
        return False, 0.0
    if asked_of(golden) is not None:
        kind = np.float32 if shard.dtype.kind == "f" else np.int64
        output = torch_cpu.library().from_numpy(np.asarray(shard).astype(kind))
        return close(golden, output.to(golden.dtype), CONFIG.comparison_mode_pcc)
    pcc = correlation(golden.detach().double().numpy(), np.asarray(shard))
    return pcc >= CONFIG.comparison_mode_pcc, pcc


def _leaves(golden: Any) -> Iterator[Any]:
    if isinstance(golden, (list, tuple)):
        yield from golden
    else:
        yield golden
