"""Discovery: a stand-in for the generator of TT-Metal under real mpirun, and what is done with its results."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.sweep import sweep
from tt_run.errors import LauncherError
from tt_run.launch.discover import _locked

REPOSITORY = Path(__file__).resolve().parents[3]
DESCRIPTOR = REPOSITORY / "configs/mgd/t3k_2x4_two_hosts.textproto"
DEADLINE = 60
HOST = os.uname().nodename
SHOW = ("sh", "-c", "echo rank $TT_RUN_RANK sees $TT_VISIBLE_DEVICES")

GENERATOR = """\
#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in --output-dir) out=$2; shift ;; --mesh-graph-descriptor) descriptor=$2; shift ;; esac
    shift
done
echo "$TT_RUN_RANK" >> asked
[ ! -f broken ] || exit 4
[ "$TT_RUN_RANK" = 0 ] || exit 0
cat > "$out/rank_bindings.yaml" <<END
rank_bindings:
  - {rank: 0, mesh_id: 0, mesh_host_rank: 0, env_overrides: {TT_VISIBLE_DEVICES: "0,1", TT_METAL_CLUSTER_ID: pod-7}}
  - {rank: 1, mesh_id: 0, mesh_host_rank: 1, env_overrides: {TT_VISIBLE_DEVICES: "2,3", TT_METAL_CLUSTER_ID: pod-7}}
mesh_graph_desc_path: $descriptor
END
[ -f partial ] || printf 'rank 0=localhost slot=0\\nrank 1=localhost slot=1\\n' > "$out/rankfile"
mock=$TT_METAL_MOCK_CLUSTER_DESC_PATH
[ -z "$mock" ] || printf 'rank_to_cluster_mock_cluster_desc: {"0": %s, "1": %s}\\n' "$mock" "$mock" > "$out/phase2_mock_mapping.yaml"
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A launch directory with a descriptor and a generator."""
    generator = tmp_path / "build/tools/scaleout/generate_rank_bindings"
    generator.parent.mkdir(parents=True)
    generator.write_text(GENERATOR)
    generator.chmod(0o755)
    shutil.copy(DESCRIPTOR, tmp_path / "mesh.textproto")
    return tmp_path


def tt_run(machine: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tt_run.cli.main", *words]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TT_")}
    environ["PYTHONPATH"] = str(REPOSITORY)
    return subprocess.run(command, cwd=machine, env=environ, capture_output=True, text=True, timeout=DEADLINE)


def discovered(machine: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return tt_run(machine, "--discover", "-m", "mesh.textproto", "--hosts", HOST, *words)


def times_asked(machine: Path) -> int:
    return len((machine / "asked").read_text().split()) if (machine / "asked").exists() else 0


def folder(machine: Path) -> Path:
    (found,) = (path for path in (machine / "generated/ttrun").iterdir() if path.is_dir())
    return found


def test_the_ranks_are_those_that_the_generator_found(machine: Path) -> None:
    answer = discovered(machine, *SHOW)
    assert answer.returncode == 0, answer.stderr
    assert "rank 0 sees 0,1" in answer.stdout
    assert "rank 1 sees 2,3" in answer.stdout
    assert (folder(machine) / "rankfile").read_text() == f"rank 0={HOST} slot=0\nrank 1={HOST} slot=1\n"
    assert len((folder(machine) / ".phase1_cache_key").read_text()) == 65


def test_a_generator_that_is_there_is_asked_unless_that_is_not_wanted(machine: Path) -> None:
    """As the reference does, without --discover: only the hardware knows which devices are whose."""
    words = ("-m", "mesh.textproto", "--hosts", f"{HOST}:2")
    answer = tt_run(machine, *words, *SHOW)
    assert "rank 1 sees 2,3" in answer.stdout, answer.stderr
    assert times_asked(machine) == 1
    answer = tt_run(machine, "--no-discover", *words, *SHOW)
    assert answer.returncode == 0 and "sees 2,3" not in answer.stdout, answer.stderr
    looked = tt_run(machine, "--force-rediscovery", *words, "--check-only", "true")
    assert looked.returncode == 0 and "these are derived" in looked.stderr
    assert times_asked(machine) == 1


def test_the_cluster_id_is_as_found(machine: Path) -> None:
    show = ("sh", "-c", "echo cluster $TT_METAL_CLUSTER_ID")
    answer = discovered(machine, *show)
    assert answer.stdout.count("cluster pod-7") == 2, answer.stderr


def test_a_wish_and_its_contrary(machine: Path) -> None:
    answer = discovered(machine, "--no-discover", "true")
    assert (answer.returncode, "TTR009" in answer.stderr) == (2, True)


def test_what_is_known_is_used_until_a_refresh_is_asked_for(machine: Path) -> None:
    assert discovered(machine, "true").returncode == 0
    assert discovered(machine, "true").returncode == 0
    without = tt_run(
        machine, "-m", "mesh.textproto", "--hosts", HOST, "--dry-run", "--format", "json", "true"
    )
    assert json.loads(without.stdout)["ranks"][1]["env"]["TT_VISIBLE_DEVICES"] == "2,3"
    assert times_asked(machine) == 1
    assert discovered(machine, "--force-rediscovery", "true").returncode == 0
    assert times_asked(machine) == 2


@pytest.mark.wide
def test_results_under_the_long_name_are_known_too(machine: Path) -> None:
    """Where they were written while another discovery had the short one."""
    assert discovered(machine, "true").returncode == 0
    short = folder(machine)
    short.rename(short.with_name((short / ".phase1_cache_key").read_text().strip()))
    answer = discovered(machine, "true")
    assert (answer.returncode, times_asked(machine)) == (0, 1), answer.stderr


def test_a_refresh_that_fails_leaves_nothing_that_looks_whole(machine: Path) -> None:
    assert discovered(machine, "true").returncode == 0
    (machine / "broken").touch()
    answer = discovered(machine, "--force-rediscovery", "true")
    assert answer.returncode == 69
    assert "TTR511" in answer.stderr
    assert "Phase 1 (generate_rank_bindings) failed: " in answer.stderr and "--no-discover" in answer.stderr
    assert "exited with 4" in answer.stderr
    assert {path.name for path in folder(machine).iterdir()} == {"hostfile", "mgd.textproto"}


def test_a_result_that_is_missing_is_told(machine: Path) -> None:
    (machine / "partial").touch()
    answer = discovered(machine, "true")
    assert answer.returncode == 69
    assert "left no rank_bindings.yaml or rank_bindings_mapping.yaml, rankfile in" in answer.stderr
    assert not (folder(machine) / ".phase1_cache_key").exists()


def test_derived_ranks_are_not_taken_for_discovered_ones(machine: Path) -> None:
    derived = ("--no-discover", "-m", "mesh.textproto", "--hosts", f"{HOST}:2")
    assert tt_run(machine, *derived, "true").returncode == 0
    assert (folder(machine) / ".phase1_cache_key").exists()
    answer = discovered(machine, *SHOW)
    assert "rank 1 sees 2,3" in answer.stdout, answer.stderr
    assert times_asked(machine) == 1


def test_a_mock_cluster_is_discovered_with_one_generator_for_each_machine(machine: Path) -> None:
    for name in ("one", "two"):
        (machine / f"{name}.yaml").write_text("arch: {0: wormhole_b0}\n")
    (machine / "mock.yaml").write_text("rank_to_cluster_mock_cluster_desc: {0: one.yaml, 1: two.yaml}\n")
    words = ("--discover", "-m", "mesh.textproto", "--mock-cluster-rank-binding", "mock.yaml")
    answer = tt_run(
        machine, *words, "--check", "warn", "sh", "-c", "echo mock $TT_METAL_MOCK_CLUSTER_DESC_PATH"
    )
    assert answer.returncode == 0, answer.stderr
    assert times_asked(machine) == 2
    assert answer.stdout.count(f"mock {machine.resolve()}/one.yaml") == 2


def test_a_dry_run_shows_the_generator_and_writes_nothing(machine: Path) -> None:
    before = sorted(machine.rglob("*"))
    answer = discovered(machine, "--dry-run", "true")
    assert answer.returncode == 0, answer.stderr
    assert "generate_rank_bindings --mesh-graph-descriptor" in answer.stdout
    assert sorted(machine.rglob("*")) == before


def test_without_a_generator_the_places_are_named(machine: Path) -> None:
    shutil.rmtree(machine / "build")
    answer = discovered(machine, "true")
    assert answer.returncode == 69
    assert "TTR510" in answer.stderr
    assert str(machine.resolve() / "build/tools/scaleout/generate_rank_bindings") in answer.stderr


def test_an_unchecked_look_at_a_descriptor_beyond_us_shows_whom_to_ask(machine: Path) -> None:
    (machine / "mesh.textproto").write_text('mesh_descriptors { name: "M0" }\n')
    look = ("-m", "mesh.textproto", "--hosts", HOST, "--dry-run", "--format", "json")
    answer = tt_run(machine, *look, "--check", "off", "true")
    assert answer.returncode == 0, answer.stderr
    command = json.loads(answer.stdout)["discovery"]["command"]
    assert str(machine.resolve() / "build/tools/scaleout/generate_rank_bindings") in command
    assert tt_run(machine, *look, "true").returncode == 66


def test_there_must_be_something_to_discover(machine: Path) -> None:
    answer = tt_run(machine, "--discover", "--rank-binding", "ranks.yaml", "true")
    assert answer.returncode == 2
    assert "TTR009" in answer.stderr


@pytest.mark.parametrize(
    ("number", "code"), sweep([(signal.SIGINT, 130), (signal.SIGTERM, 143)], quick=[signal.SIGTERM])
)
def test_a_discovery_that_the_user_ends_leaves_nothing(machine: Path, number: int, code: int) -> None:
    generator = machine / "build/tools/scaleout/generate_rank_bindings"
    generator.write_text("#!/bin/sh\necho $$ > started.part; mv started.part started; exec sleep 60\n")
    words = ("--discover", "-m", "mesh.textproto", "--hosts", HOST, "true")
    command = [sys.executable, "-m", "tt_run.cli.main", *words]
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    launch = subprocess.Popen(command, cwd=machine, env=environ, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + DEADLINE
    while not (machine / "started").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    launch.send_signal(number)
    _, said = launch.communicate(timeout=DEADLINE)
    assert launch.returncode == code, said
    assert not Path("/proc", (machine / "started").read_text().strip()).exists()
    assert not (folder(machine) / ".phase1_cache_key").exists()


def test_a_missing_program_is_told_before_the_generator_starts(machine: Path) -> None:
    answer = discovered(machine, "no-such-program")
    assert answer.returncode != 0
    assert "no-such-program" in answer.stderr
    assert times_asked(machine) == 0


def test_a_factory_descriptor_that_is_missing_is_told_first(machine: Path) -> None:
    answer = discovered(machine, "--factory-system-descriptor", "gone", "--check", "off", "--dry-run", "true")
    assert answer.returncode == 66
    assert "factory system descriptor not found: gone" in answer.stderr


def test_another_launch_that_discovers_is_waited_for_but_not_for_ever(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with _locked(lock, 5), pytest.raises(LauncherError) as caught, _locked(lock, 0):
        raise AssertionError("two hold the lock")
    (finding,) = caught.value.diagnostics
    assert finding.code == "TTR512" and f"another launch has discovered in {tmp_path}" in finding.message
    with _locked(lock, 0):
        pass
