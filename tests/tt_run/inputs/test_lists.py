"""Lists of hosts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tt_run.sandbox import Sandbox, codes, only
from tt_run.errors import UsageError
from tt_run.inputs.hosts.lists import HostList, parse_hosts, read_hostfile, scheduler_hosts, slurm_hosts
from tt_run.inputs.hosts.nodelist import expand_counts, expand_nodes


def pairs(hosts: HostList | None) -> list[tuple[str, int]]:
    assert hosts is not None
    return [(host.name, host.slots) for host in hosts.hosts]


@pytest.mark.parametrize(
    ("text", "expected", "counted"),
    [
        ("a", [("a", 1)], False),
        (" b , a ,, ", [("b", 1), ("a", 1)], False),
        ("a:2,b", [("a", 2), ("b", 1)], True),
        ("node[09-10]:4,x", [("node09", 4), ("node10", 4), ("x", 1)], True),
        ("10.0.0.1,Host.Example", [("10.0.0.1", 1), ("Host.Example", 1)], False),
    ],
)
def test_written_order_is_kept(text: str, expected: list[tuple[str, int]], counted: bool) -> None:
    hosts = parse_hosts(text)
    assert pairs(hosts) == expected
    assert hosts.counted is counted


@pytest.mark.parametrize(
    "text",
    [
        "a,b,a",
        "a:1,a:2",
        ",",
        " ",
        "-x",
        "a b",
        "a\tb",
        "a:0",
        "a:x",
        ":2",
        "a:-1",
        "a:65537",
        "a:9999999999",
        "n[1-2],n2",
    ],
)
def test_lists_that_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_hosts(text)
    assert codes(caught.value.diagnostics)[0] == "TTR015"


def test_all_problems_of_a_list_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        parse_hosts("a,a,-b,c:x")
    assert len(caught.value.diagnostics) == 3


def test_hostfiles(sandbox: Sandbox) -> None:
    text = "# cluster\nmetal-wh-01 slots=2\nmetal-wh-04\tslots = 1 max_slots=4\n\nx:3\nx\n"
    hosts = read_hostfile(sandbox.write("hosts.txt", text), sandbox.site, sandbox.findings)
    assert pairs(hosts) == [("metal-wh-01", 2), ("metal-wh-04", 1), ("x", 4)]
    assert hosts is not None and hosts.counted and hosts.source == "hostfile hosts.txt"
    assert not sandbox.findings.judged


@pytest.mark.parametrize(
    "line", ["a slot=1", "a b", "a:x", "a slots=two", "a:²", f"a slots={'9' * 5000}", f"a:{'9' * 5000}"]
)
def test_hostfile_lines_that_are_none(sandbox: Sandbox, line: str) -> None:
    read_hostfile(sandbox.write("hosts.txt", f"ok slots=1\n{line}\n"), sandbox.site, sandbox.findings)
    assert str(only(sandbox.findings.judged, "TTR120").position) == "hosts.txt:2:1"


def test_an_empty_hostfile(sandbox: Sandbox) -> None:
    assert read_hostfile(sandbox.write("hosts.txt", "#\n"), sandbox.site, sandbox.findings) is None
    assert codes(sandbox.findings.broken) == ["TTR120"]


def test_a_hostfile_of_unreadable_lines_is_told_by_them_alone(sandbox: Sandbox) -> None:
    assert read_hostfile(sandbox.write("hosts.txt", "a slots=x\n"), sandbox.site, sandbox.findings) is None
    assert str(only(sandbox.findings.broken, "TTR120").position) == "hosts.txt:1:1"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ("n1",)),
        ("n[1-3]", ("n1", "n2", "n3")),
        ("n[08-10,12]-ib", ("n08-ib", "n09-ib", "n10-ib", "n12-ib")),
        ("r[1-2]n[1-2]", ("r1n1", "r1n2", "r2n1", "r2n2")),
        ("[01-02]", ("01", "02")),
        ("n[40000-40001]", ("n40000", "n40001")),
        ("n[3-1]", ()),
        ("n[1-", ()),
        ("n]", ()),
        ("n[a]", ()),
        ("n[1-99999999]", ()),
        ("", ()),
    ],
)
def test_node_ranges(text: str, names: tuple[str, ...]) -> None:
    assert expand_nodes(text) == names


@given(st.integers(0, 200), st.integers(0, 30), st.integers(1, 5))
def test_ranges_have_every_number_once(low: int, more: int, width: int) -> None:
    names = expand_nodes(f"n[{low:0{width}d}-{low + more:0{width}d}]")
    assert [int(name[1:]) for name in names] == list(range(low, low + more + 1))
    assert all(len(name) >= 1 + width for name in names)


@pytest.mark.parametrize(
    ("text", "nodes", "counts"),
    [
        ("2", 3, (2, 2, 2)),
        ("2(x2),1", 3, (2, 2, 1)),
        ("", 2, (1, 1)),
        ("2(x2)", 3, (1, 1, 1)),
        ("x", 1, (1,)),
    ],
)
def test_task_counts(text: str, nodes: int, counts: tuple[int, ...]) -> None:
    assert expand_counts(text, nodes) == counts


def test_a_slurm_allocation(sandbox: Sandbox) -> None:
    assert slurm_hosts(sandbox.site) is None
    sandbox.set(SLURM_JOB_ID="12")
    assert slurm_hosts(sandbox.site) is None
    sandbox.set(SLURM_JOB_NODELIST=" ")
    assert slurm_hosts(sandbox.site) is None
    sandbox.set(SLURM_JOB_NODELIST="h[1-2],big", SLURM_TASKS_PER_NODE="2(x2),4")
    hosts = slurm_hosts(sandbox.site)
    assert pairs(hosts) == [("h1", 2), ("h2", 2), ("big", 4)]
    assert hosts is not None and hosts.source == "Slurm allocation (job 12)"


def test_an_mpijob_comes_before_slurm(sandbox: Sandbox) -> None:
    """The variable that an MPIJob sets is one that Open MPI 5 ignores, so that all ranks would stay in the launcher pod."""
    path = sandbox.write("hostfile", "worker-0 slots=2\nworker-1 slots=2\n")
    sandbox.set(SLURM_JOB_ID="1", SLURM_NODELIST="h1", OMPI_MCA_orte_default_hostfile=str(path))
    hosts = scheduler_hosts(sandbox.site, sandbox.findings)
    assert pairs(hosts) == [("worker-0", 2), ("worker-1", 2)]
    assert hosts is not None and "OMPI_MCA_orte_default_hostfile" in hosts.source
