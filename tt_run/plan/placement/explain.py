"""Why a mesh does not fit, from the cheap reasons to the dear ones (reference library 0.81.1).

Each relaxation answers one question: would it fit if this constraint were dropped? What is reported is what, dropped alone, makes
it fit; "not found in time" is a different answer from "does not fit".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from mgd.diagnostics import Diagnostic, Label, Position, Severity
from mgd.expanding.connections import InterLink
from mgd.lean import replace
from tt_run.inputs.findings import counted, list_numbers
from tt_run.plan.placement.assign import assign
from tt_run.plan.placement.demand import MeshDemand, corner_pins, mesh_demand
from tt_run.plan.placement.physical import PhysicalGraph
from tt_run.plan.placement.search import Clock, OutOfTime, best_embedding

Links = dict[tuple[int, int], list[InterLink]]


def _finding(
    code: str, message: str, file: str, help: str = "", *notes: str, position: Position | None = None
) -> Diagnostic:
    where = position or (Position(file) if file else None)
    return Diagnostic(code, message, (Label(where),) if where else (), help, notes=notes)


def out_of_time(seconds: float, file: str) -> Diagnostic:
    """Nothing was found, and nothing was proven."""
    return _finding(
        "TTR179",
        f"no placement found in {seconds:g} s; it is not proven that there is none",
        file,
        "give more time with --placement-timeout SECONDS, or fewer meshes",
    )


def out_of_patience(file: str) -> Diagnostic:
    """The same, though there was time left."""
    return _finding(
        "TTR179",
        "no placement found; there are too many possible places to try them all, so it is not proven that there is none",
        file,
        "pin a device of each mesh, or describe fewer hosts",
    )


def sizes(wanted: Sequence[MeshDemand], physical: PhysicalGraph, file: str) -> list[Diagnostic]:
    """Reason 1: devices wanted against chips present, per architecture and per host block."""
    found: list[Diagnostic] = []
    chips = Counter(node.chip.arch for node in physical.nodes)
    devices: Counter[str] = Counter()
    asking: dict[str, Position | None] = {}
    for demand in wanted:
        devices[demand.mesh.arch] += demand.size
        asking.setdefault(demand.mesh.arch, demand.mesh.position)
    for arch, count in sorted(devices.items()):
        if count > chips[arch]:
            present = ", ".join(f"{n} {a}" for a, n in sorted(chips.items())) or "none"
            found.append(
                _finding(
                    "TTR170",
                    f"the descriptor wants {count} {arch} devices, the machine has {present} chips",
                    file,
                    f"use a descriptor of at most {chips[arch]} devices, or more hosts"
                    if chips[arch]
                    else f"describe a machine with {arch} chips, or use a descriptor for this one",
                    position=asking[arch],
                )
            )
    largest = max((len(physical.chips_of(h)) for h in range(len(physical.hosts))), default=0)
    for demand in wanted:
        block = demand.size // demand.mesh.host_count
        if block > largest:
            found.append(
                _finding(
                    "TTR171",
                    f"a host block of mesh {demand.mesh.mesh_id} has {block} devices, the largest host has {largest} chips",
                    file,
                    "cut the mesh over more hosts with a larger host_topology",
                    position=demand.mesh.host_position,
                )
            )
    return found


def shortfalls(meshes: Sequence[tuple[int, int, Sequence[object]]], file: str) -> list[Diagnostic]:
    """RELAXED links with fewer channels than asked, as warnings."""
    return [
        Diagnostic(
            "TTR178",
            f"mesh {mesh_id}: {counted(count, 'link')} {'runs' if count == 1 else 'run'} on fewer channels than the descriptor asks",
            (Label(Position(file)),) if file else (),
            "the mesh is RELAXED, so it is placed all the same; policy STRICT would refuse it",
            Severity.WARNING,
        )
        for mesh_id, count, _ in meshes
    ]


def why_not(
    wanted: Sequence[MeshDemand], links: Links, physical: PhysicalGraph, file: str, clock: Clock
) -> list[Diagnostic]:
    """Reasons 3 to 8: for each mesh that does not fit alone its reasons; if each fits alone, what stands between them."""
    found: list[Diagnostic] = []
    for demand in wanted:
        if _fits(demand, physical, clock.part(0.2)) is False:
            found.extend(_one_mesh(demand, physical, file, clock))
    if not found and len(wanted) > 1:
        found.extend(_between_meshes(wanted, links, physical, file, clock))
    return found or [
        _finding(
            "TTR177",
            "these constraints cannot hold together on this machine",
            file,
            "run with fewer meshes to narrow it down",
        )
    ]


def _fits(demand: MeshDemand, physical: PhysicalGraph, clock: Clock) -> bool | None:
    """True, False, or None when the clock ran out first."""
    try:
        return best_embedding(demand, physical, clock) is not None
    except OutOfTime:
        return None


def _one_mesh(demand: MeshDemand, physical: PhysicalGraph, file: str, clock: Clock) -> list[Diagnostic]:
    found = _degrees(demand, physical, file)
    for code, text, help, relaxed in _relaxations(demand, physical):
        if _fits(relaxed, physical, clock.part(0.1)):
            found.append(
                _finding(
                    code,
                    f"mesh {demand.mesh.mesh_id} would fit {text}",
                    file,
                    help,
                    position=demand.mesh.position,
                )
            )
    mesh = demand.mesh
    if mesh.wraps(0) and mesh.wraps(1) and all(reason.code != "TTR174" for reason in found):
        flat = _unwrapped(_unwrapped(demand, 0, physical), 1, physical)
        if _fits(flat, physical, clock.part(0.1)):
            message = f"mesh {mesh.mesh_id} would fit without its wraps on both dimensions"
            found.append(_finding("TTR174", message, file, "dim_types: [LINE, LINE]", position=mesh.position))
    return found or [_together(demand, physical, file, clock)]


def _together(demand: MeshDemand, physical: PhysicalGraph, file: str, clock: Clock) -> Diagnostic:
    """Reason 9: the fewest of a mesh's constraints that cannot hold together, where dropping any one of them is not enough."""
    mesh = demand.mesh
    rows, columns = mesh.dims
    constraints = _constraints(demand, physical)

    def fits(names: Sequence[str]) -> bool | None:
        relaxed = demand
        for name, drop in constraints.items():
            relaxed = relaxed if name in names else drop(relaxed)
        return _fits(relaxed, physical, clock.part(0.1))

    message = f"mesh {mesh.mesh_id} ({rows}x{columns}) has no place on the links of this machine"
    kept = list(constraints)
    if not fits(()):
        if kept and fits(()) is False:
            message += f", even without its {_and(kept)}"
        return _finding("TTR177", message, file, "try a smaller device_topology", position=mesh.position)
    for name in constraints:
        rest = [other for other in kept if other != name]
        if fits(rest) is False:
            kept = rest
    # What is kept stands in the way by itself, and since dropping one thing alone is not enough, so does something else.
    others = [name for name in constraints if name not in kept]
    said = f"its {_and(kept)} cannot hold together" if len(kept) > 1 else f"its {kept[0]} cannot hold"
    help = (
        f"drop two of them or more, {kept[0]} first"
        if len(kept) > 1
        else f"drop its {kept[0]}" + (f", and its {' or '.join(others)} as well" if others else "")
    )
    return _finding("TTR177", f"{message}: {said}", file, help, position=mesh.position)


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _constraints(
    demand: MeshDemand, physical: PhysicalGraph
) -> dict[str, Callable[[MeshDemand], MeshDemand]]:
    """What a mesh asks beyond its shape, and how to drop each."""
    mesh = demand.mesh
    found: dict[str, Callable[[MeshDemand], MeshDemand]] = {}
    if demand.strict:
        found["STRICT channels"] = lambda relaxed: replace(relaxed, strict=False)
    for dim in range(2):
        if mesh.wraps(dim):
            found[f"wrap on dimension {dim}"] = partial(_unwrapped, dim=dim, physical=physical)
    if demand.pins:
        found["pins"] = MeshDemand.without_pins
    if demand.host is not None:
        found["rank pin"] = lambda relaxed: replace(relaxed, host=None)
    if mesh.host_count > 1:
        found["host blocks"] = MeshDemand.without_hosts
    return found


def _unwrapped(demand: MeshDemand, dim: int, physical: PhysicalGraph) -> MeshDemand:
    """The demand with LINE in the place of one RING."""
    mesh = demand.mesh
    kinds = tuple("LINE" if d == dim else kind for d, kind in enumerate(mesh.dim_types))
    line = replace(mesh, dim_types=(kinds[0], kinds[1]))
    bare = mesh_demand(line, (), physical, processes=mesh.host_count)
    return replace(bare, pins=demand.pins, host_rank=demand.host_rank, strict=demand.strict, host=demand.host)


def _degrees(demand: MeshDemand, physical: PhysicalGraph, file: str) -> list[Diagnostic]:
    """Reason 3: chips with enough neighbours, without regard to how they are joined."""
    least = demand.channels if demand.strict else 1
    have = [sum(channels >= least for channels in row.values()) for row in physical.grid]
    for degree in sorted(set(demand.degree), reverse=True):
        need = sum(d >= degree for d in demand.degree)
        enough = sum(h >= degree for h in have)
        if enough < need:
            short = [str(node) for node, h in zip(physical.nodes, have, strict=True) if h < degree]
            shown = "; ".join(short[:6]) + (f"; and {len(short) - 6} more" if len(short) > 6 else "")
            per_link = f" of {least} channels or more" if least > 1 else ""
            return [
                _finding(
                    "TTR172",
                    f"mesh {demand.mesh.mesh_id} needs {need} chips with at least {degree} neighbours{per_link}, the machine has {enough}",
                    file,
                    "check cables, or use LINE instead of RING",
                    f"short: {shown}",
                    position=demand.mesh.position,
                )
            ]
    return []


def _relaxations(demand: MeshDemand, physical: PhysicalGraph) -> Iterator[tuple[str, str, str, MeshDemand]]:
    """(code, what is dropped, what to type, the weaker demand), in the order in which they are tried."""
    mesh = demand.mesh
    if demand.strict:
        yield (
            "TTR173",
            f"with fewer than {mesh.channels} channels on some links",
            "policy: RELAXED",
            replace(demand, strict=False),
        )
    for dim in range(2):
        if mesh.wraps(dim):
            relaxed = _unwrapped(demand, dim, physical)
            types = ", ".join(relaxed.mesh.dim_types)
            yield "TTR174", f"without its wrap on dimension {dim}", f"dim_types: [{types}]", relaxed
    if demand.host is not None:
        yield (
            "TTR175",
            f"on another host than {demand.host}",
            "change its rank pin",
            replace(demand, host=None),
        )
    if demand.pins:
        nowhere = [device for device, slots in demand.pins.items() if not slots]
        slots = f"; this machine has none of the slots of device {list_numbers(nowhere)}" if nowhere else ""
        if corner_pins(mesh, physical, mesh.host_count):
            slots += "; the corners of a whole-Galaxy mesh are always pinned, to location 1 of the trays"
        yield (
            "TTR175",
            f"without any pins{slots}",
            "drop the pinnings, or name other slots",
            demand.without_pins(),
        )
        for device in sorted(demand.pins):
            pins = {d: slots for d, slots in demand.pins.items() if d != device}
            yield (
                "TTR175",
                f"without the pin of device {device}",
                f"free device {device}",
                replace(demand, pins=pins),
            )
    if mesh.host_count == 1 and len(physical.hosts) > 1:
        yield "TTR176", "over several hosts", "cut it with a larger host_topology", demand.without_hosts()
    if mesh.host_count > 1:
        yield "TTR176", "if its host blocks were ignored", "change host_topology", demand.without_hosts()
        turned = (mesh.host_dims[1], mesh.host_dims[0])
        if turned != mesh.host_dims and mesh.dims[0] % turned[0] == 0 and mesh.dims[1] % turned[1] == 0:
            other = replace(mesh, host_dims=turned)
            ranks = tuple(other.host_rank_of(d // mesh.dims[1], d % mesh.dims[1]) for d in range(demand.size))
            help = f"host_topology {{ dims: [{turned[0]}, {turned[1]}] }}"
            yield (
                "TTR176",
                f"with host_topology {turned[0]}x{turned[1]}",
                help,
                replace(demand, host_rank=ranks),
            )


def _rank_pins(
    wanted: Sequence[MeshDemand], links: Links, physical: PhysicalGraph, file: str, clock: Clock
) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for pinned in (demand for demand in wanted if demand.host is not None):
        freed = [replace(demand, host=None) if demand is pinned else demand for demand in wanted]
        try:
            placed = assign(freed, links, physical, clock.part(0.1)).placed
        except OutOfTime:
            continue
        if placed is not None:
            found.append(
                _finding(
                    "TTR175",
                    f"the meshes would fit if mesh {pinned.mesh.mesh_id} were not pinned to {pinned.host}",
                    file,
                    "change its rank pin",
                    position=pinned.mesh.position,
                )
            )
    return found


def _between_meshes(
    wanted: Sequence[MeshDemand], links: Links, physical: PhysicalGraph, file: str, clock: Clock
) -> list[Diagnostic]:
    """Reasons 6 and 8: which rank pin, or which requested link between meshes, dropped alone makes all of them fit."""
    found = _rank_pins(wanted, links, physical, file, clock)
    for pair, requests in links.items():
        rest = {other: value for other, value in links.items() if other != pair}
        try:
            placed = assign(wanted, rest, physical, clock.part(0.2)).placed
        except OutOfTime:
            continue
        if placed is not None:
            count = sum(link.channels for link in requests)
            found.append(
                _finding(
                    "TTR177",
                    f"meshes {pair[0]} and {pair[1]} want {counted(count, 'channel')} between them and no placement gives them",
                    file,
                    _fewer(pair, wanted, links, physical, clock),
                    position=requests[0].position,
                )
            )
    if found or not links:
        return found
    try:
        alone = assign(wanted, {}, physical, clock.part(0.5))
    except OutOfTime:
        return found
    if alone.placed is None and not alone.proven:
        return found
    if alone.placed is None:
        message = f"the {len(wanted)} meshes do not fit beside each other, though each fits alone"
        return [_finding("TTR177", message, file, "use fewer or smaller meshes")]
    return [_conflict(wanted, links, physical, file, clock)]


def _fewer(
    pair: tuple[int, int], wanted: Sequence[MeshDemand], links: Links, physical: PhysicalGraph, clock: Clock
) -> str:
    """What to ask for between two meshes: the most channels of a single STRICT request that some placement gives."""
    (request, *others) = links[pair]
    for count in range(request.channels - 1, 0, -1) if not others and request.policy == "STRICT" else ():
        fewer = {**links, pair: [replace(request, channels=count)]}
        try:
            if assign(wanted, fewer, physical, clock.part(0.2)).placed is not None:
                return f"there are at most {count}: write channels {{ count: {count} }}, or policy: RELAXED"
        except OutOfTime:
            break
    return "link other meshes, or leave this link out"


def _conflict(
    wanted: Sequence[MeshDemand], links: Links, physical: PhysicalGraph, file: str, clock: Clock
) -> Diagnostic:
    """Reason 9: the fewest links between meshes that cannot hold together, found by leaving out what is not needed for that."""
    kept = dict(links)
    for pair in links:
        rest = {other: value for other, value in kept.items() if other != pair}
        try:
            result = assign(wanted, rest, physical, clock.part(0.2))
        except OutOfTime:
            continue
        if result.placed is None and result.proven:
            kept = rest
    shown = [f"{a}-{b}" for a, b in kept]
    links_shown = ", ".join(shown[:12]) + (f" and {len(shown) - 12} more" if len(shown) > 12 else "")
    return _finding(
        "TTR177",
        f"the {len(wanted)} meshes fit beside each other, but not with the links between them: {links_shown} cannot hold together",
        file,
        "leave out links of one of these meshes",
        position=next(iter(kept.values()))[0].position,
    )
