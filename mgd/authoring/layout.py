"""The one layout of a descriptor: what `mgd fmt` prints and every text of this project already has.

Two blanks per level, `name: value`, `[1, 2]`, braces; no separators. A message stands on one line when it holds only
scalars, or nothing but one such message, and fits. Comments and single blank lines stay where they were. The layout
knows nothing of the schema, so unknown fields keep their place and value.
"""

from __future__ import annotations

from collections.abc import Iterator

from mgd.lean import dataclass, field
from mgd.text.tree import Block, Comment, Scalar, WrittenField, read_tree

WIDTH = 100
DEEPEST = 200  # levels of nesting; far more than any descriptor has


class TooDeep(ValueError):
    """Messages are nested beyond what any descriptor needs."""


def formatted(text: str) -> str:
    """The text in the layout of this module: idempotent, of the same meaning, with the same comments.

    Raises `mgd.text.tree.BadTree` for a text without structure and TooDeep for absurd nesting.
    """
    lines = list(_block(text, read_tree(text).root, 0))
    return "\n".join(lines) + "\n" if lines else ""


@dataclass(slots=True)
class _Item:
    """A field or a comment of a block, with the comments inside the field and those that trail it."""

    node: WrittenField | Comment
    inner: list[Comment] = field(default_factory=list)
    trailing: list[Comment] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.trailing[-1].end if self.trailing else self.node.end


def _block(text: str, block: Block, level: int) -> Iterator[str]:
    """The lines of everything inside a block."""
    if level > DEEPEST:
        raise TooDeep(f"messages are nested more than {DEEPEST} deep")
    items = _items(block)
    printed = [list(_item(text, item, level)) for item in items]
    tall = _tall(items, printed)
    for position, lines in enumerate(printed):
        if position:
            previous = items[position - 1]
            apart = (
                level == 0
                and isinstance(previous.node, WrittenField)
                and (tall[position - 1] or tall[position])
            )
            if apart or _has_gap(text, previous, items[position]):
                yield ""
        yield from lines


def _tall(items: list[_Item], printed: list[list[str]]) -> list[bool]:
    """Which items take several lines; a comment counts as part of the field that it stands above."""
    tall: list[bool] = []
    below = False
    for item, lines in zip(reversed(items), reversed(printed), strict=True):
        below = len(lines) > 1 if isinstance(item.node, WrittenField) else below
        tall.append(below)
    return tall[::-1]


def _has_gap(text: str, previous: _Item, item: _Item) -> bool:
    """True when the author left a blank line between the two."""
    between = text[previous.end : item.node.start].split("\n")
    return any(not line.strip() for line in between[1:-1])


def _items(block: Block) -> list[_Item]:
    """Fields and comments in written order; a comment behind code on its line trails the field before it."""
    nodes: list[WrittenField | Comment] = [*block.fields, *block.comments]
    items: list[_Item] = []
    last: _Item | None = None  # the last field
    for node in sorted(nodes, key=lambda each: each.start):
        if isinstance(node, WrittenField):
            last = _Item(node, [each for each in node.comments if not _is_quoted(node, each)])
            items.append(last)
        elif last is not None and node.start < last.node.end:
            last.inner.extend([] if _is_quoted(last.node, node) else [node])
        elif node.trailing and last is not None and items[-1] is last:
            last.trailing.append(node)
        else:
            items.append(_Item(node))
    return items


def _is_quoted(node: WrittenField | Comment, comment: Comment) -> bool:
    """True for a comment that stands inside a scalar as written, between adjacent literals: it is printed with it."""
    values = node.values if isinstance(node, WrittenField) else []
    return any(isinstance(value, Scalar) and value.start < comment.start < value.end for value in values)


def _item(text: str, item: _Item, level: int) -> Iterator[str]:
    indent = "  " * level
    if isinstance(item.node, Comment):
        yield indent + item.node.text
        return
    yield from (indent + comment.text for comment in sorted(item.inner, key=lambda each: each.start))
    lines = list(_field(text, item.node, level))
    if item.trailing:
        lines[-1] += "  " + "  ".join(comment.text for comment in item.trailing)
    yield from lines


def _field(text: str, node: WrittenField, level: int) -> Iterator[str]:
    indent = "  " * level
    if not node.blocks:
        yield f"{indent}{node.name}: {_scalars(node)}"
        return
    for value in node.values:
        if isinstance(value, Scalar):  # only an unknown field mixes scalars and messages
            yield f"{indent}{node.name}: {_plain(value)}"
            continue
        flat = _flat(value)
        if flat is not None and len(indent) + len(node.name) + len(flat) + 5 <= WIDTH:
            yield f"{indent}{node.name} {{ {flat} }}" if flat else f"{indent}{node.name} {{}}"
        else:
            yield f"{indent}{node.name} {{"
            yield from _block(text, value, level + 1)
            yield indent + "}"


def _flat(block: Block) -> str | None:
    """The block's content for one line, or None when it does not belong on one."""
    words: list[str] = []
    while True:
        if block.comments or any(each.comments for each in block.fields):
            return None
        blocks = [inner for each in block.fields for inner in each.blocks]
        if not blocks:
            words.extend(f"{each.name}: {_scalars(each)}" for each in block.fields)
            opened = sum(word.endswith("{") for word in words)
            flat = " ".join(words) + " }" * opened
            return None if "\n" in flat else flat
        if len(block.fields) != 1 or len(block.fields[0].values) != 1 or len(words) > WIDTH:
            return None
        words.append(f"{block.fields[0].name} {{")
        block = blocks[0]


def _scalars(node: WrittenField) -> str:
    texts = [_plain(value) for value in node.values if isinstance(value, Scalar)]
    return f"[{', '.join(texts)}]" if node.is_list else texts[0]


def _plain(value: Scalar) -> str:
    """A scalar as written; only line breaks of other systems and a blank behind the sign change."""
    text = value.text.replace("\r\n", "\n")
    return "-" + text[1:].lstrip() if text.startswith("-") and "#" not in text else text
