"""The command line of netns-cluster."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from netns import control, host, switch
from netns.linux import is_capable_root, why_not_here
from netns.state import State

CANNOT = 77
USAGE = """\
netns-cluster: several hosts on one Linux machine, for multi-host tests

  netns-cluster check                       can it work here? exit 0 yes, 77 no (says why)
  netns-cluster run N [options] -- CMD…     make N hosts, run CMD on the first, always clean up
  netns-cluster up N [options]              make N hosts and leave them running
  netns-cluster exec HOST CMD…              run CMD on HOST with this environment and folder
  netns-cluster agent HOST CMDLINE…         as ssh does it: bare environment, $HOME, sh -c CMDLINE
  netns-cluster kill HOST                   the host dies now
  netns-cluster cut HOST | heal HOST        its cable out, in again
  netns-cluster list | down

Options of up and run: --names a,b,c   --subnet 10.77.0   --sshd (real root)   --ttl SECONDS without use (default 1800, 0 never)
-s DIR before the verb, or $NETNS_CLUSTER: the state folder (default /tmp/netns-cluster.UID)
`exec` and `run` set PRTE_MCA_plm_ssh_agent, so an unmodified `mpirun --host h1,h2` or tt-run reaches the hosts.
"""


def main(argv: list[str]) -> int:
    """Exit code of the verb; 77 where namespaces cannot be made."""
    if argv[:1] == ["_host"]:
        host.main(*argv[1:])
    if argv[:1] == ["_switch"]:
        switch.main(*argv[1:])
    folder = os.environ.get("NETNS_CLUSTER") or f"/tmp/netns-cluster.{os.getuid()}"
    if argv[:1] == ["-s"]:
        folder, argv = argv[1], argv[2:]
    if not argv or argv[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0
    try:
        return _verb(State(Path(folder).absolute()), argv[0], argv[1:])
    except control.ClusterError as problem:
        print(f"netns-cluster: {problem}", file=sys.stderr)
        return problem.code


def _verb(state: State, verb: str, rest: list[str]) -> int:
    if verb in ("up", "run"):
        return _make(state, verb, rest)
    if verb == "check":
        why = why_not_here()
        print(f"no: {why}" if why else f"ok ({'root' if is_capable_root() else 'user namespace'})")
        return CANNOT if why else 0
    if verb == "down":
        print("down" if control.down(state) else "nothing was up")
        return 0
    if verb == "list":
        if not control.running(state):
            raise control.ClusterError(f"nothing is up in {state.folder}")
        print("\n".join(f"{name} {address}" for name, address in state.read().hosts.items()))
        return 0
    if verb in ("kill", "cut", "heal") and rest:
        control.order(state, verb, rest[0])
        return 0
    if verb == "exec" and len(rest) > 1:
        return control.call(state, rest[0], rest[1:], login=False)
    if verb == "agent" and rest:
        while rest[0].startswith("-"):  # options that a caller gives to ssh
            rest = rest[2:] if rest[0] in ("-l", "-p", "-o", "-i", "-F") else rest[1:]
        return control.call(state, rest[0], ["/bin/sh", "-c", " ".join(rest[1:])], login=True)
    raise control.ClusterError(f"cannot do `{' '.join([verb, *rest])}`; see --help", 2)


def _make(state: State, verb: str, rest: list[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"netns-cluster {verb}")
    parser.add_argument("count", type=int)
    parser.add_argument("--names")
    parser.add_argument("--subnet", default="10.77.0")
    parser.add_argument("--sshd", action="store_true")
    parser.add_argument("--ttl", type=float, default=1800)
    words, command = (rest[: rest.index("--")], rest[rest.index("--") + 1 :]) if "--" in rest else (rest, [])
    given = parser.parse_args(words)
    names = given.names.split(",") if given.names else [f"h{i}" for i in range(1, given.count + 1)]
    if len(names) != given.count or not 1 <= given.count <= 250:
        parser.error(f"{given.count} hosts need {given.count} names, 1 to 250")
    why = why_not_here()
    if why:
        raise control.ClusterError(f"cannot make network namespaces here: {why}", CANNOT)
    if verb == "up":
        config = control.up(state, names, subnet=given.subnet, sshd=given.sshd, ttl=given.ttl, attached=False)
        print(" ".join(f"{name}={address}" for name, address in config.hosts.items()))
        print(f"agent: {state.agent}")
        if given.sshd:
            print(f"ssh -F {state.folder}/ssh_config")
        return 0
    if not command:
        parser.error("give a command after --")
    own = State(state.folder.with_name(f"{state.folder.name}.{os.getpid()}"))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    try:
        control.up(own, names, subnet=given.subnet, sshd=given.sshd, ttl=given.ttl, attached=True)
        return control.call(own, names[0], command, login=False)
    finally:
        control.down(own)
