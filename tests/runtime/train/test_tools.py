"""Data, logs, rates, text generation and memory tracking."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.e2e.launch import ROOT
from tests.runtime.train.test_models import GPT2, LENGTH, LLAMA, loss_of, text
from tt_run.runtime.enums import Layout
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import GradMode
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common import data, utils
from tt_run.runtime.train.common.generate import Sampling, generate, next_token
from tt_run.runtime.train.common.logs import TrainingLog
from tt_run.runtime.train.memory import MIB, MemoryUsageTracker, report
from tt_run.runtime.train.models.gpt import create_gpt2_model
from tt_run.runtime.train.models.llama import create_llama_model
from tt_run.runtime.train.modules.base import RunMode
from tt_run.runtime.train.ops.sample import sample_op
from tt_run.runtime.train.optimizers.adamw import AdamW, AdamWConfig
from tt_run.runtime.train.parallel.distributed import (
    concat_mesh_to_tensor_composer,
    shard_tensor_to_mesh_mapper,
)

ANALYZE = ROOT / "scripts" / "analyze_memory.py"


# --- data ------------------------------------------------------------------------------------------------------------


def test_characters_are_tokens() -> None:
    tokenizer = data.CharTokenizer("cabba")
    assert tokenizer.itos == ["<PAD>", "a", "b", "c", "<BEG>", "<END>"]
    assert tokenizer.vocab_size == 6
    assert tokenizer.encode("abc") == [1, 2, 3]
    assert tokenizer.decode([4, 1, 2, 3, 5, 0]) == "abc"
    assert data.CharTokenizer("ab", False, False).vocab_size == 2
    with pytest.raises(ValueError, match="no 'x'"):
        tokenizer.encode("axb")
    with pytest.raises(ValueError, match="no token has the id 9"):
        tokenizer.decode([9])


def test_a_tokenizer_is_found_in_its_folder_and_below_tt_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    folder = tmp_path / "tt-train" / "data" / "words"
    folder.mkdir(parents=True)
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(folder / "tokenizer.json"))
    monkeypatch.setenv("TT_METAL_HOME", str(tmp_path))
    for path in (folder, folder / "tokenizer.json", "data/words", "data/words/tokenizer.json"):
        tokenizer = data.make_tokenizer(SimpleNamespace(use_bpe=True, tokenizer_path=str(path)), "")
        assert tokenizer.encode("b a b") == [1, 0, 1]
    with pytest.raises(FileNotFoundError, match=r"tokenizer_path data/no\.json"):
        data.make_tokenizer(SimpleNamespace(use_bpe=True, tokenizer_path="data/no.json"), "")


def test_batches_are_windows(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("abcdefghij" * 10)
    train, check, size, decode = data.prepare_data(SimpleNamespace(data_path=tmp_path / "t.txt"))
    assert (len(train), len(check), size) == (90, 10, 32)
    assert decode(list(train[:10])) == "abcdefghij"
    x, y = data.get_batch(train, 6, 5, np.random.default_rng(0))
    assert x.shape == y.shape == (5, 6)
    assert x.dtype == np.uint32
    assert (x[:, 1:] == y[:, :-1]).all()
    # From the first window to the last that has a token behind it; the global generator draws what it does for the reference, without the last.
    for generator, length in ((np.random.default_rng(0), 8), (None, 9)):
        x, y = data.get_batch(np.arange(length, dtype=np.uint32), 6, 64, generator)
        assert {*x[:, 0].tolist()} == {0, 1} and (y == x + 1).all()
    assert data.get_batch(np.arange(7, dtype=np.uint32), 6, 1)[0].tolist() == [[0, 1, 2, 3, 4, 5]]
    np.random.seed(3)
    drawn = data.get_batch(train, 6, 5)[0]
    np.random.seed(3)
    assert (drawn == [train[i : i + 6] for i in np.random.randint(0, len(train) - 7, size=(5,))]).all()
    with pytest.raises(ValueError, match="a window needs 91"):
        data.get_batch(train, 90, 1)
    with pytest.raises(ValueError, match="needs tokenizer_path"):
        data.prepare_data(SimpleNamespace(data_path=tmp_path / "t.txt", use_bpe=True))
    whole = {"training_config": {"data_path": str(tmp_path / "t.txt")}}
    assert np.array_equal(data.prepare_data(whole)[0], train)
    with pytest.raises(ValueError, match="needs tokenizer_path"):
        data.prepare_data({"training_config": {**whole["training_config"], "tokenizer_type": "bpe"}})
    assert data.build_causal_mask(3).tolist() == [[[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]]


def test_the_text_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TT_METAL_HOME", str(tmp_path))
    assert len(data.load_shakespeare_text()) > 5000
    own = tmp_path / "tt-train" / "data" / "shakespeare.txt"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    assert data.load_shakespeare_text() == "mine"


# --- logs and rates --------------------------------------------------------------------------------------------------


def test_a_log_is_lines_of_json_and_csv(tmp_path: Path) -> None:
    out = io.StringIO()
    with TrainingLog(tmp_path, total_steps=2, project="p", settings={"a": 1}, wandb="off", stream=out) as log:
        log.facts(parameters=7)
        log.step(1, 2.5, 0.1, 0.5, 8.0, 64.0)
        log.step(2, 2.25, 0.1, 0.25, 16.0, 128.0)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [(line["step"], line["loss"], line["tokens_per_second"]) for line in lines] == [
        (1, 2.5, 64.0),
        (2, 2.25, 128.0),
    ]
    assert (tmp_path / "metrics.csv").read_text().splitlines()[1].startswith("1,2.5,0.1,0.5,")
    assert json.loads((tmp_path / "facts.json").read_text()) == {
        "project": "p",
        "parameters": 7,
        "settings": {"a": 1},
    }
    assert out.getvalue().splitlines() == [
        "Step: 1, Loss: 2.500000, Time: 500.0 ms, TPS: 64",
        "Step: 2, Loss: 2.250000, Time: 250.0 ms, TPS: 128",
    ]


def test_a_terminal_gets_a_bar(tmp_path: Path) -> None:
    out = io.StringIO()
    out.isatty = lambda: True  # type: ignore[method-assign]
    with TrainingLog(None, total_steps=4, wandb="off", stream=out) as log:
        log.step(0, 1.0, 0.1, 0.5)
        log.step(2, 1.0, 0.1, 0.5)
    assert re.search(r"░{24} 0/4 .*ETA: 0:00", out.getvalue())
    assert re.search(r"█{12}░{12} 2/4  Step: 2, Loss: 1.000000.*ETA: 0:0\d", out.getvalue())


def test_wandb_is_used_offline_and_never_stops_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    calls: list[Any] = []
    run = SimpleNamespace(
        log=lambda values, step: calls.append((step, values["loss"])),
        finish=lambda: calls.append("end"),
        summary={},
    )
    module = SimpleNamespace(init=lambda **words: calls.append((words.get("mode"), words["project"])) or run)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setitem(sys.modules, "wandb", module)
    with TrainingLog(None, total_steps=1, project="p", wandb="on", quiet=True) as log:
        log.facts(parameters=3)
        log.step(1, 2.0, 0.1, 0.5)
    assert calls == [("offline", "p"), (1, 2.0), "end"]
    assert run.summary == {"parameters": 3}
    (tmp_path / ".netrc").write_text("machine api.wandb.ai login user password key\n")
    (tmp_path / ".netrc").chmod(0o600)
    with TrainingLog(None, total_steps=1, project="mine", wandb="on", quiet=True):
        pass
    assert calls[3:] == [(None, "mine"), "end"]

    def broken(**words: Any) -> None:
        raise RuntimeError("no network")

    module.init = broken
    with TrainingLog(None, total_steps=1, wandb="on", quiet=True) as log:
        log.step(1, 2.0, 0.1, 0.5)
    assert "wandb is not used: no network" in capsys.readouterr().err


def test_rates_count_the_steps_of_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 100, 2))
    monkeypatch.setattr(utils.time, "time", lambda: float(next(clock)))
    meter = utils.PerformanceMeter(
        SimpleNamespace(batch_size=4, gradient_accumulation_steps=2, seq_len=16), window_size=3
    )
    assert meter.get_metrics() == (0.0, 0.0)
    meter.step()
    assert meter.get_metrics() == (0.0, 0.0)
    for _ in range(4):
        meter.step()
    assert meter.get_metrics() == (3 * 4 * 2 / 4, 3 * 4 * 2 * 16 / 4)


def test_no_grad_restores_the_mode(opened: Any) -> None:
    context = opened()
    with utils.no_grad():
        assert context.get_gradient_mode() is GradMode.DISABLED
        with utils.no_grad():
            pass
        assert context.get_gradient_mode() is GradMode.DISABLED
    assert utils.no_grad()(context.get_gradient_mode)() is GradMode.DISABLED
    assert context.get_gradient_mode() is GradMode.ENABLED


# --- sampling --------------------------------------------------------------------------------------------------------


def test_draws_follow_their_limits() -> None:
    logits = np.array([0.0, 3.0, 2.0, 1.0])
    generator = np.random.default_rng(0)

    def drawn(sampling: Sampling, seen: tuple[int, ...] = ()) -> set[int]:
        return {next_token(logits, sampling, seen, generator) for _ in range(200)}

    assert drawn(Sampling(0.0)) == {1}
    assert drawn(Sampling(1.0, top_k=2)) == {1, 2}
    assert drawn(Sampling(1.0, 0, top_p=0.5)) == {1}
    assert drawn(Sampling(5.0, 0)) == {0, 1, 2, 3}
    assert drawn(Sampling(0.0, repetition_penalty=2.0), (1,)) == {2}
    counts = np.bincount(
        [next_token(logits, Sampling(1.0, 0), (), generator) for _ in range(4000)], minlength=4
    )
    expected = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(counts / 4000, expected, atol=0.04)


def test_generation_repeats_with_its_seed(opened: Any) -> None:
    opened()
    model = create_gpt2_model(GPT2)
    words: dict[str, Any] = {"max_new_tokens": 6, "sequence_length": LENGTH, "vocab_size": 40}
    first = generate(model, [1, 2, 3], seed=5, **words)
    assert first == generate(model, [1, 2, 3], seed=5, **words)
    assert len(first) == 6
    assert all(0 <= token < 40 for token in first)
    assert model.get_run_mode().name == "TRAIN"
    assert AutoContext.get_instance().get_gradient_mode() is GradMode.ENABLED


@pytest.mark.parametrize("mode", RunMode)
def test_generation_that_ends_early_leaves_the_mode(opened: Any, mode: RunMode) -> None:
    opened()
    model = create_gpt2_model(GPT2)
    model.set_run_mode(mode)

    def interrupt(token: int) -> None:
        assert model.get_run_mode() is RunMode.EVAL
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(model, [1], max_new_tokens=2, sequence_length=LENGTH, vocab_size=40, on_token=interrupt)
    assert model.get_run_mode() is mode
    assert AutoContext.get_instance().get_gradient_mode() is GradMode.ENABLED


def test_sample_op(opened: Any) -> None:
    opened()
    logits = np.zeros((2, 1, 3, 8), np.float32)
    logits[..., 5] = 4.0
    logits[..., 7] = 9.0
    assert np.array_equal(data.build_causal_mask(3, device=True).to_numpy(), data.build_causal_mask(T=3))
    mask = utils.build_logits_mask(7, 8)
    greedy = sample_op(Tensor.from_numpy(logits), 0.0, 1, mask)
    assert greedy.shape() == [2, 1, 3, 1]
    assert (greedy.to_numpy() == 5).all()
    assert (sample_op(Tensor.from_numpy(logits), 0.0, 1).to_numpy() == 7).all()
    flat = Tensor.from_numpy(np.zeros((1, 1, 400, 8), np.float32))
    one, again, other = (sample_op(flat, 1.0, seed, mask).to_numpy() for seed in (3, 3, 4))
    assert one.tobytes() == again.tobytes() != other.tobytes()
    assert set(one.ravel().tolist()) == set(range(7))
    with pytest.raises(RuntimeError, match="cannot be negative"):
        sample_op(flat, -1.0, 0)


def test_one_position_of_each_row_is_sampled(opened: Any) -> None:
    """What all positions' sampling would give there, without noise; rows of a device have its own positions."""
    context = opened((1, 4), ddp=True)
    cut = shard_tensor_to_mesh_mapper(context.get_device(), 0)
    composer = concat_mesh_to_tensor_composer(context.get_device(), 0)
    draw = np.random.default_rng(0).standard_normal((8, 1, 5, 9)).astype(np.float32)
    places = np.array([4, 0, 1, 3, 2, 2, 0, 4], np.uint32)
    logits = Tensor.from_numpy(draw, mapper=cut)
    table = Tensor.from_numpy(places.reshape(8, 1, 1, 1), Layout.ROW_MAJOR, mapper=cut)
    found = sample_op(logits, 0.0, 1, None, None, table).to_numpy(composer=composer)
    assert found.ravel().tolist() == draw[np.arange(8), 0, places].argmax(-1).tolist()
    assert sample_op(logits, 0.0, 1, positions=[3, 1]).shape() == [2, 1, 1, 1]
    with pytest.raises(RuntimeError, match="position 5 is beyond the 5 of the logits"):
        sample_op(logits, 0.0, 1, positions=[5, 0])
    with pytest.raises(RuntimeError, match=r"positions \[3, 1, 1, 1\] are not one for each of 2 rows"):
        sample_op(logits, 0.0, 1, positions=[1, 1, 1])


def test_devices_apart_draw_apart_where_that_is_asked_for(opened: Any) -> None:
    context = opened((2, 2), ddp=True, tp=True)
    composer = concat_mesh_to_tensor_composer(context.get_device(), 0)
    flat = Tensor.from_numpy(np.zeros((1, 1, 64, 32), np.float32))

    def drawn(*axes: int) -> list[bytes]:
        found = sample_op(flat, 1.0, 3, None, list(axes)).to_numpy(composer=composer)
        return [part.tobytes() for part in found]

    same, rows, columns, each = drawn(), drawn(0), drawn(1), drawn(0, 1)
    assert len(set(same)) == 1 and sample_op(flat, 1.0, 3).to_numpy().tobytes() == same[0]
    assert rows[0] == rows[1] != rows[2] == rows[3]
    assert columns[0] == columns[2] != columns[1] == columns[3]
    assert len(set(each)) == 4
    with pytest.raises(RuntimeError, match=r"seed_axes \[2\]: 2 is no axis of a mesh of shape \[2, 2\]"):
        drawn(2)


# --- memory ----------------------------------------------------------------------------------------------------------


def tracked(context: AutoContext, make: Any) -> int:
    """Track one training step; the parameter count."""
    guard = MemoryUsageTracker.begin_capture()
    model = make()
    MemoryUsageTracker.snapshot("MODEL_CREATION")
    optimizer = AdamW(model.parameters(), AdamWConfig.make())
    MemoryUsageTracker.snapshot("OPTIMIZER_CREATION")
    loss = loss_of(model, text())
    MemoryUsageTracker.snapshot("FORWARD_PASS")
    loss.backward()
    context.reset_graph()
    MemoryUsageTracker.snapshot("BACKWARD_PASS")
    optimizer.step()
    MemoryUsageTracker.end_capture("OPTIMIZER_STEP")
    guard.release()
    return utils.parameter_count(model)


def test_phases_add_up(opened: Any) -> None:
    context = opened((1, 1), "bfloat16")
    count = tracked(context, lambda: create_llama_model(LLAMA))
    names = ["MODEL_CREATION", "OPTIMIZER_CREATION", "FORWARD_PASS", "BACKWARD_PASS", "OPTIMIZER_STEP"]
    segments = [MemoryUsageTracker.get_dram_usage(name) for name in names]
    held, peak = 0, 0
    for segment in segments:
        assert segment.change == segment.total_allocations - segment.total_deallocations
        assert segment.before == held
        held += segment.change
        peak = max(peak, segment.before + segment.peak)
        assert segment.after == held
    assert MemoryUsageTracker.get_dram_peak() == peak
    # bfloat16 parameters and twice as much for AdamW; norms are one row in a tile of 32.
    assert 2 * count <= segments[0].change <= 2 * count + 2 * 31 * 64 * 5
    assert segments[1].change == pytest.approx(2 * 2 * count, rel=0.02)
    assert segments[2].change > 0 > segments[3].change
    with pytest.raises(RuntimeError, match="no phase 'X'"):
        MemoryUsageTracker.get_dram_usage("X")
    MemoryUsageTracker.clear()
    with pytest.warns(UserWarning, match="snapshot: no capture is running"):
        MemoryUsageTracker.snapshot("X")
    with pytest.warns(UserWarning, match="end_capture: no capture is running"):
        MemoryUsageTracker.end_capture("X")
    assert MemoryUsageTracker.get_trace_names() == []


def test_captures_do_not_nest() -> None:
    guard = MemoryUsageTracker.begin_capture()
    with pytest.raises(RuntimeError, match="a capture is running"):
        MemoryUsageTracker.begin_capture()
    guard.release()
    MemoryUsageTracker.clear()


def analysed(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ANALYZE, *map(str, words)], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.wide
def test_a_log_is_analysed(opened: Any, tmp_path: Path) -> None:
    context = opened((1, 1), "bfloat16")
    log = tmp_path / "memory.log"
    texts = []
    for _ in range(2):
        count = tracked(context, lambda: create_llama_model(LLAMA))
        texts.append(f"Llama: {count:,} parameters\n{report()}\nStep: 1, Loss: 4.0\n")
    peak = MemoryUsageTracker.get_dram_peak() / MIB
    MemoryUsageTracker.clear()
    log.write_text("".join(texts))
    ran = analysed("--logs", log)
    assert ran.returncode == 0
    assert ran.stdout.count(f"peak {peak:.2f} MB") == 2
    sizes = [float(value) for value in re.findall(r"Model +([\d.]+) MB", ran.stdout)]
    assert sizes == [pytest.approx(2 * count / MIB, abs=0.006)] * 2
    given = analysed("--logs", log, "--model_size", str(3 * MIB), "--optimizer_size", str(5 * MIB))
    assert "Model                      3.00 MB" in given.stdout
    assert "Optimizer                  5.00 MB" in given.stdout
    drawn = analysed("--logs", log, "--visualize_peak", "--title", "T", "--output", tmp_path / "p.png")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        assert drawn.returncode == 1
        assert "needs matplotlib" in drawn.stderr
    else:
        assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_a_log_without_phases_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("nothing here\n")
    assert analysed("--logs", tmp_path / "x.log").returncode == 1
    assert analysed("--logs", tmp_path / "none.log").returncode == 2


def test_to_which_shape_a_weight_is_padded(capsys: pytest.CaptureFixture[str]) -> None:
    padded = utils.resolve_padded_load_shape
    assert padded([50, 64], [64, 64], (50, 64), name="w") == padded((64, 64), (64, 64)) == (64, 64)
    assert capsys.readouterr().out == ""
    assert padded((50, 64), (64, 64), name="w") == (64, 64)
    assert "tile-padding w from (50, 64) to (64, 64)" in capsys.readouterr().out
    for given, said in (
        (((50,), (64, 64)), "w: source rank 1 does not match target rank 2"),
        (((51, 64), (64, 64), (50, 64)), r"checkpoint shape \(51, 64\) does not match the config-implied shape \(50, 64\)"),
        (((96, 64), (64, 64), (96, 64)), r"parameter shape \(64, 64\) is smaller than"),
        (((20, 64), (64, 64)), r"Unexpected shape for w: got \(20, 64\), expected \(64, 64\)"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=said):
            padded(*given, name="w")
