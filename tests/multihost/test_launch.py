"""Where ranks go and what they see there: the plan, on every host alike."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.launch import ROOT
from tests.multihost.conftest import Cluster
from tests.multihost.jobs import THREE, HostJobs, named
from tt_run.contract import Exit

pytestmark = [pytest.mark.multihost, pytest.mark.wide]

FOUR_RANKS = ROOT / "configs" / "bindings" / "t3k_2x4_four_hosts.yaml"
# Each rank tells what it sees, in a file: the console would mix four ranks' lines.
TELL = """
import json, os, socket, sys
seen = {"host": socket.gethostname(), "cwd": os.getcwd(), "python": sys.executable, "env": dict(os.environ)}
open("seen.%s.json" % os.environ["OMPI_COMM_WORLD_RANK"], "w").write(json.dumps(seen))
print("rank", os.environ["TT_RUN_RANK"], "of", socket.gethostname(), flush=True)
"""
ODD = {
    "QUOTES": 'it\'s "odd"',
    "BLANKS": "  two  blanks\tand a tab ",
    "LINES": "one\ntwo",
    "SIGNS": "a,b;c:d=e*#%\\{}[]!&|<>~",
    "UTF_8": "µ → 日本",
    "EMPTY": "",
    "dotted.name": "not a shell's name",
}
BINDINGS = """
rank_bindings:
  - rank: 0
    mesh_id: 0
    mesh_host_rank: 0
    env_overrides: {rank_0}
  - rank: 1
    mesh_id: 0
    mesh_host_rank: 1
    env_overrides: {rank_1}
global_env: {everybody}
mesh_graph_desc_path: {descriptor}
"""


def seen(folder: Path, rank: int) -> dict[str, Any]:
    return json.loads((folder / f"seen.{rank}.json").read_text())


def test_ranks_run_on_their_hosts_in_the_launch_folder(jobs: HostJobs, tmp_path: Path) -> None:
    """`python` is on PATH of the launching shell only; the folder is given as a relative path."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "tell.py").write_text(TELL)
    job = jobs.start("python", "sub/tell.py")
    ran = job.end().check()
    ranks = [seen(tmp_path, rank) for rank in range(3)]
    assert [rank["host"] for rank in ranks] == ["h1", "h2", "h3"]
    assert {rank["cwd"] for rank in ranks} == {str(tmp_path)}
    assert len({rank["python"] for rank in ranks}) == 1
    for name in ("TT_METAL_CACHE", "TT_METAL_LOGS_PATH"):
        assert len({rank["env"][name] for rank in ranks}) == 3
    assert sorted(ran.out.splitlines()) == [f"[{rank}] rank {rank} of h{rank + 1}" for rank in range(3)]
    for rank in range(3):
        assert job.folder.out(rank).read_text() == f"rank {rank} of h{rank + 1}\n"
    assert "3 ranks on h1, h2, h3 (--hosts)" in ran.err
    job.check_gone()


def test_a_remote_rank_sees_exactly_what_the_plan_says(jobs: HostJobs, tmp_path: Path) -> None:
    (tmp_path / "tell.py").write_text(TELL)
    (tmp_path / "ranks.yaml").write_text(
        BINDINGS.format(
            rank_0=json.dumps({"ONLY_0": "zero", "BOTH": "zero"}),
            rank_1=json.dumps({**ODD, "BOTH": "one"}),
            everybody=json.dumps({"ALL": "all", "TT_METAL_CACHE": "${HOME}/one cache"}),
            descriptor=ROOT / "configs" / "mgd" / "t3k_2x4_two_hosts.textproto",
        )
    )
    blocked = {
        "TT_MESH_HOST_RANK": "7",
        "TT_VISIBLE_DEVICES": "31",
        "TT_METAL_MOCK_CLUSTER_DESC_PATH": "/leak",
    }
    passed = {"TT_LOGGER_LEVEL": "debug", "PARENTS_OWN": "stays here"}
    where = ("--rank-binding", "ranks.yaml", "--hosts", "h1:1,h2:1", "--check", "off")
    job = jobs.start("python", "tell.py", where=where, ranks=2, env={**blocked, **passed})
    job.end().check()
    rank_0, rank_1 = seen(tmp_path, 0)["env"], seen(tmp_path, 1)["env"]
    assert {name: rank_1.get(name) for name in ODD} == ODD
    assert (rank_0["BOTH"], rank_1["BOTH"], rank_0["ALL"], rank_1["ALL"]) == ("zero", "one", "all", "all")
    assert "ONLY_0" not in rank_1 and not ODD.keys() & rank_0.keys()
    assert "PARENTS_OWN" not in rank_1 and "PARENTS_OWN" not in rank_0
    assert (rank_0["TT_MESH_HOST_RANK"], rank_1["TT_MESH_HOST_RANK"]) == ("0", "1")
    for environment in (rank_0, rank_1):
        assert not {"TT_VISIBLE_DEVICES", "TT_METAL_MOCK_CLUSTER_DESC_PATH"} & environment.keys()
    plan = json.loads((job.folder.path / "plan.json").read_text())
    for rank, environment in enumerate((rank_0, rank_1)):
        planned = {name: value for name, value in plan["ranks"][rank]["env"].items() if name != "PYTHONPATH"}
        assert {name: environment.get(name) for name in planned} == planned


OF_MPI = ("OMPI_", "PMIX_", "PRTE_", "OPAL_")
OF_A_SHELL = {"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"}  # the last is Python's own


@pytest.mark.parametrize("option", [(), ("--inherit-env",)])
def test_all_ranks_of_a_job_see_the_same_variables(
    jobs: HostJobs, tmp_path: Path, option: tuple[str, ...]
) -> None:
    """Those of the plan alone, on the launching host too; the shell's as well when they are sent along."""
    (tmp_path / "tell.py").write_text(TELL + "os.environ['DATASETS_OF_MINE']\n" * bool(option))
    where = ("--emulate", "--system", "t3000", "--split", "1x2", "--hosts", "h1:1,h2:1", *option)
    ran = jobs.run("python", "tell.py", where=where, env={"DATASETS_OF_MINE": "/data", "SSH_TTY": "/dev/1"})
    ran.check()
    names = [
        {name for name in seen(tmp_path, rank)["env"] if not name.startswith(OF_MPI)} - OF_A_SHELL
        for rank in (0, 1)
    ]
    assert names[0] == names[1]
    assert ("DATASETS_OF_MINE" in names[0]) is bool(option) and "SSH_TTY" not in names[0]


def test_a_variable_that_stays_behind_is_told(jobs: HostJobs, tmp_path: Path) -> None:
    (tmp_path / "read.py").write_text("import os\nos.environ.get('DATASETS_OF_MINE')\n")
    where = ("--emulate", "--system", "t3000", "--split", "1x2", "--hosts", "h1:1,h2:1", "--check-only")
    ran = jobs.run("python", "read.py", where=where, env={"DATASETS_OF_MINE": "/data"})
    assert "warning[TTR224]: DATASETS_OF_MINE" in ran.check().err and "read.py:2:" in ran.err


def slurm(job: str = "7") -> dict[str, str]:
    nodes = dict.fromkeys(("SLURM_NODELIST", "SLURM_JOB_NODELIST"), "h[2-3]")
    counts = {"SLURM_TASKS_PER_NODE": "2(x2)", "SLURM_NNODES": "2", "SLURM_JOB_NUM_NODES": "2"}
    return {"SLURM_JOBID": job, "SLURM_JOB_ID": job, **nodes, **counts}


@pytest.mark.parametrize(
    ("words", "variables", "hosts", "source"),
    [
        ("--rankfile rf", {}, "h2 h1 h3 h1", "rankfile rf"),
        ("--hostfile hf", {}, "h3 h1 h1 h2", "hostfile hf"),
        ("", slurm(), "h2 h2 h3 h3", "Slurm allocation (job 7)"),
        ("", {"OMPI_MCA_orte_default_hostfile": "hf"}, "h3 h1 h1 h2", "OMPI_MCA_orte_default_hostfile="),
    ],
    ids=["rankfile", "hostfile", "slurm", "mpijob"],
)
def test_every_source_of_hosts_places_the_ranks_and_is_named(
    jobs: HostJobs, tmp_path: Path, words: str, variables: dict[str, str], hosts: str, source: str
) -> None:
    (tmp_path / "rf").write_text("rank 3=h1 slot=1\nrank 0=h2 slot=0\nrank 1=h1 slot=0\nrank 2=h3 slot=0\n")
    (tmp_path / "hf").write_text("h3 slots=1\nh1 slots=2\nh2 slots=1\n")
    variables = {name: str(tmp_path / value) if value == "hf" else value for name, value in variables.items()}
    where = ("--rank-binding", str(FOUR_RANKS), *(("--mpi-args", words) if words else ()))
    tell = "read -r host </proc/sys/kernel/hostname; echo on $host; sleep 0.3"
    job = jobs.start("sh", "-c", tell, where=where, ranks=4, env=variables)
    ran = job.end().check()
    assert [job.folder.out(rank).read_text().split()[1] for rank in range(4)] == hosts.split()
    assert f"({source}" in ran.err


def test_pinned_ranks_run_on_their_hosts(jobs: HostJobs, tmp_path: Path) -> None:
    (tmp_path / "mesh.textproto").write_text(
        'mesh_descriptors { name: "M" arch: WORMHOLE_B0 device_topology { dims: [1, 1] } host_topology { dims: [1, 1] } '
        "channels { count: 1 } }\n"
        'graph_descriptors { name: "G" type: "FABRIC" '
        + "".join(f'instances {{ mesh {{ mesh_descriptor: "M" mesh_id: {n} }} }} ' for n in range(3))
        + '}\ntop_level_instance { graph { graph_descriptor: "G" graph_id: 0 } }\n'
    )
    (tmp_path / "pins.yaml").write_text(
        "rank_pinnings: [{rank: 0, host: h3}, {mesh_id: 2, mesh_host_rank: 0, host: h1, env_overrides: {HUE: red}}]\n"
    )
    where = ("-m", "mesh.textproto", "--hosts", "h1:1,h2:1,h3:1", "--rank-pinning-file", "pins.yaml")
    tell = "read -r host </proc/sys/kernel/hostname; echo on $host $HUE; sleep 0.3"
    job = jobs.start("sh", "-c", tell, where=where, ranks=3)
    ran = job.end().check()
    assert [job.folder.out(rank).read_text().split()[1:] for rank in range(3)] == [
        ["h3"],
        ["h2"],
        ["h1", "red"],
    ]
    assert "(--hosts and rank pins)" in ran.err


def test_no_scheduler_keeps_the_ranks_here(jobs: HostJobs) -> None:
    where = ("--rank-binding", str(FOUR_RANKS), "--no-scheduler")
    job = jobs.start("sh", "-c", "hostname; sleep 0.3", where=where, ranks=4, env=slurm())
    job.end().check()
    assert {job.folder.out(rank).read_text() for rank in range(4)} == {"h1\n"}


def test_a_line_of_the_dry_run_does_the_same_without_tt_run(three_hosts: Cluster, tmp_path: Path) -> None:
    (tmp_path / "tell.py").write_text(TELL)
    where = ["tt-run", *THREE, "--dry-run", "python", "tell.py"]
    lines = three_hosts.run("h1", *where, cwd=tmp_path).check().out
    three_hosts.run("h1", "sh", "-c", lines, cwd=tmp_path).check()
    assert [seen(tmp_path, rank)["host"] for rank in range(3)] == ["h1", "h2", "h3"]
    assert [seen(tmp_path, rank)["env"]["TT_MESH_ID"] for rank in range(3)] == ["0", "1", "2"]
    assert os.environ.get("TT_MESH_ID") is None


def test_an_emitted_batch_script_runs_in_its_allocation(three_hosts: Cluster, tmp_path: Path) -> None:
    (tmp_path / "tell.py").write_text(TELL)
    words = ("--rank-binding", str(FOUR_RANKS), "--hosts", "h2:2,h3:2", "python", "tell.py")
    script = three_hosts.run("h1", "tt-run", "--emit", "slurm", *words, cwd=tmp_path).check().out
    (tmp_path / "job.sh").write_text(script)
    three_hosts.run("h1", "sh", "job.sh", cwd=tmp_path, env=slurm()).check()
    assert [seen(tmp_path, rank)["host"] for rank in range(4)] == ["h2", "h2", "h3", "h3"]
    assert (tmp_path / "tt-run-logs" / "slurm-7" / "rank-0003.out").read_text() == "rank 3 of h3\n"


def test_a_run_folder_that_the_hosts_do_not_share(jobs: HostJobs, tmp_path: Path) -> None:
    """/dev/shm is each host's own."""
    job = jobs.start("sh", "-c", "exec sleep 600", options=("--log-dir", f"/dev/shm/{tmp_path.name}"))
    ran = job.end()
    assert ran.code == Exit.NO_LAUNCHER, ran.err
    assert named(ran.err) == "the run folder is not there on hosts h2, h3: no rank could start on them"
    assert "name a folder that they share with --log-dir DIR" in ran.err and ran.err.count("help: ") == 1
    job.check_gone()


def test_remote_shells_that_hang_do_not_outlive_a_start_that_takes_too_long(
    jobs: HostJobs, tmp_path: Path
) -> None:
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\ntrap '' TERM HUP INT\nwhile :; do sleep 1; done\n")
    agent.chmod(0o755)
    env = {"PRTE_MCA_plm_ssh_agent": str(agent)}
    job = jobs.start("sleep", "600", options=("--start-timeout", "1"), env=env)
    ran = job.end(25)
    assert ran.code == Exit.START_TIMEOUT, ran.err
    assert named(ran.err).endswith("; the remote shell to h2, h3 does not answer")
    job.check_gone()
