"""Warnings of NumPy are off between two calls, on this thread alone, and are what they were afterwards; in every release of NumPy."""

from __future__ import annotations

import importlib
import sys
import threading
import warnings

import numpy as np
import pytest

from tt_run.runtime.values import float_warnings

LARGE = np.full(4, 3e38, np.float32)


def warned() -> bool:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        LARGE + LARGE
    return bool(told)


@pytest.mark.parametrize("public", [False, True])
def test_warnings_are_off_inside_and_as_before_outside(monkeypatch: pytest.MonkeyPatch, public: bool) -> None:
    if public:  # a release that keeps its state elsewhere
        state = sys.modules.get("numpy._core.umath")  # not there before NumPy 2
        monkeypatch.delattr(state, "_extobj_contextvar", raising=False)
    switches = importlib.reload(float_warnings)
    elsewhere: list[bool] = []
    with np.errstate(over="warn", invalid="raise"):
        before = switches.silence()
        try:
            assert not warned()
            assert np.isnan(np.float32(np.inf) - np.float32(np.inf))
            thread = threading.Thread(target=lambda: elsewhere.append(warned()))
            thread.start()
            thread.join()
        finally:
            switches.restore(before)
        assert warned()
        assert np.geterr()["invalid"] == "raise"
    assert elsewhere == [True]
    monkeypatch.undo()
    importlib.reload(float_warnings)
