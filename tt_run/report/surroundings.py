"""The ranks' variables, those that differ first; and what the checks before the launch found."""

from __future__ import annotations

from typing import Any

from tt_run import contract
from tt_run.inputs.secrets import masked
from tt_run.report.sources import Sources
from tt_run.report.words import Cleaner, ranks_text

MOST_VALUES = 12
# What tells ranks apart is meant to differ.
BY_DESIGN = {
    contract.RANK,
    contract.MESH_ID,
    contract.MESH_HOST_RANK,
    contract.METAL_CACHE,
    contract.METAL_LOGS_PATH,
    contract.VISIBLE_DEVICES,
    contract.CLUSTER_TYPE,
    contract.DEVICE_IDS,
    contract.SUBCONTEXT_ID,
    contract.MOCK_CLUSTER_DESC_PATH,
}


def environment(found: Sources, clean: Cleaner) -> dict[str, Any]:
    """`differing` and `designed`: name and (value, ranks) each; `common`: name, value and origin of what all ranks share."""
    ranks = found.ranks
    names = sorted({name for rank in ranks for name in rank.get("env") or {}})
    differing: list[tuple[str, list[tuple[str, str, bool]], int]] = []
    designed: list[tuple[str, list[tuple[str, str, bool]], int]] = []
    common: list[tuple[str, str, str]] = []
    for name in names:
        values: dict[str | None, list[int]] = {}
        for rank in ranks:
            value = (rank.get("env") or {}).get(name)
            values.setdefault(None if value is None else masked(name, str(value)), []).append(rank["rank"])
        if len(values) == 1:
            origin = (ranks[0].get("env_origin") or {}).get(name, "")
            common.append((name, clean(next(iter(values))), clean(origin)))
            continue
        shown = [
            ("not set" if value is None else clean(value), ranks_text(which), value is None)
            for value, which in list(values.items())[:MOST_VALUES]
        ]
        entry = (name, shown, max(len(values) - MOST_VALUES, 0))
        (designed if name in BY_DESIGN else differing).append(entry)
    inherited = [
        (name, clean(masked(name, str(each.get("value", "")))), clean(each.get("origin", "")))
        for name, each in sorted((found.plan.get("inherited") or {}).items())
    ]
    return {"differing": differing, "designed": designed, "common": common, "inherited": inherited}


def findings(found: Sources, clean: Cleaner) -> list[dict[str, str]]:
    """Code, severity, message, place and help of each."""
    return [
        {
            "code": str(each.get("code", "")),
            "severity": str(each.get("severity", "")),
            "message": clean(each.get("message", "")),
            "place": clean(f"{each['file']}:{each.get('line') or ''}".rstrip(":"))
            if each.get("file")
            else "",
            "help": clean(each.get("help") or ""),
        }
        for each in found.plan.get("findings") or []
    ]
