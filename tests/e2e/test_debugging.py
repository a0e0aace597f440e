"""`breakpoint()` on a rank at a real terminal, replays under pdb, and both under an editor's debugger."""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.editor import Editor, free_port
from tests.e2e.launch import tt_run
from tests.e2e.talk import talk

AT_THE_CALL = sys.version_info >= (3, 13)  # where breakpoint() stops: there, or at the line after it
SPLIT = ("--emulate", "--system", "t3000", "--split", "1x2")
PROGRAM = """\
import sys
import numpy as np
sys.modules["torch"] = None  # loading it would take longer than all of this
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
data = np.ones((1, 1, 32, 64), np.float32)
x = ttnn.from_torch(data, layout=ttnn.TILE_LAYOUT, device=mesh, mesh_mapper=ttnn.ReplicateTensorToMesh(mesh))
for step in range(2):
    value = step * 10 + 7
    breakpoint()
    y = ttnn.all_gather(x, 3)
    print("step", step, y.shape)
print(1 // (value - 17))
"""


def of_the_debugger(shown: str) -> str:
    """Without the lines of the other rank and of tt-run, which come when they come: also between a prompt and the echo of its answer."""
    return re.sub(r"(\[0\]|tt-run:) .*\n", "", shown)


@pytest.mark.parametrize("pause", [4, pytest.param(13, marks=pytest.mark.slow)])
def test_one_rank_has_the_terminal_and_every_deadline_waits(pause: int, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    # Guard and watch for hangs, and of the longer pause the limit of the run too, are shorter than the pause at the prompt.
    words = (
        "tt-run",
        "--timeout",
        "12" if pause > 12 else "60",
        "--hang-timeout",
        "2",
        "--debug-rank",
        "1",
        *SPLIT,
        "python",
        program,
    )
    answers = (
        "p value",
        f"wait {pause}",
        "^C",
        *(("n",) if AT_THE_CALL else ()),
        "n",
        "p y.shape",
        "c",
        "p value * 1000",
        "c",
        "p step + 100",
        "q",
    )
    talked = talk(words, answers, cwd=tmp_path, env={"TT_RUN_GUARD_TIMEOUT": "2"}, timeout=80)
    shown = of_the_debugger(talked.shown)
    assert talked.code == 1, talked.shown
    for part in (
        "(Pdb) p value\n7\n",
        "--KeyboardInterrupt--",
        "Shape([1, 1, 32, 512])\n(Pdb) ",
        "\n17000\n",
        "\n101\n",
    ):
        assert part in shown, talked.shown
    assert ("program.py(10)" in shown) is AT_THE_CALL and "program.py(11)<module>()" in shown
    assert "program.py(13)<module>()\n-> print(1 // (value - 17))" in shown  # where it failed
    assert "TTG0" not in talked.shown and "ZeroDivisionError" in talked.shown


@pytest.mark.wide
def test_a_rank_left_in_the_debugger_is_told_at_the_programs_line(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    talked = talk(("tt-run", "--debug-rank", "1", *SPLIT, "python", program), ("q",), cwd=tmp_path)
    line = PROGRAM.splitlines().index("    breakpoint()") + 1 + (not AT_THE_CALL)
    said = f"rank 1: ended at {program}:{line} with exit code 1: tt-run: rank 1 was left in the debugger"
    assert talked.code == 1 and said in talked.shown, talked.shown


def test_without_a_terminal_the_rank_says_what_to_type(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys\nbreakpoint()\n")
    words = ("--emulate", "--system", "n300", "python", program)
    ran = tt_run(*words, cwd=tmp_path)
    assert ran.code == 1
    assert f"TTR048]: breakpoint() at {program}:2, and ranks have no terminal" in ran.err
    assert "tt-run --debug-rank 0" in ran.err and "BdbQuit" not in ran.err
    program.write_text("import pdb\npdb.set_trace()\nprint(1)\n")
    ran = tt_run(*words, cwd=tmp_path)
    assert ran.code == 1 and "needs a terminal: tt-run --debug-rank 0" in ran.err
    for wrong, said in (
        (("--debug-rank", "3"), "there is no rank 3"),
        (("--debugpy", "1"), "--debugpy 1 is not understood"),
        (("--debugpy", "1:99999"), "--debugpy 1:99999 is not understood"),
        (("--debug-rank", "0", "--stdin"), "both read this terminal"),
    ):
        ran = tt_run(*wrong, *words, cwd=tmp_path)
        assert ran.code == 2 and "TTR047" in ran.err and said in ran.err


@pytest.mark.wide
def test_a_replay_stops_where_it_is_told(tmp_path: Path) -> None:
    program, record = tmp_path / "program.py", tmp_path / "record"
    program.write_text(PROGRAM.replace("    breakpoint()\n", ""))
    assert tt_run("--record", record, *SPLIT, "python", program, cwd=tmp_path).code == 1
    replay = ("tt-run", "replay", record, "--rank", "1")
    talked = talk((*replay, "--until", "program.py:11"), ("p step", "c", "q"), timeout=40)
    assert "program.py(11)<module>()" in talked.shown and "(Pdb) p step\n0\n" in talked.shown
    assert "ZeroDivisionError" in talked.shown and "stopped where it failed" in talked.shown
    # The first call reads nothing from others: the second is the gather of the second step.
    talked = talk((*replay, "--until", "2"), ("p step", "n", "p y.shape", "q"), timeout=40)
    assert "before call 2 of the record (call 3 of the guard), all_gather(" in talked.shown
    assert "(Pdb) p step\n1\n" in talked.shown and "Shape([1, 1, 32, 512])" in talked.shown
    assert talked.code == 0
    talked = talk((*replay, "--pdb"), ("n", "q"), timeout=40)
    assert "program.py(1)<module>()" in talked.shown and "program.py(2)<module>()" in talked.shown


@pytest.mark.wide
def test_an_editor_stops_a_rank_of_a_run_and_of_its_replay(tmp_path: Path) -> None:
    """The ranks wait for the editor beyond every deadline; what it reads at a breakpoint is the rank's own."""
    pytest.importorskip("debugpy", reason="debugpy is not installed: pip install debugpy")
    program, record, port = tmp_path / "program.py", tmp_path / "record", free_port()
    program.write_text(
        PROGRAM.replace("    breakpoint()\n", "").replace("print(1 // (value - 17))", "print('end')")
    )
    run = ("--hang-timeout", "2", "--debugpy", f"1:{port}", "--record", record, *SPLIT, "python", program)
    with ThreadPoolExecutor(1) as pool:
        ran = pool.submit(tt_run, *run, cwd=tmp_path, env={"TT_RUN_GUARD_TIMEOUT": "2"}, timeout=90)
        with Editor(port) as editor:
            editor.attach({program: [11]})
            for step in range(2):
                thread, frame = editor.stopped()
                assert (Path(frame["source"]["path"]).name, frame["line"]) == ("program.py", 11)
                assert (
                    editor.value(frame, "(step, ttnn.get_device_tensors(y)[0].shape)")
                    == f"({step}, Shape([1, 1, 32, 512]))"
                )
                editor.ask("continue", threadId=thread)
        ended = ran.result()
        assert ended.code == 0, ended.err
        assert (
            f"rank 1 waits for a debugger on 127.0.0.1:{port}" in ended.err and ended.out.count("step 1") == 2
        )
        assert "left processes behind" not in ended.err  # the editor's adapter has
        port = free_port()  # the adapter on the other one takes its time to go
        replay = ("replay", record, "--rank", "0", "--debugpy", str(port))
        ran = pool.submit(tt_run, *replay, cwd=tmp_path, timeout=90)
        with Editor(port) as editor:
            editor.attach({program: [12]})
            thread, frame = editor.stopped()
            assert frame["line"] == 12 and editor.value(frame, "value") == "17"
            editor.ask("continue", threadId=thread)
        ended = ran.result()
        assert ended.code == 0 and "all as recorded" in ended.err, ended.err
