"""What a program does wrong is told in its own words: one row for each mistake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.train.checkpointing import load_checkpoint, save_checkpoint
from tt_run.runtime.train.function import Function
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.named_mesh import Mesh
from tt_run.runtime.train.ops import attention
from tt_run.runtime.train.ops.loss import cross_entropy_loss
from tt_run.runtime.train.optimizers import adamw, registry, schedulers, sgd
from tt_run.runtime.train.settings import ConfigError
from tt_run.runtime.train.tensor import Tensor


def drawn(*shape: int) -> Tensor:
    return Tensor.from_numpy(np.random.default_rng(0).standard_normal(shape, np.float32))


class Text(Function):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        return "text"


def adam(lr: float = 0.1) -> adamw.AdamW:
    return adamw.AdamW({"w": drawn(1, 1, 4, 4)}, adamw.AdamWConfig.make(lr=lr))


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a mask of other lengths": (
        lambda: attention.scaled_dot_product_attention(*[drawn(1, 2, 4, 8)] * 3, drawn(1, 1, 3, 4)),
        RuntimeError, r"a mask of shape \[1, 1, 3, 4\] does not fit 4 queries and 4 keys",
    ),
    "a reduction by its name": (lambda: cross_entropy_loss(drawn(1, 1, 2, 4), drawn(1, 2), "mean"), RuntimeError, "type 'mean'; help: ReduceType.MEAN"),  # type: ignore[arg-type]
    "an array as a value": (lambda: drawn(1, 1, 2, 2).set_value(np.zeros(3)), TypeError, r"not numpy.ndarray; help: .*from_numpy\(array\).get_value\(\)"),  # type: ignore[arg-type]
    "a value of another shape": (lambda: drawn(1, 1, 4, 4).assign(drawn(1, 1, 4, 5)), RuntimeError, r"shape \[1, 1, 4, 4\] cannot take \[1, 1, 4, 5\]"),
    "a function that makes text": (lambda: Text.apply(drawn(1, 1, 2, 2)), TypeError, "Text.forward returns a tensor or a tuple of tensors, not str"),
    "a layer without inputs": (lambda: LinearLayer(0, 4), ValueError, "at least one input, not 0"),
    "a rate below zero": (lambda: adam(-0.1), RuntimeError, "AdamW: lr is at least 0 and finite, not -0.1"),
    "a rate that is none": (lambda: adam(float("nan")), RuntimeError, "lr is at least 0 and finite, not nan"),
    "no state": (lambda: adam().set_state_dict(None), TypeError, r"a state is what get_state_dict\(\) gave, not NoneType"),  # type: ignore[arg-type]
    "no configuration of an optimizer": (lambda: registry.create_optimizer(None, {}), ConfigError, "is a map like .*'AdamW'.*, not None"),  # type: ignore[arg-type]
    "a number as a schedule": (lambda: schedulers.LambdaScheduler(adam(), 3), TypeError, "lr_lambda is called with the step, got 3"),  # type: ignore[arg-type]
    "one name for both axes": (lambda: Mesh((1, 1), ("a", "a")), ValueError, "a name of its own for each"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(opened: Any, mistake: str) -> None:
    opened()
    made, kind, message = MISTAKES[mistake]
    with pytest.raises(kind, match=message):
        made()


def test_a_checkpoint_of_another_optimizer_changes_nothing(opened: Any, tmp_path: Path) -> None:
    opened()
    parameters = {"w": drawn(1, 1, 4, 4)}
    file = str(tmp_path / "made.pkl")
    save_checkpoint(file, model_params={"w": Tensor.from_numpy(np.ones((1, 1, 4, 4), np.float32))}, optimizer=adam())  # fmt: skip
    other = sgd.SGD(parameters, sgd.SGDConfig.make(lr=0.1))
    with pytest.raises(
        ValueError, match=r"made.pkl: the optimizer's state has beta1, .* that of SGD has not"
    ):
        load_checkpoint(file, model_params=parameters, optimizer=other)
    assert not np.any(parameters["w"].to_numpy() == 1)
