"""Faults on purpose: what `--inject` says, read once before a launch and again by each rank.

    kill=rank:1,call=12                 rank 1, before its 12th call
    raise=rank:2,op=all_gather,nth=3    rank 2, before its third all_gather, with an exception
    stop=rank:*,site=train.py:88        every rank that comes to that line
    exit=rank:0,after=2s,code=3         rank 0, two seconds after it opened its first mesh
    kill=rank:*,mtbf=30s,seed=7         at random, with 30 s between failures of a rank in the mean
    kill=host:node2,after=5s            every rank on that host
    slow=rank:1,op=matmul,for=10ms,nth=0  each matmul of rank 1 takes longer
    nan=rank:0,call=5                   a NaN in the first tensor of that call; `flip` turns one bit over
    full=rank:1,after=1s                the disk of that rank's logs is full from then on
    slowdisk=rank:1,for=50ms            each write to it takes longer
    delay=link:1-2,for=1ms              each collective that uses the link between devices 1 and 2 takes longer
    degrade=link:1-2,rate=100MB/s       the same, by the bytes that cross it
    cut=link:1-2,call=9                 from that call on, a collective that needs the link fails; with `drop` it waits in vain
    cut=rank:1                          all links between the devices of that rank and the others, and its messages
    delay=host:node2,for=1ms            the same between that host and the others

A fault at a call or a moment happens to a rank once in a run, also when `--max-restarts` starts it again: not those of a rate (`mtbf`), of
each call (`nth=0`), and what lasts (slow ranks and disks, links).

A call is what a rank does together with others, in the numbers of the guard: opening and closing a mesh, collectives, barriers, sends and
receives. `op` counts operations as well, `op=*` all of both. Devices have the numbers of the ledger: row by row of the system mesh.

A rule of the launcher and a listener of the runtime share this module, so that neither imports the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from mgd.lean import dataclass
from tt_run.contract import FIRST_START_FILE, INJECTED_FILE

ENDINGS = ("kill", "term", "stop", "exit", "raise", "hang", "oom")
"""Faults after which a rank does not go on."""
SPOILING = ("nan", "flip")
"""Faults that change the first number of a tensor."""
CHANGES = ("slow", *SPOILING, "full", "slowdisk")
LINKS = ("delay", "degrade", "drop", "cut")
"""Faults of the links between emulated devices, and of the ways between ranks, from their moment on."""
ACTIONS = (*ENDINGS, *CHANGES, *LINKS)
ANY_TIME = ("kill", "term", "stop", "exit", "raise", "full", "slowdisk")
"""Faults that need no call to happen at: they can come at a time."""
SIGNALS = ("kill", "term", "stop")
_AT_ONCE = (*SIGNALS, "exit", "slow", "slowdisk", *LINKS)
HITTING = (*ENDINGS, "drop", "cut")
"""Faults that the verdict on a run should name."""
WITHOUT_CALLS = (*ANY_TIME, "hang", "oom")
"""Faults that a Python program without emulation can have at a time."""
EXCEPTIONS = ("raise", "oom", "cut")
"""Faults that are exceptions in the program."""
_OWN = {"for": ("slow", "slowdisk", "delay"), "code": ("exit",), "text": ("raise",), "bit": ("flip",), "rate": ("degrade",)}  # fmt: skip
"""Words that say more of some faults, and nothing of the others."""
_KEYS = ("call", "op", "nth", "site", "after", "mtbf", "seed", "for", "code", "text", "bit", "rate")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9}


class FaultError(ValueError):
    """A fault that cannot be read; the text says what is wrong and how to write it."""


@dataclass(frozen=True)
class Fault:
    """One fault: what happens, to which ranks (None: all), hosts or links, and when.

    `call` is the guard's number of a call, from 1; `op` the name of an operation or a call (`*`: of any), `site` the end of `file:line`,
    `nth` which of the calls that have both (0: each); `after` and `mtbf` are seconds, `rate` bytes per second. `link` are two devices of a mesh, () for all links.
    """

    text: str
    action: str
    ranks: tuple[int, ...] | None = None
    call: int = 0
    op: str = ""
    nth: int = 1
    site: str = ""
    after: float = 0.0
    mtbf: float = 0.0
    seed: int = 0
    seconds: float = 0.01
    code: int = 1
    message: str = "injected fault"
    bit: int = 30
    hosts: tuple[str, ...] = ()
    link: tuple[int, ...] | None = None
    rate: float = 0.0

    def concerns(self, rank: int, host: str = "") -> bool:
        """Whether the fault is for a rank, on its host."""
        if self.hosts:
            return host in self.hosts or host.partition(".")[0] in self.hosts
        return self.ranks is None or rank in self.ranks

    @property
    def needs_emulation(self) -> bool:
        """Whether only emulated ranks can have it: what counts calls, and what changes tensors or links."""
        return not (
            self.by_time and self.action in WITHOUT_CALLS and (self.delays or self.action in ANY_TIME)
        )

    @property
    def by_time(self) -> bool:
        """Whether it comes at a time rather than at a call."""
        return not (self.call or self.op or self.site)

    @property
    def delays(self) -> bool:
        """Whether a time has to pass first, which no replay repeats."""
        return bool(self.after or self.mtbf)

    @property
    def comes_once(self) -> bool:
        """Whether it is over for a rank once it has happened, also at later starts of the run."""
        return self.action in (*ENDINGS, *SPOILING) and not self.mtbf and bool(self.nth)

    def is_of(self, name: str, site: str) -> bool:
        """Whether a call of that name, at that `file:line`, is one that `op` and `site` mean."""
        return self.op in ("", "*", name) and (
            not self.site or site == self.site or site.endswith(f"/{self.site.removeprefix('./')}")
        )

    def delay(self, rank: int, attempt: int = 1) -> float:
        """Seconds until it comes, on a rank: `after`, or drawn for this rank, and for each start of the run, from its seed."""
        if not self.mtbf:
            return self.after
        import random  # of rates alone: every run loads this module

        again = f"/{attempt}" if attempt > 1 else ""
        return self.after + random.Random(f"{self.seed}/{rank}{again}").expovariate(1 / self.mtbf)


def starts_of(folder: Path) -> list[Path]:
    """The folders of a run's starts up to that of this one, in their order."""
    try:
        first = folder.with_name((folder / FIRST_START_FILE).read_text(encoding="utf-8"))
        last = int(folder.name.removeprefix(f"{first.name}."))
    except (OSError, ValueError):
        return [folder]
    return [first, *(first.with_name(f"{first.name}.{number}") for number in range(2, last + 1))]


def over_before(folder: Path, rank: int, faults: Sequence[Fault]) -> set[int]:
    """The numbers of those faults that a rank has had at an earlier start of the run, and has once."""
    had: set[str] = set()
    for start in starts_of(folder)[:-1]:
        try:
            lines = (start / INJECTED_FILE.format(rank=rank)).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        had.update(map(_text_of, lines))
    return {number for number, fault in enumerate(faults) if fault.comes_once and fault.text in had}


def _text_of(line: str) -> str:
    try:
        return str(json.loads(line)["fault"])
    except (ValueError, TypeError, KeyError):  # one that was missed, or a line that was cut off
        return ""


_LIKE = {
    "slow": "rank:1,for=10ms",
    "slowdisk": "rank:1,for=10ms",
    "full": "rank:1,after=2s",
    "delay": "link:1-2,for=10ms",
    "degrade": "link:1-2,rate=100MB/s",
    "drop": "link:1-2",
    "cut": "link:1-2",
}


def example(text: str) -> str:
    """A fault that can be written, of the action that a text means or nearly means; the text's own words where they fit."""
    action, _, words = text.partition("=")
    meant = _near(action.strip().lower(), ACTIONS) or ["kill"]
    for target in ("", "rank:"):  # kil=rank:1,call=2 and kill=1,call=2 want one word each
        with suppress(FaultError):
            if (found := read_fault(f"{meant[0]}={target}{words}").text) != text:
                return found
    return f"{meant[0]}={_LIKE.get(meant[0], 'rank:1,call=12')}"


def _near(word: str, known: Iterable[str]) -> list[str]:
    """The known word that is most like this one, if any is."""
    from difflib import get_close_matches  # of mistakes alone

    return get_close_matches(word, list(known), 1)


def read_fault(text: str) -> Fault:
    """What one `--inject` says. Raises FaultError."""
    if len(text.splitlines()) > 1:
        raise FaultError("a fault is written on one line")
    head, *rest = [word.strip() for word in _words(text)]
    action, _, target = head.partition("=")
    if action not in ACTIONS:
        near = _near(action.lower(), ACTIONS)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(ACTIONS)}"
        raise FaultError(f"{action!r} is no fault: {hint}")
    found: dict[str, object] = {"text": text, "action": action, **_target(action, target)}
    for word in rest:
        key, _, value = (part.strip() for part in word.partition("="))
        if key not in _KEYS:
            meant = [_MEANT[key.lower()]] if key.lower() in _MEANT else []
            near = meant or _near(key.lower(), _KEYS)
            hint = f"did you mean {near[0]}=?" if near else f"there are {', '.join(_KEYS)}"
            if key.isdigit():
                hint = f"several ranks are joined by +, as in rank:0+{key}"
            raise FaultError(f"{key!r} says nothing about a fault: {hint}")
        name = {"for": "seconds", "text": "message"}.get(key, key)
        if name in found:
            raise FaultError(f"{key}= stands there twice")
        if action not in _OWN.get(key, ACTIONS):
            raise FaultError(f"{key}= says nothing about {action}: it belongs to {', '.join(_OWN[key])}")
        found[name] = _value(key, value)
    said = frozenset(found)
    if action == "slow" and not {"call", "op"} & said:
        found.setdefault("nth", 0)  # a rank is slow in all that it does
    return _sound(Fault(**found), said)  # type: ignore[arg-type]


def _words(text: str) -> list[str]:
    """The words of a fault, between commas; what follows `text=` and is no word of faults belongs to the text."""
    words: list[str] = []
    for word in text.split(","):
        if words and words[-1].lstrip().startswith("text=") and word.partition("=")[0].strip() not in _KEYS:
            words[-1] += f",{word}"
        else:
            words.append(word)
    return words


def read_faults(lines: str) -> list[Fault]:
    """Faults, one on each line. Raises FaultError."""
    return [read_fault(line) for line in lines.splitlines() if line.strip()]


_MEANT = {"at": "site", "line": "site", "where": "site", "place": "site", "step": "call", "time": "after", "by": "for",
          "seconds": "for", "duration": "for", "operation": "op", "message": "text"}  # fmt: skip
"""Other words that people write for a key."""


def _target(action: str, target: str) -> dict[str, object]:
    """Ranks, hosts or a link, as fields of a fault."""
    kind, _, which = target.partition(":")
    if kind == "rank" and which == "*":
        return {"ranks": None}
    if kind == "rank" and re.fullmatch(r"\d+(\+\d+)*", which):
        return {"ranks": tuple(sorted({int(word) for word in which.split("+")}))}
    if kind == "host" and which:
        return {"hosts": tuple(which.split("+"))}
    if action not in LINKS:
        raise FaultError(f"{target!r} names no rank: write rank:1, rank:1+3, rank:* or host:NAME")
    if kind == "link" and (which == "*" or re.fullmatch(r"\d+-\d+", which)):
        ends = () if which == "*" else tuple(sorted(int(word) for word in which.split("-")))
        if len(set(ends)) != 1:
            return {"link": ends}
    raise FaultError(f"{target!r} names no link: write link:1-2 (two devices), link:*, rank:1 or host:NAME")


def _value(key: str, value: str) -> object:
    if key in ("op", "site", "text"):
        if not value:
            raise FaultError(f"{key}= needs a value")
        if key == "op":
            return value.rpartition(".")[2] or value  # as programs write it, ttnn.all_gather
        if key == "site" and not re.fullmatch(r".+:\d+", value):
            raise FaultError(f"site={value} is no line of a program: write site=train.py:88")
        return value
    if key in ("after", "mtbf", "for"):
        seconds = _seconds(key, value)
        if key == "for" and not seconds:
            raise FaultError("for=0 changes nothing: write for=10ms")
        return seconds
    if key == "rate":
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([kMG]?B/s)", value)
        if not found or not float(found[1]):
            raise FaultError(f"rate={value} is no rate: write 100MB/s or 2.5GB/s")
        return float(found[1]) * _BYTES[found[2]]
    if not re.fullmatch(r"\d+", value):
        raise FaultError(f"{key}={value} is no whole number")
    if key == "call" and not int(value):
        raise FaultError("call=0: calls are counted from 1")
    return int(value)


def _seconds(key: str, value: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s|m|h)?", value)
    if not found:
        raise FaultError(f"{key}={value} is no time: write 500ms, 2s or 1m")
    return float(found[1]) * _SECONDS[found[2] or "s"]


def _sound(fault: Fault, said: frozenset[str]) -> Fault:
    """The fault, if its parts fit together; `said` are the fields that were written. Raises FaultError."""
    if fault.action == "degrade" and not fault.rate:
        raise FaultError("degrade needs rate=100MB/s")
    _fits(fault, said)
    if fault.by_time and not ({"after", "mtbf"} & said or fault.action in _AT_ONCE):
        raise FaultError(
            f"{fault.action} happens at a call: add call=N, op=NAME or site=FILE:LINE, or after=2s"
        )
    if "mtbf" in said and not fault.mtbf:
        raise FaultError("mtbf=0 is no time between failures: write mtbf=30s")
    if fault.action == "exit" and not 0 <= fault.code <= 255:
        raise FaultError(f"code={fault.code} is no exit code: 0 to 255")
    if not 0 <= fault.bit < 32:
        raise FaultError(f"bit={fault.bit} is no bit of 32")
    return fault


def _fits(fault: Fault, said: frozenset[str]) -> None:
    """Refuses words that would be read and change nothing. Raises FaultError."""
    if fault.mtbf and not fault.by_time:
        raise FaultError("mtbf= is a time; it does not go with call=, op= or site=")
    also = [key for key in ("op", "site", "nth", "after") if key in said]
    if fault.call and fault.action not in LINKS and also:
        raise FaultError(f"call={fault.call} names one call already; {also[0]}= does not go with it")
    if "nth" in said and fault.by_time and not (fault.action == "slow" and not fault.nth):
        raise FaultError("nth= counts calls: it needs op=NAME or site=FILE:LINE")
    if "seed" in said and not fault.mtbf:
        raise FaultError("seed= draws times: it needs mtbf=30s")
