"""What the examples share: NumPy arrays in, as torch tensors where PyTorch is installed, and arrays out of either."""

import hashlib

import numpy as np

try:
    import torch
except ImportError:
    torch = None


def as_user_tensor(array):
    """What a user's script holds: a torch tensor where torch is installed, else the NumPy array."""
    return torch.from_numpy(array) if torch is not None else array


def as_array(tensor):
    """A torch tensor or array as float32."""
    if torch is not None and isinstance(tensor, torch.Tensor):
        return tensor.float().numpy()
    return np.asarray(tensor, np.float32)


def digest(array):
    """The first characters of the hash of an array's bytes: equal bits, equal text."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def correlation(expected, found):
    """Pearson correlation of two arrays."""
    return float(np.corrcoef(np.ravel(expected), np.ravel(found))[0, 1])


def gelu(x):
    """x * Phi(x) with the error function by Abramowitz and Stegun 7.1.26 (absolute error 1.5e-7): NumPy has no erf."""
    z = np.abs(x) * np.float32(2**-0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return (0.5 * x * (1 + np.sign(x) * (1 - series * np.exp(-z * z)))).astype(np.float32)
