"""The NanoGPT of the "TTML Onboarding Guide", as printed but for its sizes, its rate and the place of its text."""
# ruff: noqa - the code of a public document, as printed

import sys

import numpy as np
import ttnn
import ttml
from ttml.models.nanogpt import create_nanogpt, NanoGPTConfig
from ttml.common.data import CharTokenizer

# 1. Initialize
ctx = ttml.autograd.AutoContext.get_instance()
ctx.open_device()
ctx.set_seed(42)

# 2. Load Data & Create Tokenizer
with open(sys.argv[1]) as f:
    text = f.read()

tokenizer = CharTokenizer(text)
tokens = tokenizer.encode(text)

# Create sequences
sequence_length = 32
dataset = []
for i in range(len(tokens) - sequence_length):
    seq = tokens[i : i + sequence_length]
    target = tokens[i + 1 : i + sequence_length + 1]
    dataset.append((seq, target))

print(f"Vocab size: {tokenizer.vocab_size}")
print(f"Dataset size: {len(dataset)} sequences")

# 3. Create Model
# Round vocab to tile boundary (multiple of 32)
vocab_size = ((tokenizer.vocab_size + 31) // 32) * 32

config = NanoGPTConfig(
    vocab_size=vocab_size, block_size=sequence_length, n_embd=48, n_layer=1, n_head=6, dropout=0.2, bias=True
)
model = create_nanogpt(config)

# 4. Configure Optimizer
adamw_config = ttml.optimizers.AdamWConfig.make(
    lr=3e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.01
)
optimizer = ttml.optimizers.AdamW(model.parameters(), adamw_config)

# 5. Create Causal Mask
mask_np = np.tril(np.ones((sequence_length, sequence_length), dtype=np.float32))
mask_np = mask_np.reshape(1, 1, sequence_length, sequence_length)
causal_mask = ttml.autograd.Tensor.from_numpy(
    mask_np, layout=ttnn.Layout.TILE, new_type=ttnn.DataType.BFLOAT16
)

# 6. Training Loop
batch_size = 4
max_steps = 12
gradient_accumulation_steps = 4

model.train()

for step in range(max_steps):
    # Sample random batch
    batch_indices = np.random.randint(0, len(dataset), batch_size)

    # Prepare batch
    input_ids = []
    target_ids = []
    for idx in batch_indices:
        seq, tgt = dataset[idx]
        input_ids.extend(seq)
        target_ids.extend(tgt)

    input_np = np.array(input_ids, dtype=np.uint32).reshape(batch_size, 1, 1, sequence_length)
    target_np = np.array(target_ids, dtype=np.uint32).reshape(batch_size, sequence_length)

    input_tensor = ttml.autograd.Tensor.from_numpy(
        input_np, layout=ttnn.Layout.ROW_MAJOR, new_type=ttnn.DataType.UINT32
    )
    target_tensor = ttml.autograd.Tensor.from_numpy(
        target_np, layout=ttnn.Layout.ROW_MAJOR, new_type=ttnn.DataType.UINT32
    )

    # Zero gradients at accumulation boundary
    if step % gradient_accumulation_steps == 0:
        optimizer.zero_grad()

    # Forward pass
    logits = model(input_tensor, causal_mask)

    # Compute loss
    loss = ttml.ops.loss.cross_entropy_loss(logits, target_tensor, reduce=ttml.ops.ReduceType.MEAN)

    # Scale loss for gradient accumulation
    if gradient_accumulation_steps > 1:
        loss = ttml.ops.binary.mul(loss, 1.0 / gradient_accumulation_steps)

    # Get loss value
    loss_val = float(loss.get_value().item())

    # Backward pass
    loss.backward(False)
    ctx.reset_graph()

    # Optimizer step at accumulation boundary
    if (step + 1) % gradient_accumulation_steps == 0:
        optimizer.step()
        print(f"Step {step + 1}, Loss: {loss_val * gradient_accumulation_steps:.4f}")

# 7. Text Generation
model.eval()


def generate(prompt, max_tokens=100):
    prompt_ids = tokenizer.encode(prompt)

    # Pad to sequence length
    if len(prompt_ids) < sequence_length:
        padding = [0] * (sequence_length - len(prompt_ids))
        prompt_ids = padding + prompt_ids

    generated = []
    running = list(prompt_ids[-sequence_length:])

    for _ in range(max_tokens):
        # Prepare input
        input_np = np.array(running, dtype=np.uint32).reshape(1, 1, 1, sequence_length)
        input_tensor = ttml.autograd.Tensor.from_numpy(
            input_np, layout=ttnn.Layout.ROW_MAJOR, new_type=ttnn.DataType.UINT32
        )

        # Forward
        logits = model(input_tensor, causal_mask)

        # Sample from last position (greedy)
        last_logits = logits.get_value()
        next_id = int(ttnn.argmax(last_logits, dim=-1).item()) % tokenizer.vocab_size

        generated.append(next_id)
        running = running[1:] + [next_id]
        ctx.reset_graph()

    return tokenizer.decode(generated)


print("\nGenerated text:")
print(generate("ROMEO: ", max_tokens=6))

ctx.close_device()
