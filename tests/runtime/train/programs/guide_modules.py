"""The modules, the memory tracking and the performance meter of the "TTML Onboarding Guide", as printed, with what they leave undefined."""
# ruff: noqa - the code of a public document, as printed

import time

import ml_dtypes
import numpy as np
import ttml
import ttnn
from ttml.modules import AbstractModuleBase, LinearLayer, Parameter, RunMode


class LayerNorm(AbstractModuleBase):
    """Layer normalization module with gamma and beta parameters."""

    def __init__(self, embedding_dim: int, bias: bool = True) -> None:
        """Initialize layer norm.

        Args:
            embedding_dim: Dimension of embeddings
            bias: Whether to use bias (beta) parameter
        """
        super().__init__()

        self.embedding_dim = embedding_dim

        # Layer norm requires gamma (scale) and beta (shift) parameters
        ln_shape = (1, 1, 1, embedding_dim)
        gamma_np = np.ones(ln_shape, dtype=ml_dtypes.bfloat16)
        gamma_tensor = ttml.autograd.Tensor.from_numpy(gamma_np, layout=ttnn.Layout.TILE)
        self.gamma = Parameter(gamma_tensor)

        if bias:
            beta_np = np.zeros(ln_shape, dtype=ml_dtypes.bfloat16)
            beta_tensor = ttml.autograd.Tensor.from_numpy(beta_np, layout=ttnn.Layout.TILE)
            self.beta = Parameter(beta_tensor)
        else:
            self.beta = None

    def forward(self, x: ttml.autograd.Tensor) -> ttml.autograd.Tensor:
        """Forward pass of layer norm.

        Args:
            x: Input tensor

        Returns:
            Normalized output tensor
        """
        return ttml.ops.layernorm.layernorm(x, self.gamma.tensor, self.beta.tensor if self.beta else None)


class GPTMLP(AbstractModuleBase):
    """GPT-style MLP (feed-forward) layer."""

    def __init__(self, embedding_dim: int, dropout: float = 0.0) -> None:
        """Initialize GPT MLP layer.

        Args:
            embedding_dim: Dimension of embeddings
            dropout: Dropout probability
        """
        super().__init__()

        self.embedding_dim = embedding_dim
        self.dropout_prob = dropout
        # Note: RunMode is managed by AbstractModuleBase (defaults to TRAIN)

        # First linear: embedding_dim -> embedding_dim * 4
        self.fc1 = LinearLayer(embedding_dim, embedding_dim * 4, True)

        # Second linear: embedding_dim * 4 -> embedding_dim
        self.fc2 = LinearLayer(embedding_dim * 4, embedding_dim, True)

    # train() and eval() are inherited from AbstractModuleBase

    def forward(self, x: ttml.autograd.Tensor) -> ttml.autograd.Tensor:
        """Forward pass of MLP.

        Args:
            x: Input tensor

        Returns:
            Output tensor after MLP
        """
        x = self.fc1(x)
        x = ttml.ops.unary.gelu(x)
        x = self.fc2(x)

        # Note: It's better to just use Dropout module here
        if self.get_run_mode() == RunMode.TRAIN and self.dropout_prob > 0.0:
            x = ttml.ops.dropout.dropout(x, self.dropout_prob)

        return x


class cfg:
    batch_size, gradient_accumulation_steps, seq_len = 4, 2, 16


ctx = ttml.autograd.AutoContext.get_instance()
ctx.open_device()
ctx.set_seed(3)

# Access via ttml.core.utils
MemoryUsageTracker = ttml.core.utils.MemoryUsageTracker

# Begin tracking
guard = MemoryUsageTracker.begin_capture()

# Take snapshots at key points
norm, mlp = LayerNorm(32), GPTMLP(32, dropout=0.5)
MemoryUsageTracker.snapshot("MODEL_CREATION")
x = ttml.autograd.Tensor.from_numpy(np.random.default_rng(0).standard_normal((4, 1, 16, 32), np.float32))
out = ttml.ops.unary.mean(mlp(norm(x)))
MemoryUsageTracker.snapshot("FORWARD_PASS")
out.backward(False)
MemoryUsageTracker.snapshot("BACKWARD_PASS")

# Print results and cleanup
MemoryUsageTracker.end_capture("ITERATION_COMPLETE")
MemoryUsageTracker.print_memory_usage()

names = sorted({**norm.parameters(), **mlp.parameters()})
print("names", ",".join(names))
print(
    "gradients",
    all(t.is_grad_initialized() for t in (*norm.parameters().values(), *mlp.parameters().values())),
)
mlp.eval()
print("deterministic", mlp(x).to_numpy().tobytes() == mlp(x).to_numpy().tobytes())
mlp.train()
print("random", mlp(x).to_numpy().tobytes() != mlp(x).to_numpy().tobytes())

from ttml.common.utils import PerformanceMeter

meter = PerformanceMeter(cfg)
for _ in range(3):
    time.sleep(0.01)
    meter.step()
samples_per_second, tokens_per_second = meter.get_metrics()
print(f"Samples/s: {samples_per_second:.2f}, Tokens/s: {tokens_per_second:.2f}")
