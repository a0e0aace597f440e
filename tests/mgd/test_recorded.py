"""Agreement with the recorded answers of the reference: the verdict and every number, where they are beside the checkout."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mgd.checking import check
from mgd.errors import MgdError
from mgd.expansion import expand
from mgd.facts import summary
from mgd.reading import load
from tests.mgd.fixtures import recorded

_NOT_FACTS = {"format", "verdict", "stage", "error_gist", "source", "oracle", "compat_error_gist"}


def _answers() -> dict[str, Any]:
    path = recorded() / "expected.json"
    return json.loads(path.read_text()) if path.is_file() else {}


ANSWERS = _answers()
needs_answers = pytest.mark.skipif(not ANSWERS, reason="the recorded answers are not beside this checkout")


@needs_answers
@pytest.mark.parametrize("name", list(ANSWERS) or ["none"])
def test_verdict_and_numbers(name: str) -> None:
    wanted = ANSWERS[name]
    try:
        found = json.loads(json.dumps(summary(expand(load(recorded() / name)))))
    except MgdError as error:
        assert error.diagnostics
        assert wanted["verdict"] == "reject"
        return
    assert wanted["verdict"] == "accept"
    facts = {key: value for key, value in wanted.items() if key not in _NOT_FACTS}
    assert {key: found.get(key) for key in facts} == facts


@needs_answers
@pytest.mark.parametrize(
    "name", [name for name, each in ANSWERS.items() if each["verdict"] == "accept"] or ["none"]
)
def test_the_runtime_profile_refuses_what_the_runtime_refuses(name: str) -> None:
    refused = any(each.is_error for each in check(load(recorded() / name), "runtime"))
    assert refused == ("compat_error_gist" in ANSWERS[name] or name.endswith(".yaml"))
