"""BERT against `transformers`, loaded from its file: embeddings, hidden states with padding, the pooler, gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.pytorch import torch_or_skip
from tests.runtime.train.test_decoders import perturbed, transformers_or_skip
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models import safetensors
from tt_run.runtime.train.models.bert import BertConfig, create
from tt_run.runtime.train.models.runner import RunnerType
from tt_run.runtime.train.ops.loss import mse_loss
from tt_run.runtime.train.optimizers.adamw import AdamW, AdamWConfig

pytestmark = pytest.mark.torch
BATCH, LENGTH, WIDTH, ENTRIES = 2, 16, 32, 90


def their_bert(torch: Any, transformers: Any) -> Any:
    return perturbed(
        torch,
        transformers.BertModel(
            transformers.BertConfig(
                vocab_size=ENTRIES, hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48,
                max_position_embeddings=LENGTH, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
            )
        ),
    )  # fmt: skip


def loaded(theirs: Any, folder: Path, pooled: bool, length: int = LENGTH) -> Any:
    """Ours with the weights of theirs, through a file."""
    file = folder / "model.safetensors"
    safetensors.write(file, {name: t.detach().numpy() for name, t in theirs.state_dict().items()})
    ours = create(
        BertConfig(
            vocab_size=ENTRIES, max_sequence_length=length, embedding_dim=WIDTH, intermediate_size=48, num_heads=2,
            num_blocks=2, dropout_prob=0.0, use_pooler=pooled,
            runner_type=RunnerType.MemoryEfficient if pooled else RunnerType.Default,
        )
    )  # fmt: skip
    ours.load_model_from_safetensors(str(file))
    return ours


@pytest.mark.wide
def test_twenty_steps(opened: Any, tmp_path: Path) -> None:
    """Losses of twenty steps of AdamW, and the parameters after them, beside those of `transformers`."""
    torch, transformers = torch_or_skip(), transformers_or_skip()
    context = opened()
    theirs = their_bert(torch, transformers)
    ours = loaded(theirs, tmp_path, True)
    one = AdamW(ours.parameters(), AdamWConfig.make(1e-3, 0.9, 0.99, 1e-6, 0.01))
    other = torch.optim.AdamW(theirs.parameters(), 1e-3, (0.9, 0.99), 1e-6, 0.01)
    draw = np.random.default_rng(5)
    for step in range(20):
        # The row of token 0 is padding to transformers, which never trains it.
        ids = draw.integers(1, ENTRIES, (BATCH, 1, 1, LENGTH), np.uint32)
        wanted = draw.standard_normal((BATCH, 1, 1, WIDTH), np.float32)
        one.zero_grad()
        out = ours(Tensor.from_numpy(ids))
        loss = mse_loss(out, Tensor.from_numpy(wanted.reshape(out.shape())))
        loss.backward()
        context.reset_graph()
        one.step()
        other.zero_grad()
        pooled = theirs(torch.tensor(ids.reshape(BATCH, LENGTH).astype(np.int64))).pooler_output
        expected = torch.nn.functional.mse_loss(pooled, torch.tensor(wanted.reshape(BATCH, WIDTH)))
        expected.backward()
        other.step()
        assert float(loss.to_numpy().item()) == pytest.approx(float(expected.detach()), rel=2e-4), step
    after = loaded(theirs, tmp_path, True).parameters()
    for name, tensor in ours.parameters().items():
        np.testing.assert_allclose(tensor.to_numpy(), after[name].to_numpy(), atol=1e-3, err_msg=name)


@pytest.mark.wide
@pytest.mark.parametrize("pooled", [False, True])
def test_bert(opened: Any, tmp_path: Path, pooled: bool) -> None:
    torch, transformers = torch_or_skip(), transformers_or_skip()
    opened()
    theirs = their_bert(torch, transformers)
    ours = loaded(theirs, tmp_path, pooled)
    draw = np.random.default_rng(4)
    ids, segments = (draw.integers(0, n, (BATCH, 1, 1, LENGTH), np.uint32) for n in (ENTRIES, 2))
    seen = np.ones((BATCH, 1, 1, LENGTH), np.float32)
    seen[1, ..., 11:] = 0
    x, s, mask = (Tensor.from_numpy(a) for a in (ids, segments, seen))
    mask.set_requires_grad(False)
    tids, tsegments, tseen = (
        torch.tensor(a.reshape(BATCH, LENGTH).astype(np.int64)) for a in (ids, segments, seen)
    )
    near = {"rtol": 3e-4, "atol": 3e-5}
    embedded = theirs.embeddings(tids, token_type_ids=tsegments)
    np.testing.assert_allclose(ours.get_embeddings(x, s).to_numpy()[:, 0], embedded.detach(), **near)
    counted = [Tensor.from_numpy(a.astype(np.float32)) for a in (ids, segments)]
    assert (ours.get_embeddings(*counted).to_numpy() == ours.get_embeddings(x, s).to_numpy()).all()
    with pytest.raises(RuntimeError, match=r"ids are whole numbers; help: from_numpy\(ids, new_type"):
        ours.get_embeddings(Tensor.from_numpy(ids.astype(np.float32) + np.float32(0.5)))
    expected = theirs(tids, attention_mask=tseen, token_type_ids=tsegments)
    wanted = expected.pooler_output if pooled else expected.last_hidden_state
    out = ours(x, mask, s)
    found = out.to_numpy().reshape(wanted.shape)
    np.testing.assert_allclose(found, wanted.detach(), **near)
    (out * out).backward()
    (wanted * wanted).sum().backward()
    AutoContext.get_instance().reset_graph()
    parameters = ours.parameters()
    for name, twin in (
        ("token_embeddings", theirs.embeddings.word_embeddings.weight),
        ("token_type_embeddings", theirs.embeddings.token_type_embeddings.weight),
        ("bert_block_0/attention/self_attention/out_linear", theirs.encoder.layer[0].attention.output.dense.weight),
        ("bert_block_1/mlp/dense1", theirs.encoder.layer[1].intermediate.dense.weight),
    ):  # fmt: skip
        slope = parameters[f"bert/{name}/weight"].get_grad().to_numpy()[0, 0]
        assert np.abs(slope - twin.grad.numpy()).max() <= 3e-4 * float(twin.grad.abs().max()), name


@pytest.mark.wide
def test_a_shorter_bert_takes_the_first_positions_and_shows_each_layer(opened: Any, tmp_path: Path) -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    opened()
    theirs, length = their_bert(torch, transformers).eval(), LENGTH // 2
    ours = loaded(theirs, tmp_path, False, length)
    ids = np.random.default_rng(0).integers(0, ENTRIES, (BATCH, length))
    mask = np.ones((BATCH, length), np.float32)
    mask[1, 5:] = 0
    with torch.no_grad():
        wanted = theirs(torch.tensor(ids), attention_mask=torch.tensor(mask), output_hidden_states=True)
    place = (BATCH, 1, 1, length)
    seen = ours.forward_with_intermediates(
        Tensor.from_numpy(ids.astype(np.uint32).reshape(place)), Tensor.from_numpy(mask.reshape(place))
    )
    for made, hidden in zip((seen.embeddings, *seen.block_outputs), wanted.hidden_states, strict=True):
        assert np.abs(made.to_numpy()[:, 0] - hidden.numpy()).max() <= 2e-5
    assert seen.final_output is seen.block_outputs[-1] and len(seen.block_attention_outputs) == 2


def test_what_does_not_fit_is_told(opened: Any) -> None:
    opened()
    with pytest.raises(ValueError, match="embedding_dim 10 does not divide into 3 heads"):
        create(BertConfig(embedding_dim=10, num_heads=3))
    model = create(BertConfig(8, 4, 8, 8, 2, 1))
    with pytest.raises(RuntimeError, match="the sequence has 5 tokens, the model was made for 4"):
        model(Tensor.from_numpy(np.zeros((1, 1, 1, 5), np.uint32)))
    with pytest.raises(IndexError, match="block 1: the model has 1"):
        model.get_block(1)
    with pytest.raises(FileNotFoundError):
        model.load_model_from_safetensors("/nowhere/model.safetensors")
