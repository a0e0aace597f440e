"""The run folder: where a run keeps its plan, the ranks' logs and records; names from `tt_run.contract`."""

from __future__ import annotations

import os
import time
from pathlib import Path

from mgd.diagnostics import Diagnostic
from mgd.lean import dataclass
from tt_run import contract
from tt_run.errors import UsageError

DEFAULT_PARENT = "tt-run-logs"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The paths of one run."""

    path: Path

    def status(self, rank: int) -> Path:
        return self.path / contract.STATUS_FILE.format(rank=rank)

    def out(self, rank: int) -> Path:
        return self.path / contract.STDOUT_FILE.format(rank=rank)

    def err(self, rank: int) -> Path:
        return self.path / contract.STDERR_FILE.format(rank=rank)

    def errs(self) -> list[Path]:
        """What all ranks wrote on standard error, as far as there is any."""
        return files_of_ranks(self.path, contract.STDERR_FILE)

    def stacks(self, rank: int) -> Path:
        return self.path / contract.STACKS_FILE.format(rank=rank)

    def failure(self, rank: int) -> Path:
        return self.path / contract.FAILURE_FILE.format(rank=rank)

    def child_failure(self, rank: int) -> Path:
        return self.path / contract.CHILD_FAILURE_FILE.format(rank=rank)

    def ending(self, rank: int) -> Path:
        return self.path / contract.ENDING_FILE.format(rank=rank)

    @property
    def launcher_log(self) -> Path:
        return self.path / "launcher.log"

    def launcher_said(self, limit: int = 1 << 18) -> str:
        """What mpirun itself has written, at most `limit` bytes of it; empty when that cannot be read."""
        try:
            with self.launcher_log.open("rb") as stream:
                return stream.read(limit).decode("utf-8", errors="replace")
        except OSError:
            return ""

    @property
    def order(self) -> Path:
        """In which order the logs of the ranks grew, for `tt-run logs`."""
        return self.path / "launch" / "order"

    @property
    def wrong_size(self) -> Path:
        return self.path / "launch" / "wrong-size"


def files_of_ranks(folder: Path, name: str) -> list[Path]:
    """The files of a run folder that are called so, by name; none where the folder is gone.

    Without a pattern, whose expression would be compiled at the end of each run.
    """
    before, _, after = name.partition("{rank:04d}")
    try:
        names = os.listdir(folder)  # noqa: PTH208 - most of them are no such file
    except OSError:
        return []
    return [folder / each for each in sorted(names) if each.startswith(before) and each.endswith(after)]


def predicted_folder(log_dir: Path | None, cwd: Path) -> Path:
    """The folder of the next run: `--log-dir` itself, or `tt-run-logs/<time>-<pid>` below the working directory."""
    if log_dir is not None:
        return log_dir if log_dir.is_absolute() else cwd / log_dir
    path = cwd / DEFAULT_PARENT / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    return _another(path) if path.exists() else path


def _another(path: Path) -> Path:
    """A folder beside that of another container, in which tt-run has the same number: the first process there, as a rule."""
    return path.with_name(f"{path.name}-{os.urandom(3).hex()}")


def _is_predicted(path: Path) -> bool:
    """Whether the name is this process's own, and nobody's wish."""
    return path.parent.name == DEFAULT_PARENT and path.name.split("-")[2:3] == [str(os.getpid())]


def make_folder(path: Path) -> RunFolder:
    """Creates the folder. Raises UsageError when it cannot be made, or already holds a run whose records would be mixed up."""
    try:
        if path.parent.name == DEFAULT_PARENT and not path.parent.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # No project wants its runs in its history; those who do want it take this line out.
            (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.mkdir(mode=0o700)  # what ranks print may be secret
            return RunFolder(path)
        except FileExistsError:
            if _is_predicted(path):  # since it was predicted
                return make_folder(_another(path))
            path.mkdir(mode=0o700, exist_ok=True)
        taken = next(path.glob("rank-*.status"), None)
        inside = next(path.glob("*/launcher.log"), None)
    except OSError as error:
        raise UsageError(
            Diagnostic(
                "TTR031",
                f"the run folder {path} cannot be made: {error.strerror}",
                help="name another with --log-dir DIR",
            )
        ) from None
    if taken is not None:
        raise UsageError(
            Diagnostic(
                "TTR032",
                f"{path} already holds the records of a run",
                help="name an empty folder with --log-dir DIR",
            )
        )
    if inside is not None:
        from tt_run.inputs.site import from_here

        raise UsageError(
            Diagnostic(
                "TTR032",
                f"{path} holds the folders of runs, as {inside.parent.name}, and each run has one of its own",
                help=f"write --log-dir {from_here(path)}/NAME",
            )
        )
    return RunFolder(path)


def lock_folder(folder: RunFolder) -> int:
    """Keeps other launches out of the folder as long as the returned descriptor is open. Raises UsageError when another one holds it."""
    from tt_run.launch.locks import take_lock

    descriptor = os.open(folder.path, os.O_RDONLY)
    if not take_lock(descriptor, wait=False):
        os.close(descriptor)
        raise UsageError(
            Diagnostic(
                "TTR032",
                f"another run is just using {folder.path}",
                help="name an empty folder with --log-dir DIR",
            )
        )
    return descriptor
