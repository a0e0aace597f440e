"""`tt-run examples`: the programs that come with tt-run, listed and copied."""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from mgd.diagnostics import Diagnostic
from mgd.files import write_file
from tt_run.cli.help import command_help, terminal_width
from tt_run.cli.outputs import refuse_lost_outputs
from tt_run.cli.reading.idle import tell_idle
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import read
from tt_run.contract import Exit
from tt_run.errors import UsageError

SHARED = "arrays.py"  # what several examples import


class Examples(Arguments):
    """List the examples, or copy those that are named; what they import comes along."""

    __slots__ = ()
    usage = "tt-run examples [NAME...]"
    to: str = option("Options", "--to", "DIR", "Where to copy [examples].", "output folder", "examples")
    all: bool = option("Options", "--all", "", "Copy all of them.")
    help: bool = option("Options", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Lists or copies. Raises UsageError for a name that is none, and where a file would be overwritten."""
    given = read(words, Examples)
    if given.help:
        print(command_help(Examples))
        return Exit.OK
    root = examples_root()
    known = _known(root)
    if not given.rest and not given.all:
        tell_idle(given, ["to"], "nothing is copied by listing", "write the NAME of one, or --all")
        width = max(map(len, known))
        for name, path in known.items():
            about = textwrap.wrap(_about(path), max(20, terminal_width() - width - 2), break_on_hyphens=False)
            print(f"{name:<{width}}  " + f"\n{'':<{width}}  ".join(about))
        print("\ntt-run examples NAME copies one; --all all of them")
        return Exit.OK
    refuse_lost_outputs(given)
    chosen = dict(known) if given.all else {name: _find(name, known) for name in given.rest}
    for line in copy([*chosen.values()], root, Path(given.to)):
        print(line)
    return Exit.OK


def examples_root() -> Path:
    """The folder of the examples: beside the modules in a wheel, at the top of a checkout. Raises UsageError when they were left out."""
    package = Path(__file__).resolve().parents[2]
    for candidate in (package / "_examples", package.parent / "examples"):
        if candidate.is_dir():
            return candidate
    raise UsageError(
        Diagnostic(
            "TTR044", f"there are no examples beside {package}", help="reinstall tt-run from its wheel"
        )
    )


def example_names() -> list[str]:
    """What `tt-run examples` takes, for a shell to offer; none where the examples were left out."""
    try:
        return list(_known(examples_root()))
    except UsageError:
        return []


def example_of(script: Path) -> str | None:
    """The example that has a script, `examples/NAME/…` or `examples/NAME.py`; None where none has."""
    if "examples" not in script.parts:
        return None
    below = script.parts[script.parts.index("examples") + 1 :]
    with suppress(UsageError):
        if below and examples_root().joinpath(*below).is_file():
            return below[0].removesuffix(".py")
    return None


def _known(root: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(root.iterdir()) if _is_example(path)}


def copy(paths: Sequence[Path], root: Path, folder: Path) -> Iterator[str]:
    """Copies examples; yields what was written, and the line that runs each. Raises UsageError before anything would be overwritten."""
    needed = [root / SHARED] if any(SHARED.removesuffix(".py") in _imports(path) for path in paths) else []
    fresh = [path for path in needed if not (folder / path.name).exists()]
    taken = [str(folder / path.name) for path in paths if (folder / path.name).exists()]
    if taken:
        are = "are" if len(taken) > 1 else "is"
        other = next(name for name in (f"{folder}{n}" for n in range(2, 1000)) if not Path(name).exists())
        raise UsageError(
            Diagnostic(
                "TTR043", f"{', '.join(taken)} {are} there already", help=f"name another folder: --to {other}"
            )
        )
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*fresh, *paths):
        if path.is_dir():
            shutil.copytree(path, folder / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            write_file(folder / path.name, path.read_bytes())
        yield f"wrote {folder / path.name}"
    for path in paths:
        for line in _lines(path):
            yield f"  {line.replace('examples/', f'{folder}/')}"
    takers = [path.stem for path in paths if "torch" in _imports(path)]
    if takers and importlib.util.find_spec("torch") is None:
        yield f"pip install torch first, for {' and '.join(takers)}"


def _is_example(path: Path) -> bool:
    return (
        path.name not in (SHARED, "broken")
        and not path.name.startswith(("_", "."))
        and (path.is_dir() or path.suffix == ".py")
    )


def _find(name: str, known: dict[str, Path]) -> Path:
    from tt_run.inputs.findings import nearest

    stem = name.removesuffix(".py").rstrip("/")
    if stem not in known:
        having = [each for each in known if stem.lower() in each] if stem else []
        meant = " or ".join(having) or nearest(stem, known)
        help = f"did you mean {meant}?" if meant else "tt-run examples lists them"
        raise UsageError(Diagnostic("TTR044", f"there is no example {name}", help=help))
    return known[stem]


def _about(path: Path) -> str:
    """The first sentence of what an example says about itself."""
    if path.is_dir():
        readme = path / "README.md"
        if readme.is_file():
            return readme.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
        scripts = sorted(path.glob("*.py"))
        return _about(scripts[0]) if scripts else ""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.splitlines()[0] if text else ""


def _lines(path: Path) -> list[str]:
    """The command lines that an example names: in its docstring, or of a folder in the README and of each program the first."""
    if path.is_dir():
        readme = path / "README.md"
        told = _typed(readme.read_text(encoding="utf-8")) if readme.is_file() else []
        return told + [line for script in sorted(path.glob("*.py")) for line in _lines(script)[:1]]
    return _typed(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")


def _typed(text: str) -> list[str]:
    """What can be typed, each on a line of its own; ready bindings by their names, which are known in every folder."""
    begins = r"tt-run (?:--|chaos )|pytest -p |python examples/|examples/\S+\.sh "
    found = re.findall(rf"(?m)^ *((?:{begins}).*?)(?:  +#.*)?$", text)
    return [re.sub(r"configs/bindings/(\w+)\.yaml", r"\1", " ".join(line.split())) for line in found]


def _imports(path: Path) -> set[str]:
    files = path.rglob("*.py") if path.is_dir() else (path,)
    return {
        word
        for file in files
        for word in re.findall(r"(?m)^(?:from|import) (\w+)", file.read_text(encoding="utf-8"))
    }
