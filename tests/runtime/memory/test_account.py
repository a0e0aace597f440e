"""What devices hold over time: allocate, free, forget, submeshes, lines, what comes too late, what does not fit."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest

from tests.sweep import thinned
from tt_run.runtime.ccl.semaphores import create_global_semaphore
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout
from tt_run.runtime.memory import report
from tt_run.runtime.memory.account import MemoryAccount
from tt_run.runtime.memory.enforce import refuse_buffers_that_do_not_fit, refuse_what_does_not_fit
from tt_run.runtime.memory.footprint import banks_of
from tt_run.runtime.memory.report import summary, svg, text
from tt_run.runtime.memory.views import (
    allocator_base_address,
    get_device_info,
    get_memory_view,
    max_worker_l1_bytes,
)
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.mesh.opening import open_mesh_device
from tt_run.runtime.ops.attention.prefill import scaled_dot_product_attention
from tt_run.runtime.ops.data_movement.joining import concat
from tt_run.runtime.ops.data_movement.joining import slice as cut
from tt_run.runtime.ops.data_movement.movement import (
    pad,
    permute,
    reshape,
    squeeze,
    transpose,
    unsqueeze,
    unsqueeze_to_4D,
)
from tt_run.runtime.ops.data_movement.repeating import repeat
from tt_run.runtime.ops.elementwise.binary import add
from tt_run.runtime.ops.products.operations import linear, matmul
from tt_run.runtime.tensor.conversion.layouts import to_memory_config
from tt_run.runtime.tensor.creation.from_shape import empty
from tt_run.runtime.tensor.distribution.per_device import get_device_tensors
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.blocks import SDPAProgramConfig
from tt_run.runtime.tuning.matmul import MatmulMultiCoreReuseMultiCastProgramConfig
from tt_run.runtime.values import shapes
from tt_run.runtime.values.storage import Buffer

TILE = 2048
EIGHT = frozenset(range(8))


@pytest.fixture
def account() -> Iterator[MemoryAccount]:
    """An account that counts while a test runs."""
    made = MemoryAccount()
    made.start()
    yield made
    made.stop()
    assert not Tensor.observers and Buffer.freed is None


def one_tile(mesh: MeshDevice, tiles: int = 1) -> Tensor:
    return empty((32, 32 * tiles), DataType.BFLOAT16, Layout.TILE, device=mesh)


def now(account: MemoryAccount) -> int:
    return sum(held["DRAM"].now for held in account.held.values())


def test_buffers_count_until_given_back_or_forgotten(account: MemoryAccount, mesh: MeshDevice) -> None:
    first, second = one_tile(mesh), one_tile(mesh, 3)
    assert now(account) == 4 * TILE
    first.deallocate()
    first.deallocate()
    assert now(account) == 3 * TILE
    del second
    gc.collect()
    assert now(account) == 0
    [held] = account.held.values()
    assert held["DRAM"].peak == 4 * TILE
    assert [a.dropped for a in account.ended] == [False, True]


STAYS = [
    # Shape, layout, and what makes it one of another shape: which of them move nothing was captured from reference library 0.81.1.
    ((64, 64), "TILE", lambda t: reshape(t, (2, 32, 64)), True),
    ((64, 64), "TILE", lambda t: reshape(t, (4, 16, 64)), False),
    ((64, 64), "TILE", lambda t: reshape(t, (32, 128)), False),
    ((64, 64), "TILE", lambda t: reshape(t, (2, 32, 64), memory_config=L1_MEMORY_CONFIG), False),
    ((2, 40, 64), "TILE", lambda t: reshape(t, (1, 2, 40, 64)), True),
    ((2, 40, 64), "TILE", lambda t: reshape(t, (80, 64)), False),
    ((1, 64), "TILE", lambda t: reshape(t, (64,)), True),
    ((48, 64), "ROW_MAJOR", lambda t: reshape(t, (2, 24, 64)), True),
    ((48, 64), "ROW_MAJOR", lambda t: reshape(t, (24, 128)), False),
    ((48, 64), "TILE", lambda t: unsqueeze(t, 0), True),
    ((1, 48, 64), "TILE", lambda t: squeeze(t, 0), True),
    ((64, 64), "TILE", unsqueeze_to_4D, True),
    ((64, 64), "TILE", lambda t: permute(t, (0, 1)), True),
    ((64, 64), "TILE", lambda t: permute(t, (1, 0)), False),
    ((1, 1, 64, 64), "TILE", lambda t: transpose(t, 0, 1), True),
    ((64, 64), "TILE", lambda t: concat([t], 0), True),
    ((64, 64), "TILE", lambda t: cut(t, [0, 0], [64, 64]), True),
    ((64, 64), "TILE", lambda t: cut(t, [0, 0], [32, 64]), False),
    ((64, 64), "TILE", lambda t: pad(t, [(0, 0), (0, 0)], 0.0), True),
    ((64, 64), "TILE", lambda t: repeat(t, (1, 1)), True),
    ((64, 64), "TILE", lambda t: to_memory_config(t, t.memory_config()), True),
    ((64, 64), "TILE", lambda t: to_memory_config(t, L1_MEMORY_CONFIG), False),
]


@pytest.mark.parametrize(("shape", "layout", "operation", "stays"), thinned(STAYS, 3))
def test_another_shape_of_the_same_bytes_takes_no_room(
    account: MemoryAccount,
    mesh: MeshDevice,
    shape: tuple[int, ...],
    layout: str,
    operation: Callable[[Tensor], Tensor],
    stays: bool,
) -> None:
    tensor = empty(shape, DataType.BFLOAT16, Layout[layout], device=mesh)
    before = len(account.live)
    result = operation(tensor)
    assert len(account.live) == before + (not stays)
    if stays:
        del tensor
        gc.collect()
        assert len(account.live) == before  # its bytes are still looked at
        result.deallocate(True)
        assert not account.live


def test_parts_of_a_tensor_are_the_tensor(account: MemoryAccount, mesh: MeshDevice) -> None:
    whole = one_tile(mesh)
    parts = get_device_tensors(whole)
    assert len(parts) == 8
    assert now(account) == TILE


def test_devices_that_hold_the_same_are_one_entry(account: MemoryAccount, mesh: MeshDevice) -> None:
    kept = [one_tile(mesh)]
    assert list(account.held) == [frozenset(mesh.positions)]
    submesh = mesh.create_submesh(MeshShape(2, 2))
    kept.append(one_tile(submesh, 2))
    peaks = {len(devices): held["DRAM"].now for devices, held in account.held.items()}
    inside = frozenset(submesh.positions)
    assert {inside, frozenset(mesh.positions) - inside} == set(account.held)
    assert account.held[inside]["DRAM"].now == 3 * TILE
    assert min(peaks.values()) == TILE


def test_the_report_names_lines_and_what_comes_too_late(account: MemoryAccount, mesh: MeshDevice) -> None:
    used = one_tile(mesh)
    held_too_long = add(used, used)
    larger = add(one_tile(mesh, 8), 1.0)
    held_too_long.deallocate()
    found = summary(account)
    [entry] = found["sets"]
    assert entry["peak"] == 18 * TILE
    assert all("test_account.py:" in each["site"] for each in entry["sites"])
    [late] = entry["late"]
    assert late["bytes"] == TILE
    said = text([{"rank": 0, **found}])
    assert "unused at the peak, given back later" in said
    assert "8 devices" in said
    assert svg([{"rank": 0, **found}]).startswith("<svg")
    del larger


def test_what_does_not_fit_is_refused_with_lines(mesh: MeshDevice) -> None:
    account = MemoryAccount(refuse_what_does_not_fit)
    account.start()
    try:
        with shapes.only():
            kept = empty((1, 1, 32768, 131072), DataType.BFLOAT16, Layout.TILE, device=mesh)
            with pytest.raises(RuntimeError, match="Out of Memory: Not enough space to allocate") as error:
                empty((1, 1, 32768, 131072), DataType.BFLOAT16, Layout.TILE, device=mesh)
        assert "DRAM buffer across 12 banks" in str(error.value)
        assert "but bank size is 1072693184 B (allocated: 715829248 B" in str(error.value)
        assert str(error.value).count("test_account.py:") == 2
        assert kept.is_allocated()
    finally:
        account.stop()


def test_what_is_free_in_pieces_does_not_hold_one_buffer(mesh: MeshDevice) -> None:
    """A bank of 1,022 MiB: 427 and 342 MiB are taken, the first given back; 595 are free, the largest piece is the first one's."""
    account = MemoryAccount(refuse_what_does_not_fit)
    account.start()

    def rows(count: int) -> Tensor:
        return empty((1, 1, count * 1024, 65536), DataType.BFLOAT16, Layout.TILE, device=mesh)

    try:
        with shapes.only():
            first = rows(40)
            kept = rows(32)
            first.deallocate()
            with pytest.raises(RuntimeError, match="Out of Memory") as error:
                rows(48)
            fitting = rows(40)
        assert "allocated: 357914624 B" in str(error.value)
        assert "largest free block: 4473" in str(error.value) and "not in one piece" in str(error.value)
        del kept, fitting
    finally:
        account.stop()


@pytest.fixture
def regions() -> Iterator[MeshDevice]:
    """A chip of which a program keeps a part from tensors."""
    device = open_mesh_device(MeshShape(1, 1), l1_small_size=32768, trace_region_size=1_000_000)
    yield device
    device.close()


def test_what_traces_and_small_buffers_have_tensors_cannot(
    account: MemoryAccount, regions: MeshDevice
) -> None:
    whole = banks_of("wormhole_b0")
    held = one_tile(regions)
    share = 11 * 8192  # a twelfth of a million bytes, in whole pieces
    assert whole["DRAM"].size - account.bank("DRAM").size == share
    assert whole["L1"].size - account.bank("L1").size == 32768
    view = get_memory_view(regions, BufferType.DRAM)
    assert view.total_bytes_per_bank == account.bank("DRAM").size
    for kind, size in ((BufferType.TRACE, share), (BufferType.L1_SMALL, 32768)):
        assert get_memory_view(regions, kind).total_bytes_per_bank == size
    submesh = regions.create_submesh(MeshShape(1, 1))
    assert submesh.regions == regions.regions
    held.deallocate()


def test_what_lies_on_a_device_goes_with_it(account: MemoryAccount) -> None:
    """Tensors that a program still knows are not on the next device that it opens."""
    device = open_mesh_device(MeshShape(1, 2))
    below = device.create_submesh(MeshShape(1, 1))
    kept = [one_tile(device), one_tile(below)]
    semaphore = create_global_semaphore(
        device, CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))]), 0
    )
    assert len(account.live) == 3
    below.close()
    assert len(account.live) == 2
    device.close()
    assert not account.live
    after = open_mesh_device(MeshShape(1, 1))
    for kind in (BufferType.DRAM, BufferType.L1):
        assert get_memory_view(after, kind).total_bytes_allocated_per_bank == 0
    after.close()
    del kept, semaphore


def test_l1_has_a_bank_for_each_worker_core(mesh: MeshDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which are more on a Galaxy: 8 x 9."""
    assert get_memory_view(mesh, BufferType.L1).num_banks == 64
    monkeypatch.setattr("tt_run.runtime.memory.footprint.cores_of", lambda _: 72)
    monkeypatch.setattr("tt_run.runtime.memory.views.cores_of", lambda _: 72)
    assert get_memory_view(mesh, BufferType.L1).num_banks == 72
    held = empty((72 * 32, 32), DataType.BFLOAT16, Layout.TILE, mesh, L1_MEMORY_CONFIG)
    assert get_memory_view(mesh, BufferType.L1).total_bytes_allocated_per_bank == TILE
    held.deallocate()


def test_a_global_semaphore_takes_a_word_of_its_cores(account: MemoryAccount, mesh: MeshDevice) -> None:
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(3, 1))])
    made = create_global_semaphore(mesh, cores, 0)
    [held] = account.held.values()
    assert (held["L1"].now, held["L1"].bank_now) == (8 * 16, 32)  # as the reference's allocator rounds it
    [allocation] = account.live.values()
    assert allocation.site.rpartition(":")[0].endswith("test_account.py")
    del made
    gc.collect()
    assert held["L1"].now == 0 and not account.live


def test_a_memory_view_shows_the_holes_of_the_account(
    account: MemoryAccount, mesh: MeshDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tt_run.runtime.memory.views.running_account", lambda: account)
    first, second = one_tile(mesh, 12), one_tile(mesh, 24)
    first.deallocate()
    view = get_memory_view(mesh, BufferType.DRAM)
    taken = [(block["address"], block["size"], block["allocated"]) for block in view.block_table]
    end = view.total_bytes_per_bank
    rest = ("6144", str(end - 6144), "no")
    assert taken == [("0", "2048", "no"), ("2048", "4096", "yes"), rest]
    assert view.largest_contiguous_bytes_free_per_bank == end - 6144
    assert view.total_bytes_free_per_bank == end - 4096
    second.deallocate()


# What an operation is given, and the bytes of circular buffers on each core that its blocks come to.
BLOCKS = {"compute_with_storage_grid_size": (8, 8), "out_subblock_h": 1, "out_subblock_w": 1}
WIDE = {**BLOCKS, "per_core_M": 8, "per_core_N": 8, "transpose_mcast": False}
CALLS = [
    (matmul, MatmulMultiCoreReuseMultiCastProgramConfig(in0_block_w=8, **WIDE), (2 * 2 * 64 + 64) * TILE),
    (matmul, MatmulMultiCoreReuseMultiCastProgramConfig(in0_block_w=64, **WIDE), (2 * 512 + 64) * TILE),
    (
        linear,
        MatmulMultiCoreReuseMultiCastProgramConfig(in0_block_w=8, out_block_h=4, **WIDE),
        (2 * 32 + 2 * 64 + 32) * TILE,
    ),
    (matmul, None, 0),
]


@pytest.mark.parametrize(("operation", "config", "size"), CALLS)
def test_circular_buffers_are_at_least_the_blocks_that_a_program_chose(
    account: MemoryAccount, mesh: MeshDevice, operation: Callable[..., Tensor], config: object, size: int
) -> None:
    with shapes.only():
        operand = empty((2048, 2048), DataType.BFLOAT16, Layout.TILE, device=mesh)
        operation(operand, operand, program_config=config)
    [held] = account.held.values()
    assert (held["L1"].buffers.size if held["L1"].buffers else 0) == size
    [part] = summary(account)["sets"][1:] or [{}]
    assert part.get("fits", True) is (size <= banks_of("wormhole")["L1"].size)
    assert ("circular buffers: at least" in text([{"rank": 0, "sets": [part]}] if part else [])) is bool(size)


def test_attention_in_chunks_and_tensors_in_l1_share_it(mesh: MeshDevice) -> None:
    account = MemoryAccount(refuse_what_does_not_fit, refuse_buffers_that_do_not_fit)
    account.start()
    config = SDPAProgramConfig(compute_with_storage_grid_size=(8, 8), q_chunk_size=256, k_chunk_size=512)
    try:
        with shapes.only():
            queries = empty((1, 8, 4096, 128), DataType.BFLOAT16, Layout.TILE, device=mesh)
            scaled_dot_product_attention(queries, queries, queries, program_config=config)
            [held] = account.held.values()
            taken = (8 * 4 + 2 * 2 * 16 * 4 + 8 * 16 + 2 * 8 * 4 + 8 * 4) * TILE
            assert held["L1"].buffers is not None and held["L1"].buffers.size == taken
            kept = empty(
                (8 * 4096, 512), DataType.BFLOAT16, Layout.TILE, device=mesh, memory_config=L1_MEMORY_CONFIG
            )
            with pytest.raises(
                RuntimeError, match=r"clash with L1 buffers[^!]*test_account\.py[^!]*32768, 512"
            ):
                scaled_dot_product_attention(queries, queries, queries, program_config=config)
            del kept
            gc.collect()
            scaled_dot_product_attention(queries, queries, queries, program_config=config)
            config.q_chunk_size = config.k_chunk_size = 1024
            with pytest.raises(RuntimeError, match=r"grow to \d+ B which is beyond max L1 size"):
                scaled_dot_product_attention(queries, queries, queries, program_config=config)
    finally:
        account.stop()


@pytest.mark.parametrize(
    ("asked", "bank", "base"),
    [
        ({}, 1393312, 105824),
        ({"worker_l1_size": 16385}, 16384, 1482752),
        ({"worker_l1_size": 100000, "l1_small_size": 8192}, 91808, 1399136),
    ],
)
def test_a_program_says_how_much_l1_it_has(asked: dict[str, int], bank: int, base: int) -> None:
    device = open_mesh_device(MeshShape(1, 1), **asked)
    try:
        info = get_device_info(device)
        assert get_memory_view(device, BufferType.L1).total_bytes_per_bank == info.l1_bank_size == bank
        assert allocator_base_address(device, BufferType.L1) == info.address_at_first_l1_cb_buffer == base
        assert info.worker_l1_size == 1499136
        assert allocator_base_address(device, BufferType.DRAM) == 1048640
    finally:
        device.close()


def test_no_core_has_so_much_l1() -> None:
    assert max_worker_l1_bytes() == 1463968
    with pytest.raises(RuntimeError, match="Worker L1 size 1463969 is larger than max size 1463968"):
        open_mesh_device(MeshShape(1, 1), worker_l1_size=1463969)


def test_what_lived_at_a_moment(account: MemoryAccount, mesh: MeshDevice) -> None:
    devices = frozenset(mesh.positions)
    first = one_tile(mesh)
    second = one_tile(mesh, 2)
    first.deallocate()
    third = one_tile(mesh, 3)
    made = {a.size.total // TILE: (a.made, a.freed) for a in account.allocations()}
    for moment in range(account.moment + 1):
        living = [
            tiles for tiles in (3, 2, 1) if made[tiles][0] <= moment and (made[tiles][1] or 10**9) > moment
        ]
        assert [a.size.total // TILE for a in account.at(moment, devices, "DRAM")] == living
    freed = made[1][1]
    assert freed is not None and made[3][1] is None
    assert [a.size.total // TILE for a in account.at(freed, devices, "DRAM") if a.size.total == TILE] == []
    second.deallocate()
    third.deallocate()


@pytest.mark.parametrize(
    ("values", "widest", "rows"),
    [
        ([], 10, []),
        ([5], 10, []),
        ([0, 0], 10, []),
        ([0, 8], 10, 8 * ["   █"]),
        ([8, 4, 0, 3], 10, [*4 * ["  █"], "  ██", *3 * ["  ██ █"]]),
        ([1, 8, 4, 2], 2, [*4 * ["  █"], *4 * ["  ██"]]),
        ([16, 1], 10, [*7 * ["  █"], "  █▄"]),
    ],
)
def test_a_curve_is_drawn(values: list[int], widest: int, rows: list[str]) -> None:
    assert report._plot(list(enumerate(values)), widest) == rows


@pytest.mark.parametrize(("reach", "told"), [(100, False), (101, False), (102, True)])
def test_holes_are_told_beyond_a_hundredth(reach: int, told: bool) -> None:
    found = {"bank_reach": reach, "bank_peak": 100, "largest_free": 5}
    assert bool(report._holes(found)) is told


def test_what_is_given_back_late_was_unused_at_the_peak(account: MemoryAccount, mesh: MeshDevice) -> None:
    devices = frozenset(mesh.positions)
    unused, kept = one_tile(mesh), one_tile(mesh, 4)
    account.call = 5
    second = one_tile(mesh, 2)
    [held] = [held["DRAM"] for known, held in account.held.items() if known == devices]
    assert held.call == 5 and dict(account.late(devices, "DRAM", held)) == {}
    unused.deallocate()
    second.deallocate()
    assert list(account.late(devices, "DRAM", held).values()) == [(TILE, 1)]
    kept.deallocate()


def test_a_curve_is_a_picture() -> None:
    found = {"devices": [0, 1], "memory": "DRAM", "peak": 2048, "size": 4096, "curve": [(0, 1024), (4, 2048)]}
    drawn = svg([{"rank": 3, "moments": 4, "sets": [found, found]}])
    assert 'height="400"' in drawn and drawn.count("<polygon") == 2
    assert '<text x="4" y="20">rank 3, 2 devices: DRAM peak 2.00 KiB of 4.00 KiB</text>' in drawn
    assert (
        'points="0,188 0.0,108.0 720.0,28.0 720,188"' in drawn
        and 'points="0,388 0.0,308.0 720.0,228.0 720,388"' in drawn
    )
