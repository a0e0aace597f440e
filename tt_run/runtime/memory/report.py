"""The account as a report: peaks, lines, what is given back late, and a plot over time, for the terminal and as SVG."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from textwrap import wrap
from typing import Any

from tt_run.runtime.memory.account import KINDS, Devices, MemoryAccount, MemoryInUse

_SITES = 8
_POINTS = 240
_COLUMNS, _ROWS = 64, 8
COLUMNS = 80 - len("[0] ")  # where nobody says how many
_BLOCKS = " ▁▂▃▄▅▆▇█"


def summary(account: MemoryAccount) -> dict[str, Any]:
    """The account of a rank as JSON: for each set of devices that hold the same, and each memory that was used."""
    sets = []
    for devices, held in account.held.items():
        for kind in KINDS:
            if held[kind].peak or held[kind].buffers is not None:
                sets.append(_set(account, devices, kind, held[kind]))
    return {"moments": account.moment, "sets": sets}


def _set(account: MemoryAccount, devices: Devices, kind: str, held: MemoryInUse) -> dict[str, Any]:
    bank = account.bank(kind)
    at_peak = account.at(held.moment, devices, kind)
    sites: Counter[str] = Counter()
    for allocation in at_peak:
        sites[allocation.site] += allocation.size.total
    counts = Counter(allocation.site for allocation in at_peak)
    return {
        "devices": sorted(devices),
        "memory": kind,
        "peak": held.peak,
        "at_end": held.now,
        "size": bank.size * bank.count,
        "bank_peak": held.bank_peak,
        "bank_size": bank.size,
        "bank_reach": held.reach,
        "largest_free": held.space.largest(bank.size),
        "fits": held.reach <= bank.size and _room(held, bank.size) >= 0,
        **({"circular_buffers": asdict(held.buffers)} if held.buffers is not None else {}),
        "peak_moment": held.moment,
        "sites": [
            {"site": site, "bytes": size, "tensors": counts[site]} for site, size in sites.most_common(_SITES)
        ],
        "late": [
            {"site": site, "bytes": size, "tensors": count}
            for site, (size, count) in list(account.late(devices, kind, held).items())[:_SITES]
        ],
        "curve": _thinned(held.curve, account.moment),
    }


def _room(held: MemoryInUse, size: int) -> int:
    """What the most demanding operation left of a bank between tensors and its circular buffers."""
    return size if held.buffers is None else size - held.buffers.size - held.buffers.tensors


def _thinned(curve: list[tuple[int, int]], moments: int) -> list[tuple[int, int]]:
    """The largest of each stretch of time, so that no peak is lost."""
    step = max(moments // _POINTS, 1)
    most: dict[int, int] = {}
    last = 0
    position = 0
    for stretch in range(0, moments + 1, step):
        highest = last
        while position < len(curve) and curve[position][0] < stretch + step:
            last = curve[position][1]
            highest = max(highest, last)
            position += 1
        most[stretch] = highest
    return list(most.items())


def text(parts: list[dict[str, Any]], columns: int = COLUMNS) -> str:
    """The report of all ranks in lines of so many columns."""
    lines: list[str] = []
    for part in parts:
        for found in part["sets"]:
            lines += [*_lines(part["rank"], found, columns), ""]
    return "\n".join(lines).rstrip() if lines else "memory: no tensor was on a device"


def _lines(rank: int, found: dict[str, Any], columns: int) -> list[str]:
    devices = found["devices"]
    many = (
        f"{len(devices)} devices ({devices[0]}..{devices[-1]})"
        if len(devices) > 1
        else f"device {devices[0]}"
    )
    share = found["bank_peak"] / found["bank_size"]
    verdict = "" if found["fits"] else "   does not fit"
    told = [
        f"memory of rank {rank}, {many}: {found['memory']} peak {size(found['peak'])} of {size(found['size'])} "
        f"({share:.0%} of the fullest bank){verdict}, {size(found['at_end'])} at the end",
        *_holes(found),
        *_buffers(found),
    ]
    lines = [part for line in told for part in wrap(line, columns, subsequent_indent="    ")]
    lines += _plot(found["curve"], min(_COLUMNS, columns - 2))
    for word, title in (("sites", "at the peak, by line"), ("late", "unused at the peak, given back later")):
        if found[word]:
            lines.append(f"  {title}:")
        lines += [
            f"    {size(each['bytes']):>10}  {each['tensors']:>5} tensor{'s' if each['tensors'] != 1 else ' '}  {_short(each['site'])}"
            for each in found[word]
        ]
    return lines


def _holes(found: dict[str, Any]) -> list[str]:
    """A line on holes, where buffers reached more than a hundredth further than all of them together need."""
    wasted = found["bank_reach"] - found["bank_peak"]
    if wasted * 100 <= found["bank_peak"]:
        return []
    return [
        f"  holes: buffers of a bank reached to {size(found['bank_reach'])}, {size(wasted)} more than they took; "
        f"largest free piece at the end {size(found['largest_free'])}"
    ]


def _buffers(found: dict[str, Any]) -> list[str]:
    """A line on the operation whose circular buffers left least room."""
    most = found.get("circular_buffers")
    if most is None:
        return []
    return [
        f"  circular buffers: at least {size(most['size'])} of each core beside {size(most['tensors'])} of tensors, "
        f"{size(found['bank_size'])} in all, at {_short(most['site'])}"
    ]


def _plot(curve: list[tuple[int, int]], widest: int) -> list[str]:
    values = [value for _, value in curve]
    if len(values) < 2 or not max(values):
        return []
    columns = min(widest, len(values))
    cut = [values[i * len(values) // columns : (i + 1) * len(values) // columns] for i in range(columns)]
    heights = [max(each) / max(values) * _ROWS for each in cut]
    rows = []
    for row in range(_ROWS - 1, -1, -1):
        rows.append("  " + "".join(_BLOCKS[round(min(max(h - row, 0), 1) * 8)] for h in heights).rstrip())
    return rows


def svg(parts: list[dict[str, Any]]) -> str:
    """The curves as one picture: a chart for each rank, set of devices and memory."""
    charts = [(part["rank"], found, part["moments"]) for part in parts for found in part["sets"]]
    width, height, top = 720, 160, 28
    total = max(len(charts), 1) * (height + top + 12)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{total}" font-family="sans-serif" font-size="12">'
    ]
    for number, (rank, found, moments) in enumerate(charts):
        y = number * (height + top + 12) + top
        peak = max(found["peak"], 1)
        points = " ".join(
            f"{moment / max(moments, 1) * width:.1f},{y + height - value / peak * height:.1f}"
            for moment, value in found["curve"]
        )
        title = (
            f"rank {rank}, {len(found['devices'])} devices: {found['memory']} peak {size(found['peak'])} "
            f"of {size(found['size'])}"
        )
        out.append(f'<text x="4" y="{y - 8}">{title}</text>')
        out.append(f'<polygon points="0,{y + height} {points} {width},{y + height}" fill="#7aa6d6"/>')
    return "\n".join([*out, "</svg>"]) + "\n"


def size(number: float) -> str:
    """Bytes for people: `1.25 GiB`."""
    for unit in ("B", "KiB", "MiB"):
        if abs(number) < 1024:
            return f"{number:.0f} B" if unit == "B" else f"{number:.2f} {unit}"
        number /= 1024
    return f"{number:.2f} GiB"


def _short(site: str) -> str:
    path, _, line = site.rpartition(":")
    return f"{Path(path).name}:{line}" if path else site
