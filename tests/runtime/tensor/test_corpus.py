"""Answers recorded from the reference, replayed against the emulation where the recordings are at hand.

Each file runs in a process of its own, because a process has one system. Set TT_RUN_CORPUS to the folder of recordings.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mgd.resources import configs_root

ROOT = Path(__file__).resolve().parents[3]
CORPUS = Path(os.environ.get("TT_RUN_CORPUS", ROOT.parent / "shared" / "corpus")) / "ttnn"
REPLAY = Path(__file__).with_name("replay.py")

N300 = str(configs_root() / "mgd" / "n300_mesh_graph_descriptor.textproto")
FILES = {
    "01_types_t3k": {},
    "10_n300_autodiscovery": {"TT_RUN_SYSTEM": "n300"},
    "10_n300_with_mgd_1x2": {"TT_MESH_GRAPH_DESC_PATH": N300},
    "12_misc_t3k": {},
    "13_visible_devices_0": {"TT_VISIBLE_DEVICES": "0"},
    "13_visible_devices_0_1": {"TT_VISIBLE_DEVICES": "0,1"},
}
# The documents write this form, so the emulation accepts what the reference refuses.
ACCEPTED = {"ttnn.MeshShape(y=1, x=4)"}


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no recordings in {CORPUS}")
@pytest.mark.parametrize("name", FILES)
def test_answers_as_recorded(name: str, tmp_path: Path) -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TT_", "OMPI_"))}
    search = os.pathsep.join([str(ROOT / "tt_run" / "shims"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, str(REPLAY), str(CORPUS / f"{name}.json")],
        env={**kept, "PYTHONPATH": search, "COLUMNS": "300", **FILES[name]},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [d for d in json.loads(done.stdout) if d["code"] not in ACCEPTED]
    assert not found, "\n".join(f"{d['code']}\n  {d['found']}" for d in found)
