"""Llama-3.1-70B from a QuietBox to a Galaxy, predicted beside published: one model on 8 chips, four on 32, one on 32.

    python examples/what_if/llama_70b_table.py

Two predictions for each. "program" is `llama_70b.py` beside this file, run in shapes (`tt-run --emulate --shapes-only --predict`), operation
by operation as it is written; "model" is `tt-run validate-model`, which knows the published implementations by their shapes, and what
their host does between tokens. The Galaxy of the published TP8 x DP4 is the older 4U. Section 8.2 of "Programming Mesh of Devices with
TT-NN".
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(__file__).with_name("llama_70b.py")
# name, its words, system, hardware, row of a points table, users, published tokens per second and user
CASES = (
    ("TP8 QuietBox", "tp8", "loudbox", "t3000", ("Llama-3.1-70B TP8", "WH QuietBox", "8"), 32, 15.1),
    ("TP8 x DP4 Galaxy", "tp8dp4", "galaxy", "galaxy_4u", ("Llama-3.1-70B TP8", "WH 4U", "32"), 128, 14.3),
    ("TP32 Galaxy", "tp32", "galaxy-torus-xy", "galaxy", ("Llama-3.1-70B TP32", "WH 6U", "32"), 32, 72.5),
)
COLUMNS = [
    "kind",
    "op",
    "shape",
    "dtype",
    "arch",
    "devices",
    "topology",
    "value",
    "unit",
    "nature",
    "source",
    "note",
]


def tt_run(*words: str) -> str:
    """What a command prints; what it says when it fails stands on the terminal, and ends the program."""
    command = [sys.executable, "-m", "tt_run", *words]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(ran.stderr.rstrip())
    return ran.stdout


def fused(folder: Path) -> list[float]:
    """Tokens per second and user of the published implementations."""
    rows = [
        ["e2e", op, f"batch {users}", "-", arch, devices, "-", f"{published} t/s/u", "", "", "", ""]
        for _, _, _, _, (op, arch, devices), users, published in CASES
    ]
    points = folder / "points.tsv"
    points.write_text("\n".join("\t".join(row) for row in [COLUMNS, *rows]) + "\n")
    found = tt_run("validate-model", "--points", str(points), "--format", "json")
    return [json.loads(line)["predicted"] for line in found.splitlines()]


def program(folder: Path, words: str, system: str, hardware: str) -> float:
    """Tokens per second and user of the program: one token of every user is a replay of its trace."""
    target = folder / f"{words}.json"
    options = ["--system", system, "--shapes-only", f"--predict={target}", "--hardware", hardware]
    tt_run(
        "--emulate",
        "--log-dir",
        str(folder / words),
        *options,
        "--",
        sys.executable,
        str(PROGRAM),
        "--parallel",
        words,
    )
    regions = json.loads(target.read_text())["regions"]
    return 1e6 / sum(region["us"] for region in regions if region["name"].startswith(("trace", "signpost")))


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        predicted = fused(folder)
        print(
            f"{'tokens per second':<18}{'users':>6}{'published':>11}{'program':>9}{'error':>8}{'model':>8}{'error':>8}{'total':>9}"
        )
        first = None
        for (label, words, system, hardware, _, users, published), rate in zip(CASES, predicted, strict=True):
            own = program(folder, words, system, hardware)
            first = first or own * users
            print(
                f"{label:<18}{users:>6}{published:>11.1f}{own:>9.1f}{own / published - 1:>+8.1%}{rate:>8.1f}{rate / published - 1:>+8.1%}"
                f"{own * users:>9.0f}  x{own * users / first:.1f}"
            )
    print("per user; total is of all users with the program. Predicted, not measured.")


if __name__ == "__main__":
    main()
