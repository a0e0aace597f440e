"""The listener that causes faults: which call each is due at, what it spoils, what it writes down."""

from __future__ import annotations

import json
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import held, put
from tt_run.faults import read_fault
from tt_run.runtime import catalog, events, guard
from tt_run.runtime.enums import DataType
from tt_run.runtime.faults.injector import Injector, attach
from tt_run.runtime.mesh import MeshCoordinate, MeshDevice


class Ended(Exception):
    """Stands for the end of the process."""


class Tame(Injector):
    """An injector that does not end the process that tests it."""

    def end(self, fault: Any) -> None:
        raise Ended(fault.action)


@pytest.fixture
def inject(tmp_path: Path) -> Any:
    """Causes faults for the length of a test; the file they are written to."""
    ends = []

    def start(*texts: str) -> Path:
        record = tmp_path / "rank-0000.injected"
        injector = Tame(0, [read_fault(text) for text in texts], record)
        ends.append(events.precede(injector.before))
        return record

    yield start
    for end in ends:
        end()


def call(name: str, *args: Any) -> Any:
    found = catalog.find(f"ttnn.{name}")
    assert found is not None
    return found(*args)


def test_calls_are_counted_from_one_and_composites_once(one: MeshDevice, inject: Any) -> None:
    x = put(one, np.ones((32, 32), np.float32))
    record = inject("kill=rank:0,op=*,nth=3")
    call("add", x, x)
    call("softmax", x, -1)
    with pytest.raises(Ended, match="kill"):
        call("relu", x)
    (line,) = record.read_text().splitlines()
    facts = json.loads(line)
    assert (facts["event"], facts["op"], facts["rank"], facts["is_call"]) == (3, "relu", 0, False)
    assert "test_injector.py" in facts["site"]


def test_the_nth_call_of_a_name_and_a_line(one: MeshDevice, inject: Any) -> None:
    x = put(one, np.ones((32, 32), np.float32))
    inject("raise=rank:0,op=add,nth=2,text=boom")
    call("add", x, x)
    call("relu", x)
    with pytest.raises(RuntimeError, match=r"boom \(--inject raise=rank:0"):
        call("add", x, x)
    call("add", x, x)  # each fault happens once


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("raise=rank:0,after=2s", [2.0]), ("nan=rank:0,after=2s", []), ("raise=rank:0,op=relu", [])],
)
def test_what_needs_no_call_comes_by_a_clock(
    monkeypatch: pytest.MonkeyPatch, text: str, seconds: list[float]
) -> None:
    """A value is spoiled in a call, the first one after its time."""
    started: list[float] = []

    class Timer:
        def __init__(self, after: float, *_: Any) -> None:
            self.after = after

        def start(self) -> None:
            started.append(self.after)

    monkeypatch.setattr("threading.Timer", Timer)
    Tame(0, [read_fault(text)], None).start_timers()
    assert started == seconds


@pytest.mark.parametrize(
    ("texts", "acts"), [(("nan=rank:0,op=relu",), True), (("nan=rank:1,op=relu",), False)]
)
def test_only_the_ranks_that_a_fault_names_are_prepared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, texts: tuple[str, ...], acts: bool
) -> None:
    prepared: list[Any] = []
    monkeypatch.setenv("TT_RUN_INJECT", "\n".join(texts))
    monkeypatch.setenv("TT_RUN_DIR", str(tmp_path))
    monkeypatch.setattr(events, "precede", prepared.append)
    monkeypatch.setattr(guard, "precede", prepared.append)
    monkeypatch.setattr("atexit.register", prepared.append)
    attach()
    assert bool(prepared) == acts


def test_values_are_spoiled_in_place(one: MeshDevice, inject: Any) -> None:
    inject("nan=rank:0,op=relu", "flip=rank:0,op=abs,bit=30")
    x, y = (put(one, np.ones((32, 32), np.float32)) for _ in range(2))
    call("relu", x)
    assert np.isnan(held(x)[0, 0])
    assert np.isfinite(held(x)[0, 1:]).all()
    call("abs", y)
    assert held(y)[0, 0] == np.inf  # 1.0 with its highest exponent bit turned over
    with pytest.raises(RuntimeError, match="no tensor of floats"):
        inject("nan=rank:0,op=neg")
        call("neg", put(one, np.ones((32, 32), np.int32), catalog_int()))


def test_a_bit_that_an_element_type_does_not_have(one: MeshDevice, inject: Any) -> None:
    inject("flip=rank:0,op=relu,bit=3")
    with pytest.raises(RuntimeError, match="BFLOAT16 has the bits 16 to 31 of a float32"):
        call("relu", put(one, np.ones((32, 32), np.float32), DataType.BFLOAT16))


def test_the_lowest_bit_that_it_has(one: MeshDevice, inject: Any) -> None:
    inject("flip=rank:0,op=relu,bit=16")
    x = put(one, np.ones((32, 32), np.float32), DataType.BFLOAT16)
    call("relu", x)
    assert held(x)[0, 0] == 1 + 2**-7


def test_the_nth_call_of_a_line(one: MeshDevice, inject: Any) -> None:
    x = put(one, np.ones((32, 32), np.float32))
    inject(f"raise=rank:0,op=relu,site=test_injector.py:{call.__code__.co_firstlineno + 3},nth=2")
    catalog.find("ttnn.relu")(x)  # type: ignore[misc] # another line
    call("add", x, x)
    call("relu", x)
    with pytest.raises(RuntimeError, match="injected fault"):
        call("relu", x)


def test_each_call_where_the_fault_says_so(one: MeshDevice, inject: Any) -> None:
    record = inject("nan=rank:0,op=relu,nth=0")
    for _ in range(3):
        x = put(one, np.ones((32, 32), np.float32))
        call("relu", x)
        assert np.isnan(held(x)[0, 0])
    assert len(record.read_text().splitlines()) == 3


def test_values_are_found_in_lists_and_by_their_names(one: MeshDevice, inject: Any) -> None:
    inject("nan=rank:0,op=concat", "nan=rank:0,op=add")
    x, y = (put(one, np.ones((32, 32), np.float32)) for _ in range(2))
    call("concat", [x, y], -1)
    assert np.isnan(held(x)[0, 0])
    add = catalog.find("ttnn.add")
    assert add is not None
    add(input_tensor_a=y, input_tensor_b=y)
    assert np.isnan(held(y)[0, 0])


def test_a_value_is_spoiled_by_time_in_the_first_call_that_has_one(one: MeshDevice, inject: Any) -> None:
    inject("nan=rank:0,after=0s")
    call("neg", put(one, np.ones((32, 32), np.int32), catalog_int()))
    x = put(one, np.ones((32, 32), np.float32))
    call("relu", x)
    assert np.isnan(held(x)[0, 0])


def test_calls_that_the_guard_alone_knows_have_names_too(inject_calls: Any) -> None:
    injector = inject_calls("kill=rank:0,op=open_mesh_device,nth=2")
    injector.before_call("open_mesh_device(2x4)")
    with pytest.raises(Ended, match="kill"):
        injector.before_call("open_mesh_device(2x4)")


@pytest.fixture
def inject_calls() -> Any:
    return lambda *texts: Tame(0, [read_fault(text) for text in texts])


def catalog_int() -> Any:
    from tt_run.runtime.enums import DataType

    return DataType.INT32


def test_out_of_memory_is_the_references_error(one: MeshDevice, inject: Any) -> None:
    inject("oom=rank:0,op=add")
    x = put(one, np.ones((32, 32), np.float32))
    with pytest.raises(RuntimeError, match=r"TT_FATAL[\s\S]*Out of Memory: injected into add"):
        call("add", x, x)


def test_a_link_that_is_cut_fails_what_crosses_it_and_nothing_else(mesh: MeshDevice, inject: Any) -> None:

    x = put(mesh, np.ones((32, 32), np.float32))
    record = inject(
        "cut=link:1-2,op=all_reduce", "degrade=link:4-5,rate=1MB/s", "delay=link:*,for=1us,op=all_gather"
    )
    gather, reduce = catalog.find("ttnn.all_gather"), catalog.find("ttnn.all_reduce")
    assert gather is not None and reduce is not None
    before = guard.calls_made()
    gather(x, 0, cluster_axis=0)  # along the columns: 0-4, 1-5, …
    begun = time.monotonic()
    gather(x, 0, cluster_axis=1)
    assert time.monotonic() - begun > 0.004  # 4 KiB of each of four devices, three times
    with pytest.raises(
        RuntimeError, match="the link between devices 1 and 2 of mesh 0 is cut, and all_reduce needs it"
    ):
        reduce(x, cluster_axis=1)
    noted = [json.loads(line) for line in record.read_text().splitlines()]
    assert {fault["action"] for fault in noted} == {"cut", "degrade", "delay"}
    assert {fault["call"] for fault in noted} == {
        before + 1
    }  # alone, a process makes no call together with others


TRANSFER = "point_to_point", (MeshCoordinate(0, 1), MeshCoordinate(1, 3)), {}
BROADCAST = "broadcast", (MeshCoordinate(1, 1),), {"cluster_axis": 1}


@pytest.mark.parametrize(
    ("call", "link", "hit"),
    [
        *(
            (TRANSFER, link, hit)
            for link, hit in (("0-1", False), ("1-5", True), ("6-7", True), ("2-3", False))
        ),
        *((BROADCAST, link, hit) for link, hit in (("0-1", False), ("4-5", True), ("5-6", True))),
    ],
)
def test_links_on_the_way_of_a_sender_are_its_own(
    mesh: MeshDevice, inject: Any, call: Any, link: str, hit: bool
) -> None:
    """From device 1 to device 7, and along the second row; what was looked at is the way between the first devices of the mesh."""
    name, places, words = call
    x, send = put(mesh, np.ones((32, 32), np.float32)), catalog.find(f"ttnn.{name}")
    assert send is not None
    inject(f"cut=link:{link}")
    with pytest.raises(RuntimeError, match=f"is cut, and {name} needs it") if hit else nullcontext():
        send(x, *places, **words)


def test_a_fault_at_a_time_notes_where_the_program_is(tmp_path: Path) -> None:
    record = tmp_path / "rank-0000.injected"
    fault = read_fault("kill=rank:0,after=0s")
    injector = Tame(0, [fault], record)
    with pytest.raises(Ended, match="kill"):
        injector._at_time(0, fault)
    assert json.loads(record.read_text())["site"].startswith(f"{__file__}:")


@pytest.mark.parametrize(("made", "ends"), [(2, False), (3, True), (4, False)])
@pytest.mark.parametrize("asked", ["of the guard", "a collective"])
def test_a_fault_before_a_call_by_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str, made: int, ends: bool
) -> None:
    """Its fourth call is due after three."""
    monkeypatch.setattr(guard, "calls_made", lambda: made)
    injector = Tame(0, [read_fault("kill=rank:0,call=4")], tmp_path / "rank-0000.injected")
    begun: Any = SimpleNamespace(
        kind="collective",
        name="ttnn.all_gather",
        args=(),
        kwargs={},
        subject=SimpleNamespace(group=()),
        peers=(),
    )
    with pytest.raises(Ended, match="kill") if ends else nullcontext():
        injector.before_call("barrier(mesh 0)") if asked == "of the guard" else injector.before(begun)
    if ends:
        facts = json.loads((tmp_path / "rank-0000.injected").read_text())
        assert (facts["call"], facts["op"]) == (4, "barrier" if asked == "of the guard" else "all_gather")


@pytest.mark.parametrize(
    ("fault", "made", "met", "broken"),
    [
        ("cut=link:*", 0, 1, True),
        ("cut=link:*,call=4", 2, 9, False),
        ("cut=link:*,call=4", 3, 0, True),
        ("cut=link:*,call=4", 9, 0, True),
        ("cut=link:*,op=all_gather,nth=3", 9, 2, False),
        ("cut=link:*,op=all_gather,nth=3", 0, 3, True),
        ("cut=link:*,op=all_gather,nth=3", 0, 4, True),
        ("cut=link:*,op=all_reduce", 0, 1, False),
        ("cut=link:*,op=all_gather", 0, 1, True),
        ("cut=link:*,after=100s", 9, 9, False),
        ("cut=link:*,after=0s", 0, 0, True),
    ],
)
def test_from_when_on_a_link_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, made: int, met: int, broken: bool
) -> None:
    monkeypatch.setattr(guard, "calls_made", lambda: made)
    read = read_fault(fault)
    injector = Tame(0, [read], tmp_path / "rank-0000.injected")
    injector.name, injector.site = "all_gather", "x.py:1"
    assert injector._is_broken(read, met) is broken
