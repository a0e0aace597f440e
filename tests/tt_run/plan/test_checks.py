"""The joint check: one mistake at a time, and all of them at once."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from mgd.diagnostics import Diagnostic, Severity, render
from mgd.resources import configs_root
from tests.tt_run.sandbox import MESH_2X4_TWO_HOSTS, TWO_RANKS, Sandbox, codes, only, places
from tt_run.contract import DEGRADE, HARDWARE, HARDWARE_SET
from tt_run.errors import RefusedError
from tt_run.hardware.data_files import MOST
from tt_run.inputs.findings import Findings
from tt_run.plan import checks
from tt_run.plan.checks.program import require_program
from tt_run.plan.launcher import LauncherFacts
from tt_run.plan.placement.search import OutOfTime
from tt_run.plan.request import RankOption

TWO_MESHES = """\
mesh_descriptors {
  name: "M0"
  arch: BLACKHOLE
  device_topology { dims: [1, 2] }
  host_topology { dims: [1, 1] }
  channels { count: 2 }
}
graph_descriptors {
  name: "G"
  type: "FABRIC"
  instances { mesh { mesh_descriptor: "M0" mesh_id: 0 } }
  instances { mesh { mesh_descriptor: "M0" mesh_id: 1 } }
  connections {
    nodes { mesh { mesh_descriptor: "M0" mesh_id: 0 } }
    nodes { mesh { mesh_descriptor: "M0" mesh_id: 1 } }
    channels { count: 2 policy: RELAXED }
  }
}
top_level_instance { graph { graph_descriptor: "G" graph_id: 0 } }
"""


def bindings(*ranks: str, more: str = "") -> str:
    lines = "".join(f"  - {{{rank}}}\n" for rank in ranks)
    return f"rank_bindings:\n{lines}mesh_graph_desc_path: mesh.textproto\n{more}"


def found(sandbox: Sandbox, **request: object) -> tuple[Diagnostic, ...]:
    """All findings of the check, whatever their weight."""
    return sandbox.plan(check="warn", **request).findings


# --- bindings and descriptor -------------------------------------------------------------------------------------------


def test_an_unknown_mesh_reads_as_in_the_manual(sandbox: Sandbox) -> None:
    sandbox.two_ranks(
        bindings("rank: 0, mesh_id: 7, mesh_host_rank: 0", "rank: 1, mesh_id: 0, mesh_host_rank: 1")
    )
    finding = only(sandbox.refusal(RefusedError), "TTR204")
    assert render(finding, more="tt-run --explain").splitlines() == [
        "error[TTR204]: rank binding names a mesh that the descriptor does not have",
        "  --> rb.yaml:2:24          rank 0 is bound to mesh_id 7",
        "  --> mesh.textproto:9:22   the descriptor instantiates only mesh_id 0",
        "  help: bind rank 0 to mesh_id 0   more: tt-run --explain TTR204",
    ]


def test_a_host_rank_out_of_range_has_both_positions(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS.replace("mesh_host_rank: 1", "mesh_host_rank: 2"))
    finding = only(sandbox.refusal(RefusedError), "TTR205")
    assert places(finding)[0] == "rb.yaml:9:21"
    assert places(finding)[1].startswith("mesh.textproto:5:")
    assert finding.labels[1].text == "host_topology 1x2: host ranks 0..1"


def test_the_same_place_twice(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS.replace("mesh_host_rank: 1", "mesh_host_rank: 0"))
    refused = sandbox.refusal(RefusedError)
    assert places(only(refused, "TTR206"))[:2] == ["rb.yaml:9:21", "rb.yaml:4:21"]
    assert only(refused, "TTR206").help == "give rank 1 mesh_host_rank: 1, which no rank has"
    assert len(refused) == 1  # that host rank 1 has nobody is the same mistake


def test_ranks_of_a_mesh_of_one_host_are_bound_to_the_same_place(sandbox: Sandbox) -> None:
    """No host rank is missing there: one mesh has one host."""
    sandbox.two_ranks(bindings("rank: 0, mesh_id: 1", "rank: 1, mesh_id: 1"), TWO_MESHES)
    finding = only(sandbox.refusal(RefusedError), "TTR206")
    assert finding.message == "ranks 0 and 1 are both bound to host rank 0 of mesh 1"


def test_a_mesh_of_several_hosts_wants_host_ranks(sandbox: Sandbox) -> None:
    sandbox.two_ranks(bindings("rank: 0, mesh_id: 0", "rank: 1, mesh_id: 0"))
    refused = sandbox.refusal(RefusedError)
    helps = [finding.help for finding in refused if finding.code == "TTR209"]
    assert "TTR207" not in codes(refused)
    assert helps == ["add mesh_host_rank: 0", "add mesh_host_rank: 1"]


def test_hosts_of_a_mesh_that_no_rank_is_bound_to(sandbox: Sandbox) -> None:
    sandbox.two_ranks(bindings("rank: 0, mesh_id: 1"), TWO_MESHES.replace("dims: [1, 1]", "dims: [1, 2]"))
    told = {finding.message for finding in sandbox.refusal(RefusedError) if finding.code == "TTR207"}
    assert "no rank is bound to host ranks 0 and 1 of mesh 0: the descriptor needs 4 ranks, bound: 1" in told


def test_ranks_of_an_unknown_mesh_get_the_places_that_are_free(sandbox: Sandbox) -> None:
    sandbox.two_ranks(
        TWO_RANKS.replace("mesh_id: 0", "mesh_id: 7").replace("mesh_host_rank: 1", "mesh_host_rank: 0")
    )
    refused = sandbox.refusal(RefusedError)
    assert codes(refused) == ["TTR204", "TTR204"]
    assert [finding.help for finding in refused] == [
        "bind rank 0 to mesh_id 0",
        "bind rank 1 to mesh_id 0, mesh_host_rank 1",
    ]


def test_a_mesh_without_rank(sandbox: Sandbox) -> None:
    sandbox.two_ranks(bindings("rank: 0, mesh_id: 1"), TWO_MESHES)
    finding = only(sandbox.refusal(RefusedError), "TTR207")
    assert finding.message == "no rank is bound to mesh 0: the descriptor needs 2 ranks, bound: 1"
    assert finding.help == "add - {rank: 1, mesh_id: 0, mesh_host_rank: 0}"


def test_a_mesh_of_one_host_needs_no_host_rank(sandbox: Sandbox) -> None:
    sandbox.two_ranks(bindings("rank: 0, mesh_id: 1", "rank: 1, mesh_id: 0"), TWO_MESHES)
    assert "TTR207" not in codes(found(sandbox))


def test_devices_are_counted_beside_a_rank_of_an_unknown_mesh(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS.replace("mesh_id: 0", "mesh_id: 7", 1).replace('"2,3"', '"2"'))
    assert {"TTR204", "TTR210"} <= set(codes(sandbox.refusal(RefusedError)))


def test_subcontexts_are_checked_by_themselves(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.write("m.yaml", "subcontext_id_to_rank_bindings: {0: rb.yaml, 1: rb.yaml}\n")
    told = codes(found(sandbox, rank_bindings_mapping="m.yaml"))
    assert not {"TTR206", "TTR207"} & set(told)


def test_everything_at_once(sandbox: Sandbox) -> None:
    text = bindings(
        'rank: 0, mesh_id: 3, env_overides: {A: b}, env_overrides: {TT_VISIBLE_DEVICES: "0;1"}',
        'rank: 1, mesh_id: 0, mesh_host_rank: 5, env_overrides: {TT_MESH_ID: "9"}',
    )
    sandbox.two_ranks(text)
    sandbox.write("app.py", "")
    refused = sandbox.refusal(RefusedError, program=("./app.py",), tcp_interface="eth7")
    expected = {"TTR106", "TTR204", "TTR205", "TTR212", "TTR222", "TTR014", "TTR311"}
    assert expected <= set(codes(refused))


# --- devices -------------------------------------------------------------------------------------------------------------


def test_an_n300_brings_its_second_chip(sandbox: Sandbox) -> None:
    """Two PCIe devices make four Wormhole chips: enough for a 2x2 block. One is not."""
    sandbox.two_ranks()
    assert found(sandbox) == ()
    sandbox.two_ranks(TWO_RANKS.replace('"2,3"', '"2"'))
    finding = only(found(sandbox), "TTR210")
    assert finding.labels[0].text == "1 visible device, with the second chip of each N300 at most 2 chips"
    assert "rank 1 owns a 2x2 block: 4 devices" in finding.labels[1].text
    assert "at least 2 devices" in finding.help


def test_a_p300_brings_its_second_chip(sandbox: Sandbox) -> None:
    """It is opened whole, whichever of its chips is on PCIe; two of them make no more than four chips."""
    ranks = [f'rank: {r}, mesh_id: {r}, env_overrides: {{TT_VISIBLE_DEVICES: "{r}"}}' for r in (0, 1)]
    sandbox.two_ranks(bindings(*ranks), TWO_MESHES)
    assert "TTR210" not in codes(found(sandbox))
    sandbox.two_ranks(bindings(*ranks), TWO_MESHES.replace("dims: [1, 2]", "dims: [1, 4]"))
    [first, _] = [each for each in found(sandbox) if each.code == "TTR210"]
    assert first.labels[0].text == "1 visible device, with the second chip of each P300 at most 2 chips"


def test_more_devices_than_owned_is_a_warning(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS.replace('"2,3"', '"2,3,4,5"'))
    assert codes(sandbox.plan().findings) == []
    sandbox.two_ranks(TWO_RANKS.replace('"2,3"', '"2,3,4,5,6"'))
    assert codes(sandbox.plan().findings) == ["TTR211"]


@pytest.mark.parametrize("value", ["", "0;1", "a", "0,", "-1", "0,0"])
def test_lists_of_devices_that_are_none(sandbox: Sandbox, value: str) -> None:
    sandbox.two_ranks(TWO_RANKS.replace('"2,3"', f'"{value}"'))
    finding = next(each for each in found(sandbox) if each.code == "TTR212")
    assert places(finding) == ["rb.yaml:11:7"]


def test_pci_addresses_are_left_alone(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS.replace('"2,3"', '"0000:05:00.0"'))
    assert found(sandbox) == ()


@pytest.mark.parametrize("first", ["", "0000:05:00.0"])
def test_a_wrong_list_is_told_after_a_rank_without_one(sandbox: Sandbox, first: str) -> None:
    text = TWO_RANKS.replace('"2,3"', '"2;3"')
    seen = '    env_overrides:\n      TT_VISIBLE_DEVICES: "0,1"\n'
    sandbox.two_ranks(text.replace("0,1", first) if first else text.replace(seen, ""))
    assert only(sandbox.refusal(RefusedError), "TTR212").message == (
        "TT_VISIBLE_DEVICES of rank 1 is no list of device numbers"
    )


def test_a_device_belongs_to_one_rank_of_a_host(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS.replace('"2,3"', '"1,2"'))
    finding = only(sandbox.refusal(RefusedError), "TTR213")
    assert finding.message == "ranks 0 and 1 on vm share device 1"
    assert places(finding) == ["rb.yaml:11:7", "rb.yaml:6:7"]


def test_the_same_number_on_two_hosts_is_another_device(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS.replace('"2,3"', '"0,1"'))
    assert "TTR213" not in codes(found(sandbox, hosts="a:1,b:1"))
    assert only(sandbox.plan(emulate=True).findings, "TTR213").severity is Severity.NOTE


def test_ranks_whose_hosts_are_not_known_yet_share_nothing(sandbox: Sandbox) -> None:
    """A hostfile without slots leaves it to Open MPI where each rank runs."""
    sandbox.two_ranks(TWO_RANKS.replace('"2,3"', '"0,1"'))
    sandbox.write("hosts", "a\nb\n")
    assert "TTR213" not in codes(found(sandbox, mpi_args="--hostfile hosts"))


def test_ranks_that_see_everything_share_it(sandbox: Sandbox) -> None:
    sandbox.two_ranks(
        bindings("rank: 0, mesh_id: 0, mesh_host_rank: 0", "rank: 1, mesh_id: 0, mesh_host_rank: 1")
    )
    assert codes(sandbox.plan().findings) == ["TTR214"]
    assert sandbox.plan(emulate=True).findings == ()
    assert sandbox.plan(hosts="a:1,b:1").findings == ()


@pytest.mark.parametrize(("name", "positions"), [("TT_METAL_VISIBLE_DEVICES", ["rb.yaml:13:14"])])
def test_the_old_name_of_visible_devices(sandbox: Sandbox, name: str, positions: list[str]) -> None:
    sandbox.two_ranks(TWO_RANKS + f'global_env: {{{name}: "0"}}\n')
    assert places(only(found(sandbox), "TTR221")) == positions


# --- variables -------------------------------------------------------------------------------------------------------------


def test_a_variable_may_not_contradict_the_binding(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS + 'global_env: {TT_RUN_RANK: "0", TT_MESH_ID: "0"}\n')
    finding = only(sandbox.refusal(RefusedError), "TTR222")
    assert places(finding) == ["rb.yaml:13:14", "rb.yaml:7:11"]


def test_a_host_rank_may_not_contradict_the_binding(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS + 'global_env: {TT_MESH_HOST_RANK: "0"}\n')
    finding = only(sandbox.refusal(RefusedError), "TTR222")
    assert finding.message == "TT_MESH_HOST_RANK of rank 1 contradicts its binding"
    assert places(finding) == ["rb.yaml:13:14", "rb.yaml:9:21"]


def test_an_export_that_the_plan_replaces_is_told(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.set(TT_FOO="shell")
    assert found(sandbox, mpi_args="-x TT_VISIBLE_DEVICES -x OTHER=1 -x TT_FOO=shell") == ()
    finding = only(found(sandbox, mpi_args="-x TT_FOO=1"), "TTR223")
    assert finding.message.endswith("rank 0, which has TT_FOO='shell'")
    assert finding.notes == ("that comes from: shell: passed through",)


def test_a_factory_descriptor_of_the_binding_file_must_exist(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS + "factory_system_descriptor_path: fsd.textproto\n")
    assert codes(sandbox.refusal(RefusedError)) == ["TTR101"]
    sandbox.write("fsd.textproto", "")
    env = sandbox.plan().ranks[0].env
    assert env["TT_METAL_FACTORY_SYSTEM_DESCRIPTOR_PATH"].value == "fsd.textproto"


def test_a_shared_cache_is_told_once(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS + "global_env: {TT_METAL_CACHE: /tmp/c}\n")
    assert codes(sandbox.plan().findings) == ["TTR220"]


# --- rankfile, hosts, interface ----------------------------------------------------------------------------------------------


def with_rankfile(sandbox: Sandbox, text: str, more: str = "") -> tuple[Diagnostic, ...]:
    sandbox.two_ranks()
    sandbox.write("rf", text)
    return found(sandbox, mpi_args=f"--rankfile rf {more}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rank 0=a slot=0-3\nrank 1=b slot=0-3\n", []),
        ("rank 0=a\nrank 1=b\n", []),
        ("rank 0=a slot=0-3\n", ["TTR301"]),
        ("", ["TTR301"]),
        ("rank 0=a slot=0-3\nrank 1=b slot=0-3\nrank 2=c slot=0-3\n", ["TTR302"]),
        ("rank 0=a slot=0-3\nrank 1=b slot=0-3\nrank 1=c slot=0-3\n", ["TTR303"]),
        ("rank 1=a slot=0-3\nrank 0=b slot=0-3\n", ["TTR304"]),
        ("rank 0=a slot=0-3\r\nrank 1=b slot=0-3\r\n", ["TTR305"]),
        ("rank 0=a slot=0-3\nrank 1=a slot=0-3\n", ["TTR307"]),
        ("rank 0=a slot=0\nrank 1=a slot=0\n", []),
        ("rank 0=a slot=0\nrank 1=b slot=0-3\n", ["TTR310"]),
        ("rank 0=a slot=0-3\nrnk 1=b slot=0-3\n", ["TTR116", "TTR301"]),
    ],
)
def test_rankfiles(sandbox: Sandbox, text: str, expected: list[str]) -> None:
    assert codes(with_rankfile(sandbox, text)) == expected


FOUR_ROWS = MESH_2X4_TWO_HOSTS.replace("dims: [2, 4]", "dims: [4, 4]").replace("dims: [1, 2]", "dims: [4, 1]")


def test_where_a_rankfile_is_out_of_order_and_crowded(sandbox: Sandbox) -> None:
    """Four ranks: the first that comes late is shown, and two of the three that share their cores."""
    ranks = [f"rank: {rank}, mesh_id: 0, mesh_host_rank: {rank}" for rank in range(4)]
    sandbox.two_ranks(bindings(*ranks), FOUR_ROWS)
    lines = ["rank 0=a slot=0-3", "rank 2=a slot=0-3", "rank 1=a slot=0-3", "rank 3=b slot=0-3"]
    sandbox.write("rf", "\n".join(lines) + "\n")
    told = found(sandbox, mpi_args="--rankfile rf")
    assert [(each.text, each.position.line) for each in only(told, "TTR304").labels] == [
        ("rank 1 comes late", 3)
    ]
    crowded = only(told, "TTR307")
    assert crowded.message == "ranks 0, 1, 2 take the same slot 0-3 of a"
    assert len(crowded.labels) == 2


def test_bare_rankfiles_pin(sandbox: Sandbox) -> None:
    """Without the launcher's own words a single slot means one core."""
    sandbox.two_ranks()
    sandbox.write("rf", "rank 0=a slot=0\nrank 1=a slot=0\n")
    assert codes(found(sandbox, mpi_args="--rankfile rf", bare=True)) == ["TTR307", "TTR310"]


def test_unbound_ranks_may_share_slots(sandbox: Sandbox) -> None:
    assert with_rankfile(sandbox, "rank 0=a slot=0\nrank 1=a slot=0\n", "--bind-to none") == ()


def test_rankfile_and_host_list_must_agree(sandbox: Sandbox) -> None:
    told = with_rankfile(sandbox, "rank 0=a\nrank 1=c\n", "--host a,b")
    assert places(only(told, "TTR306")) == ["rf:2:1"]
    assert with_rankfile(sandbox, "rank 0=+n0\nrank 1=+n1\n", "--host a,b") == ()
    told = with_rankfile(sandbox, "rank 0=+n0\nrank 1=+n2\n", "--host a,b")
    assert places(only(told, "TTR306")) == ["rf:2:1"]


def test_a_host_by_number_is_the_one_of_the_list(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.write("rf", "rank 0=+n1\nrank 1=+n0\n")
    plan = sandbox.plan(mpi_args="--host a,b --rankfile rf")
    assert [rank.host for rank in plan.ranks] == ["b", "a"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"hosts": "a:1"}, ["TTR309"]),
        ({"mpi_args": "--host a"}, ["TTR309"]),
        ({"mpi_args": "--host a --oversubscribe"}, []),
        ({"mpi_args": "--host a --map-by :OVERSUBSCRIBE"}, []),
        ({"mpi_args": "--host a:2"}, []),
        ({"mpi_args": "--hostfile plain"}, []),
        ({"mpi_args": "--hostfile counted"}, ["TTR309"]),
    ],
)
def test_slots(sandbox: Sandbox, fields: dict[str, str], expected: list[str]) -> None:
    sandbox.two_ranks()
    sandbox.write("plain", "a\n")
    sandbox.write("counted", "a slots=1\n")
    told = found(sandbox, **fields)
    assert codes(told) == expected
    if "counted" in fields.get("mpi_args", ""):
        assert places(told[0]) == ["counted:1:1"]


def test_interfaces(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    assert found(sandbox, tcp_interface="eth0") == ()
    assert only(found(sandbox, tcp_interface="eth1"), "TTR311").help == "write --tcp-interface eth0"
    assert only(found(sandbox, tcp_interface="wlp3s0f1"), "TTR311").help == "one of: eth0, lo"


def test_a_rankfile_that_open_mpi_5_ignores(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    words = "--mca rmaps_rankfile_path rf"
    five = LauncherFacts(Path("/usr/bin/mpirun"), (5, 0, 11))
    four = LauncherFacts(Path("/usr/bin/mpirun"), (4, 1, 8))
    assert codes(sandbox.refusal(RefusedError, launcher=five, mpi_args=words)) == ["TTR312"]
    assert sandbox.plan(launcher=four, mpi_args=words).findings == ()


# --- program, launcher, training ---------------------------------------------------------------------------------------------


def test_programs(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.write("app.py", "")
    sandbox.write("run.sh", "").chmod(0o755)
    sandbox.write("book.ipynb", "{}")
    (sandbox.cwd / "folder").mkdir()
    assert codes(found(sandbox, program=("./run.sh",))) == []
    for program, help in (
        ("./app.py", "python ./app.py"),
        ("app.py", "python app.py"),
        ("./folder", "name the file"),
        ("run.sh", "./run.sh"),
        ("book.ipynb", "jupyter nbconvert --to script book.ipynb"),
    ):
        assert help in only(found(sandbox, program=(program,)), "TTR014").help
        assert found(sandbox, program=(program,), skip_executable_check=True) == ()


@pytest.mark.parametrize(
    ("name", "text", "says", "help"),
    [
        (
            "a.py",
            "import ttnn\n",
            "does not say in its first line that Python runs it",
            "write python ./a.py",
        ),
        ("a.py", "#!/usr/bin/env pyhton\n", "is for pyhton", "write python ./a.py"),
        ("a.py", "#!/no/python -u\n", "is for /no/python", "write python ./a.py"),
        ("a", "#!/no/python9\n", "is for /no/python9", "write python ./a"),
        ("a", "#!/no/bash\n", "is for /no/bash", "such as bash ./a"),
        ("a", "#!/bin/sh\r\n", "the line ends of Windows", r"sed -i 's/\r$//' ./a"),
        ("a.py", "#!/usr/bin/env -S python -u\n", None, ""),
        ("a.py", "#!/usr/bin/env A=1 python\n", None, ""),
        ("a", "#! /bin/sh\n", None, ""),
        ("a.sh", "echo a shell takes it\n", None, ""),
        ("a", "#!\n", None, ""),
        ("a", "", None, ""),
    ],
)
def test_the_first_line_of_a_script(
    sandbox: Sandbox, name: str, text: str, says: str | None, help: str
) -> None:
    sandbox.two_ranks()
    (sandbox.cwd / name).write_bytes(text.encode())
    (sandbox.cwd / name).chmod(0o755)
    program = (f"./{name}",)
    if says is None:
        assert found(sandbox, program=program) == ()
        return
    finding = only(found(sandbox, program=program), "TTR014")
    assert says in finding.message and help in finding.help
    assert found(sandbox, program=program, skip_executable_check=True) == ()


def test_a_misspelt_key_of_a_rank_is_one_mistake(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS.replace("mesh_host_rank: 1", "mesh_host_rnk: 1"))
    assert codes(sandbox.refusal(RefusedError)) == ["TTR106"]


@pytest.mark.parametrize("words", [("x" * 300,), ("./" + "x" * 300,)])
def test_a_name_that_the_system_refuses_is_not_found(sandbox: Sandbox, words: tuple[str, ...]) -> None:
    sandbox.two_ranks()
    assert codes(sandbox.refusal(program=words)) == ["TTR013"]
    assert found(sandbox, program=("true", "--config", f"{words[0]}.yaml")) == ()


def test_a_program_is_looked_for_from_a_folder_that_is_gone(sandbox: Sandbox) -> None:
    """A shell stays in a folder that somebody else has removed."""
    site = dataclasses.replace(sandbox.site, cwd=sandbox.cwd / "removed")
    findings = Findings()
    require_program(sandbox.request(program=("no-such-program-here",)), site, findings)
    assert codes(findings.broken) == ["TTR013"]


def test_a_quoted_tilde_is_no_home(sandbox: Sandbox) -> None:
    """Nobody expands it when the rank starts, either."""
    sandbox.two_ranks()
    program = sandbox.home / "run"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    finding = only(sandbox.refusal(program=("~/run",)), "TTR013")
    assert finding.help == f"did you mean {program}?"
    assert found(sandbox, program=(str(program),)) == ()


def test_a_command_that_may_not_be_executed_is_told_as_that(sandbox: Sandbox) -> None:
    """Another user's Python environment, for one: its own name would be the nearest that there is."""
    sandbox.two_ranks()
    path = sandbox.write("bin/runs", "#!/bin/sh\n")
    (sandbox.cwd / "bin/mns").symlink_to(sandbox.cwd / "absent")
    sandbox.set(PATH=str(path.parent))
    assert "you may not execute" in only(sandbox.refusal(program=("runs",)), "TTR013").message
    assert "you may" not in only(sandbox.refusal(program=("mns",)), "TTR013").message


def test_a_debugger_must_exist(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    folder = str(sandbox.write("bin/true", "#!/bin/sh\n").parent)
    (sandbox.cwd / "bin/true").chmod(0o755)
    sandbox.set(PATH=folder)
    assert codes(found(sandbox, debug_gdbserver=True)) == ["TTR013"]
    sandbox.write("bin/gdbserver", "").chmod(0o755)
    assert found(sandbox, debug_gdbserver=True) == ()


@pytest.mark.parametrize("level", ["error", "warn", "off"])
def test_a_missing_program_is_refused_at_every_level(sandbox: Sandbox, level: str) -> None:
    sandbox.two_ranks()
    assert codes(sandbox.refusal(program=("no-such-program-here",), check=level)) == ["TTR013"]
    assert (
        sandbox.plan(program=("no-such-program-here",), check=level, skip_executable_check=True).findings
        == ()
    )


@pytest.mark.parametrize(
    ("version", "mpi4py", "expected"),
    [
        ((5, 0, 11), "Open MPI 5.0.8", []),
        ((5, 0, 11), "Open MPI v4.1.2", ["TTR402"]),
        ((5, 0, 11), "MPICH 4.2.0", ["TTR402"]),
        ((5, 0, 11), None, []),
        (None, "Open MPI 4.1.2", []),
    ],
)
def test_launcher_and_mpi4py(
    sandbox: Sandbox, version: tuple[int, ...] | None, mpi4py: str | None, expected: list[str]
) -> None:
    sandbox.two_ranks()
    facts = LauncherFacts(Path("/usr/bin/mpirun"), version, mpi4py=mpi4py)
    told = sandbox.plan(launcher=facts, emulate=True, check="warn").findings
    assert codes(told) == expected
    if expected:
        python = ("python3", "-c", "pass")
        assert codes(sandbox.refusal(RefusedError, launcher=facts, program=python)) == expected
        assert codes(sandbox.plan(launcher=facts).findings) == expected  # `true` does not care


def test_a_launcher_of_another_mpi(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    facts = LauncherFacts(Path("/opt/mpich/bin/mpirun"), None, vendor="MPICH", mpi4py="MPICH 4.2.0")
    told = only(sandbox.refusal(RefusedError, launcher=facts), "TTR403")
    assert "/opt/mpich/bin/mpirun is the launcher of MPICH" in told.message


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("device_config: {mesh_shape: [2, 4]}\n", []),
        ("device_config: {mesh_shape: [1, 8]}\n", []),
        ("device_config:\n  mesh_shape: [1, 32]\n", ["TTR215"]),
        ("training_config: {}\n", []),
        ("device_config: {mesh_shape: big}\n", []),
        ("not: [yaml", []),
        ("device_config: {mesh_shape: [big, 32]}\n", []),
        ("device_config: {mesh_shape: [32, big]}\n", []),
        ("device_config: {mesh_shape: [32, 32, 1]}\n", []),
        ("device_config:\n  mesh_shape: [3, 3]\n", ["TTR215"]),
    ],
)
def test_training_configurations(sandbox: Sandbox, config: str, expected: list[str]) -> None:
    sandbox.two_ranks()
    sandbox.write("cfg.yaml", config)
    for words in (("-c", "cfg.yaml"), ("--config=cfg.yaml",)):
        told = found(sandbox, program=("true", *words))
        assert codes(told) == expected
        assert [places(finding)[0] for finding in told] == ["cfg.yaml:2:15"] * len(expected)


def test_a_training_configuration_beside_a_mesh_that_is_not_there(sandbox: Sandbox) -> None:
    """The mesh is told; of its size nothing can be said."""
    sandbox.write("cfg.yaml", "device_config:\n  mesh_shape: [1, 32]\n")
    sandbox.two_ranks(TWO_RANKS.replace("mesh_id: 0", "mesh_id: 7"))
    assert codes(sandbox.refusal(RefusedError, program=("true", "-c", "cfg.yaml"))) == ["TTR204", "TTR204"]


def test_a_training_configuration_beside_a_descriptor_that_only_the_hosts_have(sandbox: Sandbox) -> None:
    """The ranks whose mesh is known here are checked."""
    sandbox.write("cfg.yaml", "device_config:\n  mesh_shape: [1, 32]\n")
    sandbox.two_ranks(TWO_RANKS.replace("rank: 0\n", "rank: 0\n    mesh_graph_desc_path: far.textproto\n", 1))
    told = found(sandbox, skip_mgd_check=True, program=("true", "-c", "cfg.yaml"))
    assert codes(told) == ["TTR215"]


@pytest.mark.parametrize("option", ["-c", "--config"])
def test_an_option_without_its_training_configuration(sandbox: Sandbox, option: str) -> None:
    """That the last word lacks its file is for the program to say."""
    sandbox.two_ranks()
    assert found(sandbox, program=("true", option)) == ()


@pytest.mark.parametrize("words", ["--map-by node", "--map-by=node", "--rank-by slot", "--rank-by=slot"])
def test_ranks_that_mpirun_maps_have_no_host_in_the_plan(sandbox: Sandbox, words: str) -> None:
    sandbox.two_ranks()
    assert [rank.host for rank in sandbox.plan(mpi_args="--host a:2,b:2").ranks] == ["a", "a"]
    assert [rank.host for rank in sandbox.plan(mpi_args=f"--host a:2,b:2 {words}").ranks] == [None, None]


NUMBERS = "architecture: wormhole\nsources: {s: {text: t, date: 2026-01-01}}\nnumbers: {chip: {clock: "


@pytest.mark.parametrize(
    ("named", "text", "expected", "said"),
    [
        ("galaxy_4u", None, None, ""),
        ("hw.yaml", "architecture: wormhole\n", "TTR126", "no system n300, which a mesh of 2 devices needs"),
        ("hw.yaml", "architecture: blackhole\n", "TTR126", "describes blackhole; mesh 0 is wormhole"),
        ("hw.yaml", f"{NUMBERS}{{value: -1, unit: GHz, source: s}}}}}}", "TTR126", "hw.yaml:3:33 chip.clock: -1 is not a"),
        ("hw.yaml", f"{NUMBERS}{{value: fast, unit: GHz, source: s}}}}}}", "TTR126", "hw.yaml:3:33 chip.clock: 'fast' is"),
        ("galaxy_4y", None, "TTR101", "did you mean galaxy_4u?"),
        ("absent.yaml", None, "TTR101", "name a file, or one of galaxy, galaxy_4u, n150,"),
        (".", None, "TTR101", ". is a directory"),
        ("hw.yaml", "numbers: {\n", "TTR126", "hw.yaml:2:1 not YAML"),
        ("hw.yaml", "arch: wormhole\n", "TTR126", "hw.yaml:1:1 a hardware file: unknown key 'arch'"),
        ("hw.yaml", "- 1\n", "TTR126", "hw.yaml:1:1"),
    ],
)  # fmt: skip
def test_the_hardware_file_of_a_prediction(
    sandbox: Sandbox, named: str, text: str | None, expected: str | None, said: str
) -> None:
    if text is not None:
        sandbox.write("hw.yaml", text)
    asked = {
        "system": "n300",
        "emulate": True,
        "of_ranks": (RankOption("--hardware", HARDWARE, named, True),),
    }
    if expected is None:
        assert not {"TTR101", "TTR126"} & {*codes(sandbox.plan(**asked).findings)}
        return
    finding = only(sandbox.refusal(**asked), expected)
    assert said in " ".join([*(f"{each.position} {each.text}" for each in finding.labels), finding.help])


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("D0-D1", ""),
        ("D5\nD0-D1:1\nM0D2-D3", ""),
        ("D0-D99", "mesh 0 has devices D0..D7, not D99"),
        ("D8", "mesh 0 has devices D0..D7, not D8"),
        ("D0-D7", "no link joins D0 to D7; D0 has links to D1, D4"),
        ("D0-D1:9", "the link has 2 channels, not 9"),
        ("M3D0-D1", "no rank is on mesh 3; there are M0"),
    ],
)
def test_lost_links_and_chips_are_those_of_the_meshes(sandbox: Sandbox, lost: str, said: str) -> None:
    asked = {"system": "t3000", "emulate": True, "of_ranks": (RankOption("--degrade", DEGRADE, lost),)}
    if not said:
        assert "TTR021" not in codes(sandbox.plan(**asked).findings)
    else:
        assert said in only(sandbox.refusal(**asked), "TTR021").message


@pytest.mark.parametrize(("wrong", "notes"), [(MOST // 2, ()), (MOST // 2 + 1, ("and 2 more places",))])
def test_a_hardware_file_that_is_wrong_in_many_places(
    sandbox: Sandbox, wrong: int, notes: tuple[str, ...]
) -> None:
    """Each number is unknown, and no number."""
    numbers = "".join(f"    n{i}: {{value: -1, unit: GHz, source: s}}\n" for i in range(wrong))
    text = (
        f"architecture: wormhole\nsources: {{s: {{text: t, date: 2026-01-01}}}}\nnumbers:\n  chip:\n{numbers}"
    )
    sandbox.write("hw.yaml", text)
    option = RankOption("--hardware", HARDWARE, "hw.yaml", True)
    finding = only(sandbox.refusal(system="n300", emulate=True, of_ranks=(option,)), "TTR126")
    assert len(finding.labels) == MOST and finding.notes == notes


@pytest.mark.parametrize(
    ("setting", "said", "help"),
    [
        ("dram.interleaved=200", None, ""),
        ("fabric.*=2", None, ""),
        ("dram.shard=200", "did you mean dram.sharded?", "write --set dram.sharded=200"),
        ("dram.interleaved=-1", "with a number above 0", "write --set dram.interleaved=200"),
        ("dram.interleaved=fast", "with a number above 0", "write --set dram.interleaved=200"),
    ],
)
def test_numbers_that_are_set_for_a_prediction(
    sandbox: Sandbox, setting: str, said: str | None, help: str
) -> None:
    given = RankOption("--set", HARDWARE_SET, f"chip.clock=1\n{setting}", True)
    asked = {"system": "n300", "emulate": True, "of_ranks": (given,)}
    if said is None:
        assert "TTR126" not in codes(sandbox.plan(**asked).findings)
    else:
        finding = only(sandbox.refusal(**asked), "TTR126")
        assert said in finding.message and finding.help == help


def test_cables_that_a_described_machine_lacks_are_lost_to_emulated_ranks(sandbox: Sandbox) -> None:
    """Beside what --degrade says: a prediction shows what the machine costs as it is."""
    whole = (configs_root() / "mock/t3000.yaml").read_text()
    one = "  - [{chip: 0, chan: 6}, {chip: 2, chan: 6}]\n"
    sandbox.write("damaged.yaml", whole.replace(one, ""))
    sandbox.write("mock.yaml", "rank_to_cluster_mock_cluster_desc: {0: damaged.yaml}\n")
    asked = {
        "mesh_graph_descriptor": str(configs_root() / "mgd/t3k_mesh_graph_descriptor.textproto"),
        "mock_cluster_rank_binding": "mock.yaml",
    }
    degraded = RankOption("--degrade", DEGRADE, "D5")
    [rank] = sandbox.plan(emulate=True, of_ranks=(degraded,), **asked).ranks
    given, lacking = rank.env[DEGRADE].value.splitlines()
    assert given == "D5" and re.fullmatch(r"M0D\d-D\d:1", lacking)
    [rank] = sandbox.plan(**asked).ranks
    assert DEGRADE not in rank.env


# --- properties ----------------------------------------------------------------------------------------------------------------


def test_a_file_where_nothing_is_wrong_says_nothing(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS, MESH_2X4_TWO_HOSTS)
    assert sandbox.plan().findings == ()


def test_one_slip_in_a_large_file_does_not_bury_the_rest(sandbox: Sandbox) -> None:
    ranks = [f"rank: {r}, mesh_id: {r % 2 * 5}, mesh_host_rank: 0, env_overides: {{}}" for r in range(100)]
    sandbox.two_ranks(bindings(*ranks))
    sandbox.write("app.py", "")
    refused = sandbox.refusal(RefusedError, program=("./app.py",))
    assert codes(refused).count("TTR106") == 20 and codes(refused).count("TTR204") == 20
    assert "and 80 more findings TTR106" in [note for finding in refused for note in finding.notes]
    assert codes(refused).count("TTR014") == 1


def test_one_finding_for_all_ranks_on_a_device(sandbox: Sandbox) -> None:
    visible = 'env_overrides: {TT_VISIBLE_DEVICES: "0,1"}'
    sandbox.two_ranks(bindings(*(f"rank: {r}, mesh_id: 0, mesh_host_rank: {r}, {visible}" for r in range(5))))
    assert only(found(sandbox), "TTR213").message == "ranks 0..4 on vm share devices 0, 1"


# --- described machines --------------------------------------------------------------------------------------------------------


def on_mock(sandbox: Sandbox, first: str, second: str) -> tuple[Diagnostic, ...]:
    """Two ranks of a 2x4 mesh on the shipped T3000: four N300 boards, PCIe devices 0 to 3."""
    sandbox.two_ranks(TWO_RANKS.replace('"0,1"', first).replace('"2,3"', second))
    return found(sandbox, mock_cluster_rank_binding=str(configs_root() / "mock/t3000_two_ranks.yaml"))


def test_a_described_machine_is_counted_exactly(sandbox: Sandbox) -> None:
    assert on_mock(sandbox, '"0,1"', '"2,3"') == ()
    assert only(on_mock(sandbox, '"0,1"', '"2"'), "TTR210").labels[0].text == (
        "1 visible device of t3000.yaml: 2 chips"
    )


def test_the_visible_chips_must_be_linked_like_the_block(sandbox: Sandbox) -> None:
    """Devices 0 and 2 of a T3000 are a row of four chips, not a 2x2."""
    findings = on_mock(sandbox, '"0,2"', '"1,3"')
    assert codes(findings) == ["TTR217", "TTR217"]
    assert findings[0].labels[0].text == "2 visible devices of t3000.yaml: chips 0, 2, 4, 6"


def test_a_search_for_a_block_that_ran_out_of_time_says_nothing(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object, **__: object) -> None:
        raise OutOfTime

    monkeypatch.setattr("tt_run.plan.placement.search.best_embedding", late)
    assert on_mock(sandbox, '"0,2"', '"1,3"') == ()


P300_PAIR = """\
arch: {0: blackhole, 1: blackhole, 2: blackhole, 3: blackhole}
ethernet_connections:
  - [{chip: 0, chan: 0}, {chip: 1, chan: 0}]
  - [{chip: 2, chan: 0}, {chip: 3, chan: 0}]
  - [{chip: 0, chan: 1}, {chip: 2, chan: 1}]
  - [{chip: 1, chan: 1}, {chip: 3, chan: 1}]
chips_with_mmio: [0, 1, 2, 3]
harvesting: {}
asic_locations: {0: 0, 1: 1, 2: 0, 3: 1}
boards:
  - [{board_id: 1}, {board_type: p300}, {chips: [0, 1]}]
  - [{board_id: 2}, {board_type: p300}, {chips: [2, 3]}]
"""


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("0", "2", []), ("0,1", "3", []), ("0", "1", ["TTR213"]), ("0,2", "3", ["TTR213"])],
)
def test_a_card_of_two_chips_is_opened_whole(
    sandbox: Sandbox, first: str, second: str, expected: list[str]
) -> None:
    square = MESH_2X4_TWO_HOSTS.replace("[2, 4]", "[2, 2]").replace("WORMHOLE_B0", "BLACKHOLE")
    sandbox.two_ranks(TWO_RANKS.replace("0,1", first).replace("2,3", second), square)
    sandbox.write("p300.yaml", P300_PAIR)
    sandbox.write("mock.yaml", "rank_to_cluster_mock_cluster_desc: {0: p300.yaml, 1: p300.yaml}\n")
    assert codes(found(sandbox, mock_cluster_rank_binding="mock.yaml")) == expected


def test_ranks_on_one_described_machine_need_their_own_devices(sandbox: Sandbox) -> None:
    sandbox.two_ranks(bindings(*(f"rank: {r}, mesh_id: 0, mesh_host_rank: {r}" for r in (0, 1))))
    mock = str(configs_root() / "mock/t3000_two_ranks.yaml")
    finding = only(sandbox.refusal(RefusedError, mock_cluster_rank_binding=mock), "TTR214")
    assert "2 ranks share" in finding.message and "t3000.yaml" in finding.message


def test_the_second_chip_of_an_n300_is_no_device(sandbox: Sandbox) -> None:
    finding = only(on_mock(sandbox, '"0,1"', '"2,6"'), "TTR216")
    assert finding.message == "rank 1 sees device 6, which its machine does not have"
    assert finding.labels[0].text == "t3000.yaml has the PCIe devices 0..3"
    assert places(finding) == ["rb.yaml:11:7"]


def test_a_mock_descriptor_that_is_none_is_told_once(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.write("d.yaml", "arch: [\n")
    sandbox.write("mock.yaml", "rank_to_cluster_mock_cluster_desc: {0: d.yaml, 1: d.yaml}\n")
    assert codes(found(sandbox, mock_cluster_rank_binding="mock.yaml")) == ["TTR160"]


def test_every_check_is_made() -> None:
    """A function `check_…` of the subject and the findings, in a module of `tt_run/plan/checks/`, is one of `CHECKS`."""
    folder = Path(checks.__file__).parent
    written = {
        name
        for path in folder.glob("*.py")
        for name in re.findall(
            r"^def (check_\w+)\(subject: Subject, findings: Findings\)",
            path.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }
    made = {check.__name__ for check in checks.CHECKS}
    assert written == made, f"add to CHECKS in {folder}/__init__.py: {sorted(written - made)}"
