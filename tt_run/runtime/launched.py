"""What the launch has told this process in variables. A replay shows its program those of the recorded run, and itself goes by its own."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping

variables: MutableMapping[str, str] = os.environ
"""The variables that this process goes by."""


def show(recorded: Mapping[str, str], prefixes: tuple[str, ...]) -> None:
    """Let the program see the variables with these beginnings as they were recorded. Processes that it starts do not get them: there is no run."""
    global variables
    variables = dict(os.environ)
    for name in [name for name in os.environ if name.startswith(prefixes) and name not in recorded]:
        del os.environ[name]
    for name, value in recorded.items():
        if name.startswith(prefixes):
            os.environ._data[os.environ.encodekey(name)] = os.environ.encodevalue(value)  # type: ignore[attr-defined]
