"""The page in a real browser: opened, clicked, by keyboard, light and dark, on paper; without an error and without a request."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.tt_run.report.conftest import Reported

pytestmark = pytest.mark.wide


@pytest.fixture(scope="module")
def page(chromium: Any, reported: Reported) -> Iterator[Any]:
    """The page, opened once; at the end nothing may have gone wrong on it."""
    opened = chromium.new_page(
        viewport={"width": 1280, "height": 900}, color_scheme="light", reduced_motion="reduce"
    )
    wrong: list[str] = []
    requests: list[str] = []
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda request: requests.append(request.url))
    opened.goto(reported.page.as_uri())
    yield opened
    assert not wrong
    assert requests == [reported.page.as_uri()]
    assert opened.evaluate("window.hacked") is None
    opened.close()


def pixels(page: Any, place: str | None = None) -> np.ndarray[Any, Any]:
    """A screenshot as rows of red, green and blue."""
    matplotlib = pytest.importorskip(
        "matplotlib.image", reason="matplotlib, which reads the pictures, is not installed"
    )
    taken = page.locator(place).screenshot() if place else page.screenshot(full_page=True)
    picture: np.ndarray[Any, Any] = matplotlib.imread(io.BytesIO(taken))[..., :3]
    return picture


def test_every_section_can_be_seen(page: Any) -> None:
    for name in page.eval_on_selector_all("main > section", "all => all.map((each) => each.id)"):
        box = page.locator(f"#{name}").bounding_box()
        assert box["width"] > 600 and box["height"] > 40, name
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for place in ("#topology svg", "#training svg", "#memory svg", "#tl canvas"):
        shot = pixels(page, f"{place} >> nth=0")
        assert 0.005 < (np.abs(shot - shot[0, 0]).max(axis=2) > 0.1).mean() < 0.9, place


def test_dark_and_light(page: Any) -> None:
    assert pixels(page).mean() > 0.85
    page.keyboard.press("t")
    assert pixels(page).mean() < 0.25
    assert pixels(page, "#tl canvas").mean() < 0.3
    page.locator("#theme").click()
    page.emulate_media(color_scheme="dark")
    assert pixels(page, "#outcome").mean() > 0.8  # what was chosen stays
    page.keyboard.press("t")
    page.keyboard.press("t")
    page.emulate_media(color_scheme="light")


def test_tables_sort(page: Any) -> None:
    cells = "all => all.map((each) => each.textContent)"
    button = page.locator("#collectives th button", has_text="collective").first
    button.focus()
    page.keyboard.press("Enter")
    assert page.eval_on_selector_all("#collectives tbody td:first-child", cells) == [
        "all_gather",
        "all_reduce",
    ]
    page.keyboard.press("Enter")
    assert page.eval_on_selector_all("#collectives tbody td:first-child", cells) == [
        "all_reduce",
        "all_gather",
    ]
    page.locator("#collectives th button", has_text="calls").click()
    assert page.eval_on_selector_all("#collectives tbody td:first-child", cells) == [
        "all_gather",
        "all_reduce",
    ]
    assert page.locator("#collectives th[aria-sort=descending]").inner_text().strip() == "calls"


def test_links_by_bytes_and_by_predicted_time(page: Any) -> None:
    bytes_, time = page.locator("#picture-1"), page.locator("#picture-2")
    assert bytes_.is_visible() and not time.is_visible()
    page.locator("#tab-1").focus()
    page.keyboard.press("ArrowRight")
    assert time.is_visible() and not bytes_.is_visible()
    assert page.evaluate("document.activeElement.id") == "tab-2"
    page.locator("#tab-1").click()
    assert bytes_.is_visible()
    page.set_viewport_size({"width": 420, "height": 900})
    small = bytes_.locator("svg").bounding_box()["width"]
    page.locator("#natural").click()
    assert bytes_.locator("svg").bounding_box()["width"] > small
    page.locator("#natural").click()
    assert bytes_.locator("svg").bounding_box()["width"] == small
    page.set_viewport_size({"width": 1280, "height": 900})
    titles = bytes_.locator("line title").all_text_contents()
    assert any(title.endswith("kB") for title in titles)


def test_the_timeline_by_keyboard_and_pointer(page: Any) -> None:
    told, stage = page.locator("#tl-told"), page.locator("#tl")
    page.locator("#timeline").scroll_into_view_if_needed()
    before = pixels(page, "#tl canvas")
    stage.focus()
    page.keyboard.press("n")
    first = told.inner_text()
    assert "rank" in first and "open_mesh_device" in first
    page.keyboard.press("n")
    assert told.inner_text() != first
    for _ in range(3):
        page.keyboard.press("+")
    assert (pixels(page, "#tl canvas") != before).mean() > 0.01
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    page.keyboard.press("0")
    assert "Wheel or +" in told.inner_text()
    assert np.array_equal(pixels(page, "#tl canvas"), before)
    page.locator("#tl").scroll_into_view_if_needed()
    box = page.locator("#tl canvas").bounding_box()
    seen = set()
    for part in range(40):
        page.mouse.move(box["x"] + 75 + part * (box["width"] - 80) / 40, box["y"] + 28)
        seen.add(told.inner_text().split("\n")[0])
    assert any("rank 0" in each for each in seen)
    page.locator("#tl-flows").uncheck()
    assert not np.array_equal(pixels(page, "#tl canvas"), before)
    page.locator("#tl-flows").check()


def test_charts_tell_their_numbers(page: Any) -> None:
    page.locator("#training svg >> nth=0").scroll_into_view_if_needed()
    box = page.locator("#training svg >> nth=0").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] / 2)
    assert page.locator("#tip").inner_text() == "12\nloss  0.33333"
    page.mouse.move(0, 0)
    assert page.locator("#tip").is_hidden()


def test_words_at_the_axes_of_a_chart_do_not_meet(page: Any) -> None:
    boxes = """all => all.map(chart => [...chart.querySelectorAll("text")].map(each => each.getBoundingClientRect().toJSON()))"""
    for chart in page.locator("svg.chart").evaluate_all(boxes):
        for number, one in enumerate(chart):
            for other in chart[number + 1 :]:
                apart = one["right"] <= other["left"] or other["right"] <= one["left"]
                assert apart or one["bottom"] <= other["top"] + 1 or other["bottom"] <= one["top"] + 1, (
                    one,
                    other,
                )


def test_paper_is_light_and_whole(page: Any) -> None:
    page.keyboard.press("t")
    page.emulate_media(media="print")
    shot = pixels(page)
    assert shot.mean() > 0.8
    assert not page.locator("nav").is_visible() and not page.locator("#theme").is_visible()
    assert page.locator("#picture-1").is_visible() and page.locator("#picture-2").is_visible()
    heads = page.locator(
        "thead button"
    )  # Chromium repeats heads on each page, without what is placed by itself in them
    assert heads.count() and heads.evaluate_all(
        "all => all.every(each => getComputedStyle(each).position == 'static')"
    )
    page.emulate_media(media="screen")
    page.keyboard.press("t")
    assert page.pdf().count(b"/Type /Page\n") + page.pdf().count(b"/Type /Page ") < 20


def test_on_a_phone_nothing_is_cut_off(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 900})
