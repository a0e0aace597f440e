"""`tt-run init`: a starter project that runs at once."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from mgd.diagnostics import Diagnostic
from mgd.files import write_file
from mgd.folding import fold
from mgd.resources import configs_root
from tt_run.cli.help import command_help, terminal_width
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import read
from tt_run.contract import Exit
from tt_run.errors import UsageError
from tt_run.inputs.site import is_dir


class Init(Arguments):
    """Copy a starter project to DIR, the current folder by default: a mesh graph descriptor, rank bindings, a program and its test.

    It runs at once, on two ranks and without hardware: tt-run python program.py.
    """

    __slots__ = ()
    usage = "tt-run init [DIR]"
    help: bool = option("Options", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Copies the files. Raises UsageError when one of them is there already, or for more than one folder."""
    given = read(words, Init)
    if given.help:
        print(command_help(Init))
        return Exit.OK
    folder = Path(*given.rest)
    if os.path.lexists(folder) and not is_dir(folder):
        message = f"{folder} is a file, and a folder is to be written"
        raise UsageError(Diagnostic("TTR043", message, help="write tt-run init ANOTHER_FOLDER"))
    # An installer compiles what looks like a module, so there may be a __pycache__ beside the files.
    sources = sorted(path for path in (configs_root() / "starter").iterdir() if path.is_file())
    taken = [source.name for source in sources if (folder / source.name).exists()]
    if taken:
        raise UsageError(
            Diagnostic(
                "TTR043",
                f"{folder} has {', '.join(taken)} already, and nothing is overwritten",
                help="write tt-run init ANOTHER_FOLDER",
            )
        )
    folder.mkdir(parents=True, exist_ok=True)
    for source in sources:
        write_file(folder / source.name, source.read_bytes())
    wrote = f"wrote {', '.join(source.name for source in sources)}"
    print(f"{fold(wrote, terminal_width(), '    ')}\n\nnext:")
    if folder != Path():
        print(f"  cd {shlex.quote(str(folder))}")
    test = "pytest" if find_spec("pytest") else "pip install pytest && pytest"
    print(f"  {'tt-run python program.py':30}  # two ranks, no hardware\n  {test:30}  # the same as a test")
    return Exit.OK
