"""Layers of a Llama that hold what were several: names of theirs in plans, targets and files mean the joint ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

PARTS = {"qkv_linear": ("q_linear", "kv_linear"), "w_gate_up": ("w1", "w3")}
"""Joint layers, and the layers whose rows they hold, from the first row on."""
_JOINT = {part: joint for joint, parts in PARTS.items() for part in parts}
_NAMES = re.compile("kv_linear|q_linear|w1|w3")


def joint_names(text: str) -> str:
    """A name, or an expression for names, with joint layers in the place of their parts; as it is where it names a joint one."""
    return text if any(joint in text for joint in PARTS) else _NAMES.sub(lambda part: _JOINT[part[0]], text)


def part_names(text: str) -> str:
    """A name, or an expression for names, with the parts of joint layers in their place; as it is where it names none."""
    for joint, parts in PARTS.items():
        text = text.replace(joint, rf"\b({'|'.join(parts)})")
    return text


def joints_of(names: Collection[str], wanted: Iterable[str]) -> dict[str, str]:
    """Of names of parameters, `Llama/blocks/0/mlp/w1/weight`, those of parts of a joint layer that is `wanted` and not there, each with its name."""
    found = {}
    for name in wanted:
        root, _, kind = name.rpartition("/")
        above, _, layer = root.rpartition("/")
        parts = [f"{above}/{part}/{kind}" for part in PARTS.get(layer, ())]
        if parts and name not in names and all(part in names for part in parts):
            found.update(dict.fromkeys(parts, name))
    return found


def joined(arrays: Mapping[str, Array], wanted: Iterable[str]) -> Mapping[str, Array]:
    """Arrays by name, where those of joint layers that are `wanted` and not there are made of their parts, which then are gone."""
    joints = joints_of(arrays, wanted)
    if not joints:
        return arrays
    found = {name: arrays[name] for name in arrays if name not in joints}
    return {
        **found,
        **{
            name: concatenated(name, [arrays[part] for part, joint in joints.items() if joint == name])
            for name in dict.fromkeys(joints.values())
        },
    }


def concatenated(name: str, parts: list[Array]) -> Array:
    """Rows of weights, or features of biases, of a joint layer below one another."""
    return np.concatenate(parts, max(parts[0].ndim - 2, 0) if name.endswith("/weight") else -1)
