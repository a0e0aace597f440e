"""Every operation that these tests call is computed in shapes as well."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runtime.shapes.watching import in_shapes_too
from tt_run.runtime import catalog
from tt_run.runtime.ops.declaration import dispatch


@pytest.fixture(scope="session", autouse=True)
def every_operation() -> None:
    """All that a program could call are there, whichever test runs first: forms of an operation for other kinds of tensors are modules of their own."""
    catalog.every()


@pytest.fixture(autouse=True)
def in_shapes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test whose operations have other shapes, placements or errors without values."""
    if "listening" in request.keywords:
        yield
        return
    differences: list[str] = []
    with in_shapes_too(differences):
        yield
    assert not differences, "\n".join(differences[:5])


@pytest.fixture
def float32_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are compared in float32 as well where a device has no kernel for it: more digits show more mistakes."""
    monkeypatch.setattr(dispatch, "check_types", lambda *_: None)
    monkeypatch.setattr(
        dispatch, "_alike", lambda *_: ()
    )  # or what the rules refuse would be known as taken from then on
