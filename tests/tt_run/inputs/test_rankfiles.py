"""Rankfiles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tt_run.sandbox import only
from tt_run.inputs.findings import Findings
from tt_run.inputs.hosts.rankfiles import Rankfile, RankfileLine, parse_rankfile


def parse(text: str) -> tuple[Rankfile, Findings]:
    findings = Findings()
    return parse_rankfile(text, "rf", findings), findings


@pytest.mark.parametrize(
    ("line", "slot"),
    [
        ("rank 3=hostA slot=0", "0"),
        ("rank 3 = hostA slot = 0:0-3", "0:0-3"),
        ("RANK 3=hostA SLOTS=0-7", "0-7"),
        ("\trank  3=hostA\tslots=*", "*"),
        ("rank 3=hostA slot=0,2,4-6", "0,2,4-6"),
        ("rank 3=hostA   # no slot", None),
        ("rank 3=hostA slot=1# close comment", "1"),
    ],
)
def test_one_grammar_for_all_spellings(line: str, slot: str | None) -> None:
    rankfile, findings = parse(line + "\n")
    assert [(each.rank, each.host, each.slot) for each in rankfile.lines] == [(3, "hostA", slot)]
    assert not findings.judged


@pytest.mark.parametrize(
    "line",
    [
        "rank 0",
        "rank x=a slot=0",
        "0=a slot=0",
        "rank 0=a slot=",
        "rank 0=a slot=x",
        "rank 0=a b=c",
        "rank -1=a",
        f"rank {'9' * 5000}=a",
    ],
)
def test_lines_that_are_none_are_told_with_their_place(line: str) -> None:
    _, findings = parse(f"# head\n\n  {line}\n")
    assert str(only(findings.judged, "TTR116").position) == "rf:3:3"


def test_order_hosts_and_line_ends() -> None:
    rankfile, findings = parse("rank 1=b slot=0\r\nrank 0=a slot=0\r\nrank 2=b slot=1\r\n")
    assert not findings.judged
    assert rankfile.has_crlf and not rankfile.is_in_order
    assert rankfile.hosts == ("b", "a")
    assert rankfile.normal_text() == "rank 0=a slot=0\nrank 1=b slot=0\nrank 2=b slot=1\n"


hosts = st.from_regex(r"[a-z][a-z0-9.-]{0,8}", fullmatch=True)
slots = st.none() | st.from_regex(r"[0-9]{1,2}(-[0-9]{1,2})?|[0-9]:[0-9]-[0-9]|\*", fullmatch=True)


@given(st.lists(st.tuples(hosts, slots), max_size=8), st.randoms())
def test_written_and_read_again(places: list[tuple[str, str | None]], random) -> None:  # type: ignore[no-untyped-def]
    lines = [RankfileLine(rank, host, slot) for rank, (host, slot) in enumerate(places)]
    shuffled = lines[:]
    random.shuffle(shuffled)
    text = Rankfile(tuple(shuffled)).normal_text()
    again, findings = parse(text)
    assert [(line.rank, line.host, line.slot) for line in again.lines] == [
        (x.rank, x.host, x.slot) for x in lines
    ]
    assert again.is_in_order and again.normal_text() == text
    assert not findings.judged
