"""Configuration files: where they are found, and their content with the place of every key."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_run import contract
from tt_run.runtime.train.settings import ConfigError, value_words

if TYPE_CHECKING:
    from mgd.documents import Document

_FOLDERS = (
    "training_configs",
    "model_configs",
    "multihost_configs",
    "device_configs",
    "optimizer_configs",
    "lora_configs",
    "eval_configs",
)


def get_tt_metal_home() -> str:
    """TT_METAL_HOME, or ~/.tt-metal when it is not set."""
    return os.environ.get(contract.METAL_HOME) or str(Path.home() / ".tt-metal")


def get_tt_metal_runtime_root() -> str:
    """TT_METAL_RUNTIME_ROOT, or what `get_tt_metal_home` gives: the folder that holds tt-train/."""
    return os.environ.get(contract.METAL_RUNTIME_ROOT) or get_tt_metal_home()


class Configuration(dict[str, Any]):
    """The content of a configuration file, a dict as any other, that knows the file and the place of each of its keys."""

    def __init__(self, content: Mapping[str, Any], document: Document) -> None:
        super().__init__(content)
        self._document = document

    def place(self, path: tuple[str, ...]) -> str:
        """ "file:line:column" of a key; of its value where it has one on the same line. "" for what a program has put here since."""
        node = self._document.find(*self._spelled(path))
        value: Any = self
        for step in path:
            if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
                value = value[int(step)]
                continue
            if not isinstance(value, Mapping) or step not in value:
                return self.file_place(path)
            value = value[step]
        return "" if node is None or node.value() != value else self.file_place(path)

    def file_place(self, path: tuple[str, ...]) -> str:
        """ "file:line:column" of a key as the file has it."""
        return str(self._document.place(*self._spelled(path)))

    def _spelled(self, path: tuple[str, ...]) -> Iterator[str | int]:
        """The steps to a key as the file spells them: `~` is the key None, `yes` True."""
        from mgd.documents import Mapping as MappingNode

        above: list[str | int] = []
        for step in path:
            holder = self._document.find(*above)
            word: str | int = int(step) if step.isdecimal() else step
            if isinstance(holder, MappingNode) and step not in holder.fields:
                same = (text for text, (key, _) in holder.fields.items() if str(key.value()) == step)
                word = next(same, step)
            above.append(word)
            yield word


def read_config(file: Path) -> Configuration:
    """The map that a file holds. Raises ConfigError with line and column for a file that is no YAML map."""
    from mgd.documents import DocumentError, read

    try:
        document = read(file.read_bytes(), file=str(file))
        content = document.value()
    except DocumentError as error:
        help = error.help
        if not help and "expected" in error.reason:
            help = "each line is 'key: value', indented with spaces alike in one section"
        raise ConfigError(f"{error.position}: {error.reason}{f'; help: {help}' * bool(help)}") from None
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{file}: {error}") from None
    if content is None:
        raise ConfigError(f"{file}:1:1: the file is empty; help: write training_config: {{max_steps: 100}}")
    if not isinstance(content, Mapping):
        raise ConfigError(
            f"{document.position(document.root)}: a configuration is a map of sections, not {document.root.shown() if document.root else ''}; help: write training_config: {{max_steps: 100}}"
        )
    lost = "\n".join(_lost_keys(document))
    if lost:
        raise ConfigError(lost)
    return Configuration(content, document)


def _lost_keys(document: Document) -> Iterator[str]:
    """A line for each key that would be lost: one that stands twice in a map, and one that is no single value."""
    from mgd.documents import Mapping as MappingNode
    from mgd.documents import Scalar, Sequence
    from mgd.documents.nodes import is_merge

    waiting, seen = [document.root], set[int]()
    while waiting:
        node = waiting.pop(0)
        if node is None or id(node) in seen:  # what an alias stands for is looked at once
            continue
        seen.add(id(node))
        if isinstance(node, Sequence):
            waiting += node.items
        if not isinstance(node, MappingNode):
            continue
        first: dict[str, Scalar] = {}
        for key, value in node.pairs:
            waiting.append(value)
            if not isinstance(key, Scalar):
                yield f"{document.position(key)}: {key.shown()} is no key of a setting; help: write key: value"
            if isinstance(key, Scalar) and not is_merge(key) and first.setdefault(key.text, key) is not key:
                line = first[key.text].line
                yield f"{document.position(key)}: {key.text!r} stands twice, first in line {line}; help: keep one of the two"


def find_config(path: str | os.PathLike[str], configs_root: str | os.PathLike[str] | None = None) -> Path:
    """The file that a configuration path means.

    ${NAME} in it is an environment variable. A relative path is looked up in the current folder, `configs_root`, $TT_METAL_RUNTIME_ROOT
    and $TT_METAL_HOME (their tt-train/ and tt-train/configs/), the configurations that ship with the package, and in the folders
    of each root by kind. Raises FileNotFoundError listing where it looked.
    """
    from mgd.resources import configs_root as shipped

    given = Path(os.path.expandvars(str(path))).expanduser()
    if given.is_absolute() and os.path.isfile(given):  # noqa: PTH113
        return given
    unset = re.match(r"\$\{?\w+\}?/", str(given))
    roots: list[Path] = []
    if given.is_absolute() and "tt-train" not in given.parts:
        candidates = [given]
    else:
        if given.is_absolute() or unset:
            # A file of upstream's tree: where that is not there, the one of the same name that ships here.
            parts = given.parts
            start = parts.index("tt-train") + 1 if "tt-train" in parts else 1
            given = Path(*parts[start:])
        homes = dict.fromkeys((get_tt_metal_runtime_root(), get_tt_metal_home()))
        roots = [
            Path.cwd(),
            *([Path(configs_root)] if configs_root else []),
            *(Path(home) / "tt-train" / below for home in homes for below in ("", "configs")),
            shipped() / "training",
        ]
        stripped = Path(*given.parts[1:]) if given.parts[:1] == ("configs",) else given
        names = dict.fromkeys(
            [given, stripped, *(Path(f) / stripped.name for f in _FOLDERS), Path(stripped.name)]
        )
        candidates = [root / name for root in roots for name in names]
    for candidate in candidates:
        if os.path.isfile(candidate):  # noqa: PTH113 - Path.is_file raises for a name too long
            return candidate
    named = str(path) if str(path).isprintable() and len(str(path)) < 1000 else value_words(str(path))
    if given.is_absolute() and given.is_dir():
        raise FileNotFoundError(
            f"configuration file {named} is a folder; help: one of {', '.join(sorted(f.name for f in given.glob('*.y*ml'))[:5]) or 'its files'}"
        )
    near = _beside(given) if given.is_absolute() else _near_configurations(given, roots)
    help = (
        f"\n  help: did you mean {' or '.join(near)}?" if near else "\n  help: write the path of a YAML file"
    )
    looked = list(dict.fromkeys(str(c.parent) for c in candidates if c.parent.is_dir()))
    where = ", ".join(looked) or str(candidates[0].parent)
    raise FileNotFoundError(f"configuration file {named} not found; looked for in {where}{help}")


def _beside(given: Path) -> list[str]:
    """The paths of configurations in the folder of the one that is missing, near ones before others."""
    from difflib import get_close_matches

    names = sorted(file.name for file in given.parent.glob("*.y*ml"))
    return [str(given.with_name(name)) for name in get_close_matches(given.name, names, 2) or names[:2]]


def _near_configurations(given: Path, roots: Sequence[Path]) -> list[str]:
    """Names of configurations below the roots that are near the one that is missing."""
    from difflib import get_close_matches

    folders = [root / name for root in roots for name in ("", *_FOLDERS)]
    names = {file.name for folder in folders if folder.is_dir() for file in folder.glob("*.yaml")}
    return get_close_matches(given.name, sorted(names), 2)
