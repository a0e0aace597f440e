"""Bounds and further cases of what launches read, one step to either side."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mgd.diagnostics import Diagnostic, Label, Position, Severity
from tests.tt_run.plan.placement.machines import t3000_yaml
from tests.tt_run.sandbox import Sandbox, codes, only, places
from tt_run.errors import InputError, UsageError
from tt_run.inputs import file_kinds
from tt_run.inputs.bindings import read_rank_bindings
from tt_run.inputs.clusters.descriptor import parse_cluster
from tt_run.inputs.clusters.mock import read_mock_cluster
from tt_run.inputs.document import read_document, read_text
from tt_run.inputs.file_kinds import kind_of
from tt_run.inputs.findings import Findings, all_ranks, counted, folded, list_numbers
from tt_run.inputs.github import workflow_command
from tt_run.inputs.hosts import nodelist
from tt_run.inputs.hosts.lists import MOST_SLOTS, parse_hosts, slurm_hosts
from tt_run.inputs.hosts.rankfiles import parse_rankfile, read_rankfile
from tt_run.inputs.paths import PathSearch
from tt_run.inputs.program_sources import MOST_BYTES, MOST_FILES, texts
from tt_run.inputs.secrets import masked, masked_text, masked_words
from tt_run.inputs.shipped import find_shipped
from tt_run.inputs.site import Site
from tt_run.inputs.subcontexts import read_rank_bindings_mapping
from tt_run.inputs.wrapping import _is_module, _is_python_script, parse_tracy, with_tracy


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


def test_a_long_row_of_gaps_is_told_in_part(sandbox: Sandbox) -> None:
    entries = ", ".join(f"{{rank: {2 * n + 1}, mesh_id: 0}}" for n in range(9))
    path = sandbox.write("rb.yaml", f"rank_bindings: [{entries}]\nmesh_graph_desc_path: mesh.textproto\n")
    sandbox.write("mesh.textproto", "")
    assert read_rank_bindings(path, sandbox.search, sandbox.findings) is None
    found = only(sandbox.findings.broken, "TTR111")
    assert found.message == "Ranks must be contiguous from 0 to 8; missing: 0, 2, 4, 6, 8, 10, 12, 14"
    assert (found.labels[0].text, found.help) == (
        "rank 1 is bound, 0 is not",
        "bind rank 0, or renumber the ranks after it",
    )


def test_every_wrong_entry_of_a_mock_cluster_is_told(sandbox: Sandbox) -> None:
    """In a file of bindings as in one of its own."""
    sandbox.write("mesh.textproto", "")
    wrong = "{0: [a.yaml], x: a.yaml, 1: 2}"
    path = sandbox.write(
        "rb.yaml",
        "rank_bindings: [{rank: 0, mesh_id: 0}]\nmesh_graph_desc_path: mesh.textproto\n"
        f"mock_cluster_rank_binding: {wrong}\n",
    )
    assert read_rank_bindings(path, sandbox.search, sandbox.findings) is None
    assert [f"{each.code} {each.message}" for each in sandbox.findings.broken[:2]] == [
        "TTR104 a path of mock_cluster_rank_binding must be text",
        "TTR104 a rank of mock_cluster_rank_binding must be a whole number",
    ]
    findings = Findings()
    wrong = "{0: [a.yaml], x: a.yaml, 1: none.yaml}"
    path = sandbox.write("mock.yaml", f"rank_to_cluster_mock_cluster_desc: {wrong}\n")
    assert read_mock_cluster(path, PathSearch(sandbox.site, findings), findings) is None
    assert [each.message for each in findings.broken] == [
        "a descriptor of the mock mapping must be text",
        "a rank of the mock mapping must be a whole number",
        "mock cluster descriptor of rank 1 not found: none.yaml",
    ]


def test_the_key_that_a_mock_cluster_was_meant_to_have(sandbox: Sandbox) -> None:
    path = sandbox.write("mock.yaml", "rank_to_cluster_mock_desc: {0: a.yaml}\n")
    assert read_mock_cluster(path, sandbox.search, sandbox.findings) is None
    assert places(only(sandbox.findings.broken, "TTR105")) == ["mock.yaml:1:1"]


def test_a_third_end_of_a_link_is_not_looked_at() -> None:
    odd = t3000_yaml().replace("{chip: 2, chan: 0}]", "{chip: 2, chan: 0}, nonsense]", 1)
    assert odd != t3000_yaml()
    assert parse_cluster(odd, "a.yaml").links == parse_cluster(t3000_yaml(), "a.yaml").links


@pytest.mark.parametrize(
    ("count", "last"), [(20, "unknown key 'k19' is ignored"), (21, "1 more unknown keys are ignored")]
)
def test_unknown_keys_of_a_machine(count: int, last: str) -> None:
    text = t3000_yaml() + "".join(f"k{n}: 0\n" for n in range(count))
    assert [each.message for each in parse_cluster(text, "a.yaml").warnings][-1] == last


def test_every_wrong_entry_of_a_machine_is_told() -> None:
    text = t3000_yaml().replace("chips_with_mmio: [{0: 0}, {1: 1}", "chips_with_mmio: [x, {0: 0}, y, {1: 1}")
    text = text.replace("boards:\n", "boards:\n  - [{board_type: n300}]\n  - [{board_id: 7}]\n")
    with pytest.raises(InputError) as bad:
        parse_cluster(text, "a.yaml")
    told = [each.message for each in bad.value.diagnostics if each.is_error]
    assert told == [
        "chips_with_mmio: entry 1 needs {chip: device number} or a chip, not x",
        "chips_with_mmio: entry 3 needs {chip: device number} or a chip, not y",
        "boards: entry 1 needs board_id, board_type and chips",
        "boards: entry 2 needs board_id, board_type and chips",
    ]


def test_only_unknown_keys_of_a_file_that_lacks_its_own_are_taken_back(sandbox: Sandbox) -> None:
    for code in ("TTR106", "TTR118"):
        sandbox.findings.warn(code, "of another file", Label(Position("other", 1, 1)))
    path = sandbox.write("map.yaml", "a: 1\nb: 2\n")
    assert read_rank_bindings_mapping(path, sandbox.search, sandbox.findings) is None
    assert [each.message for each in sandbox.findings.judged] == ["of another file"] * 2


@pytest.mark.parametrize(
    ("value", "help"),
    [
        ("[a, b]", 'write "a,b"'),
        ("[a, [b]]", 'write one word, or text in quotes: "…"'),
        ("[]", 'write one word, or text in quotes: "…"'),
    ],
)
def test_a_list_where_text_is_wanted(sandbox: Sandbox, value: str, help: str) -> None:
    path = sandbox.write("x.yaml", f"name: {value}\n")
    document = read_document(path, sandbox.site, sandbox.findings)
    assert document is not None
    field = document.mapping(document.root, "the file")["name"]
    assert document.text(field.value, "name") is None
    assert only(sandbox.findings.broken, "TTR104").help == help


def test_a_folder_is_no_text(sandbox: Sandbox) -> None:
    assert read_text(sandbox.cwd, sandbox.site, sandbox.findings) is None
    found = only(sandbox.findings.broken, "TTR102")
    assert (found.labels[0].text, found.help) == ("Is a directory", "name a file, not a folder")


@pytest.mark.parametrize(("more", "told"), [(0, True), (1, False)])
def test_the_kind_of_a_large_file_is_not_asked_for(sandbox: Sandbox, more: int, told: bool) -> None:
    text = "rank_bindings:\n"
    path = sandbox.write("x", text + "#" * (file_kinds.MOST_BYTES - len(text) + more))
    assert (kind_of(path, sandbox.site) is not None) == told


def test_a_warning_at_the_place_of_a_mistake_stays() -> None:
    at = Label(Position("a", 1, 1), "'1' is read as 1")
    doubts = [Diagnostic(code, "x", (at,), severity=Severity.WARNING) for code in ("TTR108", "TTR106")]
    found = folded([*doubts, Diagnostic("TTR204", "y", (at,))])
    assert codes(found) == ["TTR106", "TTR204"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a:000002", ""),
        ("a:0000002", f"'a:0000002' has no slot count of 1..{MOST_SLOTS} after ':'"),
        ("a:1:2", "'a:1:2' has two counts of slots"),
        ("::1:2", ""),
    ],
)
def test_counts_of_slots(text: str, told: str) -> None:
    if not told:
        assert parse_hosts(text).hosts[0].slots == 2
        return
    with pytest.raises(UsageError) as refused:
        parse_hosts(text)
    assert told in refused.value.diagnostics[0].message


@pytest.mark.parametrize("name", ["SLURM_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"])
def test_tasks_of_an_allocation_have_two_names(sandbox: Sandbox, name: str) -> None:
    sandbox.set(SLURM_JOB_ID="7", SLURM_JOB_NODELIST="a,b", **{name: "3"})
    found = slurm_hosts(sandbox.site)
    assert found is not None and [host.slots for host in found.hosts] == [3, 3] and found.counted


def test_nodes_in_brackets() -> None:
    assert nodelist.expand_nodes("n[1-2]x") == ("n1x", "n2x")
    assert nodelist.expand_nodes("n[3-1,5]") == ()


def test_a_variable_without_a_value_is_named_as_it_stands(sandbox: Sandbox) -> None:
    sandbox.set(HERE="/data")
    for name, path in (("$HERE/x", "/data/x"), ("${GONE}/$ALSO", "${GONE}/$ALSO")):
        findings = Findings()
        assert PathSearch(sandbox.site, findings).find(name, "hostfile") is None
        assert only(findings.broken, "TTR101").help == f"write the path itself: {path}"


def test_a_ready_descriptor_is_near_by_its_file_and_by_its_system(sandbox: Sandbox) -> None:
    for name, near in (("t3k_2x4_two_host", "t3k_2x4_two_hosts"), ("t3000-two-host", "t3000-two-hosts")):
        findings = Findings()
        assert PathSearch(sandbox.site, findings).find(name, "mesh graph descriptor") is None
        assert only(findings.broken, "TTR101").help == f"did you mean {near}, which comes with tt-run?"


def test_a_near_name_is_looked_for_in_every_folder(sandbox: Sandbox) -> None:
    sandbox.set(TT_METAL_HOME="/nowhere")
    sandbox.write("bindings.yaml", "")
    assert sandbox.search.find("binding.yaml", "rank-binding file", Position("a", 1, 1)) is None
    assert only(sandbox.findings.broken, "TTR101").help == "did you mean bindings.yaml?"


def test_a_source_that_is_named_twice_is_read_once_and_hides_none(sandbox: Sandbox) -> None:
    for name in ("a", "b", "c"):
        sandbox.write(f"{name}.py", f"# {name}\n")
    found = texts(("python", "a.py", "a.py", "b.py", "-m", "c"), sandbox.site)
    assert list(found) == ["# a\n", "# b\n", "# c\n"]


def test_secrets_are_masked_after_either_sign() -> None:
    for sign in ("=", ": "):
        assert masked_text(f"HF_TOKEN{sign}abc") == masked_text("HF_TOKEN=abc").replace("=", sign)
        assert "abc" not in masked_text(f"HF_TOKEN{sign}abc")


def test_ready_files_by_name() -> None:
    found = find_shipped("t3k_2x4_two_hosts", "rank-binding file")
    assert found is not None and found.parent.name == "bindings"
    assert find_shipped("t3k_2x4_two_hosts.yaml", "rank-binding file") == found
    assert find_shipped("t3000", "rank-binding file") is None
    system = find_shipped("t3000", "mesh graph descriptor")
    assert system is not None and system.suffix == ".textproto"


def test_only_the_user_0_is_root(monkeypatch: pytest.MonkeyPatch) -> None:
    for user in (0, 1000):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert Site.current().is_root == (user == 0)


def test_descriptors_of_sub_contexts_must_exist_unless_somebody_else_finds_them(sandbox: Sandbox) -> None:
    sandbox.write("rb.yaml", "rank_bindings: [{rank: 0, mesh_id: 0}]\nmesh_graph_desc_path: none.textproto\n")
    path = sandbox.write("map.yaml", "subcontext_id_to_rank_bindings: {0: rb.yaml}\n")
    assert read_rank_bindings_mapping(path, sandbox.search, sandbox.findings) is None
    assert codes(sandbox.findings.broken) == ["TTR101"]
    assert (
        read_rank_bindings_mapping(path, sandbox.search, Findings(), descriptor_must_exist=False) is not None
    )


@pytest.mark.parametrize(
    ("variables", "home"),
    [
        ({}, "CWD"),
        ({"TT_METAL_HOME": "/metal"}, "/metal"),
        ({"ORIGINAL_CWD": "/first"}, "/first"),
        ({"TT_METAL_HOME": "/metal", "ORIGINAL_CWD": "/first"}, "/metal"),
    ],
)
def test_where_profiles_go(sandbox: Sandbox, variables: dict[str, str], home: str) -> None:
    sandbox.set(**variables)
    folder = parse_tracy("", sandbox.site).rank_folder(0)
    assert folder == sandbox.root / home / "generated/profiler/ttrun/rank0"


def test_what_the_profiler_takes_for_python(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    for slashes, is_python in ((192, True), (193, False)):
        assert _is_python_script(sandbox.write("run", "#!" + "/" * slashes + "python\n")) == is_python
    monkeypatch.setitem(sys.modules, "without_a_spec", ModuleType("without_a_spec"))
    assert not _is_module("without_a_spec") and _is_module("json") and not _is_module("no_such_module_here")
