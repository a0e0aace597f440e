"""Linear regression on one device: the smallest program with a model, a loss and an optimizer.

tt-run --emulate --system n150 python examples/linear_regression/linear_regression.py
"""

import sys

import numpy as np
import ttml
import ttnn

FEATURES, BATCH, EPOCHS = 2, 32, 10


def main():
    context = ttml.autograd.AutoContext.get_instance()
    context.open_device()
    np.random.seed(42)
    model = ttml.models.linear_regression.create_linear_regression_model(FEATURES, 1)
    optimizer = ttml.optimizers.SGD(model.parameters(), ttml.optimizers.SGDConfig.make(lr=0.1))
    x = np.random.randn(256, 1, 1, FEATURES).astype(np.float32)
    y = x @ np.array([[2.0], [-1.0]], np.float32)

    for epoch in range(EPOCHS):
        losses = []
        order = np.random.permutation(len(x))
        for start in range(0, len(x), BATCH):
            own = order[start : start + BATCH]
            optimizer.zero_grad()
            prediction = model(ttml.autograd.Tensor.from_numpy(x[own]))
            loss = ttml.ops.loss.mse_loss(prediction, ttml.autograd.Tensor.from_numpy(y[own]))
            loss.backward()
            losses.append(loss.get_value().item())
            optimizer.step()
            context.reset_graph()
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.6f}", flush=True)

    model.eval()
    one = ttml.autograd.Tensor.from_numpy(np.ones((1, 1, 1, FEATURES), np.float32))
    print(f"at (1, 1): {model(one).to_numpy(ttnn.DataType.FLOAT32).item():.3f}, true value 1", flush=True)
    context.close_device()
    return 0


if __name__ == "__main__":
    sys.exit(main())
