"""Objects as bytes: the same for the same values, in any process."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from typing import Any

import pytest

from tt_run.runtime.record.pickles import pickled

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

MADE = """
import torch
from torch import nn
held = torch.arange(6.0).reshape(2, 3)
value = {"a": [held, held], "b": held.T.bfloat16(), "c": nn.Linear(2, 2, bias=False).state_dict(), "d": torch.tensor(3 + 4j).conj()}
value["c"]["weight"].fill_(0.5)
"""


def _made(more: str = "") -> Any:
    names: dict[str, Any] = {}
    exec(MADE + more, names)
    return names["value"]


@pytest.mark.wide
def test_another_process_writes_the_same_bytes() -> None:
    code = f"junk = [bytearray(999) for _ in range(99)]\n{MADE}\nfrom tt_run.runtime.record.pickles import pickled\nimport hashlib\nprint(hashlib.sha256(pickled(value)).hexdigest())"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True
    )
    assert ran.stdout.strip() == hashlib.sha256(pickled(_made())).hexdigest()


def test_what_was_written_is_read_again() -> None:
    value = _made()
    again = pickle.loads(pickled(value))
    assert again["a"][0] is again["a"][1]
    for one, other in zip([value["a"][0], value["b"], value["c"]["weight"], value["d"]], [again["a"][0], again["b"], again["c"]["weight"], again["d"]], strict=True):  # fmt: skip
        assert one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)
    kept = pickle.loads(pickled(torch.nn.Parameter(torch.ones(2))))
    assert isinstance(kept, torch.nn.Parameter) and kept.requires_grad
