"""Keywords by which some forms of an operation call a parameter that its signature here calls otherwise.

The reference tells forms apart by the types of their arguments, and names the same operand differently in each; here it has the name of the
form for tensors. Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Words = Mapping[str, str | Sequence[str]]

_SECOND = {"input_tensor_a": "input_tensor", "input_tensor_b": "other_tensor", "scalar": "other_tensor"}
_NUMBER = {"input_b": "input_tensor_b"}
_OVERWRITTEN = {"input_tensor_a": "input_a", "input_tensor_b": "input_b"}

SPELLINGS: Mapping[str, Words] = {
    **{f"ttnn.{name}_bw": _SECOND for name in ("add", "sub", "mul", "div")},
    **{f"ttnn.{name}_bw": {"scalar": "input_tensor_b"} for name in ("fmod", "remainder")},
    **{f"ttnn.bitwise_{name}": _NUMBER for name in ("and", "or", "xor", "left_shift", "right_shift")},
    "ttnn.logical_left_shift": _NUMBER,
    "ttnn.add_": _OVERWRITTEN,
    "ttnn.subtract_": _OVERWRITTEN,
    "ttnn.assign": {"input_tensor": "input", "input_a": "input", "input_b": "output_tensor"},
    "ttnn.assign_bw": {"input_tensor_a": "input_tensor"},
    "ttnn.bias_gelu_bw": {"input_tensor_a": "input_tensor", "input_tensor_b": "bias"},
    "ttnn.floor_div": {"value": "input_tensor_b"},
    "ttnn.fmod": {"scalar": "input_tensor_b"},
    "ttnn.lerp_bw": {"input_tensor_c": "weight", "scalar": "weight"},
    "ttnn.mac": {
        "value1": "input_tensor_b",
        "value2": "input_tensor_c",
        "value": ("input_tensor_c", "input_tensor_b"),
    },
    "ttnn.prepare_conv_transpose2d_weights": {"slice_config": "dram_slice_config"},
    "ttnn.typecast": {"optional_output_tensor": "output_tensor"},
}
"""Operation -> keyword -> parameter, or the parameters of which it is the first that is not given."""


def spelled_as_usual(words: Words, kwargs: dict[str, object]) -> dict[str, object]:
    """Keyword arguments under the names of the signature; one that is given twice stays, so that the signature refuses it."""
    return {_usual(words, word, kwargs): value for word, value in kwargs.items()}


def _usual(words: Words, word: str, kwargs: Mapping[str, object]) -> str:
    meant = words.get(word, word)
    free = [name for name in ([meant] if isinstance(meant, str) else meant) if name not in kwargs]
    return free[0] if free else word
