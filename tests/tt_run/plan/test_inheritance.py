"""One rule for what all ranks of a job see of the launching shell, and nothing secret in what is shown."""

from __future__ import annotations

import itertools
import json

import pytest

from tests.tt_run.sandbox import Sandbox, codes, only
from tt_run.errors import UsageError
from tt_run.inputs.secrets import MASK, is_secret, masked
from tt_run.launch.line import build_mpmd_line
from tt_run.launch.machine import Machine
from tt_run.launch.mpirun import Launcher
from tt_run.launch.options import LaunchOptions
from tt_run.plan.render import environment_of, environment_view, plan_json

TWO_HOSTS = {"hosts": "vm:1,other:1"}


@pytest.fixture
def shell(sandbox: Sandbox) -> Sandbox:
    sandbox.two_ranks()
    sandbox.set(DATASETS="/data", HF_TOKEN="hf_123", SSH_CONNECTION="a b", TT_MESH_ID="9", PWD="/x")
    return sandbox


@pytest.mark.parametrize("hosts", [{}, {"hosts": "vm:2"}, {"hosts": "localhost:1,vm:1"}])
def test_on_this_machine_ranks_see_the_shell_and_the_plan(shell: Sandbox, hosts: dict[str, str]) -> None:
    plan = shell.plan(**hosts)
    seen = environment_of(plan, 1)
    assert (seen["DATASETS"].value, seen["DATASETS"].origin) == ("/data", "shell")
    assert seen["TT_MESH_ID"].value == "0", "the plan has the last word"
    assert "PWD" not in seen and not plan.is_exact


@pytest.mark.parametrize(
    "asked", [TWO_HOSTS, {"clean_env": True}, {**TWO_HOSTS, "clean_env": True}, {"hosts": "vm:2,other:1"}]
)
def test_elsewhere_or_when_asked_for_they_see_the_plan_alone(
    shell: Sandbox, asked: dict[str, object]
) -> None:
    plan = shell.plan(**asked)
    assert plan.is_exact and not plan.inherited
    assert plan_json(plan, "mpirun")["environment"] == "the plan alone"
    assert "DATASETS" not in environment_of(plan, 0)
    assert environment_view(plan, 0).endswith("# nothing else, besides what MPI tells a rank")


def test_the_shell_is_sent_along_when_asked_for(shell: Sandbox) -> None:
    plan = shell.plan(**TWO_HOSTS, inherit_env=True)
    seen = environment_of(plan, 0)
    assert seen["DATASETS"].origin == "shell, sent along" and plan.is_exact
    assert "SSH_CONNECTION" not in seen, "it belongs to this machine"


def test_what_mpirun_is_asked_to_export_is_part_of_the_plan(shell: Sandbox) -> None:
    plan = shell.plan(**TWO_HOSTS, mpi_args="-x DATASETS -x LEVEL=3 -x GONE")
    seen = environment_of(plan, 1)
    assert seen["DATASETS"].origin == "-x DATASETS of --mpi-args"
    assert seen["LEVEL"].value == "3" and "GONE" not in seen


def test_both_rules_at_once(shell: Sandbox) -> None:
    assert codes(shell.refusal(UsageError, clean_env=True, inherit_env=True)) == ["TTR025"]


def test_a_variable_that_the_program_reads_and_that_stays_behind(shell: Sandbox) -> None:
    shell.write("train.py", "import loader\n")
    shell.write("loader.py", 'import os\n\nROOT = os.environ["DATASETS"]\nPATH = os.environ["PATH"]\n')
    program = ("sh", "train.py")
    found = only(shell.plan(**TWO_HOSTS, program=program).findings, "TTR224")
    assert found.message.startswith("DATASETS ")
    assert str(found.position) == "loader.py:3:20"
    assert "-x DATASETS" in found.help
    assert "TTR224" not in codes(shell.plan(**TWO_HOSTS, program=program, inherit_env=True).findings)
    assert "TTR224" not in codes(shell.plan(program=program).findings)


def test_what_is_exported_or_mpis_own_does_not_stay_behind(shell: Sandbox) -> None:
    """A program that reads such variables finds them on another machine too, so nothing is told of them."""
    names = ("DATASETS", "OMPI_X", "SLURM_NNODES")
    shell.write("train.py", "import os\n\n" + "".join(f'os.environ["{name}"]\n' for name in names))
    shell.set(OMPI_X="1", SLURM_NNODES="2")
    words = {**TWO_HOSTS, "program": ("sh", "train.py")}
    told = only(shell.plan(**words).findings, "TTR224").message
    assert [name for name in names if name in told] == ["DATASETS"]
    assert "TTR224" not in codes(shell.plan(**words, mpi_args="-x DATASETS").findings)


def test_secrets_are_shown_to_nobody(shell: Sandbox) -> None:
    shell.set(TT_API_KEY="key_456", TT_URL="https://me:pass_789@host/x")
    plan = shell.plan()
    line = build_mpmd_line(
        plan, Launcher("mpirun", ""), Machine(shell.site.environ), LaunchOptions(), shell.cwd
    )
    assert plan_json(plan, "mpirun")["environment"] == "the plan and the launching shell"
    shown = [environment_view(plan, 0), json.dumps(plan_json(plan, "mpirun")), *line.shell_lines()]
    for text in shown[:2]:
        assert MASK in text and "hf_123" not in text
    lines = shown[0].splitlines()
    marked = {
        line.split("=")[0] for note, line in itertools.pairwise(lines) if note.endswith(", masked here")
    }
    assert {"HF_TOKEN", "TT_API_KEY", "TT_URL"} <= marked and "DATASETS" not in marked
    assert not [text for text in shown if "key_456" in text or "pass_789" in text]
    assert " -x TT_API_KEY " in line.shell_lines()[0], "mpirun takes it from the shell"
    assert environment_of(plan, 0)["HF_TOKEN"].value == "hf_123"


def test_words_for_mpirun_are_masked_too(shell: Sandbox) -> None:
    plan = shell.plan(mpi_args="-x MY_TOKEN=abc_1 -x LEVEL=3")
    words = ["mpirun", *plan.mpi_args]
    assert plan_json(plan, "mpirun", words)["command"] == [
        *("mpirun", "-x", f"MY_TOKEN={MASK}", "-x", "LEVEL=3")
    ]
    assert "abc_1" not in json.dumps(plan_json(plan, "mpirun", words, plan.mpi_args))


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("HF_TOKEN", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("WANDB_API_KEY", True),
        ("DB_PASSWORD", True),
        ("APIKEY", True),
        ("MAX_TOKENS", False),
        ("TOKENIZERS_PARALLELISM", False),
        ("SSH_AUTH_SOCK", False),
        ("KEYBOARD", False),
        ("AUTHOR", False),
        ("PWD", False),
    ],
)
def test_what_looks_like_a_secret(name: str, secret: bool) -> None:
    assert is_secret(name) is secret
    assert masked(name, "") == ""


@pytest.mark.parametrize(
    "asked",
    [{"hosts": "../../x:2"}, {"hosts": "..:2"}, {"mpi_args": "--host a/b:2"}, {"hosts": "a\\b:2"}],
)
def test_host_names_that_climb_folders(shell: Sandbox, asked: dict[str, str]) -> None:
    [found] = shell.refusal(UsageError, **asked)
    assert found.code == "TTR015" and "is a path, not a host" in found.message


def test_host_names_that_climb_folders_in_files(shell: Sandbox) -> None:
    shell.write("rf", "rank 0=../../x slot=0\nrank 1=a slot=0\n")
    assert "TTR116" in codes(shell.refusal(mpi_args="--rankfile rf"))
    shell.write("hf", "../../x slots=2\n")
    assert "TTR120" in codes(shell.refusal(mpi_args="--hostfile hf"))
