"""Numbers with types of their own, compared as the reference library 0.81.1 compares them."""

from __future__ import annotations

import pytest

from tt_run.runtime.mesh.distributed import Rank, Size
from tt_run.runtime.mesh.view import FabricNodeId, MeshId, QueueId, SubcontextId


@pytest.mark.parametrize(
    ("number", "equals_plain", "text"),
    [(Rank(3), False, "3"), (Size(3), False, "3"), (SubcontextId(3), False, "3"), (QueueId(3), True, "QueueId(3)")],
)  # fmt: skip
def test_a_number_equals_its_own_kind(number: object, equals_plain: bool, text: str) -> None:
    kind = type(number)
    assert (number == 3) is equals_plain and number == kind(3) and number != kind(4)  # type: ignore[call-arg]
    assert (str(number), repr(number)) == (text, f"{kind.__name__}(3)")
    assert hash(number) == hash(kind(3))  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        kind(3.0)  # type: ignore[call-arg]


def test_kinds_are_told_apart() -> None:
    assert Rank(3) != Size(3) and len({Rank(3), Size(3), Rank(3)}) == 2


def test_numbers_of_one_kind_have_an_order() -> None:
    assert Rank(1) < Rank(2) and not Rank(2) < Rank(2) and Rank(2) <= Rank(2) and not Rank(3) <= Rank(2)
    assert Rank(2) > Rank(1) and sorted([Size(3), Size(1)]) == [Size(1), Size(3)]
    assert list(range(4))[Rank(2)] == 2
    for compare in (lambda: Rank(1) < Size(2), lambda: Rank(1) <= 2, lambda: QueueId(1) < QueueId(2)):
        with pytest.raises(TypeError, match="not supported"):
            compare()


def test_the_number_of_a_mesh_is_compared_with_its_kind_alone() -> None:
    assert MeshId(1) == MeshId(1) and MeshId(1) != MeshId(2) and hash(MeshId(1)) == hash(MeshId(1))
    with pytest.raises(TypeError, match="a MeshId is compared with a MeshId, not 1"):
        assert MeshId(1) == 1
    with pytest.raises(TypeError, match="mesh_id must be a MeshId, not 0"):
        FabricNodeId(0, 3)  # type: ignore[arg-type]
    assert repr(FabricNodeId(MeshId(2), 3)) == "FabricNodeId(M2, D3)"
