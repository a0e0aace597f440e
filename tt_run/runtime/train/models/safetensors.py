"""Reading and writing *.safetensors: a length, a JSON header, raw little-endian arrays. Read as memory maps, so one matrix is in memory at a time.

Own code instead of the safetensors package, whose NumPy side cannot read bfloat16 in every version.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_TYPES: dict[str, Any] = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U8": np.uint8,
    "BOOL": np.bool_,
}
_LONGEST_HEADER = 100 << 20


@dataclass(frozen=True)
class _Entry:
    file: Path
    kind: str
    shape: tuple[int, ...]
    offset: int


class Weights(Mapping[str, Array]):
    """Every tensor of one file, or of every *.safetensors file of a directory, as float32, by name without `prefix`.

    Raises FileNotFoundError when there is no such file and ValueError for a file that is damaged.
    """

    def __init__(self, directory: str, prefix: str = "model.") -> None:
        one = Path(directory)
        files = [one] if one.is_file() else sorted(one.glob("*.safetensors"))
        if not files:
            raise FileNotFoundError(
                f"No .safetensors files found in {directory}; help: the folder of a model that was downloaded"
            )
        self._entries = {name.removeprefix(prefix): entry for file in files for name, entry in _entries(file)}

    def __getitem__(self, name: str) -> Array:
        entry = self._entries[name]
        raw = np.memmap(entry.file, np.uint8, "r", entry.offset, math.prod(entry.shape) * _size(entry.kind))
        return np.asarray(raw).view(_TYPES[entry.kind]).reshape(entry.shape).astype(np.float32)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def _size(kind: str) -> int:
    return int(np.dtype(_TYPES[kind]).itemsize)


def _entries(file: Path) -> Iterator[tuple[str, _Entry]]:
    whole = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 2 <= length <= min(_LONGEST_HEADER, whole - 8):
            raise ValueError(
                f"{file} is no safetensors file: its header would have {length} bytes; help: download it again"
            )
        try:
            header = json.loads(stream.read(length))
        except ValueError as problem:
            raise ValueError(f"{file} is no safetensors file: {problem}; help: download it again") from None
    for name, facts in header.items():
        if name == "__metadata__":
            continue
        kind, shape = facts["dtype"], tuple(facts["shape"])
        start, end = facts["data_offsets"]
        if kind not in _TYPES:
            raise ValueError(f"{file}: {name} has type {kind}; read are {', '.join(_TYPES)}")
        if end - start != math.prod(shape) * _size(kind) or 8 + length + end > whole:
            raise ValueError(
                f"{file}: {name} of shape {list(shape)} does not fit its place; the file is cut short or damaged; help: download it again"
            )
        yield name, _Entry(file, kind, shape, 8 + length + start)


def write(
    path: str | os.PathLike[str], tensors: Mapping[str, Array], facts: Mapping[str, str] | None = None
) -> Path:
    """Write arrays of float32, bfloat16 or integers to one file, which appears complete or not at all. Raises TypeError for other types."""
    header: dict[str, Any] = {"__metadata__": dict(facts)} if facts else {}
    names = {np.dtype(kind): name for name, kind in _TYPES.items()}
    offset = 0
    for name, array in tensors.items():
        if array.dtype not in names:
            raise TypeError(f"{name} has type {array.dtype}; written are {', '.join(_TYPES)}")
        header[name] = {
            "dtype": names[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    with partial.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for array in tensors.values():
            stream.write(np.ascontiguousarray(array).tobytes())
    partial.replace(target)
    return target
