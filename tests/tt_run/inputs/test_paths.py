"""Where files are looked for."""

from __future__ import annotations

import dataclasses
import os

import pytest

from mgd.diagnostics import Position
from mgd.resources import configs_root
from tests.tt_run.sandbox import Sandbox, codes, only
from tt_run.inputs.findings import nearest


def test_absolute_paths_lose_links_and_dots(sandbox: Sandbox) -> None:
    real = sandbox.write("real/f.yaml", "")
    (sandbox.cwd / "link.yaml").symlink_to(real)
    assert sandbox.search.find(str(sandbox.cwd / "real/../link.yaml"), "file") == real
    assert sandbox.search.find("link.yaml", "file") == real


def test_tilde_is_expanded_and_variables_are_not(sandbox: Sandbox) -> None:
    (sandbox.home / "f.yaml").write_text("")
    assert sandbox.search.find("~/f.yaml", "file") == sandbox.home / "f.yaml"
    assert sandbox.search.find("$HOME/f.yaml", "file") is None
    assert sandbox.findings.broken[-1].help == f"write the path itself: {sandbox.home}/f.yaml"
    sandbox.write("$X.yaml", "")
    assert sandbox.search.find("$X.yaml", "file") == sandbox.cwd / "$X.yaml"


def test_tt_metal_home_comes_first_and_is_told(sandbox: Sandbox) -> None:
    metal = sandbox.root / "METAL"
    metal.mkdir()
    (metal / "f.yaml").write_text("")
    sandbox.set(TT_METAL_HOME=str(metal))
    assert sandbox.search.find("f.yaml", "file") == metal / "f.yaml"
    assert codes(sandbox.findings.judged) == []
    sandbox.write("f.yaml", "")
    assert sandbox.search.find("f.yaml", "file") == metal / "f.yaml"
    assert str(sandbox.cwd / "f.yaml") in only(sandbox.findings.judged, "TTR118").help


def test_what_tt_metal_home_hides_is_told_where_it_is_named(sandbox: Sandbox) -> None:
    metal, own = sandbox.root / "METAL", sandbox.write("f.yaml", "")
    metal.mkdir()
    (metal / "f.yaml").write_text("")
    sandbox.set(TT_METAL_HOME=str(metal))
    assert sandbox.search.find("f.yaml", "file", Position("in.yaml", 2, 3)) == metal / "f.yaml"
    assert sandbox.search.find("f.yaml", "file") == metal / "f.yaml"
    named, typed = ([(str(at.position), at.text) for at in each.labels] for each in sandbox.findings.judged)
    assert named == [("in.yaml:2:3", "f.yaml is named here"), *typed]
    assert typed == [
        (str(metal / "f.yaml"), "used: $TT_METAL_HOME is searched first"),
        (str(own), "not used"),
    ]


def test_nothing_is_hidden_by_the_same_file_or_by_a_folder_that_comes_first(sandbox: Sandbox) -> None:
    own, first = sandbox.write("f.yaml", ""), sandbox.write("first/f.yaml", "").parent
    metal = sandbox.root / "METAL"
    metal.mkdir()
    (metal / "f.yaml").symlink_to(own)
    sandbox.set(TT_METAL_HOME=str(metal))
    assert sandbox.search.find("f.yaml", "file") == own
    assert sandbox.search.find("f.yaml", "file", first=first) == first / "f.yaml"
    (metal / "f.yaml").unlink()
    (metal / "f.yaml").write_text("")
    assert sandbox.search.find("f.yaml", "file", first=metal) == metal / "f.yaml"
    assert not sandbox.findings.judged


def test_what_is_no_regular_file_is_told_apart(sandbox: Sandbox) -> None:
    os.mkfifo(sandbox.cwd / "pipe")
    (sandbox.cwd / "link").symlink_to("gone")
    (sandbox.cwd / "circle").symlink_to("circle")
    long = "x" * 300
    for name in ("pipe", "link", "circle", long):
        assert sandbox.search.find(name, "file") is None
    assert [(finding.labels[0].text, finding.help) for finding in sandbox.findings.broken] == [
        ("is no regular file", "name a regular file"),
        (f"is a link to {sandbox.cwd / 'gone'}, which does not exist", "name a regular file"),
        ("is a symbolic link that leads back to itself", "name a regular file"),
        ("file name too long", "write an absolute path, or a path from the launch directory"),
    ]


def test_a_file_that_need_not_exist_may_be_a_circle_of_links(sandbox: Sandbox) -> None:
    (sandbox.cwd / "circle").symlink_to("circle")
    assert sandbox.search.find("circle", "file", must_exist=False) == sandbox.cwd / "circle"


def test_an_empty_name_is_no_directory(sandbox: Sandbox) -> None:
    for name in ("", "a\0b"):
        assert sandbox.search.find(name, "rank-binding file", must_exist=not name) is None
    assert {each.message for each in sandbox.findings.broken} == {"rank-binding file: no file is named"}


def test_an_empty_tt_metal_home_is_none(sandbox: Sandbox) -> None:
    sandbox.set(TT_METAL_HOME="")
    path = sandbox.write("f.yaml", "")
    assert sandbox.search.find("f.yaml", "file") == path


def test_the_folder_of_the_naming_file_comes_last(sandbox: Sandbox) -> None:
    beside = sandbox.write("sub/f.yaml", "").parent
    assert sandbox.search.find("f.yaml", "file", beside=beside) == beside / "f.yaml"
    sandbox.write("f.yaml", "")
    assert sandbox.search.find("f.yaml", "file", beside=beside) == sandbox.cwd / "f.yaml"
    assert sandbox.search.find("f.yaml", "file", first=beside) == beside / "f.yaml"


def test_a_strict_search_takes_only_dotted_paths_from_the_folder_of_the_naming_file(sandbox: Sandbox) -> None:
    beside = sandbox.write("sub/f.yaml", "").parent
    strict = dataclasses.replace(sandbox.search, is_strict=True)
    assert strict.find("./f.yaml", "file", beside=beside) == beside / "f.yaml"
    assert strict.find("f.yaml", "file", beside=beside) is None
    assert (
        only(sandbox.findings.broken, "TTR101").help
        == "write ./f.yaml for the file beside the one that names it"
    )


def test_missing_files_name_what_was_searched_and_the_nearest(sandbox: Sandbox) -> None:
    sandbox.write("mesh.textproto", "")
    assert sandbox.search.find("mehs.textproto", "descriptor") is None
    finding = only(sandbox.findings.broken, "TTR101")
    assert "mesh.textproto" in finding.help
    assert finding.notes == (f"searched in: {sandbox.cwd / 'mehs.textproto'}",)


def test_a_system_is_meant_only_where_a_descriptor_is_wanted(sandbox: Sandbox) -> None:
    assert sandbox.search.find("galaxi", "mesh graph descriptor") is None
    assert sandbox.search.find("galaxi", "mock cluster") is None
    descriptor, mock = sandbox.findings.broken
    assert "did you mean galaxy, which comes with tt-run?" in descriptor.help
    assert "which comes with tt-run" not in mock.help


def test_a_file_that_names_a_ready_one_by_its_name_is_told_its_path(sandbox: Sandbox) -> None:
    place = Position("ranks.yaml", 3, 23)
    assert sandbox.search.find("t3000", "mesh graph descriptor", named_at=place) is None
    [finding] = sandbox.findings.broken
    assert finding.help == f"write {configs_root()}/mgd/t3k_mesh_graph_descriptor.textproto"


@pytest.mark.parametrize(
    ("name", "what", "help"),
    [
        ("nowhere", "rankfile", "write the path of a file, or the name of a ready one: RANKFILES"),
        ("nowhere", "mesh graph descriptor", "write the path of a file, or a name that mgd systems lists"),
        ("nowhere", "file", "write an absolute path, or a path from the launch directory"),
        (
            "gone/galaxi",
            "mesh graph descriptor",
            "write the path of a file, or a name that mgd systems lists",
        ),
        ("t3k_2x4_two_host", "rank-binding file", "did you mean t3k_2x4_two_hosts, which comes with tt-run?"),
        ("sub/mehs.textproto", "mesh graph descriptor", "did you mean sub/mesh.textproto?"),
        ("mehs", "mesh graph descriptor", "did you mean mesh.textproto?"),
        ("mehs.yaml", "mesh graph descriptor", "did you mean mesh.textproto?"),
        ("dta", "file", "did you mean data?"),
        ("dta.yaml", "file", "write an absolute path, or a path from the launch directory"),
    ],
)
def test_what_is_said_of_a_name_that_no_file_has(sandbox: Sandbox, name: str, what: str, help: str) -> None:
    for file in ("mesh.textproto", "sub/mesh.textproto", "data"):
        sandbox.write(file, "")
    assert sandbox.search.find(name, what) is None
    ready = ", ".join(sorted(path.stem for path in (configs_root() / "rankfiles").glob("*.txt")))
    assert only(sandbox.findings.broken, "TTR101").help == help.replace("RANKFILES", ready)


def test_endings_do_not_make_names_similar(sandbox: Sandbox) -> None:
    sandbox.write("p4.yaml", "")
    sandbox.write("ranks.yml", "")
    assert sandbox.search.find("nope.yaml", "file") is None
    assert sandbox.search.find("ranks.yaml", "file") is None
    far, near = sandbox.findings.broken
    assert "p4" not in far.help and "ranks.yml" in near.help


def test_a_directory_is_no_file(sandbox: Sandbox) -> None:
    assert sandbox.search.find(".", "descriptor") is None
    assert only(sandbox.findings.broken, "TTR101").labels[0].text == "is a directory"


def test_a_file_that_need_not_exist(sandbox: Sandbox) -> None:
    assert (
        sandbox.search.find("far/away.textproto", "d", must_exist=False) == sandbox.cwd / "far/away.textproto"
    )
    assert not sandbox.findings.broken


def test_nearest_words() -> None:
    assert nearest("env_overides", ["env_overrides", "rank"]) == "env_overrides"
    assert nearest("Mesh_Id", ["mesh_id"]) == "mesh_id"
    assert nearest("zzz", ["mesh_id"]) is None


def test_a_name_that_no_file_can_have_is_missing(sandbox: Sandbox) -> None:
    assert sandbox.search.find("a\0b", "rankfile", must_exist=False) is None
    assert codes(sandbox.findings.broken) == ["TTR101"]
