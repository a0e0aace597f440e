"""The hook of Python ranks: stacks on demand, failures on record, the user's own hooks untouched. MPI is played by a small module."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.sweep import thinned
from tests.tt_run.launch.conftest import DEADLINE
from tt_run.launch.wrapper import HOOK_FOLDER
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.status import RankStatus, failure_of, read_failure

# An mpi4py that is always up and whose finalization, like the real one among dead peers, would never end.
FAKE_MPI = """
import os
def Is_initialized(): return True
def Is_finalized(): return False
class Finalize:  # like the real one after all Python functions for the end of the program
    def __del__(self, write=os.write): write(1, b"waits in MPI_Finalize\\n")
finalize = Finalize()
"""


class HookedPython:
    """Runs Python programs as rank 1 of a run."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = RunFolder(tmp_path / "run")
        self.folder.path.mkdir()
        self.site = tmp_path / "site"
        (self.site / "mpi4py").mkdir(parents=True)
        (self.site / "mpi4py/__init__.py").write_text("")
        (self.site / "mpi4py/MPI.py").write_text(FAKE_MPI)
        self.program = tmp_path / "program.py"

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        mine = {"TT_RUN_DIR": str(self.folder.path), "OMPI_COMM_WORLD_RANK": "1"}
        return {**kept, **mine, "PYTHONPATH": f"{HOOK_FOLDER}:{self.site}", "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, text: str) -> subprocess.CompletedProcess[str]:
        self.program.write_text(text)
        return subprocess.run(
            [sys.executable, str(self.program)],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )

    def failure(self) -> Any:
        return json.loads(self.folder.failure(1).read_text())


@pytest.fixture
def hooked(tmp_path: Path) -> HookedPython:
    return HookedPython(tmp_path)


def test_a_program_that_succeeds_notices_nothing(hooked: HookedPython) -> None:
    text = "import sys; print(sys.excepthook.__name__, [p for p in sys.path if 'hook' in p]); sys.exit()"
    ran = hooked.run(text)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.split()[1] == "[]"
    assert not hooked.folder.failure(1).exists()


def test_an_exception_is_on_record_with_its_line(hooked: HookedPython) -> None:
    ran = hooked.run("def f():\n    raise ValueError('no good')\nf()\n")
    assert ran.returncode == 1
    assert "ValueError: no good" in ran.stderr
    record = hooked.failure()
    assert (record["exception"], record["message"], record["line"]) == ("ValueError", "no good", 2)
    assert record["file"] == str(hooked.program)
    assert record["rank"] == 1


def test_a_rank_that_opens_no_more_files_ends_all_the_same(hooked: HookedPython) -> None:
    """It imports nothing any more, and would wait in MPI_Finalize for those that wait for it."""
    text = "import resource\nfrom mpi4py import MPI\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\nraise ValueError('own')\n"
    ran = hooked.run(text)
    assert ran.returncode == 1
    assert ran.stderr.count("ValueError: own") == 1 and "Error in sys.excepthook" not in ran.stderr


def test_a_hook_in_the_place_of_ours_comes_to_its_end(hooked: HookedPython) -> None:
    text = """
import atexit, sys
from mpi4py import MPI
ours = sys.excepthook
def mine(*error):
    ours(*error)
    print("mine goes on", flush=True)
sys.excepthook = mine
atexit.register(print, "at exit", flush=True)
raise ValueError
"""
    ran = hooked.run(text)
    assert (ran.returncode, ran.stdout) == (1, "mine goes on\nat exit\n")


def test_a_better_record_is_kept(hooked: HookedPython) -> None:
    hooked.folder.failure(1).write_text('{"exception": "GuardError"}')
    hooked.run("raise ValueError")
    assert hooked.failure() == {"exception": "GuardError"}


@pytest.mark.parametrize(
    ("ending", "code"),
    thinned(
        [
            ("raise ValueError", 1),
            ("raise KeyboardInterrupt", 130),
            ("sys.exit(3)", 3),
            ("sys.exit('message')", 1),
            ("raise SystemExit(5)", 5),
            ("raise SystemExit('message')", 1),
            ("class Own(SystemExit): pass\nraise Own(6)", 6),
            ("sys.exit(True)", 1),
            ("sys.exit(259)", 3),
            ("sys.exit(256)", 1),  # 0 to the system
            ("raise SystemExit(-512)", 1),
            ("sys.exit(1 << 70)", 255),
            ("sys.exit(3 - (1 << 63))", 3),
            ("sys.exit(3 - (1 << 64))", 255),
            ("exit_later = lambda: sys.exit(4)\nexit_later()", 4),
        ],
        3,
    ),
)
def test_a_failure_while_mpi_is_up_ends_the_process(hooked: HookedPython, ending: str, code: int) -> None:
    ran = hooked.run(f"import sys\nfrom mpi4py import MPI\nprint('before')\n{ending}\n")
    assert ran.returncode == code
    assert ran.stdout == "before\n"


@pytest.mark.parametrize("ending", ["raise KeyboardInterrupt", "import os\nos.kill(os.getpid(), 2)"])
def test_an_interrupt_ends_a_program_as_python_does(hooked: HookedPython, ending: str) -> None:
    assert hooked.run(ending).returncode == -signal.SIGINT
    assert hooked.failure()["exception"] == "KeyboardInterrupt"


@pytest.mark.parametrize("ending", ["raise ValueError", "sys.exit(1)", "sys.exit('message')"])
def test_the_programs_own_end_is_kept_while_mpi_is_up(hooked: HookedPython, ending: str) -> None:
    text = f"import atexit, sys\nfrom mpi4py import MPI\natexit.register(print, 'at exit')\n{ending}\n"
    ran = hooked.run(text)
    assert (ran.returncode, ran.stdout) == (1, "at exit\n")
    assert "message" in ran.stderr or "message" not in ending


@pytest.mark.parametrize(
    "ending",
    [
        "sys.exit()",
        "sys.exit(0)",
        "try:\n    sys.exit(3)\nexcept SystemExit:\n    pass",
        "try:\n    sys.exit(3)\nexcept SystemExit as error:\n    saved = error",
        "import threading\nt = threading.Thread(target=sys.exit, args=(3,))\nt.start(); t.join()",
        "raise SystemExit",
        "try:\n    raise SystemExit(3)\nexcept SystemExit as error:\n    saved = error",
        "def f(): raise SystemExit(3)\nimport threading\nt = threading.Thread(target=f)\nt.start(); t.join()",
        "def f():\n    try:\n        sys.exit(3)\n    finally:\n        return\nf()",
    ],
)
def test_an_exit_that_is_no_failure_goes_its_ordinary_way(hooked: HookedPython, ending: str) -> None:
    ran = hooked.run(f"import sys\nfrom mpi4py import MPI\n{ending}\n")
    assert (ran.returncode, ran.stdout) == (0, "waits in MPI_Finalize\n")
    # Python 3.14 warns of a `return` in a `finally` block, and quotes it in a second line.
    assert (
        "SyntaxWarning" in ran.stderr
        if "finally" in ending and sys.version_info >= (3, 14)
        else not ran.stderr
    )


@pytest.mark.parametrize(
    ("ending", "code", "message"),
    [
        ("sys.exit(3)", 3, "3"),
        ("raise SystemExit('no data')", 1, "no data"),
        (
            "sys.exit(256)",
            1,
            "256 (the system keeps its lowest 8 bits, which are 0: an exit code is 1 to 255)",
        ),
        ("def f():\n    exit('no data')\nf()", 1, "no data"),
        ("import argparse\nargparse.ArgumentParser().error('bad')", 2, "2"),
    ],
)
def test_an_exit_that_nobody_caught_is_on_record(
    hooked: HookedPython, ending: str, code: int, message: str
) -> None:
    hooked.run(f"import sys\nfrom mpi4py import MPI\n{ending}\n")
    record = hooked.failure()
    line = 4 if "\n" in ending else 3
    assert (record["exception"], record["code"], record["message"]) == ("SystemExit", code, message)
    assert (record["file"], record["line"]) == (str(hooked.program), line)


def test_the_exit_of_a_child_is_not_its_ranks(hooked: HookedPython) -> None:
    hooked.run("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import sys; sys.exit(3)'])\n")
    assert not hooked.folder.failure(1).exists()


def test_the_class_is_still_the_interpreters_to_who_knows_it(hooked: HookedPython) -> None:
    text = """
import pickle
real = SystemExit.__mro__[1]
assert (real.__name__, repr(SystemExit(3)), str(SystemExit("a", 2))) == ("SystemExit", "SystemExit(3)", "('a', 2)")
try:
    raise SystemExit(4)
except real as error:
    assert (error.code, type(pickle.loads(pickle.dumps(error))).__name__) == (4, "SystemExit")
"""
    ran = hooked.run(text)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_without_mpi_everything_ends_in_order(hooked: HookedPython) -> None:
    ran = hooked.run("import atexit, sys\natexit.register(print, 'at exit')\nsys.exit(5)\n")
    assert (ran.returncode, ran.stdout) == (5, "at exit\n")


@pytest.mark.parametrize(
    ("text", "state"), [("pass", "never"), ("from mpi4py import MPI", "open")], ids=["no MPI", "MPI up"]
)
def test_the_end_of_the_program_is_noted(hooked: HookedPython, text: str, state: str) -> None:
    hooked.run(text)
    assert hooked.folder.ending(1).read_text().rstrip().endswith(f"mpi={state}")


def test_the_users_sitecustomize_still_runs(hooked: HookedPython) -> None:
    (hooked.site / "sitecustomize.py").write_text("print('mine')")
    assert hooked.run("import sitecustomize; print(sitecustomize.__file__)").stdout == (
        f"mine\n{hooked.site}/sitecustomize.py\n"
    )


def test_a_broken_sitecustomize_is_told_as_by_python_itself(hooked: HookedPython) -> None:
    (hooked.site / "sitecustomize.py").write_text("import not_there")
    assert "No module named 'not_there'" in hooked.run("pass").stderr


BORROWED = """
import faulthandler, json, sys, time
told, clock = [], [100.0]
faulthandler.dump_traceback_later = lambda seconds, **words: told.append((seconds, words))
faulthandler.cancel_dump_traceback_later = lambda: told.append("off")
time.monotonic = lambda: clock[0]
asked, before, during = {words}
sys.modules["sitecustomize"]._remember_dumps(faulthandler)
if asked is not None:
    faulthandler.dump_traceback_later(asked[0], **asked[1])
clock[0] += before
told.clear()
give_back = faulthandler.dump_traceback_later.tt_run_borrow(60.0)
clock[0] += during
give_back()
print(json.dumps(told))
"""


@pytest.mark.parametrize(
    ("asked", "before", "during", "left"),
    [
        (None, 0.0, 1.0, None),
        ((9.0, {}), 2.0, 3.0, 4.0),
        ((9.0, {}), 2.0, 30.0, 0.001),  # it is over by now: at once
        ((9.0, {}), 10.0, 1.0, None),  # it was over before
        ((9.0, {"repeat": True}), 10.0, 1.0, 9.0),
    ],
)
def test_the_programs_own_timer_goes_on_while_it_is_borrowed(
    hooked: HookedPython, asked: Any, before: float, during: float, left: float | None
) -> None:
    ran = hooked.run(BORROWED.replace("{words}", repr((asked, before, during))))
    wanted = [[60.0, {"exit": True, "file": 2}], "off"] + [[left, asked and asked[1]]] * (left is not None)
    assert json.loads(ran.stdout) == wanted, ran.stderr


def test_children_report_for_themselves_alone(hooked: HookedPython) -> None:
    text = """
import os
child = os.fork()
if child == 0:
    raise ValueError("child")
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert hooked.run(text).stdout == "1\n"
    assert not hooked.folder.failure(1).exists()


CHILDREN = """
import os, subprocess, sys
def python(text): return subprocess.run([sys.executable, "-c", text], stderr=subprocess.DEVNULL).returncode
"""


class TestAPythonThatARankStarts:
    """It is no rank: neither its end nor its failure is that of the rank, which goes on."""

    def test_its_end_is_not_that_of_the_rank(self, hooked: HookedPython) -> None:
        ending = hooked.folder.ending(1)
        hooked.run(f"{CHILDREN}python('pass')\nprint(os.path.exists({str(ending)!r}))\n")
        pids = re.findall(r"registered pid=(\d+)", hooked.folder.stacks(1).read_text())
        assert len(pids) == 2 and ending.read_text() == f"pid={pids[0]} mpi=never\n"

    def test_its_end_is_that_of_the_rank_where_it_meets_the_others(self, hooked: HookedPython) -> None:
        hooked.run(f"{CHILDREN}python('import mpi4py.MPI')\n")
        assert "mpi=open" in hooked.folder.ending(1).read_text()

    @pytest.mark.parametrize("end", ["sys.exit(3)", "raise KeyError('own')", ""])
    def test_its_failure_is_the_ranks_where_the_rank_says_nothing_of_its_own(
        self, hooked: HookedPython, end: str
    ) -> None:
        code = hooked.run(
            f"{CHILDREN}python('1 / 0'); python('int([])')\n{end or 'os._exit(4)'}\n"
        ).returncode
        found = failure_of(hooked.folder, RankStatus(1, pid=1, code=code))
        told = {"sys.exit(3)": "TypeError", "": "TypeError"}.get(end, "KeyError")
        assert found is not None and found["exception"] == told
        assert (failure_of(hooked.folder, RankStatus(1, pid=1, code=0)) is None) == (told != "KeyError")
        assert (failure_of(hooked.folder, RankStatus(1, pid=1, signal=15)) is None) == (told != "KeyError")

    def test_programs_after_each_other_are_the_rank_each(self, hooked: HookedPython) -> None:
        hooked.run("pass")
        hooked.run("raise ValueError('second')")
        assert hooked.failure()["message"] == "second"
        assert len(hooked.folder.ending(1).read_text().splitlines()) == 2


def test_an_editor_needs_its_package(hooked: HookedPython) -> None:
    (hooked.site / "debugpy.py").write_text("raise ImportError")
    (hooked.folder.path / "launch").mkdir()
    (hooked.folder.path / "launch" / "debug").write_text("0 5677\n1 5678\n")
    ran = hooked.run("print('begun')")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("tt-run: --debugpy needs the package debugpy, which ")
    assert ran.stderr.endswith(" of rank 1 does not have: pip install debugpy\n")


def test_a_port_in_use_ends_the_rank_before_its_program(hooked: HookedPython) -> None:
    """The program would run without the debugger that was asked for."""
    pytest.importorskip("debugpy", reason="debugpy is not installed: pip install debugpy")
    (hooked.folder.path / "launch").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (hooked.folder.path / "launch/debug").write_text(f"1 {port}\n")
        ran = hooked.run("print('the program')")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"tt-run: --debugpy 1:{port}: " in ran.stderr and "already in use" in ran.stderr
    assert re.search(r"help: another port of \S+ is free: --debugpy 1:\d+\n", ran.stderr), ran.stderr
    assert "sitecustomize" not in ran.stderr


def test_a_breakpoint_without_a_terminal_is_at_the_programs_line(hooked: HookedPython) -> None:
    ran = hooked.run("x = 1\nbreakpoint()\n")
    assert (hooked.failure()["file"], hooked.failure()["line"]) == (str(hooked.program), 2)
    assert "sitecustomize" not in ran.stderr and "--debug-rank 1" in ran.stderr


@pytest.mark.parametrize(
    ("text", "line"),
    [("x = 1\nprint 'Python 2'\n", 2), ("import wrong\n", 3), ("x = 1\neval('1 +')\n", 2)],
    ids=["program", "imported", "text"],
)
def test_a_slip_of_syntax_is_on_record_with_its_line(hooked: HookedPython, text: str, line: int) -> None:
    (hooked.site / "wrong.py").write_text("\n\ndef f(: pass\n")
    hooked.run(text)
    file = hooked.site / "wrong.py" if "wrong" in text else hooked.program
    assert (hooked.failure()["file"], hooked.failure()["line"]) == (str(file), line)


def test_the_stack_is_written_on_demand_and_the_program_goes_on(hooked: HookedPython) -> None:
    hooked.program.write_text("print('up', flush=True)\ninput()\nprint('done')\n")
    process = subprocess.Popen(
        [sys.executable, str(hooked.program)],
        env=hooked.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout
    try:
        assert process.stdout.readline() == "up\n"
        deadline = time.monotonic() + DEADLINE
        while f'{hooked.program}", line 2' not in hooked.folder.stacks(1).read_text():
            assert time.monotonic() < deadline
            process.send_signal(signal.SIGUSR1)
            time.sleep(0.01)
        assert process.communicate("\n", DEADLINE) == ("done\n", None)
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait(DEADLINE)


def test_a_late_request_for_stacks_does_not_kill(hooked: HookedPython) -> None:
    """Between the end of the program and MPI_Finalize faulthandler is gone already."""
    text = "import signal, os, sys\nprint(signal.getsignal(signal.SIGUSR1))\nimport faulthandler\n"
    text += "faulthandler.unregister(signal.SIGUSR1)\nos.kill(os.getpid(), signal.SIGUSR1)\nprint('alive')\n"
    assert hooked.run(text).stdout.endswith("alive\n")


@pytest.mark.parametrize("missing", ["TT_RUN_DIR", "OMPI_COMM_WORLD_RANK"])
def test_outside_a_run_the_hook_does_nothing(hooked: HookedPython, missing: str) -> None:
    environment = {name: value for name, value in hooked.environment().items() if name != missing}
    ran = subprocess.run(
        [sys.executable, "-c", "import sys; print(sys.excepthook is sys.__excepthook__)"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert ran.stdout == "True\n"


class TestWhereAnExceptionIsShown:
    """What the user can repair is in the user's program: there the traceback ends, and there the report points."""

    @pytest.fixture
    def emulation(self, hooked: HookedPython) -> HookedPython:
        package = hooked.site / "elsewhere/tt_run/runtime"
        package.mkdir(parents=True)
        (package / "emulated.py").write_text(
            "def refuse():\n    raise RuntimeError(\n        'not like this')\n\ndef crash():\n    return {}['bug']\n"
        )
        return hooked

    @staticmethod
    def path(hooked: HookedPython) -> str:
        return str(hooked.site / "elsewhere/tt_run/runtime")

    def test_a_refusal_ends_in_the_users_program(self, emulation: HookedPython) -> None:
        ran = emulation.run(
            f"import sys; sys.path.append({self.path(emulation)!r})\nimport emulated\nemulated.refuse()\n"
        )
        assert "line 3, in <module>" in ran.stderr and "RuntimeError: not like this" in ran.stderr
        assert "emulated.py" not in ran.stderr
        assert (emulation.failure()["file"], emulation.failure()["line"]) == (str(emulation.program), 3)

    def test_a_bug_keeps_its_frames(self, emulation: HookedPython) -> None:
        ran = emulation.run(
            f"import sys; sys.path.append({self.path(emulation)!r})\nimport emulated\nemulated.crash()\n"
        )
        assert 'emulated.py", line 6, in crash' in ran.stderr
        assert emulation.failure()["line"] == 3

    def test_so_does_a_refusal_in_an_exit_handler(self, emulation: HookedPython) -> None:
        emulation.run(
            f"import atexit, sys; sys.path.append({self.path(emulation)!r})\nimport emulated\n"
            "atexit.register(lambda: emulated.refuse())\n"
        )
        (told,) = emulation.folder.path.glob("rank-*.atexit")
        assert json.loads(told.read_text())["place"] == f"{emulation.program}:3"

    def test_the_frames_of_a_package_are_shown_but_not_blamed(self, hooked: HookedPython) -> None:
        package = hooked.site / "lib/python3.12/site-packages"
        package.mkdir(parents=True)
        (package / "strict.py").write_text("def check():\n    raise ValueError('no')\n")
        ran = hooked.run(f"import sys; sys.path.append({str(package)!r})\nimport strict\nstrict.check()\n")
        assert "strict.py" in ran.stderr
        assert (hooked.failure()["file"], hooked.failure()["line"]) == (str(hooked.program), 3)


class TestAnEndThatTakesTooLong:
    """After an exception the others wait for this rank: what keeps it from ending has a deadline."""

    @pytest.mark.parametrize("mpi", ["from mpi4py import MPI", "pass"], ids=["in MPI", "without MPI"])
    @pytest.mark.parametrize(
        "keeper",
        [
            "import atexit, time; atexit.register(time.sleep, 600)",
            "import multiprocessing, time; multiprocessing.get_context('fork').Process(target=time.sleep, args=(600,)).start()",
            "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()",
        ],
        ids=["exit handler", "child", "thread"],
    )
    def test_it_is_ended_with_the_code_of_its_failure(
        self, hooked: HookedPython, keeper: str, mpi: str
    ) -> None:
        program = hooked.program
        program.write_text(f"{mpi}\n{keeper}\nraise ValueError('boom')\n")
        with subprocess.Popen(
            [sys.executable, str(program)],
            env={**hooked.environment(), "TT_RUN_EXIT_TIMEOUT": "0.3"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                assert process.wait(DEADLINE) == 1
            finally:
                with suppress(ProcessLookupError):  # a child of multiprocessing lives on
                    os.killpg(process.pid, signal.SIGKILL)
            assert process.stderr is not None and "ValueError: boom" in process.stderr.read()
        assert hooked.failure()["exception"] == "ValueError"

    def test_a_short_end_is_waited_for(self, hooked: HookedPython) -> None:
        ran = hooked.run(
            "from mpi4py import MPI\nimport atexit, time\n"
            "atexit.register(lambda: (time.sleep(0.5), print('saved', flush=True)))\nraise ValueError\n"
        )
        assert (ran.returncode, ran.stdout) == (1, "saved\n")


def test_an_exception_whose_text_fails_is_recorded_with_its_line(hooked: HookedPython) -> None:
    hooked.run("class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E\n")
    assert (hooked.failure()["exception"], hooked.failure()["line"]) == ("E", 3)
    assert hooked.failure()["message"] == "(its __str__ raised RuntimeError)"


def test_a_lone_surrogate_comes_back_printable(hooked: HookedPython) -> None:
    hooked.run("raise ValueError('\\ud800 and \\udcff')\n")
    found = read_failure(hooked.folder, 1)
    assert found is not None and found["message"] == "\\ud800 and \\udcff"


@pytest.mark.parametrize("mpi", ["", "from mpi4py import MPI\n"], ids=["without MPI", "with MPI"])
def test_an_exception_that_a_hook_of_the_programs_keeps_to_itself_is_on_record(
    hooked: HookedPython, mpi: str
) -> None:
    text = f"import sys\n{mpi}sys.excepthook = lambda *error: None\n\ndef f():\n    raise ValueError('kept')\nf()\n"
    ran = hooked.run(text)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert (hooked.failure()["exception"], hooked.failure()["message"]) == ("ValueError", "kept")


@pytest.mark.parametrize(
    "text",
    [
        "import code\ncode.InteractiveConsole().runsource('1 / 0')\n",
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    pass\n",
    ],
    ids=["a console", "caught"],
)
def test_an_exception_that_was_got_over_is_not(hooked: HookedPython, text: str) -> None:
    assert hooked.run(text).returncode == 0
    assert not hooked.folder.failure(1).exists()
