"""Bounds and further cases of what launches read, one step to either side."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from mgd.diagnostics import Diagnostic, Label, Position, Severity
from tests.tt_run.sandbox import Sandbox, codes, only, places
from tt_run.inputs.clusters.descriptor import parse_cluster
from tt_run.inputs.document import read_document, read_text
from tt_run.inputs.findings import all_ranks, counted, folded, list_numbers
from tt_run.inputs.github import workflow_command
from tt_run.inputs.hosts import nodelist
from tt_run.inputs.hosts.lists import MOST_SLOTS, parse_hosts
from tt_run.inputs.hosts.rankfiles import parse_rankfile, read_rankfile
from tt_run.inputs.program_sources import MOST_BYTES, MOST_FILES, texts
from tt_run.inputs.secrets import masked, masked_text, masked_words
from tt_run.inputs.site import Site
from tt_run.inputs.wrapping import parse_tracy, with_tracy


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ([3], "3"),
        ([3, 4], "3 and 4"),
        ([3, 4, 5], "3, 4, 5"),
        ([3, 4, 5, 6], "3..6"),
        ([3, 4, 5, 7], "3, 4, 5, 7"),
        ([*range(0, 16, 2)], "0, 2, 4, 6, 8, 10, 12, 14"),
        ([*range(0, 18, 2)], "0, 2, 4, 6, 8, 10, 12, 14, …"),
    ],
)
def test_numbers_in_words(numbers: list[int], told: str) -> None:
    assert list_numbers(numbers) == told
    assert (counted(1, "rank"), counted(0, "rank"), counted(2, "rank")) == ("1 rank", "0 ranks", "2 ranks")


@pytest.mark.parametrize(("count", "kept", "notes"), [(3, 3, ()), (4, 3, ("and 1 more findings TTR106",))])
def test_of_one_code_so_many_are_told(count: int, kept: int, notes: tuple[str, ...]) -> None:
    found = folded([Diagnostic("TTR107", "x"), *[Diagnostic("TTR106", str(i)) for i in range(count)]], 3)
    assert [each.message for each in found] == ["x", *map(str, range(kept))]
    assert found[-1].notes == notes and not any(each.notes for each in found[:-1])


def test_a_converted_value_that_is_wrong_is_one_finding() -> None:
    here, there = (
        Label(Position("a", 3, 14), "'true' is read as 1"),
        Label(Position("a", 4, 1), "'no' is read as 0"),
    )
    doubts = [Diagnostic("TTR108", "x", (at,), severity=Severity.WARNING) for at in (here, there)]
    wrong, left = folded([doubts[0], Diagnostic("TTR204", "y", (Label(here.position),)), doubts[1]])
    assert (wrong.code, wrong.notes, left) == ("TTR204", ("'true' is read as 1",), doubts[1])


@pytest.mark.parametrize(
    ("at", "place"),
    [
        (None, ""),
        (Position("a,b.yaml"), "file=a%2Cb.yaml,line=1,"),
        (Position("a", 1, 2), "file=a,line=1,col=2,"),
        (Position("a", 3), "file=a,line=3,"),
    ],
)
def test_a_line_of_a_pull_request(at: Position | None, place: str) -> None:
    assert workflow_command("error", "T:1", "50%\r\n", at) == f"::error {place}title=T%3A1::50%25%0D%0A"


def test_what_is_secret_is_masked_and_nothing_else() -> None:
    text = "HF_TOKEN=abc MAX_TOKENS=5 my_password: 'x y' SSH_AUTH_SOCK=/s http://u:p@h/ A=b"
    shown = "HF_TOKEN=******** MAX_TOKENS=5 my_password: ******** SSH_AUTH_SOCK=/s http://********@h/ A=b"
    assert masked_text(text) == shown
    words = ["-x", "HF_TOKEN=a", "-x", "HF_TOKEN", "HF_TOKEN=a", "-x", "A=http://u:p@h"]
    assert masked_words(words) == [
        *("-x", "HF_TOKEN=********", "-x", "HF_TOKEN", "HF_TOKEN=a", "-x", "A=http://********@h"),
    ]
    assert (masked("HF_TOKEN", ""), masked("X", "y")) == ("", "y")


def test_this_machine(sandbox: Sandbox) -> None:
    site = Site.current()
    assert (site.cores, site.is_root) == (len(os.sched_getaffinity(0)), os.geteuid() == 0)
    assert site.hostname == socket.gethostname() and site.cwd == Path.cwd().resolve()
    assert site.interfaces == frozenset(path.name for path in Path("/sys/class/net").iterdir())
    far = Site({}, sandbox.cwd, "node7.cluster.org", 1)
    assert [
        far.is_here(name) for name in ("node7", "node7.cluster.org", "localhost", "::1", "127.0.0.1")
    ] == [True] * 5
    assert not any(far.is_here(name) for name in (".", "cluster.org", "node8", ""))


def test_a_folder_can_be_made_where_one_may_write(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        os, "access", lambda path, mode: asked.append((Path(path), mode)) or mode == os.W_OK | os.X_OK
    )
    sandbox.write("f", "")
    assert sandbox.site.can_make(Path("new/er")) and not sandbox.site.can_make(Path("f/new"))
    assert asked == [(sandbox.cwd, os.W_OK | os.X_OK)]


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("n[1-2]m[1-3]", 6),
        ("n[1-3]m[1-3]", 0),
        ("n[1-6]", 6),
        ("n[1-7]", 0),
        ("n[5-9,1]", 6),
        ("n[2-1]", 0),
        ("n[2-2]", 1),
    ],
)
def test_so_many_names_are_made(text: str, counts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodelist, "_MOST", 6)
    assert len(nodelist.expand_nodes(text)) == counts


def test_the_most_slots() -> None:
    assert parse_hosts(f"a:{MOST_SLOTS}").slots == MOST_SLOTS


@pytest.mark.parametrize(
    ("data", "place", "told"),
    [
        (b"\xff", "f:1:1", "byte 0: invalid start byte"),
        (b"\n\xff", "f:2:1", "byte 1: invalid start byte"),
        ("ü\nüa".encode() + b"\xc3", "f:2:3", "byte 6: unexpected end of data"),
    ],
)
def test_the_place_of_a_byte_that_is_not_utf8(sandbox: Sandbox, data: bytes, place: str, told: str) -> None:
    path = sandbox.write("f", "")
    path.write_bytes(data)
    assert read_text(path, sandbox.site, sandbox.findings) is None
    found = only(sandbox.findings.broken, "TTR102")
    assert (places(found), found.labels[0].text) == ([place], told)
    assert read_rankfile(path, sandbox.site, sandbox.findings) is None
    assert read_rankfile(sandbox.cwd / "none", sandbox.site, sandbox.findings) is None


def test_an_integer_of_twenty_digits_is_read_too(sandbox: Sandbox) -> None:
    path = sandbox.write(
        "f", "[9999999999999999999, 10000000000000000000, 00000000000000000001, 0o17, 0b11]\n"
    )
    document = read_document(path, sandbox.site, sandbox.findings)
    assert document is not None
    read = [document.integer(node, "x") for node in document.items(document.root, "x")]
    assert read == [10**19 - 1, 10**19, 1, None, 3]


def test_where_a_program_s_sources_are(sandbox: Sandbox) -> None:
    for name, text in (
        ("pkg/__init__.py", "P"),
        ("pkg/__main__.py", "M"),
        ("tool.py", "import side\nfrom pkg.deep import x\n"),
    ):
        sandbox.write(name, text)
    sandbox.write("side.py", "import tool\nimport side\n")
    sandbox.write("pkg/deep.py", "D")
    sandbox.write("large.txt", "x" * MOST_BYTES)
    sandbox.write("larger.txt", "x" * (MOST_BYTES + 1))

    def found(*program: str) -> list[str]:
        return [text.split()[-1][:1] for text in texts(program, sandbox.site)]

    assert (
        found("python", "-m", "pkg") == found("-m", "pkg") == found("python", "-m", "pkg", "x") == ["P", "M"]
    )
    assert found("python", "pkg", "-m") == []
    assert found("python", "tool.py") == ["x", "s", "D"]
    assert found("large.txt", "larger.txt") == ["x"]
    for number in range(MOST_FILES + 1):
        sandbox.write(f"m{number}.py", f"import m{number + 1}\n")
    assert len(found("m0.py")) == MOST_FILES


@pytest.mark.parametrize(
    ("first", "head", "as_module"),
    [
        ("bin/tool", "#!/usr/bin/python3\n", False),
        ("tool", "#!/usr/bin/python3\n", True),
        ("tool", "#!/bin/sh\n", False),
        ("tool", "python\n", False),
        ("tool.py", "#!/usr/bin/python3\n", False),
        ("no-such-module", "", False),
        ("json.tool", "", False),
    ],
)
def test_what_the_profiler_starts_as_a_module(
    sandbox: Sandbox, first: str, head: str, as_module: bool
) -> None:
    if head:
        sandbox.write(f"bin/{Path(first).name}", head).chmod(0o755)
    sandbox.set(PATH=str(sandbox.cwd / "bin"))
    words = with_tracy((first, "x"), parse_tracy("-o /out", sandbox.site), 0, sandbox.site)
    assert words[words.index("/out/rank0") + 1 :] == (("-m",) * as_module + (first, "x"))


def test_why_open_mpi_would_misread_a_rankfile(sandbox: Sandbox) -> None:
    for text, trouble in (
        ("rank 0=a\nrank 1=b\n", ""),
        ("rank 1=a\nrank 0=b\n", "its ranks are not in ascending order"),
        ("rank 1=a\r\nrank 0=b\n", "it has CRLF line ends"),
    ):
        read = parse_rankfile(text, "r", sandbox.findings)
        assert read.trouble == trouble and read.hosts == ("a", "b")
        assert read.normal_text().startswith("rank 0=") and read.by_rank()[1].host == (
            "b" if not trouble else "a"
        )


def test_a_name_is_told_where_it_is_named(sandbox: Sandbox) -> None:
    at = Position("in.yaml", 2, 3)
    for name, told in (("", "the name is empty"), ("a\0", "the name holds a NUL character")):
        assert sandbox.search.find(name, "file", at) is None
        assert [(str(label.position), label.text) for label in sandbox.findings.broken[-1].labels] == [
            ("in.yaml:2:3", told)
        ]
    assert sandbox.search.find("none", "file", at) is None and sandbox.search.find("none", "file") is None
    assert [str(each.position) for each in sandbox.findings.broken[-2:]] == ["in.yaml:2:3", "none"]


def test_a_ready_file_is_meant_only_where_a_person_names_it(sandbox: Sandbox) -> None:
    from dataclasses import replace

    strict = replace(sandbox.search, is_strict=True)
    assert sandbox.search.find("galaxy", "mesh graph descriptor") is not None
    assert sandbox.search.find("galaxy", "mesh graph descriptor", Position("f", 1, 1)) is None
    assert strict.find("galaxy", "mesh graph descriptor") is None
    assert codes(sandbox.findings.broken) == ["TTR101", "TTR101"]


def test_unknown_keys_are_shown_in_part() -> None:
    found = parse_cluster_key("k" * 41)
    assert found.message == f"unknown key {'k' * 40!r} is ignored"


def parse_cluster_key(key: str) -> Diagnostic:
    text = (
        "arch: {0: blackhole}\nchips_with_mmio: [0]\nboards: [[{board_id: 5}, {board_type: p150}, {chips: [0]}]]\n"
        f"ethernet_connections: []\nharvesting: {{}}\n{key}: 1\n"
    )
    [found] = parse_cluster(text, "c.yaml").warnings
    return found


@pytest.mark.parametrize(("number", "words"), [(1, "rank 0 alone"), (2, "ranks 0 to 1"), (8, "ranks 0 to 7")])
def test_all_ranks_in_words(number: int, words: str) -> None:
    assert all_ranks(number) == words
