"""`ttnn.CONFIG`: settings that a program changes while it runs, with the reference's names, defaults and text.

Which of them act here: `cache_path`, `model_cache_path` and `enable_model_cache` (converted parameters are kept),
`enable_comparison_mode` with its two companions (each operation is compared with its golden function), `strict_ccl_topology`
(a gather that would interleave shards raises), the report's name and root, and what a report of a captured graph tells
(`enable_graph_report`, `enable_graph_python_stack_traces`, `enable_detailed_buffer_report`, `enable_detailed_tensor_report`). The others
describe work that the emulation does not do (fallbacks, program validation); they can be set and change nothing.
Source: reference library 0.81.1.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from tt_run.runtime.errors import fatal, sentence_of, throw
from tt_run.runtime.native.classes import Native, native

_followers: dict[str, Callable[[Any], None]] = {}
_PATHS = ("cache_path", "model_cache_path", "tmp_dir", "root_report_path")


@native("ttnn._ttnn.core.Config")
@dataclasses.dataclass(init=False, repr=False, eq=False)
class Config(metaclass=Native):
    """The settings of the library, `ttnn.CONFIG`. Raises AttributeError for one that does not exist, TypeError for a value of the wrong kind."""

    cache_path: Path = Path("~/.cache/ttnn")
    model_cache_path: Path = Path("~/.cache/ttnn/models")
    tmp_dir: Path = Path("/tmp/ttnn")
    enable_model_cache: bool = False
    enable_fast_runtime_mode: bool = True
    validate_program_args: bool = False
    throw_exception_on_fallback: bool = False
    enable_logging: bool = False
    enable_graph_report: bool = False
    enable_graph_python_stack_traces: bool = False
    enable_detailed_buffer_report: bool = False
    enable_detailed_tensor_report: bool = False
    enable_comparison_mode: bool = False
    comparison_mode_should_raise_exception: bool = False
    comparison_mode_pcc: float = 0.9999
    root_report_path: Path = Path("generated/ttnn/reports")
    report_name: Path | None = None
    strict_ccl_topology: bool = False
    _named_at: ClassVar[float] = 0.0

    def __init__(self, other: Config | None = None) -> None:
        """The defaults, or a copy of other settings."""
        for field in dataclasses.fields(self):
            value: Any = field.default if other is None else getattr(other, field.name)
            setattr(self, field.name, Path(value).expanduser() if field.name in _PATHS else value)
        self._name_at(0.0 if other is None else other._named_at)

    def _name_at(self, seconds: float) -> None:
        object.__setattr__(self, "_named_at", seconds)

    @property
    def report_path(self) -> Path | None:
        """The folder of the report: its name and the minute in which it was named; None without a name."""
        if self.report_name is None:
            return None
        name = str(self.report_name).replace(" ", "_")
        stamp = time.strftime("%b%d_%H%M", time.localtime(self._named_at)).lower()
        return self.root_report_path / f"{name}_{stamp}"

    @classmethod
    def keys(cls) -> list[str]:
        """The names of the settings."""
        return [field.name for field in dataclasses.fields(cls)]

    def apply_json_overrides(self, json_text: str, strict: bool = True, source: str = "") -> None:
        """Take settings from a JSON object; when strict, all of them or none.

        Raises RuntimeError for text that is no JSON object and, when strict, for unknown keys and values of the wrong kind; otherwise
        those are passed over with a warning.
        """
        where = f" (from {source})" if source else ""
        taken: dict[str, Any] = {}
        for name, value in _object(json_text, where).items():
            fault = _fault(name, value)
            if fault is None:
                taken[name] = value
            elif strict:
                raise throw(f"{fault}{where}", hint=_near(name, self.keys()))
            else:
                _warn(f"{fault}{where}")
        for name, value in taken.items():
            setattr(self, name, value)

    def load_from_file(self, path: str | Path) -> None:
        """Take settings from a JSON file; keys that are not known are passed over, as files may be newer, and so is a file that is none."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            return _warn(f"Failed to load ttnn configuration from {path}: {error.strerror}")
        try:
            self.apply_json_overrides(text, strict=False, source=str(path))
        except RuntimeError as error:
            _warn(f"Failed to load ttnn configuration from {path}: {sentence_of(error)}")

    def save_to_file(self, path: str | Path) -> None:
        """Write all settings as JSON."""
        values = {name: getattr(self, name) for name in self.keys()}
        Path(path).write_text(json.dumps(values, indent=4, default=str), encoding="utf-8")

    def __setattr__(self, name: str, value: Any) -> None:
        known = self.keys()
        if name not in known:
            near = _near(name, known) or f"there are {', '.join(sorted(known))}"
            raise AttributeError(f"ttnn.CONFIG has no setting {name!r}; {near}")
        value = _checked(name, value, Config.__dataclass_fields__[name].default)
        if name == "report_name":
            self._name_at(time.time())
        if name == "cache_path" and getattr(self, "model_cache_path", None) == self._models():
            object.__setattr__(self, "model_cache_path", Path(value) / "models")
        object.__setattr__(self, name, value)
        if name in _followers and globals().get("CONFIG") is self:
            _followers[name](value)

    def _models(self) -> Path | None:
        """Where models are kept when nobody said otherwise."""
        cache = getattr(self, "cache_path", None)
        return None if cache is None else Path(cache) / "models"

    def __repr__(self) -> str:
        words = [f"{name}={_text(getattr(self, name))}" for name in self.keys()]
        return f"Config{{{','.join([*words, _text(self.report_path)])}}}"


def _checked(name: str, value: Any, default: Any) -> Any:
    """A value of the kind of the setting's default."""
    if name in _PATHS or name == "report_name":
        if value is None and default is None:
            return None
        if isinstance(value, (str, os.PathLike)):
            return Path(value)
        raise TypeError(f"ttnn.CONFIG.{name} must be a path, not {value!r}")
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
        raise TypeError(f"ttnn.CONFIG.{name} must be True or False, not {value!r}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise TypeError(f"ttnn.CONFIG.{name} must be a number, not {value!r}")


def _object(text: str, where: str) -> dict[str, Any]:
    """The JSON object that a text is."""
    try:
        values = json.loads(text)
    except ValueError as error:
        raise throw(
            f"TTNN config overrides are not valid JSON: {error}{where}",
            hint="TTNN_CONFIG_OVERRIDES='{\"enable_logging\": true}'",
        ) from None
    if not isinstance(values, dict):
        raise fatal(
            f"TTNN config overrides must be a JSON object, got: {json.dumps(values)}{where}",
            "json.is_object()",
            hint="TTNN_CONFIG_OVERRIDES='{\"enable_logging\": true}'",
        )
    return values


def _fault(name: str, value: Any) -> str | None:
    """What is wrong with a setting from JSON; None when it can be taken."""
    field = next((field for field in dataclasses.fields(Config) if field.name == name), None)
    if field is None:
        return f"Unknown configuration key: {name}"
    wanted = _json_kind(field.default)
    given = "null" if value is None else _json_kind(value)
    if given == wanted or (value is None and field.default is None):
        return None
    return f"Bad value for configuration key {name}: type must be {wanted}, but is {given}"


def _json_kind(value: Any) -> str:
    """The word of JSON for the kind of a value; what is a path, or may be one, is a string."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, (dict, list)):
        return "object" if isinstance(value, dict) else "array"
    return "string"


def _warn(text: str) -> None:
    print(f"ttnn: {text}", file=sys.stderr, flush=True)


def _near(name: str, known: list[str]) -> str | None:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near and near[0] != name else None


def _text(value: Any) -> str:
    if value is None:
        return "std::nullopt"
    return str(value).lower() if isinstance(value, bool) else str(value)


CONFIG = Config()
CONFIG_PATH: str | None = None
"""The file that `TTNN_CONFIG_PATH` names, once `load_environment` has read it."""
CONFIG_OVERRIDES: str | None = None
"""The JSON text of `TTNN_CONFIG_OVERRIDES`, once `load_environment` has read it."""


def load_environment(environment: Mapping[str, str] = os.environ) -> None:
    """Take settings from the file that TTNN_CONFIG_PATH names and the JSON text in TTNN_CONFIG_OVERRIDES."""
    global CONFIG_PATH, CONFIG_OVERRIDES
    CONFIG_PATH = environment.get("TTNN_CONFIG_PATH")
    CONFIG_OVERRIDES = environment.get("TTNN_CONFIG_OVERRIDES")
    if CONFIG_PATH:
        CONFIG.load_from_file(CONFIG_PATH)
    if CONFIG_OVERRIDES:
        CONFIG.apply_json_overrides(CONFIG_OVERRIDES, source="TTNN_CONFIG_OVERRIDES")


def load_config_from_dictionary(
    config: Mapping[str, Any], from_file: bool = False, source: object = None
) -> None:
    """Take settings from a dictionary. Raises ValueError for unknown keys and wrong values unless they come from a file."""
    text = json.dumps(dict(config), default=str)
    try:
        CONFIG.apply_json_overrides(text, strict=not from_file, source=str(source or ""))
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def load_config_from_json_file(json_path: str | Path) -> None:
    """Take settings from a JSON file."""
    CONFIG.load_from_file(json_path)


def save_config_to_json_file(json_path: str | Path) -> None:
    """Write all settings to a JSON file."""
    CONFIG.save_to_file(json_path)


def follow(name: str, changed: Callable[[Any], None]) -> None:
    """Call `changed` with the value of a setting of `CONFIG`, now and whenever it changes; one follower for each setting."""
    _followers[name] = changed
    changed(getattr(CONFIG, name))


@contextmanager
def manage_config(name: str, value: Any) -> Iterator[None]:
    """A setting for the length of a `with` block. Raises AttributeError for one that does not exist."""
    before = getattr(CONFIG, name, None)
    setattr(CONFIG, name, value)
    try:
        yield
    finally:
        setattr(CONFIG, name, before)
