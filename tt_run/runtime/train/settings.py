"""Settings of a training configuration: each is declared once, with its kind, range, default and source, and read in one way.

```python
class EvalConfig(Section):
    section = "eval_config"
    top_k = Setting(whole(low=0), 50, "upstream's eval_config.yaml")

EvalConfig({"eval_config": {"top_k": 7}}).top_k     # 7
EvalConfig({"eval_config": {"top_q": 7}})           # ConfigError: unknown key 'top_q' in eval_config; did you mean 'top_k'?
```
"""

from __future__ import annotations

import contextlib
import difflib
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar, overload

_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = 60
V = TypeVar("V")
Path = tuple[str, ...]
Place = Callable[[Path], str]
"""Where a key stands, "train.yaml:3:5", or "" where a program gave it."""


class ConfigError(ValueError):
    """A configuration that cannot be used; each line of the message names file, line and column, the key, and the nearest valid one."""


class ConfigurationProblems:
    """What is wrong with a configuration, collected; `path` is where the reading is."""

    def __init__(self, place: Place, path: Path = (), problems: list[str] | None = None) -> None:
        self.place, self.path = place, path
        self.problems: list[str] = [] if problems is None else problems
        self._listed: set[str] = set()  # the maps whose keys have been listed

    def below(self, key: str) -> ConfigurationProblems:
        """The report of what stands below a key."""
        report = ConfigurationProblems(self.place, (*self.path, key), self.problems)
        report._listed = self._listed
        return report

    def wrong(self, what: str, example: str = "") -> None:
        """Note a setting whose value cannot be used; `what` follows its name, and `example` is a value that can."""
        hint = (
            f"; help: write {self.path[-1]}: {example}"
            if example and self.path and not self.path[-1].isdecimal()
            else ""
        )
        self._add(f"{'.'.join(self.path) or 'the configuration'}{what}{hint}")

    def unknown(self, known: Iterable[str]) -> None:
        """Note a key that nothing reads."""
        names = sorted(known)
        near = difflib.get_close_matches(self.path[-1], names, n=1)
        inside = f" in {self.path[-2]}" if len(self.path) > 1 else ""
        hint = f"; help: did you mean {near[0]!r}?" if near else ""
        if not near and inside not in self._listed:  # once is enough
            self._listed.add(inside)
            hint = f"; help: one of {', '.join(names)}"
        self._add(f"unknown key {value_words(self.path[-1])}{inside}{hint}")

    def _add(self, text: str) -> None:
        place = self.place(self.path) or "the configuration"
        self.problems.append(f"{place}: {text}")

    def settle(self) -> None:
        """Raise ConfigError with every problem on a line of its own."""
        if self.problems:
            raise ConfigError("\n".join(self.problems))


class Kind(Protocol):
    """How a value is read. `read` gives what it stands for, or notes what is wrong and gives None; `in_words` says for people what it takes."""

    @property
    def in_words(self) -> str:
        """What it takes, in words."""

    def read(self, value: Any, report: ConfigurationProblems) -> Any:
        """The value as the program uses it."""


class Setting(Generic[V]):
    """One key of a section. `key` is its name in files where that differs from the attribute; `source` says where it comes from."""

    def __init__(self, kind: Kind, default: V, source: str, key: str = "") -> None:
        self.kind, self.default, self.source, self.key = kind, default, source, key

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.key = name, self.key or name

    @overload
    def __get__(self, section: None, owner: type) -> Setting[V]: ...
    @overload
    def __get__(self, section: Section, owner: type) -> V: ...
    def __get__(self, section: Section | None, owner: type) -> Setting[V] | V:
        if section is None:
            return self
        found: V = section.__dict__[self.name]
        return found

    def __set__(self, section: Section, value: V) -> None:
        section.__dict__[self.name] = value

    def fresh(self) -> V:
        """The default, a list, map or section as one of its own."""
        if isinstance(self.default, (list, dict)):
            return self.default.copy()  # type: ignore[return-value]
        if isinstance(self.default, Section):
            return type(self.default)()
        return self.default


class Section:
    """A map of settings. `given` holds the keys that were given, as they were read."""

    section: ClassVar[str] = ""
    settings: ClassVar[dict[str, Setting[Any]]] = {}
    empty_is_default: ClassVar[bool] = False
    """Whether a key without a value means its default; elsewhere it is refused unless the default is None."""

    given: dict[str, Any]

    def __init_subclass__(cls) -> None:
        own = {s.key: s for s in vars(cls).values() if isinstance(s, Setting)}
        cls.settings = {**cls.settings, **own}

    def __init__(self) -> None:
        self.given = {}
        for setting in self.settings.values():
            setting.__set__(self, setting.fresh())

    def fill(self, given: Any, report: ConfigurationProblems) -> None:
        """Take the settings of a map; what is wrong goes to the report."""
        if given is None:
            return
        if not isinstance(given, Mapping):
            report.wrong(f" is a map of settings, not {value_words(given)}")
            return
        for key, value in given.items():
            here = report.below(str(key))
            setting = self.settings.get(key) if isinstance(key, str) else None
            if setting is None:
                here.unknown(self.settings)
                continue
            if value is None and (self.empty_is_default or setting.default is None):
                continue
            read = setting.kind.read(value, here)
            if read is not None:
                self.given[key] = read
                setting.__set__(self, read)

    def __repr__(self) -> str:
        shown = ", ".join(f"{s.name}={getattr(self, s.name)!r}" for s in self.settings.values())
        return f"{type(self).__name__}({shown})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            getattr(self, s.name) == getattr(other, s.name) for s in self.settings.values()
        )

    __hash__ = None  # type: ignore[assignment]  # sections may be changed


def value_words(value: Any) -> str:
    """A value in a message: as it is, but cut where it is long or deep; by its kind where Python does not write it (an integer of 5,000 digits)."""
    try:
        return _BRIEF.repr(value)
    except (ValueError, RecursionError):
        return f"a value of type {type(value).__name__}"


Given = tuple[Any, Place, Path]
"""Settings of a section, where each stands, and the path that leads to them."""


def place_of(key: str, sections: list[Given]) -> str:
    """Where a setting stands that the last of some sections gives, else where that section does; "" for those of a program."""
    found = ""
    for given, place, path in sections:
        below = _paths(given).get(key)
        if below is not None or given is sections[-1][0]:
            found = place((*path, *(below or ())))
    return found


def _paths(given: Any) -> dict[str, Path]:
    """The path to each key of a map and of the maps in it; one nearer to the top goes first."""
    if not isinstance(given, Mapping):
        return {}
    inner = {key: (str(name), *path) for name, value in given.items() for key, path in _paths(value).items()}
    return {**inner, **{str(key): (str(key),) for key in given}}


@contextlib.contextmanager
def saying_where(sections: list[Given]) -> Iterator[None]:
    """What is refused inside begins with where the settings stand: the first one that it names, else their section; of a program's own it is as it was."""
    try:
        yield
    except (AssertionError, RuntimeError, ValueError) as error:
        told = str(error)
        given = {key for content, _, _ in sections for key in _paths(content)}
        named = next((word for word in re.findall(r"\w+", told) if word in given), "")
        place = place_of(named, sections)
        if place and error.args == (told,) and not isinstance(error, ConfigError):
            error.args = (f"{place}: {told}",)
        raise
