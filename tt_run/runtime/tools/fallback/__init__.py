"""Operations that the host computes with PyTorch while tensors stay where they are: `tt_lib.fallback_ops`, and its helpers."""
