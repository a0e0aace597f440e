"""The multi-host examples with 2, 4 and 5 ranks: they finish, they compute what one device computes, and mistakes end at once."""

from __future__ import annotations

import functools
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.e2e.launch import ROOT, Ran, environment, tt_run
from tests.sweep import sweep
from tt_run.runtime.train.common.checkpoints import load

EXAMPLES = ROOT / "examples" / "multihost"
HIERARCHICAL = EXAMPLES / "hierarchical_parallel"
PIPELINE = EXAMPLES / "pipeline_parallel_training"
ONE_DEVICE = ROOT / "tests" / "runtime" / "train" / "programs" / "one_device.py"
SHIPPED = ROOT / "configs" / "training"
STEPS, BATCH, WORKERS = 4, 12, 3
TOLERANCE = 1e-5  # relative, float32 after these steps; SGD, which hides no factor


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("multihost")


def config(folder: Path, name: str, **changes: object) -> Path:
    """A shipped training configuration in float32 with SGD, changed; its model has two blocks for each of two stages."""
    document = yaml.safe_load((SHIPPED / "training_configs" / f"{name}.yaml").read_text())
    training = document["training_config"]
    training.update(arithmetic="float32", batch_size=BATCH, max_steps=STEPS)
    training["optimizer"] = {"type": "SGD", "lr": 0.2, "momentum": 0.9}
    training.update(changes)
    target = folder / f"{name}-{'-'.join(f'{v}'.replace('/', '_') for v in changes.values())}.yaml"
    target.write_text(yaml.safe_dump(document))
    return target


@functools.cache
def trained(folder: Path, form: str) -> dict[str, np.ndarray]:
    """Final parameters by name without the root, of `one-<batch>`, 2tier, 3tier, pp2 or pp4."""
    out = folder / form
    if form.startswith("one"):
        batch = form.split("-")[1]
        path = config(folder, "tiny_2tier")
        tt_run(
            "--emulate", "--system", "n150", "python", ONE_DEVICE, path, batch, STEPS, out, timeout=110
        ).check()
    elif form.endswith("tier"):
        path = config(folder, f"tiny_{form}")
        words = ("--emulate", "--system", "n150", "--meshes", "4" if form == "2tier" else "5", "python")
        ran = tt_run(*words, HIERARCHICAL / "training.py", "-c", path, "--save", out, timeout=110).check()
        assert ran.out.count("Finished") == (4 if form == "2tier" else 5)
        assert f"Running as worker ({form[0]}-tier mode)" in ran.out
    else:
        path = config(folder, "tiny_pp", multihost_config=f"multihost_configs/pipeline_{form[-1]}.yaml")
        words = ("--emulate", "--system", "n150", "--meshes", form[-1], "python")
        ran = tt_run(*words, PIPELINE / "training.py", "-c", path, "--save", out, timeout=110).check()
        assert ran.out.count("Finished") == int(form[-1])
    found: dict[str, np.ndarray] = {}
    for file in sorted(folder.glob(f"{form}*.npz")):
        found.update({name.split("/", 1)[1]: array for name, array in load(file).parameters.items()})
    return found


@pytest.mark.wide
@pytest.mark.parametrize(
    ("form", "reference"),
    [
        ("2tier", f"one-{WORKERS * BATCH}"),
        ("3tier", f"one-{WORKERS * BATCH}"),
        ("pp2", f"one-{BATCH}"),
        pytest.param("pp4", f"one-{BATCH}", marks=pytest.mark.slow),
    ],
)
def test_several_hosts_equal_one_device(folder: Path, form: str, reference: str) -> None:
    found, expected = trained(folder, form), trained(folder, reference)
    assert sorted(found) == sorted(expected)
    for name, array in found.items():
        assert np.linalg.norm(array - expected[name]) <= TOLERANCE * np.linalg.norm(expected[name]), name


def runner(example: str, *words: str, timeout: float = 100) -> Ran:
    """`runner.sh` of an example, with this Python's scripts first on the path."""
    ran = subprocess.run(
        ["timeout", "-k", "5", str(timeout), "bash", str(EXAMPLES / example / "runner.sh"), *words],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def test_minimal_example_by_its_runner() -> None:
    ran = runner("fabric_minimal_example", "--emulate").check()
    assert "sum over ranks: 3.0 on all 8 devices" in ran.out
    assert "sum over ranks and devices: 24.0 on all 8 devices" in ran.out
    assert ran.out.count("Finished") == 2


@pytest.mark.wide
def test_minimal_example_on_the_mesh_of_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "four.yaml").write_text("device_config:\n  mesh_shape: [1, 4]\n")
    hosts = EXAMPLES / "fabric_minimal_example" / "configurations" / "2loudboxes" / "hosts.txt"
    words = (
        "--emulate",
        "--hostfile",
        str(hosts),
        "--config",
        str(tmp_path / "four.yaml"),
    )
    ran = runner("fabric_minimal_example", *words).check()
    assert "sum over ranks and devices: 12.0 on all 4 devices" in ran.out
    assert "--hostfile and --sync are not used" in ran.err
    assert (
        "absent.yaml not found"
        in runner("fabric_minimal_example", "--emulate", "--config", "absent.yaml").err
    )


@pytest.mark.wide
@pytest.mark.parametrize(
    ("program", "ranks", "name", "hosts"),
    [
        pytest.param("fabric_minimal_example/example.py", 5, "tiny_ddp", None, id="minimal-5"),
        pytest.param(
            "hierarchical_parallel/training.py", 2, "tiny_2tier", "2tier_1worker", id="hierarchical-2"
        ),
        pytest.param("pipeline_parallel_training/training.py", 4, "tiny_pp", "pipeline_4", id="pipeline-4"),
        pytest.param("pipeline_parallel_training/training.py", 5, "tiny_pp5", "pipeline_5", id="pipeline-5"),
    ],
)
def test_examples_on_other_numbers_of_ranks(
    folder: Path, tmp_path: Path, program: str, ranks: int, name: str, hosts: str | None
) -> None:
    changes = {"max_steps": 2, **({"multihost_config": f"multihost_configs/{hosts}.yaml"} if hosts else {})}
    system = "loudbox" if hosts is None else "n150"
    ledger = tmp_path / "ledger.json"
    words = ("--emulate", "--system", system, "--meshes", str(ranks), "--ledger", ledger)
    ran = tt_run(
        *words, "python", EXAMPLES / program, "-c", config(folder, name, **changes), timeout=110
    ).check()
    assert ran.out.count("Finished") == ranks
    assert ("Loss = " if hosts else f"sum over ranks: {ranks * (ranks + 1) / 2} on all 8 devices") in ran.out
    (stream,) = json.loads(ledger.read_text())["streams"]
    assert stream["name"] == "SocketManager.send"
    if hosts is None:
        # A row of 1024 bfloat16 numbers takes 32 tiles; each of eight devices sends it, of every rank but the first.
        assert (stream["messages"], stream["bytes"]) == (8 * (ranks - 1), 8 * (ranks - 1) * 32 * 32 * 32 * 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "ranks", "setup"),
    [
        ("hierarchical_parallel", 4, "4loudboxes"),
        ("hierarchical_parallel", 5, "5loudboxes"),
        ("pipeline_parallel_training", 2, "2loudboxes"),
        ("pipeline_parallel_training", 4, "4loudboxes"),
    ],
)
def test_examples_by_their_runners(folder: Path, example: str, ranks: int, setup: str) -> None:
    name = {"hierarchical_parallel": f"tiny_{ranks - 2}tier"}.get(example, "tiny_pp")
    changes = {"max_steps": 3}
    if example.startswith("pipeline"):
        changes["multihost_config"] = f"multihost_configs/pipeline_{ranks}.yaml"
    bindings = EXAMPLES / example / "configurations" / setup / "rank_bindings.yaml"
    path = config(folder, name, **changes)
    ran = runner(example, "--emulate", "--config", str(path), "--rank-bindings", str(bindings)).check()
    assert ran.out.count("Finished") == ranks
    assert "Loss = " in ran.out


@pytest.mark.parametrize(
    "example", ["fabric_minimal_example", "hierarchical_parallel", "pipeline_parallel_training"]
)
def test_runners_refuse_what_they_do_not_know(example: str) -> None:
    ran = runner(example, "--nonsense", timeout=20)
    assert ran.code == 1
    assert "Unknown argument: --nonsense" in ran.err


MISTAKES = {
    "a missing rank": (
        3,
        HIERARCHICAL,
        "tiny_2tier",
        (),
        "3 workers need 4 ranks (2-tier) or 5 (3-tier), the job has 3",
    ),
    "another role": (
        4,
        HIERARCHICAL,
        "tiny_2tier",
        ("--worker-type", "worker"),
        "rank 3 of 4 is the aggregator_optimizer, not the worker",
    ),
    "too few stages": (
        2,
        PIPELINE,
        "tiny_pp",
        (),
        "blocks_per_rank names ranks [0, 1, 2, 3], the job has 2 ranks",
    ),
}


@pytest.mark.wide
@pytest.mark.parametrize("mistake", sweep(MISTAKES, quick=["a missing rank"]))
def test_mistakes_are_named_at_once(folder: Path, mistake: str) -> None:
    ranks, example, name, words, text = MISTAKES[mistake]
    path = config(folder, name)
    start = ("--emulate", "--system", "n150", "--meshes", str(ranks), "python")
    ran = tt_run(*start, example / "training.py", "-c", path, *words, timeout=50)
    assert ran.code not in (0, 124, 137)
    assert text in ran.out + ran.err


UNLINKED = """
mesh_descriptors {
  name: "M0" arch: WORMHOLE_B0
  device_topology { dims: [ 1, 1 ] } host_topology { dims: [ 1, 1 ] } channels { count: 1 }
}
graph_descriptors {
  name: "G0" type: "FABRIC"
  instances { mesh { mesh_descriptor: "M0" mesh_id: 0 } }
  instances { mesh { mesh_descriptor: "M0" mesh_id: 1 } }
}
top_level_instance { graph { graph_descriptor: "G0" graph_id: 0 } }
"""


@pytest.mark.wide
def test_a_stage_without_link_is_named(folder: Path) -> None:
    (folder / "unlinked.textproto").write_text(UNLINKED)
    bindings = folder / "bindings.yaml"
    ranks = [{"rank": r, "mesh_id": r, "mesh_host_rank": 0} for r in range(2)]
    bindings.write_text(
        yaml.safe_dump({"rank_bindings": ranks, "mesh_graph_desc_path": str(folder / "unlinked.textproto")})
    )
    path = config(folder, "tiny_pp", multihost_config="multihost_configs/pipeline_2.yaml")
    ran = tt_run(
        "--emulate",
        "--rank-binding",
        bindings,
        "--check",
        "off",
        "python",
        PIPELINE / "training.py",
        "-c",
        path,
        timeout=50,
    )
    assert ran.code not in (0, 124, 137)
    assert "no links connect ranks 0 and 1 (meshes 0 and 1)" in ran.out + ran.err


@pytest.mark.wide
def test_a_frozen_parameter_travels_as_zeros(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, ttml\n"
        "context = ttml.autograd.AutoContext.get_instance()\n"
        "context.initialize_distributed_context()\n"
        "context.initialize_socket_manager(ttml.core.distributed.SocketType.MPI)\n"
        "context.open_device()\n"
        "frozen, used = (ttml.autograd.Tensor.from_numpy(np.full((1, 1, 1, 8), 3.0, np.float32)) for _ in range(2))\n"
        "frozen.set_requires_grad(False)\n"
        "if context.get_distributed_context().rank() == 0:\n"
        "    remote = ttml.optimizers.RemoteOptimizer({'frozen': frozen, 'used': used}, 1)\n"
        "    ttml.ops.unary.mean(used).backward()\n"
        "    remote.step()\n"
        "    print('weights', frozen.to_numpy().sum(), used.to_numpy().sum())\n"
        "else:\n"
        "    group, sockets = context.get_distributed_context().create_sub_context([0, 1]), context.get_socket_manager()\n"
        "    for tensor in (frozen, used):\n"
        "        sockets.recv(tensor, group, 0, use_grad=True)\n"
        "        print('slope', float(tensor.get_grad().to_numpy().sum()))\n"
        "    for tensor in (frozen, used):\n"
        "        sockets.send(tensor, group, 0)\n"
    )
    ran = tt_run("--emulate", "--system", "n150", "--meshes", "2", "python", program, timeout=50)
    assert ran.code == 0, ran.out + ran.err
    for line in ("slope 0.0", "slope 1.0", "weights 24.0 24.0"):
        assert line in ran.out, ran.out


@pytest.mark.wide
def test_a_parameter_without_gradient_is_named(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, ttml\n"
        "context = ttml.autograd.AutoContext.get_instance()\n"
        "context.initialize_distributed_context()\n"
        "context.initialize_socket_manager(ttml.core.distributed.SocketType.MPI)\n"
        "context.open_device()\n"
        "used, spare = (ttml.autograd.Tensor.from_numpy(np.ones((1, 1, 1, 8), np.float32)) for _ in range(2))\n"
        "if context.get_distributed_context().rank() == 0:\n"
        "    remote = ttml.optimizers.RemoteOptimizer({'used': used, 'spare': spare}, 1)\n"
        "    ttml.ops.unary.mean(used).backward()\n"
        "    remote.step()\n"
        "else:\n"
        "    group = context.get_distributed_context().create_sub_context([0, 1])\n"
        "    context.get_socket_manager().recv(used, group, 0)\n"
    )
    ran = tt_run("--emulate", "--system", "n150", "--meshes", "2", "python", program, timeout=50)
    assert ran.code not in (0, 124, 137)
    assert "RemoteOptimizer: no gradient for spare" in ran.out + ran.err
