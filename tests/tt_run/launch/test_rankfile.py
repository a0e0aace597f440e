"""Which words name a rankfile, and which file that is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tt_run.errors import UsageError
from tt_run.launch.rankfile import RankfileUse, choose_rankfile, rankfile_words

NEW, OLD, MCA = ("--map-by", "a/f//b"), ("--rankfile", "/f/"), ("--mca", "rmaps_rankfile_path", "/f/")


@pytest.mark.parametrize(
    ("syntax", "major", "words"),
    [
        ("auto", 4, OLD),
        ("auto", None, OLD),
        ("auto", 5, NEW),
        ("auto", 6, NEW),
        ("map-by", 4, NEW),
        ("rankfile", 5, OLD),
        ("mca", 4, MCA),
        ("mca", None, MCA),
    ],
)
def test_words_of_each_version(syntax: str, major: int | None, words: tuple[str, ...]) -> None:
    assert rankfile_words("/f/", ("a", "/b"), syntax, major) == words


def test_a_form_that_is_ignored_is_refused_unless_nobody_looks() -> None:
    for major in (5, 6):
        with pytest.raises(UsageError) as caught:
            rankfile_words("/f/", ("a", "/b"), "mca", major)
        assert caught.value.diagnostics[0].code == "TTR503"
        assert rankfile_words("/f/", ("a", "/b"), "mca", major, unchecked=True) == MCA


@pytest.mark.parametrize(
    ("path", "trouble", "copy", "why"),
    [
        ("/a/ranks", "", "rank 0=h", None),
        ("/a/ranks", "twice", "", None),
        ("/a/ranks", "twice", "rank 0=h", "twice"),
        ("/a b/ranks", "", "rank 0=h", "its path holds a colon"),
        ("/a:b/ranks", "twice", "rank 0=h", "its path holds a colon"),
        ("/a,b/ranks", "", "rank 0=h", "its path holds a colon"),
        ("/a b/ranks", "", "", None),
    ],
)
def test_a_copy_stands_in_where_the_users_own_would_be_misread(
    path: str, trouble: str, copy: str, why: str | None
) -> None:
    placement = SimpleNamespace(rankfile=Path(path), rankfile_trouble=trouble, rankfile_copy=copy)
    plan: Any = SimpleNamespace(placement=placement)
    found = choose_rankfile(plan, Path("/run"))
    if why is None:
        assert found == RankfileUse(Path(path))
    else:
        assert (
            found is not None
            and (found.path, found.text) == (Path("/run/rankfile"), copy)
            and found.why.startswith(why)
        )
    placement.rankfile = None
    assert choose_rankfile(plan, Path("/run")) is None
