"""Where tensors meet the outside: arrays of NumPy and torch, and files."""
