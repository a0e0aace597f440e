"""Models: linear regression, MLP, NanoGPT, GPT-2, Llama, whole and over mesh axes."""
