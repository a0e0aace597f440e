"""What the answer of one host means for a launch there: one check per fact, each with what to do about it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mgd.lean import dataclass
from tt_run.cli.doctor.probe import Question, clock_skew
from tt_run.cli.doctor.report import Check
from tt_run.launch.agent import Answer

MOST_SKEW = 0.5  # seconds: which of two failures was first is told by the clocks of their hosts
_LOCAL_ONLY = re.compile(r"(lo\Z|docker|virbr|veth|br-)")
_LIBRARY = re.compile(r"Open MPI v?(\d+)\.(\d+)")


@dataclass(frozen=True)
class LaunchingSide:
    """What the launching side has: the question it asked, its launcher's version, the remote shell, and the interface it named."""

    question: Question
    version: tuple[int, int] | None
    agent: Sequence[str]
    cwd: Path
    interface: str | None = None
    is_python: bool = True
    emulate: bool = False


@dataclass(frozen=True)
class HostAnswer:
    """What a host said, its facts by name, and our clock before and after."""

    host: str
    said: Answer
    facts: Mapping[str, str]
    asked: float
    answered: float

    def check(self, name: str, ok: bool | None, text: str, hint: str = "") -> Check:
        return Check(name, ok, text, hint, self.host)

    def checks(self, wanted: LaunchingSide) -> Iterator[Check]:
        """The checks of this host, in the order in which a launch would need them."""
        if "began" not in self.facts:
            why = [line for line in self.said.err.splitlines() if line.strip()]
            hint = f"try: {shlex.join(wanted.agent)} {self.host} true"
            yield self.check("reachable", False, why[-1] if why else "no answer", hint)
            return
        yield self.check("reachable", True, f"as {self.facts.get('host', '?')}")
        yield self._launcher(wanted)
        yield self._program(wanted)
        yield from self._python(wanted)
        yield self._package(wanted)
        yield from self._folders(wanted)
        yield self._interface(wanted)
        yield from self._peers()
        yield self._clock()

    def _launcher(self, wanted: LaunchingSide) -> Check:
        path = wanted.question.launcher
        if "daemon" not in self.facts:
            hint = f"install the same Open MPI at the same path as here: {Path(path).parent}"
            return self.check("launcher", False, f"no {wanted.question.daemon}", hint)
        said = self.facts.get("launcher", "")
        found = re.search(r"(\d+)\.(\d+)", said)
        version = (int(found[1]), int(found[2])) if found else None
        if version != wanted.version:
            here = ".".join(map(str, wanted.version or ("?",)))
            return self.check("launcher", False, f"{said} at {path}, here {here}", "install the same version")
        return self.check("launcher", True, f"{said} at {path}")

    def _program(self, wanted: LaunchingSide) -> Check:
        program = wanted.question.program
        if "program" in self.facts:
            return self.check("program", True, self.facts["program"])
        where = "no such executable file" if "/" in program else "not on the launching shell's PATH there"
        return self.check(
            "program", False, f"{program}: {where}", "copy it there, or name a path that all hosts share"
        )

    def _python(self, wanted: LaunchingSide) -> Iterator[Check]:
        needed = False if wanted.is_python else None  # what a missing piece amounts to
        if "python" not in self.facts:
            yield self.check(
                "Python", needed, f"{wanted.question.python}: absent or does not start", "install it there"
            )
            return
        yield self.check("Python", True, self.facts["python"])
        library = self.facts.get("library")
        if library is None:
            why = self.facts.get("mpi4py_error", "absent")
            yield self.check("mpi4py", needed, why, "pip install mpi4py into that Python")
            return
        yield self.check("mpi4py", True, self.facts.get("mpi4py", ""))
        path, launcher = self.facts.get("libmpi", ""), wanted.question.launcher
        found = _LIBRARY.search(library)
        if wanted.version and (found is None or int(found[1]) != wanted.version[0]):
            here = f"Open MPI {'.'.join(map(str, wanted.version))} at {launcher}"
            text = f"{library} at {path}, but the launcher is {here}: every process would be rank 0 of 1"
            yield self.check("MPI library", needed, text, "put the mpirun of mpi4py's MPI first on PATH")
            return
        yield self.check("MPI library", True, f"{library} at {path}")

    def _folders(self, wanted: LaunchingSide) -> Iterator[Check]:
        if "temporary" in self.facts:
            yield self.check("temporary folder", True, self.facts["temporary"])
        else:
            folder = self.facts.get("temporary_error", "?")
            yield self.check(
                "temporary folder", False, f"{folder} is not writable", f"make room there: df -h {folder}"
            )
        if "shared" in self.facts:
            yield self.check("launch folder", True, f"{wanted.cwd}, the same as here")
        else:
            hint = "launch from a folder on a file system that all hosts share"
            yield self.check(
                "launch folder", False, f"{self.host} does not see this machine's {wanted.cwd}", hint
            )

    def _package(self, wanted: LaunchingSide) -> Check:
        folder = wanted.question.package
        if "package" in self.facts:
            return self.check("tt-run", True, str(folder))
        lacks = (
            "ranks there find no emulation"
            if wanted.emulate
            else "no stacks and no exceptions from ranks there"
        )
        hint = f"install tt-run at the same path on {self.host}"
        return self.check("tt-run", False if wanted.emulate else None, f"no {folder}: {lacks}", hint)

    def _interface(self, wanted: LaunchingSide) -> Check:
        addresses = _under(self.facts, "address.")
        if not addresses and "python" not in self.facts:
            return self.check("interface", None, "not known without Python")
        usable = {name: at for name, at in addresses.items() if at and not _LOCAL_ONLY.match(name)}
        shown = ", ".join(f"{name} {at}" for name, at in usable.items())
        if wanted.interface is None:
            hint = "connect the host: MPI leaves out lo and docker0"
            return self.check("interface", bool(usable), shown or "none with an IPv4 address", hint)
        if addresses.get(wanted.interface):
            return self.check("interface", True, f"{wanted.interface} {addresses[wanted.interface]}")
        state = "has no IPv4 address" if wanted.interface in addresses else "does not exist"
        hint = f"--tcp-interface {next(iter(usable))}" if usable else "connect the host"
        return self.check("interface", False, f"{wanted.interface} {state}; there is {shown or 'none'}", hint)

    def _peers(self) -> Iterator[Check]:
        unknown, found = _under(self.facts, "peer_error."), _under(self.facts, "peer.")
        looped = [
            name
            for name, at in found.items()
            if at.startswith("127.") and name != self.host and name != "localhost"
        ]
        if unknown:
            name, why = next(iter(unknown.items()))
            yield self.check(
                "peers", False, f"{name}: {why}", f"add the host to DNS or to /etc/hosts of {self.host}"
            )
        elif looped:
            text = f"{looped[0]} is {found[looped[0]]}, which is {self.host} itself"
            yield self.check("peers", False, text, f"correct /etc/hosts of {self.host}")
        elif found:
            yield self.check("peers", True, ", ".join(f"{name} {at}" for name, at in list(found.items())[:8]))

    def _clock(self) -> Check:
        skew = clock_skew(self.facts, self.asked, self.answered)
        if skew is None or abs(skew) <= MOST_SKEW:
            return self.check(
                "clock", True if skew is not None else None, "agrees" if skew is not None else "not known"
            )
        text = f"{abs(skew):.1f} s {'ahead of' if skew > 0 else 'behind'} this machine's"
        return self.check("clock", None, text, "synchronise the clocks: they tell which failure came first")


def _under(facts: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The facts whose names begin with a prefix, without it."""
    return {name[len(prefix) :]: value for name, value in facts.items() if name.startswith(prefix)}
