"""Pieces of the page by themselves: words, steps in logs, charts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tt_run.report.charts import Series, line_chart, thinned
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
