"""The linear regression of the "TTML Onboarding Guide", as printed."""
# ruff: noqa - the code of a public document, as printed

import numpy as np
import ttnn
import ttml

# 1. Initialize Device Context
ctx = ttml.autograd.AutoContext.get_instance()
ctx.open_device()
ctx.set_seed(42)

# 2. Create Model
n_features = 2
n_outputs = 1
model = ttml.models.linear_regression.create_linear_regression_model(n_features, n_outputs)

# 3. Configure Optimizer
opt_cfg = ttml.optimizers.SGDConfig.make(
    lr=0.1, momentum=0.0, weight_decay=0.0, dampening=0.0, nesterov=False
)
optimizer = ttml.optimizers.SGD(model.parameters(), opt_cfg)

# 4. Prepare Data
# Generate synthetic data
np.random.seed(42)
X_train = np.random.randn(256, n_features).astype(np.float32)
y_train = (X_train @ np.array([[2.0], [-1.0]])).astype(np.float32)

# 5. Training Loop
model.train()
batch_size = 32
epochs = 10

for epoch in range(epochs):
    indices = np.random.permutation(len(X_train))
    epoch_loss = 0.0
    n_batches = 0

    for i in range(0, len(X_train), batch_size):
        batch_idx = indices[i : i + batch_size]
        if len(batch_idx) < batch_size:
            continue

        # Reshape to [B, 1, 1, features] - TTML's expected format
        x_batch = X_train[batch_idx].reshape(batch_size, 1, 1, n_features)
        y_batch = y_train[batch_idx].reshape(batch_size, 1, 1, n_outputs)

        # Convert to TTML tensors
        tt_x = ttml.autograd.Tensor.from_numpy(x_batch)
        tt_y = ttml.autograd.Tensor.from_numpy(y_batch)

        # Forward pass
        optimizer.zero_grad()
        pred = model(tt_x)
        loss = ttml.ops.loss.mse_loss(pred, tt_y, ttml.ops.ReduceType.MEAN)

        # Backward pass
        loss.backward(False)  # retain graph = False

        # Get loss value AFTER backward
        loss_val = float(loss.get_value().item())
        epoch_loss += loss_val
        n_batches += 1

        # Update weights
        optimizer.step()

        # Reset computation graph
        ctx.reset_graph()

    print(f"Epoch {epoch + 1}/{epochs}, Loss: {epoch_loss / n_batches:.6f}")

# 6. Inference
model.eval()
test_x = np.array([[1.0, 1.0]], dtype=np.float32).reshape(1, 1, 1, n_features)
tt_test = ttml.autograd.Tensor.from_numpy(test_x)
prediction = model(tt_test).to_numpy(ttnn.DataType.FLOAT32)
print(f"Prediction for [1, 1]: {prediction.flatten()[0]:.4f}")  # Should be ~1.0

# 7. Cleanup
ctx.close_device()
