"""`scripts/bench [NAME …] [--json FILE]`: run benchmarks and print one table; exit 1 when a target is missed."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import math
import os
import platform
import sys
from pathlib import Path

from tests.bench.common import Row

HERE = Path(__file__).parent


def names() -> list[str]:
    """Every benchmark there is, by the name of its module without `bench_`."""
    return sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"a name or the beginning of one; of: {', '.join(names())}"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the rows as JSON")
    given = parser.parse_args()
    chosen = [n for n in names() if not given.names or any(n.startswith(word) for word in given.names)]
    if not chosen:
        parser.error(f"no benchmark begins with {' or '.join(given.names)}; there are {', '.join(names())}")
    print(
        f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    )
    rows: list[Row] = []
    for name in chosen:
        print(f"\n{name}", flush=True)
        for row in importlib.import_module(f"tests.bench.bench_{name}").run():
            print(_line(row), flush=True)
            rows.append(row)
    missed = [row for row in rows if row.measured and not row.met]
    skipped = [row for row in rows if not row.measured]
    print(
        f"\n{len(rows) - len(missed) - len(skipped)} met, {len(missed)} missed, {len(skipped)} not measured here"
    )
    if given.json:
        given.json.write_text(json.dumps([_plain(row) for row in rows], indent=1) + "\n")
    return 1 if missed else 0


def _line(row: Row) -> str:
    verdict = "met   " if row.met else "MISSED" if row.measured else "n/a   "
    value = f"{row.ratio:9.3g}" if row.measured else "        -"
    return (
        f"  {verdict} {value}  {'<=' if row.at_most else '>='} {row.target:<7.4g} {row.name:<58} {row.detail}"
    )


def _plain(row: Row) -> dict[str, object]:
    values = dataclasses.asdict(row)
    values["met"] = row.met
    if math.isnan(row.ratio):
        values["ratio"] = None
    return values


if __name__ == "__main__":
    sys.exit(main())
