"""Configuration documents: what may stand in one, how a section of it is found, and where in a file a setting stands.

A document is a map with sections at its top, those that `SECTIONS` lists, or one section by itself. `FileSection` is a section that is made from any of them.
"""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from typing import Any

from tt_run.runtime.train.common.files import Configuration, find_config, read_config
from tt_run.runtime.train.kinds import text
from tt_run.runtime.train.settings import ConfigError, ConfigurationProblems, Path, Section, value_words

MODEL_FILE = "transformer_config_path"
"""At the top of a file: the path of another one with `transformer_config`."""


SECTIONS: dict[str, type[Section]] = {}
"""What a document may hold, by its name at the top. `config` declares the sections, which are made from documents, and enters them here."""


class ConfigLoop(ConfigError):
    """A file that would be part of itself."""


_open_files: contextvars.ContextVar[tuple[FilePath, ...]] = contextvars.ContextVar("open files", default=())
"""The files that are being read, each named by the one before it."""


class FileSection(Section):
    """A section of a file: made from a whole configuration, from the path of one, from the section by itself, or from settings by name.

    A setting that is given as None keeps its default."""

    def __init__(self, source: Any = None, **settings: Any) -> None:
        super().__init__()
        self.update_config(source)
        report = ConfigurationProblems(no_position, (self.section,))
        self.fill({name: value for name, value in settings.items() if value is not None}, report)
        self.agree(report)
        report.settle()

    def update_config(self, source: Any) -> None:
        """Take the settings that another configuration gives, and keep the others. Raises ConfigError."""
        found = whole_of(source, self.section)
        report = ConfigurationProblems(places(found), (self.section,))
        self.fill(found.get(self.section), report)
        self.agree(report)
        report.settle()

    def agree(self, report: ConfigurationProblems) -> None:
        """Note what does not go together. Asked where a section is made: a file may wait for settings that a program adds."""


def load_config(path: str | os.PathLike[str], configs_root: str | None = None) -> dict[str, Any]:
    """The content of a configuration file; where it is looked for says `find_config`.

    Raises FileNotFoundError listing where it looked, and ConfigError, a line for each problem, for a file that is not well-formed, has unknown
    keys, or values of the wrong kind or out of range.
    """
    file = find_config(path, configs_root)
    open_files = _open_files.get()
    if file in open_files:
        raise ConfigLoop(
            f"configuration file {file} names itself{' by way of others' * (file != open_files[-1])}"
        )
    token = _open_files.set((*open_files, file))
    try:
        found = read_config(file)
        check(found, found.file_place)
    finally:
        _open_files.reset(token)
    return found


def check(document: Mapping[str, Any], place: Callable[[Path], str]) -> None:
    """Raise ConfigError naming everything that is wrong with a whole configuration, or with one section by itself."""
    report = ConfigurationProblems(place)
    alone = _alone(document)
    if alone is not None:
        alone().fill(document, report)
    else:
        for name, content in document.items():
            below = report.below(str(name))
            kind = SECTIONS.get(name)
            if name == MODEL_FILE:
                text.read(content, below)
            elif kind is None:
                below.unknown((*SECTIONS, MODEL_FILE))
            else:
                Section.fill(_blank(kind), content, below)
    report.settle()


def _alone(document: Mapping[str, Any]) -> type[Section] | None:
    """The section that a map without section names is, by its keys."""
    if not document or any(name in SECTIONS or name == MODEL_FILE for name in document):
        return None
    best = max(SECTIONS.values(), key=lambda kind: len(set(kind.settings) & set(document)))
    return (lambda: _blank(best)) if set(best.settings) & set(document) else None  # type: ignore[return-value]


def _blank(kind: type[Section]) -> Section:
    """A section with its defaults, whatever else its constructor would do."""
    made = kind.__new__(kind)
    Section.__init__(made)
    return made


def whole_of(source: Any, name: str) -> Mapping[str, Any]:
    """A configuration given as a map, the path of a file, or one of its sections by itself, here `name`.

    A map may have sections of the program's own.
    """
    if source is None:
        return {}
    if isinstance(source, (str, os.PathLike)):
        return whole_of(load_config(source), name)
    if not isinstance(source, Mapping):
        raise ConfigError(
            f"the configuration is a map of settings, not {value_words(source)}; help: training_config: and other sections, or the name of a file"
        )
    if source and not any(name in source for name in (*SECTIONS, MODEL_FILE) if name != "optimizer"):
        return _Alone({name: source}, source)
    return source


def section_of(document: Any, name: str) -> Mapping[str, Any]:
    """A section of a whole configuration that a program hands over, nothing where it has none. Raises ConfigError for what is no map, TypeError for None."""
    if document is None:
        raise TypeError("the configuration is a map of settings, not None")
    given = whole_of(document, name).get(name)
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        report = ConfigurationProblems(places(document), (name,))
        report.wrong(f" is a map of settings, not {value_words(given)}")
        report.settle()
    found: Mapping[str, Any] = given
    return found


class _Alone(dict[str, Any]):
    """A section by itself, under its name."""

    def __init__(self, content: Mapping[str, Any], source: Mapping[str, Any]) -> None:
        super().__init__(content)
        self.source = source


def places(document: Mapping[str, Any]) -> Callable[[Path], str]:
    """Where the settings of a document stand, "" for those of a program."""
    if isinstance(document, _Alone) and isinstance(document.source, Configuration):
        alone = document.source
        return lambda path: alone.place(path[1:])
    return document.place if isinstance(document, Configuration) else no_position


def no_position(path: Path) -> str:
    """The place of what a program gave: none."""
    return ""
