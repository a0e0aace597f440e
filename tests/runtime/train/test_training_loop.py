"""`ttml.common.trainer.train` and the batches it draws: the steps of PyTorch, on one device and dealt over several."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.pytorch import torch_or_skip
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.training_loop import get_batch_ttml, train
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.layers import Embedding
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig
from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter

TEXT = np.random.default_rng(0).integers(0, 32, 200).astype(np.uint32)
ENTRIES, WIDTH, LENGTH = 32, 32, 16


class Bigram(AbstractModuleBase):
    """The next token from the last one alone."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = Embedding(ENTRIES, WIDTH), LinearLayer(WIDTH, ENTRIES, False)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        assert mask.shape() == [1, 1, LENGTH, LENGTH]
        return self.head(self.table(ids))


def run(
    use_ddp: bool, parts: int
) -> tuple[list[float], list[float], dict[str, np.ndarray], dict[str, np.ndarray]]:
    model = Bigram()
    before = {name: whole_parameter(tensor) for name, tensor in model.parameters().items()}
    cfg = SimpleNamespace(
        steps=5, batch_size=4, seq_len=LENGTH, gradient_accumulation_steps=parts, eval_every=2
    )
    np.random.seed(5)
    optimizer = SGD(model.parameters(), SGDConfig.make(lr=2.0, momentum=0.9))
    losses, told = train(cfg, model, optimizer, TEXT, use_ddp)
    return losses, told, before, {n: whole_parameter(t) for n, t in model.parameters().items()}


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4)])
def test_steps_are_those_of_pytorch(opened: Any, shape: tuple[int, int], parts: int) -> None:
    torch = torch_or_skip()
    opened(shape, "float32", ddp=shape != (1, 1))
    losses, told, before, after = run(shape != (1, 1), parts)
    assert told == [losses[0], losses[1], losses[3]]
    table, head = (
        torch.nn.Parameter(torch.tensor(next(a for n, a in before.items() if part in n)[0, 0]))
        for part in ("table", "head")
    )
    theirs = torch.optim.SGD([table, head], 2.0, 0.9)
    np.random.seed(5)
    for found in losses:
        theirs.zero_grad()
        total = 0.0
        for _ in range(parts):
            starts = np.random.randint(0, len(TEXT) - LENGTH, 4)
            rows = torch.tensor(np.stack([TEXT[s : s + LENGTH + 1] for s in starts]).astype(np.int64))
            logits = table[rows[:, :-1]] @ head.T
            loss = (
                torch.nn.functional.cross_entropy(logits.reshape(-1, ENTRIES), rows[:, 1:].reshape(-1))
                / parts
            )
            loss.backward()
            total += float(loss.detach())
        theirs.step()
        assert found == pytest.approx(total, rel=1e-5)
    for part, tensor in (("table", table), ("head", head)):
        array = next(a for n, a in after.items() if part in n)[0, 0]
        np.testing.assert_allclose(array, tensor.detach(), atol=1e-5)


def test_batches_are_dealt_over_devices_only_when_asked(opened: Any) -> None:
    opened((1, 4), "float32", ddp=True)
    for ddp, rows in ((False, 8), (True, 2)):
        x, y = get_batch_ttml(TEXT, LENGTH, 8, ddp)
        assert (x.shape(), y.shape()) == ([rows, 1, 1, LENGTH], [rows, LENGTH])
    with pytest.raises(ValueError, match="batch_size 6 is the total and must divide by the 4"):
        get_batch_ttml(TEXT, LENGTH, 6, True)
    with pytest.raises(ValueError, match="the text has 10 tokens, a window needs 17"):
        get_batch_ttml(TEXT[:10], LENGTH, 8)


def test_without_a_parallelism_context_all_devices_get_a_part(opened: Any) -> None:
    context = opened((2, 2), "float32", ddp=True, tp=True)
    context._parallelism = None
    assert AutoContext.get_instance() is context
    x, _ = get_batch_ttml(TEXT, LENGTH, 8, True)
    assert x.shape() == [2, 1, 1, LENGTH]
    with pytest.raises(ValueError, match="must divide by the 4"):
        get_batch_ttml(TEXT, LENGTH, 6, True)
