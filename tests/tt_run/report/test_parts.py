"""Pieces of the page by themselves: words, steps in logs, charts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tt_run.report.charts import Series, line_chart, thinned, ticks
from tt_run.report.charts import axis_number as axis_number
from tt_run.report.curves import steps_of
from tt_run.report.outcome import _devices
from tt_run.report.words import Cleaner, data, ranks_text, short_site, size, span


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("10 %\r20 %\r\nnext\r\n", "20 %\nnext\n"),
        ("\udcff \x07", "? \N{REPLACEMENT CHARACTER}"),
        ("HF_TOKEN=abc MAX_TOKENS=5", "HF_TOKEN=******** MAX_TOKENS=5"),
        ("db_password: 'a b c' next", "db_password: ******** next"),
        ("https://me:pw@host/x", "https://********@host/x"),
        ("it says hunter22 aloud", "it says ******** aloud"),
    ],
)
def test_what_programs_print_is_made_fit_to_be_shown(text: str, shown: str) -> None:
    assert Cleaner({"MY_SECRET": "hunter22", "OTHER_TOKEN": "a"})(text) == shown


def test_a_secret_is_taken_out_where_it_is_long_enough_to_be_one() -> None:
    clean = Cleaner({"A_TOKEN": "abcde", "B_TOKEN": "abcdef", "PLACE": "abcdefgh"})
    assert clean("abcde abcdef abcdefgh") == "abcde ******** ********gh"


def test_data_cannot_end_its_element() -> None:
    value = ["</script><!--", "\udcff", {"a & b": 1.5}]
    text = data(value)
    assert not re.search("[<>&]", text) and json.loads(text) == value


def test_numbers_as_people_read_them() -> None:
    assert [size(n) for n in (0, 1023, 1536, 3 << 30)] == ["0 B", "1023 B", "1.5 KiB", "3.0 GiB"]
    assert [span(s) for s in (2e-6, 0.0124, 3.25, 250, 7500)] == [
        "2 µs",
        "12.4 ms",
        "3.25 s",
        "4 min 10 s",
        "2 h 5 min",
    ]
    assert [span(s) for s in (1e-3, 1, 59, 60, 3599, 3600)] == [
        "1 ms", "1 s", "59 s", "1 min 0 s", "59 min 59 s", "1 h 0 min",
    ]  # fmt: skip
    assert [size(n) for n in (1024, 1 << 20, 1 << 40, 5 << 40)] == [
        "1.0 KiB",
        "1.0 MiB",
        "1.0 TiB",
        "5.0 TiB",
    ]
    assert ranks_text([3, 0, 1, 2, 7]) == "0–3, 7"
    assert short_site("/a/b/train.py:12") == "train.py:12"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            "Step: 5, Loss: 2.300000, Time: 12.5 ms, TPS: 100",
            {"loss": 2.3, "ms per step": 12.5, "tokens/s": 100},
        ),
        ("step 5: loss 0.25, lr 1e-3", {"loss": 0.25, "learning rate": 1e-3}),
        ("Step: 5, Loss on held-out text: 2.5", {"loss on held-out text": 2.5}),
        ("iteration 5 train_loss=0.5 val loss: .25", {"train loss": 0.5, "val loss": 0.25}),
        ("████ 5/9  Step: 5, Loss: nan", {"loss": "nan"}),
        ("loss 0.5 without its place", {}),
        ("a step towards less loss", {}),
    ],
)
def test_steps_in_logs(line: str, found: dict[str, float]) -> None:
    told = {name: values[5] for name, values in steps_of(f"before\n{line}\nafter\n").items()}
    assert {name: "nan" if value != value else value for name, value in told.items()} == found


def test_a_chart_keeps_its_peaks_and_its_frame() -> None:
    points = tuple((float(n), 900.0 if n == 3333 else float(n % 7)) for n in range(10_000))
    kept = thinned(points)
    assert len(kept) <= 600 and (3333.0, 900.0) in kept and kept[0][0] < 20 and kept[-1][0] > 9980
    drawn = line_chart('a "title" <', [Series("<s>", points), Series("one", ((5.0, 1.0),))], across="step")
    assert 'aria-label="a &quot;title&quot; &lt;"' in drawn and 'data-name="&lt;s&gt;"' in drawn
    places = [
        tuple(map(float, each.split(",")))
        for words in re.findall(' points="([^"]*)"', drawn)
        for each in words.split()
    ]
    assert all(0 <= x <= 720 and 0 <= y <= 220 for x, y in places)
    assert line_chart("nothing", [Series("a", ((1.0, float("nan")),))], across="step") == ""


@pytest.mark.parametrize(
    "values", [(0.0,), (5.0, 5.0), (-1.0, 1.0), (1e-9, 2e-9), (1e12, 3e12), (float(1 << 20), 3.0 * (1 << 30))]
)
@pytest.mark.parametrize("unit", ["", "B"])
def test_axes_have_a_few_round_numbers(values: tuple[float, ...], unit: str) -> None:
    drawn = line_chart("t", [Series("s", tuple(enumerate(values)))], across="x", unit=unit)  # type: ignore[arg-type]
    ticks = re.findall('text-anchor="end">([^<]*)', drawn)
    assert 2 <= len(ticks) <= 9 and len(set(ticks)) == len(ticks)


@pytest.mark.parametrize(
    ("low", "high", "numbers"),
    [
        (0, 4, [0, 1, 2, 3, 4]),
        (0, 8, [0, 2, 4, 6, 8]),
        (0, 10, [0, 2.5, 5, 7.5, 10]),
        (0, 17, [0, 5, 10, 15, 20]),
        (0, 33, [0, 10, 20, 30, 40]),
        (0, 0.04, [0, 0.01, 0.02, 0.03, 0.04]),
        (-1, 1, [-1, -0.5, 0, 0.5, 1]),
        (1, 9, [0, 2, 4, 6, 8, 10]),
        (3, 3, [3, 6]),
        (-3, -3, [-3, 0]),
        (0, 0, [0, 1]),
    ],
)
def test_the_numbers_at_an_axis(low: float, high: float, numbers: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(numbers)


def test_the_numbers_at_an_axis_of_bytes_are_powers_of_two() -> None:
    assert ticks(0, 1000, bytes_=True) == [0, 256, 512, 768, 1024]
    assert ticks(0, 1, bytes_=True) == [0, 1]
    assert [axis_number(value, "") for value in (0.5, 999.0, 1000.0, -1500.0, 1e6, -2e6)] == [
        "0.5", "999", "1,000", "-1,500", "1M", "-2M",
    ]  # fmt: skip


def test_where_the_points_of_a_chart_are() -> None:
    series = [Series("s", ((0.0, 0.0), (10.0, 100.0), (20.0, 50.0))), Series("one", ((20.0, 100.0),))]
    drawn = line_chart("t", series, across="step", zero=True, area=True)
    assert re.findall('<polyline class="(c.)" points="([^"]*)"', drawn) == [
        ("c0", "64.0,190.0 385.0,12.0 706.0,101.0"),
        ("c1", "706.0,12.0"),
    ]
    assert re.findall('<polygon class="area c0" points="([^"]*)"', drawn) == [
        "64.0,190.0 64.0,190.0 385.0,12.0 706.0,101.0 706.0,190.0"
    ]
    assert re.findall('<circle class="dot (c.)" cx="([^"]*)" cy="([^"]*)"', drawn) == [
        ("c1", "706.0", "12.0")
    ]
    upright = re.findall('<text x="58" y="([^"]*)" text-anchor="end">([^<]*)', drawn)
    assert upright == [("194.0", "0"), ("149.5", "25"), ("105.0", "50"), ("60.5", "75"), ("16.0", "100")]
    across = re.findall('<text x="([^"]*)" y="205" text-anchor="middle">([^<]*)', drawn)
    assert across == [("64.0", "0"), ("224.5", "5"), ("385.0", "10"), ("545.5", "15"), ("706.0", "20")]
    from_least = line_chart("t", series[:1], across="step")
    assert from_least == line_chart("t", series[:1], across="step", zero=True)
    raised = line_chart("t", [Series("s", ((0.0, 60.0), (1.0, 100.0)))], across="step")
    assert ">60<" in raised and ">0<" in raised and ">20<" not in raised


@pytest.mark.parametrize(
    ("points", "places", "numbers"),
    [
        (((10.0, 60.0), (14.0, 100.0)), "64.0,190.0 706.0,12.0", ["10", "11", "12", "13", "14"]),
        (((10.0, 60.0),), "64.0,190.0", ["10", "10.25", "10.5", "10.75", "11"]),
    ],
)
def test_a_chart_begins_at_its_first_step_and_least_value(
    points: tuple[tuple[float, float], ...], places: str, numbers: list[str]
) -> None:
    drawn = line_chart("t", [Series("s", points)], across="step")
    assert re.findall('<polyline class="c0" points="([^"]*)"', drawn) == [places]
    assert re.findall('y="205" text-anchor="middle">([^<]*)', drawn) == numbers


def test_thinned_points_are_the_least_and_most_of_each_stretch() -> None:
    points = tuple((float(n), float(n % 5)) for n in range(10))
    assert thinned(points, 10) == points
    assert thinned(points, 4) == ((0.0, 0.0), (4.0, 4.0), (5.0, 0.0), (9.0, 4.0))


@pytest.mark.parametrize(
    ("devices", "shown"),
    [
        ([[0, 2], [0, 3], [1, 2], [1, 3]], "2x2 from (0, 2)"),
        ([], ""),
        ([[0, None]], ""),
        ([[0, 2, 3]], ""),
        ([["0", 2], [1, 3]], ""),
    ],
)
def test_the_block_of_a_rank(devices: list[Any], shown: str) -> None:
    """Of a damaged plan nothing is said."""
    assert _devices(devices) == shown
