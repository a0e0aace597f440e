"""The arrows of the design, held: imports point one way, heavy libraries stay where they belong, nothing loads too early."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("mgd", "tt_run")

# Each part may import the parts named after it, and itself. What is not listed may be imported by nobody but its own part.
SHARED = {"mgd", "tt_run.contract", "tt_run.errors", "tt_run.rules"}
CHECKED = ["--check-only", "--rank-binding", "configs/bindings/t3k_2x4_two_hosts.yaml", "sleep", "1"]
LAUNCHER = ["tt_run.inputs", "tt_run.plan", "tt_run.launch", "tt_run.supervise", "tt_run.cli"]
RUNTIME = [
    ("comm",),
    ("errors", "events"),
    ("tuning",),
    ("values",),
    ("kernels",),
    ("guard",),
    ("mesh",),
    ("tensor",),
    ("ops", "ccl", "trace", "sockets", "ledger", "timeline"),
    ("train",),
]


def modules() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "_configs" in path.parts or "shims" in path.parts:
                continue
            yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), path


def imports(path: Path, *, top_level_only: bool = False) -> Iterator[tuple[str, int]]:
    """Absolute names that a module imports, with the line; `if TYPE_CHECKING:` blocks are not imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
        elif top_level_only and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        pending.extend(ast.iter_child_nodes(node))


def part_of(module: str) -> str:
    """`tt_run.plan.checks.hosts` -> `tt_run.plan`; everything of mgd is one part."""
    words = module.split(".")
    return words[0] if words[0] == "mgd" else ".".join(words[:2])


def allowed(part: str) -> set[str]:
    if part in LAUNCHER:
        return {*SHARED, *LAUNCHER[: LAUNCHER.index(part) + 1]}
    if part == "tt_run.runtime":
        return {*SHARED, "tt_run.runtime"}
    return {part, *SHARED} if part != "mgd" else {"mgd"}


def test_parts_import_only_what_the_design_allows() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for module, path in modules()
        for name, line in imports(path)
        if name.split(".")[0] in PACKAGES and part_of(name) not in {*allowed(part_of(module)), "tt_run"}
    ]
    assert not wrong, "\n".join(wrong)


def layer(module: str) -> int | None:
    words = module.split(".")
    if words[:2] != ["tt_run", "runtime"] or len(words) < 3:
        return None
    return next((number for number, names in enumerate(RUNTIME) if words[2] in names), None)


def test_runtime_layers_point_down() -> None:
    wrong = []
    for module, path in modules():
        own = layer(module)
        if own is None:
            continue
        for name, line in imports(path):
            other = layer(name)
            if other is not None and other > own:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("library", ["mpi4py"])
def test_mpi_is_imported_in_one_module(library: str) -> None:
    users = {
        module for module, path in modules() for name, _ in imports(path) if name.split(".")[0] == library
    }
    assert users <= {"tt_run.runtime.comm.world"}, users


def test_value_classes_cost_the_start_of_a_command_nothing() -> None:
    """mgd.lean says why. The runtime loads NumPy anyway and takes the standard one."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for module, path in modules()
        for name, line in imports(path)
        if name == ("mgd.lean.dataclass" if module.startswith("tt_run.runtime") else "dataclasses.dataclass")
    ]
    assert not wrong, (
        "take `dataclass` from mgd.lean in mgd and the launcher, from dataclasses in the runtime:\n"
        + "\n".join(wrong)
    )


@pytest.mark.skipif("coverage" in sys.modules, reason="measuring coverage imports much by itself")
@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        ("import mgd", ("numpy", "mpi4py", "click", "rich", "google.protobuf", "yaml")),
        ("import tt_run", ("numpy", "mpi4py", "rich", "google.protobuf", "yaml")),
        ("import tt_run.cli.main", ("numpy", "mpi4py", "rich", "google.protobuf", "yaml")),
        ("import tt_run.plan.model", ("numpy", "mpi4py")),
        # mgd.lean says why: what a launch loads is part of every launch's time.
        (f"from tt_run.cli.main import run\nrun({CHECKED!r})", ("dataclasses", "inspect", "json", "click")),
        (
            "import tt_run.cli.execute, tt_run.supervise.attend",
            ("dataclasses", "inspect", "json", "subprocess"),
        ),
    ],
)
def test_importing_stays_light(statement: str, forbidden: tuple[str, ...]) -> None:
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{statement}\nimport sys\nprint([m for m in {forbidden!r} if m in sys.modules])",
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=True,
    )
    assert found.stdout.strip() == "[]", found.stdout


def test_importing_the_shims_prints_nothing() -> None:
    result = subprocess.run(
        [sys.executable, "-c", "import ttnn"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "tt_run" / "shims"), "PATH": "/usr/bin:/bin"},
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
