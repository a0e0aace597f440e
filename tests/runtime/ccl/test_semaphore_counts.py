"""How many semaphores the forms of collectives take, of whole tiles and of others, as reference library 0.81.1 does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tt_run.runtime import catalog
from tt_run.runtime.ccl import semaphore_counts
from tt_run.runtime.ccl.semaphores import create_global_semaphore
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import DataType, Layout, ReduceType, Topology
from tt_run.runtime.mesh import MeshDevice, MeshShape, close_mesh_device, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMesh

Call = Callable[[Any, Any, Any], Any]


@pytest.fixture(scope="module")
def device() -> Iterator[MeshDevice]:
    mesh = open_mesh_device(MeshShape(1, 8))
    yield mesh
    close_mesh_device(mesh)


def put(device: MeshDevice, *shape: int) -> Any:
    return from_torch(
        np.ones(shape, np.float32),
        dtype=DataType.BFLOAT16,
        layout=Layout.TILE,
        device=device,
        mesh_mapper=ReplicateTensorToMesh(device),
    )


def named(name: str) -> Any:
    return catalog.find(f"ttnn.experimental.{name}")


def made(device: MeshDevice, count: int) -> list[Any]:
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(7, 6))])
    return [create_global_semaphore(device, cores, 0) for _ in range(count)]


def total(device: Any, x: Any, **others: Any) -> Any:
    given = {"barrier_semaphores": 2, "rs_global_semaphores": 3, "ag_global_semaphores": 2, **others}
    each = {name: made(device, count) for name, count in given.items()}
    return named("all_reduce_async")(x, 1, device, math_op=ReduceType.Sum, **each)


GATHER, SCATTER = "Default implementation requires 2 semaphores", "Expected 3 semaphores but got {}"
# What is called, how many it takes, what it says of another number, and which numbers are asked.
FORMS: dict[str, tuple[Call, Callable[[int], bool], str]] = {
    "gather": (lambda d, x, n: named("all_gather_async")(x, 3, made(d, n)), lambda n: n == 2, GATHER),
    "into a buffer": (
        lambda d, x, n: named("all_gather_async")(x, None, 3, made(d, n), topology=Topology.Linear),
        lambda n: n == 2,
        GATHER,
    ),
    "along an axis": (
        lambda d, x, n: named("all_gather_async")(x, 3, 1, d, Topology.Linear, made(d, n)),
        lambda n: n == 2,
        GATHER,
    ),
    "broadcast": (
        lambda d, x, n: named("all_gather_async")(x, None, 3, made(d, n), use_broadcast=True),
        lambda n: True,
        "",
    ),
    "reversed": (
        lambda d, x, n: named("all_gather_async_reversed")(x, 3, made(d, n)),
        lambda n: n == 2,
        GATHER,
    ),
    "scatter": (
        lambda d, x, n: named("reduce_scatter_minimal_async")(x, None, 3, made(d, n)),
        lambda n: n == 3,
        SCATTER,
    ),
    "barriers": (
        lambda d, x, n: total(d, x, barrier_semaphores=n),
        lambda n: n == 2,
        "Barrier semaphores must be of size 2",
    ),
    "scatter of a sum": (lambda d, x, n: total(d, x, rs_global_semaphores=n), lambda n: n == 3, SCATTER),
    "gather of a sum": (lambda d, x, n: total(d, x, ag_global_semaphores=n), lambda n: n == 2, GATHER),
    "strided": (
        lambda d, x, n: named("strided_all_gather_async")(x, None, 3, made(d, n), cluster_axis=1),
        lambda n: n >= 2,
        "vector::_M_range_check: __n (which is {0}) >= this->size() (which is {0})",
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", range(5))
def test_of_whole_tiles(device: MeshDevice, form: str, count: int) -> None:
    call, takes, words = FORMS[form]
    x = put(device, 1, 1, 32, 256)
    if takes(count):
        assert call(device, x, count).shape.rank == 4
        return
    with pytest.raises(RuntimeError, match=re.escape(words.format(count))) as refused:
        call(device, x, count)
    assert f" has {count}, give {3 if takes(3) and not takes(2) else 2}: " in str(refused.value)


@pytest.mark.parametrize("form", ["gather", "into a buffer", "along an axis", "reversed", "scatter"])
def test_what_is_made_of_several_takes_any_number(device: MeshDevice, form: str) -> None:
    for count in range(4):
        assert FORMS[form][0](device, put(device, 1, 1, 30, 40), count).shape.rank == 4


def test_another_dimension_is_refused_first(device: MeshDevice) -> None:
    with pytest.raises(RuntimeError, match="gather dim 7"):
        named("all_gather_async")(put(device, 1, 1, 32, 256), 7, made(device, 3))


def test_gathers_for_attention_read_two(device: MeshDevice) -> None:
    x, out = put(device, 1, 1, 64, 64), put(device, 1, 1, 512, 64)
    gather = named("ring_attention_all_gather_async")
    rest = {"cluster_axis": 1, "mesh_device": device, "topology": Topology.Linear}
    with pytest.raises(RuntimeError, match=r"__n \(which is 1\)"):
        gather([x], [out], 2, multi_device_global_semaphore=made(device, 1), **rest)
    assert gather([x], [out], 2, multi_device_global_semaphore=made(device, 3), **rest)


@pytest.mark.parametrize(
    ("dim", "counted"), [(-2, True), (-1, True), (0, True), (1, True), (2, False), (-3, False)]
)
def test_a_dimension_that_others_refuse_has_no_number_of_semaphores(
    device: MeshDevice, dim: int, counted: bool
) -> None:
    x = put(device, 256, 256)
    for check, words in (
        (lambda: semaphore_counts.check_gather(x, dim, made(device, 1)), GATHER),
        (lambda: semaphore_counts.check_scatter(x, dim, 8, made(device, 2)), SCATTER.format(2)),
    ):
        if not counted:
            check()
            continue
        with pytest.raises(RuntimeError, match=words):
            check()


@pytest.mark.parametrize(("count", "refused"), [(0, True), (1, True), (2, False), (3, False), (None, False)])
def test_a_kernel_beside_a_gather_reads_two_semaphores(
    device: MeshDevice, count: int | None, refused: bool
) -> None:
    given = None if count is None else made(device, count)
    if not refused:
        semaphore_counts.check_pair(given)
        return
    with pytest.raises(RuntimeError) as error:
        semaphore_counts.check_pair(given)
    text = str(error.value)
    assert f"__n (which is {count}) >= this->size() (which is {count})" in text
    assert f"multi_device_global_semaphore has {count}, give 2: [" in text and "for _ in range(2)]" in text
