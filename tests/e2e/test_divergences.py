"""Ranks that do not do the same, as a user meets them: the launcher's verdict names code, ranks and both lines, and blames nobody else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.launch import tt_run
from tests.runtime.guard.beside_divergences import BESIDE, RIGHT_BESIDE
from tests.runtime.guard.divergences import DIVERGENCES, HEAD, SOCKETS, Divergence
from tests.runtime.guard.further_divergences import FURTHER
from tests.runtime.guard.further_odd_programs import FURTHER_ODD
from tests.runtime.guard.mpi_divergences import BY_MPI, MPI, RIGHT_BY_MPI
from tests.runtime.guard.odd_programs import CLOSE, ODD
from tests.runtime.guard.program_divergences import PROGRAMS
from tests.sweep import sweep

EVERY = {**DIVERGENCES, **FURTHER, **PROGRAMS, **BY_MPI, **BESIDE}
ALL_RIGHT = {**ODD, **FURTHER_ODD, **RIGHT_BY_MPI, **RIGHT_BESIDE}
SPLITS = {2: "1x2", 4: "1x4", 8: "2x4"}
# One of each family; all of them are the slow set.
SAMPLE = (
    "another topology",
    "an early end by SystemExit",
    "a tensor of another shape through a socket",
    "another root of MPI",
    "a message of MPI that is too long",
    "two copies of MPI's world in another order",
    "receives of MPI before sends",
    "a started sum by another operation",
    "receives of all in threads",
    "receives of all before they have met",
)


def check(folder: Path, divergence: Divergence, ranks: int) -> None:
    (folder / "program.py").write_text(divergence.source)
    words = ("--emulate", "--system", "t3000", "--split", SPLITS[ranks], *divergence.options)
    # Only a rank, or a message, that never comes costs the deadline.
    waits_in_vain = divergence.code == "TTG005" or divergence.at_deadline
    patience = {"TT_RUN_GUARD_TIMEOUT": "3" if waits_in_vain else "30"}
    ran = tt_run(*words, "python", "program.py", cwd=folder, env=patience, timeout=80)
    assert ran.code == divergence.exit_code, ran.err
    assert any(f"error[{code}]" in ran.err for code in divergence.code.split("|")), ran.err
    assert divergence.says in ran.err, ran.err
    for line in (*divergence.lines("here"), *divergence.lines("there")):
        assert re.search(rf"program\.py:{line}\b", ran.err), f"line {line}\n{ran.err}"
    verdict = [line for line in ran.err.splitlines() if line.startswith("tt-run: ")][-1]
    culprits = divergence.culprits(ranks)
    if len(culprits) == 1:
        assert verdict.startswith(f"tt-run: rank {culprits[0]} on "), ran.err
    elif culprits:
        assert verdict.startswith("tt-run: ranks 0-1 are at fault together: "), ran.err


@pytest.mark.parametrize("name", sweep(SAMPLE, quick=["another root of MPI"]))
def test_a_divergence_is_told(tmp_path: Path, name: str) -> None:
    check(tmp_path, EVERY[name], 2)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", SPLITS)
@pytest.mark.parametrize("name", EVERY)
def test_every_divergence_is_told(tmp_path: Path, name: str, ranks: int) -> None:
    if ranks == 8 and SOCKETS in EVERY[name].head:
        pytest.skip("its sockets lie between columns of the mesh, which two ranks share here")
    check(tmp_path, EVERY[name], ranks)


@pytest.mark.parametrize(
    "programs",
    [RIGHT_BY_MPI, RIGHT_BESIDE],
    ids=["in order", "beside it"],
)
@pytest.mark.wide
@pytest.mark.parametrize("ranks", [2, 4])
def test_right_calls_of_mpi_are_not_blamed(
    tmp_path: Path, programs: dict[str, tuple[str, tuple[str, ...]]], ranks: int
) -> None:
    start, end = HEAD + MPI, CLOSE
    bodies = [source.removeprefix(start).removesuffix(end) for source, _ in programs.values()]
    (tmp_path / "program.py").write_text(start + "\n".join(bodies) + end)
    words = ("--emulate", "--system", "t3000", "--split", SPLITS[ranks], "python", "program.py")
    assert "at fault" not in tt_run(*words, cwd=tmp_path, timeout=80).check().err


@pytest.mark.slow
@pytest.mark.parametrize("ranks", (2, 4))
@pytest.mark.parametrize("name", ALL_RIGHT)
def test_no_odd_but_right_program_is_blamed(tmp_path: Path, name: str, ranks: int) -> None:
    source, options = ALL_RIGHT[name]
    (tmp_path / "program.py").write_text(source)
    words = ("--emulate", "--system", "t3000", "--split", SPLITS[ranks], *options)
    ran = tt_run(*words, "python", "program.py", cwd=tmp_path, timeout=80).check()
    assert "at fault" not in ran.err and "GuardError" not in ran.err
