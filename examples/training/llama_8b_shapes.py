"""What training a Llama of eight billion parameters would take, found out from its configuration without making one number.

    tt-run --emulate --system galaxy python examples/training/llama_8b_shapes.py

Parameters that wait for their numbers have shapes; the shapes give memory for each way of cutting them, and the configuration operations.
"""

import math

import ttml
from ttml.models.llama import Llama, LlamaConfig
from ttml.models.llama.flops import calculate_flops_per_token

LENGTH = 8192
config = LlamaConfig(
    hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
    vocab_size=128256, max_position_embeddings=LENGTH, rope_theta=500000.0,
)  # fmt: skip
with ttml.lazy_init():
    model = Llama(config)
shapes = [parameter.peek_tensor().shape for _, parameter in model.lazy_parameters()]
count = sum(math.prod(shape) for shape in shapes)
print(f"{len(shapes)} parameters of {count / 1e9:.2f} billion numbers")
print(
    f"{calculate_flops_per_token(config, LENGTH) / 1e9:,.0f} billion operations for each token at {LENGTH} positions"
)
GIB = 1 << 30
for name, devices in (("one device", 1), ("8 devices of a T3000", 8), ("32 devices of a Galaxy", 32)):
    weights = 2 * count / devices / GIB  # bfloat16
    state = 4 * weights  # gradient, and AdamW's two moments
    room = "fits in 12 GiB" if state + weights < 12 else "does not fit in 12 GiB"
    print(
        f"cut over {name}: {weights:.2f} GiB of weights, {state + weights:.2f} GiB with gradients and moments: {room}"
    )
assert count == 8_030_261_248
