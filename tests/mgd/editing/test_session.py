"""The language server as an editor meets it: real messages through a real process."""

from __future__ import annotations

import subprocess
import sys

from tests.mgd.editing.test_server import GOOD, URI, framed, unframed


def test_a_session_through_a_process() -> None:
    words = [sys.executable, "-m", "mgd", "serve"]
    bad = GOOD.replace("[1, 1]", "[1, 3]")
    session = framed(
        {"id": 1, "method": "initialize", "params": {}},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": {"uri": URI, "text": bad}}},
        {
            "method": "textDocument/didChange",
            "params": {"textDocument": {"uri": URI}, "contentChanges": [{"text": GOOD}]},
        },
        {"method": "textDocument/didClose", "params": {"textDocument": {"uri": URI}}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    )
    done = subprocess.run(words, input=session, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    first, opened, changed, closed, last = unframed(done.stdout)
    assert first["result"]["capabilities"]["textDocumentSync"]["change"] == 1
    [found] = opened["params"]["diagnostics"]
    assert (found["code"], found["severity"]) == ("MGD012", 1)
    assert found["range"] == {"start": {"line": 4, "character": 28}, "end": {"line": 4, "character": 29}}
    assert found["relatedInformation"][0]["message"] == "4 devices"
    assert changed["params"]["diagnostics"] == closed["params"]["diagnostics"] == []
    assert last == {"jsonrpc": "2.0", "id": 2, "result": None}
