"""Group 3, first part: device and host grids, express connections (reference library 0.81.1)."""

from __future__ import annotations

from mgd.checks.report import Report
from mgd.checks.structure import MOST_DIMENSIONS
from mgd.descriptor import Architecture, MeshDescriptor, SwitchDescriptor
from mgd.expanding.resolution import device_count, dims_of
from mgd.names import type_name
from mgd.text.problems import quoted

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any


def check_grids(report: Report) -> None:
    """Rules MGD009 to MGD013 and MGD026."""
    for template in report.descriptor.templates():
        dims = dims_of(template)
        positive = _extents(report, template, dims)
        _types(report, template, dims)
        if isinstance(template, SwitchDescriptor):
            _switch_dimensions(report, template, dims)
        elif positive:
            _hosts(report, template, dims)
        if positive:
            _express(report, template, device_count(template))


def shape(dims: tuple[int, ...]) -> str:
    return "x".join(map(str, dims)) or "none"


def _extents(report: Report, template: MeshDescriptor | SwitchDescriptor, dims: tuple[int, ...]) -> bool:
    for index, extent in enumerate(dims):
        if extent <= 0:
            report.add(
                "MGD009", f"{quoted(template.name)} has a dimension of {extent} devices",
                report.at(template.device_topology, "dims", index), help="write 1 or more",
            )  # fmt: skip
    return all(extent > 0 for extent in dims)


def _types(report: Report, template: MeshDescriptor | SwitchDescriptor, dims: tuple[int, ...]) -> None:
    types = template.device_topology.dim_types if template.device_topology else ()
    if len(types) > len(dims):
        report.add(
            "MGD010", f"{quoted(template.name)} has {len(types)} dim_types for {len(dims)} dims",
            report.at(template.device_topology, "dim_types", len(dims)), help="write one type per dimension, or none for LINE",
        )  # fmt: skip


def _switch_dimensions(report: Report, template: SwitchDescriptor, dims: tuple[int, ...]) -> None:
    most = (
        MOST_DIMENSIONS.get(Architecture(template.arch)) if template.arch in list(Architecture)[1:] else None
    )
    if most and len(dims) > most:
        report.flag(template)
        report.add(
            "MGD008", f"{quoted(template.name)} has {len(dims)} dimensions; {type_name(Architecture, template.arch)} has at most {most}",
            report.at(template.device_topology, "dims", most), help="write two dims",
        )  # fmt: skip


def _hosts(report: Report, template: MeshDescriptor, dims: tuple[int, ...]) -> None:
    hosts = template.host_topology.dims if template.host_topology else ()
    if len(hosts) != len(dims):
        report.flag(template)
        place: Any = template.host_topology or template
        wanted = ", ".join(["1"] * len(dims))
        report.add(
            "MGD011", f"{quoted(template.name)} has {len(dims)} device dims and {len(hosts)} host dims",
            report.at(place, "dims" if template.host_topology else "", len(dims)),
            help=f"write host_topology {{ dims: [ {wanted} ] }} for one host"
            if dims
            else f"add device_topology {{ dims: [ {', '.join(str(max(1, count)) for count in hosts)} ] }}, or more devices",
        )  # fmt: skip
        return
    for index, (devices, count) in enumerate(zip(dims, hosts, strict=True)):
        if count > 0 and devices % count == 0:
            continue
        label = report.at(template.host_topology, "dims", index)
        also = report.at(template.device_topology, "dims", index, f"{devices} devices")
        name = quoted(template.name)
        if count < 0 and devices % count == 0:
            report.add(
                "MGD026",
                f"{name} has {count} hosts along dimension {index}",
                label,
                also,
                help="write 1 or more",
            )
        else:
            parts = ", ".join(str(n) for n in range(1, min(devices, 64) + 1) if devices % n == 0)
            told = f"{name}: {devices} devices cannot be cut among {count} hosts along dimension {index}"
            report.add("MGD012", told, label, also, help=f"write one of {parts}")


def _express(report: Report, template: MeshDescriptor | SwitchDescriptor, devices: int) -> None:
    for entry in template.express_connections:
        for end in ("src", "dst"):
            device = getattr(entry, end)
            if not 0 <= device < devices:
                report.add(
                    "MGD013", f"express connection of {quoted(template.name)}: {end} {device} is not one of its {devices} devices",
                    report.at(entry, end), help=f"write a device from 0 to {devices - 1}",
                )  # fmt: skip
