"""What the ranks are made from: rank bindings with their descriptors, read from files or derived from a system."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mgd.diagnostics import Label, Position
from mgd.graph import MeshGraph
from mgd.lean import dataclass, field, replace
from tt_run.contract import MOCK_CLUSTER_DESC_PATH
from tt_run.inputs.bindings import Binding, RankBindings, read_rank_bindings
from tt_run.inputs.file_kinds import is_of_another_kind
from tt_run.inputs.findings import Findings, list_numbers
from tt_run.inputs.paths import PathSearch
from tt_run.inputs.site import Site, is_file
from tt_run.plan.derived_ranks import Derived, lone_rank
from tt_run.plan.model import GeneratedFile
from tt_run.plan.request import CheckLevel, LaunchRequest

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from tt_run.inputs.clusters.mock import MockCluster
    from tt_run.inputs.hosts.rankfiles import Rankfile
    from tt_run.plan.placement.solve import Placed


@dataclass(frozen=True)
class RankSource:
    """The bindings, the mesh graph of each descriptor that could be read, and the files that go with them."""

    bindings: RankBindings
    graphs: Mapping[Path, MeshGraph] = field(default_factory=dict)
    factory_descriptor: str | None = None
    generated_files: tuple[GeneratedFile, ...] = ()
    why: Mapping[int, str] = field(default_factory=dict)
    placed: Placed | None = None
    rankfile: Rankfile | None = None  # one that nobody wrote: it keeps rank pins

    def graph_of(self, binding: Binding) -> MeshGraph | None:
        """The mesh graph that a rank lives in, None when its descriptor was not read."""
        return self.graphs.get(self.bindings.descriptor_of(binding))

    def devices_of(self, binding: Binding) -> tuple[tuple[int, int], ...]:
        """The mesh coordinates that a rank owns; () when the descriptor was not read or does not have the rank's place."""
        graph = self.graph_of(binding)
        if graph is None or binding.mesh_id not in graph.mesh_ids:
            return ()
        mesh = graph.mesh(binding.mesh_id)
        host_rank = binding.mesh_host_rank or 0
        return mesh.host_block(host_rank).devices if host_rank < mesh.host_count else ()


def read_source(request: LaunchRequest, site: Site, findings: Findings) -> RankSource | None:
    """Everything the request names, read. None with findings when some of it cannot be understood."""
    search = PathSearch(site, findings, is_strict=request.check is CheckLevel.OFF)
    mock = _mock_cluster(request, search, findings)
    derived: Derived | None = None
    if request.system is not None:
        from tt_run.plan.named_system import derive_from_system

        derived = derive_from_system(request, site, findings)
    elif request.mesh_graph_descriptor is not None or request.mesh_graph_descriptor_mapping is not None:
        from tt_run.plan.allocation.of_descriptors import allocate

        derived = allocate(request, mock, search, findings) if not findings.broken else None
    elif request.rank_binding is None and request.rank_bindings_mapping is None and mock is not None:
        from tt_run.plan.allocation.of_descriptors import discover

        derived = discover(request, mock, search, findings)
    elif request.rank_binding is None and request.rank_bindings_mapping is None:
        derived = lone_rank()
    else:
        read = _read_bindings(request, search, findings)
        if read is not None:
            graphs = {} if request.check is CheckLevel.OFF else _read_graphs(read, request, site, findings)
            derived = Derived(_with_mock(read, mock, site, findings), graphs)
    factory = _factory(request, search)
    if derived is None:
        return None
    bindings = derived.bindings
    factory = factory or bindings.factory_descriptor
    return RankSource(
        bindings, derived.graphs, factory, derived.files, derived.why, derived.placed, derived.rankfile
    )


def _read_bindings(request: LaunchRequest, search: PathSearch, findings: Findings) -> RankBindings | None:
    must_exist = not request.skip_mgd_check
    if request.rank_binding is not None:
        path = search.find(request.rank_binding, "rank-binding file")
        return read_rank_bindings(path, search, findings, descriptor_must_exist=must_exist) if path else None
    if request.rank_bindings_mapping is not None:
        from tt_run.inputs.subcontexts import read_rank_bindings_mapping

        path = search.find(request.rank_bindings_mapping, "rank-bindings mapping")
        if path is not None:
            return read_rank_bindings_mapping(path, search, findings, descriptor_must_exist=must_exist)
    return None


def _read_graphs(
    bindings: RankBindings, request: LaunchRequest, site: Site, findings: Findings
) -> dict[Path, MeshGraph]:
    """The mesh graph of each descriptor that a rank uses, each read once."""
    from tt_run.plan.descriptors import read_descriptor

    graphs: dict[Path, MeshGraph] = {}
    named: dict[Path, Position | None] = {}
    for binding in bindings.bindings:
        own = binding.descriptor_position if binding.descriptor else bindings.descriptor_position
        named.setdefault(bindings.descriptor_of(binding), own)
    for path, position in named.items():
        if request.skip_mgd_check and not is_file(path):
            continue
        graph = read_descriptor(path, site, findings, request.check, position)
        if graph is not None:
            graphs[path] = graph
    return graphs


def _mock_cluster(request: LaunchRequest, search: PathSearch, findings: Findings) -> MockCluster | None:
    if request.mock_cluster_rank_binding is None:
        return None
    from tt_run.inputs.clusters.mock import read_mock_cluster

    path = search.find(request.mock_cluster_rank_binding, "mock cluster rank binding")
    return read_mock_cluster(path, search, findings) if path else None


def _with_mock(
    bindings: RankBindings, mock: MockCluster | None, site: Site, findings: Findings
) -> RankBindings:
    """The bindings with the cluster descriptors of a mock mapping, which must name every rank."""
    if mock is None:
        return bindings
    _check_mock_ranks(mock, bindings, site, findings)
    return replace(bindings, mock={rank: str(path) for rank, path in mock.descriptors.items()})


def _check_mock_ranks(mock: MockCluster, bindings: RankBindings, site: Site, findings: Findings) -> None:
    """Every rank needs a descriptor; with sub-contexts no further one is allowed."""
    ranks = {binding.rank for binding in bindings.bindings}
    missing = sorted(ranks - mock.descriptors.keys())
    is_mapping = all(at.line for at in mock.positions.values())
    alone = "no mapping: the descriptor of rank 0 itself"
    if missing:
        findings.fatal(
            "TTR114",
            f"the ranks of the mock mapping do not match: no descriptor for rank {list_numbers(missing)}",
            Label(
                Position(mock.file),
                f"ranks {list_numbers(sorted(mock.descriptors))}" if is_mapping else alone,
            ),
            *(
                Label(b.position, f"rank {b.rank} is bound")
                for b in bindings.bindings
                if b.rank == missing[0]
            ),
            help=f"add {missing[0]}: PATH to rank_to_cluster_mock_cluster_desc"
            if is_mapping or not site.get(MOCK_CLUSTER_DESC_PATH)
            else f"unset {MOCK_CLUSTER_DESC_PATH}, which names it, or --mock-cluster-rank-binding a mapping",
        )
    if bindings.subcontext_sizes:
        for rank in sorted(mock.descriptors.keys() - ranks):
            findings.fatal(
                "TTR114",
                f"the mock mapping names rank {rank}, which the sub-contexts do not have",
                Label(mock.positions[rank], f"the merged ranks are 0..{len(ranks) - 1}"),
                help="remove it",
            )


def _factory(request: LaunchRequest, search: PathSearch) -> str | None:
    if request.factory_system_descriptor is None:
        return None
    path = search.find(request.factory_system_descriptor, "factory system descriptor")
    if path is None:
        return None
    is_of_another_kind(
        path, search.site, search.findings, "a factory system descriptor", "--factory-system-descriptor"
    )
    return str(path)
