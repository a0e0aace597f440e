"""All rules over one descriptor, in the order in which one can spoil another."""

from __future__ import annotations

from mgd.checks.advice import advise, advise_expanded
from mgd.checks.graphs import check_graphs, check_pins
from mgd.checks.grids import check_grids
from mgd.checks.limits import check_pin_work, check_templates, check_totals, totals
from mgd.checks.meshes import check_ids, check_meshes
from mgd.checks.references import check_references
from mgd.checks.report import Report
from mgd.checks.runtime import check_runtime
from mgd.checks.slips import without_consequences
from mgd.checks.structure import check_structure
from mgd.descriptor import Descriptor
from mgd.diagnostics import Diagnostic
from mgd.expanding.resolution import Templates, device_count

PROFILES = ("full", "runtime")


def check(descriptor: Descriptor, profile: str = "full") -> list[Diagnostic]:
    """Every violation of a descriptor, errors and warnings, by position; without an error it is accepted.

    `profile` "full" gives the verdict of the format and of the mesh graph; what only the runtime refuses is a warning. "runtime" makes
    that an error (reference library 0.81.1). The reference stops at the first group of rules that fails; here the groups go on
    as long as what they say does not follow from an earlier finding.
    Raises ValueError for an unknown profile.
    """
    if profile not in PROFILES:
        raise ValueError(f"profile is one of {', '.join(PROFILES)}, not {profile!r}")
    found = _check(descriptor, profile)
    return without_consequences(descriptor, found, lambda corrected: _check(corrected, profile))


def _check(descriptor: Descriptor, profile: str) -> list[Diagnostic]:
    report = Report(descriptor, profile)
    report.findings.extend(descriptor.notices)
    check_structure(report)
    check_grids(report)
    check_graphs(report)
    check_pins(report)
    _check_instances(report)
    check_runtime(report)
    advise(report)
    return sorted(report.findings, key=_by_position)


def _check_instances(report: Report) -> None:
    """The rules on what is instantiated; those on the whole only when its parts are right."""
    descriptor, templates = report.descriptor, Templates(report.descriptor)
    fine = check_templates(report)
    reached = check_references(report, templates)
    check_meshes(report, reached)
    top = descriptor.top_level_instance
    if not fine or not reached.is_sound or top is None:
        return
    found = totals(templates, top, reached)
    fine = check_totals(report, found)
    check_ids(report, top, reached, found.grids)
    if report.has_errors or not fine:
        return
    largest = max((device_count(grid) for grid in reached.grids), default=0)
    if check_pin_work(report, found.meshes, largest):
        advise_expanded(report, templates, reached)


def _by_position(found: Diagnostic) -> tuple[int, int, str]:
    place = found.position
    return (place.line, place.column, found.code) if place else (0, 0, found.code)
