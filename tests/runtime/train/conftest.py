"""A fresh training context on a mesh of the four-device part of a T3000, in either arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tt_run import contract
from tt_run.runtime.train.autograd import arithmetic
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.parallelism import DistributedConfig
from tt_run.runtime.train.parallel import named_mesh
from tt_run.runtime.train.parallel.distributed import disable_fabric

Opened = Callable[..., AutoContext]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """opened(mesh_shape, arithmetic, ddp, tp): a context as a new process would have it."""
    monkeypatch.setenv(contract.SYSTEM, "t3000")
    monkeypatch.setattr(named_mesh, "_open", None)  # a mesh with names that another test has opened
    made: list[AutoContext] = []

    def make(
        shape: tuple[int, int] = (1, 1), arithmetic: str = "float32", *, ddp: bool = False, tp: bool = False
    ) -> AutoContext:
        for context in made:
            context.close_device()
        monkeypatch.setattr(AutoContext, "_instance", None)
        context = AutoContext.get_instance()
        made.append(context)
        context.set_arithmetic(arithmetic)
        context.open_device(shape)
        context.initialize_parallelism_context(DistributedConfig(ddp, tp))
        context.set_seed(7)
        return context

    AutoContext.get_instance().close_device()
    yield make
    for context in made:
        context.close_device()


@pytest.fixture(autouse=True)
def usual_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test starts with the arithmetic that a program starts with and ends without a fabric: a choice stays for the process, and any
    test may come first."""
    monkeypatch.delenv(contract.ARITHMETIC, raising=False)
    arithmetic.restart()
    yield
    disable_fabric()
