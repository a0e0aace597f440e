"""Try changes in one process: collect the tests once, then for each change fork, change the code of living functions, run what calls it.

`python scripts/mutation/trial.py changes.json verdicts.jsonl TESTS…` in a copy of the checkout. A first fork runs all tests and notes which
lines each of them executes and how long it takes. Nothing runs in the process that forks, so no cache is warm. A verdict is a line
[number of the change, word]: `noticed`, `survived`, `not run` where none of the tests comes to these lines, `not made` where the change
cannot be made in a living function.
"""

from __future__ import annotations

import ast
import gc
import importlib
import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import pytest

sys.path.insert(0, str(Path.cwd()))
from scripts.mutation.changes import Change, changed

_NOTICED, _SURVIVED, _NOT_MADE, _NOT_RUN = "noticed", "survived", "not made", "not run"
_CODES = {0: _SURVIVED, 4: _NOT_MADE}
_LEAST_SECONDS = 10  # of processor time that the tests of a change may take, or twelve times what they took
_MOST_SECONDS = 8  # that tests of one change take without any change
_PATIENCE = 15  # so many times more on the clock, where others use the machine


class Trial:
    """As a plugin of pytest: takes the place of the loop over the tests."""

    def __init__(self, changes: list[Change], verdicts: Path, processes: int) -> None:
        self.changes, self.verdicts, self.processes = changes, verdicts, processes
        self.running: dict[int, tuple[int, float]] = {}
        self.failures = 0

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = session.items
        seen = self._seen()
        self.seconds = seen["seconds"]
        self.reach = Counter(
            test for told in seen["lines"].values() for tests in told.values() for test in tests
        )
        failed = {item.nodeid for item in self.items if item.nodeid in seen["failed"]}
        for each in sorted(failed):
            print(f"left out, since it fails without any change: {each}", flush=True)
        with self.verdicts.open("a", encoding="utf-8") as out:
            self.out = out
            for number, change in enumerate(self.changes):
                first, last = change.lines
                by_line = seen["lines"].get(change.file, {})
                told = {
                    test for line in range(first, last + 1) for test in by_line.get(str(line), ())
                } - failed
                if not told:
                    self._say(number, _NOT_RUN)
                    continue
                while len(self.running) >= self.processes:
                    self._collect()
                self._start(number, change, [item for item in self.items if item.nodeid in told])
            while self.running:
                self._collect()
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failures += report.failed

    def _passes(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        before = self.failures
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        return self.failures == before

    def _say(self, number: int, word: str) -> None:
        self.out.write(json.dumps([number, word]) + "\n")
        self.out.flush()

    def _seen(self) -> dict[str, Any]:
        """What a run of all tests without any change shows, from a fork of its own."""
        path = self.verdicts.with_suffix(".seen")
        pid = os.fork()
        if pid == 0:
            _quiet()
            path.write_text(json.dumps(self._watch()), encoding="utf-8")
            os._exit(0)
        os.waitpid(pid, 0)
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def _watch(self) -> dict[str, Any]:
        files = sorted({str(Path(change.file).resolve()) for change in self.changes})
        watch = coverage.Coverage(data_file=None, include=files, config_file=False)
        failed, seconds = [], {}
        watch.start()
        for item, following in _pairs(self.items):
            watch.switch_context(item.nodeid)
            began = time.process_time()
            if not self._passes(item, following):
                failed.append(item.nodeid)
            seconds[item.nodeid] = time.process_time() - began
        watch.stop()
        data = watch.get_data()
        lines = {
            str(Path(file).relative_to(Path.cwd().resolve())): {
                str(line): [each for each in told if each]
                for line, told in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        return {"lines": lines, "failed": failed, "seconds": seconds}

    def _start(self, number: int, change: Change, items: list[pytest.Item]) -> None:
        pid = os.fork()
        items = self._quickest(items)
        limit = int(_LEAST_SECONDS + 12 * sum(self.seconds[item.nodeid] for item in items))
        if pid == 0:
            _quiet()
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
            try:
                if not _make(change):
                    os._exit(4)
                gc.freeze()
                gc.enable()
                os._exit(int(not all(self._passes(item, following) for item, following in _pairs(items))))
            except BaseException:
                os._exit(1)
        self.running[pid] = number, time.monotonic() + _PATIENCE * limit

    def _quickest(self, items: list[pytest.Item]) -> list[pytest.Item]:
        """The quickest and narrowest first, as long as they take a few seconds together; the others come with the second try."""
        chosen, spent = [], 0.0
        for item in sorted(items, key=lambda item: self.seconds[item.nodeid] * self.reach[item.nodeid]):
            spent += self.seconds[item.nodeid]
            if chosen and spent > _MOST_SECONDS:
                break
            chosen.append(item)
        return chosen

    def _collect(self) -> None:
        """Wait until a change has been tried; one that hangs is noticed."""
        while True:
            for pid, (number, deadline) in list(self.running.items()):
                late = time.monotonic() > deadline
                if late:
                    os.kill(pid, 9)
                done, status = os.waitpid(pid, 0 if late else os.WNOHANG)
                if done:
                    del self.running[pid]
                    self._say(number, _CODES.get(os.waitstatus_to_exitcode(status), _NOTICED))
                    return
            time.sleep(0.005)


def _pairs(items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    return zip(items, [*items[1:], None], strict=True)


def _quiet() -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)


def _make(change: Change) -> bool:
    """Make a change in the functions that there are; False when none has it."""
    name = change.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    module = importlib.import_module(name)
    file = str(module.__file__)
    old = compile(Path(file).read_text(encoding="utf-8"), file, "exec", dont_inherit=True)
    new = compile(changed(Path.cwd(), change), file, "exec", dont_inherit=True)
    other = {before: after for before, after in _matched(old, new) if before != after}
    living = [
        each
        for each in gc.get_objects()
        if isinstance(each, FunctionType) and each.__code__.co_filename == file
    ]
    made = False
    for each in living:
        if each.__code__ in other:
            try:
                each.__code__ = other[each.__code__]
            except ValueError:  # it closes over other names
                return False
            made = True
    return made or _make_default(change, living)


def _make_default(change: Change, living: list[FunctionType]) -> bool:
    """Change a literal among the defaults of a function's arguments."""
    made = False
    for node in ast.walk(changed(Path.cwd(), change)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.lineno != change.lines[0]:
            continue
        for each in living:
            if each.__code__.co_qualname.endswith(change.function) and each.__name__ == node.name:
                values = [_literal(default) for default in node.args.defaults]
                if each.__defaults__ and len(values) == len(each.__defaults__):
                    each.__defaults__ = tuple(
                        now if new is ... else new for now, new in zip(each.__defaults__, values, strict=True)
                    )
                    made = True
                for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
                    if default is not None and each.__kwdefaults__ and (new := _literal(default)) is not ...:
                        each.__kwdefaults__[argument.arg] = new
                        made = True
    return made


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ...


def _matched(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The code of each function before and after."""
    inside = [[each for each in code.co_consts if isinstance(each, CodeType)] for code in (old, new)]
    for before, after in zip(*inside, strict=False):
        yield before, after
        yield from _matched(before, after)


def main() -> int:
    told, verdicts, processes, *words = sys.argv[1:]
    changes = [
        Change(**{**each, "lines": tuple(each["lines"])})
        for each in json.loads(Path(told).read_text(encoding="utf-8"))
    ]
    trial = Trial(changes, Path(verdicts), int(processes))
    gc.disable()
    return int(
        pytest.main(
            ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow", *words],
            plugins=[trial],
        )
    )


if __name__ == "__main__":
    raise SystemExit(main())
