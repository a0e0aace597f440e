"""Client packages of `ttnn` on the emulation, each in a process of its own: models with random weights against PyTorch.

TT_RUN_CLIENTS names an environment that has them (`.ci/run` makes it); with TT_RUN_REQUIRE_CLIENTS its absence is a failure.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.launch import tt_run

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).with_name("programs")
PYTHON = Path(os.environ.get("TT_RUN_CLIENTS", "/nonexistent")) / "bin" / "python"

pytestmark = [pytest.mark.clients, pytest.mark.wide, pytest.mark.timeout(150)]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with this project's packages and nothing else: a client brings top-level packages `tests` and `tools` of its own."""
    if not PYTHON.exists():
        reason = "TT_RUN_CLIENTS names no environment with torch-ttnn, tt-symbiote, tt-bio, tt-check and ttnn-visualizer"
        if os.environ.get("TT_RUN_REQUIRE_CLIENTS"):
            pytest.fail(reason)
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("packages")
    for name in ("tt_run", "mgd", "configs"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def run(program: str, packages: Path, folder: Path, *words: str, **environment: str) -> dict[str, Any]:
    """What a program found, such as what it measured of each model, from its last line."""
    done = subprocess.run(
        ["timeout", "-k", "5", "120", str(PYTHON), "-m", "tt_run.emulate", *words, str(PROGRAMS / program)],
        env={**os.environ, "PYTHONPATH": str(packages), **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_torch_ttnn_compiles_models(packages: Path, tmp_path: Path) -> None:
    found = run("torch_ttnn_models.py", packages, tmp_path)
    assert set(found) == {"mlp", "bert", "gpt2", "opt", "llama", "vit", "resnet"}
    assert min(found.values()) > 0.999, found


def test_tt_symbiote_takes_the_place_of_modules(packages: Path, tmp_path: Path) -> None:
    # Its norms and activations run only where it takes the machine for a T3000, whatever mesh is open.
    found = run("symbiote_models.py", packages, tmp_path, MESH_DEVICE="T3K")
    assert set(found) == {"bert", "llama", "vit", "resnet", "convolution"}
    assert min(found.values()) > 0.999, found


def test_tt_symbiote_cuts_layers_over_eight_devices(packages: Path, tmp_path: Path) -> None:
    found = run("symbiote_mesh.py", packages, tmp_path, "--system", "t3k", MESH_DEVICE="T3K")
    assert set(found) == {"attention", "experts", "embedding_and_norm"}
    assert min(found.values()) > 0.999, found


def test_tt_symbiote_denoises_actions(packages: Path, tmp_path: Path) -> None:
    # A module runs eagerly at first, then it is captured and played.
    words = {"MESH_DEVICE": "P150", "TT_SYMBIOTE_RUN_MODE": "TRACED"}
    found = run("symbiote_policy.py", packages, tmp_path, "--system", "p150", **words)
    assert set(found) == {"first", "second"}
    assert min(found.values()) > 0.999, found


def test_tt_bio_computes_its_models_and_gradients(packages: Path, tmp_path: Path) -> None:
    # Its programs are for the 110 cores of a Blackhole; attention refuses more of them than there are.
    found = run("bio_models.py", packages, tmp_path, "--system", "p150")
    assert set(found) == {"structure", "evoformer", "language", "gradients"}
    assert min(found.values()) > 0.999, found


@pytest.mark.parametrize("system", ["n150", "t3k"])
def test_tt_check_finds_a_system_ready(packages: Path, tmp_path: Path, system: str) -> None:
    tool = tmp_path / "tt-smi"  # the package asks it for boards
    tool.write_text(
        """#!/bin/sh\n[ "$1" = -r ] || echo '{"device_info": [{"board_info": {"board_type": "n300"}}]}'\n"""
    )
    tool.chmod(0o755)
    words = ["--runs", "2", "--activation-width-per-device", "64", "--prefill-rows", "64", "--json"]
    emulated = ["-m", "tt_run.emulate", "--system", system, "-c"]
    done = subprocess.run(
        [
            *("timeout", "-k", "5", "120", str(PYTHON), *emulated),
            f"from tt_check.cli import _parse_args, run_check; import json; print(json.dumps(run_check(_parse_args({words!r}))))",
        ],
        env={**os.environ, "PYTHONPATH": str(packages), "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["status"] == "pass"


def test_ttnn_visualizer_reads_a_report(packages: Path, tmp_path: Path) -> None:
    found = run("visualizer_reads.py", packages, tmp_path)
    assert found == {
        "operations": ["ttnn.add", "ttnn.to_memory_config", "ttnn.deallocate"],
        "arguments": 5,
        "lines": ["19", "19", "20"],
        "tensors": 3,
        "layouts": [0, 2],
        "cores": [[0, 0], [0, 1]],
        "devices": [8],
        "sources": ["visualizer_reads.py"],
        "errors": 0,
    }


def test_tt_perf_report_reads_predicted_operations(packages: Path, tmp_path: Path) -> None:
    words = ("--emulate", "--system", "n300", "--split", "1x2", "--predict=ops.csv", sys.executable)
    tt_run(*words, PROGRAMS / "perf_report_reads.py", cwd=tmp_path, timeout=120).check()
    read = [str(PYTHON.with_name("tt-perf-report")), "ops.csv", "--csv", "read.csv", "--no-color"]
    done = subprocess.run(
        ["timeout", "-k", "5", "120", *read], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with (tmp_path / "read.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    products = [row for row in rows if row["OP Code"] == "MatmulDeviceOperation 128 x 1024 x 1024"]
    assert len(products) == 2 and all(float(row["FLOPs %"]) > 0 for row in products), done.stdout
    assert "Merging device data" in done.stdout
