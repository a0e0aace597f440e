"""The mesh graph with what flowed over its links, and the collectives that made it flow."""

from __future__ import annotations

from typing import Any

import mgd
from mgd.drawing.marks import Marks
from mgd.drawing.svg import draw_svg
from mgd.drawing.traffic import Traffic
from mgd.errors import MgdError
from tt_run import contract
from tt_run.report.sources import Sources
from tt_run.report.words import Cleaner, number, short_site

MOST_DEVICES = 2048
MOST_LINKS = 40
MOST_COLLECTIVES = 300


def pictures(found: Sources) -> tuple[list[tuple[str, str]], str]:
    """Names and SVG texts of the pictures that can be drawn, and what lacks where there is none."""
    paths = sorted(
        {(rank.get("env") or {}).get(contract.MESH_GRAPH_DESC_PATH, "") for rank in found.ranks} - {""}
    )
    if not found.plan:
        return [], found.lacks_plan
    if not paths:
        return (
            [],
            "The launch named no mesh graph descriptor: give one with --rank-binding, -m or --emulate --system.",
        )
    if len(paths) > 1:
        return (
            [],
            f"The ranks have {len(paths)} descriptors; mgd show draws each of them: {', '.join(paths[:4])}",
        )
    try:
        graph = mgd.expand(mgd.load(paths[0]))
    except (MgdError, OSError, ValueError) as error:
        return [], f"{paths[0]} cannot be drawn: {error}"
    if graph.device_count > MOST_DEVICES:
        return (
            [],
            f"{graph.device_count:,} devices are too many for a picture in a page; mgd show --html draws them.",
        )
    marks = Marks(labels=_labels(found))
    drawn = []
    for name, traffic in (("bytes", _bytes(found)), ("predicted time", _predicted(found))):
        if traffic is not None and traffic.most > 0:
            drawn.append((name, draw_svg(graph, marks=marks, traffic=traffic, theme="page")))
    if not drawn:
        drawn.append(("links", draw_svg(graph, marks=marks, theme="page")))
    return drawn, ""


def _labels(found: Sources) -> dict[tuple[int, int], str]:
    """The words on each host block: its rank, its host where there are several, and whether it failed."""
    several = len({status.host for status in found.run.ranks}) > 1
    hosts = {status.rank: status.host for status in found.run.ranks}
    labels = {}
    for rank in found.ranks:
        mesh, host_rank = rank.get("mesh_id"), rank.get("mesh_host_rank")
        if mesh is None or host_rank is None:
            continue
        host = f" on {hosts.get(rank['rank'])}" if several and hosts.get(rank["rank"]) else ""
        failed = "✗ " if rank["rank"] == found.culprit else ""
        labels[mesh, host_rank] = f"{failed}rank {rank['rank']}{host}"
    return labels


def _bytes(found: Sources) -> Traffic | None:
    ledger = found.ledger.content
    if not isinstance(ledger, dict):
        return None
    inside = _summed(ledger.get("links") or [], "bytes")
    mesh_of = {rank["rank"]: rank.get("mesh_id", 0) for rank in found.ranks}
    between: dict[tuple[int, int], float] = {}
    for each in ledger.get("between") or []:
        pair = sorted((mesh_of.get(each["from"], -1), mesh_of.get(each["to"], -1)))
        if pair[0] != pair[1]:
            between[pair[0], pair[1]] = between.get((pair[0], pair[1]), 0) + number(each["bytes"])
    return Traffic(inside, between)


def _predicted(found: Sources) -> Traffic | None:
    prediction = found.prediction.content
    if not isinstance(prediction, dict):
        return None
    inside = _summed(prediction.get("links") or [], "us")
    most = max(inside.values(), default=0)
    factor, unit = (1e-6, "s") if most >= 1e6 else (1e-3, "ms") if most >= 1e3 else (1.0, "µs")
    return Traffic({link: amount * factor for link, amount in inside.items()}, unit=unit)


def _summed(links: list[dict[str, Any]], what: str) -> dict[tuple[int, int, int], float]:
    """Both directions together."""
    found: dict[tuple[int, int, int], float] = {}
    for link in links:
        low, high = sorted((link["from"], link["to"]))
        key = (link["mesh"], low, high)
        found[key] = found.get(key, 0) + number(link.get(what))
    return found


def collectives(found: Sources, clean: Cleaner) -> list[dict[str, Any]]:
    """One entry for each name, axis and number of devices, with its call sites, the most bytes first."""
    ledger = found.ledger.content if isinstance(found.ledger.content, dict) else {}
    entries = sorted(ledger.get("collectives") or [], key=lambda each: -number(each.get("link_bytes")))
    return [
        {
            "name": clean(each["name"]),
            "axis": each["axis"],
            "devices": each["devices"],
            "calls": each["calls"],
            "bytes": number(each["bytes"]),
            "link_bytes": number(each["link_bytes"]),
            "messages": each["messages"],
            "sites": [(clean(short_site(site)), clean(site), count) for site, count in each["sites"].items()][
                :12
            ],
        }
        for each in entries[:MOST_COLLECTIVES]
    ]


def busiest(found: Sources) -> list[tuple[str, float, float, float | None]]:
    """Link, bytes, messages and predicted microseconds of the busiest links, each direction by itself."""
    ledger = found.ledger.content if isinstance(found.ledger.content, dict) else {}
    prediction = found.prediction.content if isinstance(found.prediction.content, dict) else {}
    predicted = {(e["mesh"], e["from"], e["to"]): number(e.get("us")) for e in prediction.get("links") or []}
    links = sorted(ledger.get("links") or [], key=lambda each: -number(each["bytes"]))
    if not links:
        return [
            (f"mesh {mesh}: {a} → {b}", number(0), number(0), us)
            for (mesh, a, b), us in sorted(predicted.items(), key=lambda each: -each[1])[:MOST_LINKS]
        ]
    return [
        (
            f"mesh {each['mesh']}: {each['from']} → {each['to']}",
            number(each["bytes"]),
            number(each["messages"]),
            predicted.get((each["mesh"], each["from"], each["to"])),
        )
        for each in links[:MOST_LINKS]
    ]


def prediction(found: Sources, clean: Cleaner) -> dict[str, Any] | None:
    """The predicted time: whole, by region and class, and what would gain most."""
    told = found.prediction.content
    if not isinstance(told, dict):
        return None
    rows = []
    for region in told.get("regions") or []:
        for name, share in (region.get("classes") or {}).items():
            calls, passes = number(share.get("calls")), number(region.get("passes")) or 1
            rows.append(
                (
                    clean(region["name"]),
                    clean(name),
                    calls,
                    number(share.get("us")),
                    passes,
                    share.get("bound", ""),
                )
            )
    whole = number(told.get("total_us"))
    changes = [
        (clean(each["text"]), number(each["saved_us"]) / whole if whole else 0.0)
        for each in told.get("changes") or []
    ]
    path = told.get("critical_path") or {}
    return {
        "system": clean(f"{told.get('architecture')} {told.get('system')}"),
        "total_us": whole,
        "makespan_us": number(path.get("makespan_us")),
        "rows": sorted(rows, key=lambda row: -row[3] * row[4]),
        "changes": changes,
    }
