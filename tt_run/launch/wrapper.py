"""What the per-rank wrapper `rank.sh` reads: one file per rank with its exact environment and words.

The run folder is expected on a file system that all hosts share, which is the norm on clusters and always true on one machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from tt_run import contract
from tt_run.launch.defaults import PLACEMENT_WORDS, GivenWords
from tt_run.launch.descendants import can_be_tied
from tt_run.launch.open_files import descriptors_needed, own_limit
from tt_run.launch.process import tied_to_parent
from tt_run.plan.model import EnvVar, LaunchPlan, RankPlan

SHELL = "/bin/sh"
SCRIPT = "rank.sh"
_HASH_SEED = "PYTHONHASHSEED"
TIED, UNTIED = "tied", "untied"  # the wrapper need not tie itself to its parent, or cannot
HOOK_FOLDER = Path(__file__).resolve().parent / "hook"
_COPIED = (SCRIPT, "die_with_parent.py")
_COPIED_FOR_WARM = ("warm_client.py", "warm_server.py")
# Names that a shell keeps for itself: an assignment fails or changes how the shell works.
_SHELL_OWN = frozenset(
    ["_", "BASHOPTS", "BASH_VERSINFO", "EUID", "GID", "IFS", "LINENO", "OLDPWD", "OPTARG", "OPTIND", "PPID"]
) | frozenset(["PS1", "PS2", "PS4", "PWD", "SHELLOPTS", "UID"])
_PROMPTS = ("PS1", "PS2", "PS4")


def wrapper_words(run_dir: Path, world_size: int, *, here: bool = False) -> tuple[str, ...]:
    """The words that start the wrapper, the same on every rank.

    With `here` every rank runs on this machine, and what ties the wrapper to its parent is known to be there: one program less to start.
    """
    words = (SHELL, str(run_dir / "launch" / SCRIPT), str(run_dir), str(world_size))
    if not can_be_tied():
        return (*words, UNTIED)
    with_tie = tied_to_parent(words, "KILL")
    return (*with_tie, TIED) if here and with_tie != words else words


def words_of_ranks(plan: LaunchPlan, run_dir: Path) -> tuple[str, ...]:
    """The same for a plan."""
    elsewhere = bool(plan.placement.hosts) or GivenWords(plan.mpi_args, {}).has(*PLACEMENT_WORDS)
    return wrapper_words(run_dir, len(plan.ranks), here=not elsewhere)


def rank_environment(
    plan: LaunchPlan, rank: RankPlan, run_dir: Path | None, forked: bool = False
) -> dict[str, EnvVar]:
    """The plan's variables and those that only a launch can know: run folder, world size, and the Python hook's folder.

    A recorded rank gets a seed for the hashes of its texts, which a replay needs to repeat the order of its sets; ranks that are `forked` from one
    interpreter share one.
    """
    found = dict(rank.env)
    found.setdefault(contract.WORLD_SIZE, EnvVar(str(len(plan.ranks)), "tt-run: how many ranks the plan has"))
    if run_dir is not None:
        found[contract.RUN_DIR] = EnvVar(str(run_dir), "tt-run: the run folder")
    if contract.RECORD in found and _HASH_SEED not in {**plan.inherited, **found}:
        import zlib

        seed = zlib.crc32(os.fsencode(f"{run_dir}/{0 if forked else rank.rank}"))
        found[_HASH_SEED] = EnvVar(str(seed), "tt-run: a recorded rank can be repeated")
    before = found.get("PYTHONPATH", EnvVar("", ""))
    path = f"{HOOK_FOLDER}:{before.value}" if before.value else str(HOOK_FOLDER)
    origin = "tt-run's Python hook" + (f", then {before.origin}" if before.value else "")
    found["PYTHONPATH"] = EnvVar(path, origin)
    return found


# Of MPI and its launcher, which say to the process which rank it is; and what the shell keeps for itself or for rank.sh.
_LEFT_ALONE = "|".join(
    (
        "OMPI_*",
        "PMIX_*",
        "PRTE_*",
        "PMI_*",
        "OPAL_*",
        "SLURM_*",
        "HFI_NO_BACKTRACE",
        "IPATH_NO_BACKTRACE",
        "_tt_*",
        *sorted(
            _SHELL_OWN - {"PS1", "PS2", "PS4"}
        ),  # prompts, which a shell that runs a script does not show
    )
)
# A value of several lines may look like further names: those are taken away anyway, or left alone.
_TAKE_AWAY = rf"""for _tt_word in $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
    case $_tt_word in {_LEFT_ALONE}) ;; *) unset "$_tt_word" ;; esac
done"""


def rank_script(plan: LaunchPlan, rank: RankPlan, run_dir: Path, warm_address: str = "") -> str:
    """The shell text that makes a rank's environment and words, byte for byte.

    With an address the words are those of a stand-in, which has the rank forked from the warm process there.
    """
    environment = rank_environment(plan, rank, run_dir, forked=bool(warm_address))
    if plan.is_exact:
        environment = {**plan.inherited, **environment}
    lines = [_TAKE_AWAY] if plan.is_exact else []
    lines += [f"unset {name}" for name in plan.unset if name not in environment and _is_shell_name(name)]
    odd: list[str] = [
        word
        for name in plan.unset
        if name not in environment and not _is_shell_name(name)
        for word in ("-u", name)
    ]
    if plan.is_exact:  # a shell's prompts, if its parent exported them
        odd += [word for name in _PROMPTS if name not in environment for word in ("-u", name)]
    for name, variable in environment.items():
        if _is_shell_name(name):
            lines.append(f"export {name}={quoted(variable.value)}")
        else:
            odd.append(f"{name}={variable.value}")
    argv: Sequence[str] = rank.argv
    if warm_address:
        from tt_run.launch.warm import warm_words

        argv = warm_words(rank.argv, run_dir, rank.rank, warm_address)
    words = [*(("/usr/bin/env", *odd) if odd else ()), *argv]
    lines.append(f"_tt_cwd={quoted(str(plan.cwd))}")
    lines.append(f"_tt_program={quoted(rank.argv[0])}")
    lines.append('set -- "$@" ' + " ".join(quoted(word) for word in words))
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """The text between single quotes, which a shell takes literally, line breaks included."""
    return "'" + text.replace("'", "'\\''") + "'"


def write_wrapper(plan: LaunchPlan, run_dir: Path, warm: str = "") -> None:
    """Writes the wrapper and one file per rank into `run_dir/launch`; only the owner can read the variables.

    `warm` names the modules that the ranks of a host have imported before they are forked, where they are.
    """
    folder = run_dir / "launch"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    here = Path(__file__).resolve().parent
    address = ""
    if warm:
        (folder / "warm").write_text(warm, encoding="utf-8")
        address = f"tt-run-{os.getpid()}-{time.time_ns():x}"
    for name in (*_COPIED, *(_COPIED_FOR_WARM if warm else ())):
        (folder / name).write_bytes((here / name).read_bytes())
    (folder / "host").write_text(f"{os.uname().nodename}\n", encoding="utf-8")
    if (limit := own_limit(descriptors_needed(len(plan.ranks)))) is not None:
        (folder / "open-files").write_text(f"{limit}\n", encoding="utf-8")
    for rank in plan.ranks:
        text = rank_script(plan, rank, run_dir, address)
        (folder / f"rank-{rank.rank:04d}.env").write_bytes(text.encode("utf-8", "surrogateescape"))


def _is_shell_name(name: str) -> bool:
    """Whether a shell can export the variable."""
    return name.isascii() and name.isidentifier() and name not in _SHELL_OWN
