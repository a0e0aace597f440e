"""Models next to PyTorch for twenty steps where nothing is a multiple of a tile: vocabulary, positions, batch; on one device and on two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.train import references
from tests.runtime.train.pytorch import torch_or_skip, transformers_or_skip
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.utils import get_loss_over_devices
from tt_run.runtime.train.models.decoders.llama import DecoderLlama
from tt_run.runtime.train.models.decoders.llama_config import LlamaConfig as DecoderConfig
from tt_run.runtime.train.models.decoders.qwen3 import Qwen3, create_qwen3_config_from_hf
from tt_run.runtime.train.models.decoders.weights import load_decoder_llama, load_from_hf
from tt_run.runtime.train.models.gpt import NanoGPTConfig, create_nanogpt
from tt_run.runtime.train.models.llama import Llama, LlamaConfig
from tt_run.runtime.train.ops.attention import scaled_dot_product_attention
from tt_run.runtime.train.ops.loss import cross_entropy_loss
from tt_run.runtime.train.ops.prefix import SliceLastDim
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper, synchronize_gradients

STEPS, RATE = 20, 0.05
SIZES = {"hidden_size": 64, "intermediate_size": 40, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2}  # fmt: skip


class Twin:
    """Ours, and what computes logits and holds the parameters on PyTorch's side; `after` gives those in ours' names."""

    def __init__(self, ours: Any, logits: Callable[[Any], Any], parameters: list[Any], after: Callable[[], dict[str, np.ndarray]]) -> None:  # fmt: skip
        self.ours, self.logits, self.parameters, self.after = ours, logits, parameters, after


def written(torch: Any, ours: Any, reference: Callable[..., Any]) -> Twin:
    """Beside a transcript of the model in torch, with ours' parameters by name."""
    p = {
        name.partition("/")[2]: torch.tensor(tensor.to_numpy(), requires_grad=True)
        for name, tensor in ours.parameters().items()
    }
    root = ours.get_name()
    return Twin(
        ours,
        lambda ids: reference(torch, p, ids),
        list(p.values()),
        lambda: {f"{root}/{name}": t.detach().numpy() for name, t in p.items()},
    )


def loaded(make: Callable[[], Any], theirs: Any, load: Any) -> Twin:
    """Beside a model of Hugging Face's, whose weights ours begins with."""
    ours = make()
    load(ours, theirs.state_dict())

    def after() -> dict[str, np.ndarray]:
        twin = make()
        load(twin, theirs.state_dict())
        return {name: tensor.to_numpy() for name, tensor in twin.parameters().items()}

    return Twin(ours, lambda ids: theirs(input_ids=ids).logits, list(theirs.parameters()), after)


def nanogpt(entries: int) -> Twin:
    torch = torch_or_skip()
    return written(torch, create_nanogpt(NanoGPTConfig(entries, 64, 64, 1, 4, 0.0)), lambda *given: references.gpt(*given, 1, 4))  # fmt: skip


def llama(entries: int) -> Twin:
    torch = torch_or_skip()
    rates = references.frequencies(16, 10000.0)
    config = LlamaConfig(4, 2, 64, 40, num_blocks=1, vocab_size=entries, max_sequence_length=64)
    return written(torch, Llama(config), lambda *given: references.llama(*given, 1, 4, 2, rates))


def decoder(entries: int) -> Twin:
    transformers, padded = transformers_or_skip(), -(-entries // 32) * 32
    theirs = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES, vocab_size=padded, rms_norm_eps=1e-5))  # fmt: skip
    return loaded(
        lambda: DecoderLlama(DecoderConfig(**SIZES, vocab_size=entries)), theirs, load_decoder_llama
    )


def qwen3(entries: int) -> Twin:
    transformers, padded = transformers_or_skip(), -(-entries // 32) * 32
    hf = transformers.Qwen3Config(**SIZES, vocab_size=padded, head_dim=32, max_position_embeddings=64)
    return loaded(lambda: Qwen3(create_qwen3_config_from_hf(hf, 64)), transformers.Qwen3ForCausalLM(hf), load_from_hf)  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("parts", [pytest.param(1, marks=pytest.mark.wide), 2])
@pytest.mark.parametrize(
    ("make", "batch", "length", "entries"),
    [
        pytest.param(nanogpt, 3, 17, 61, marks=pytest.mark.wide),
        pytest.param(nanogpt, 1, 1, 33, marks=pytest.mark.wide),
        pytest.param(llama, 5, 29, 97, marks=pytest.mark.wide),
        pytest.param(llama, 1, 33, 127, marks=pytest.mark.wide),
        pytest.param(decoder, 3, 31, 83, marks=pytest.mark.wide),
        (qwen3, 1, 13, 101),
    ],
)
def test_twenty_steps(opened: Any, make: Any, batch: int, length: int, entries: int, parts: int) -> None:
    """`batch` sequences on each device. Losses of SGD with momentum, and every parameter at the end."""
    torch = torch_or_skip()
    torch.manual_seed(2)
    context = opened((1, parts), ddp=parts > 1)
    twin = make(entries)
    one = SGD(twin.ours.parameters(), SGDConfig.make(RATE, 0.9, 0.0, 0.0, False))
    other = torch.optim.SGD(twin.parameters, RATE, 0.9)
    mapper = shard_tensor_to_mesh_mapper(context.get_device(), 0) if parts > 1 else None
    rows = batch * parts

    def placed(array: np.ndarray, *shape: int) -> Tensor:
        ids = np.ascontiguousarray(array).reshape(shape)
        return Tensor.from_numpy(ids, Layout.ROW_MAJOR, DataType.UINT32, mapper)

    for step in range(STEPS):
        draw = np.random.default_rng(step).integers(0, entries, (rows, length + 1), np.uint32)
        one.zero_grad()
        logits = twin.ours(placed(draw[:, :-1], rows, 1, 1, length))
        loss = cross_entropy_loss(logits, placed(draw[:, 1:], rows, length))
        value = get_loss_over_devices(loss)
        loss.backward()
        context.reset_graph()
        synchronize_gradients(twin.ours.parameters())
        one.step()
        other.zero_grad()
        tokens = torch.tensor(draw.astype(np.int64))
        expected = torch.nn.functional.cross_entropy(
            twin.logits(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()
        )
        expected.backward()
        other.step()
        assert value == pytest.approx(float(expected.detach()), rel=1e-4), step
    after = twin.after()
    for name, tensor in twin.ours.parameters().items():
        found = tensor.get_value().shards.row(0)
        np.testing.assert_allclose(found, after[name].reshape(found.shape), atol=2e-4, err_msg=name)


def test_another_operation_for_attention(opened: Any) -> None:
    """A program puts one in the place of `sdpa`; without a mask the operation hides nothing, and the model did."""
    opened()
    model = DecoderLlama(DecoderConfig(**SIZES, vocab_size=64))
    ids = Tensor.from_numpy(np.arange(32, dtype=np.uint32).reshape(1, 1, 1, 32), Layout.ROW_MAJOR)
    before = model(ids).to_numpy()
    seen: list[list[int]] = []

    def whole(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        seen.append(key.shape())
        return scaled_dot_product_attention(query, key, value, mask)

    model.blocks[0].attention.sdpa = whole
    after = model(ids).to_numpy()
    assert seen == [[1, 2, 32, 16]] and not np.allclose(before[0, 0, 0], after[0, 0, 0])
    np.testing.assert_allclose(before[0, 0, -1], after[0, 0, -1], atol=1e-5)


def test_the_first_entries_of_logits(opened: Any) -> None:
    opened()
    x = Tensor.from_numpy(np.arange(12, dtype=np.float32).reshape(1, 1, 2, 6))
    out = SliceLastDim.apply(x, 4)
    assert out.to_numpy().tolist() == [[[[0, 1, 2, 3], [6, 7, 8, 9]]]]
    out.backward()
    assert x.get_grad().to_numpy().tolist() == [[[[1, 1, 1, 1, 0, 0]] * 2]]
    for width in (0, 7):
        with pytest.raises(ValueError, match=f"SliceLastDim: {width} entries of 6"):
            SliceLastDim.apply(x, width)
    assert SliceLastDim.apply(x, 6).shape() == [1, 1, 2, 6]
