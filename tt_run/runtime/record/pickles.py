"""Objects as bytes that are the same for the same values, in this process and in a replay of it."""

from __future__ import annotations

import io
import pickle
import sys
from typing import Any

import numpy as np


def pickled(value: Any) -> bytes:
    """The object as `pickle.dumps` writes it, with PyTorch's tensors by their values alone: its own form of them holds numbers of the process.

    Raises what pickling the object raises.
    """
    out = io.BytesIO()
    _Pickler(out).dump(value)
    return out.getvalue()


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is None or type(obj) is not getattr(torch, "Tensor", None):
            return NotImplemented
        if obj.layout is not torch.strided or obj.device.type != "cpu" or obj.is_quantized or vars(obj):
            return NotImplemented
        data = obj.detach().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8).numpy()
        return _tensor, (data, str(obj.dtype).removeprefix("torch."), tuple(obj.shape), obj.requires_grad)


def _tensor(data: Any, dtype: str, shape: tuple[int, ...], requires_grad: bool) -> Any:
    """The tensor again."""
    import torch

    found = torch.from_numpy(np.array(data, np.uint8)).view(getattr(torch, dtype)).reshape(shape)
    return found.requires_grad_() if requires_grad else found
