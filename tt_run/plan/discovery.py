"""Bindings that a generator on the hardware has found: where they are kept, whether they are whole, and how a launch uses them (reference launcher 0.81.1)."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from mgd.lean import dataclass, field, replace
from tt_run.inputs.findings import Findings
from tt_run.inputs.hosts.lists import parse_hosts
from tt_run.inputs.hosts.rankfiles import read_rankfile
from tt_run.inputs.paths import PathSearch
from tt_run.inputs.site import Site, is_file
from tt_run.plan.allocation import files
from tt_run.plan.allocation.of_descriptors import descriptors_of, named_inputs
from tt_run.plan.request import LaunchRequest

GENERATOR = Path("build/tools/scaleout/generate_rank_bindings")
BINDINGS = "rank_bindings.yaml"
MAPPING = "rank_bindings_mapping.yaml"
RANKFILE = "rankfile"
MOCK = "phase2_mock_mapping.yaml"


@dataclass(frozen=True, slots=True)
class Discovery:
    """One discovery: what it is asked about, the fingerprint of that, and the folder of its results.

    `hosts` are sorted, one rank of the generator on each; `machines` are the described machines of a mock cluster by rank.
    """

    asked: Path
    key: str
    folder: Path
    descriptors: tuple[Path, ...]
    is_mapping: bool = False
    hosts: tuple[str, ...] = ()
    machines: Mapping[int, Path] = field(default_factory=dict)

    @property
    def is_known(self) -> bool:
        """Whether the folder holds discovered bindings for exactly these inputs."""
        return _key_in(self.folder) == self.key and self.is_whole

    @property
    def is_whole(self) -> bool:
        """Whether the folder holds every result, and a generator has made them rather than `tt-run` by itself."""
        bindings = next((path for path in self._bindings() if _has_text(path)), None)
        wanted = [self.folder / RANKFILE, *([self.folder / MOCK] if self.machines else [])]
        return bindings is not None and all(map(_has_text, wanted)) and not _is_derived(self.folder)

    def _bindings(self) -> tuple[Path, Path]:
        return self.folder / MAPPING, self.folder / BINDINGS

    def request(self, asked: LaunchRequest, site: Site) -> LaunchRequest:
        """The launch of the discovered ranks: the request with their bindings, rankfile and hosts in place of the descriptor."""
        mapping, single = self._bindings()
        several = _has_text(mapping)
        words = ["--rankfile", str(self.folder / RANKFILE)]
        if not self.machines:
            rankfile = read_rankfile(self.folder / RANKFILE, site, Findings())
            counts = Counter(line.host for _, line in sorted(rankfile.by_rank().items())) if rankfile else {}
            words = ["--host", ",".join(f"{host}:{count}" for host, count in counts.items()), *words]
        return replace(
            asked,
            rank_binding=None if several else str(single),
            rank_bindings_mapping=str(mapping) if several else None,
            mesh_graph_descriptor=None,
            mesh_graph_descriptor_mapping=None,
            mock_cluster_rank_binding=str(self.folder / MOCK) if self.machines else None,
            hosts=None,
            mpi_args=f"{shlex.join(words)} {asked.mpi_args}".strip(),
        )


def read_discovery(request: LaunchRequest, site: Site) -> Discovery | None:
    """The discovery that a request with `-m` or `-M` stands for; None for other requests.

    Raises InputError when a file that it names is missing or cannot be understood, UsageError for wrong hosts.
    """
    if request.mesh_graph_descriptor is None and request.mesh_graph_descriptor_mapping is None:
        return None
    if request.hosts is None and request.mock_cluster_rank_binding is None:
        return None
    findings = Findings()
    search = PathSearch(site, findings)
    paths = descriptors_of(request, search, findings)
    mock = None
    if request.mock_cluster_rank_binding is not None:
        from tt_run.inputs.clusters.mock import read_mock_cluster

        path = search.find(request.mock_cluster_rank_binding, "mock cluster rank binding")
        mock = read_mock_cluster(path, search, findings) if path else None
    findings.stop_if_broken()
    asked, key = named_inputs(paths, request, search, mock)
    findings.stop_if_broken()
    named = parse_hosts(request.hosts).hosts if request.hosts and mock is None else ()
    hosts = sorted(host.name for host in named)
    short = files.folder(site.cwd, key)
    is_mapping = request.mesh_graph_descriptor_mapping is not None
    machines = dict(mock.descriptors) if mock else {}
    found = Discovery(asked, key, short, tuple(paths), is_mapping, tuple(hosts), machines)
    # Another discovery whose fingerprint begins alike: this one takes the long name, and keeps it when that other one is gone.
    long = replace(found, folder=short.with_name(key))
    taken = found.is_whole and _key_in(short) not in (None, key)
    return long if taken or (long.is_known and not found.is_known) else found


def generator_places(site: Site) -> tuple[Path, ...]:
    """Where the generator is looked for, first one first."""
    home = site.get("TT_METAL_HOME")
    roots = [site.expand_user(home)] if home else []
    return tuple(dict.fromkeys(root / GENERATOR for root in (*roots, site.cwd)))


def find_generator(site: Site) -> Path | None:
    """The first generator that exists."""
    return next((path for path in generator_places(site) if is_file(path)), None)


def _key_in(folder: Path) -> str | None:
    try:
        return (folder / files.KEY_FILE).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None


def _has_text(path: Path) -> bool:
    return is_file(path) and path.stat().st_size > 0


def _is_derived(folder: Path) -> bool:
    """Whether `tt-run` has derived the bindings in a folder from the descriptor alone."""
    for name in (BINDINGS, "rank_bindings_subctx_0.yaml"):
        path = folder / name
        if is_file(path):
            with path.open(encoding="utf-8", errors="replace") as stream:
                return stream.readline().startswith(files.DERIVED)
    return False
