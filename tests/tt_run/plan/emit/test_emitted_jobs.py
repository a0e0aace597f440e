"""Emitted jobs through `tt-run`: run again with --dry-run where the scheduler's variables are set."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.launch import ROOT, tt_run
from tests.tt_run.plan.emit.test_emit import directives, pods

BINDINGS = str(ROOT / "configs" / "bindings" / "t3k_2x4_four_hosts.yaml")


DESCRIPTOR = str(ROOT / "configs" / "mgd" / "t3k_2x4_two_hosts.textproto")


SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_NODELIST": "a,b",
    "SLURM_TASKS_PER_NODE": "2(x2)",
    "SLURM_NNODES": "2",
}


def ranks(text: str) -> list[dict[str, Any]]:
    """The ranks of a dry run, less what only the scheduler's side can know: the host and its folders."""
    kept = []
    for rank in json.loads(text)["ranks"]:
        env = {
            name: value
            for name, value in rank["env"].items()
            if name.startswith(("TT_MESH", "TT_VIS", "TT_LOGGER"))
        }
        kept.append(
            {
                **{name: rank[name] for name in ("rank", "mesh_id", "mesh_host_rank", "devices", "argv")},
                "env": env,
            }
        )
    return kept


@pytest.mark.parametrize("words", [(), ("--hosts", "a:2,b:2")], ids=["allocation", "hosts"])
def test_a_batch_script_starts_the_same_ranks(tmp_path: Path, words: tuple[str, ...]) -> None:
    line = ("--rank-binding", BINDINGS, *words, "./app", "--emit", "two words", "it's")
    (tmp_path / "app").write_text("#!/bin/sh\n")
    (tmp_path / "app").chmod(0o755)
    env = {"TT_LOGGER_LEVEL": "odd 'level'"}
    expected = ranks(tt_run("--dry-run", "--format", "json", *line, cwd=tmp_path, env=env).check().out)
    script = tt_run("--emit", "slurm", *line, cwd=tmp_path, env=env).check().out
    assert subprocess.run(["sh", "-n"], input=script.encode(), timeout=20).returncode == 0
    told = directives(script)
    assert told["chdir"] == str(tmp_path)
    assert told.get("nodelist") == ("a,b" if words else None)
    assert told["ntasks-per-node"] == ("2" if words else "4")
    looking = script.replace("exec tt-run", "exec tt-run --dry-run --format json")
    done = subprocess.run(
        ["sh", "-s"], input=looking.encode(), capture_output=True, cwd=tmp_path, timeout=30,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **SLURM},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    assert ranks(done.stdout.decode()) == expected
    assert [rank["host"] for rank in json.loads(done.stdout)["ranks"]] == ["a", "a", "b", "b"]


def test_a_manifest_starts_the_same_ranks(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("")
    line = ("--rank-binding", BINDINGS, "--hosts", "a:2,b:2", "python", "app.py", "--hosts", "x", "it's: odd")
    env = {"TT_LOGGER_LEVEL": "yes"}
    expected = ranks(tt_run("--dry-run", "--format", "json", *line, cwd=tmp_path, env=env).check().out)
    manifest = yaml.safe_load(tt_run("--emit=mpijob", *line, cwd=tmp_path, env=env).check().out)
    assert (manifest["apiVersion"], manifest["kind"]) == ("kubeflow.org/v2beta1", "MPIJob")
    assert [*manifest["spec"]] == ["slotsPerWorker", "runPolicy", "mpiReplicaSpecs"], "as people write it"
    assert manifest["metadata"]["name"] == "app"
    assert manifest["spec"]["slotsPerWorker"] == 2
    count, worker = pods(manifest, "Worker")
    assert (count, worker["command"]) == (2, ["/usr/sbin/sshd", "-De"])
    count, launcher = pods(manifest, "Launcher")
    assert count == 1 and launcher["workingDir"] == str(tmp_path)
    variables = {entry["name"]: entry["value"] for entry in launcher["env"]}
    assert variables["PRTE_MCA_prte_default_hostfile"] == "/etc/mpi/hostfile"
    assert variables["TT_LOGGER_LEVEL"] == "yes"
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("app-worker-0 slots=2\napp-worker-1 slots=2\n")
    inside = {**variables, "PRTE_MCA_prte_default_hostfile": str(hostfile)}
    assert launcher["command"][0] == "tt-run"
    words = ("--dry-run", "--format", "json", *launcher["command"][1:])
    done = tt_run(*words, cwd=tmp_path, env=inside).check()
    assert ranks(done.out) == expected
    homes = [rank["host"] for rank in json.loads(done.out)["ranks"]]
    assert homes == ["app-worker-0"] * 2 + ["app-worker-1"] * 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--emit", "mpijob", "--hosts", "a:3,b:1"), "every worker has the same number of ranks"),
        (("--emit", "mpijob", "--mpi-args", "--host a:2,b:2"), "the names of its pods are not known yet"),
        (("--emit", "mpijob", "--hosts", "a,b", "-m", DESCRIPTOR), "placed on hosts by name"),
        (("--emit", "slurm", "--no-scheduler"), "--no-scheduler ignores the hosts"),
    ],
)
def test_what_a_scheduler_cannot_do_is_refused(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    source = () if "-m" in words else ("--rank-binding", BINDINGS)
    ran = tt_run(*words, *source, "sh", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "error[TTR023]" in ran.err and says in ran.err and "help:" in ran.err
