"""`python -m tt_run.runtime.record.play RECORD RANK HOW [PROGRAM …]`: becomes the recorded rank's program, alone.

Behind `tt-run replay`. The process gets the rank's environment, folder and words; what it receives comes from the record.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tt_run import contract
from tt_run.faults import CHANGES, EXCEPTIONS, FaultError, read_faults
from tt_run.runtime.record.folder import NoRecord, find_run, finding_of, header_of, rank_of

_PACKAGE = Path(__file__).resolve().parents[2]
_OURS = {"shims": _PACKAGE / "shims", "hook": _PACKAGE / "launch" / "hook"}
# Of the launch, of which there is none: the record, files that the run wrote, and what MPI would look for.
LEFT_OUT = (
    contract.RECORD,
    contract.RUN_DIR,
    contract.LEDGER,
    contract.TIMELINE,
    contract.MEMORY,
    contract.PREDICT,
)
_LEFT_OUT_PREFIXES = ("PMIX_", "PRTE_", "OPAL_", "PMI_", "SLURM_")
SHOWN = ("TT_RUN_", *_LEFT_OUT_PREFIXES)
"""What the program sees as it was, whatever its process goes by."""


def environment_of(
    header: Mapping[str, Any], record: Path, how: str, own: Mapping[str, str]
) -> dict[str, str]:
    """The recorded rank's variables for this process. What was not recorded because it is a secret is taken from `own`."""
    recorded: dict[str, str] = header["environment"]
    found = {
        name: value
        for name, value in recorded.items()
        if name not in LEFT_OUT and not name.startswith(_LEFT_OUT_PREFIXES)
    }
    found |= {name: own[name] for name in header["hidden"] if name in own}
    # The terminal is this one.
    found |= {name: own[name] for name in ("TERM", "COLUMNS", "LINES", "HOME", "DISPLAY") if name in own}
    found["PYTHONPATH"] = os.pathsep.join(_here(recorded.get("PYTHONPATH", "")))
    found[contract.REPLAY], found[contract.REPLAY_HOW] = str(record), how
    if contract.INJECT in found:
        found[contract.INJECT] = _repeated_faults(found[contract.INJECT])
    for variable, (path, text) in header["files"].items():
        if not Path(path).is_file() or Path(path).read_text(encoding="utf-8", errors="replace") != text:
            found[variable] = str(_copied(Path(path), text))
    return found


def _here(path: str) -> list[str]:
    """PYTHONPATH with this installation in the place of the one that recorded."""
    others = [
        entry
        for entry in path.split(os.pathsep)
        if entry and not entry.endswith(("/tt_run/shims", "/launch/hook"))
    ]
    return [str(_OURS["hook"]), str(_OURS["shims"]), *others]


def _repeated_faults(text: str) -> str:
    """Injected faults that a program alone repeats: what changed values, and what ended in an exception at a call. Where a rank was killed,
    or waited for ever, its record ends."""
    try:
        faults = read_faults(text)
    except FaultError:
        return ""
    return "\n".join(
        fault.text
        for fault in faults
        if fault.action in CHANGES or (fault.action in EXCEPTIONS and not (fault.by_time and fault.delays))
    )


def _copied(path: Path, text: str) -> Path:
    """A descriptor that is not here, or another one by now, from the record."""
    folder = Path(tempfile.gettempdir()) / f"tt-run-replay-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    copy = folder / path.name
    copy.write_text(text, encoding="utf-8")
    return copy


def words_of(header: Mapping[str, Any], given: Sequence[str]) -> list[str]:
    """The words to run: those given, else those recorded, with an interpreter that is here. Raises NoRecord."""
    words = list(given) or list(header["argv"])
    if given:
        program = shutil.which(words[0])
        if program is None:
            raise NoRecord(
                f"there is no program {words[0]}\n"
                "  help: write the line that runs the program: tt-run replay … -- python prog.py"
            )
        return [program, *words[1:]]
    interpreter = header["executable"] if Path(header["executable"]).exists() else sys.executable
    return [interpreter, *_without_mpi(words[1:])]


def _without_mpi(words: list[str]) -> list[str]:
    """The words without `-m mpi4py`, which ends the job where a rank fails and is not here."""
    for at in range(len(words) - 2):
        if words[at : at + 2] == ["-m", "mpi4py"]:
            return [*words[:at], *words[at + 2 :]]
        if not words[at].startswith("-"):
            break
    return words


def play(record: Path, rank: int, how: str, given: Sequence[str]) -> NoReturn:
    """Become the program. Raises NoRecord where it cannot be."""
    path = rank_of(find_run(record), rank)
    header = header_of(path)
    words = words_of(header, given)
    folder = Path(header["cwd"])
    if not given:
        if not folder.is_dir():
            raise NoRecord(
                f"the program ran in {folder}, which is not here\n"
                "  help: go where the program is and name it: tt-run replay … -- python prog.py"
            )
        os.chdir(folder)
    program = header["program"]
    if program and not given and not Path(program["path"]).is_file():
        raise NoRecord(
            f"the program {program['path']} is not here\n  help: name it: tt-run replay … -- python prog.py"
        )
    if has_changed(program):
        print(f"tt-run replay: {program['path']} has changed since rank {rank} was recorded", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(words[0], words, environment_of(header, path.resolve(), how, os.environ))


def has_changed(program: Mapping[str, str]) -> bool:
    """Whether a recorded program is another one by now, or not here."""
    if not program:
        return False
    path = Path(program["path"])
    return not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != program["sha256"]


def main(words: Sequence[str]) -> int:
    """The program's exit code, or 66 when there is nothing to replay."""
    record, rank, how, *given = words
    json.loads(how)
    try:
        play(Path(record), int(rank), how, given)
    except NoRecord as error:
        print(finding_of(error), file=sys.stderr)
        return contract.Exit.UNREADABLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
