"""The verbs that write: new, fmt, fix, convert; and diff, systems, explain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from mgd.resources import configs_root
from mgd.rules import all_rules
from mgd.systems import System, systems
from tests.mgd.cli.run import Mgd
from tests.mgd.fixtures import EACH_SYSTEM

# --- fmt ------------------------------------------------------------------------------------------------------------------


def test_fmt_in_place_keeps_the_mode_and_a_second_time_changes_nothing(
    mgd: Mgd, tmp_path: Path, good: str
) -> None:
    path = tmp_path / "a.textproto"
    path.write_text(good.replace("\n", "\r\n").replace(" {", "{"), encoding="utf-8")
    path.chmod(0o640)
    result = mgd("fmt", path)
    assert result.code == 0 and "formatted" in result.err
    assert path.read_bytes() == good.encode() and path.stat().st_mode & 0o777 == 0o640
    assert mgd("fmt", path).err == "" and list(tmp_path.iterdir()) == [path]


def test_fmt_check_and_diff_change_nothing(mgd: Mgd, tmp_path: Path, good: str) -> None:
    path = tmp_path / "a.textproto"
    messy = good.replace("[2, 4]", "[2,4]")
    path.write_text(messy, encoding="utf-8")
    check, diff = mgd("fmt", "--check", tmp_path), mgd("fmt", "--diff", path)
    assert (check.code, check.out) == (1, f"{path}: would change\n")
    assert (
        diff.code == 1
        and "-  device_topology { dims: [2,4] }\n+  device_topology { dims: [2, 4] }" in diff.out
    )
    assert path.read_text(encoding="utf-8") == messy
    assert mgd("fmt", "--check", configs_root() / "mgd").code == 0


def test_fmt_as_a_filter(mgd: Mgd, good: str) -> None:
    assert mgd("fmt", "-", stdin=good.replace("  ", "\t")).out == good


def test_fmt_leaves_alone_what_it_cannot_read(mgd: Mgd, tmp_path: Path) -> None:
    broken, latin, yaml = tmp_path / "a.textproto", tmp_path / "b.textproto", tmp_path / "mgd.yaml"
    broken.write_text("mesh_descriptors {", encoding="utf-8")
    latin.write_bytes(b"# caf\xe9\n")
    yaml.write_text("Mesh: []", encoding="utf-8")
    for path, told in ((broken, "MGD111"), (latin, "MGD103")):
        before = path.read_bytes()
        result = mgd("fmt", path)
        assert result.code == 1 and told in result.err and path.read_bytes() == before
    assert "left alone" in mgd("fmt", yaml).err


def test_fmt_does_not_take_names_of_systems(
    mgd: Mgd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert mgd("fmt", "t3000").code == 2


# --- fix ------------------------------------------------------------------------------------------------------------------


def test_fix_repairs_in_place(mgd: Mgd, tmp_path: Path, good: str) -> None:
    path = tmp_path / "a.textproto"
    path.write_text(good.replace("[2, 4]", "[2, 4] types: [RING, RING]"), encoding="utf-8")
    result = mgd("fix", path)
    assert result.code == 0 and "repaired MGD113, MGD070" in result.err
    assert path.read_text(encoding="utf-8") == good.replace("[2, 4]", "[2, 4] dim_types: [LINE, RING]")
    assert "nothing to repair" in mgd("fix", path).err


def test_fix_tells_what_is_left(mgd: Mgd, tmp_path: Path, bad: str) -> None:
    path = tmp_path / "a.textproto"
    path.write_text(bad, encoding="utf-8")
    result = mgd("fix", path)
    assert result.code == 1 and "2 errors left" in result.err and path.read_text(encoding="utf-8") == bad


def test_fix_without_writing(mgd: Mgd, tmp_path: Path, good: str) -> None:
    path = tmp_path / "a.textproto"
    broken = good.replace("mesh_id: 0", "mesh_id: 0 device_id: 2")
    path.write_text(broken, encoding="utf-8")
    dry, diff = mgd("fix", "--dry-run", path), mgd("fix", "--diff", path)
    assert dry.code == diff.code == 1
    assert "warning[MGD067]" in dry.out and "would repair MGD067" in dry.err
    assert "-top_level_instance" in diff.out and path.read_text(encoding="utf-8") == broken
    assert mgd("fix", "-", stdin=broken).out == good


def test_a_file_that_cannot_be_read_keeps_no_other_from_being_written(
    mgd: Mgd, tmp_path: Path, good: str
) -> None:
    broken, messy = tmp_path / "a.textproto", tmp_path / "b.textproto"
    broken.write_text(good.replace("WORMHOLE_B0", "WORMHOLE"), encoding="utf-8")
    for verb, odd in (("fmt", good.replace("[2, 4]", "[2,4]")), ("fix", good.replace("dims", "dimz", 1))):
        messy.write_text(odd, encoding="utf-8")
        result = mgd(verb, broken, messy)
        assert result.code == 1 and "MGD106" in result.err and str(messy) in result.err, verb
        assert messy.read_text(encoding="utf-8") == good, verb
    assert mgd("fmt", tmp_path / "none.textproto", messy).code == 2
    assert mgd("fmt", "--check", tmp_path / "none.textproto", messy).code == 2


# --- new ------------------------------------------------------------------------------------------------------------------


def test_new_to_a_file_that_passes_the_check(mgd: Mgd, tmp_path: Path) -> None:
    path = tmp_path / "my.textproto"
    result = mgd("new", "--shape", "2x4", "--hosts", "1x2", "--meshes", "3", "--link", "ring", "-o", path)
    assert result.code == 0
    assert "3 meshes, 24 devices, 6 hosts" in mgd("check", path).out
    assert mgd("fmt", "--check", path).code == 0
    again = mgd("new", "--shape", "1x1", "-o", path)
    assert again.code == 2 and "--force" in again.err
    assert mgd("new", "--shape", "1x1", "-o", path, "--force").code == 0


def test_new_with_links_between_devices_and_pins(mgd: Mgd) -> None:
    words = (
        "new --arch bh --shape 8x4 --wrap xy --meshes 2 --link 0.3-1.0:2 --link 0.7-1.4:2 --z --pin 0.0@1,1"
    )
    result = mgd(*words.split())
    assert result.code == 0 and result.err == ""
    assert result.out.count("assign_z_direction: true") == 2 and "tray_id: 1 asic_location: 1" in result.out


def test_new_with_the_bindings_for_it(mgd: Mgd, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    descriptor, bindings = tmp_path / 'two "é".textproto', tmp_path / "sub" / "two.yaml"
    words = [
        "new",
        "--system",
        "t3000",
        "--hosts",
        "1x2",
        "--meshes",
        "2",
        "-o",
        descriptor,
        "--bindings",
        bindings,
    ]
    result = mgd(*words)
    assert result.code == 0 and "tt-run --rank-binding" in result.err
    content = yaml.safe_load(bindings.read_text(encoding="utf-8"))
    ranks = [(each["rank"], each["mesh_id"], each["mesh_host_rank"]) for each in content["rank_bindings"]]
    assert ranks == [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)]
    assert (bindings.parent / content["mesh_graph_desc_path"]).samefile(descriptor)
    assert mgd(*words).code == 2
    assert mgd("new", "--shape", "2x4", "--bindings", tmp_path / "x.yaml").code == 2


def test_policies_in_any_case(mgd: Mgd) -> None:
    made = mgd(
        "new",
        "--shape",
        "1x2",
        "--meshes",
        "2",
        "--link",
        "ring",
        "--policy",
        "strict",
        "--link-policy",
        "Strict",
    )
    assert made.out.count("policy: STRICT") == 2 and "RELAXED" not in made.out


def test_new_from_a_system(mgd: Mgd) -> None:
    result = mgd("new", "--system", "t3k", "--hosts", "1x2", "--meshes", "2")
    assert result.code == 0
    assert "2 meshes, 16 devices, 4 hosts" in mgd("check", "-", stdin=result.out).out
    assert mgd("diff", "galaxy", "-", stdin=mgd("new", "--system", "galaxy").out).out == ""


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("--system t3000 --shape 2x4 --link all", 2, "leave out --link, --shape"),
        ("--system t3001", 2, "did you mean t3000"),
        ("--system t3000 --hosts 3x1", 1, "MGD012"),
        ("--system tg --meshes 2", 1, "stands for a graph"),
        ("--shape 2by4", 2, "is not a shape"),
        (
            "--shape 2x4 --hosts 1x3",
            1,
            "error[MGD300]: mgd new: 4 columns cannot be cut over 3 hosts\n  help: 1, 2, 4 would do",
        ),
        ("2x4", 2, "write mgd new --shape 2x4"),
        ("--shape 2x4 --meshes 0", 2, "help: write --meshes 1"),
        ("--shape 3x5", 1, "MGD025"),
        ("--shape 2x4 --meshes 2 --link 0-5", 1, "names mesh 5"),
        ("--shape 2x4 --arch wurmhole", 2, "wurmhole"),
        ("", 2, "--shape"),
    ],
)
def test_new_tells_why_not(mgd: Mgd, words: str, code: int, told: str) -> None:
    result = mgd("new", *words.split())
    assert result.code == code and told in result.err and result.out == ""


# --- convert --------------------------------------------------------------------------------------------------------------

YAML = """ChipSpec: { arch: wormhole_b0, ethernet_ports: { N: 2, E: 2, S: 2, W: 2 } }
Board: [ { name: lbox, type: Mesh, topology: [1, 8] } ]
Mesh: [ { id: 0, board: lbox, device_topology: [1, 8], host_topology: [1, 1] },
        { id: 1, board: lbox, device_topology: [1, 8], host_topology: [1, 1] } ]
RelaxedGraph: [ [M0, M1, 2] ]
"""


def test_convert_there_and_back_is_the_same_system(mgd: Mgd, tmp_path: Path) -> None:
    old, new, back = tmp_path / "mgd.yaml", tmp_path / "mgd.textproto", tmp_path / "back.yaml"
    old.write_text(YAML, encoding="utf-8")
    assert mgd("convert", old, "-o", new).code == 0
    assert mgd("fmt", "--check", new).code == 0
    assert mgd("diff", old, new).out == ""
    assert mgd("convert", new, "-o", back).code == 0
    assert mgd("diff", new, back).out == ""
    assert mgd("diff", old, "dual-loudbox").out == ""
    assert mgd("convert", old, "-o", new).code == 2
    assert mgd("convert", "-", "--to", "2.0", stdin=YAML).out == new.read_text(encoding="utf-8")


@pytest.mark.parametrize("system", EACH_SYSTEM)
def test_convert_says_the_same_system_or_what_it_cannot_say(mgd: Mgd, tmp_path: Path, system: System) -> None:
    result = mgd("convert", system.name)
    if result.code == 0:
        path = tmp_path / "old.yaml"
        path.write_text(result.out, encoding="utf-8")
        assert mgd("diff", system.name, path).out == ""
    else:
        assert result.code == 1 and "MGD220" in result.err and result.out == ""


def test_convert_wrongly(mgd: Mgd, tmp_path: Path) -> None:
    path = tmp_path / "mgd.yaml"
    path.write_text("Mesh: [", encoding="utf-8")
    assert mgd("convert", path).code == 1
    assert "already" in mgd("convert", path, "--to", "1.0").err
    assert "--to" in mgd("convert", "-").err


# --- diff, systems, explain -----------------------------------------------------------------------------------------------


def test_diff(mgd: Mgd) -> None:
    same, other = mgd("diff", "t3k", "t3000"), mgd("diff", "t3000", "loudbox")
    assert (same.code, same.out) == (0, "")
    assert (other.code, other.out) == (1, "~ mesh 0 shape: 2x4 -> 1x8\n~ mesh 0 wraps: none -> X\n")
    changes = json.loads(mgd("diff", "--json", "t3000", "dual-t3000").out)
    assert changes[0] == {"what": "mesh 1", "before": None, "after": "2x4 on 1x1 hosts, 2 RELAXED"}
    assert mgd("diff", "t3000", "/none.textproto").code == 2


def test_systems(mgd: Mgd) -> None:
    result = mgd("systems")
    assert result.code == 0 and all(f"{system.name} " in result.out for system in systems())
    facts = json.loads(mgd("systems", "--json").out)
    assert len(facts) == len(systems()) and all(Path(each["path"]).is_file() for each in facts)
    assert (
        mgd("systems", "--path", "quietbox").out
        == f"{configs_root()}/mgd/t3k_mesh_graph_descriptor.textproto\n"
    )
    assert "cluster type T3K" in mgd("systems", "t3k").out
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "60")
        narrow = mgd("systems", "t3k").out.splitlines()[:-1]
    assert max(map(len, narrow)) <= 60 and "             quietbox-2x4, loudbox-2x4" in narrow
    assert "did you mean galaxy" in mgd("systems", "gallaxy").err
    assert mgd("systems", "--path").code == 2


def test_explain_every_rule(mgd: Mgd) -> None:
    listed = mgd("explain").out
    for rule in all_rules().values():
        assert f"{rule.code}  {rule.name}" in listed
        page = mgd("explain", rule.code)
        assert page.code == 0 and rule.purpose in page.out and "Wrong:" in page.out and "Right:" in page.out
    assert mgd("explain", "12").out == mgd("explain", "uneven-host-split").out
    assert mgd("explain", "12", "13").out == f"{mgd('explain', '12').out}\n{mgd('explain', '13').out}"
    result = mgd("explain", "MGD0012")
    assert result.code == 2 and "did you mean MGD" in result.err
