"""Processes that a rank has started are refused; the rank itself, and processes that no rank has started, are not."""

from __future__ import annotations

import os

import pytest

from tt_run import contract
from tt_run.runtime.guard.descendants import ForkedGuard, is_rank


def test_whoever_asks_a_forked_guard_is_refused() -> None:
    with pytest.raises(
        RuntimeError, match=r"(?s)compute in children .*This process was forked off a rank \(process 17\)"
    ):
        ForkedGuard(17).collective()


@pytest.mark.parametrize(
    ("said", "taken"),
    [("", True), (str(os.getpid()), True), ("17", False)],
    ids=["nothing", "itself", "another process"],
)
def test_a_process_that_a_rank_has_started_is_none(
    monkeypatch: pytest.MonkeyPatch, said: str, taken: bool
) -> None:
    put: list[tuple[str, str]] = []
    monkeypatch.setattr(os, "putenv", lambda name, value: put.append((name, value)))
    monkeypatch.setitem(os.environ._data, os.environ.encodekey(contract.RANK_PROCESS), said.encode())  # type: ignore[attr-defined]
    if taken:
        is_rank()
        assert put == [(contract.RANK_PROCESS, str(os.getpid()))]
        return
    with pytest.raises(
        RuntimeError, match=r"(?s)if __name__ == '__main__'.*started by a rank \(process 17\)"
    ):
        is_rank()
    assert not put
