"""Ranks for a descriptor (`-m`) or several (`-M`): on named hosts, on described machines, or emulated on this one (reference launcher 0.81.1). No generator and no hardware is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from mgd import documents
from mgd.authoring.draft import Wishes, drafted
from mgd.diagnostics import Diagnostic, Position
from mgd.expanding.connections import InterLink
from mgd.graph import Mesh, MeshGraph, PinGroup
from mgd.lean import replace
from tt_run.contract import CLUSTER_TYPE, DEVICE_IDS, VISIBLE_DEVICES
from tt_run.errors import RefusedError, UsageError
from tt_run.inputs.bindings import Binding, RankBindings, shifted
from tt_run.inputs.clusters.chips import ClusterDescriptor
from tt_run.inputs.clusters.descriptor import read_cluster
from tt_run.inputs.clusters.mock import MockCluster
from tt_run.inputs.document import read_document
from tt_run.inputs.findings import Findings
from tt_run.inputs.hosts.lists import parse_hosts
from tt_run.inputs.hosts.pinnings import RankPin, read_rank_pinnings
from tt_run.inputs.hosts.rankfiles import parse_rankfile
from tt_run.inputs.paths import PathSearch
from tt_run.inputs.settings import Setting
from tt_run.plan.allocation import files
from tt_run.plan.allocation.ranks import (
    AllocatedRank,
    Allocation,
    allocate_on_hosts,
    allocate_on_machines,
    blocks_of,
)
from tt_run.plan.cache_folder import kept_path
from tt_run.plan.derived_ranks import Derived, bindings_of
from tt_run.plan.descriptors import read_descriptor, read_text_descriptor
from tt_run.plan.model import GeneratedFile
from tt_run.plan.rank_pins import other_orders, resolve_pins, with_pinned_environment
from tt_run.plan.request import LaunchRequest

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from tt_run.plan.placement.solve import Placed

_KEY = "subcontext_id_to_mesh_graph_descriptor"


def allocate(
    request: LaunchRequest, mock: MockCluster | None, search: PathSearch, findings: Findings
) -> Derived | None:
    """One rank for each host block of the request's descriptors; None with findings when one of them is broken.

    Raises RefusedError when the blocks do not fit on the hosts or machines.
    """
    paths = descriptors_of(request, search, findings)
    graphs = [read_descriptor(path, search.site, findings, request.check) for path in paths]
    read = [graph for graph in graphs if graph is not None]
    if not read or len(read) < len(paths):
        findings.errors_are_final()  # without a graph there are no ranks
        return None
    merged = bindings_of(read[0], paths[0]) if len(read) == 1 else _merged(read, paths)
    by_path = dict(zip(paths, read, strict=True))
    if mock is not None:
        return _on_machines(request, merged, list(zip(paths, read, strict=True)), mock, search, findings)
    if request.hosts:
        hosts = parse_hosts(request.hosts).hosts
        pins = _pins(request, merged, read, [host.name for host in hosts], search, findings)
        if findings.broken:
            return None
        merged = with_pinned_environment(merged, pins)
        made = allocate_on_hosts(_joined(read), hosts, pinned=pins)
        findings.judged.extend(made.findings if not request.emulate else ())
        written = (
            ()
            if request.emulate
            else _files(made, list(zip(paths, read, strict=True)), request, search, None)
        )
        rankfile = None
        if pins:
            named = request.rank_pinning_file or ""
            rankfile = parse_rankfile(files.rankfile(made), named, findings, search.site.cwd / named)
        return Derived(merged, by_path, written, _why(made), rankfile=rankfile)
    return Derived(merged, by_path)


def discover(
    request: LaunchRequest, mock: MockCluster, search: PathSearch, findings: Findings
) -> Derived | None:
    """One rank for a mock cluster of one machine that no descriptor comes with: the mesh that one process makes of all its chips.

    Raises UsageError when the mock cluster has several machines, RefusedError when the mesh does not fit.
    """
    from tt_run.plan.placement.explain import out_of_time
    from tt_run.plan.placement.physical import build
    from tt_run.plan.placement.search import Clock, OutOfTime
    from tt_run.plan.placement.solve import PLACEMENT_SECONDS
    from tt_run.plan.placement.unnamed import discovered_mesh

    if len(mock.descriptors) > 1:
        raise UsageError(
            Diagnostic(
                "TTR002",
                f"nothing says how the {len(mock.descriptors)} ranks of {mock.file} form meshes",
                help="add -m FILE, or --rank-binding FILE",
            )
        )
    seconds = request.placement_timeout or PLACEMENT_SECONDS
    machine = build([read_cluster(path) for path in mock.descriptors.values()])
    try:
        mesh = discovered_mesh(machine, Clock(seconds))
    except OutOfTime:
        raise RefusedError(out_of_time(seconds, mock.file)) from None
    wishes = Wishes(
        arch=mesh.arch,
        shapes=(mesh.dims,),
        channels=mesh.channels,
        policy=mesh.policy,
        title=f"What one process makes of {Path(mock.file).name}: {mesh.dims[0]}x{mesh.dims[1]}.",
    )
    text = drafted(wishes).text()
    path = kept_path(f"discovered_{mesh.dims[0]}x{mesh.dims[1]}", text, search.site)
    graph = read_text_descriptor(text, search.site.shown(path), findings, request.check)
    if graph is None:
        return None
    made = _on_machines(request, bindings_of(graph, path), [(path, graph)], mock, search, findings)
    return made and replace(made, files=(GeneratedFile(path, text),))


def descriptors_of(request: LaunchRequest, search: PathSearch, findings: Findings) -> list[Path]:
    """The descriptor of each sub-context; a single one for `-m`."""
    if request.mesh_graph_descriptor is not None:
        found = search.find(request.mesh_graph_descriptor, "mesh graph descriptor")
        return [found] if found else []
    named = search.find(request.mesh_graph_descriptor_mapping or "", "mesh graph descriptor mapping")
    document = read_document(named, search.site, findings) if named else None
    if document is None:
        return []
    field = document.mapping(document.root, "the mesh graph descriptor mapping", (_KEY,)).get(_KEY)
    if field is None:
        document.set_aside_unknown(document.root)
        document.fatal(
            "TTR105",
            f"the mapping must contain {_KEY!r}",
            document.root,
            "the key is required",
            help=f"add {_KEY}: {{0: FILE.textproto}}",
        )
        return []
    paths: dict[int, Path] = {}
    if isinstance(field.value, documents.Mapping) and not field.value.pairs:
        document.fatal(
            "TTR109",
            f"{_KEY} must not be empty",
            field.value,
            "at least one descriptor is needed",
            help=f"write {_KEY}: {{0: FILE.textproto}}",
        )
    for item in document.mapping(field.value, _KEY).values():
        number = document.integer(item.key, f"a key of {_KEY}")
        text = document.text(item.value, f"{_KEY}[{item.key.text}]")
        if number is not None and text is not None:
            found = search.find(
                text, "mesh graph descriptor", document.at(item.value), first=document.path.parent
            )
            if found is not None:
                paths[number] = found
    if sorted(paths) != list(range(len(paths))):
        have = ", ".join(map(str, sorted(paths)))
        document.fatal(
            "TTR112",
            f"{_KEY}: keys must be dense, 0..{len(paths) - 1}, not {have}",
            field.value,
            help="number the sub-contexts 0, 1, 2, …",
        )
    return [] if findings.broken else [path for _, path in sorted(paths.items())]


def _merged(graphs: Sequence[MeshGraph], paths: Sequence[Path]) -> RankBindings:
    """The ranks of several descriptors one after the other, each its own sub-context."""
    bindings: list[Binding] = []
    sizes: list[int] = []
    for index, (graph, path) in enumerate(zip(graphs, paths, strict=True)):
        own = bindings_of(graph, path).bindings
        offset = len(bindings)
        sizes.append(len(own))
        bindings.extend(
            shifted(each, offset, subcontext_id=index, subcontext_size=len(own), descriptor=path)
            for each in own
        )
    return RankBindings(str(paths[0]), tuple(bindings), paths[0], subcontext_sizes=tuple(sizes))


def _on_machines(
    request: LaunchRequest,
    bindings: RankBindings,
    named: Sequence[tuple[Path, MeshGraph]],
    mock: MockCluster,
    search: PathSearch,
    findings: Findings,
) -> Derived | None:
    """The ranks where the solver places their meshes on the chips of the mock cluster, with the devices each one sees."""
    from tt_run.plan.placement.physical import build, distinct_names
    from tt_run.plan.placement.solve import PLACEMENT_SECONDS, place, shortfall_findings

    paths = list(dict.fromkeys(mock.descriptors[rank] for rank in sorted(mock.descriptors)))
    clusters = [read_cluster(path) for path in paths]
    machines = build(clusters)
    findings.judged.extend(machines.findings)
    graph = _joined([graph for _, graph in named])
    pins = _pins(request, bindings, [graph for _, graph in named], machines.hosts, search, findings)
    if findings.broken:
        return None
    blocks = blocks_of(graph)
    file = search.site.shown(Path(graph.file)) if graph.file else ""

    def placed_by(pins: Mapping[int, RankPin]) -> Placed:
        seconds = request.placement_timeout or PLACEMENT_SECONDS
        hosts = {blocks[rank][0]: pin.host for rank, pin in pins.items()}
        return place(graph, machines, seconds=seconds, file=file, hosts=hosts)

    try:
        placed = placed_by(pins)
    except RefusedError:
        found = None
        for order in other_orders(pins, machines.hosts):
            with suppress(RefusedError):
                found, pins = placed_by(order), order
                break
        if found is None:
            raise  # about the order that is written
        placed = found
    findings.judged.extend(shortfall_findings(placed, graph.file))
    described = dict(zip(distinct_names(clusters), map(str, paths), strict=True))
    made = allocate_on_machines(placed, described, local_host=search.site.hostname, pinned=pins)
    by_path = dict(zip(map(str, paths), clusters, strict=True))
    ranks = tuple(
        replace(binding, env={**_seen(rank, by_path, request), **binding.env})
        for binding, rank in zip(with_pinned_environment(bindings, pins).bindings, made.ranks, strict=True)
    )
    mocked = {rank.rank: rank.cluster_descriptor for rank in made.ranks if rank.cluster_descriptor}
    is_named = (request.mesh_graph_descriptor or request.mesh_graph_descriptor_mapping) is not None
    written = _files(made, named, request, search, mock) if is_named and not request.emulate else ()
    merged = replace(bindings, bindings=ranks, mock=mocked)
    return Derived(merged, dict(named), written, _why(made), placed)


def _pins(
    request: LaunchRequest,
    bindings: RankBindings,
    graphs: Sequence[MeshGraph],
    hosts: Sequence[str],
    search: PathSearch,
    findings: Findings,
) -> dict[int, RankPin]:
    """The rank pins of the request by rank; findings for those that cannot be kept."""
    if request.rank_pinning_file is None:
        return {}
    path = search.find(request.rank_pinning_file, "rank pinning file")
    pins = read_rank_pinnings(path, search.site, findings, hosts) if path else ()
    return resolve_pins(pins, bindings, graphs, hosts, findings)


def _why(made: Allocation) -> dict[int, str]:
    return {rank.rank: rank.why for rank in made.ranks}


def _seen(
    rank: AllocatedRank, clusters: Mapping[str, ClusterDescriptor], request: LaunchRequest
) -> dict[str, Setting]:
    """What tells a rank its devices: those that it may open, and under emulation how it would number them."""
    if not rank.visible_devices:
        return {}
    found = {VISIBLE_DEVICES: rank.visible_devices}
    cluster = clusters.get(rank.cluster_descriptor or "")
    if request.emulate and cluster is not None:
        numbers = cluster.local_ids({int(device) for device in rank.visible_devices.split(",")})
        found[DEVICE_IDS] = ",".join(str(numbers[chip]) for chip in rank.chips)
        if len(rank.chips) == len(cluster.chips):  # a part of it is another machine to who sees no more
            found[CLUSTER_TYPE] = cluster.cluster_type
    return {
        name: Setting(value, "placement on the mock cluster", Position("")) for name, value in found.items()
    }


def _joined(graphs: Sequence[MeshGraph]) -> MeshGraph:
    """All meshes of several graphs in one, mesh ids renumbered in order, so that they are placed together."""
    if len(graphs) == 1:
        return graphs[0]
    meshes: list[Mesh] = []
    links: list[InterLink] = []
    pins: list[PinGroup] = []
    for graph in graphs:
        number = {mesh_id: len(meshes) + i for i, mesh_id in enumerate(sorted(graph.mesh_ids))}
        ordered = sorted(graph.meshes, key=lambda mesh: mesh.mesh_id)
        meshes.extend(replace(mesh, mesh_id=number[mesh.mesh_id]) for mesh in ordered)
        links.extend(replace(link, a=number[link.a], b=number[link.b]) for link in graph.links)
        pins.extend(replace(pin, mesh_id=number[pin.mesh_id]) for pin in graph.pins if pin.mesh_id in number)
    return MeshGraph(tuple(meshes), tuple(links), tuple(pins), graphs[0].file)


def _files(
    made: Allocation,
    named: Sequence[tuple[Path, MeshGraph]],
    request: LaunchRequest,
    search: PathSearch,
    mock: MockCluster | None,
) -> tuple[GeneratedFile, ...]:
    """The files of the allocation in the folder where the reference keeps its own, named by the inputs' fingerprint."""
    asked, key = named_inputs([path for path, _ in named], request, search, mock)
    folder = files.folder(search.site.cwd, key)
    parts = files.parts_of(made, [(str(path), graph) for path, graph in named])
    texts = {
        **files.files(made, parts, mock=mock is not None),
        f"mgd{asked.suffix}": asked.read_bytes().decode("utf-8", "replace"),
        files.KEY_FILE: key + "\n",
    }
    return tuple(GeneratedFile(folder / name, text) for name, text in texts.items())


def named_inputs(
    paths: Sequence[Path], request: LaunchRequest, search: PathSearch, mock: MockCluster | None
) -> tuple[Path, str]:
    """The file that the request names (the descriptor, or the mapping of several), and the fingerprint of all inputs."""
    contents = [path.read_bytes() for path in paths]
    asked, described = paths[0], contents[0]
    if request.mesh_graph_descriptor_mapping is not None:
        mapping = request.mesh_graph_descriptor_mapping
        asked = search.find(mapping, "mesh graph descriptor mapping") or Path(mapping)
        described = files.joined_descriptors(asked.read_bytes(), contents)
    machines = {rank: path.read_bytes() for rank, path in mock.descriptors.items()} if mock else None
    hosts = [host.name for host in parse_hosts(request.hosts).hosts] if request.hosts else []
    factory = None
    if request.factory_system_descriptor is not None:
        found = search.find(request.factory_system_descriptor, "factory system descriptor")
        factory = found.read_bytes() if found else None
    pins = None
    if request.rank_pinning_file is not None:
        pinning = search.find(request.rank_pinning_file, "rank pinning file")
        pins = pinning.read_bytes() if pinning else None
    return asked, files.fingerprint(described, hosts, machines, factory, pins)
