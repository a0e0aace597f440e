"""What the tools write as JSON is what its schema says, key by key: `configs/schemas/outputs/`, the source of docs/reference/json-outputs.md."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mgd.resources import configs_root
from tests.e2e.launch import environment, tt_run
from tests.sweep import sweep

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed (extra test)")
SCHEMAS = {
    path.name.removesuffix(".schema.json"): json.loads(path.read_text(encoding="utf-8"))
    for path in (configs_root() / "schemas" / "outputs").glob("*.schema.json")
}
BINDINGS = str(configs_root() / "bindings" / "t3k_2x4_two_hosts.yaml")
BROKEN = str(configs_root().parent / "examples" / "broken" / "unknown_mesh.yaml")
EMULATED = ("--emulate", "--system", "t3000", "--split", "1x2")
PROGRAM = str(configs_root().parent / "examples" / "line_all_gather.py")
POINTS = (
    "kind\top\tshape\tdtype\tarch\tdevices\ttopology\tvalue\tunit\tnature\tsource\tnote\n"
    "fabric_bw\tunicast\tpacket 2048 B\t-\tBH\t4 (p150x4)\tNeighborExchange links=1\t19\tGB/s\tmeasured\tours\t\n"
    "other\tsomething\t1x1\t-\tWH\t1\t-\t19\tus\tmeasured\tours\t\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where two runs have left their files: one in which a fault happens, and one that writes all there is."""
    place = tmp_path_factory.mktemp("outputs")
    (place / "points.tsv").write_text(POINTS)
    fault = ("--report", "report.json", "--inject", "raise=rank:1,call=1")
    assert tt_run(*EMULATED, *fault, "python", PROGRAM, cwd=place).code == 1
    files = ("--ledger", "ledger.json", "--predict=predict.json", "--memory=memory.json")
    copied = 'until [ -s "$TT_RUN_DIR/plan.json" ]; do sleep 0.1; done; cp "$TT_RUN_DIR/plan.json" early.json; exec "$@"'
    tt_run(*EMULATED, *files, "sh", "-c", copied, "sh", "python", PROGRAM, cwd=place).check()
    return place


def tool(*words: str, codes: tuple[int, ...] = (0,)) -> Callable[[Path], str]:
    """The standard output of a command."""

    def run(folder: Path) -> str:
        ran = subprocess.run(
            ["timeout", "-k", "5", "110", *words], cwd=folder, env=environment(), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ran.returncode in codes, ran.stdout + ran.stderr
        return ran.stdout

    return run


def file(name: str) -> Callable[[Path], str]:
    return lambda folder: (folder / name).read_text(encoding="utf-8")


OUTPUTS: dict[str, Callable[[Path], str]] = {
    "plan": tool("tt-run", "--rank-binding", BINDINGS, "--dry-run", "--format", "json", "python", "-c", "pass"),
    "print-env": tool(
        "tt-run", "--rank-binding", BINDINGS, "--print-env", "1", "--format", "json", "python", "-c", "pass"
    ),
    "check": tool(
        "tt-run", "--rank-binding", BROKEN, "--check-only", "--format", "json", "python", "-c", "pass", codes=(65,)
    ),
    "doctor": tool("tt-run", "--doctor", "--format", "json"),
    "ls": tool("tt-run", "ls", "--json"),
    "status": tool("tt-run", "status", "--json"),
    "chaos": tool("tt-run", "chaos", "--runs", "1", "--format", "json", "--", "tt-run", *EMULATED, "python", PROGRAM),
    "what-if": tool("tt-run", "what-if", "--systems", "t3000,n300", "--format", "json", "--", "python", PROGRAM),
    "validate-model": tool("tt-run", "validate-model", "--points", "points.tsv", "--format", "json"),
    "report": file("report.json"),
    "ledger": file("ledger.json"),
    "predict": file("predict.json"),
    "memory": file("memory.json"),
    "mgd-check": tool("mgd", "check", "--format", "json", "t3000", "galaxy"),
    "mgd-describe": tool("mgd", "describe", "--json", "exabox-5"),
    "mgd-diff": tool("mgd", "diff", "--json", "galaxy", "t3000", codes=(1,)),
    "mgd-systems": tool("mgd", "systems", "--json"),
}  # fmt: skip


def values(text: str, schema: dict[str, Any]) -> list[Any]:
    lines = "one JSON object per line" in schema.get("$comment", "")
    return [json.loads(part) for part in (text.splitlines() if lines else [text])]


def test_every_schema_has_an_output() -> None:
    assert set(OUTPUTS) == set(SCHEMAS)


# Those that take seconds.
LONG = ("chaos", "what-if")


@pytest.mark.parametrize("name", sweep(OUTPUTS, quick=[name for name in OUTPUTS if name not in LONG]))
def test_an_output_is_what_its_schema_says(name: str, folder: Path) -> None:
    schema = SCHEMAS[name]
    jsonschema.Draft7Validator.check_schema(schema)
    found = values(OUTPUTS[name](folder), schema)
    assert found
    for value in found:
        wrong = [
            f"{list(e.path)}: {e.message}" for e in jsonschema.Draft7Validator(schema).iter_errors(value)
        ]
        assert not wrong, wrong[:5]


def test_the_plan_in_a_run_folder(folder: Path) -> None:
    """While the run goes on it is a plan, once it has ended a report."""
    last = max(folder.glob("tt-run-logs/*/plan.json"))
    for name, path in (("plan", folder / "early.json"), ("report", last)):
        jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), SCHEMAS[name])
    assert last.stat().st_mode & 0o077 == 0


OBSCURE = {
    "hops",
    "link_bytes",
    "argv",
    "why",
    "part",
    "culprit",
    "moments",
    "pareto",
    "efficiency",
    "ok",
    "named",
}


def test_every_key_says_what_it_means() -> None:
    """A key has a sentence, unless its parent's says it or its name does."""

    def keys(schema: dict[str, Any], path: str) -> list[str]:
        found = []
        for name, part in schema.get("properties", {}).items():
            found += [f"{path}.{name}"] if name in OBSCURE and not part.get("description") else []
            found += keys(part, f"{path}.{name}")
        for part in (schema.get("items"), schema.get("additionalProperties")):
            found += keys(part, path) if isinstance(part, dict) else []
        return found

    assert not [path for name, schema in SCHEMAS.items() for path in keys(schema, name)]
