"""`python -m tt_run.emulate [--system NAME] prog.py …`: run a program on the emulation in this process, without launcher or MPI.

One rank that hosts every device. `python -m tt_run.emulate -m package …` runs a module, `-c CODE` a text. From Python,
`tt_run.emulate.activate()` before `import ttnn` does the same for a notebook.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from tt_run.testing.shims import activate as activate
from tt_run.testing.shims import unknown_system

_USAGE = "usage: python -m tt_run.emulate [--system NAME] (PROGRAM.py | -m MODULE | -c CODE) [ARGUMENT …]"


def main(words: list[str]) -> int:
    """Run what the words say as `__main__`; returns 2 when they say nothing that can be run, 66 when the program is missing."""
    system = None
    while words and words[0].startswith("--system"):
        name, _, value = words.pop(0).partition("=")
        if name != "--system" or not (value or words):
            break
        system = value or words.pop(0)
    if not words or words[0] in ("-h", "--help"):
        print(_USAGE if not words else f"{__doc__}\n{_USAGE}", file=sys.stderr if not words else sys.stdout)
        return 2 if not words else 0
    if wrong := unknown_system(system):
        print(f"error: {wrong}", file=sys.stderr)
        return 2
    activate(system)
    kind, rest = words[0], words[1:]
    if kind in ("-m", "-c"):
        if not rest:
            print(f"error: {kind} needs an argument\n{_USAGE}", file=sys.stderr)
            return 2
        sys.argv = [kind, *rest[1:]] if kind == "-c" else rest
        if kind == "-m":
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        else:
            exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
        return 0
    if kind.startswith("-"):
        from difflib import get_close_matches

        meant = "; did you mean --system?" if get_close_matches(kind, ["--system"]) else ""
        print(f"error: unknown option {kind}{meant}\n{_USAGE}", file=sys.stderr)
        return 2
    if not Path(kind).is_file():
        from difflib import get_close_matches

        names = [path.name for path in Path(kind).parent.glob("*.py")]
        near = [Path(kind).with_name(name) for name in get_close_matches(Path(kind).name, names, 1, 0.7)]
        print(
            f"error: there is no file {kind}" + "".join(f"; did you mean {path}?" for path in near),
            file=sys.stderr,
        )
        return 66
    sys.argv = words
    sys.path.insert(1, str(Path(kind).resolve().parent))
    runpy.run_path(kind, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
