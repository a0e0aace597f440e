"""Commands on the hosts of a launch, through the same remote shell that mpirun uses: `ssh`, or what the user chose in its place."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress

from mgd.lean import dataclass

MOST_AT_ONCE = 32  # remote shells open at the same time
_AGENT = ("plm_ssh_agent", "plm_rsh_agent")
_ARGUMENTS = ("plm_ssh_args", "plm_rsh_args")
_PREFIXES = ("PRTE_MCA_", "OMPI_MCA_", "PMIX_MCA_")
# ssh asks for a password where it may, and waits for minutes for a host that is off; mpirun cannot answer either.
_UNATTENDED = ("-o", "BatchMode=yes", "-o", "ConnectTimeout={seconds}")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command on a host said; `code` is None when it did not answer in time."""

    code: int | None
    out: str = ""
    err: str = ""


@dataclass(frozen=True, slots=True)
class RemoteAgent:
    """The words that stand before `HOST COMMANDLINE`, and which input named them."""

    words: tuple[str, ...] = ("ssh",)
    source: str = "the default"

    @classmethod
    def chosen(cls, environ: Mapping[str, str], mpi_words: Sequence[str] = ()) -> RemoteAgent:
        """The agent that mpirun would use: from its own words, else from the environment, else ssh."""
        agent, source = _parameter(_AGENT, environ, mpi_words)
        arguments, _ = _parameter(_ARGUMENTS, environ, mpi_words)
        # Open MPI takes a list `ssh : rsh` and uses the first; rsh has gone.
        words = shlex.split(agent.split(" : ")[0]) if agent else []
        if not words:
            return cls(("ssh", *shlex.split(arguments)), "the default")
        return cls((*words, *shlex.split(arguments)), source)

    @property
    def is_ssh(self) -> bool:
        return os.path.basename(self.words[0]) == "ssh"  # noqa: PTH119

    def command(self, host: str, line: str, seconds: int = 10) -> tuple[str, ...]:
        """The argument vector that runs a shell line on a host; ssh gives up after `seconds` without a connection."""
        limits = tuple(word.format(seconds=seconds) for word in _UNATTENDED) if self.is_ssh else ()
        return (*self.words, *limits, host, line)

    def ask(self, hosts: Sequence[str], line: str, seconds: float) -> dict[str, Answer]:
        """Runs a shell line on every host at the same time; the answers by host, all of them within `seconds`."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(MOST_AT_ONCE, max(1, len(hosts)))) as pool:
            commands = [self.command(host, line, max(1, int(seconds) - 1)) for host in hosts]
            return dict(zip(hosts, pool.map(lambda words: answer(words, seconds), commands), strict=True))


def answer(command: Sequence[str], seconds: float, environment: Mapping[str, str] | None = None) -> Answer:
    """What a command says; after `seconds` it is ended with everything that it has started."""
    import subprocess  # of other hosts alone: every launch loads this module

    try:
        process = subprocess.Popen(
            list(command),
            env=None if environment is None else dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Answer(127, "", f"{command[0]}: {error.strerror}")
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Answer(None, "", f"no answer within {seconds:.0f} s")
    return Answer(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def _parameter(names: Sequence[str], environ: Mapping[str, str], words: Sequence[str]) -> tuple[str, str]:
    """The value of an MCA parameter and who set it; two empty texts when nobody did."""
    for index, word in enumerate(words):
        if word in ("--mca", "-mca", "--prtemca", "--gmca") and words[index + 1 : index + 2]:
            name = words[index + 1]
            if name in names and index + 2 < len(words):
                return words[index + 2], f"{word} {name} of --mpi-args"
    for prefix in _PREFIXES:
        for name in names:
            if environ.get(f"{prefix}{name}"):
                return environ[f"{prefix}{name}"], f"{prefix}{name}"
    return "", ""
