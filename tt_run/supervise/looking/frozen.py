"""Processes that their control group keeps from running (`docker pause`, a batch system that suspends): they answer nobody, and look asleep."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_SINGLE = (_ROOT, _ROOT / "unified")
"""Where the one tree of version 2 lies, beside those of version 1 in the second."""


def thawing(pid: int) -> str:
    """The words that let a frozen process go on; empty for one that is not frozen, and where that cannot be read."""
    with suppress(OSError, ValueError):
        for line in _groups_of(pid).splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                found = next(filter(None, (_by_single(root, path) for root in _SINGLE)), "")
            elif "freezer" in controllers.split(","):
                found = _by_freezer(_ROOT / "freezer", path)
            else:
                continue
            if found:
                return found
    return ""


def _groups_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8")


def _by_single(root: Path, path: str) -> str:
    events = _said(root / path.lstrip("/") / "cgroup.events")
    if "frozen 1" not in events.splitlines():
        return ""
    return _words("0", _above(root, path, "cgroup.freeze", "1"))


def _by_freezer(root: Path, path: str) -> str:
    if _said(root / path.lstrip("/") / "freezer.state").strip() not in ("FROZEN", "FREEZING"):
        return ""
    group = _above(root, path, "freezer.self_freezing", "1")
    return _words("THAWED", group.with_name("freezer.state"))


def _above(root: Path, path: str, name: str, value: str) -> Path:
    """The file of this name, of the group or of one above it, that says so; a group is frozen with those above it."""
    group = root / path.lstrip("/")
    above = (folder for folder in (group, *group.parents) if folder != root and folder.is_relative_to(root))
    files = [folder / name for folder in above]
    return next((file for file in files if _said(file).strip() == value), group / name)


def _words(value: str, file: Path) -> str:
    return f"echo {value} >{file}"


def _said(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""
