"""Emitted jobs, read back by their own readers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from mgd.lean import replace
from tests.tt_run.launch.conftest import plan_of
from tt_run.inputs.environment import EnvVar
from tt_run.plan.emit.job import BatchJob, nodes_of
from tt_run.plan.emit.mpijob import mpijob_manifest
from tt_run.plan.emit.slurm import slurm_script
from tt_run.plan.model import HostSlots, LaunchPlan, Placement


def hosts(*slots: int, source: str = "--hosts") -> Placement:
    return Placement(tuple(HostSlots(f"n{i}", count) for i, count in enumerate(slots)), source=source)


def plan(*visible: str, placement: Placement | None = None) -> LaunchPlan:
    made = plan_of(*[("./app",)] * len(visible), placement=placement or Placement(), cwd=Path("/work"))
    for rank, devices in zip(made.ranks, visible, strict=True):
        if devices:
            rank.env["TT_VISIBLE_DEVICES"] = EnvVar(devices, "test")  # type: ignore[index]
    return made


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (plan("", ""), (2, 1, True)),
        (plan("0", "1", "0", "1"), (2, 2, True)),
        (plan("0,1", "2,3"), (1, 2, True)),
        (plan("0", "0", "0"), (3, 1, True)),
        (plan("0", "1", "1", "0"), (4, 1, True)),
        (plan("0", "1", "0"), (3, 1, True)),
        (plan("0", "", "0", ""), (4, 1, True)),
        (plan("", "", placement=hosts(1, 1)), (2, 1, True)),
        (plan("0", "1", "0", "1", placement=hosts(3, 1)), (2, 3, False)),
        (plan("", "", placement=hosts(2, source="Slurm allocation (job 7)")), (1, 2, True)),
        (plan("", "", "", placement=hosts(2, 1, source="Slurm allocation (job 7)")), (2, 2, False)),
    ],
)
def test_how_many_nodes_with_how_many_ranks(made: LaunchPlan, expected: tuple[int, int, bool]) -> None:
    nodes = nodes_of(made)
    assert (nodes.count, nodes.slots, nodes.is_even) == expected


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (plan("", ""), "one rank for each host, since no hosts are named"),
        (plan("0", "0"), "one rank for each host, since no hosts are named"),
        (plan("0", "1", "0", "1"), "TT_VISIBLE_DEVICES tells the ranks of a node apart"),
        (plan("", "", placement=hosts(1, 1)), "hosts of --hosts"),
        (
            plan("", "", placement=hosts(2, source="Slurm allocation (job 7)")),
            "as in this Slurm allocation (job 7)",
        ),
    ],
)
def test_why_so_many_nodes(made: LaunchPlan, why: str) -> None:
    assert nodes_of(made).why == why


def test_ranks_and_nodes_are_counted_in_words() -> None:
    one, several = (BatchJob(made, (), Path("/bin")) for made in (plan(""), plan("", "0")))
    assert (one.counted("node"), several.counted("worker")) == ("1 rank on 1 node", "2 ranks on 2 workers")


def test_hosts_of_an_allocation_are_not_asked_for_again() -> None:
    assert nodes_of(plan("", "", placement=hosts(1, 1))).names == ("n0", "n1")
    assert nodes_of(plan("", "", placement=hosts(1, 1, source="Slurm allocation (job 7)"))).names == ()


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (("python", "/x/My Train_v2.py"), "my-train-v2"),
        (("./app",), "app"),
        (("sh", "-c", "true"), "sh"),
        (("-", "...."), "tt-run"),
    ],
)
def test_names_that_schedulers_take(program: tuple[str, ...], name: str) -> None:
    assert BatchJob(plan_of(program), program, Path("/bin")).name == name


def directives(script: str) -> dict[str, str]:
    found = [line.removeprefix("#SBATCH --") for line in script.splitlines() if line.startswith("#SBATCH ")]
    return {name: value for name, _, value in (line.partition("=") for line in found)}


def test_the_script_limits_time_and_quotes_folders() -> None:
    made = plan_of(("./app",), cwd=Path("/my work"))
    script = slurm_script(BatchJob(made, ("./app", "it's"), Path("/opt/my venv/bin"), seconds=600))
    assert directives(script)["time"] == "12"
    assert directives(script)["chdir"] == '"/my work"'
    assert "PATH='/opt/my venv/bin':$PATH" in script
    assert script.splitlines()[-1].endswith("""./app 'it'"'"'s'""")


@pytest.mark.parametrize(
    ("words", "program", "logs"),
    [
        (("./app",), 1, True),
        (("--log-dir", "x", "./app"), 1, False),
        (("--log-dir=x", "./app"), 1, False),
        (("./app", "--log-dir", "x"), 3, True),
        (("--emulate", "./app", "--log-dir=x"), 2, True),
    ],
)
def test_logs_go_by_the_number_of_the_job_unless_they_are_sent_elsewhere(
    words: tuple[str, ...], program: int, logs: bool
) -> None:
    script = slurm_script(BatchJob(plan_of(words[-program:], cwd=Path("/work")), words, Path("/bin")))
    sent = ' --log-dir "tt-run-logs/slurm-$SLURM_JOB_ID"' * logs
    assert script.splitlines()[-1] == f"exec tt-run{sent} {' '.join(words)}"


def pods(manifest: Mapping[str, Any], kind: str) -> tuple[int, dict[str, Any]]:
    part = manifest["spec"]["mpiReplicaSpecs"][kind]
    return part["replicas"], part["template"]["spec"]["containers"][0]


def test_the_volume_of_a_manifest_is_everywhere() -> None:
    manifest = yaml.safe_load(
        mpijob_manifest(BatchJob(plan_of(("./app",), cwd=Path("/work")), ("./app",), Path("/bin")))
    )
    for kind in ("Launcher", "Worker"):
        spec = manifest["spec"]["mpiReplicaSpecs"][kind]["template"]["spec"]
        assert spec["containers"][0]["volumeMounts"] == [{"name": "work", "mountPath": "/work"}]
        assert spec["volumes"][0]["name"] == "work"


def test_a_manifest_has_one_launcher_and_a_worker_for_each_node() -> None:
    made = yaml.safe_load(mpijob_manifest(BatchJob(plan("0", "1", "0", "1"), ("./app",), Path("/bin"))))
    (launchers, _), (workers, worker) = pods(made, "Launcher"), pods(made, "Worker")
    assert (launchers, workers, made["spec"]["slotsPerWorker"]) == (1, 2, 2)
    assert worker["command"] == ["/usr/sbin/sshd", "-De"]


def test_secrets_of_the_shell_are_in_no_job() -> None:
    made = plan("0,1")
    passed = {"TT_API_KEY": "hidden", "TT_LOGGER_LEVEL": "Debug"}
    for name, value in passed.items():
        made.ranks[0].env[name] = EnvVar(value, "shell: passed through")  # type: ignore[index]
    job = BatchJob(made, ("./app",), Path("/env/bin"))
    for text in (slurm_script(job), mpijob_manifest(job)):
        assert "hidden" not in text and "Debug" in text
        assert "# Left out as secrets, to be provided where the job runs: TT_API_KEY\n" in text


MANIFEST = """\
# 1 rank on 1 worker: hosts of --hosts. Start with: kubectl apply -f FILE
# image tt-run:latest: one with tt-run, Open MPI and an ssh daemon.
# claim tt-run-work: a ReadWriteMany volume with the program; mounted at the launch folder in every pod.
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: train
spec:
  slotsPerWorker: 1
  runPolicy:
    cleanPodPolicy: Running
    backoffLimit: 0
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: launcher
            image: tt-run:latest
            workingDir: /work
            volumeMounts:
            - name: work
              mountPath: /work
            command:
            - tt-run
            - train.py
            - Über 1
            - LONG b
              c
"""


def test_a_manifest_as_people_read_it() -> None:
    """Keys in their usual order, letters as they are, lines that are broken after 110 characters."""
    made = plan_of(("python", "train.py"), cwd=Path("/work"), placement=hosts(1))
    long = "w" * 95
    job = BatchJob(made, ("train.py", "Über 1", f"{long} b c"), Path("/bin"))
    assert mpijob_manifest(job).startswith(MANIFEST.replace("LONG", long))


def test_a_batch_script_as_people_read_it() -> None:
    job = BatchJob(plan("0", "1", "0", "1"), ("./app",), Path("/bin"), seconds=59)
    lines = [
        "#!/bin/sh",
        "#SBATCH --job-name=app",
        "#SBATCH --nodes=2",
        "#SBATCH --ntasks-per-node=2",
        "#SBATCH --chdir=/work",
        "#SBATCH --output=slurm-%j.out",
        "#SBATCH --signal=B:TERM@60",
        "#SBATCH --time=2",
        "#SBATCH --exclusive",
        "# 4 ranks on 2 nodes: TT_VISIBLE_DEVICES tells the ranks of a node apart. Submit with: sbatch FILE",
        "set -eu",
        "PATH=/bin:$PATH",
        "export PATH",
        'exec tt-run --log-dir "tt-run-logs/slurm-$SLURM_JOB_ID" ./app',
    ]
    assert slurm_script(job).splitlines() == lines
    emulated = slurm_script(replace(job, plan=replace(job.plan, emulate=True)))
    assert emulated.splitlines() == [line for line in lines if line != "#SBATCH --exclusive"]
