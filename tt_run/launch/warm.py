"""Which modules the ranks of a host import once, before they are forked from one process, and whether that can be right at all.

Thirty-two ranks that import PyTorch need a minute of CPU and eight gigabytes for it. Forked from a process that has imported it, they need
what one needs. `warm_server.py` is that process, `warm_client.py` stands in for each rank.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tt_run import contract
from tt_run.launch.options import WARM_FROM, LaunchOptions
from tt_run.plan.model import LaunchPlan

MOST_FILES = 64
LARGEST_FILE = 1 << 20
# What costs a start dearly and neither starts a thread nor looks at the rank when it is imported.
HEAVY = (
    "torch",
    "transformers",
    "numpy",
    "scipy",
    "ml_dtypes",
    "pandas",
    "safetensors",
    "tokenizers",
    "sklearn",
)
EMULATED = ("ttnn", "ttml")
_PYTHON = r"python(\d+(\.\d+)*)?$"
_FLAGS = r"-[uBObqv]+$"  # flags before the program under which the hook is loaded
_IMPORT = re.compile(
    r"^[ \t]*(?:import[ \t]+(?P<names>[\w., \t]+)|from[ \t]+(?P<module>[\w.]+)[ \t]+import[ \t]+(?P<what>[^#\n]*))",
    re.MULTILINE,
)
# Variables that belong to one rank and that no import looks at.
_OF_A_RANK = ("TT_MESH_", "TT_VISIBLE_", "TT_RUN_", "TT_METAL_")


def warm_modules(plan: LaunchPlan, options: LaunchOptions) -> str:
    """What the warm process of each host imports, `name` or `name:attribute,…` by blanks; empty for no such process.

    Reads the program and the files beside it that it imports, on hosts with many ranks. Otherwise it reads nothing.
    """
    if not options.may_warm(len(plan.ranks)) or not is_one_program(plan):
        return ""
    if options.warm is not None:
        return " ".join(filter(None, map(str.strip, options.warm.split(","))))
    if max(Counter(rank.host for rank in plan.ranks).values()) < WARM_FROM:
        return ""
    allowed = (*HEAVY, *(EMULATED if plan.emulate else ()))
    found: dict[str, set[str]] = {}
    for module, attributes in _imports(plan.ranks[0].argv, plan.cwd):
        if module.partition(".")[0] in allowed:
            found.setdefault(module, set()).update(attributes)
    return " ".join(
        f"{module}:{','.join(sorted(names))}" if names else module for module, names in found.items()
    )


def is_one_program(plan: LaunchPlan) -> bool:
    """Whether all ranks run the same words under a Python that loads the hook, with the same variables but for their places."""
    first = plan.ranks[0]
    if not re.match(_PYTHON, Path(first.argv[0]).name) or any(rank.argv != first.argv for rank in plan.ranks):
        return False
    if _program_at(first.argv) is None or _is_script(first.argv[0], plan):
        return False
    shared = {name: variable.value for name, variable in first.env.items() if not name.startswith(_OF_A_RANK)}
    return all(
        {name: variable.value for name, variable in rank.env.items() if not name.startswith(_OF_A_RANK)}
        == shared
        for rank in plan.ranks
    )


def _is_script(program: str, plan: LaunchPlan) -> bool:
    """Whether a file called python is a script, which may do anything; one that is not on this machine is not known to be a Python."""
    path = plan.ranks[0].env.get("PATH")
    folders = (path.value if path else os.environ.get("PATH", os.defpath)).split(os.pathsep)
    candidates = (
        [plan.cwd / program] if "/" in program else [Path(folder or ".", program) for folder in folders]
    )
    for candidate in candidates:
        if os.access(candidate, os.X_OK) and candidate.is_file():
            with candidate.open("rb") as stream:
                return stream.read(2) == b"#!"
    return True


def _program_at(argv: tuple[str, ...]) -> int | None:
    """The position of the script, `-m` or `-c` among Python's words; None behind flags that are not known to be harmless."""
    for position, word in enumerate(argv[1:], 1):
        if word in ("-m", "-c"):
            return position if position + 1 < len(argv) else None
        if not word.startswith("-"):
            return position
        if not re.match(_FLAGS, word):
            return None
    return None


def _imports(argv: tuple[str, ...], cwd: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The modules that a program imports, itself and through files of its own, with the names that it takes from them."""
    at = _program_at(argv)
    if at is None:
        return
    if argv[at] == "-c":
        yield from _imports_of(argv[at + 1])
        return
    root = cwd if argv[at] == "-m" else (cwd / argv[at]).parent
    pending = _files_of(argv[at + 1], root) if argv[at] == "-m" else [cwd / argv[at]]
    seen: set[Path] = set()
    while pending and len(seen) < MOST_FILES:
        file = pending.pop()
        if file in seen or not file.is_file() or file.stat().st_size > LARGEST_FILE:
            continue
        seen.add(file)
        for module, names in _imports_of(file.read_text(encoding="utf-8", errors="replace")):
            yield module, names
            pending += _files_of(module, root)


def _imports_of(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for found in _IMPORT.finditer(text):
        if found["names"]:
            for name in found["names"].split(","):
                if words := name.split():
                    yield words[0], ()
        else:
            taken = (words[0] for part in found["what"].strip("() \t").split(",") if (words := part.split()))
            yield found["module"], tuple(name for name in taken if name.isidentifier())


def _files_of(module: str, root: Path) -> list[Path]:
    """Where a module of the program's own folder may be."""
    base = root.joinpath(*module.strip(".").split("."))
    return [base.with_suffix(".py"), base / "__init__.py", base / "__main__.py"]


def warm_words(argv: tuple[str, ...], run_dir: Path, rank: int, address: str) -> list[str]:
    """The words that start the stand-in of a rank."""
    client = run_dir / "launch" / "warm_client.py"
    status = run_dir / contract.STATUS_FILE.format(rank=rank)
    return [argv[0], "-I", "-S", str(client), str(status), address, *argv]
