"""Every form of parallelism trains the same model: one device, data, tensor, both, pipeline; and any split over ranks gives the same bits."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

from tests.e2e.launch import tt_run

PROGRAM = Path(__file__).parent / "programs" / "forms.py"
TOLERANCE = 1e-5  # relative, float32 after 8 steps


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forms")


@functools.cache
def trained(
    folder: Path, words: tuple[str, ...], form: str, optimizer: str
) -> tuple[list[float], dict[str, np.ndarray]]:
    """(losses, whole parameters by name) of a run under `tt-run --emulate WORDS`."""
    target = folder / "-".join((form, optimizer, *words)).replace("/", "_")
    ran = tt_run("--emulate", *words, "python", PROGRAM, form, optimizer, target, timeout=110).check()
    losses = [float(value) for value in ran.field("loss")]
    arrays: dict[str, np.ndarray] = {}
    for file in folder.glob(f"{target.name}.*.npz"):
        with np.load(file) as stored:
            arrays.update({name: stored[name] for name in stored.files})
    return losses, arrays


def assert_same_training(folder: Path, words: tuple[str, ...], form: str, optimizer: str) -> None:
    losses, arrays = trained(folder, words, form, optimizer)
    expected_losses, expected = trained(folder, ("--system", "n150"), "single", optimizer)
    assert len(losses) == 8
    np.testing.assert_allclose(losses, expected_losses, rtol=TOLERANCE)
    assert sorted(arrays) == sorted(expected)
    for name, array in arrays.items():
        whole = expected[name]
        assert np.linalg.norm(array - whole) <= TOLERANCE * np.linalg.norm(whole), name


@pytest.mark.parametrize("optimizer", ["sgd", pytest.param("adamw", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("words", "form"),
    [
        pytest.param(("--system", "n300"), "ddp", id="ddp2", marks=pytest.mark.slow),
        pytest.param(("--system", "n300-x2"), "ddp", id="ddp4", marks=pytest.mark.slow),
        pytest.param(("--system", "loudbox"), "ddp", id="ddp8", marks=pytest.mark.wide),
        pytest.param(("--system", "n300"), "tp", id="tp2", marks=pytest.mark.slow),
        pytest.param(("--system", "n300-x2"), "tp", id="tp4", marks=pytest.mark.slow),
        pytest.param(("--system", "loudbox"), "tp", id="tp8", marks=pytest.mark.wide),
        pytest.param(("--system", "t3000"), "ddp_tp", id="ddp2-tp4", marks=pytest.mark.wide),
        pytest.param(("--system", "n150", "--meshes", "2"), "pp", id="pp2", marks=pytest.mark.slow),
        pytest.param(("--system", "n150", "--meshes", "4"), "pp", id="pp4", marks=pytest.mark.wide),
        pytest.param(("--system", "n300", "--meshes", "2"), "pp_tp", id="pp2-tp2", marks=pytest.mark.wide),
        pytest.param(
            ("--system", "n300", "--meshes", "2"),
            "halves_pp_sp",
            id="pp2-sp2-in-halves",
            marks=pytest.mark.wide,
        ),
        pytest.param(
            ("--system", "n300", "--meshes", "2"),
            "halves_pp_fsdp",
            id="pp2-fsdp2-in-halves",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ("--system", "n300", "--meshes", "2"), "pp_fsdp", id="pp2-fsdp2", marks=pytest.mark.wide
        ),
        pytest.param(("--system", "n300", "--meshes", "2"), "pp_sp", id="pp2-sp2", marks=pytest.mark.wide),
        pytest.param(("--system", "n300", "--meshes", "2"), "pp_cp", id="pp2-cp2", marks=pytest.mark.slow),
        pytest.param(
            ("--system", "n300", "--meshes", "2"),
            "pp_zigzag_cp",
            id="pp2-zigzag2",
            marks=pytest.mark.slow,
        ),
        pytest.param(("--system", "n300", "--meshes", "2"), "pp_ddp", id="pp2-ddp2", marks=pytest.mark.slow),
        pytest.param(
            ("--system", "t3000", "--meshes", "2"), "pp_ddp_tp", id="pp2-ddp2-tp4", marks=pytest.mark.wide
        ),
    ],
)
def test_every_form_equals_one_device(
    folder: Path, words: tuple[str, ...], form: str, optimizer: str
) -> None:
    assert_same_training(folder, words, form, optimizer)


@pytest.mark.wide
def test_a_stage_that_several_ranks_share_is_told(folder: Path) -> None:
    """A pipeline passes activations from rank to rank: two ranks of one mesh would wait for each other."""
    words = ("--emulate", "--system", "n300", "--meshes", "2", "--split", "1x2")
    ran = tt_run(*words, "python", PROGRAM, "pp_tp", "sgd", folder / "shared", timeout=110)
    assert ran.code == 1
    assert "a stage of a pipeline is one rank, but ranks 0, 1 share the mesh of this one" in ran.out + ran.err
    assert "help: one rank for each mesh" in ran.out + ran.err


@pytest.mark.parametrize(
    ("whole", "split", "form"),
    [
        pytest.param("loudbox", "1x2", "ddp_drop", id="ddp8-dropout-bfloat16-over-2", marks=pytest.mark.wide),
        pytest.param("loudbox", "1x2", "tp", id="tp8-over-2", marks=pytest.mark.wide),
        pytest.param("loudbox", "1x4", "tp", id="tp8-over-4", marks=pytest.mark.slow),
        pytest.param("t3000", "2x1", "ddp_tp", id="ddp2-tp4-over-2"),
        pytest.param("loudbox", "1x2", "fsdp", id="fsdp8-over-2", marks=pytest.mark.slow),
        pytest.param("loudbox", "1x4", "fsdp", id="fsdp8-over-4", marks=pytest.mark.slow),
        pytest.param("loudbox", "1x2", "tp_sp", id="sp8-over-2", marks=pytest.mark.slow),
        pytest.param("loudbox", "1x4", "tp_sp", id="sp8-over-4", marks=pytest.mark.slow),
        pytest.param("loudbox", "1x2", "cp", id="cp8-over-2", marks=pytest.mark.slow),
        pytest.param("loudbox", "1x4", "cp", id="cp8-over-4", marks=pytest.mark.slow),
        pytest.param("loudbox", "1x4", "zigzag_cp", id="zigzag8-over-4", marks=pytest.mark.slow),
        pytest.param("t3000", "2x1", "zigzag_cp_tp", id="zigzag2-tp4-over-2", marks=pytest.mark.wide),
    ],
)
def test_any_split_over_ranks_gives_the_same_bits(folder: Path, whole: str, split: str, form: str) -> None:
    losses, arrays = trained(folder, ("--system", whole), form, "sgd")
    cut_losses, cut = trained(folder, ("--system", whole, "--split", split), form, "sgd")
    # Every rank prints the loss; each of them must be the same number.
    ranks = len(cut_losses) // len(losses)
    assert sorted(cut_losses) == sorted(losses * ranks)
    for name, array in arrays.items():
        assert array.tobytes() == cut[name].tobytes(), name
