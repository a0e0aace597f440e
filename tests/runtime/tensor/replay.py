"""Evaluate recorded expressions against the emulated `ttnn` and report where its answers differ.

Run as a program: `replay.py RECORDS.json` prints one JSON list of differences. Records are evaluated in order in one namespace, with the
helper functions that the recorded expressions use.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from typing import Any

import numpy as np


def namespace() -> dict[str, Any]:
    """The names that recorded expressions refer to."""
    import os

    import ttnn

    rounded = (ttnn.bfloat16, ttnn.bfloat8_b, ttnn.bfloat4_b)

    def T(
        a: Any, dt: Any = None, layout: Any = None, dev: Any = None, mapper: Any = None, **more: Any
    ) -> Any:
        values = np.asarray(a)
        if values.dtype == np.float64:
            values = values.astype(np.float32)
        if isinstance(mapper, ttnn.ReplicateTensorToMeshWrapper):
            mapper = mapper.unwrap()
        return ttnn.Tensor(tensor=values, data_type=dt, device=dev, layout=layout, mesh_mapper=mapper, **more)

    def info(t: Any) -> dict[str, Any]:
        topology = t.tensor_topology()
        return {
            "shape": list(t.shape),
            "padded": list(t.padded_shape),
            "dtype": str(t.dtype),
            "layout": str(t.layout),
            "storage": str(t.storage_type()),
            "mem": str(t.memory_config()),
            "placements": str(topology.placements()),
            "dist_shape": str(topology.distribution_shape()),
            "coords": [str(c) for c in topology.mesh_coords()],
        }

    def npy(t: Any, composer: Any = None) -> Any:
        if t.dtype in rounded:
            t = ttnn.to_dtype(t, ttnn.float32)
        return t.to_numpy(composer) if composer is not None else t.to_numpy()

    def shards(t: Any) -> list[Any]:
        return [npy(x) for x in ttnn.get_device_tensors(t)]

    def ar(*shape: int) -> Any:
        return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)

    return {
        "ttnn": ttnn,
        "np": np,
        "os": os,
        "T": T,
        "info": info,
        "npy": npy,
        "shards": shards,
        "ar": ar,
    }


def plain(value: Any) -> Any:
    """An answer in the form of the records."""
    if isinstance(value, np.ndarray):
        told: dict[str, Any] = {"ndarray_shape": list(value.shape), "dtype": str(value.dtype)}
        if value.size <= 4096:
            flat = value.astype(np.float64).ravel() if value.dtype.kind == "f" else None
            told["data"] = (
                value.astype(object).tolist()
                if flat is None
                else [float(x) if np.isfinite(x) else None for x in flat]
            )
        told["sum"] = float(value.astype(np.float64).sum())
        return told
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (int, float, bool, str)) or value is None:
        return value
    texts = {"repr": repr(value), "str": str(value), "type": type(value).__name__}
    return {key: re.sub(r"0x[0-9a-f]+", "0xADDR", text) for key, text in texts.items()}


def message_of(error: BaseException) -> str:
    """The part of an error's text that programs test: after `info:`, or the first line of a TypeError."""
    text = str(error)
    if "\ninfo:\n" in text:
        return text.split("\ninfo:\n", 1)[1].strip()
    return text.strip()


def difference(record: dict[str, Any], names: dict[str, Any]) -> str | None:
    """What is not as recorded; None when it agrees."""
    if "exec" in record:
        exec(record["exec"], names)
        return None
    if "stdout_of" in record:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            eval(record["stdout_of"], names)
        return None if out.getvalue() == record["stdout"] else out.getvalue()
    try:
        value = plain(eval(record["code"], names))
    except Exception as error:
        if "crash" in record:
            return None
        if "error" not in record:
            return f"raised {type(error).__name__}: {error}"
        if type(error).__name__ != record["error"]:
            return f"raised {type(error).__name__} instead of {record['error']}: {error}"
        found, wanted = message_of(error), record["short"]
        if record["error"] == "TypeError":
            found, wanted = found.split("\n")[0], wanted.split("\n")[0]
        return None if found == wanted else f"said {found!r}"
    if "crash" in record:
        return f"answered {value!r} where the reference crashes"
    if "error" in record:
        return f"answered {value!r} instead of raising {record['error']}: {record['short']}"
    return None if value == record["value"] else f"answered {value!r}"


def main(path: str) -> None:
    with open(path) as file:
        records = json.load(file)
    names, differences = namespace(), []
    for record in records:
        code = record.get("code") or record.get("stdout_of") or record["exec"]
        try:
            found = difference(record, names)
        except Exception as error:
            found = f"could not be evaluated: {type(error).__name__}: {error}"
        if found is not None:
            differences.append({"code": code, "found": found, "record": record})
    print(json.dumps(differences))


if __name__ == "__main__":
    main(sys.argv[1])
