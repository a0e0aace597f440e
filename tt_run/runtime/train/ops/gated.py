"""`ttml.ops.swiglu`: the gated feed-forward of Llama in one call."""

from __future__ import annotations

from tt_run.runtime.train.autograd.operation import recorded
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops import binary
from tt_run.runtime.train.ops.dropout import dropout
from tt_run.runtime.train.ops.matmul import linear
from tt_run.runtime.train.ops.unary import silu


@recorded
def swiglu(tensor: Tensor, w1: Tensor, w2: Tensor, w3: Tensor, dropout_prob: float = 0.0) -> Tensor:
    """w2(silu(w1 x) * w3 x), then dropout: x [..., in], w1 and w3 [1, 1, hidden, in], w2 [1, 1, out, hidden] -> [..., out].

    The order of the weights is gate, down, up. Raises RuntimeError when sizes do not fit.
    """
    return dropout(linear(binary.mul(silu(linear(tensor, w1)), linear(tensor, w3)), w2), dropout_prob)
