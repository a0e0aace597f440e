"""The TinyLlama inference of the "TTML Onboarding Guide", as printed; its downloads come from the folder of the test."""
# ruff: noqa - the code of a public document, as printed

import os
import sys
import numpy as np
import ttml
from downloads import AutoTokenizer, hf_hub_download
from ttml.common.config import load_config
from ttml.common.model_factory import TransformerModelFactory
from ttml.common.utils import initialize_device, set_seed

# 1. Setup
set_seed(42)
os.chdir(os.path.join(os.environ.get("TT_METAL_HOME", "."), "tt-train"))

# 2. Load Model Configuration
model_config_path = "configs/model_configs/tinyllama.yaml"
model_yaml = load_config(model_config_path)
print(f"Loaded model config: {model_config_path}")

# 3. Initialize Device
device_config = {"device_config": {"mesh_shape": [1, 1]}}  # Single device
initialize_device(device_config)
ctx = ttml.autograd.AutoContext.get_instance()
ctx.set_gradient_mode(ttml.autograd.GradMode.DISABLED)  # Inference mode
print("Device initialized")

# 4. Create and Load Model
model_factory = TransformerModelFactory(model_yaml)
model = model_factory.create_model()
model.eval()

# Download and load weights from Hugging Face
model_path = "TinyLlama/TinyLlama-1.1B-Chat-v1.0"
safetensors_dir = hf_hub_download(repo_id=model_path, filename="model.safetensors")
safetensors_dir = safetensors_dir.replace("model.safetensors", "")
model.load_from_safetensors(safetensors_dir)
print(f"Model loaded from: {model_path}")

# 5. Load Tokenizer
tokenizer = AutoTokenizer.from_pretrained(model_path)
print(f"Tokenizer loaded (vocab size: {tokenizer.vocab_size})")

# 6. Run Inference
prompt = "The capital of France is"
input_ids = tokenizer.encode(prompt, return_tensors="np")[0]

# Convert to TTML tensor format [B, 1, 1, seq_len]
input_tensor = ttml.autograd.Tensor.from_numpy(
    input_ids.reshape(1, 1, 1, len(input_ids)), layout=ttml.Layout.ROW_MAJOR, new_type=ttml.DataType.UINT32
)

# Create causal mask
seq_len = len(input_ids)
mask_np = np.tril(np.ones((seq_len, seq_len), dtype=np.float32))
mask = ttml.autograd.Tensor.from_numpy(
    mask_np.reshape(1, 1, seq_len, seq_len), layout=ttml.Layout.TILE, new_type=ttml.DataType.BFLOAT16
)

# Forward pass
logits = model(input_tensor, mask)
output_ids = ttml.argmax(logits.get_value(), dim=-1).to_numpy(ttml.DataType.UINT32)

# Decode output
generated_text = tokenizer.decode(output_ids.flatten()[: len(input_ids)])
print(f"\nPrompt: {prompt}")
print(f"Generated: {generated_text}")

# 7. Cleanup
ctx.close_device()
