"""Files in a record: what small ones said they say again, in the order in which they were read."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tt_run.runtime.record import files, reopened, start
from tt_run.runtime.record.files import Read
from tt_run.runtime.record.numbers import RecordedNumber
from tt_run.runtime.record.reopened import Reopened


@pytest.fixture(autouse=True)
def no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reopened, "_changed", {})
    monkeypatch.setattr(reopened, "_written", set())


def replayed(read: Read, unchanged: bool = True) -> Reopened:
    made = Reopened(0.0, lambda: unchanged)
    for told, data in read.waiting:
        made.add(told, data)
    return made


def content(found: Reopened, path: Path) -> bytes | None:
    """What an opening reads instead of the file."""
    instead = found.opens(path)
    if instead is None:
        return None
    with open(path, "rb", opener=lambda name, _: instead(name)) as stream:
        return stream.read()


def test_each_opening_has_its_content(tmp_path: Path) -> None:
    path, read = tmp_path / "a", Read()
    read.opens(path)
    for text in ("one", "two", "three"):
        path.write_text(text)
        read.opens(path)
        read.opens(str(path))
    assert [told["how"] for told, _ in read.waiting] == [
        "missing",
        "kept",
        "again",
        "kept",
        "again",
        "kept",
        "again",
    ]
    found = replayed(read)
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: '.*/a'"):
        content(found, path)
    assert [content(found, path) for _ in range(6)] == [b"one", b"one", b"two", b"two", None, None]
    path.unlink()
    again = replayed(read)
    assert again.opens(path) is None  # the file itself is missing
    assert content(again, path) == b"one"


@pytest.mark.parametrize(
    "name",
    [
        ".netrc",
        ".aws/x",
        "token",
        "hf_token.txt",
        "my-secrets.yaml",
        "server.pem",
        "id_rsa",
        "passwords",
        "a.key",
    ],
)
def test_what_looks_like_a_secret_is_not_kept(tmp_path: Path, name: str) -> None:
    path, read = tmp_path / name, Read()
    path.parent.mkdir(exist_ok=True)
    path.write_text("hidden")
    read.opens(path)
    assert [(told["how"], data) for told, data in read.waiting] == [("left", b"")]


@pytest.mark.parametrize("name", ["tokenizer.json", "tokens.bin", "id_map", "keys.npy", "secretary", "a..b"])
def test_what_does_not_is(tmp_path: Path, name: str) -> None:
    path, read = tmp_path / name, Read()
    path.write_text("seen")
    read.opens(path)
    assert [told["how"] for told, _ in read.waiting] == ["kept"]


def test_large_files_are_named_when_they_are_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST", 10)
    monkeypatch.chdir(tmp_path)
    read = Read()
    for name in ("same", "other"):
        Path(name).write_bytes(bytes(11))
        read.opens(name)
    Path("other").write_bytes(bytes(12))
    found = replayed(read)
    assert found.opens("same") is None and reopened.changed_files() == ""
    assert found.opens("other") is None
    assert (
        reopened.changed_files()
        == "  files are read as they are now, and these are others than in the run: other\n"
    )


def test_what_a_record_takes_altogether(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST", 25)
    read = Read()
    for number in range(4):
        (tmp_path / str(number)).write_bytes(bytes(10))
        read.opens(tmp_path / str(number))
    assert [told["how"] for told, _ in read.waiting] == ["kept", "kept", "left", "left"]


def test_facts_and_names_are_those_of_the_run(tmp_path: Path) -> None:
    path, read = tmp_path / "a", Read()

    def ask(keeper: Any) -> list[Any]:
        try:
            stat = keeper.stat(path)
            facts: Any = stat.st_size, stat.st_mtime_ns, stat.st_mtime, stat.st_mode
        except FileNotFoundError as error:
            facts = str(error)
        return [facts, keeper.names(tmp_path, lambda: sorted(os.listdir(tmp_path)))]  # noqa: PTH208

    before = ask(read)
    path.write_text("text")
    os.utime(path, ns=(5, 1_500_000_007))
    between = ask(read)
    path.write_text("longer")
    found = replayed(read)
    assert [ask(found), ask(found)] == [before, between]
    path.unlink()
    found = replayed(read)
    assert [ask(found), ask(found), ask(found)] == [before, between, before]


def test_a_folder_that_was_not_there(tmp_path: Path) -> None:
    path, read = tmp_path / "a", Read()

    def names(keeper: Any) -> list[str]:
        found: list[str] = keeper.names(path, lambda: os.listdir(path))  # noqa: PTH208
        return found

    with pytest.raises(FileNotFoundError):
        names(read)
    path.mkdir()
    assert names(read) == []
    (path / "b").touch()
    found = replayed(read)
    with pytest.raises(FileNotFoundError):
        names(found)
    assert [names(found), names(found)] == [[], ["b"]]


def test_a_changed_program_reads_what_it_wrote(tmp_path: Path) -> None:
    path, read = tmp_path / "a", Read()
    path.write_text("as recorded")
    read.opens(path)
    path.write_text("by the new program")
    reopened._written.add(str(path))
    assert content(replayed(read), path) == b"as recorded"
    assert content(replayed(read, unchanged=False), path) is None


@pytest.mark.parametrize(
    ("words", "lines", "unchanged"),
    [
        ("python prog.py 1", "as recorded", True),
        ("/other/python prog.py 1", "as recorded", True),
        ("python prog.py 2", "as recorded", False),
        ("python other.py 1", "as recorded", False),
        ("python prog.py 1", "edited", False),
        ("python prog.py 2", "edited", False),
    ],
)
def test_a_program_is_another_one_with_other_words_or_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, lines: str, unchanged: bool
) -> None:
    program, path, read, made = tmp_path / "prog.py", tmp_path / "a", Read(), list[Reopened]()
    program.write_text("as recorded")
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    header = {"argv": ["python", "prog.py", "1"], "program": {"path": str(program), "sha256": digest}}
    path.write_text("of the run")
    read.opens(path)
    path.write_text("of the replay")
    program.write_text(lines)
    reopened._written.add(str(path))
    monkeypatch.setattr(sys, "orig_argv", words.split())
    monkeypatch.setattr(RecordedNumber, "install", lambda _: None)
    monkeypatch.setattr(reopened, "install", made.append)
    start._reopen(header, 0.0, read.waiting)
    [found] = made
    assert content(found, path) == (b"of the run" if unchanged else None)


def test_facts_of_what_it_wrote_are_those_of_the_run(tmp_path: Path) -> None:
    """Another rank had gone on writing there; a changed program gets what is there now."""
    path, read = tmp_path / "a", Read()
    path.write_text("by this rank and another")
    before = read.stat(path)
    path.write_text("by this rank")
    reopened._written.add(str(path))
    again = replayed(read).stat(path)
    assert (again.st_size, again.st_mtime) == (before.st_size, before.st_mtime)
    assert replayed(read, unchanged=False).stat(path).st_size == len("by this rank")


def test_what_is_no_file_of_the_programs(tmp_path: Path) -> None:
    read = Read()
    (tmp_path / "a.py").touch()
    for path in (
        tmp_path / "a.py",
        tmp_path,
        "/proc/self/stat",
        "/dev/null",
        files.__file__,
        os.__file__,
        0,
        "a\0b",
    ):
        read.opens(path)
    assert read.waiting == [({"path": f"{Path.cwd()}/a\0b", "how": "missing"}, b"")]


def test_the_process_of_the_run_in_proc(tmp_path: Path) -> None:
    found = Reopened(0.0, lambda: True, RecordedNumber(4_000_000).here)
    instead = found.opens("/proc/4000000/stat")
    assert instead is not None
    with os.fdopen(instead("/proc/4000000/stat")) as stream:
        assert int(stream.read().split()[0]) == os.getpid()
    assert found.opens("/proc/40/stat") is None


def test_what_a_replay_asks_of_others_is_named(tmp_path: Path) -> None:
    """Processes and connections answer as they like; what libraries ask by themselves is none of the program's."""
    program = tmp_path / "program.py"
    program.write_text(
        "import os, socket, subprocess\nfrom tt_run.runtime.record import reopened\nreopened.watch()\n"
        "print(repr(reopened.asked_outside()))\n"
        "subprocess.run(['/bin/true', 'x'])\nos.system('true')\n"
        "try:\n    socket.create_connection(('127.0.0.1', 1))\nexcept OSError:\n    pass\n"
        "print(reopened.asked_outside())\n"
    )
    ran = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=True)
    nothing, said, *_ = ran.stdout.splitlines()
    assert nothing == "''"
    assert said.endswith("true (program.py:5), true (program.py:6), a connection (program.py:8)")
