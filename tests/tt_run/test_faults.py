"""What `--inject` says: the forms that are read, and what is wrong with those that are not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_run.faults import (
    ACTIONS,
    Fault,
    FaultError,
    example,
    over_before,
    read_fault,
    read_faults,
    starts_of,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kill=rank:1,call=12", {"action": "kill", "ranks": (1,), "call": 12}),
        ("raise=rank:3+1,op=all_gather,nth=3,text=boom", {"ranks": (1, 3), "op": "all_gather", "nth": 3, "message": "boom"}),
        ("stop=rank:*,site=train.py:88", {"ranks": None, "site": "train.py:88"}),
        ("exit=rank:0,after=1.5s,code=3", {"after": 1.5, "code": 3, "by_time": True}),
        ("exit=rank:0,call=1,code=0", {"code": 0}),
        ("exit=rank:0,call=1,code=255", {"code": 255}),
        ("flip=rank:0,call=1,bit=0", {"bit": 0}),
        ("flip=rank:0,call=1,bit=31", {"bit": 31}),
        ("kill=rank:*,mtbf=2m,seed=7", {"mtbf": 120.0, "seed": 7, "by_time": True}),
        ("slow=rank:1,op=matmul,for=10ms,nth=0", {"seconds": 0.01, "nth": 0}),
        ("kill=host:node2+node3,after=1s", {"hosts": ("node2", "node3"), "ranks": None, "needs_emulation": False}),
        ("raise=rank:1,after=1s", {"by_time": True, "needs_emulation": False}),
        ("raise=rank:1,call=1", {"needs_emulation": True}),
        ("full=rank:1,after=1s", {"by_time": True, "needs_emulation": False}),
        ("slowdisk=rank:1,for=50ms", {"seconds": 0.05, "needs_emulation": False}),
        ("delay=host:node2,for=1ms", {"hosts": ("node2",), "link": None}),
        ("cut=link:5-2", {"link": (2, 5), "needs_emulation": True}),
        ("drop=link:*,call=3", {"link": (), "call": 3}),
        ("degrade=rank:1,rate=2.5GB/s", {"ranks": (1,), "link": None, "rate": 2.5e9}),
        ("slow=rank:1,op=*,nth=0", {"op": "*", "nth": 0}),
        ("slow=rank:1,site=a.py:3", {"nth": 0}),
        ("raise=rank:1,after=0s", {"by_time": True, "needs_emulation": False}),
        ("hang=rank:1,after=1s", {"by_time": True, "needs_emulation": False}),
        ("flip=rank:0,call=5,bit=3", {"bit": 3, "by_time": False}),
        ("raise=rank:1,call=3,text=no, not that", {"message": "no, not that", "call": 3}),
        ("raise=rank:1,text=a,b,call=3", {"message": "a,b", "call": 3}),
        ("kill=rank:1, call = 3", {"call": 3}),
        ("kill=rank:1,op=ttnn.experimental.all_gather_async", {"op": "all_gather_async"}),
    ],
)  # fmt: skip
def test_forms(text: str, expected: dict[str, object]) -> None:
    fault = read_fault(text)
    assert {name: getattr(fault, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kil=rank:1,call=1", "'kil' is no fault: did you mean kill?"),
        ("burn=rank:1", "'burn' is no fault: there are kill, term"),
        ("kill=1", "'1' names no rank: write rank:1"),
        ("kill=rank:a,call=1", "'rank:a' names no rank"),
        ("KILL=rank:1,call=1", "did you mean kill?"),
        ("kill=rank:0,1,call=2", "several ranks are joined by +, as in rank:0+1"),
        ("slow=rank:1,for=0", "for=0 changes nothing"),
        ("kill=rank:1,cal=1", "did you mean call=?"),
        ("kill=rank:1,at=train.py:8", "'at' says nothing about a fault: did you mean site=?"),
        ("kill=rank:1,call=x", "call=x is no whole number"),
        ("kill=rank:1,after=soon", "after=soon is no time"),
        ("kill=rank:1,op=", "op= needs a value"),
        ("raise=rank:1", "raise happens at a call"),
        ("full=rank:1", "full happens at a call"),
        ("kill=link:1-2,call=1", "'link:1-2' names no rank"),
        ("cut=link:1", "'link:1' names no link: write link:1-2"),
        ("cut=link:3-3", "names no link"),
        ("degrade=link:1-2", "degrade needs rate=100MB/s"),
        ("degrade=link:1-2,rate=5", "rate=5 is no rate"),
        ("cut=link:1-2,rate=5MB/s", "rate= says nothing about cut: it belongs to degrade"),
        ("kill=rank:1,call=3,mtbf=1s", "mtbf= is a time"),
        ("exit=rank:1,call=1,code=256", "code=256 is no exit code"),
        ("flip=rank:1,call=1,bit=32", "bit=32 is no bit of 32"),
        ("raise=rank:1,call=1,op=a\nall_gather", "written on one line"),
        ("kill=rank:1,call=4,op=add", "call=4 names one call already; op= does not go with it"),
        ("kill=rank:1,call=4,nth=2", "nth= does not go with it"),
        ("kill=rank:1,nth=3", "nth= counts calls: it needs op=NAME"),
        ("kill=rank:1,call=3,call=4", "call= stands there twice"),
        ("kill=rank:1,call=3,code=4", "code= says nothing about kill: it belongs to exit"),
        ("nan=rank:1,call=3,bit=4", "bit= says nothing about nan: it belongs to flip"),
        ("kill=rank:1,call=3,seed=4", "seed= draws times: it needs mtbf=30s"),
        ("kill=rank:1,call=0", "calls are counted from 1"),
        ("kill=rank:1,mtbf=0s", "mtbf=0 is no time between failures"),
        ("kill=rank:1,site=train.py", "site=train.py is no line of a program: write site=train.py:88"),
        ("raise=rank:1,call=1,text=a\u2028b", "written on one line"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(FaultError) as caught:
        read_fault(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("action", ACTIONS)
def test_every_fault_is_in_the_table_of_the_documentation(action: str) -> None:
    table = (Path(__file__).resolve().parents[2] / "docs" / "failures.md").read_text(encoding="utf-8")
    assert f"`{action}`" in table, f"say in the table of docs/failures.md what {action} does"


@pytest.mark.parametrize("action", ACTIONS)
def test_every_fault_happens_in_a_test(action: str) -> None:
    tests = Path(__file__).resolve().parents[1]
    paths = [
        path for folder in ("e2e", "runtime/faults", "multihost") for path in (tests / folder).glob("*.py")
    ]
    assert any(re.search(rf"[\"' ]{action}=", path.read_text(encoding="utf-8")) for path in paths), (
        f"add a row with {action}=… to tests/e2e/test_injection.py"
    )


@given(
    st.lists(
        st.sampled_from(
            [
                *ACTIONS,
                "=",
                ",",
                ":",
                "rank",
                "link",
                "host",
                "*",
                "1",
                "1-2",
                "call=",
                "op=",
                "nth=",
                "after=",
                "rate=",
                "mtbf=",
                "seed=",
            ]
        )
        | st.text(max_size=4),
        max_size=12,
    ).map("".join)
)
def test_whatever_is_written_is_a_fault_or_refused_with_a_sentence(text: str) -> None:
    try:
        fault = read_fault(text)
    except FaultError as error:
        assert str(error)
        return
    assert fault.delay(0) >= 0
    fault.concerns(0, "h")


def test_random_times_belong_to_seed_and_rank() -> None:
    fault = read_fault("kill=rank:*,mtbf=30s,seed=7")
    times = [fault.delay(rank) for rank in range(200)]
    assert times == [fault.delay(rank) for rank in range(200)]
    assert len(set(times)) == 200
    assert [fault.delay(0, attempt) for attempt in (1, 2, 3)] == [
        times[0],
        fault.delay(0, 2),
        fault.delay(0, 3),
    ]
    assert len({fault.delay(0, attempt) for attempt in range(1, 20)}) == 19
    assert 20 < sum(times) / 200 < 42
    assert read_fault("kill=rank:*,mtbf=30s,seed=8").delay(0) != times[0]


def test_a_fault_at_a_call_happens_once_in_all_starts_of_a_run(tmp_path: Path) -> None:
    """A folder whose name ends with a number is no later start for that: `logs.2` may be anybody's."""
    faults = read_faults(
        "kill=rank:1,call=3\nkill=rank:*,mtbf=9s\nraise=rank:1,op=add,nth=0\nslow=rank:1\nexit=rank:1,call=9"
    )
    folders = [tmp_path / name for name in ("logs", "logs.2", "logs.3")]
    for folder in folders:
        folder.mkdir()
    happened = [json.dumps({"fault": fault.text}) for fault in faults[:4]]
    (folders[0] / "rank-0001.injected").write_text("\n".join([*happened, '{"missed": "x"}', '{"fau']))
    assert starts_of(folders[2]) == [folders[2]]
    assert over_before(folders[2], 1, faults) == set()
    (folders[2] / "first-start").write_text("logs")
    assert starts_of(folders[2]) == folders
    assert over_before(folders[2], 1, faults) == {0}
    assert over_before(folders[2], 0, faults) == set()


def test_one_on_each_line() -> None:
    assert [f.action for f in read_faults("kill=rank:0,call=1\n\nstop=rank:1,call=2\n")] == ["kill", "stop"]
    assert Fault("", "kill", (1,)).concerns(1)
    assert not Fault("", "kill", (1,)).concerns(0)
    assert Fault("", "kill", hosts=("node2",)).concerns(3, "node2.cluster.local")
    assert not Fault("", "kill", hosts=("node2",)).concerns(3, "node21")


@pytest.mark.parametrize(
    ("fault", "name", "site", "meant"),
    [
        ("kill=rank:0,site=train.py:8", "add", "/w/train.py:8", True),
        ("kill=rank:0,site=./train.py:8", "add", "/w/train.py:8", True),
        ("kill=rank:0,site=/w/train.py:8", "add", "/w/train.py:8", True),
        ("kill=rank:0,site=train.py:8", "add", "train.py:8", True),
        ("kill=rank:0,site=train.py:8", "add", "/w/pretrain.py:8", False),
        ("kill=rank:0,site=train.py:8", "add", "/w/train.py:80", False),
        ("kill=rank:0,op=add,site=train.py:8", "add", "/w/train.py:8", True),
        ("kill=rank:0,op=add,site=train.py:8", "sum", "/w/train.py:8", False),
        ("kill=rank:0,op=add,site=train.py:8", "add", "/w/train.py:9", False),
        ("kill=rank:0,op=add", "add", "/w/train.py:9", True),
        ("kill=rank:0,op=*", "sum", "/w/train.py:9", True),
    ],
)
def test_which_call_is_meant(fault: str, name: str, site: str, meant: bool) -> None:
    assert read_fault(fault).is_of(name, site) is meant


@pytest.mark.parametrize(
    ("fault", "rank", "host", "concerned"),
    [
        ("kill=rank:1+3,after=1s", 3, "h1", True),
        ("kill=rank:1+3,after=1s", 2, "h1", False),
        ("kill=rank:*,after=1s", 2, "h1", True),
        ("kill=host:h1,after=1s", 2, "h1", True),
        ("kill=host:h1,after=1s", 2, "h1.cluster", True),  # as the host calls itself
        ("kill=host:h1,after=1s", 2, "h2", False),
        ("kill=host:h1,after=1s", 2, "h2.h1", False),
    ],
)
def test_whom_a_fault_concerns(fault: str, rank: int, host: str, concerned: bool) -> None:
    assert read_fault(fault).concerns(rank, host) is concerned


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_has_an_example_that_can_be_read(action: str) -> None:
    assert read_fault(example(f"{action}=nonsense")).action == action
    assert example("kil=rank:1+") == example("nothing") == "kill=rank:1,call=12"


def test_an_example_has_the_words_that_were_meant() -> None:
    assert example("kil=rank:1,call=2") == example("kill=1,call=2") == "kill=rank:1,call=2"
