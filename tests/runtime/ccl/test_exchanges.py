"""The algorithms, over ranks that are threads: any cut of a mesh gives the results of one rank, bit for bit."""

import mmap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.runtime.ccl.fakes import Switch, on_threads
from tests.runtime.ccl.reference import device_groups
from tests.runtime.ccl.test_window import waiting
from tests.sweep import sweep
from tt_run.runtime.ccl.exchange import shard_locations, sums, window
from tt_run.runtime.ccl.exchange.gather import all_broadcast, all_gather, every_shard
from tt_run.runtime.ccl.exchange.groups import exchanges
from tt_run.runtime.ccl.exchange.peer_memory import PeerMemory, own_word, reads
from tt_run.runtime.ccl.exchange.shard_locations import ShardRows
from tt_run.runtime.ccl.exchange.sums import all_reduce, reduce_scatter
from tt_run.runtime.ccl.exchange.wire import Alone, HalfWords

LENGTH = 8  # of the dimension that is gathered or scattered


@st.composite
def cases(draw):
    mesh = draw(st.sampled_from([(1, 2), (2, 2), (2, 4), (4, 2), (8, 1)]))
    devices = mesh[0] * mesh[1]
    ranks = draw(st.integers(1, 4))
    owners = tuple(draw(st.lists(st.integers(0, ranks - 1), min_size=devices, max_size=devices)))
    distinct = draw(st.integers(1, devices))
    held = [draw(st.integers(0, distinct - 1)) for _ in range(devices)]
    rank = draw(st.integers(1, 4))
    dim = draw(st.integers(0, rank - 1))
    shape = tuple(LENGTH if i == dim else draw(st.integers(1, 5)) for i in range(rank))
    seed = draw(st.integers(0, 2**32 - 1))
    values = np.random.default_rng(seed).standard_normal((distinct, *shape)).astype(np.float32)
    return mesh, owners, [values[i] for i in held], dim, draw(st.sampled_from([None, 0, 1]))


def run(case, function, small, wrap=lambda wire: wire):
    """`function(source, dim)` on every rank that takes part; the shard (or shards) of each position."""
    mesh, owners, shards, dim, axis = case
    found = exchanges(device_groups(mesh, axis), owners)
    results = {}
    for exchange in found:
        switch = Switch(len(exchange.ranks))

        def rank(i, exchange=exchange, switch=switch):
            wire = Alone() if exchange.local else wrap(switch.wire(i))
            mine = [shards[p] for p in exchange.held[i]]
            stack = list({id(s): s for s in mine}.values())
            own = tuple(next(j for j, s in enumerate(stack) if s is m) for m in mine)
            return function(ShardRows.of(np.stack(stack), own, exchange, wire).join(), dim)

        before, shard_locations.SMALL = shard_locations.SMALL, small
        try:
            pieces = on_threads([lambda i=i, rank=rank: rank(i) for i in range(len(exchange.ranks))])
        finally:
            shard_locations.SMALL = before
        for held, piece in zip(exchange.held, pieces, strict=True):
            for i, p in enumerate(held):
                assert p not in results
                shards_at = [
                    one.data[one.index[i]] for one in (piece if isinstance(piece, list) else [piece])
                ]
                results[p] = shards_at if isinstance(piece, list) else shards_at[0]
    return results


def members(case, position):
    (group,) = [g for g in device_groups(case[0], case[4]) if position in g]
    return group, [case[2][p] for p in group]


def ordered(shards):
    total = shards[0]
    for shard in shards[1:]:
        total = total + shard
    return total


@settings(max_examples=examples(60), deadline=None)
@given(cases(), st.sampled_from([0, 1 << 20]))
def test_all_gather_concatenates_in_device_order(case, small):
    for p, shard in run(case, all_gather, small).items():
        assert shard.tobytes() == np.concatenate(members(case, p)[1], case[3]).tobytes()


@settings(max_examples=examples(60), deadline=None)
@given(cases(), st.sampled_from([0, 1 << 20]))
def test_all_reduce_adds_in_device_order(case, small):
    for p, shard in run(case, lambda s, _: all_reduce(s, None), small).items():
        assert shard.tobytes() == ordered(members(case, p)[1]).tobytes()


@settings(max_examples=examples(60), deadline=None)
@given(cases(), st.sampled_from([0, 1 << 20]))
def test_reduce_scatter_keeps_the_slice_of_the_device(case, small):
    for p, shard in run(case, lambda s, dim: reduce_scatter(s, dim, None), small).items():
        group, shards = members(case, p)
        expected = np.split(ordered(shards), len(group), case[3])[group.index(p)]
        assert shard.tobytes() == np.ascontiguousarray(expected).tobytes()


@settings(max_examples=examples(30), deadline=None)
@given(cases(), st.sampled_from([0, 1 << 20]))
def test_all_broadcast_gives_every_member_to_every_member(case, small):
    for p, found in run(case, lambda s, _: all_broadcast(s), small).items():
        assert [s.tobytes() for s in found] == [s.tobytes() for s in members(case, p)[1]]


@settings(max_examples=examples(20), deadline=None)
@given(cases())
def test_sixteen_bits_on_the_wire_lose_nothing_of_bfloat16(case):
    rounded = [(s.view(np.uint32) & 0xFFFF0000).view(np.float32) for s in case[2]]
    case = (*case[:2], rounded, *case[3:])
    for p, shard in run(case, all_gather, 0, HalfWords).items():
        assert shard.tobytes() == np.concatenate(members(case, p)[1], case[3]).tobytes()


SUMS = [
    pytest.param(lambda s, _: all_reduce(s, None), lambda shards, _: ordered(shards), id="all_reduce"),
    pytest.param(
        lambda s, dim: reduce_scatter(s, dim, None),
        lambda shards, i: np.split(ordered(shards), len(shards), 1)[i],
        id="reduce_scatter",
    ),
]


def windows_that_note(shown):
    """What gives each wire of a run its window, and notes whenever one shows something."""
    memories = {}

    def shared(wire):
        memory = memories.setdefault(wire.switch, mmap.mmap(-1, window.window_bytes(wire.size)))
        wire.window = window.Window(memory, wire.rank, wire.size, waiting)
        show = wire.window.show
        wire.window.show = lambda *given: shown.append(1) or show(*given)
        return wire

    return shared


@pytest.mark.parametrize(
    "owners", [(0, 0, 1, 1, 2, 2, 3, 3), (2, 0, 1, 1, 0, 2, 2, 2), (1, 0, 0, 0, 0, 0, 0, 1)]
)
@pytest.mark.parametrize("axis", sweep([None, 1], quick=[1]))
@pytest.mark.parametrize(
    ("function", "result"),
    [
        pytest.param(all_gather, lambda shards, _: np.concatenate(shards, 1), id="all_gather"),
        *SUMS,
    ],
)
@pytest.mark.parametrize("refused", [False, True], ids=["read in place", "shown"])
def test_ranks_that_share_memory_find_the_same(owners, axis, function, result, refused, monkeypatch):
    """In pieces that divide neither the rows nor the ranks; where the system lets ranks read each other's memory and where it does not."""
    for module in (window, sums):
        monkeypatch.setattr(module, "PIECE", 1 << 14)
    monkeypatch.setattr(sums, "ROOM", 1500)
    monkeypatch.setattr(sums, "_LONG", 64)
    reads, read = [], PeerMemory.read
    monkeypatch.setattr(PeerMemory, "read", lambda *given: reads.append(1) or read(*given))
    if refused:
        monkeypatch.setattr(window, "reads", lambda *given: False)
    shards = list(np.random.default_rng(7).standard_normal((8, 37, 8 * 29)).astype(np.float32))
    shown = []
    shared = windows_that_note(shown)
    case = ((2, 4), owners, shards, 1, axis)
    for p, shard in run(case, function, 0, shared).items():
        group, own = members(case, p)
        assert shard.tobytes() == np.ascontiguousarray(result(own, group.index(p))).tobytes()
    assert function is all_gather or len(shown if refused else reads) > 4
    assert not (refused and reads)


@pytest.mark.parametrize(("function", "result"), SUMS)
def test_memory_that_can_no_longer_be_read_is_shown(function, result, monkeypatch):
    """As of a rank that has become another user: every rank learns of it, and none tries again."""
    monkeypatch.setattr(sums, "_LONG", 64)
    shards = list(np.random.default_rng(3).standard_normal((2, 37, 8 * 29)).astype(np.float32))
    memories, windows = {}, []

    def shared(wire):
        memory = memories.setdefault(wire.switch, mmap.mmap(-1, window.window_bytes(wire.size)))
        wire.window = window.Window(memory, wire.rank, wire.size, waiting)
        windows.append(wire.window)
        peers = wire.window.peers

        def lost():
            found = peers()
            if wire.rank == 0 and found is not None:
                found._pids = (0, 0)
            return found

        wire.window.peers = lost
        return wire

    def twice(source, dim):
        first = function(source, dim)
        assert source.wire.window.peers() is None
        again = function(source, dim)
        assert np.array_equal(first.data, again.data)
        return first

    case = ((1, 2), (0, 1), shards, 1, None)
    for p, shard in run(case, twice, 0, shared).items():
        assert shard.tobytes() == np.ascontiguousarray(result(shards, p)).tobytes()
    assert len(windows) == 2


@pytest.mark.parametrize(("function", "result"), SUMS)
def test_long_rows_of_ranks_that_share_nothing_are_sent(function, result, monkeypatch):
    monkeypatch.setattr(sums, "_LONG", 1)
    shards = list(np.random.default_rng(4).standard_normal((2, 3, 4096)).astype(np.float32))
    for p, shard in run(((1, 2), (0, 1), shards, 1, None), function, 0).items():
        assert shard.tobytes() == np.ascontiguousarray(result(shards, p)).tobytes()


def test_a_rank_alone_sends_nothing():
    array, called = np.zeros(1), []
    for sends, recvs in (([(0, array)], []), ([], [(0, array)]), ([(0, array)], [(0, array)])):
        with pytest.raises(ValueError, match="a single rank has no peer"):
            Alone().swap(sends, recvs, lambda: called.append(1))
    assert not called
    Alone().swap([], [])
    Alone().swap([], [], lambda: called.append(1))
    assert called == [1]


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_of_stacks_of_one_row_a_rank_sums_its_own_cut(dim):
    """As where each rank holds one device, and all rows lie in memory that they share."""
    shards = list(np.random.default_rng(dim).standard_normal((2, 6, 10, 14)).astype(np.float32))

    def cut(source, dim):
        source.stacks = [shard[None] for shard in shards]
        return reduce_scatter(source, dim, None)

    found = run(((1, 2), (0, 1), shards, dim, None), cut, 0)
    for p, wanted in enumerate(np.split(ordered(shards), 2, dim)):
        assert found[p].tobytes() == np.ascontiguousarray(wanted).tobytes()


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_cuts_of_any_dimension_are_read_where_they_lie(dim, monkeypatch):
    monkeypatch.setattr(sums, "_LONG", 1)
    shards = list(np.random.default_rng(dim).standard_normal((2, 6, 10, 14)).astype(np.float32))
    memories, counted, read = {}, [], PeerMemory.read
    monkeypatch.setattr(PeerMemory, "read", lambda *given: counted.append(1) or read(*given))

    def shared(wire):
        memory = memories.setdefault(wire.switch, mmap.mmap(-1, window.window_bytes(wire.size)))
        wire.window = window.Window(memory, wire.rank, wire.size, waiting)
        return wire

    case = ((1, 2), (0, 1), shards, dim, None)
    found = run(case, lambda source, dim: reduce_scatter(source, dim, None), 0, shared)
    for p, cut in enumerate(np.split(ordered(shards), 2, dim)):
        assert found[p].tobytes() == np.ascontiguousarray(cut).tobytes()
    assert counted


def test_what_is_shown_is_cut_along_the_first_dimension_that_has_a_length(monkeypatch):
    """Whole, it would not fit in a piece."""
    for module in (window, sums):
        monkeypatch.setattr(module, "PIECE", 1 << 14)
    monkeypatch.setattr(window, "reads", lambda *given: False)
    shards = list(np.random.default_rng(5).standard_normal((2, 1, 128, 128)).astype(np.float32))
    shown = []
    shared = windows_that_note(shown)
    case = ((1, 2), (0, 1), shards, 2, None)
    found = run(case, lambda source, dim: reduce_scatter(source, dim, None), 0, shared)
    for p, cut in enumerate(np.split(ordered(shards), 2, 2)):
        assert found[p].tobytes() == np.ascontiguousarray(cut).tobytes()
    assert len(shown) > 2


def test_whose_word_is_another_is_not_read():
    """As of a rank in a container of its own, where another process has its number."""
    word, told = own_word()
    memory = PeerMemory([told[0]] * 2)
    assert reads(memory, [told, told], [word.tolist()] * 2, 0)
    assert not reads(memory, [told, told], [word.tolist(), [1, 2, 3, 4]], 0)
    assert not reads(memory, [told, [told[0], 8]], [word.tolist()] * 2, 0)


def test_every_shard_is_known_everywhere():
    exchange = exchanges(device_groups((2, 2), None), (0, 1, 1, 0))[0]
    switch = Switch(2)
    stacks = [np.array([[0.0], [3.0]], np.float32), np.array([[1.0], [2.0]], np.float32)]
    sources = [
        lambda i=i: every_shard(ShardRows.of(stacks[i], (0, 1), exchange, switch.wire(i)).join())
        for i in range(2)
    ]
    for found in on_threads(sources):
        assert {p: float(s[0]) for p, s in found.items()} == {0: 0.0, 1: 1.0, 2: 2.0, 3: 3.0}


def test_replicas_cross_once_and_are_stored_once():
    exchange = exchanges(device_groups((2, 2), None), (0, 0, 1, 1))[0]
    switch = Switch(2)
    stack = np.ones((1, 1 << 15), np.float32)
    results = on_threads(
        [
            lambda i=i: all_gather(ShardRows.of(stack, (0, 0), exchange, switch.wire(i)).join(), 0)
            for i in range(2)
        ]
    )
    assert switch.messages == 2
    assert all(r.data.shape == (1, 4 << 15) for r in results)


@pytest.mark.parametrize("length", [1, 1 << 15])  # copied as one piece, and into memory that is used again
def test_rows_that_no_device_has_are_not_gathered(length):
    exchange = exchanges(device_groups((1, 2), None), (0, 0))[0]
    stack = np.repeat(np.arange(3, dtype=np.float32), length).reshape(3, length)
    gathered = all_gather(ShardRows.of(stack, (0, 1), exchange, Alone()).join(), 0)
    assert gathered.data.tolist() == [stack[:2].reshape(-1).tolist()]


@pytest.mark.parametrize("small", [0, 1 << 20])
def test_a_device_without_a_shard_is_named_on_every_rank(small, monkeypatch):
    monkeypatch.setattr(shard_locations, "SMALL", small)
    exchange = exchanges(device_groups((1, 4), None), (0, 0, 1, 1))[0]
    switch = Switch(2)

    def rank(i):
        with pytest.raises(RuntimeError, match=r"positions \[3\]"):
            ShardRows.of(np.ones((2, 3), np.float32), ((0, 1), (0, -1))[i], exchange, switch.wire(i)).join()

    on_threads([lambda i=i: rank(i) for i in range(2)])


@pytest.mark.parametrize("rank", range(3))
def test_a_rank_whose_only_device_holds_no_shard_names_it(rank):
    exchange = exchanges(device_groups((1, 3), None), (0, 1, 2))[0]
    with pytest.raises(RuntimeError, match=rf"positions \[{rank}\]"):
        ShardRows.of(np.ones((1, 3), np.float32), (-1,), exchange, Switch(3).wire(rank))
