"""Mock cluster files."""

from __future__ import annotations

import pytest

from tests.tt_run.sandbox import Sandbox, only
from tt_run.inputs.clusters.mock import MockCluster, read_mock_cluster


def read(sandbox: Sandbox, text: str) -> MockCluster | None:
    sandbox.write("d0.yaml", "arch: {0: Wormhole}\n")
    sandbox.write("d1.yaml", "arch: {1: Wormhole}\n")
    return read_mock_cluster(sandbox.write("mock.yaml", text), sandbox.search, sandbox.findings)


@pytest.mark.parametrize(
    "text",
    [
        "rank_to_cluster_mock_cluster_desc: {0: d0.yaml, '1': d1.yaml}\n",
        "rank_to_cluster_mock_cluster_desc:\n- {rank: 0, filename: d0.yaml}\n- {rank: 1, filename: d1.yaml}\n",
        "- rank: 1\n  filename: d1.yaml\n- rank: 0\n  filename: d0.yaml\n",
        "rank_to_filename: {0: d0.yaml, 1: d1.yaml}\n",
    ],
)
def test_all_forms_that_documents_show(sandbox: Sandbox, text: str) -> None:
    mock = read(sandbox, text)
    assert mock is not None
    assert mock.descriptors == {0: sandbox.cwd / "d0.yaml", 1: sandbox.cwd / "d1.yaml"}


def test_the_old_key_is_told(sandbox: Sandbox) -> None:
    read(sandbox, "rank_to_filename: {0: d0.yaml}\n")
    assert not only(sandbox.findings.judged, "TTR115").is_error


def test_a_file_without_the_key_is_the_descriptor_of_rank_0(sandbox: Sandbox) -> None:
    mock = read(sandbox, "arch: {0: Wormhole}\nchips: {}\n")
    assert mock is not None
    assert mock.descriptors == {0: sandbox.cwd / "mock.yaml"}
    assert list(mock.positions) == [0] and mock.positions[0].file == mock.file


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("rank_to_cluster_mock_cluster_desc: {x: d0.yaml}\n", "TTR104"),
        ("rank_to_cluster_mock_cluster_desc: {0: [d0.yaml]}\n", "TTR104"),
        ("rank_to_cluster_mock_cluster_desc: {0: absent.yaml}\n", "TTR101"),
        ("rank_to_cluster_mock_cluster_desc: {}\n", "TTR109"),
        ("rank_to_cluster_mock_desc: {0: d0.yaml}\n", "TTR105"),
        ("rank_to_cluster_mock_cluster_desc: d0.yaml\n", "TTR104"),
        ("- {rank: 0}\n", "TTR105"),
        ("[]\n", "TTR109"),
        ("just words\n", "TTR104"),
    ],
)
def test_files_that_cannot_be_understood(sandbox: Sandbox, text: str, code: str) -> None:
    assert read(sandbox, text) is None
    assert only(sandbox.findings.broken, code).is_error
