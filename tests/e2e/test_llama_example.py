"""A Llama on several devices beside `transformers` on the same weights, with the same bits on any split."""

from __future__ import annotations

import re

import pytest

from tests.e2e.launch import ROOT, tt_run
from tests.runtime.train.pytorch import transformers_or_skip

pytestmark = [pytest.mark.wide, pytest.mark.torch]
PROGRAM = ("python", ROOT / "examples/llama_serving.py", "--devices")
SHOWN = re.compile(r"prompt: .* by (0\.\d+)\ntokens: .* by (0\.\d+)\nhash of the logits: ([0-9a-f]{16})\n")


def shown(devices: str, *split: str) -> tuple[str, ...]:
    transformers_or_skip()
    words = ("--emulate", "--no-prefix", "--system", "t3000", *split, *PROGRAM, devices)
    found = SHOWN.fullmatch(tt_run(*words, timeout=100, torch=True).check().out)
    assert found is not None
    return found.groups()


@pytest.mark.parametrize("devices", ["1", "2"])
def test_prompt_and_tokens_are_those_of_transformers(devices: str) -> None:
    assert min(map(float, shown(devices)[:2])) > 0.999


def test_bits_are_the_same_on_two_ranks() -> None:
    alone = shown("8")
    assert shown("8", "--split", "1x2") == alone and min(map(float, alone[:2])) > 0.999
