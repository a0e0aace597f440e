"""Which variables a rank sees, in which order they override each other, and where each comes from (reference launcher 0.81.1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from mgd.diagnostics import Label
from mgd.lean import dataclass
from tt_run import contract
from tt_run.inputs.findings import Findings
from tt_run.inputs.settings import Setting
from tt_run.inputs.site import Site

PASS_PREFIXES = ("TT_", "ARCH_", "WH_", "TTNN_", "RELIABILITY_MODE", "DEEPSEEK_", "MESH_")
"""Variables of the launching shell with these prefixes reach every rank."""

BLOCKED = (
    contract.MESH_ID,
    contract.MESH_HOST_RANK,
    contract.MESH_GRAPH_DESC_PATH,
    contract.ORIGINAL_CWD,
    contract.RANK,
    contract.SUBCONTEXT_ID,
    contract.SUBCONTEXT_SIZES,
    contract.MOCK_CLUSTER_DESC_PATH,
    "TT_METAL_FACTORY_SYSTEM_DESCRIPTOR_PATH",
    "TT_METAL_CLUSTER_ID",
    contract.VISIBLE_DEVICES,
    # ours: they describe one run, and a run inside a rank of another must not inherit them
    contract.EMULATE,
    contract.RUN_DIR,
    contract.WORLD_SIZE,
    contract.CLUSTER_TYPE,
    contract.DEVICE_IDS,
    contract.WARM_FD,
    contract.RANK_PROCESS,
)
"""Variables that belong to one rank of one run: never taken from the launching shell, removed where they would leak."""

FACTORY_DESCRIPTOR = "TT_METAL_FACTORY_SYSTEM_DESCRIPTOR_PATH"

_REFERENCE = r"(?a)\$(?:(\w+)|\{([^}]*)\})"


@dataclass(frozen=True, slots=True)
class EnvVar:
    """One variable of a rank: its value and where it comes from, e.g. "global_env (bindings.yaml:12:3)"."""

    value: str
    origin: str


def passed_through(site: Site) -> dict[str, EnvVar]:
    """What every rank gets from the launching shell."""
    blocked = frozenset(BLOCKED)
    return {
        name: EnvVar(value, "shell: passed through")
        for name, value in site.environ.items()
        if name.startswith(PASS_PREFIXES) and name not in blocked
    }


def managed(site: Site) -> dict[str, EnvVar]:
    """What the launcher sets alike for all ranks: roots, search paths, and the shell's identity variables."""
    launch = str(site.cwd)
    variables: dict[str, EnvVar] = {}

    def inherit(name: str, otherwise: str) -> None:
        value = site.get(name)
        variables[name] = (
            EnvVar(value, "shell") if value is not None else EnvVar(otherwise, "default: unset in the shell")
        )

    inherit("TT_METAL_HOME", launch)
    inherit("TT_METAL_RUNTIME_ROOT", variables["TT_METAL_HOME"].value)
    inherit("PYTHONPATH", launch)
    inherit("LD_LIBRARY_PATH", f"{launch}/build/lib")
    variables[contract.ORIGINAL_CWD] = EnvVar(launch, "launch directory")
    for name in ("HOME", "USER", "PATH", "VIRTUAL_ENV", "PYTHONHOME"):
        value = site.get(name)
        if value:
            variables[name] = EnvVar(value, "shell")
    return variables


def per_rank_folders(
    site: Site, host: str, rank: int, base: Mapping[str, EnvVar]
) -> Iterator[tuple[str, EnvVar]]:
    """TT_METAL_CACHE and TT_METAL_LOGS_PATH of a rank: never shared, so that kernel builds of two ranks cannot collide.

    Default `~/.cache/{hostname}_rank{N}` and its `logs`; a folder given in the shell gets one sub-folder for each rank.
    """
    home = site.get("HOME") or str(site.cwd)
    default = f"{home.rstrip('/')}/.cache/{host}_rank{rank}"
    suffix = f"{host}_rank_{rank}"
    for name, value in ((contract.METAL_CACHE, default), (contract.METAL_LOGS_PATH, f"{default}/logs")):
        given = base.get(name)
        if given is None or not given.value:
            yield name, EnvVar(value, "default: unique per rank")
        elif Path(given.value).name == suffix:
            yield name, given
        else:
            yield name, EnvVar(f"{given.value.rstrip('/')}/{suffix}", "shell, with a folder for each rank")


def expander(site: Site, findings: Findings) -> Callable[[str, Setting], EnvVar]:
    """A function that turns a setting into a variable: `$NAME` and `${NAME}` become the launching shell's values.

    Unset names stay as they are written, with one warning for each place. Settings are remembered, so a global one that
    every rank has is expanded once.
    """
    known: dict[int, EnvVar] = {}
    kept: list[Setting] = []  # keeps the ids above alive

    def expand(name: str, setting: Setting) -> EnvVar:
        found = known.get(id(setting))
        if found is None:
            found = known[id(setting)] = _expanded(name, setting, site, findings)
            kept.append(setting)
        return found

    return expand


def _expanded(name: str, setting: Setting, site: Site, findings: Findings) -> EnvVar:
    origin = f"{setting.source} ({setting.position})" if setting.position.file else setting.source
    if "$" not in setting.value:
        return EnvVar(setting.value, origin)
    unset: list[str] = []

    def replacement(match: re.Match[str]) -> str:
        variable = match.group(1) or match.group(2) or ""
        value = site.get(variable)
        if value is None:
            unset.append(match.group(0))
            return match.group(0)
        return value

    value = re.sub(_REFERENCE, replacement, setting.value)
    if unset:
        findings.warn(
            "TTR119",
            f"{name} refers to {', '.join(unset)}, which the launching shell does not set",
            Label(setting.position, f"stays as written: {value}"),
            help=f"export {unset[0].strip('${}')}, or write its value",
        )
    return EnvVar(value, origin)
