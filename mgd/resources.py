"""Where the data files that ship with the packages are: `configs/` of a checkout, `mgd/_configs/` of an installed wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def configs_root() -> Path:
    """The folder that holds `mgd/`, `bindings/`, `training/`, …: in the wheel beside this module, in a checkout at its top.

    Raises FileNotFoundError when neither is there (a broken installation).
    """
    package = Path(__file__).resolve().parent
    for candidate in (package / "_configs", package.parent / "configs"):
        if (candidate / "mgd").is_dir():
            return candidate
    raise FileNotFoundError(f"the configs folder is missing beside {package}: reinstall tt-run")


def package_text(name: str) -> str:
    """The text of a file that lies among the modules of this package."""
    return (Path(__file__).resolve().parent / name).read_text(encoding="utf-8")
