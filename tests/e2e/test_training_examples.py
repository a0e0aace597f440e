"""The training examples, as their first lines run them: each asserts what it shows, and where ranks differ the bits do not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.launch import tt_run

# Each is an example of the documents, and takes seconds.
pytestmark = pytest.mark.wide

FOLDER = "examples/training"
ALONE = {
    "lora_arithmetic": ("n150", "15 of 15 weights of the base model are as they were"),
    "qwen3_tiny": ("n150", "goes on as 3 4 5 6 0 1 2 3 4 5 6 0"),
    "llama_8b_shapes": ("galaxy", "195 parameters of 8.03 billion numbers"),
    "nanogpt_primitives": ("n150", "12 of 12 losses are those of the module"),
    "transformers": ("n300", "4 of 4 runs have learnt"),
    "digits": ("n300", "of 500 new pictures are recognised"),
    "dit_signs": ("n300", "4 of 4 signs are drawn"),
}


SLOW = ("lora_arithmetic", "dit_signs")


@pytest.mark.parametrize(
    "example", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in ALONE]
)
def test_an_example_shows_what_it_says(example: str) -> None:
    system, line = ALONE[example]
    words = ("--emulate", "--no-prefix", "--system", system, "python", f"{FOLDER}/{example}.py")
    assert line in tt_run(*words, timeout=100).check().out


RESTARTS = ("--emulate", "--no-prefix", "--system", "n300", "--split", "1x2", "--max-restarts", "3")


def test_faults_on_the_way_do_not_change_what_a_training_ends_with(tmp_path: Path) -> None:
    """Three faults, of which each ends a start of the run: every one goes on from the last checkpoint that both ranks have."""
    program = ("python", f"{FOLDER}/restarts.py")
    faults = ("kill=rank:1,op=all_reduce,nth=26", "exit=rank:0,op=all_reduce,nth=30,code=3", "raise=rank:1,op=all_reduce,nth=35")  # fmt: skip
    options = [f"--inject={fault}" for fault in faults]
    disturbed = tt_run(
        *RESTARTS, "--log-dir", tmp_path / "logs", *options, *program, tmp_path / "a", timeout=100
    )
    alone = tt_run(*RESTARTS, "--log-dir", tmp_path / "alone", *program, tmp_path / "b", timeout=100).check()
    assert disturbed.check().out.splitlines()[-1] == alone.out.splitlines()[-1]
    assert "parameters" in alone.out
    assert [f"at start {number} of 4" in disturbed.err for number in (1, 2, 3, 4)] == [
        True,
        True,
        True,
        False,
    ]
    assert "rank 0 goes on after step 16" in disturbed.out


@pytest.mark.slow
def test_random_faults_do_not_either() -> None:
    chaos = ("chaos", "--runs", "6", "--seed", "2", "--same-end", "--format", "json", "--")
    ran = tt_run(*chaos, *RESTARTS, "python", f"{FOLDER}/restarts.py", "{folder}", timeout=300).check()
    trials = json.loads(ran.out)
    assert [trial["same_end"] for trial in trials if trial["survived"]] and all(
        trial["same_end"] for trial in trials
    )


def digests(*words: str) -> set[str]:
    ran = tt_run("--emulate", "--no-prefix", *words, timeout=100).check()
    return {line for line in ran.out.splitlines() if "sha256" in line}


def test_parameters_and_positions_that_are_cut_give_the_same_bits_on_any_split() -> None:
    """Nor on whether a second command queue gathers them."""
    found = [
        digests("--system", "t3000", "--split", split, "python", f"{FOLDER}/fsdp_llama.py", *overlap)
        for split, overlap in (("1x1", ()), ("1x2", ()), ("2x2", ("--overlap",)))
    ]
    assert len(found[0]) == 1 and found[0] == found[1] == found[2]


def test_completions_made_elsewhere_do_not_depend_on_how_many_devices_make_them() -> None:
    program = ("python", f"{FOLDER}/grpo_remote_rollout.py")
    equal = digests("--system", "n300", "--meshes", "2", *program)
    uneven = digests("--rank-binding", f"{FOLDER}/grpo_2_6/rank_bindings.yaml", *program)
    assert len(equal) == 1 and equal == uneven
