"""What every test of collectives in one process looks at beside its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.values.shards import Shards


@pytest.fixture(autouse=True)
def what_others_would_make(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank whose devices hold nothing makes shards of the shape and type that it is told; here they are compared with those of a device that does."""
    made = Shards.from_each

    def compared(arrays: Sequence[Any], like: Any = None) -> Shards:
        for array in arrays if like is not None else ():
            assert array is None or (like.shape[1:], like.dtype) == (np.shape(array), array.dtype)
        return made(arrays, like)

    monkeypatch.setattr(Shards, "from_each", staticmethod(compared))
