"""What a collective finds on links that lost cables."""

from __future__ import annotations

import pytest

from tt_run.runtime.prediction.calls import _detour, carries
from tt_run.runtime.traffic import Fabric


@pytest.mark.parametrize(
    ("left", "channels", "used", "expected"),
    [
        (1.0, 2, 1, 1.0),
        (0.5, 2, 1, 1.0),  # the cable that is lost was not used
        (0.5, 2, 2, 0.5),
        (0.75, 4, 4, 0.75),
        (0.25, 4, 2, 0.5),
        (0.5, 2, 9, 0.5),  # more links asked for than there are
        (0.5, 0, 1, 0.5),  # nobody says how many there were
    ],
)
def test_a_lost_cable_costs_what_was_used_of_it(
    left: float, channels: int, used: float, expected: float
) -> None:
    assert carries(Fabric((1, 2), left={(0, 1): left}), (0, 1), channels, used) == expected


def test_hops_around_a_lost_link_are_counted() -> None:
    lost = Fabric((2, 2), left={(0, 1): 0.0, (1, 0): 0.0})
    assert (_detour((0, 1, 3), lost), _detour((0, 2, 3), lost)) == (2, 0)
