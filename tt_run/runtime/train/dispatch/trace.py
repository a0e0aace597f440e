"""What `dispatch` did: one entry for each call, in the module that called it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tt_run.runtime.train.parallel.layouts import Layout
from tt_run.runtime.train.trainers.callback import TrainerCallback


@dataclass(repr=False)
class TraceEntry:
    """One call: how operands lay, by which rule they were laid, the collectives, how the result lies."""

    op_name: str
    input_layouts: list[Layout | None]
    rule_name: str | None
    plan: Any
    pre_collectives: list[dict[str, Any]]
    redistributions: list[dict[str, Any]]
    post_collectives: list[dict[str, Any]]
    output_layout: Layout | None
    op_kwargs: dict[str, Any] = field(default_factory=dict)
    depth: int = 0
    module_stack: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, layouts as texts."""
        names = (
            "op_name",
            "rule_name",
            "depth",
            "module_stack",
            "input_layouts",
            "output_layout",
            "op_kwargs",
        )
        more = ("pre_collectives", "redistributions", "post_collectives")
        return {name: _plain(getattr(self, name)) for name in names + more}

    def __repr__(self) -> str:
        parts = {"kwargs": self.op_kwargs, "pre_ccl": self.pre_collectives, "redist": self.redistributions, "post_ccl": self.post_collectives}  # fmt: skip
        said = [f"{name}={value}" for name, value in parts.items() if value]
        lies = f"{self.input_layouts} -> {self.output_layout}"
        return f"TraceEntry({', '.join([self.op_name, f'rule={self.rule_name}', lies, *said])})"


class DispatchTrace:
    """Entries while it is enabled."""

    def __init__(self) -> None:
        self._enabled, self._entries, self._modules, self._depth = False, list[TraceEntry](), list[str](), 0

    @property
    def enabled(self) -> bool:
        """Whether calls are noted."""
        return self._enabled

    @property
    def entries(self) -> list[TraceEntry]:
        """What was noted, in order."""
        return list(self._entries)

    @property
    def current_depth(self) -> int:
        """How many calls are under way, one within the other."""
        return self._depth

    @property
    def current_module_stack(self) -> list[str]:
        """Names of the modules that are being called, the outermost first."""
        return list(self._modules)

    def enable(self) -> None:
        """Note calls from now on."""
        self._enabled = True

    def disable(self) -> None:
        """Note no more."""
        self._enabled = False

    def clear(self) -> None:
        """Forget what was noted."""
        self._entries.clear()

    @contextlib.contextmanager
    def module_scope(self, name: str) -> Iterator[None]:
        """Calls within are those of a module of this name."""
        self._modules.append(name)
        try:
            yield
        finally:
            self._modules.pop()

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """A call is under way."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def record(self, entry: TraceEntry) -> None:
        """Note an entry while it is enabled."""
        if self._enabled:
            entry.depth, entry.module_stack = self._depth, self.current_module_stack
            self._entries.append(entry)

    def format_entries_tree(
        self, entries: Sequence[TraceEntry] | None = None, max_entries: int | None = None
    ) -> str:
        """Modules, indented by their depth, each with its calls below it."""
        found = list(self._entries if entries is None else entries)[:max_entries]
        lines, before = list[str](), list[str]()
        for entry in found:
            same = next((n for n, (a, b) in enumerate(zip(before, entry.module_stack, strict=False)) if a != b), min(len(before), len(entry.module_stack)))  # fmt: skip
            lines += [
                "  " * depth + entry.module_stack[depth] for depth in range(same, len(entry.module_stack))
            ]
            before = entry.module_stack
            words = [
                f"{c['type']}(axis={c['mesh_axis']})"
                for c in (*entry.pre_collectives, *entry.post_collectives)
            ]
            words += [f"arg{r['arg_idx']}: {r['from']} -> {r['to']}" for r in entry.redistributions]
            rule = f" [{entry.rule_name}]" if entry.rule_name else ""
            lines.append("  " * len(before) + ", ".join([f"{entry.op_name}{rule}", *words]))
        return "\n".join(lines) or "(no trace entries)"


dispatch_trace = DispatchTrace()
"""The process's own."""


class DispatchTracer:
    """`with DispatchTracer() as tracer:` notes the calls within in `tracer.entries`."""

    def __init__(self) -> None:
        self.entries: list[TraceEntry] = []

    def __enter__(self) -> DispatchTracer:
        self._before, self._start = dispatch_trace.enabled, len(dispatch_trace.entries)
        dispatch_trace.enable()
        return self

    def __exit__(self, *_: object) -> None:
        self.entries = dispatch_trace.entries[self._start :]
        if not self._before:
            dispatch_trace.disable()


class DispatchTraceCallback(TrainerCallback):
    """Notes the calls of a trainer's first `steps` steps, and prints them as a tree."""

    def __init__(self, steps: int = 1) -> None:
        self.steps = steps

    def on_train_begin(self, trainer: Any) -> None:
        """Begin."""
        dispatch_trace.clear()
        dispatch_trace.enable()

    def on_step_end(self, trainer: Any, step: int, *_: Any, **__: Any) -> None:
        """Print after the last of the steps."""
        if step == self.steps:
            dispatch_trace.disable()
            print(dispatch_trace.format_entries_tree())


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
