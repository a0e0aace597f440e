"""Mixtures of experts on each device: gates, maps of experts, tokens in their buffers, and back."""
