"""Words that scripts look for in what the reference launcher refuses: they stand in our messages too, beside the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tt_run.sandbox import MESH_2X4_TWO_HOSTS, TWO_RANKS
from tt_run.cli.main import run

BINDINGS, SUBCONTEXTS, MESHES = "--rank-binding", "--rank-bindings-mapping", "-M"
KEY, DESCRIPTORS = "subcontext_id_to_rank_bindings", "subcontext_id_to_mesh_graph_descriptor"
MOCK = "rank_to_cluster_mock_cluster_desc"
DESCRIPTOR = "mesh_graph_desc_path: mesh.textproto\n"
HOSTS = "--no-discover --hosts"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A launch directory with two ranks bound, alone and as two sub-contexts."""
    (tmp_path / "mesh.textproto").write_text(MESH_2X4_TWO_HOSTS)
    for name in ("rb.yaml", "other.yaml"):
        (tmp_path / name).write_text(TWO_RANKS)
    (tmp_path / "map.yaml").write_text(f"{KEY}: {{0: rb.yaml, 1: other.yaml}}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "files", "words"),
    [
        ("--rank-binding rb.yaml -m mesh.textproto", {}, ("mutually exclusive", "ombine")),
        ("--rank-binding nope.yaml", {}, ("not found: nope.yaml", "earched in")),
        (
            "--rank-binding rb.yaml",
            {"rb.yaml": "rank_bindings: [{rank: 0, mesh_id: 0}, {rank: 2, mesh_id: 0}]\n" + DESCRIPTOR},
            ("Ranks must be contiguous from 0", "rb.yaml:1:47"),
        ),
        (
            "--rank-binding rb.yaml",
            {"rb.yaml": "rank_bindings: [{rank: 0, mesh_id: 0, mesh_graph_desc_path: x}]\n" + DESCRIPTOR},
            ("er-rank mesh graph descriptor not found: x", "rb.yaml:1:61"),
        ),
        ("--rank-bindings-mapping map.yaml", {"map.yaml": "x: 1\n"}, (f"must contain '{KEY}'", "map.yaml:1")),
        ("--rank-bindings-mapping map.yaml", {"map.yaml": f"{KEY}: {{}}\n"}, ("must not be empty", "map.yaml:1")),
        (
            "--rank-bindings-mapping map.yaml",
            {"map.yaml": f"{KEY}: {{0: rb.yaml, 2: other.yaml}}\n"},
            ("keys must be dense, 0..1, not 0, 2", "map.yaml:1"),
        ),
        (
            "--rank-bindings-mapping map.yaml",
            {
                "rb.yaml": TWO_RANKS + "global_env: {G: a}\n",
                "other.yaml": TWO_RANKS + "global_env: {G: b}\n",
            },
            ("global_env conflict on key 'G' between sub-contexts", "rb.yaml:13", "other.yaml:13"),
        ),
        (
            "--rank-bindings-mapping map.yaml --mock-cluster-rank-binding mock.yaml",
            {"mock.yaml": f"{MOCK}: {{0: c.yaml, 1: c.yaml}}\n", "c.yaml": "arch: {}\n"},
            ("do not match", "mock.yaml"),
        ),
        (f"-M map.yaml {HOSTS} a,b", {"map.yaml": "x: 1\n"}, (f"must contain '{DESCRIPTORS}'", "map.yaml:1")),
        (f"-M map.yaml {HOSTS} a,b", {"map.yaml": f"{DESCRIPTORS}: {{}}\n"}, ("must not be empty", "map.yaml:1")),
        (
            f"-M map.yaml {HOSTS} a,b",
            {"map.yaml": f"{DESCRIPTORS}: {{0: mesh.textproto, 2: mesh.textproto}}\n"},
            ("keys must be dense, 0..1, not 0, 2", "map.yaml:1"),
        ),
        (f"-m mesh.textproto {HOSTS} ,", {}, ("No valid hostnames in --hosts",)),
        (f"-m mesh.textproto {HOSTS} a,b,a", {}, ("Duplicate hostname in --hosts: 'a'", "duplicate")),
        ("--rank-binding rb.yaml --tracy -t", {}, ("Tracy port option -t/--port requires a value",)),
        ("--rank-binding rb.yaml --tracy -o", {}, ("Tracy output option -o/--output-folder requires a value",)),
        ("--rank-binding rb.yaml --tracy=--port=0", {}, ("Tracy base port must be a positive integer",)),
        (f"--rank-binding rb.yaml --tracy=--port={'9' * 5000}", {}, ("Tracy base port must be",)),
    ],
)  # fmt: skip
def test_the_words_of_the_reference(
    folder: Path,
    line: str,
    files: dict[str, str],
    words: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)
    assert run([*line.split(), "--dry-run", "true"]) in (2, 65, 66)
    told = capsys.readouterr().err
    for each in words:
        assert each in told, told


@pytest.mark.parametrize(
    ("line", "name", "text"),
    [
        ("--rank-binding rb.yaml --mpi-args=--rankfile=file", "file", ""),
        ("--emulate --rank-binding rb.yaml --predict --hardware ./file", "file", ""),
        (f"-m mesh.textproto {HOSTS} a,b", "mesh.textproto", ""),
        (f"-m mesh.textproto {HOSTS} a,b", "mesh.textproto", "# nothing\n"),
        ("--emulate", "pyproject.toml", '[tool.tt-run]\nsystem.inf = "t3000"\n'),
        ("--emulate", "pyproject.toml", '[tool.tt-run]\nemulate = true\n[tool.tt-run.system]\ninf = "t3000"\n'),
    ],
)  # fmt: skip
def test_a_file_that_says_nothing_is_pointed_at(
    folder: Path, line: str, name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).write_text(text)
    assert run([*line.split(), "--dry-run", "true"]) in (2, 65, 66)
    number = 3 if "[tool.tt-run.system]" in text else 2 if "system" in text else 1
    assert f"{name}:{number}:1" in capsys.readouterr().err


@pytest.mark.parametrize(("host", "code"), [("a:2", 0), ("localhost:2", 65)])
def test_an_interface_is_asked_of_a_machine_on_which_ranks_run(
    folder: Path, host: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"--rank-binding rb.yaml --tcp-interface none9 --dry-run --mpi-args=--host={host} true"
    assert run(line.split()) == code
    assert "TTR311" in capsys.readouterr().err
