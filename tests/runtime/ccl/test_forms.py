"""The experimental forms: values, the same bits on any split, each by its own name before the guard and booked in the ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.runtime.ccl.here import Digests, digests, here
from tests.runtime.mpi import ROOT, mpirun, run_ranks
from tests.sweep import sweep
from tt_run.runtime import catalog
from tt_run.runtime.ops.declaration import families

PROGRAM = Path(__file__).with_name("forms_program.py")
DESCRIPTORS = {
    2: "t3k_2x4_two_hosts.textproto",
    4: "t3k_2x4_four_hosts.textproto",
}

pytestmark = pytest.mark.skipif(mpirun() is None, reason="no mpirun beside this Python or in PATH")


def digests_over(ranks: int, *words: str, **env: str) -> Digests:
    descriptor = str(ROOT / "configs" / "mgd" / DESCRIPTORS[ranks])
    result = run_ranks(
        ranks, PROGRAM, *words, env={"TT_MESH_GRAPH_DESC_PATH": descriptor, **env}, timeout=90
    ).check()
    return digests(line for rank in result.ranks for line in rank.stdout.splitlines())


@pytest.fixture(scope="module")
def one_rank() -> Digests:
    """Of this process."""
    return digests(here(PROGRAM).splitlines())


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Digests, Path]:
    """And where what they exchanged is booked."""
    ledger = tmp_path_factory.mktemp("forms") / "ledger.json"
    return digests_over(2, TT_RUN_LEDGER=str(ledger)), ledger


def test_every_form_has_the_bits_of_one_rank(one_rank: Digests, two_ranks: tuple[Digests, Path]) -> None:
    assert two_ranks[0] == one_rank


@pytest.mark.wide
def test_four_ranks_give_the_same_bits(one_rank: Digests) -> None:
    assert digests_over(4) == one_rank


@pytest.mark.wide
def test_two_ranks_on_hosts_of_their_own_give_the_same_bits(one_rank: Digests) -> None:
    assert digests_over(2, "--apart") == one_rank


def test_every_form_is_booked(two_ranks: tuple[Digests, Path]) -> None:
    booked = {entry["name"]: entry for entry in json.loads(two_ranks[1].read_text())["collectives"]}
    assert {
        "all_gather",
        "all_gather_reversed",
        "all_reduce",
        "reduce_scatter",
        "all_to_all",
        "neighbor_pad",
        "slice_reshard",
        "all_to_all_dispatch_metadata",
        "deepseek_prefill.dispatch",
        "deepseek_prefill.combine",
        "moe_compute",
        "selective_reduce_combine",
    } <= set(booked)
    assert all(entry["bytes"] > 0 for entry in booked.values())


def test_the_program_calls_every_form() -> None:
    """What is declared as a collective is called here or in the program of the plain ones."""
    here = "".join(
        (PROGRAM.parent / name).read_text()
        for name in (
            "forms_program.py",
            "program.py",
            "test_asynchronous.py",
            "test_expert_offsets.py",
            "test_experts.py",
            "test_reduce_to_root.py",
        )
    )
    declared = [
        op.short_name
        for op in catalog.every().values()
        if op.family is families.COLLECTIVE and op.compute.__module__.startswith("tt_run.runtime.ccl.")
    ]
    unused = [
        name
        for name in declared
        if f"{name}(" not in here and f'.{name}")' not in here and "create_" not in name
    ]
    assert not unused, f"call these in {PROGRAM.name} and compare them with NumPy there: {unused}"
    assert len(declared) > 30


FORMS = {
    "all_gather": "ttnn.all_gather(x, 3, cluster_axis=1)",
    "all_gather_async": "E.all_gather_async(x, None, 3, s, cluster_axis=1)",
    "strided_all_gather_async": "E.strided_all_gather_async(x, None, 3, s, cluster_axis=1)",
    "all_gather_async_reversed": "E.all_gather_async_reversed(x, None, 3, s, cluster_axis=1)",
    "neighbor_pad_async": "E.neighbor_pad_async(rows, [2], [1], [1], 'zeros', [1], s, s)",
    "slice_reshard_async": "E.slice_reshard_async(rows, 0, 0, 4, 1, s, s)",
}
DIVERGE = """
import ttnn
E = ttnn.experimental
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
rank = int(ttnn.distributed_context_get_rank()) if ttnn.distributed_context_is_initialized() else 0
x = ttnn.zeros((1, 1, 32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
core = ttnn.CoreCoord(0, 0)
s = [ttnn.create_global_semaphore(mesh, ttnn.CoreRangeSet([ttnn.CoreRange(core, core)]), 0) for _ in range(2)]
rows = ttnn.zeros((1, 1, 32, 32), dtype=ttnn.bfloat16, layout=ttnn.ROW_MAJOR_LAYOUT, device=mesh)
ttnn.all_reduce(x)
if rank:
    OTHER
else:
    ONE
"""


@pytest.mark.parametrize(
    ("one", "other"),
    sweep(zip(FORMS, [*list(FORMS)[1:], next(iter(FORMS))], strict=True), quick=["all_gather"]),
)
def test_another_form_is_another_call(one: str, other: str) -> None:
    """On a cluster the kernels of two forms do not meet, though their values are the same."""
    program = DIVERGE.replace("ONE", FORMS[one]).replace("OTHER", FORMS[other])
    env = {"TT_MESH_GRAPH_DESC_PATH": str(ROOT / "configs" / "mgd" / DESCRIPTORS[2])}
    report = run_ranks(2, program, env=env, timeout=25).ranks[0].stderr
    assert "error[TTG001]: ranks 0 and 1 disagree on call 3: operation" in report
    assert f"{one}(" in report and f"{other}(" in report
