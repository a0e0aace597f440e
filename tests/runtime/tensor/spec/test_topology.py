"""How a tensor is spread: what is equal, what its text is, what becomes of it on a part of a mesh and after a reshape."""

from __future__ import annotations

from typing import Any

import pytest

from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate, row_major
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.spec.topology import (
    PlacementReplicate,
    PlacementShard,
    TensorTopology,
    after_reshape,
    as_partly,
    holders,
    leaves_out,
    of_one_shard,
    on_part,
    only_shard,
    partly,
)

COORDS = row_major(MeshShape(2, 2))


def spread(*placements: Any, shape: tuple[int, ...] = (2, 2), coords: Any = COORDS) -> TensorTopology:
    return TensorTopology(MeshShape(shape), placements, coords)


def test_equal_ones_have_the_same_shape_placements_and_places() -> None:
    one = spread(PlacementShard(0), PlacementReplicate())
    same = spread(PlacementShard(0), PlacementReplicate())
    assert one == same and hash(one) == hash(same)
    for other in (
        spread(PlacementShard(1), PlacementReplicate()),
        spread(PlacementReplicate(), PlacementShard(0)),
        spread(PlacementShard(0), PlacementReplicate(), shape=(1, 4)),
        spread(PlacementShard(0), PlacementReplicate(), coords=COORDS[:2]),
    ):
        assert one != other and hash(one) != hash(other)
    assert one != "a topology"


def test_its_text() -> None:
    text = str(spread(PlacementShard(-1), PlacementReplicate(), coords=COORDS[:2]))
    assert text == (
        "TensorTopology(distribution_shape=MeshShape([2, 2]), "
        "placements=SmallVector([PlacementShard(-1), PlacementReplicate()]), "
        "mesh_coords=MeshCoordinate([0, 0]), MeshCoordinate([0, 1]))"
    )


def test_placements_of_a_kind() -> None:
    assert (
        PlacementReplicate() == PlacementReplicate()
        and len({PlacementReplicate()} | {PlacementReplicate()}) == 1
    )
    assert PlacementShard(True + 1).dim == 2
    for wrong in (
        lambda: PlacementReplicate(1),
        lambda: PlacementReplicate(dim=1),
        lambda: PlacementReplicate() == PlacementShard(0),
        lambda: PlacementShard(),
        lambda: PlacementShard(0, 1),
        lambda: PlacementShard(True),
        lambda: PlacementShard(1.0),
        lambda: PlacementShard(dim=1),
    ):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            wrong()


def test_on_a_part_of_its_places() -> None:
    whole = spread(PlacementReplicate(), PlacementReplicate())
    assert holders(whole) == tuple(COORDS) and partly(whole) is None and only_shard(whole) is None
    assert not leaves_out(whole, 4) and leaves_out(whole, 8)
    part = on_part(whole, COORDS[1:3])
    assert (holders(part), partly(part), only_shard(part)) == (tuple(COORDS[1:3]),) * 2 + (None,)
    assert leaves_out(part, 4) and part.mesh_coords() == COORDS
    one = of_one_shard(whole, COORDS[2])
    assert only_shard(one) == COORDS[2] and holders(one) == (COORDS[2],)


def test_what_is_known_of_places_goes_along() -> None:
    whole, other = (spread(PlacementReplicate(), PlacementShard(dim)) for dim in (0, 1))
    assert as_partly(whole, other) is whole
    taken = as_partly(whole, of_one_shard(other, COORDS[3]))
    assert taken.placements() == whole.placements() and only_shard(taken) == COORDS[3]
    assert only_shard(as_partly(whole, on_part(other, COORDS[:1]))) is None


def test_places_follow_a_reshape() -> None:
    turned = {coord: MeshCoordinate(0, number) for number, coord in enumerate(COORDS)}
    whole = after_reshape(spread(PlacementShard(0), PlacementShard(1)), turned)
    assert whole.mesh_coords() == list(turned.values()) and partly(whole) is None
    assert whole.distribution_shape() == MeshShape(2, 2)
    one = after_reshape(of_one_shard(spread(PlacementShard(0), PlacementShard(1)), COORDS[3]), turned)
    assert only_shard(one) == MeshCoordinate(0, 3)
    elsewhere = after_reshape(spread(PlacementShard(0), PlacementShard(1)), {})
    assert elsewhere.mesh_coords() == COORDS
