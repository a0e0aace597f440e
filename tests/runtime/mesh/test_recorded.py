"""The answers of the reference, record by record, where the recordings are at hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.mpi import ROOT, SHIMS
from tests.sweep import thinned

CORPUS = Path(os.environ.get("TT_RUN_CORPUS", ROOT.parent / "shared" / "corpus")) / "ttnn"
REPLAY = ROOT / "tests" / "runtime" / "tensor" / "replay.py"

# What we accept on purpose although the reference refuses it: the documents use it.
ACCEPTED = {"ttnn.MeshShape(y=1, x=4)"}


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the recordings are not here (TT_RUN_CORPUS)")
@pytest.mark.parametrize(
    ("records", "environment"),
    thinned(
        [
            ("01_types_t3k.json", {}),
            ("10_n300_autodiscovery.json", {"TT_RUN_SYSTEM": "n300"}),
            (
                "10_n300_with_mgd_1x2.json",
                {"TT_MESH_GRAPH_DESC_PATH": str(ROOT / "configs/mgd/n300_mesh_graph_descriptor.textproto")},
            ),
            ("13_visible_devices_0.json", {"TT_VISIBLE_DEVICES": "0"}),
            ("13_visible_devices_0_1.json", {"TT_VISIBLE_DEVICES": "0,1"}),
        ],
        3,
    ),
)
def test_answers_are_as_recorded(records: str, environment: dict[str, str]) -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TT_")}
    done = subprocess.run(
        [sys.executable, str(REPLAY), str(CORPUS / records)],
        capture_output=True,
        text=True,
        env={**kept, "PYTHONPATH": f"{SHIMS}{os.pathsep}{ROOT}", "COLUMNS": "300", **environment},
        timeout=100,
        check=True,
    )
    differences = [d for d in json.loads(done.stdout) if d["code"] not in ACCEPTED]
    assert not differences, json.dumps(differences, indent=1, ensure_ascii=False)
