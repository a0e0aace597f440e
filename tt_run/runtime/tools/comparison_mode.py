"""`ttnn.CONFIG.enable_comparison_mode`: what compares is loaded when a program first switches it on, for it takes the golden functions along."""

from __future__ import annotations

from tt_run.runtime.settings import follow

_loaded = False


def _switch(on: bool) -> None:
    global _loaded
    if on or _loaded:
        from tt_run.runtime.tools import comparison

        _loaded = True
        comparison.switch(on)


follow("enable_comparison_mode", _switch)
