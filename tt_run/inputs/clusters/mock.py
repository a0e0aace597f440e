"""Mock clusters: a cluster descriptor for each rank instead of hardware (reference launcher 0.81.1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mgd import documents
from mgd.diagnostics import Position
from mgd.lean import dataclass
from tt_run.inputs.document import Document, read_document
from tt_run.inputs.findings import Findings, nearest
from tt_run.inputs.paths import PathSearch

_KEY = "rank_to_cluster_mock_cluster_desc"
_OLD_KEY = "rank_to_filename"


@dataclass(frozen=True, slots=True)
class MockCluster:
    """The cluster descriptor file of each rank, and where each rank is named."""

    file: str
    descriptors: Mapping[int, Path]
    positions: Mapping[int, Position]


def read_mock_cluster(path: Path, search: PathSearch, findings: Findings) -> MockCluster | None:
    """The mapping in the file at `path`; a file without the mapping's key is itself the descriptor of rank 0.

    The list form of the reference's own help (`- rank: 0`, `filename: …`) and the older key are understood, too.
    None with findings when it cannot be understood.
    """
    document = read_document(path, search.site, findings)
    if document is None:
        return None
    if isinstance(document.root, documents.Sequence):
        return _read_list(document, document.root, search)
    if not isinstance(document.root, documents.Mapping):
        document.mapping(document.root, "the mock cluster file")
        return None
    keys = {name: value for name, (_, value) in document.root.fields.items()}
    for name in (_KEY, _OLD_KEY):
        if name in keys:
            return _read_value(document, keys[name], name, search)
    meant = next((name for name in keys if nearest(name, (_KEY, _OLD_KEY))), None)
    if meant is not None and isinstance(keys[meant], (documents.Mapping, documents.Sequence)):
        place = document.root.fields[meant][0]
        document.fatal(
            "TTR105",
            f"the mock cluster file has no {_KEY!r}",
            place,
            f"the key is called {_KEY!r}",
            help=f"write {_KEY!r}",
        )
        return None
    return MockCluster(document.file, {0: path}, {0: Position(document.file)})


def _read_value(
    document: Document, node: documents.Node, name: str, search: PathSearch
) -> MockCluster | None:
    if isinstance(node, documents.Sequence):
        return _read_list(document, node, search)
    if name == _OLD_KEY:
        document.findings.warn(
            "TTR115",
            f"{_OLD_KEY!r} is the old name of the mock mapping",
            help=f"write {_KEY!r}: the reference launcher takes this file for a cluster descriptor",
        )
    fields = document.mapping(node, name)
    if not isinstance(node, documents.Mapping):
        return None
    entries: list[tuple[documents.Node, documents.Node]] = [
        (item.key, item.value) for item in fields.values()
    ]
    return _collect(document, entries, node, search)


def _read_list(document: Document, node: documents.Sequence, search: PathSearch) -> MockCluster | None:
    entries = []
    for index, entry in enumerate(node.items):
        fields = document.mapping(entry, f"mock cluster entry {index}", ("rank", "filename"))
        if set(fields) == {"rank", "filename"}:
            entries.append((fields["rank"].value, fields["filename"].value))
        elif isinstance(entry, documents.Mapping):
            document.fatal(
                "TTR105",
                f"mock cluster entry {index} needs 'rank' and 'filename'",
                entry,
                help="write {rank: 0, filename: FILE.yaml}",
            )
    return _collect(document, entries, node, search)


def _collect(
    document: Document,
    entries: list[tuple[documents.Node, documents.Node]],
    node: documents.Node,
    search: PathSearch,
) -> MockCluster | None:
    paths: dict[int, Path] = {}
    positions: dict[int, Position] = {}
    before = len(document.findings.broken)
    for key, value in entries:
        rank = document.integer(key, "a rank of the mock mapping")
        text = document.text(value, "a descriptor of the mock mapping")
        if rank is None or text is None:
            continue
        found = search.find(
            text, f"mock cluster descriptor of rank {rank}", document.at(value), beside=document.path.parent
        )
        if found is not None:
            paths[rank], positions[rank] = found, document.at(key)
    if not entries and len(document.findings.broken) == before:
        document.fatal(
            "TTR109",
            "the mock mapping is empty",
            node,
            "at least one rank is needed",
            help="write 0: FILE.yaml",
        )
    if len(document.findings.broken) > before:
        return None
    return MockCluster(document.file, paths, positions)
