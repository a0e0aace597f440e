"""The training script in every form: the loss falls, text is written, a resumed run goes on with the same bits."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.e2e.launch import ROOT, Ran, tt_run
from tt_run.runtime.train.common.checkpoints import load

SCRIPT = ROOT / "examples" / "nano_gpt" / "train_nanogpt.py"
N150 = ("--system", "n150")


def train(
    launch: tuple[str, ...],
    config: str,
    *words: str | Path,
    steps: int = 12,
    tokens: int = 8,
    timeout: float = 110,
) -> Ran:
    options = ("-c", config, "--max_steps", str(steps), "--max_new_tokens", str(tokens), "-w", "0", *words)
    return tt_run("--emulate", *launch, "python", SCRIPT, *options, timeout=timeout)


def losses(ran: Ran) -> list[float]:
    return [float(text) for text in re.findall(r"Step: \d+, Loss: ([\d.]+)", ran.out)]


@pytest.mark.parametrize(
    ("launch", "config"),
    [
        pytest.param(N150, "tiny.yaml", id="one device", marks=pytest.mark.wide),
        pytest.param(("--system", "loudbox"), "tiny_ddp.yaml", id="data parallel", marks=pytest.mark.wide),
        pytest.param(
            ("--system", "loudbox", "--split", "1x2"), "tiny_tp.yaml", id="tensor parallel over two ranks"
        ),
        pytest.param(("--system", "galaxy"), "tiny_tp_ddp.yaml", id="both on 4x8", marks=pytest.mark.slow),
        pytest.param((*N150, "--meshes", "4"), "tiny_pp.yaml", id="pipeline", marks=pytest.mark.wide),
    ],
)
def test_every_form_trains_and_writes(launch: tuple[str, ...], config: str) -> None:
    ran = train(launch, config).check()
    curve = losses(ran)
    assert len(curve) == 12
    assert curve[-1] < curve[0] - 0.5
    assert "Step: 12, Loss on held-out text:" in ran.out
    assert "ROMEO:" in ran.out


@pytest.mark.wide
def test_a_resumed_run_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    unbroken = train(N150, "tiny.yaml", "--model_save_path", whole, steps=6, tokens=0).check()
    # The prefix in two parts, with hyphens, as upstream's newer script has it.
    parts = ("--checkpoint-dir", tmp_path, "--checkpoint-prefix", "halves", "--epochs", "9")
    train(N150, "tiny.yaml", *parts, steps=3, tokens=0).check()
    named = train(N150, "tiny.yaml", "--resume", f"{halves}_final.npz", steps=6, tokens=0).check()
    assert losses(named) == losses(unbroken)[3:]
    resumed = train(N150, "tiny.yaml", "--model_save_path", halves, "--resume", steps=6, tokens=0).check()
    assert f"going on from {halves}_final.npz" in resumed.out
    assert losses(resumed) == losses(unbroken)[3:]
    first, second = load(f"{whole}_final.npz"), load(f"{halves}_final.npz")
    assert first.step == second.step == 6
    for name, array in first.parameters.items():
        assert array.tobytes() == second.parameters[name].tobytes(), name
    for name, entry in first.optimizer.items():
        assert np.array_equal(entry, second.optimizer[name]), name
    # Without training: the prompt is continued, and greedily twice the same.
    words = ("--model_path", f"{whole}_final.npz", "--prompt", "ROMEO:", "--temperature", "0")
    one, two = (train(N150, "tiny.yaml", *words).check().out for _ in range(2))
    assert one == two
    assert "Step:" not in one
    assert len(one.split("ROMEO:")[1]) >= 8


@pytest.mark.wide
def test_options_reach_the_run(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("to be or not to be that is the question " * 40)
    words = ("--data_path", tmp_path / "text.txt", "--batch_size", "4", "--sequence_length", "32")
    words += ("--clip_grad_norm", "0.5", "--log_dir", tmp_path / "log", "--track_memory", "--top_k", "5")
    ran = train(N150, "tiny.yaml", *words, "--num_epochs", "1", "--prompt", "to be", steps=3).check()
    lines = [json.loads(line) for line in (tmp_path / "log" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2, 3]
    facts = json.loads((tmp_path / "log" / "facts.json").read_text())
    assert facts["settings"]["training_config"]["batch_size"] == 4
    assert facts["settings"]["transformer_config"]["max_sequence_length"] == 32
    for phase in ("MODEL_CREATION", "OPTIMIZER_CREATION", "FORWARD_PASS", "BACKWARD_PASS", "OPTIMIZER_STEP"):
        assert ran.out.count(f"--- {phase} ---") == 1
    assert "to be" in ran.out


@pytest.mark.parametrize(
    ("launch", "words", "text"),
    [
        pytest.param(
            N150,
            ("-c", "absent.yaml"),
            "configuration file absent.yaml not found",
            marks=pytest.mark.wide,
        ),
        pytest.param(
            N150,
            ("-c", "tiny.yaml", "--resume", "--model_save_path", "nowhere/x"),
            "--resume: there is no checkpoint",
            marks=pytest.mark.wide,
        ),
        pytest.param(
            N150, ("-c", "tiny.yaml", "--resume", "--fresh"), "exclude each other", marks=pytest.mark.wide
        ),
        (
            ("--system", "loudbox"),
            ("-c", "tiny_ddp.yaml", "--batch_size", "12"),
            "must divide by the 8 data-parallel",
        ),
        pytest.param(N150, ("-c", "tiny_ddp.yaml"), "Physical chip id", marks=pytest.mark.wide),
    ],
)
def test_mistakes_are_told(launch: tuple[str, ...], words: tuple[str, ...], text: str) -> None:
    ran = tt_run("--emulate", *launch, "python", SCRIPT, *words, "--max_steps", "1", timeout=60)
    assert ran.code not in (0, 124, 137)
    assert text in ran.out + ran.err
    assert ("Traceback" in ran.err) == text.startswith("Physical")  # what `open_device` says names its line
