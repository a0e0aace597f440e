"""Answers recorded from the reference, replayed against the emulation where the recordings are at hand.

Each file runs in a process of its own: recordings change module `ttnn` and write files. Set TT_RUN_CORPUS to the folder of recordings.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CORPUS = Path(os.environ.get("TT_RUN_CORPUS", ROOT.parent / "shared" / "corpus")) / "ttnn"
REPLAY = Path(__file__).with_name("replay.py")

# The recordings of meshes and systems are replayed in tests/runtime/mesh.
FILES: dict[str, dict[str, str]] = {"09_sockets_single_process_t3k": {}, "12_misc_t3k": {}}

# Where we differ on purpose: the recorded fabric has no routes, ours carries the data; our documentation is our own.
OURS = (
    "ttnn.experimental.send_async(x,snd)",
    "ttnn.experimental.recv_async(y,rcv)",
    "ttnn.experimental.recv_async(ttnn.allocate_tensor_on_device(ttnn.Shape([1,1,64,64]),ttnn.bfloat16,ttnn.TILE_LAYOUT,s1),rcv)",
    "ttnn.experimental.send_async.__doc__[:600]",
    "ttnn.experimental.recv_async.__doc__[:600]",
)


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
    found = [d for d in json.loads(done.stdout) if d["code"] not in OURS]
    assert not found, "\n".join(f"{d['code']}\n  {d['found']}" for d in found)
