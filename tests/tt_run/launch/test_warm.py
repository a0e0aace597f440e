"""When the ranks of a host are forked from one process, and what that process imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tt_run.launch.conftest import plan_of
from tt_run.inputs.environment import EnvVar
from tt_run.launch.options import WARM_FROM, LaunchOptions
from tt_run.launch.warm import warm_modules
from tt_run.plan.model import LaunchPlan

AUTOMATIC = LaunchOptions()
ASKED = LaunchOptions(warm="torch, transformers")


def plan(cwd: Path, *words: str, ranks: int = WARM_FROM) -> LaunchPlan:
    return plan_of(*[words] * ranks, cwd=cwd)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "__init__.py").write_text("from transformers import AutoModel, GPT2Config as C\n")
    (tmp_path / "train.py").write_text(
        "import os, torch as t\nimport model\nif os:\n    from scipy.linalg import svd\nimport requests, mpi4py.MPI\n"
    )
    return tmp_path


FOUND = {"torch", "transformers:AutoModel,GPT2Config", "scipy.linalg:svd"}


@pytest.mark.parametrize(
    "words",
    [
        ("train.py", "a"),
        ("-u", "train.py"),
        ("-m", "train"),
        (
            "-c",
            "import torch\nimport model\nfrom scipy.linalg import svd\nfrom transformers import GPT2Config, AutoModel",
        ),
    ],
)
def test_what_the_program_imports_is_found(program: Path, words: tuple[str, ...]) -> None:
    assert set(warm_modules(plan(program, sys.executable, *words), AUTOMATIC).split()) == FOUND


def test_few_ranks_are_started_by_themselves_unless_asked(program: Path) -> None:
    few = plan(program, sys.executable, "train.py", ranks=WARM_FROM - 1)
    assert warm_modules(few, AUTOMATIC) == ""
    assert warm_modules(few, ASKED) == "torch transformers"


def test_off_is_off(program: Path) -> None:
    assert (
        warm_modules(plan(program, sys.executable, "train.py"), LaunchOptions(warm="torch", no_warm=True))
        == ""
    )


@pytest.mark.parametrize(
    "words",
    [
        ("sh", "run.sh"),
        (sys.executable,),
        (sys.executable, "-S", "train.py"),
        (sys.executable, "-E", "train.py"),
        (sys.executable, "-I", "train.py"),
        (sys.executable, "-i", "train.py"),
        (sys.executable, "-X", "importtime", "train.py"),
        ("no-such-folder/python3", "train.py"),
        ("./python", "train.py"),
    ],
)
def test_only_a_python_that_loads_the_hook(program: Path, words: tuple[str, ...]) -> None:
    script = program / "python"
    script.write_text("#!/bin/sh\nexec other\n")
    script.chmod(0o755)
    assert warm_modules(plan(program, *words), ASKED) == ""


def test_a_name_without_a_folder_is_looked_up_as_the_shell_does(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Path(sys.executable)
    script = program / own.name
    script.write_text("#!/bin/sh\nexec other\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(own.parent))
    assert warm_modules(plan(program, own.name, "train.py"), ASKED) == "torch transformers"
    monkeypatch.setenv("PATH", str(program))
    assert warm_modules(plan(program, own.name, "train.py"), ASKED) == ""


@pytest.mark.parametrize(("name", "same"), [("TT_MESH_ID", True), ("OMP_NUM_THREADS", False)])
def test_ranks_that_differ_in_more_than_their_places_are_started_by_themselves(
    program: Path, name: str, same: bool
) -> None:
    from mgd.lean import replace

    made = plan(program, sys.executable, "train.py")
    other = replace(made.ranks[1], env={name: EnvVar("7", "test")})
    made = replace(made, ranks=(made.ranks[0], other, *made.ranks[2:]))
    assert bool(warm_modules(made, ASKED)) is same


NO_SECOND_FORK = """
import os, sys
from tt_run.launch import warm_client
fork, made = os.fork, []
def limited():
    made.append(0)
    if len(made) == 2:
        raise BlockingIOError(11, "Resource temporarily unavailable")
    return fork()
os.fork, warm_client.PATIENCE = limited, 0.1
print("stand-in", warm_client.connected("\\0tt-run-no-second-fork-%d" % os.getpid(), [sys.executable, "-c", ""]))
"""


def test_without_room_for_a_warm_process_the_stand_in_goes_on_alone() -> None:
    """Its child went on in its place, while it waited for that for ever."""
    words = ["timeout", "-k", "1", "20", sys.executable, "-c", NO_SECOND_FORK]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    assert ran.stdout == "stand-in None\n"
