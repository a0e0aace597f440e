"""Device groups and the exchanges between their ranks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.ccl.reference import device_groups
from tt_run.runtime.ccl.exchange.groups import exchanges
from tt_run.runtime.ccl.exchange.lanes import lanes_of
from tt_run.runtime.mesh import MeshShape, open_mesh_device


@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (1, 8), (2, 2)])
def test_groups_of_a_mesh_follow_its_axes(shape):
    device = open_mesh_device(MeshShape(*shape))
    for axis in (None, 0, 1):
        assert device.axis_groups(axis) == device_groups(shape, axis)
        lanes = lanes_of(device, axis)
        assert (lanes.groups, lanes.members) == (
            device_groups(shape, axis),
            len(device_groups(shape, axis)[0]),
        )
        assert lanes.group is None  # one rank has nobody to agree with
    assert device.axis_groups(-1) == device.axis_groups(1)
    device.close()


def test_columns_of_a_mesh_cut_in_halves_stay_local():
    owners = (0, 0, 1, 1, 0, 0, 1, 1)
    columns = exchanges(device_groups((2, 4), 0), owners)
    assert [(e.ranks, e.groups, e.local) for e in columns] == [
        ((0,), ((0, 4), (1, 5)), True),
        ((1,), ((2, 6), (3, 7)), True),
    ]
    (rows,) = exchanges(device_groups((2, 4), 1), owners)
    assert rows.ranks == (0, 1)
    assert rows.held == ((0, 1, 4, 5), (2, 3, 6, 7))


@given(
    st.integers(1, 5),
    st.integers(1, 5),
    st.sampled_from([None, 0, 1]),
    st.lists(st.integers(0, 3), min_size=25, max_size=25),
)
def test_every_device_is_in_one_group_and_held_by_its_owner(rows, columns, axis, ranks):
    owners = tuple(ranks[: rows * columns])
    groups = device_groups((rows, columns), axis)
    assert sorted(p for g in groups for p in g) == list(range(rows * columns))
    found = exchanges(groups, owners)
    assert sorted(g for e in found for g in e.groups) == sorted(groups)
    for exchange in found:
        for rank, held in zip(exchange.ranks, exchange.held, strict=True):
            assert held
            assert all(owners[p] == rank for p in held)
