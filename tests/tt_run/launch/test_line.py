"""The launcher's line: what is added, where, and why."""

from __future__ import annotations

import dataclasses
import os
import shlex
from pathlib import Path

import pytest

from tests.tt_run.launch.conftest import plan_of, rank_plan
from tt_run.errors import UsageError
from tt_run.inputs.findings import Findings
from tt_run.inputs.hosts.rankfiles import parse_rankfile
from tt_run.launch.defaults import GivenWords
from tt_run.launch.line import LaunchLine, build_line, build_mpmd_line
from tt_run.launch.machine import Machine, physical_cores
from tt_run.launch.mpirun import Launcher
from tt_run.launch.options import LaunchOptions
from tt_run.plan.model import Default, HostSlots, LaunchPlan, Placement

RUN = Path("/run/folder")
EIGHT_CORES = Machine(cores=8)
TWO = (("prog",), ("prog",))


def launcher(major: int = 5) -> Launcher:
    found = Launcher("mpirun", "test")
    found.__dict__["major"] = major
    return found


def line(plan: LaunchPlan, machine: Machine = EIGHT_CORES, major: int = 5, **options: object) -> LaunchLine:
    return build_line(plan, launcher(major), machine, LaunchOptions(**options), RUN, ("sh", "rank.sh"))  # type: ignore[arg-type]


def hosts(*names: str, slots: int = 1) -> Placement:
    return Placement(tuple(HostSlots(name, slots) for name in names), source="--hosts")


def test_one_context_runs_the_wrapper() -> None:
    assert line(plan_of(*TWO)).contexts == ("-np", "2", "sh", "rank.sh")


def test_mpmd_runs_one_context_per_rank() -> None:
    assert line(plan_of(*TWO), mpmd=True).contexts == (
        "-np",
        "1",
        "sh",
        "rank.sh",
        ":",
        "-np",
        "1",
        "sh",
        "rank.sh",
    )


@pytest.mark.parametrize(("user", "is_root"), [(0, True), (1000, False)])
def test_who_launches_is_looked_at(monkeypatch: pytest.MonkeyPatch, user: int, is_root: bool) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert Machine.current().is_root == is_root


def test_one_host_starts_without_probing_networks() -> None:
    words = " ".join(line(plan_of(*TWO)).global_args)
    assert (
        words
        == "--bind-to none --mca pml ob1 --mca btl self,sm,tcp --mca osc ^ucx --mca btl_tcp_if_include lo"
    )


@pytest.mark.parametrize(
    "given", ["--mca btl_tcp_if_include eth0", "--mca btl_tcp_if_exclude docker0", "--host a:2"]
)
def test_the_loopback_is_for_ranks_of_one_machine(given: str) -> None:
    assert "btl_tcp_if_include lo" not in " ".join(line(plan_of(*TWO, mpi_args=given.split())).global_args)


def test_one_named_host_is_as_this_machine() -> None:
    words = " ".join(line(plan_of(*TWO, placement=hosts("a", slots=2))).global_args)
    assert "btl_tcp_if_exclude" not in words and "--mca btl_tcp_if_include lo" in words


def test_several_hosts_get_tcp_interfaces_and_keepalive() -> None:
    words = " ".join(line(plan_of(*TWO, placement=hosts("a", "b"))).global_args)
    assert "--mca btl self,sm,tcp" in words
    assert "--mca btl_tcp_if_exclude docker0,lo" in words
    assert "--prtemca oob_tcp_keepalive_time 5" in words
    assert words.endswith("--host a:1,b:1")


HERE = os.uname().nodename


def on_hosts(*names: str, placement: Placement, mpi_args: tuple[str, ...] = ()) -> LaunchPlan:
    ranks = tuple(rank_plan(n, ("prog",), host=name, slot="0") for n, name in enumerate(names))
    return LaunchPlan(ranks, ("prog",), Path("/"), placement=placement, mpi_args=mpi_args)


@pytest.mark.parametrize(
    ("mpi_args", "kept"),
    [
        ((), ""),
        (("--host", f"b,{HERE}:2", "--report-bindings"), "--report-bindings"),
        (("--hostfile=hosts", "-v"), "-v"),
    ],
)
def test_open_mpi_4_is_told_the_host_of_each_rank(mpi_args: tuple[str, ...], kept: str) -> None:
    """By itself it fills the launching host first."""
    plan = on_hosts("b", HERE, HERE, placement=hosts("b", HERE, slots=2), mpi_args=mpi_args)
    told = " ".join(line(plan, major=4).global_args)
    assert told.endswith(" ".join(filter(None, (kept, f"--map-by seq --host b,{HERE},{HERE}"))))
    assert told.count("--host") == 1


@pytest.mark.parametrize(
    ("major", "release", "names", "is_sequence"),
    [
        (4, None, ("b", HERE, HERE), True),
        (4, None, (HERE, "b", "b"), False),
        (4, None, ("b", "c", "c"), False),
        (5, (5, 0, 9), ("b", HERE, HERE), True),
        (5, (5, 0, 9), (HERE, "b", "b"), False),
        (5, (5, 0, 9), ("b", "c", "c"), False),
        (5, (5, 0, 10), ("b", HERE, HERE), False),
        (5, (6, 0, 0), ("b", HERE, HERE), False),
        (5, None, ("b", HERE, HERE), False),
    ],
)
def test_the_host_of_each_rank_is_told_where_the_order_would_be_another(
    major: int, release: tuple[int, int, int] | None, names: tuple[str, ...], is_sequence: bool
) -> None:
    plan = on_hosts(*names, placement=hosts(*dict.fromkeys(names), slots=2))
    used = launcher(major)
    vars(used)["release"] = release
    told = build_line(plan, used, EIGHT_CORES, LaunchOptions(), RUN, ("sh", "rank.sh")).global_args
    assert (" ".join(told).endswith(f"--map-by seq --host {','.join(names)}")) is is_sequence
    ruled = dataclasses.replace(plan, placement=dataclasses.replace(plan.placement, rankfile=Path("rf")))
    told = build_line(ruled, used, EIGHT_CORES, LaunchOptions(), RUN, ("sh", "rank.sh")).global_args
    assert "seq" not in told, "a rankfile has the order already"


@pytest.mark.parametrize(
    ("options", "mpi_args", "slot", "is_sequence"),
    [
        ({}, (), "0", True),
        ({}, (), "0-3", False),
        ({}, ("--bind-to", "core"), "0", False),
        ({"bare": True}, (), "0", False),
        ({"rankfile_syntax": "mca"}, (), "0", False),
    ],
)
def test_open_mpi_4_pins_emulated_ranks_by_a_rankfile_only_where_that_is_meant(
    options: dict[str, object], mpi_args: tuple[str, ...], slot: str, is_sequence: bool
) -> None:
    placement = dataclasses.replace(hosts("a", "b"), rankfile=Path("rf"))
    plan = on_hosts("b", "a", placement=placement, mpi_args=mpi_args)
    ranks = tuple(dataclasses.replace(rank, slot=slot) for rank in plan.ranks)
    plan = dataclasses.replace(plan, ranks=ranks, emulate=True)
    told = " ".join(line(plan, major=4, **options).global_args)
    assert ("--map-by seq --host b,a" in told) is is_sequence
    assert ("rankfile" in told) is not is_sequence
    with_devices = " ".join(line(dataclasses.replace(plan, emulate=False), major=4, **options).global_args)
    assert "seq" not in with_devices, "as from the reference"


def test_many_contexts_get_a_rankfile_for_the_order() -> None:
    plan = on_hosts("b", HERE, HERE, placement=hosts("b", HERE, slots=2))
    made = line(plan, major=4, mpmd=True)
    assert " ".join(made.global_args).endswith(f"--rankfile run/folder/rankfile --host b,{HERE}")
    assert made.rankfile is not None
    assert made.rankfile.text == f"rank 0=b slot=0\nrank 1={HERE} slot=0\nrank 2={HERE} slot=1\n"
    assert line(on_hosts(HERE, "a", placement=hosts(HERE, "a")), major=4, mpmd=True).rankfile is None


def test_open_mpi_4_has_its_own_names() -> None:
    words = " ".join(line(plan_of(*TWO, placement=hosts("a", "b")), major=4).global_args)
    assert "self,vader,tcp" in words
    assert "--mca oob_tcp_keepalive_time 5" in words
    assert "--prtemca" not in words


def test_an_interface_is_included_as_asked() -> None:
    words = " ".join(line(plan_of(*TWO), tcp_interface="eth7").global_args)
    assert "--mca btl_tcp_if_include eth7" in words
    assert "self,sm,tcp" in words


@pytest.mark.parametrize(
    "given",
    ["--mca btl self,tcp", "-mca btl self,tcp", "--mca=btl self,tcp", "--gmca btl self,tcp", "--mca pml ucx"],
)
def test_a_users_transport_is_left_alone(given: str) -> None:
    words = " ".join(line(plan_of(*TWO, mpi_args=given.split())).global_args)
    assert "ob1" not in words
    assert words.endswith(given)


@pytest.mark.parametrize(
    ("words", "has", "sets"),
    [
        (["--map-by", "node"], True, False),
        (["--map-by=node"], True, False),
        (["--map", "--map-bya", "by=--map-by"], False, False),
        (["-x", "A", "--mca", "pml", "ob1"], False, True),
        (["--prtemca=pml", "ob1"], False, True),
        (["--mca", "btl", "pml"], False, False),
        (["-x", "pml"], False, False),
        (["pml", "--mca"], False, False),
    ],
)
def test_what_a_users_words_settle(words: list[str], has: bool, sets: bool) -> None:
    given = GivenWords(words, {"OMPI_MCA_btl": "tcp"})
    assert (given.has("--map-by", "--host"), given.sets("pml")) == (has, sets) and given.sets("osc", "btl")


def test_a_users_transport_in_the_environment_is_left_alone() -> None:
    machine = Machine({"OMPI_MCA_btl": "self,tcp"}, cores=8)
    assert "ob1" not in line(plan_of(*TWO), machine).global_args


def test_a_users_binding_is_left_alone() -> None:
    words = line(plan_of(*TWO, mpi_args=["--bind-to", "core"])).global_args
    assert words.count("--bind-to") == 1
    assert "none" not in words


def test_bare_adds_no_setting_of_transports() -> None:
    bare = line(plan_of(*TWO), Machine(cores=1), bare=True)
    assert bare.global_args == ("--bind-to", "none")
    assert bare.environment == {}


def test_every_added_word_has_a_reason() -> None:
    made = line(plan_of(*TWO, placement=hosts("a", "b")), Machine(cores=1, is_root=True))
    told = "\n".join(made.defaults_told())
    assert len(told.splitlines()) == len({default.why for default in made.defaults})
    for default in made.defaults:
        assert default.why and shlex.join(default.words) in told


def test_root_is_allowed_and_told() -> None:
    made = line(plan_of(*TWO), Machine(cores=8, is_root=True))
    assert made.environment == {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    assert "you are root" in "\n".join(made.defaults_told())
    assert "OMPI_ALLOW_RUN_AS_ROOT" not in line(plan_of(*TWO)).environment


def test_a_home_is_given_to_open_mpi_where_there_is_none() -> None:
    made = line(plan_of(*TWO), Machine(cores=8, home="/home/me"))
    assert made.environment == {"HOME": "/home/me"}
    assert "HOME=/home/me (it is not set" in "\n".join(made.defaults_told())
    assert line(plan_of(*TWO), Machine({"HOME": "/x"}, cores=8, home="/home/me")).environment == {}


def test_more_ranks_than_cores_are_allowed_and_told() -> None:
    made = line(plan_of(*TWO), Machine(cores=1))
    mapping = {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    assert made.environment == {**mapping, "OMPI_MCA_mpi_yield_when_idle": "1"}
    assert "2 ranks on 1 cores" in "\n".join(made.defaults_told())
    busy = plan_of(*TWO, mpi_args=("--mca", "mpi_yield_when_idle", "0"))
    assert line(busy, Machine(cores=1)).environment == mapping
    assert line(plan_of(*TWO), Machine(cores=2)).environment == {}


@pytest.mark.parametrize("given", ["--oversubscribe", "--host a:2", "--map-by slot:oversubscribe"])
def test_slots_that_the_user_settles_are_not_added(given: str) -> None:
    assert line(plan_of(*TWO, mpi_args=given.split()), Machine(cores=1)).environment == {}


def test_the_plans_own_defaults_are_used() -> None:
    plan = dataclasses.replace(plan_of(*TWO), defaults=(Default(("--mca", "x", "1"), "because"),))
    assert "--mca x 1" in " ".join(line(plan).global_args)


def test_blocked_variables_are_taken_from_the_launcher_too() -> None:
    plan = plan_of(*TWO, unset=("TT_MESH_ID", "TT_VISIBLE_DEVICES"))
    assert line(plan, Machine({"TT_VISIBLE_DEVICES": "3"}, cores=8)).unset == ("TT_VISIBLE_DEVICES",)


def test_a_rank_of_open_mpi_4_may_launch_a_job_of_its_own() -> None:
    """mpirun of 4.1 refuses to start beside what another tells its ranks; 5 takes no notice of it."""
    job = {
        "OMPI_UNIVERSE_SIZE": "2",
        "OMPI_COMM_WORLD_RANK": "0",
        "OMPI_MCA_orte_hnp_uri": "1.0;tcp",
        "PMIX_RANK": "0",
    }
    own = {"OMPI_MCA_btl_tcp_if_include": "eth0", "HOME": "/root"}
    machine = Machine({**job, **own}, cores=8)
    assert line(plan_of(*TWO), machine, major=4).unset == tuple(job)
    assert line(plan_of(*TWO), machine).unset == ()
    outside = Machine({"OMPI_MCA_orte_tmpdir_base": "/scratch"}, cores=8)
    assert line(plan_of(*TWO), outside, major=4).unset == ()


def rankfile_plan(tmp_path: Path, text: str, slot: str = "0") -> LaunchPlan:
    read = parse_rankfile(text, "rankfile", Findings(), tmp_path / "rankfile")
    ranks = tuple(rank_plan(number, ("prog",), host=f"h{number}", slot=slot) for number in (0, 1))
    hosts = (HostSlots("h0", 1), HostSlots("h1", 1))
    placement = Placement(hosts, read.path, read.normal_text(), read.trouble, source="rankfile")
    return LaunchPlan(ranks, ("prog",), tmp_path, placement=placement)


GOOD = "rank 0=h0 slot=0\nrank 1=h1 slot=0\n"


@pytest.mark.parametrize(
    ("major", "syntax", "words"),
    [
        (5, "auto", "--map-by rankfile:file=rankfile"),
        (4, "auto", "--rankfile rankfile"),
        (5, "rankfile", "--rankfile rankfile"),
        (4, "map-by", "--map-by rankfile:file=rankfile"),
        (4, "mca", "--mca rmaps_rankfile_path rankfile"),
    ],
)
def test_rankfile_syntaxes(tmp_path: Path, major: int, syntax: str, words: str) -> None:
    made = " ".join(line(rankfile_plan(tmp_path, GOOD), major=major, rankfile_syntax=syntax).global_args)
    assert f"{words} --host h0,h1" in made
    assert "--bind-to" not in made


def test_the_syntax_that_open_mpi_5_ignores_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        line(rankfile_plan(tmp_path, GOOD), rankfile_syntax="mca")
    assert caught.value.diagnostics[0].code == "TTR503"


@pytest.mark.parametrize(
    ("text", "why"),
    [("rank 1=h1 slot=0\nrank 0=h0 slot=0\n", "ascending"), (GOOD.replace("\n", "\r\n"), "CRLF")],
)
def test_a_rankfile_that_mpirun_misreads_is_corrected(tmp_path: Path, text: str, why: str) -> None:
    made = line(rankfile_plan(tmp_path, text))
    assert made.rankfile is not None
    assert made.rankfile.text == GOOD
    assert made.rankfile.path == RUN / "rankfile"
    assert why in made.rankfile.why


def test_the_rankfile_stands_where_the_user_named_it(tmp_path: Path) -> None:
    plan = rankfile_plan(tmp_path, GOOD)
    policy = ("rankfile:oversubscribe,file=", ",pe=2")
    placement = dataclasses.replace(plan.placement, rankfile_at=2, rankfile_policy=policy)
    plan = dataclasses.replace(plan, placement=placement, mpi_args=("--bind-to", "core", "-x", "A=b"))
    assert line(plan, bare=True).global_args == (
        *("--bind-to", "core", "--map-by", "rankfile:oversubscribe,file=rankfile,pe=2"),
        *("-x", "A=b", "--host", "h0,h1"),
    )


def test_ranks_that_share_cores_let_each_other_run() -> None:
    words = line(plan_of(*TWO, mpi_args=("--oversubscribe",)), bare=True).global_args
    assert words == ("--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--oversubscribe")


def test_a_users_own_form_of_rankfile_keeps_its_binding() -> None:
    made = line(plan_of(*TWO, mpi_args=["--mca", "rmaps_rankfile_path", "rf"]), major=4)
    assert "--bind-to" not in made.global_args


def test_an_unknown_launcher_gets_no_words_of_one_version() -> None:
    unknown = launcher()
    unknown.__dict__["major"] = None
    plan = plan_of(*TWO, placement=hosts("a", "b"))
    made = build_line(plan, unknown, EIGHT_CORES, LaunchOptions(), RUN, ("sh", "rank.sh"))
    assert "oob_tcp_keepalive_time" not in made.global_args


@pytest.mark.parametrize(("second", "shares"), [("h0", True), ("h1", False)])
def test_ranks_that_a_rankfile_puts_on_one_host_may_share_it(
    tmp_path: Path, second: str, shares: bool
) -> None:
    """What counts is where the rankfile puts ranks, not how many slots the user's own list of hosts has."""
    plan = rankfile_plan(tmp_path, GOOD)
    ranks = tuple(dataclasses.replace(rank, host=("h0", second)[rank.rank]) for rank in plan.ranks)
    placement = dataclasses.replace(plan.placement, hosts=hosts("h0", "h1", slots=1 + (not shares)).hosts)
    made = line(dataclasses.replace(plan, ranks=ranks, placement=placement))
    assert ("--oversubscribe" in made.global_args) is shares


def test_ranks_are_told_once_to_share(tmp_path: Path) -> None:
    plan = rankfile_plan(tmp_path, GOOD)
    ranks = tuple(dataclasses.replace(rank, host="h0") for rank in plan.ranks)
    repeated = Default(("--oversubscribe",), "--host repeats h0")
    made = line(dataclasses.replace(plan, ranks=ranks, defaults=(repeated,)))
    assert made.global_args.count("--oversubscribe") == 1


def test_a_syntax_that_open_mpi_5_ignores_is_passed_on_unchecked(tmp_path: Path) -> None:
    made = line(rankfile_plan(tmp_path, GOOD), rankfile_syntax="mca", unchecked=True)
    assert "--mca rmaps_rankfile_path rankfile" in " ".join(made.global_args)


@pytest.mark.parametrize(("slot", "unbound"), [("0", True), ("1", True), ("0-3", False), ("0:1", False)])
def test_a_slot_number_does_not_pin_a_rank(tmp_path: Path, slot: str, unbound: bool) -> None:
    environment = line(rankfile_plan(tmp_path, GOOD, slot)).environment
    assert (environment.get("PRTE_MCA_hwloc_default_binding_policy") == "none") is unbound


def mpmd(plan: LaunchPlan) -> LaunchLine:
    return build_mpmd_line(plan, launcher(), Machine(cores=8), LaunchOptions(), RUN)


def test_the_pasted_line_names_every_variable_in_every_context() -> None:
    ranks = (rank_plan(0, ("p",), {"A": "0", "ONLY0": "x"}), rank_plan(1, ("p",), {"A": "1"}))
    made = mpmd(LaunchPlan(ranks, ("p",), Path("/")))
    assert made.contexts == (
        *("-np", "1", "-x", "A=0", "-x", "ONLY0=x", "p"),
        ":",
        *("-np", "1", "-x", "A=1", "env", "-u", "ONLY0", "p"),
    )


def test_a_colon_argument_does_not_split_the_pasted_line() -> None:
    made = mpmd(plan_of(("echo", "a", ":", "b"), ("echo", "a", ":", "b")))
    assert made.contexts.count(":") == 1


def test_the_pasted_line_sets_and_removes_what_the_launcher_needs() -> None:
    plan = plan_of(*TWO, unset=("TT_MESH_ID",))
    made = build_mpmd_line(plan, launcher(), Machine({"TT_MESH_ID": "7"}, 8, True), LaunchOptions(), RUN)
    assert made.shell_lines()[-1].startswith("env -u TT_MESH_ID OMPI_ALLOW_RUN_AS_ROOT=1 ")


def test_cores_are_counted() -> None:
    assert 1 <= physical_cores() <= 4096


SLURM = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "h[2-3]"}


@pytest.mark.parametrize(("major", "prefix"), [(5, "PRTE_MCA_"), (4, "OMPI_MCA_")])
def test_ranks_that_run_here_do_not_follow_a_slurm_allocation(major: int, prefix: str) -> None:
    made = line(plan_of(*TWO), Machine(SLURM, cores=8), major)
    assert {name: made.environment.get(f"{prefix}{name}") for name in ("ras", "plm")} == {
        "ras": "^slurm",
        "plm": "^slurm",
    }


@pytest.mark.parametrize(
    "plan", [plan_of(*TWO, placement=hosts("h2", "h3")), plan_of(*TWO, mpi_args=["--host", "h2:2"])]
)
def test_ranks_on_named_hosts_use_the_allocation(plan: LaunchPlan) -> None:
    assert not any("slurm" in value for value in line(plan, Machine(SLURM, cores=8)).environment.values())


def test_ranks_that_run_here_do_not_follow_a_default_hostfile() -> None:
    environ = {"OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile"}
    assert line(plan_of(*TWO), Machine(environ, cores=8)).unset == ("OMPI_MCA_orte_default_hostfile",)
    assert line(plan_of(*TWO, placement=hosts("h2", "h3")), Machine(environ, cores=8)).unset == ()


def test_a_hostfile_without_counts_is_left_for_the_launcher_to_count() -> None:
    placement = dataclasses.replace(hosts("h2", "h3"), hostfile=Path("/etc/mpi/hostfile"))
    words = line(plan_of(*TWO, placement=placement)).global_args
    assert "--host" not in words and words[words.index("--hostfile") + 1] == "/etc/mpi/hostfile"
