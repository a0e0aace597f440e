"""Decoders as upstream's Python package builds them, with the names of Hugging Face's configurations: Llama, Qwen3, DeepSeek."""
