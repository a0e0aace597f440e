"""From a request to a plan."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import pytest
import yaml

from mgd.diagnostics import Severity
from mgd.resources import configs_root
from tests.tt_run.sandbox import MESH_2X4_TWO_HOSTS, TWO_RANKS, Sandbox, codes, only, places
from tt_run.contract import Exit
from tt_run.errors import InputError, RefusedError, UsageError
from tt_run.plan.cache_folder import cache_folder
from tt_run.plan.environment import shims_folder
from tt_run.plan.placement.search import OutOfTime
from tt_run.plan.render import environment_view, plan_json, plan_table

ONE_RANK = "rank_bindings:\n  - {rank: 0, mesh_id: 0}\nmesh_graph_desc_path: mesh.textproto\n"


def values(env: object) -> dict[str, str]:
    return {name: variable.value for name, variable in env.items()}  # type: ignore[attr-defined]


def test_ranks_own_the_blocks_of_the_host_topology(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    plan = sandbox.plan()
    assert [rank.devices for rank in plan.ranks] == [
        ((0, 0), (0, 1), (1, 0), (1, 1)),
        ((0, 2), (0, 3), (1, 2), (1, 3)),
    ]
    assert [rank.host for rank in plan.ranks] == ["vm", "vm"]
    assert plan.placement.source == "this machine" and plan.placement.hosts == ()
    assert plan.findings == () and plan.generated_files == ()


def test_origins_name_file_and_line(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS + "global_env: {TT_LOGGER_LEVEL: Debug}\n")
    sandbox.set(TT_FOO="1")
    env = sandbox.plan().ranks[1].env
    assert env["TT_VISIBLE_DEVICES"].origin == "env_overrides (rb.yaml:11:7)"
    assert env["TT_LOGGER_LEVEL"].origin == "global_env (rb.yaml:13:14)"
    assert env["TT_MESH_ID"].origin == "mesh_id (rb.yaml:8:14)"
    assert env["TT_MESH_GRAPH_DESC_PATH"].origin == "mesh_graph_desc_path (rb.yaml:12:23)"
    assert env["TT_FOO"].origin == "shell: passed through"


def test_later_settings_override_earlier_ones(sandbox: Sandbox) -> None:
    text = (
        "rank_bindings:\n  - {rank: 0, mesh_id: 0, env_overrides: {A: rank, TT_FOO: rank}}\n"
        "global_env: {A: global, B: global, PATH: /g, TT_FOO: global}\nmesh_graph_desc_path: mesh.textproto\n"
    )
    sandbox.two_ranks(text)
    sandbox.set(TT_FOO="shell", B="shell")
    env = values(sandbox.plan(check="off").ranks[0].env)
    assert (env["A"], env["B"], env["PATH"], env["TT_FOO"]) == ("rank", "global", "/g", "rank")


def test_nothing_of_one_rank_reaches_another(sandbox: Sandbox) -> None:
    sandbox.two_ranks(
        TWO_RANKS.replace('TT_VISIBLE_DEVICES: "0,1"', 'TT_VISIBLE_DEVICES: "0,1"\n      ONLY_ZERO: "1"')
    )
    first, second = sandbox.plan().ranks
    assert "ONLY_ZERO" in first.env and "ONLY_ZERO" not in second.env


def test_blocked_names_are_unset_unless_the_plan_gives_them(sandbox: Sandbox) -> None:
    sandbox.two_ranks(ONE_RANK)
    sandbox.set(TT_VISIBLE_DEVICES="31", TT_MESH_HOST_RANK="7", TT_RUN_EMULATE="1")
    plan = sandbox.plan(check="off")
    assert not {"TT_VISIBLE_DEVICES", "TT_MESH_HOST_RANK", "TT_RUN_EMULATE"} & plan.ranks[0].env.keys()
    assert {"TT_VISIBLE_DEVICES", "TT_MESH_HOST_RANK", "TT_RUN_EMULATE", "TT_MESH_ID"} <= set(plan.unset)


def test_emulation_puts_the_shims_first_and_shares_the_cores(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS + "global_env: {PYTHONPATH: /mine}\n")
    plan = sandbox.plan(emulate=True)
    env = plan.ranks[1].env
    assert env["PYTHONPATH"].value == f"{shims_folder()}:/mine"
    assert (env["TT_RUN_EMULATE"].value, env["TT_RUN_WORLD_SIZE"].value) == ("1", "2")
    assert env["OMP_NUM_THREADS"].value == env["OPENBLAS_NUM_THREADS"].value == "4"
    assert env["PATH"].value.split(":")[0] == str(Path(sys.executable).parent)
    assert plan.emulate


def test_an_empty_search_path_does_not_become_the_current_folder(sandbox: Sandbox) -> None:
    """Python takes an empty part of PYTHONPATH for the folder that a rank happens to be in."""
    sandbox.two_ranks(TWO_RANKS + 'global_env: {PYTHONPATH: ""}\n')
    assert sandbox.plan(emulate=True).ranks[0].env["PYTHONPATH"].value == str(shims_folder())


@pytest.mark.parametrize(
    ("terminal", "shell", "seen"), [(80, None, "76"), (None, None, "132"), (80, "60", "60"), (20, None, "40")]
)
def test_pictures_fit_the_terminal_with_the_prefix_before_them(
    sandbox: Sandbox, terminal: int | None, shell: str | None, seen: str
) -> None:
    sandbox.two_ranks()
    if shell:
        sandbox.set(COLUMNS=shell)
    sandbox.site = dataclasses.replace(sandbox.site, columns=terminal)
    assert sandbox.plan(emulate=True).ranks[1].env["COLUMNS"].value == seen


def test_thread_counts_of_the_user_are_kept(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.set(OMP_NUM_THREADS="3")
    env = sandbox.plan(emulate=True).ranks[0].env
    assert (env["OMP_NUM_THREADS"].value, env["OMP_NUM_THREADS"].origin) == ("3", "shell")
    assert env["OPENBLAS_NUM_THREADS"].value == "4"


def test_without_emulation_no_variable_is_invented(sandbox: Sandbox) -> None:
    sandbox.two_ranks(ONE_RANK)
    assert set(sandbox.plan(check="off").ranks[0].env) == {
        *("TT_MESH_ID", "TT_MESH_GRAPH_DESC_PATH", "TT_METAL_HOME", "TT_METAL_RUNTIME_ROOT", "PYTHONPATH"),
        *("LD_LIBRARY_PATH", "TT_RUN_ORIGINAL_CWD", "TT_RUN_RANK", "HOME", "USER", "PATH"),
        *("TT_METAL_CACHE", "TT_METAL_LOGS_PATH"),
    }


def test_gdbserver_wraps_tracy(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    plan = sandbox.plan(
        tracy="-o prof", debug_gdbserver=True, program=("true", "a b"), skip_executable_check=True
    )
    argv = plan.ranks[1].argv
    assert argv[:2] == ("bash", "-c")
    assert (
        f"exec gdbserver :20001 {sys.executable} -m tracy --port 8088 -o {sandbox.cwd}/prof/rank1" in argv[2]
    )
    assert plan.ranks[1].env["TT_METAL_PROFILER_DIR"].value == str(sandbox.cwd / "prof/rank1")
    assert plan.program == ("true", "a b")


def test_mock_and_factory_descriptors_become_absolute(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    for name in ("d0.yaml", "d1.yaml", "fsd.textproto"):
        sandbox.write(name, "arch: {}\n")
    sandbox.write("mock.yaml", "rank_to_cluster_mock_cluster_desc: {0: d0.yaml, 1: d1.yaml, 2: d1.yaml}\n")
    plan = sandbox.plan(
        mock_cluster_rank_binding="mock.yaml", factory_system_descriptor="fsd.textproto", check="off"
    )
    env = plan.ranks[1].env
    assert env["TT_METAL_MOCK_CLUSTER_DESC_PATH"].value == str(sandbox.cwd / "d1.yaml")
    assert env["TT_METAL_FACTORY_SYSTEM_DESCRIPTOR_PATH"].value == str(sandbox.cwd / "fsd.textproto")


def test_a_mock_mapping_must_name_every_rank(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.write("d0.yaml", "arch: {}\n")
    sandbox.write("mock.yaml", "rank_to_cluster_mock_cluster_desc: {0: d0.yaml}\n")
    assert codes(sandbox.refusal(InputError, mock_cluster_rank_binding="mock.yaml")) == ["TTR114"]


def test_a_lone_descriptor_is_told_from_a_mapping(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.write("d0.yaml", "arch: {}\n")
    finding = only(sandbox.refusal(InputError, mock_cluster_rank_binding="d0.yaml"), "TTR114")
    assert finding.labels[0].text == "no mapping: the descriptor of rank 0 itself"


def test_subcontexts_reach_the_environment(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.write("m.yaml", "subcontext_id_to_rank_bindings: {0: rb.yaml, 1: rb.yaml}\n")
    plan = sandbox.plan(rank_bindings_mapping="m.yaml", check="off")
    assert [rank.env["TT_RUN_SUBCONTEXT_ID"].value for rank in plan.ranks] == ["0", "0", "1", "1"]
    assert plan.ranks[3].env["TT_RUN_SUBCONTEXT_SIZES"].value == "2,2"
    assert plan.ranks[3].env["TT_MESH_HOST_RANK"].value == "1"


# --- where the ranks go ------------------------------------------------------------------------------------------------


def test_a_rankfile_places_the_ranks(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.write("rf", "rank 0=hostB slot=0-3\nrank 1=hostA slot=0-3\n")
    plan = sandbox.plan(mpi_args="--rankfile rf -x A=1")
    assert [(rank.host, rank.slot) for rank in plan.ranks] == [("hostB", "0-3"), ("hostA", "0-3")]
    assert [(host.name, host.slots) for host in plan.placement.hosts] == [("hostB", 1), ("hostA", 1)]
    assert plan.placement.rankfile == sandbox.cwd / "rf"
    assert plan.placement.is_multi_host
    assert plan.mpi_args == ("-x", "A=1")
    assert plan.ranks[0].env["TT_METAL_CACHE"].value.endswith("/hostB_rank0")


def test_a_rankfile_outside_is_named_from_the_launch_directory(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.write("../OTHER/rf", "rank 0=hostB\nrank 1=hostA\n")
    assert sandbox.plan(mpi_args="--rankfile ../OTHER/rf").placement.rankfile == Path("../OTHER/rf")


@pytest.mark.parametrize(
    ("request_fields", "hosts", "source"),
    [
        ({"hosts": "a:1,b:1"}, ["a", "b"], "--hosts"),
        ({"mpi_args": "--host a:2"}, ["a", "a"], "--host of --mpi-args"),
        ({"mpi_args": "--host a,b"}, ["a", "b"], "--host of --mpi-args"),
        ({"mpi_args": "--hostfile h.txt"}, ["x", "y"], "hostfile h.txt"),
        ({"hosts": "a,b"}, ["vm", "vm"], "this machine"),
    ],
)
def test_where_hosts_come_from(
    sandbox: Sandbox, request_fields: dict[str, str], hosts: list[str], source: str
) -> None:
    sandbox.two_ranks()
    sandbox.write("h.txt", "x slots=1\ny slots=1\n")
    plan = sandbox.plan(**request_fields)
    assert [rank.host for rank in plan.ranks] == hosts
    assert plan.placement.source == source


def test_a_hostfile_without_counts_says_nothing_of_seats(sandbox: Sandbox) -> None:
    """Open MPI gives such a host as many slots as it has cores."""
    sandbox.two_ranks()
    sandbox.write("h.txt", "x\ny\n")
    assert [rank.host for rank in sandbox.plan(mpi_args="--hostfile h.txt").ranks] == [None, None]


def test_a_mock_cluster_runs_here_even_in_an_allocation(sandbox: Sandbox) -> None:
    from mgd.resources import configs_root

    sandbox.two_ranks()
    sandbox.set(SLURM_JOB_ID="7", SLURM_JOB_NODELIST="h[1-2]", SLURM_TASKS_PER_NODE="1(x2)")
    mock = str(configs_root() / "mock/t3000.yaml")
    plan = sandbox.plan(mesh_graph_descriptor="mesh.textproto", mock_cluster_rank_binding=mock)
    assert [rank.host for rank in plan.ranks] == ["vm", "vm"]
    assert plan.placement.hosts == ()


def test_ranks_bound_to_a_mock_cluster_use_the_allocation(sandbox: Sandbox) -> None:
    """Where the bindings say what each rank is, it may run on any host of the job."""
    sandbox.two_ranks()
    sandbox.set(SLURM_JOB_ID="7", SLURM_JOB_NODELIST="h[1-2]", SLURM_TASKS_PER_NODE="1(x2)")
    for name in ("d0.yaml", "d1.yaml"):
        sandbox.write(name, "arch: {}\n")
    sandbox.write("mock.yaml", "rank_to_cluster_mock_cluster_desc: {0: d0.yaml, 1: d1.yaml}\n")
    plan = sandbox.plan(mock_cluster_rank_binding="mock.yaml", check="off")
    assert [rank.host for rank in plan.ranks] == ["h1", "h2"]


def test_an_allocation_is_used_and_can_be_ignored(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.set(SLURM_JOB_ID="7", SLURM_JOB_NODELIST="h[1-2]", SLURM_TASKS_PER_NODE="1(x2)")
    assert [rank.host for rank in sandbox.plan().ranks] == ["h1", "h2"]
    assert [rank.host for rank in sandbox.plan(no_scheduler=True).ranks] == ["vm", "vm"]


def test_a_variable_that_mpirun_is_told_to_export_is_not_removed_again(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    plan = sandbox.plan(mpi_args="-x TT_METAL_CLUSTER_ID=c -x TT_VISIBLE_DEVICES", check="off")
    assert not {"TT_METAL_CLUSTER_ID", "TT_VISIBLE_DEVICES"} & set(plan.unset)
    assert "TT_MESH_ID" in plan.unset


def test_a_repeated_bare_host_is_oversubscribed(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    plan = sandbox.plan(mpi_args="--host a,a")
    assert [default.words for default in plan.defaults] == [
        ("--oversubscribe", "--mca", "mpi_yield_when_idle", "1")
    ]
    assert sandbox.plan(mpi_args="--host a:1,a:1").defaults == ()
    assert sandbox.plan(mpi_args="--host a,a --oversubscribe").defaults == ()
    [told] = sandbox.plan(mpi_args="--host a,b,b,c,c --mca mpi_yield_when_idle 0").defaults
    assert (told.words, told.why) == (("--oversubscribe",), "--host repeats b")


# --- systems and descriptors without files -------------------------------------------------------------------------------


def test_a_system_is_one_rank(sandbox: Sandbox) -> None:
    plan = sandbox.plan(system="t3000", emulate=True)
    (rank,) = plan.ranks
    assert (rank.mesh_id, rank.mesh_host_rank, len(rank.devices)) == (0, 0, 8)
    assert plan.generated_files == ()
    assert Path(rank.env["TT_MESH_GRAPH_DESC_PATH"].value).is_file()


def test_split_and_meshes_make_a_descriptor_named_by_its_content(sandbox: Sandbox) -> None:
    plan = sandbox.plan(system="t3000", split="1x2", meshes=2, emulate=True)
    assert [(rank.mesh_id, rank.mesh_host_rank) for rank in plan.ranks] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    (file,) = plan.generated_files
    assert file.path.is_relative_to(sandbox.home / ".cache/tt-run") and not file.path.exists()
    assert plan.ranks[0].env["TT_MESH_GRAPH_DESC_PATH"].value == str(file.path)
    again = sandbox.plan(system="t3000", split="1x2", meshes=2, emulate=True).generated_files
    assert again == plan.generated_files
    other = sandbox.plan(system="t3000", split="2x1", meshes=2, emulate=True).generated_files
    assert other[0].path != file.path


def test_a_system_of_several_meshes_may_be_asked_for_once(sandbox: Sandbox) -> None:
    """Only copies need a system of one mesh."""
    plan = sandbox.plan(system="t3000-two-meshes", meshes=1, emulate=True)
    assert [rank.mesh_id for rank in plan.ranks] == [0, 1] and plan.generated_files == ()


def test_the_derived_descriptor_is_a_sound_one(sandbox: Sandbox) -> None:
    (file,) = sandbox.plan(system="t3000", split="2x2", emulate=True).generated_files
    sandbox.write("mesh.textproto", file.text)
    ranks = "".join(f"  - {{rank: {r}, mesh_id: 0, mesh_host_rank: {r}}}\n" for r in range(4))
    sandbox.write("rb.yaml", f"rank_bindings:\n{ranks}mesh_graph_desc_path: mesh.textproto\n")
    assert [rank.devices for rank in sandbox.plan(emulate=True).ranks] == [
        rank.devices for rank in sandbox.plan(system="t3000", split="2x2", emulate=True).ranks
    ]


def test_a_descriptor_is_spread_over_hosts_in_order(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    plan = sandbox.plan(mesh_graph_descriptor="mesh.textproto", hosts="zeta,alpha")
    assert [(rank.host, rank.mesh_host_rank) for rank in plan.ranks] == [("zeta", 0), ("alpha", 1)]
    assert plan.ranks[1].why == "host block 1 of mesh 0 takes slot 1 of 1 on alpha (--hosts)"
    assert f"rank 1: {plan.ranks[1].why}" in plan_table(plan).splitlines()
    names = {file.path.name for file in plan.generated_files}
    assert {"rank_bindings.yaml", "rankfile", "hostfile", "mgd.textproto", ".phase1_cache_key"} <= names
    assert all(file.path.parent.parent == sandbox.cwd / "generated/ttrun" for file in plan.generated_files)
    assert not (sandbox.cwd / "generated").exists()


def test_too_few_hosts_for_a_descriptor(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    assert codes(sandbox.refusal(RefusedError, mesh_graph_descriptor="mesh.textproto", hosts="a")) == [
        "TTR180"
    ]
    assert codes(sandbox.refusal(UsageError, mesh_graph_descriptor="mesh.textproto")) == ["TTR011"]


def test_descriptors_side_by_side(sandbox: Sandbox) -> None:
    sandbox.write("map/one.textproto", MESH_2X4_TWO_HOSTS)
    sandbox.write("two.textproto", MESH_2X4_TWO_HOSTS.replace("[1, 2]", "[1, 1]"))
    sandbox.write(
        "map/m.yaml", "subcontext_id_to_mesh_graph_descriptor: {1: ../two.textproto, 0: one.textproto}\n"
    )
    plan = sandbox.plan(mesh_graph_descriptor_mapping="map/m.yaml", emulate=True)
    assert [(rank.subcontext_id, rank.mesh_id, rank.mesh_host_rank) for rank in plan.ranks] == [
        (0, 0, 0),
        (0, 0, 1),
        (1, 0, 0),
    ]
    assert plan.ranks[2].env["TT_RUN_SUBCONTEXT_SIZES"].value == "2,1"


def test_one_descriptor_alone_makes_no_subcontext(sandbox: Sandbox) -> None:
    sandbox.write("one.textproto", MESH_2X4_TWO_HOSTS)
    plan = sandbox.plan(mesh_graph_descriptor="one.textproto", emulate=True)
    assert [rank.subcontext_id for rank in plan.ranks] == [None, None]
    assert not [name for rank in plan.ranks for name in rank.env if "SUBCONTEXT" in name]


# --- what is refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"rank_bindings_mapping": "m.yaml", "rank_binding": "rb.yaml"}, "TTR001"),
        ({"rank_binding": None}, "TTR002"),
        ({"program": ()}, "TTR003"),
        ({"program": ("",)}, "TTR003"),
        ({"mesh_graph_descriptor": "m.textproto", "rank_binding": "rb.yaml"}, "TTR001"),
        ({"split": "1x2"}, "TTR008"),
        ({"meshes": 2}, "TTR008"),
        ({"system": "t3000", "split": "2"}, "TTR008"),
        ({"system": "t3000", "split": "0x1"}, "TTR008"),
        ({"system": "t3000", "split": "3x1"}, "TTR008"),
        ({"system": "t3000", "meshes": 0}, "TTR008"),
        ({"system": "t3001"}, "TTR012"),
        ({"hosts": "a,b,a"}, "TTR015"),
        ({"mpi_args": "-np 3"}, "TTR007"),
        ({"mpi_args": "-x A : -x B"}, "TTR006"),
        ({"tracy": "-t x"}, "TTR010"),
    ],
)
def test_misuse(sandbox: Sandbox, fields: dict[str, object], code: str) -> None:
    sandbox.two_ranks()
    found = sandbox.refusal(UsageError, **fields)
    assert codes(found) == [code] and found[0].help


@pytest.mark.parametrize("home", ["a-file", "", "/dev/null/x"])
def test_without_a_home_that_can_be_written_derived_files_go_to_the_launch_directory(
    sandbox: Sandbox, home: str
) -> None:
    (sandbox.cwd / "a-file").write_text("")
    variables = {"HOME": str(sandbox.cwd / home) if home == "a-file" else home}
    site = dataclasses.replace(sandbox.site, environ=variables)
    assert cache_folder(site) == sandbox.cwd / ".cache/tt-run"
    assert (
        cache_folder(dataclasses.replace(site, environ={"HOME": str(sandbox.cwd / "new")}))
        == sandbox.cwd / "new/.cache/tt-run"
    )


def test_a_file_given_as_a_system_is_sent_to_its_option(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    [found] = sandbox.refusal(UsageError, system="./my mesh.textproto")
    assert found.help == "for a descriptor of your own: tt-run --emulate -m './my mesh.textproto'"


def test_exit_codes_follow_from_the_class(sandbox: Sandbox) -> None:
    assert UsageError.exit_code is Exit.USAGE
    sandbox.two_ranks(TWO_RANKS.replace("mesh_host_rank: 1", "mesh_host_rank: 2"))
    with pytest.raises(RefusedError) as refused:
        sandbox.plan()
    assert refused.value.exit_code == 65
    with pytest.raises(InputError) as broken:
        sandbox.plan(rank_binding="absent.yaml")
    assert broken.value.exit_code == 66


def test_check_levels(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS.replace("mesh_host_rank: 1", "mesh_host_rank: 2"))
    found = sandbox.refusal(RefusedError)
    assert codes(found) == ["TTR205"]
    told = sandbox.plan(check="warn").findings
    assert {finding.severity for finding in told} == {Severity.WARNING}
    assert codes(told) == ["TTR205"]
    assert sandbox.plan(check="off").findings == ()


@pytest.mark.parametrize("text", ["garbage", "", "mesh_descriptors {", "\0"])
def test_a_broken_descriptor_is_unreadable(sandbox: Sandbox, text: str) -> None:
    sandbox.two_ranks(descriptor=text)
    with pytest.raises((InputError, RefusedError)) as caught:
        sandbox.plan()
    assert all(finding.code.startswith("MGD") for finding in caught.value.diagnostics)
    assert caught.value.diagnostics[0].position is not None
    assert caught.value.diagnostics[0].position.file == "mesh.textproto"
    warned = sandbox.plan(check="warn")
    assert len(warned.ranks) == 2 and any(found.code.startswith("MGD") for found in warned.findings)
    assert len(sandbox.plan(check="off").ranks) == 2


def test_a_descriptor_that_only_the_hosts_have(sandbox: Sandbox) -> None:
    sandbox.write("rb.yaml", TWO_RANKS)
    assert codes(sandbox.refusal(InputError)) == ["TTR101"]
    plan = sandbox.plan(skip_mgd_check=True)
    assert plan.ranks[0].env["TT_MESH_GRAPH_DESC_PATH"].value == str(sandbox.cwd / "mesh.textproto")
    assert plan.ranks[0].devices == ()


def test_a_descriptor_is_read_after_one_that_only_the_hosts_have(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS.replace("rank: 0\n", "rank: 0\n    mesh_graph_desc_path: far.textproto\n", 1))
    plan = sandbox.plan(skip_mgd_check=True)
    assert [len(rank.devices) for rank in plan.ranks] == [0, 4]


def test_a_missing_rankfile_stops_the_launch(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    assert codes(sandbox.refusal(InputError, mpi_args="--rankfile absent")) == ["TTR101"]


# --- views ---------------------------------------------------------------------------------------------------------------


def test_json_has_the_agreed_keys(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    made = plan_json(sandbox.plan(hosts="a,b"), "/usr/bin/mpirun", ["mpirun", "-np", "2"], ["-np"])
    view = json.loads(json.dumps(made))
    assert view == made
    assert {"launcher", "command", "global_args", "ranks", "findings"} <= view.keys()
    assert {"rank", "host", "mesh_id", "mesh_host_rank", "devices", "env", "env_origin", "argv"} <= view[
        "ranks"
    ][0].keys()
    assert view["ranks"][1]["devices"] == [[0, 2], [0, 3], [1, 2], [1, 3]]
    assert view["findings"][0]["code"] == "TTR308" and view["findings"][0]["severity"] == "warning"
    assert view["ranks"][0]["env"].keys() == view["ranks"][0]["env_origin"].keys()


def test_the_table_names_host_block_and_devices(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    lines = plan_table(sandbox.plan(program=("true", "a b"))).splitlines()
    assert lines[0].split() == ["rank", "host", "slot", "mesh", "host", "rank", "devices", "visible"]
    assert lines[2].split() == ["1", "vm", "-", "0", "1", "2x2", "from", "(0,", "2)", "2,3"]
    assert "program:    true 'a b'" in lines


def test_the_environment_view_can_be_sourced(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS + 'global_env: {ODD: "it\'s $5\\n"}\n')
    text = environment_view(sandbox.plan(check="warn"), 1)
    import shlex

    assert dict(word.split("=", 1) for word in shlex.split(text, comments=True))["ODD"] == "it's $5\n"
    assert "# env_overrides (rb.yaml:11:7)\nTT_VISIBLE_DEVICES=2,3" in text
    with pytest.raises(IndexError, match=r"ranks 0\.\.1"):
        environment_view(sandbox.plan(check="warn"), 2)


def test_all_broken_inputs_are_told_together(sandbox: Sandbox) -> None:
    sandbox.two_ranks(TWO_RANKS.replace("rank: 1", "rank: x").replace("mesh.textproto", "absent.textproto"))
    found = sandbox.refusal(InputError, program=("no-such-program-here",))
    assert {"TTR013", "TTR101", "TTR104"} <= set(codes(found))
    assert only(found, "TTR013").help


def test_several_descriptors_are_allocated_together(sandbox: Sandbox) -> None:
    mapping = sandbox.write(
        "map.yaml",
        "subcontext_id_to_mesh_graph_descriptor:\n"
        + "".join(f"  {i}: {configs_root()}/mgd/n300_mesh_graph_descriptor.textproto\n" for i in range(2)),
    )
    plan = sandbox.plan(mesh_graph_descriptor_mapping=str(mapping), hosts="a,b")
    assert [(rank.host, rank.subcontext_id, rank.mesh_id) for rank in plan.ranks] == [
        ("a", 0, 0),
        ("b", 1, 0),
    ]
    texts = {file.path.name: file.text for file in plan.generated_files}
    assert "rank_bindings.yaml" not in texts
    assert yaml.safe_load(texts["rank_bindings_mapping.yaml"]) == {
        "subcontext_id_to_rank_bindings": {0: "rank_bindings_subctx_0.yaml", 1: "rank_bindings_subctx_1.yaml"}
    }
    for number in range(2):
        own = yaml.safe_load(texts[f"rank_bindings_subctx_{number}.yaml"])
        assert own["rank_bindings"] == [{"rank": 0, "mesh_id": 0, "mesh_host_rank": 0}]


def test_the_folders_of_profiles_are_planned_and_not_made(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    plan = sandbox.plan(tracy="-o prof")
    assert plan.folders == (sandbox.cwd / "prof/rank0", sandbox.cwd / "prof/rank1")
    assert not (sandbox.cwd / "prof").exists()


def test_a_rankfile_that_is_missing_is_passed_on_unchecked(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    plan = sandbox.plan(mpi_args="-x A=b --rankfile gone", check="off")
    assert plan.placement.rankfile == sandbox.cwd / "gone"
    assert plan.placement.rankfile_at == 2
    assert [rank.host for rank in plan.ranks] == [None, None]
    assert codes(plan.findings) == ["TTR101"]
    assert codes(sandbox.refusal(InputError, mpi_args="--rankfile gone")) == ["TTR101"]


def test_an_interface_that_is_not_used_is_told(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    words = "--mca btl_tcp_if_exclude lo"
    assert codes(sandbox.plan(tcp_interface="eth0", mpi_args=words).findings) == ["TTR313"]
    assert codes(sandbox.plan(tcp_interface="eth0", bare=True).findings) == ["TTR313"]


def test_an_emulation_may_leave_the_system_to_the_program(sandbox: Sandbox) -> None:
    plan = sandbox.plan(rank_binding=None, emulate=True)
    assert len(plan.ranks) == 1
    assert "TT_MESH_GRAPH_DESC_PATH" not in plan.ranks[0].env
    assert codes(sandbox.refusal(UsageError, rank_binding=None)) == ["TTR002"]


def test_an_emulation_takes_the_descriptor_that_the_shell_exports(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.set(TT_MESH_GRAPH_DESC_PATH="mesh.textproto")
    plan = sandbox.plan(rank_binding=None, emulate=True)
    assert [rank.mesh_host_rank for rank in plan.ranks] == [0, 1]
    assert plan.ranks[0].env["TT_MESH_GRAPH_DESC_PATH"].value == str(sandbox.cwd / "mesh.textproto")
    [rank] = sandbox.plan(system="n150", emulate=True).ranks  # what is named counts first
    assert rank.env["TT_MESH_GRAPH_DESC_PATH"].value != str(sandbox.cwd / "mesh.textproto")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"rank_binding": "mesh.textproto"}, "write -m mesh.textproto in place of --rank-binding"),
        (
            {"mesh_graph_descriptor": "rb.yaml", "rank_binding": None, "emulate": True},
            "write --rank-binding rb.yaml in place of -m",
        ),
    ],
)
def test_a_file_of_another_kind_is_told_with_its_option(
    sandbox: Sandbox, asked: dict[str, object], said: str
) -> None:
    sandbox.two_ranks()
    finding = only(sandbox.refusal(UsageError, **asked), "TTR028")
    assert finding.help == said


def test_a_descriptor_of_another_kind_in_a_mapping_is_told_at_its_own_place(sandbox: Sandbox) -> None:
    sandbox.write("other.textproto", TWO_RANKS)
    sandbox.write("map.yaml", "subcontext_id_to_mesh_graph_descriptor: {0: other.textproto}\n")
    (finding,) = sandbox.refusal(InputError, mesh_graph_descriptor_mapping="map.yaml", emulate=True)
    assert "not a mesh graph descriptor" in finding.message
    assert [str(label.position) for label in finding.labels] == ["other.textproto:1:1"]


def test_a_shell_that_exports_a_descriptor_changes_no_launch_that_names_one(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.set(TT_MESH_GRAPH_DESC_PATH="other.textproto")
    assert len(sandbox.plan(emulate=True).ranks) == 2


@pytest.mark.parametrize("check", ["error", "warn"])
def test_mesh_ids_that_repeat(sandbox: Sandbox, check: str) -> None:
    finding = only(sandbox.refusal(system="closetbox", emulate=True, check=check), "TTR124")
    assert "several meshes have the id 0" in finding.message and len(finding.labels) == 2


def test_a_mock_cluster_alone_is_one_rank_on_all_of_its_chips(sandbox: Sandbox) -> None:
    mock = str(configs_root() / "mock/t3000.yaml")
    plan = sandbox.plan(mesh_graph_descriptor=None, rank_binding=None, mock_cluster_rank_binding=mock)
    assert [len(rank.devices) for rank in plan.ranks] == [8]
    assert plan.ranks[0].env["TT_VISIBLE_DEVICES"].value == "0,1,2,3"
    (descriptor,) = plan.generated_files
    assert "dims: [2, 4]" in descriptor.text
    assert plan.ranks[0].env["TT_MESH_GRAPH_DESC_PATH"].value == str(descriptor.path)


def test_several_machines_do_not_say_which_meshes_they_form(sandbox: Sandbox) -> None:
    mock = str(configs_root() / "mock/t3000_two_ranks.yaml")
    refused = sandbox.refusal(
        UsageError, mesh_graph_descriptor=None, rank_binding=None, mock_cluster_rank_binding=mock
    )
    assert codes(refused) == ["TTR002"]


T3000 = configs_root() / "mock/t3000.yaml"


def test_the_mock_cluster_of_the_shell_counts_under_emulation(sandbox: Sandbox) -> None:
    sandbox.set(TT_METAL_MOCK_CLUSTER_DESC_PATH=str(T3000))
    plan = sandbox.plan(rank_binding=None, emulate=True)
    assert len(plan.ranks) == 1 and len(plan.ranks[0].devices) == 8
    assert plan.ranks[0].env["TT_VISIBLE_DEVICES"].value == "0,1,2,3"


def test_or_is_refused_where_nobody_would_look_at_it(sandbox: Sandbox) -> None:
    sandbox.set(TT_METAL_MOCK_CLUSTER_DESC_PATH=str(T3000))
    assert codes(sandbox.refusal(UsageError, system="n300", emulate=True)) == ["TTR026"]
    sandbox.two_ranks()
    [finding] = sandbox.refusal(InputError, emulate=True)
    assert finding.code == "TTR114" and finding.help.startswith("unset TT_METAL_MOCK_CLUSTER_DESC_PATH")
    assert sandbox.plan().ranks, "without emulation no rank sees it, as ever"


def test_emulated_ranks_number_their_devices_as_placed(sandbox: Sandbox) -> None:
    """A process numbers the PCIe chips that it opens from 0, then those behind them."""
    named = {"mesh_graph_descriptor": "mesh.textproto", "mock_cluster_rank_binding": str(T3000)}
    sandbox.write("mesh.textproto", MESH_2X4_TWO_HOSTS)
    plan = sandbox.plan(**named, emulate=True)
    assert [rank.env["TT_RUN_DEVICE_IDS"].value for rank in plan.ranks] == ["2,0,3,1", "0,2,1,3"]
    assert "TT_RUN_DEVICE_IDS" not in sandbox.plan(**named).ranks[0].env
    assert "TT_RUN_CLUSTER_TYPE" not in plan.ranks[0].env, "a half of a machine is told by its shape"


def test_an_emulated_rank_knows_the_kind_of_a_machine_that_is_described(sandbox: Sandbox) -> None:
    sandbox.set(TT_METAL_MOCK_CLUSTER_DESC_PATH=str(T3000))
    (rank,) = sandbox.plan(rank_binding=None, emulate=True).ranks
    assert rank.env["TT_RUN_CLUSTER_TYPE"].value == "T3K"


def test_a_search_that_ran_out_of_time_names_the_file(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object) -> None:
        raise OutOfTime

    monkeypatch.setattr("tt_run.plan.placement.solve._solve", late)
    sandbox.write("mesh.textproto", MESH_2X4_TWO_HOSTS)
    (found,) = sandbox.refusal(
        RefusedError, mesh_graph_descriptor="mesh.textproto", mock_cluster_rank_binding=str(T3000)
    )
    assert places(found) == ["mesh.textproto"]
