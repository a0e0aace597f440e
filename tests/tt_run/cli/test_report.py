"""The doctor's table, its JSON, and the code that a script asks for."""

from __future__ import annotations

import json

import pytest

from tt_run.cli.doctor.report import Check, report
from tt_run.contract import Exit

WELL = Check("Open MPI", True, "5.0.11", "never shown of what is well")
FACT = Check("cores", None, "8")
WARNING = Check("clock", None, "2 s ahead", "let ntp set it", host="h2")
FAILED = Check("shared folder", False, "not there", "mount it", host="h2")


def test_each_check_is_a_row_with_its_mark_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([WELL, FACT, WARNING], "text") == Exit.OK
    assert capsys.readouterr().out.splitlines() == [
        "ok   Open MPI                 5.0.11",
        "     cores                    8",
        "warn h2: clock                2 s ahead",
        "     help: let ntp set it",
    ]


@pytest.mark.parametrize(
    ("checks", "told"),
    [
        ([FAILED], "1 check failed: a launch would fail"),
        ([FAILED, WELL, FAILED, WARNING], "2 checks failed: a launch would fail"),
    ],
)
def test_what_fails_is_counted(checks: list[Check], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(checks, "text") == Exit.FAILED
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["FAIL h2: shared folder        not there", "     help: mount it"]
    assert lines[-1] == told


def test_json_is_one_list_of_all_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([FAILED, WELL], "json") == Exit.FAILED
    told = json.loads(capsys.readouterr().out)
    assert [check["ok"] for check in told] == [False, True]
    assert told[0] == {
        "name": "shared folder",
        "ok": False,
        "text": "not there",
        "hint": "mount it",
        "host": "h2",
    }


def test_the_table_fits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    path = "/a/path/that/has/no/place/beside/its/name"
    checks = [
        Check("cores", None, "2 cores usable: more ranks than that"),
        Check("mpirun", True, f"at {path}"),
    ]
    report(checks, "text")
    assert capsys.readouterr().out.splitlines() == [
        "     cores                    2 cores usable: more ranks",
        "                              than that",
        "ok   mpirun",
        f"     at {path}",
    ]
