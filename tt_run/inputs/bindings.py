"""Rank bindings: which MPI rank belongs to which mesh, and what it sees (reference launcher 0.81.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from mgd import documents
from mgd.diagnostics import Label, Position
from mgd.lean import dataclass, field, replace
from tt_run.inputs.document import Document, Entry, is_null, read_document
from tt_run.inputs.findings import Findings, list_numbers
from tt_run.inputs.paths import PathSearch
from tt_run.inputs.settings import Setting, read_env

_TOP_KEYS = (
    "rank_bindings",
    "global_env",
    "mesh_graph_desc_path",
    "mock_cluster_rank_binding",
    "factory_system_descriptor_path",
)
_RANK_KEYS = (
    "rank",
    "mesh_id",
    "mesh_host_rank",
    "env_overrides",
    "subcontext_id",
    "subcontext_size",
    "mesh_graph_desc_path",
)


@dataclass(frozen=True, slots=True)
class Binding:
    """One rank: its mesh, its place in the mesh, its own variables. Positions are where each of them is written."""

    rank: int
    mesh_id: int
    position: Position
    mesh_id_position: Position
    mesh_host_rank: int | None = None
    host_rank_position: Position | None = None
    env: Mapping[str, Setting] = field(default_factory=dict)
    descriptor: Path | None = None  # overrides the file's own
    descriptor_position: Position | None = None
    subcontext_id: int | None = None
    subcontext_size: int | None = None


@dataclass(frozen=True, slots=True)
class RankBindings:
    """What a rank-binding file says, ranks ascending from 0 without gaps whatever their order in the file.

    `mock` and `factory_descriptor` hold what the two accidental keys of the reference say, as written.
    """

    file: str
    bindings: tuple[Binding, ...]
    descriptor: Path
    descriptor_position: Position | None = None
    global_env: Mapping[str, Setting] = field(default_factory=dict)
    subcontext_sizes: tuple[int, ...] = ()
    mock: Mapping[int, str] = field(default_factory=dict)
    factory_descriptor: str | None = None

    def descriptor_of(self, binding: Binding) -> Path:
        """The descriptor that a rank is given."""
        return binding.descriptor or self.descriptor


def read_rank_bindings(
    path: Path, search: PathSearch, findings: Findings, *, descriptor_must_exist: bool = True
) -> RankBindings | None:
    """The rank bindings in the YAML file at `path`, or None with findings when they cannot be understood."""
    document = read_document(path, search.site, findings)
    if document is None:
        return None
    before = len(findings.broken)
    top = document.mapping(document.root, "the rank-binding file", _TOP_KEYS)
    if len(findings.broken) > before:
        return None
    bindings = _read_ranks(document, top.get("rank_bindings"), search, descriptor_must_exist)
    descriptor_field = top.get("mesh_graph_desc_path")
    descriptor = _descriptor(document, descriptor_field, search, descriptor_must_exist)
    global_env = read_env(document, top.get("global_env"), "global_env")
    mock = _mock_paths(document, top.get("mock_cluster_rank_binding"), bindings)
    factory = top.get("factory_system_descriptor_path")
    factory_text = None
    if factory is not None and not is_null(factory.value):
        factory_text = document.text(factory.value, "factory_system_descriptor_path")
    if len(findings.broken) > before or descriptor is None:
        return None
    return RankBindings(
        document.file,
        bindings,
        descriptor,
        document.at(descriptor_field.value) if descriptor_field else None,
        global_env,
        mock=mock,
        factory_descriptor=factory_text,
    )


def _read_ranks(
    document: Document, field: Entry | None, search: PathSearch, must_exist: bool
) -> tuple[Binding, ...]:
    if field is None:
        document.lacks(
            document.root,
            "the rank-binding file",
            "rank_bindings",
            "[{rank: 0, mesh_id: 0}]",
            "the list is required",
        )
        return ()
    entries = document.items(field.value, "rank_bindings")
    if not entries:
        if isinstance(field.value, documents.Sequence):
            document.fatal(
                "TTR109",
                "rank_bindings is empty",
                field.value,
                "at least one rank is needed",
                help="write rank_bindings: [{rank: 0, mesh_id: 0}]",
            )
        return ()
    read = [_read_rank(document, entry, index, search, must_exist) for index, entry in enumerate(entries)]
    bindings = [binding for binding in read if binding is not None]
    if len(bindings) == len(entries):
        check_contiguous(bindings, document.findings)
    return tuple(sorted(bindings, key=lambda binding: binding.rank))


def check_contiguous(bindings: Iterable[Binding], findings: Findings) -> None:
    """Records every rank that is bound twice and every gap in 0..N-1."""
    first: dict[int, Binding] = {}
    bindings = list(bindings)
    for binding in bindings:
        if binding.rank in first:
            findings.fatal(
                "TTR110",
                f"Duplicate ranks: {binding.rank} is bound twice",
                Label(binding.position, f"rank {binding.rank} again"),
                Label(first[binding.rank].position, "first here"),
                help="give each entry its own rank, 0, 1, 2, …",
            )
        else:
            first[binding.rank] = binding
    ranks = sorted(first)
    if not ranks or ranks[-1] < len(bindings):
        return  # an entry with the number of another leaves a gap, which its own would close
    gaps = [(low + 1, high - 1) for low, high in zip([-1, *ranks], ranks, strict=False) if high - low > 1]
    missing = ", ".join(f"{low}..{high}" if high > low else str(low) for low, high in gaps[:8])
    above = gaps[0][1] + 1
    findings.fatal(
        "TTR111",
        f"Ranks must be contiguous from 0 to {len(ranks) - 1}; missing: {missing}",
        Label(first[above].position, f"rank {above} is bound, {above - 1} is not"),
        help=f"bind rank {gaps[0][0]}, or renumber the ranks after it",
    )


def _read_rank(
    document: Document, node: documents.Node, index: int, search: PathSearch, must_exist: bool
) -> Binding | None:
    what = f"rank_bindings[{index}]"
    fields = document.mapping(node, what, _RANK_KEYS)
    if not isinstance(node, documents.Mapping):
        return None
    numbers: dict[str, int | None] = {}
    for name, minimum in (
        ("rank", 0),
        ("mesh_id", 0),
        ("mesh_host_rank", 0),
        ("subcontext_id", 0),
        ("subcontext_size", 1),
    ):
        field = fields.get(name)
        if field is None or (is_null(field.value) and name not in ("rank", "mesh_id")):
            numbers[name] = None
        else:
            numbers[name] = document.integer(field.value, f"{what}.{name}", minimum)
    for name in ("rank", "mesh_id"):
        if name not in fields:
            document.lacks(node, what, name, str(index) if name == "rank" else "0")
    env = read_env(document, fields.get("env_overrides"), f"{what}.env_overrides", "env_overrides")
    descriptor, descriptor_at = _own_descriptor(
        document, fields.get("mesh_graph_desc_path"), what, search, must_exist
    )
    rank, mesh_id = numbers["rank"], numbers["mesh_id"]
    if rank is None or mesh_id is None:
        return None
    host_rank = fields.get("mesh_host_rank")
    return Binding(
        rank,
        mesh_id,
        document.at(fields["rank"].value),
        document.at(fields["mesh_id"].value),
        numbers["mesh_host_rank"],
        document.at(host_rank.value) if host_rank else None,
        env,
        descriptor,
        descriptor_at,
        numbers["subcontext_id"],
        numbers["subcontext_size"],
    )


def _descriptor(document: Document, field: Entry | None, search: PathSearch, must_exist: bool) -> Path | None:
    if field is None:
        document.lacks(
            document.root,
            "the rank-binding file",
            "mesh_graph_desc_path",
            "FILE.textproto",
            "the descriptor is required",
        )
        return None
    text = document.text(field.value, "mesh_graph_desc_path")
    if not text:
        if text is not None:
            document.fatal(
                "TTR104",
                "mesh_graph_desc_path is empty",
                field.value,
                "name the mesh graph descriptor",
                help="write mesh_graph_desc_path: FILE.textproto",
            )
        return None
    at = document.at(field.value)
    return search.find(text, "mesh graph descriptor", at, beside=document.path.parent, must_exist=must_exist)


def _own_descriptor(
    document: Document, field: Entry | None, what: str, search: PathSearch, must_exist: bool
) -> tuple[Path | None, Position | None]:
    if field is None or is_null(field.value):
        return None, None
    text = document.text(field.value, f"{what}.mesh_graph_desc_path")
    if not text:
        return None, None
    at = document.at(field.value)
    beside = document.path.parent
    found = search.find(text, "per-rank mesh graph descriptor", at, beside=beside, must_exist=must_exist)
    return found, at


def _mock_paths(document: Document, field: Entry | None, bindings: Iterable[Binding]) -> dict[int, str]:
    """The paths by rank, as written; like a mapping of its own it must name every rank."""
    if field is None or is_null(field.value):
        return {}
    paths: dict[int, str] = {}
    for item in document.mapping(field.value, "mock_cluster_rank_binding").values():
        rank = document.integer(item.key, "a rank of mock_cluster_rank_binding")
        text = document.text(item.value, "a path of mock_cluster_rank_binding")
        if rank is not None and text is not None:
            paths[rank] = text
    missing = [binding for binding in bindings if binding.rank not in paths]
    if missing and paths:
        document.findings.fatal(
            "TTR114",
            f"mock_cluster_rank_binding has no descriptor for rank {list_numbers([each.rank for each in missing])}",
            Label(document.at(field.key), f"ranks {list_numbers(sorted(paths))}"),
            Label(missing[0].position, f"rank {missing[0].rank} is bound"),
            help=f"add {missing[0].rank}: PATH",
        )
    return {binding.rank: paths[binding.rank] for binding in bindings if binding.rank in paths}


def shifted(binding: Binding, by: int, **changes: object) -> Binding:
    """The binding with its rank moved up, and further fields replaced."""
    return replace(binding, rank=binding.rank + by, **changes)
