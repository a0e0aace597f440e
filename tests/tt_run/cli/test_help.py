"""Help texts, folded without textwrap as textwrap folds them."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_run.cli.commands import COMMANDS, run_command
from tt_run.cli.help import wrapped

WORDS = st.lists(st.integers(1, 30).map(lambda count: "x" * count), min_size=1, max_size=12)


@given(WORDS.map(" ".join), st.integers(1, 60))
def test_prose_is_folded_as_by_textwrap(text: str, width: int) -> None:
    folded = textwrap.wrap(text, width, break_on_hyphens=False)
    assert wrapped(text, width) == [line.rstrip() for line in folded]


@given(WORDS.map(" ".join), st.integers(20, 60), st.integers(0, 8))
def test_what_is_typed_keeps_its_words(text: str, width: int, hang: int) -> None:
    folded = textwrap.wrap(text, width, subsequent_indent=" " * hang, break_long_words=False)
    assert wrapped(text, width, 0, hang, whole_words=True) == [line.strip() for line in folded]


def test_blanks_that_align_words_stay() -> None:
    assert wrapped("bash:  tt-run completion bash", 22) == ["bash:  tt-run", "completion bash"]


@pytest.mark.parametrize("name", list(COMMANDS))
def test_the_text_of_a_command_fits(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    assert run_command(name, ["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"Usage: tt-run {name}") and max(map(len, lines)) <= 70
    assert not any(line.startswith("     ") and not line.strip() for line in lines)
