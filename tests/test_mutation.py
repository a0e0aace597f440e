"""What `scripts/mutate` changes, and that the list of changes without effect names changes that there are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from scripts.mutation.changes import changed, changes_of

ROOT = Path(__file__).resolve().parents[1]
SOURCE = '''\
LIMIT = 3


class Box:
    @property
    def room(self) -> int:
        return self.most - 1 if self.most > 2 else 0


def first(names: list[int], most: int = 5, *, loud: bool = True) -> int | None:
    """With 1 docstring."""
    for name in names:
        if not name:
            continue
        if loud:
            break
    pairs = dict(zip(names, names, strict=True))

    def inner() -> bool:
        return name in pairs and most is None

    return inner()
'''


def test_what_is_changed(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(SOURCE)
    found = list(changes_of(tmp_path, "m.py"))
    assert [str(each) for each in found] == [
        f"m.py {each}"
        for each in (
            "Box.room: `return self.most - 1 if self.most > 2 else 0` -> `return self.most - 1 if self.most > 2 and False else 0`",
            "Box.room: `return self.most - 1 if self.most > 2 else 0` -> `return self.most - 1 if self.most > 2 or True else 0`",
            "Box.room: `return self.most - 1 if self.most > 2 else 0` -> `return self.most - 1 if self.most >= 2 else 0`",
            "Box.room: `return self.most - 1 if self.most > 2 else 0` -> `return self.most - 1 if self.most > 3 else 0`",
            "Box.room: `return self.most - 1 if self.most > 2 else 0` -> `return self.most + 1 if self.most > 2 else 0`",
            "Box.room: `return self.most - 1 if self.most > 2 else 0` -> `return self.most - 2 if self.most > 2 else 0`",
            "Box.room: `return self.most - 1 if self.most > 2 else 0` -> `return self.most - 1 if self.most > 2 else 1`",
            "first: `True` -> `False`",
            "first: `5` -> `6`",
            "first: `not name` -> `not not name`",
            "first: `continue` -> `break`",
            "first: `if loud:` -> `if loud and False:`",
            "first: `break` -> `return`",
            "first.inner: `return name in pairs and most is None` -> `return name in pairs or most is None`",
            "first.inner: `return name in pairs and most is None` -> `return name not in pairs and most is None`",
            "first.inner: `return name in pairs and most is None` -> `return name in pairs and most is not None`",
        )
    ]
    for each in found:
        made = changed(tmp_path, each)
        compile(made, "m.py", "exec")
        assert ast.dump(made) != ast.dump(ast.parse(SOURCE))
        assert each.lines[0] <= each.lines[1] <= SOURCE.count("\n")


def test_the_list_of_changes_without_effect_is_of_this_source() -> None:
    text = (ROOT / "tests" / "equivalent_changes.txt").read_text(encoding="utf-8")
    listed = re.findall(r"(?m)^(\S+ \S+: `.*` -> `.*`): \S", text)
    assert len(listed) == sum(line.startswith(("mgd/", "tt_run/")) for line in text.splitlines()) > 0
    there = {str(each) for file in {line.split()[0] for line in listed} for each in changes_of(ROOT, file)}
    gone = [line for line in listed if line not in there]
    assert not gone, (
        f"tests/equivalent_changes.txt: the source has moved on; remove these lines, or renew them: {gone}"
    )
