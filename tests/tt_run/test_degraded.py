"""What `--degrade` says, and which losses a mesh has."""

from __future__ import annotations

import pytest

from tt_run.degraded import Loss, LossError, check_loss, read_loss, read_losses


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        ("D0-D1", (0, 0, 1, None)),
        ("d0 - d1", (0, 0, 1, None)),
        ("3-2", (0, 3, 2, None)),
        ("D0-D1:1", (0, 0, 1, 1)),
        (" D0-D1 : 4 ", (0, 0, 1, 4)),
        ("M1D4-D5", (1, 4, 5, None)),
        ("M1 D4-D5:2", (1, 4, 5, 2)),
        ("D5", (0, 5, None, None)),
        ("M2D0", (2, 0, None, None)),
    ],
)
def test_a_loss_is_read(text: str, loss: tuple[int, int, int | None, int | None]) -> None:
    assert read_loss(text) == Loss(text.strip(), *loss)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "names no link and no chip"),
        ("D", "names no link and no chip"),
        ("D0:1", "names no link and no chip"),
        ("D0-D1-D2", "names no link and no chip"),
        ("D3-D3", "a link joins two devices"),
        ("D0-D1:0", "no cable is lost; write the number of those that are, or D0-D1 for all"),
    ],
)
def test_what_is_no_loss(text: str, says: str) -> None:
    with pytest.raises(LossError, match=says):
        read_loss(text)


def test_several_are_apart_by_commas_or_lines() -> None:
    assert [loss.text for loss in read_losses("D0-D1, D5\n\nD2-D3:1,")] == ["D0-D1", "D5", "D2-D3:1"]


@pytest.mark.parametrize(
    ("text", "channels", "says"),
    [
        ("D3", 2, ""),
        ("D4", 2, "mesh 0 has devices D0..D3, not D4"),
        ("D0-D4", 2, "mesh 0 has devices D0..D3, not D4"),
        ("D3-D0", 2, "no link joins D3 to D0; D3 has links to D2"),
        ("D0-D2", 2, "no link joins D0 to D2; D0 has links to D1"),
        ("D0-D1", 2, ""),
        ("D1-D2:2", 2, ""),
        ("D1-D2:3", 2, "the link has 2 channels, not 3"),
        ("D1-D2:1", 0, ""),
        ("D1-D2:2", 0, "the link has 0 channels, not 2"),
    ],
)
def test_a_line_of_four_has(text: str, channels: int, says: str) -> None:
    def near(device: int) -> set[int]:
        return {device - 1, device + 1} & set(range(4))

    try:
        check_loss(read_loss(text), 4, near, channels)
        found = ""
    except LossError as error:
        found = str(error)
    assert found == says


def test_a_chip_alone_has_no_link() -> None:
    with pytest.raises(LossError, match="D0 has links to none"):
        check_loss(read_loss("D0-D1"), 2, lambda device: (), 1)
