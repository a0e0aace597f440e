"""The arrows of the design, held: imports point one way, heavy libraries stay where they belong, nothing loads too early."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("mgd", "tt_run")

# Each part may import the parts named after it, and itself. What is not listed may be imported by nobody but its own part.
SHARED = {
    "mgd",
    "tt_run.contract",
    "tt_run.degraded",
    "tt_run.errors",
    "tt_run.faults",
    "tt_run.granted",
    "tt_run.hardware",
    "tt_run.rules",
}
CHECKED = ["--check-only", "--rank-binding", "configs/bindings/t3k_2x4_two_hosts.yaml", "sleep", "1"]
LAUNCHER = [
    "tt_run.inputs",
    "tt_run.plan",
    "tt_run.launch",
    "tt_run.supervise",
    "tt_run.report",
    "tt_run.cli",
]
RUNTIME = (
    # From the ground up: a module may import its own part and the parts of lower floors, never its neighbours'.
    "errors launched library_imports tile",
    "native",
    "comm enums events profiler_logs rectangles settings traffic",
    "model",
    "guard marks values",
    "cores own_mpi",
    "core_work",
    "joint_file mesh tuning",
    "disaggregation kernels queues tensor.late_methods tensor.printing tensor.spec",
    "memory.footprint tensor.addresses tensor.host_buffer tensor.operation_methods",
    "tensor.tensor",
    "descriptors tensor.conversion tensor.pages tensor.questions",
    "tensor.distribution",
    "tensor.borders",
    "tensor.creation tensor.model_parameters",
    "ops.declaration",
    "ops.goldens ops.placement",
    "ops.data_movement",
    "ops.elementwise",
    "ops.gradients ops.images ops.moreh ops.products ops.reduction",
    "ops.experts ops.normalisation",
    "ops.attention",
    "ops",
    "ccl.exchange trace",
    "ccl",
    "ccl.fused sockets",
    "catalog",
    "exports faults listeners memory tools train",
    "timeline",
    "graph record",
    "prediction",
)
FLOOR = {part: floor for floor, parts in enumerate(RUNTIME) for part in parts.split()}


@cache
def modules() -> tuple[tuple[str, Path], ...]:
    return tuple(_modules())


def _modules() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "_configs" in path.parts or "shims" in path.parts:
                continue
            yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), path


@cache
def imports(path: Path, for_types: bool = False) -> tuple[tuple[str, int], ...]:
    """Absolute names that a module imports, also inside of functions, with the line; in `if TYPE_CHECKING:` blocks only `for_types`."""
    return tuple((name, line) for name, line, typing in _every_import(path) if for_types or not typing)


@cache
def _every_import(path: Path) -> tuple[tuple[str, int, bool], ...]:
    # The tree is not kept: a hundred thousand lines of them make each collection of the interpreter slow.
    return tuple(_imports(ast.parse(path.read_text(encoding="utf-8")).body, False))


def _imports(body: Iterable[ast.AST], typing: bool) -> Iterator[tuple[str, int, bool]]:
    pending = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in (
            getattr(node.test, "id", ""),
            getattr(node.test, "attr", ""),
        ):
            yield from _imports(node.body, True)
            pending.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno, typing) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from ((f"{node.module}.{alias.name}", node.lineno, typing) for alias in node.names)
        for block in ("body", "orelse", "handlers", "finalbody", "cases"):
            pending.extend(getattr(node, block, ()))


@cache
def graph(for_types: bool = False) -> dict[str, dict[str, int]]:
    """Which module of ours imports which, and the line of the first import; `for_types`: also those that only type checkers see."""
    known = dict(modules())
    arrows: dict[str, dict[str, int]] = {module: {} for module in known}
    for module, path in known.items():
        for name, line in sorted(imports(path, for_types), key=lambda found: found[1]):
            target = name if name in known else name.rpartition(".")[0]
            if target in known and target != module:
                arrows[module].setdefault(target, line)
    return arrows


def part_of(module: str) -> str:
    """`tt_run.plan.checks.hosts` -> `tt_run.plan`; everything of mgd is one part."""
    words = module.split(".")
    return words[0] if words[0] == "mgd" else ".".join(words[:2])


# Doors that programs open by name, and the part behind each.
DOORS = {
    "tt_run.pytest": "tt_run.testing",
    "tt_run.emulate": "tt_run.testing",
    "tt_run.__main__": "tt_run.cli",
}


def allowed(part: str) -> set[str]:
    if part in DOORS:
        return {part, DOORS[part]}
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


def floor_of(module: str) -> tuple[str, int] | None:
    """The part of the runtime that claims a module, by its longest name, and that part's floor."""
    words = module.removeprefix("tt_run.runtime").lstrip(".").split(".")
    names = (".".join(words[:length]) for length in range(len(words), 0, -1))
    return next(((name, FLOOR[name]) for name in names if name in FLOOR), None)


def in_runtime() -> Iterator[tuple[str, Path]]:
    # The packages that only hold others belong to no floor.
    return ((m, p) for m, p in modules() if m.startswith("tt_run.runtime.") and m != "tt_run.runtime.tensor")


def test_every_module_of_the_runtime_has_a_floor() -> None:
    homeless = {}
    for module, path in in_runtime():
        if floor_of(module) is None:
            below = [found[1] for name in graph()[module] if (found := floor_of(name)) is not None]
            homeless[str(path.relative_to(ROOT))] = max(below, default=-1) + 1
    assert not homeless, (
        "RUNTIME in tests/test_architecture.py lists the floors of the runtime; put these on the lowest that lies above all they import:\n"
        + "\n".join(f"  {path}: floor {floor}" for path, floor in homeless.items())
    )


def test_no_floor_is_claimed_for_nothing() -> None:
    claimed = {found[0] for module, _ in in_runtime() if (found := floor_of(module)) is not None}
    gone = set(FLOOR) - claimed
    assert not gone, (
        f"no module is left of {', '.join(sorted(gone))}: strike it off RUNTIME in tests/test_architecture.py"
    )


def test_floors_of_the_runtime_point_down() -> None:
    wrong = []
    for module, path in in_runtime():
        own = floor_of(module)
        for name, line in graph()[module].items():
            other = floor_of(name)
            if own is None or other is None or other[0] == own[0] or other[1] < own[1]:
                continue
            wrong.append(
                f"  {path.relative_to(ROOT)}:{line}: {own[0]} (floor {own[1]}) imports {other[0]} (floor {other[1]})"
            )
    assert not wrong, (
        "an import from a lower floor to a higher one, or to a neighbour (the floors: RUNTIME in tests/test_architecture.py). Move what is "
        "needed down, or pass it in; to lift the importing part, everything above it must still be above:\n"
        + "\n".join(wrong)
    )


def cycles(arrows: Mapping[str, Iterable[str]]) -> list[frozenset[str]]:
    """Sets of modules that all reach each other (Tarjan's strongly connected components of more than one)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[frozenset[str]] = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for target in arrows[module]:
            if target not in number:
                visit(target)
                lowest[module] = min(lowest[module], lowest[target])
            elif target in stack:
                lowest[module] = min(lowest[module], number[target])
        if lowest[module] == number[module]:
            members = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(members) > 1:
                found.append(frozenset(members))

    for module in arrows:
        if module not in number:
            visit(module)
    return found


def shortest_way_round(members: frozenset[str], arrows: Mapping[str, Iterable[str]]) -> list[str]:
    """A shortest cycle inside of a set, from its first module back to the same one."""
    start = min(members)
    ways = [[start]]
    for way in ways:
        for target in arrows[way[-1]]:
            if target == start:
                return [*way, start]
            if target in members and target not in way:
                ways.append([*way, target])
    return []


def test_modules_import_each_other_in_no_circle() -> None:
    """Imports inside of functions and for types count: they hide a cycle from Python, not from whoever reads the code."""
    arrows, paths = graph(for_types=True), dict(modules())
    said = []
    for members in cycles(arrows):
        way = shortest_way_round(members, arrows)
        said.append(f"{len(members)} modules import each other; a shortest way round:")
        said += [f"  {paths[a].relative_to(ROOT)}:{arrows[a][b]} imports {b}" for a, b in pairwise(way)]
    assert not said, "\n".join(
        [
            *said,
            "Move what both sides need into a module below them, let the upper one pass it in, or say what the lower one needs (Protocol).",
        ]
    )


@pytest.mark.parametrize(
    ("arrows", "circles", "way"),
    [
        ({"a": ["b"], "b": ["c"], "c": []}, [], []),
        ({"a": ["b"], "b": ["a"], "c": ["a"]}, [{"a", "b"}], ["a", "b", "a"]),
        ({"a": ["b", "d"], "b": ["c"], "c": ["a"], "d": ["c"]}, [{"a", "b", "c", "d"}], ["a", "b", "c", "a"]),
        ({"a": ["b"], "b": ["a"], "c": ["d"], "d": ["c"]}, [{"a", "b"}, {"c", "d"}], ["a", "b", "a"]),
    ],
)
def test_circles_are_found(arrows: dict[str, list[str]], circles: list[set[str]], way: list[str]) -> None:
    found = cycles(arrows)
    assert sorted(map(sorted, found)) == sorted(map(sorted, circles))
    if circles:
        assert shortest_way_round(frozenset(circles[0]), arrows) == way


# Where a module of ours is imported by a name in a string, with the reason in its docstring; elsewhere the tests above must see the import.
BY_NAME = {
    "tt_run.runtime.catalog",
    "tt_run.runtime.comm.world",
    "tt_run.runtime.events",
    "tt_run.runtime.ops.declaration.dispatch",
    "tt_run.runtime.ops.goldens.common",
    "tt_run.runtime.tensor.operation_methods",
}


def test_modules_are_imported_by_name_in_few_places() -> None:
    users = {
        module
        for module, path in in_runtime()
        if re.search(r"""["'](tt_run|mgd)(\.\w+)+["']""", text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"(tt_run|mgd)(\.\w+)+", node.value)
    }
    assert users == BY_NAME, (
        f"import them by statement, so that the tests of this file see it: {sorted(users ^ BY_NAME)}"
    )


@pytest.mark.parametrize("library", ["mpi4py"])
def test_mpi_is_imported_in_one_module(library: str) -> None:
    users = {
        module for module, path in modules() for name, _ in imports(path) if name.split(".")[0] == library
    }
    assert users <= {"tt_run.runtime.comm.world"}, users


def test_value_classes_cost_the_start_of_a_command_nothing() -> None:
    """mgd.lean says why. The runtime takes it where every program comes by; see the test of what importing loads."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for module, path in modules()
        for name, line in imports(path)
        if name == "dataclasses.dataclass" and not module.startswith("tt_run.runtime")
    ]
    assert not wrong, "take `dataclass` from mgd.lean in mgd and the launcher:\n" + "\n".join(wrong)


def test_a_small_program_compiles_no_value_classes() -> None:
    """The standard library's dataclass takes half a millisecond for each; a small program would define seventy."""
    program = """
import dataclasses
standard, defined = dataclasses._process_class, []
dataclasses._process_class = lambda cls, *given: (defined.append(f"{cls.__module__}.{cls.__name__}"), standard(cls, *given))[1]
import ttnn, numpy
device = ttnn.open_mesh_device(ttnn.MeshShape(1, 1))
a = ttnn.from_torch(numpy.ones((32, 32), numpy.float32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
ttnn.softmax(ttnn.add(ttnn.matmul(a, a), ttnn.relu(a))).to_list()
print([name for name in defined if name != "tt_run.runtime.settings.Config"])
"""
    found = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tt_run" / "shims")},
        timeout=60,
        check=True,
    )
    assert found.stdout.strip() == "[]", f"take `dataclass` from mgd.lean: {found.stdout}"


@pytest.mark.skipif("coverage" in sys.modules, reason="measuring coverage imports much by itself")
@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        ("import mgd", ("numpy", "mpi4py", "click", "rich", "google.protobuf", "yaml")),
        ("import tt_run", ("numpy", "mpi4py", "rich", "google.protobuf", "yaml")),
        ("import tt_run.cli.main", ("numpy", "mpi4py", "rich", "google.protobuf", "yaml")),
        ("import tt_run.plan.model", ("numpy", "mpi4py")),
        # mgd.lean says why: what a launch loads is part of every launch's time.
        (
            f"from tt_run.cli.main import run\nrun({CHECKED!r})",
            ("dataclasses", "inspect", "json", "click", "difflib", "random", "tomllib", "typing"),
        ),
        (
            "import tt_run.cli.execute, tt_run.supervise.attend",
            ("dataclasses", "inspect", "json", "subprocess", "typing"),
        ),
        # What a run's end needs comes while its ranks start, on the same cores.
        (
            "import tt_run.supervise.output.report",
            ("dataclasses", "inspect", "subprocess", "difflib", "random", "typing"),
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
