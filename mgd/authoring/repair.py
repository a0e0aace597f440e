"""What `mgd fix` does: one repair for each rule that has only one, as small edits of the text.

A repair keeps the meaning that the reference gives the file, except where a misspelt field name is put right. Comments
and layout around an edit stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mgd.diagnostics import Diagnostic, Position
from mgd.errors import ParseError
from mgd.lean import dataclass
from mgd.reading import loads
from mgd.text.tree import Block, Scalar, Tree, WrittenField, read_tree, replaced

Edit = tuple[int, int, str]
MOST_ROUNDS = 200


@dataclass(frozen=True, slots=True)
class Repaired:
    """The text after all repairs, and what was repaired in the order in which it was done."""

    text: str
    done: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """A field, the value that is meant (None for the field as a whole), and the blocks around it from the outside in."""

    field: WrittenField
    value: Scalar | Block | None
    around: tuple[Block, ...]


def repair(text: str, file: str = "") -> Repaired:
    """Repair everything that a fixable rule finds, again and again until nothing of it is left.

    Raises ParseError for a text that is no descriptor.
    """
    from mgd.checking import check
    from mgd.rules import all_rules

    done: list[Diagnostic] = []
    for _ in range(MOST_ROUNDS):
        found = [each for each in check(loads(text, file=file)) if all_rules()[each.code].fixable]
        edits, repaired = _edits(text, found) if found else ([], [])
        if not edits:
            break
        text = replaced(text, edits)
        done += repaired
    return Repaired(text, tuple(done))


def _edits(text: str, found: list[Diagnostic]) -> tuple[list[Edit], list[Diagnostic]]:
    """Edits that do not touch each other, and the findings they repair; the rest is for the next round."""
    tree = read_tree(text)
    places = _places(tree)
    starts = _line_starts(text)
    edits: list[Edit] = []
    repaired: list[Diagnostic] = []
    for diagnostic in found:
        at = [places.get(_offset(starts, label.position)) for label in diagnostic.labels]
        if not at or at[0] is None or diagnostic.code not in _REPAIRS:
            continue
        others = [place for place in at[1:] if place is not None]
        own = _REPAIRS[diagnostic.code](_Job(text, places, diagnostic, at[0], others))
        if own and not any(_touch(a, b) for a in own for b in edits):
            edits += own
            repaired.append(diagnostic)
    return edits, repaired


def _touch(a: Edit, b: Edit) -> bool:
    return (a[0] < b[1] and b[0] < a[1]) or a[0] == b[0]


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer("\n", text))]


def _offset(starts: list[int], position: Position) -> int:
    return starts[position.line - 1] + position.column - 1 if 0 < position.line <= len(starts) else -1


def _places(tree: Tree) -> dict[int, _Place]:
    """Every field and value by where it begins."""
    found: dict[int, _Place] = {}
    pending: list[tuple[Block, tuple[Block, ...]]] = [(tree.root, ())]
    while pending:
        block, around = pending.pop()
        inside = (*around, block)
        for each in block.fields:
            found[each.start] = _Place(each, None, inside)
            for value in each.values:
                found[value.start] = _Place(each, value, inside)
                if isinstance(value, Block):
                    pending.append((value, inside))
    return found


@dataclass(frozen=True, slots=True)
class _Job:
    """One finding with the places that it points to."""

    text: str
    places: dict[int, _Place]
    diagnostic: Diagnostic
    place: _Place
    others: list[_Place]

    def removal(self, place: _Place) -> list[Edit]:
        """Take away a field or one value of a list; its line too when nothing else stands there."""
        node = place.field
        if not node.is_list or place.value is None or len(node.values) == 1:
            return [_whole_line(self.text, node.start, node.end)]
        index = node.values.index(place.value)
        if index:
            return [(node.values[index - 1].end, place.value.end, "")]
        return [(place.value.start, node.values[1].start, "")]

    def blocks_of(self, place: _Place) -> list[Block]:
        return [place.value] if isinstance(place.value, Block) else place.field.blocks


def _whole_line(text: str, start: int, end: int) -> Edit:
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop + 1
    if not text[line:start].strip() and not text[end:stop].strip():
        return (line, stop, "")
    while end < len(text) and text[end] in " \t":
        end += 1
    return (start, end, "")


# --- one function for each rule -----------------------------------------------------------------------------------------


def _remove(job: _Job) -> list[Edit]:
    return job.removal(job.place)


def _line(job: _Job) -> list[Edit]:
    """MGD070: the type of a dimension that is too short becomes LINE."""
    value = job.place.value
    return [(value.start, value.end, "LINE")] if isinstance(value, Scalar) else []


def _duplicate(job: _Job) -> list[Edit]:
    """MGD066: between meshes the last one counts, so the first goes; between devices counts add up into the first."""
    if not job.others:
        return []
    first, later = job.others[0], job.place
    if "both count" not in job.diagnostic.message:
        return job.removal(first)
    counts = [_count(block) for place in (first, later) for block in job.blocks_of(place)]
    if len(counts) != 2 or counts[0] is None or counts[1] is None:
        return []
    total = int(counts[0].text, 0) + int(counts[1].text, 0)
    return [(counts[0].start, counts[0].end, str(total)), *job.removal(later)]


def _count(connection: Block) -> Scalar | None:
    for channels in connection.find("channels"):
        for block in channels.blocks:
            for each in block.find("count"):
                value = each.values[0]
                return (
                    value
                    if isinstance(value, Scalar) and re.fullmatch(r"[1-9]\d*|0[xX][\da-fA-F]+", value.text)
                    else None
                )
    return None


def _unknown(job: _Job) -> list[Edit]:
    """MGD109: the nearest known name, if the file can still be read with it; else the field goes, as it is skipped anyway."""
    meant = re.search(r"did you mean (\w+)\?", job.diagnostic.help)
    return (meant and _renamed(job, meant[1])) or job.removal(job.place)


def _renamed(job: _Job, name: str) -> list[Edit]:
    edit = (job.place.field.start, job.place.field.name_end, name)
    try:
        loads(replaced(job.text, [edit]))
    except ParseError:
        return []
    return [edit]


def _old_field(job: _Job) -> list[Edit]:
    """MGD113: the present name, or the present place."""
    renamed = re.fullmatch(r"write (\w+)", job.diagnostic.help)
    if renamed:
        return _renamed(job, renamed[1]) or job.removal(job.place)
    node = job.place.field
    if "sub_ref" in job.diagnostic.help:
        if job.place.around[-1].find("sub_ref"):
            return job.removal(job.place)
        return [(node.start, node.start, "sub_ref { "), (node.end, node.end, " }")]
    return _move_channels(job)


def _move_channels(job: _Job) -> list[Edit]:
    """Channels of a graph go into its graph_topology, unless that has its own or does not exist."""
    node = job.place.field
    targets = [block for each in job.place.around[-1].find("graph_topology") for block in each.blocks]
    if len(targets) != 1 or targets[0].find("channels"):
        return job.removal(job.place)
    words = job.text[node.start : node.end].rstrip(",;")
    return [(targets[0].end - 1, targets[0].end - 1, f" {words} "), *job.removal(job.place)]


_REPAIRS: dict[str, Callable[[_Job], list[Edit]]] = {
    "MGD023": _remove,
    "MGD062": _remove,
    "MGD066": _duplicate,
    "MGD067": _remove,
    "MGD070": _line,
    "MGD109": _unknown,
    "MGD113": _old_field,
}


def repaired_codes() -> Iterator[str]:
    """The codes of the rules that this module repairs."""
    return iter(_REPAIRS)
