"""Rank-bindings mappings: several rank-binding files side by side in one job (reference launcher 0.81.1)."""

from __future__ import annotations

from pathlib import Path

from mgd.diagnostics import Label
from mgd.lean import replace
from tt_run.inputs.bindings import Binding, RankBindings, read_rank_bindings, shifted
from tt_run.inputs.document import Document, read_document
from tt_run.inputs.findings import Findings
from tt_run.inputs.paths import PathSearch
from tt_run.inputs.settings import Setting

_KEY = "subcontext_id_to_rank_bindings"


def read_rank_bindings_mapping(
    path: Path, search: PathSearch, findings: Findings, *, descriptor_must_exist: bool = True
) -> RankBindings | None:
    """All sub-contexts of the mapping file merged: ranks of sub-context k follow those of k-1, each with its own descriptor.

    Unlike the reference the keys may stand in any order. None with findings when it cannot be understood.
    """
    document = read_document(path, search.site, findings)
    if document is None:
        return None
    before = len(findings.broken)
    files = _overlay_files(document, search)
    if len(findings.broken) > before:
        return None
    overlays = [
        read_rank_bindings(file, search, findings, descriptor_must_exist=descriptor_must_exist)
        for file in files
    ]
    read = [overlay for overlay in overlays if overlay is not None]
    if len(read) < len(overlays):
        return None
    merged_env = _merge_env(read, findings)
    if len(findings.broken) > before:
        return None
    bindings: list[Binding] = []
    mock: dict[int, str] = {}
    for index, overlay in enumerate(read):
        size = len(overlay.bindings)
        offset = len(bindings)
        mock.update({offset + rank: path for rank, path in overlay.mock.items()})
        bindings.extend(
            shifted(
                binding,
                offset,
                subcontext_id=index,
                subcontext_size=size,
                descriptor=overlay.descriptor,
                descriptor_position=overlay.descriptor_position,
            )
            for binding in overlay.bindings
        )
    return replace(
        read[0],
        file=document.file,
        bindings=tuple(bindings),
        global_env=merged_env,
        mock=mock,
        factory_descriptor=next((each.factory_descriptor for each in read if each.factory_descriptor), None),
        subcontext_sizes=tuple(len(overlay.bindings) for overlay in read),
    )


def _overlay_files(document: Document, search: PathSearch) -> list[Path]:
    top = document.mapping(document.root, "the rank-bindings mapping", (_KEY,))
    field = top.get(_KEY)
    if field is None:
        if not document.findings.broken:
            document.set_aside_unknown(document.root)
            document.fatal(
                "TTR105",
                f"the rank-bindings mapping must contain {_KEY!r}",
                document.root,
                "the key is required",
                help=f"add {_KEY}: {{0: FILE.yaml, 1: FILE.yaml}}",
            )
        return []
    entries = document.mapping(field.value, _KEY)
    named: dict[int, Path | None] = {}
    for item in entries.values():
        number = document.integer(item.key, f"a key of {_KEY}")
        text = document.text(item.value, f"{_KEY}[{item.key.text}]")
        if number is None or text is None:
            continue
        folder = document.path.parent
        named[number] = search.find(
            text, "rank-binding file of a sub-context", document.at(item.value), first=folder
        )
    if not entries and not document.findings.broken:
        document.fatal(
            "TTR109",
            f"{_KEY} must not be empty",
            field.value,
            "at least one sub-context is needed",
            help=f"write {_KEY}: {{0: FILE.yaml}}",
        )
    if sorted(named) != list(range(len(entries))) and not document.findings.broken:
        have = ", ".join(map(str, sorted(named)))
        document.fatal(
            "TTR112",
            f"{_KEY}: keys must be dense, 0..{len(entries) - 1}, not {have}",
            field.value,
            f"sub-contexts {have}",
            help="number the sub-contexts 0, 1, 2, …",
        )
    return [path for _, path in sorted(named.items()) if path is not None]


def _merge_env(overlays: list[RankBindings], findings: Findings) -> dict[str, Setting]:
    merged: dict[str, Setting] = {}
    for overlay in overlays:
        for name, setting in overlay.global_env.items():
            known = merged.setdefault(name, setting)
            if known.value != setting.value:
                findings.fatal(
                    "TTR113",
                    f"global_env conflict on key {name!r} between sub-contexts: one value holds for all of them",
                    Label(setting.position, f"{setting.value!r}"),
                    Label(known.position, f"{known.value!r}"),
                    help=f"give {name} the same value in both, or set it in env_overrides of the ranks",
                )
    return merged
