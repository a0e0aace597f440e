"""The user's words for mpirun."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tt_run.sandbox import codes
from tt_run.errors import UsageError
from tt_run.inputs.mpi_args import RANKFILE_POLICY, MpiArgs, read_mpi_args, split_mpi_args


def read(text: str, ranks: int | None = 2) -> MpiArgs:
    return read_mpi_args(split_mpi_args(text), ranks)


@pytest.mark.parametrize(
    "text",
    [
        "--rankfile rf",
        "-rankfile rf",
        "-rf rf",
        "--rankfile=rf",
        "-rankfile=rf",
        "--map-by rankfile:file=rf",
        "--map-by=rankfile:file=rf",
        "--map-by RANKFILE:FILE=rf",
    ],
)
def test_every_spelling_of_a_rankfile(text: str) -> None:
    args = read(f"--bind-to core {text} -x A=b")
    assert args.rankfile == "rf"
    assert args.words == ("--bind-to", "core", "-x", "A=b")
    assert args.rankfile_at == 2
    assert args.policy == RANKFILE_POLICY


def test_there_is_one_rankfile() -> None:
    assert read("--rankfile rf --map-by rankfile:file=rf").rankfile == "rf"
    with pytest.raises(UsageError) as caught:
        read("--rankfile rf --map-by rankfile:file=other")
    assert "rf and other" in str(caught.value)


def test_exported_variables_are_known_and_passed_on() -> None:
    args = read("-x A=b=c -x B -x E=")
    assert (args.words, args.exports) == (
        ("-x", "A=b=c", "-x", "B", "-x", "E="),
        {"A": "b=c", "B": None, "E": ""},
    )
    with pytest.raises(UsageError):
        read("-x")


@pytest.mark.parametrize(
    "policy",
    ["rankfile:file=rf:oversubscribe", "rankfile:file=rf,pe=2", "rankfile:oversubscribe,file=rf"],
)
def test_the_rest_of_a_policy_is_kept(policy: str) -> None:
    args = read(f"--map-by {policy}")
    assert args.rankfile == "rf"
    assert "other".join(args.policy) == policy.replace("rf", "other")


@pytest.mark.parametrize("text", ["--map-by node", "--map-by=ppr:2:node", "--map-by slot:pe=2"])
def test_other_policies_are_passed_on(text: str) -> None:
    args = read(text)
    assert args.rankfile is None
    assert args.words == tuple(text.split())


def test_what_the_words_say_about_hosts_and_binding() -> None:
    args = read(
        "--host a,b:2 -H a --hostfile=h.txt -bind-to none --oversubscribe --mca btl self,tcp --tag-output"
    )
    assert args.hosts == ("a", "b:2", "a")
    assert args.hostfile == "h.txt"
    assert args.bind_to == "none"
    assert args.oversubscribe
    assert args.mca == {"btl": "self,tcp"}
    assert "--hostfile=h.txt" in args.words


@pytest.mark.parametrize("text", ["--mca btl self", "-mca btl self", "--mca=btl self"])
def test_forms_of_mca(text: str) -> None:
    assert read(text).mca == {"btl": "self"}
    assert read(text).words == tuple(text.split())


@pytest.mark.parametrize("text", ["-np 2", "-n 2", "--np=2", "-c 2"])
def test_the_right_process_count_is_dropped(text: str) -> None:
    assert read(f"{text} -x A").words == ("-x", "A")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("-np 3", "TTR007"),
        ("-n x", "TTR007"),
        ("-x A : -x B", "TTR006"),
        ("--rankfile", "TTR006"),
        ("--mca btl", "TTR006"),
        ("--host", "TTR006"),
        ("--host a:x", "TTR015"),
        ("--host a:", "TTR015"),
        ("--host a:2,:3", "TTR015"),
    ],
)
def test_words_that_are_refused(text: str, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text)
    assert codes(caught.value.diagnostics) == [code]


def test_open_quotes() -> None:
    with pytest.raises(UsageError) as caught:
        split_mpi_args("-x 'A=b")
    assert codes(caught.value.diagnostics) == ["TTR006"]


plain = st.text(min_size=1, max_size=8).filter(
    lambda word: not word.startswith("-") and word != ":"
) | st.sampled_from(["--verbose", "--display", "-d", "--report-bindings"])


@given(st.lists(plain, max_size=8))
def test_unknown_words_pass_unchanged(words: list[str]) -> None:
    assert read_mpi_args(tuple(words), 2).words == tuple(words)
