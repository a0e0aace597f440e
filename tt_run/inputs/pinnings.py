"""Rank pinning files: which rank of an allocation must run on which host (reference library 0.81.1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mgd import documents
from mgd.diagnostics import Position
from mgd.lean import dataclass
from tt_run.inputs.document import Document, read_document
from tt_run.inputs.findings import Findings
from tt_run.inputs.settings import Setting, read_env
from tt_run.inputs.world import World

_KEY = "rank_pinnings"
_ENTRY_KEYS = ("rank", "mesh_id", "mesh_host_rank", "host", "env_overrides")


@dataclass(frozen=True, slots=True)
class RankPin:
    """One entry: a rank by its number, or by mesh and host rank, and the host it must run on."""

    host: str
    position: Position
    host_position: Position
    rank: int | None
    mesh_id: int | None
    mesh_host_rank: int
    env: Mapping[str, Setting]

    def values(self) -> dict[str, str]:
        """Its variables, as written."""
        return {name: setting.value for name, setting in self.env.items()}

    def __str__(self) -> str:
        return (
            f"rank {self.rank}"
            if self.rank is not None
            else f"mesh {self.mesh_id}, host rank {self.mesh_host_rank}"
        )


def read_rank_pinnings(path: Path, world: World, findings: Findings) -> tuple[RankPin, ...]:
    """The entries of the file at `path`, in its order; () with findings when it cannot be understood."""
    document = read_document(path, world, findings)
    if document is None:
        return ()
    field = document.mapping(document.root, "the rank pinning file", (_KEY,)).get(_KEY)
    if field is None:
        document.fatal(
            "TTR105", f"the rank pinning file has no {_KEY!r}", document.root, "the list is required"
        )
        return ()
    read = [
        _read_pin(document, node, f"{_KEY}[{index}]")
        for index, node in enumerate(document.items(field.value, _KEY))
    ]
    return tuple(pin for pin in read if pin is not None)


def _read_pin(document: Document, node: documents.Node, what: str) -> RankPin | None:
    fields = document.mapping(node, what, _ENTRY_KEYS)
    if not isinstance(node, documents.Mapping):
        return None
    numbers = {
        name: document.integer(fields[name].value, f"{what}.{name}")
        for name in ("rank", "mesh_id", "mesh_host_rank")
        if name in fields
    }
    by_mesh = fields.keys() & {"mesh_id", "mesh_host_rank"}
    if ("rank" in fields) == bool(by_mesh) or by_mesh == {"mesh_host_rank"}:
        document.fatal(
            "TTR105", f"{what} must say 'rank', or 'mesh_id' and 'mesh_host_rank'", node, "one of the two"
        )
        return None
    host = document.text(fields["host"].value, f"{what}.host") if "host" in fields else None
    if not host:
        if "host" not in fields or host == "":
            document.fatal("TTR105", f"{what} has no 'host'", node, "the key is required")
        return None
    env = read_env(document, fields.get("env_overrides"), f"{what}.env_overrides", "env_overrides")
    if None in numbers.values():
        return None
    return RankPin(
        host,
        document.at(node),
        document.at(fields["host"].value),
        numbers.get("rank"),
        numbers.get("mesh_id"),
        numbers.get("mesh_host_rank") or 0,
        env,
    )
