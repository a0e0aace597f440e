"""Functions from signatures that are written as text: what differs in its parameters alone needs no function of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig


def with_signature(
    name: str, signature: str, body: Callable[[dict[str, Any]], Any], doc: str
) -> Callable[..., Any]:
    """A function of that signature which hands its arguments by name to `body`: Python binds them, `inspect` and editors see them."""
    word = re.sub(r"\W", "_", name)
    source = (
        f"from __future__ import annotations\ndef {word}{signature} -> Tensor:\n    return _body(locals())\n"
    )
    space: dict[str, Any] = {"_body": body, **_NAMES}
    # The name of its file says that a line in it is not the program's.
    exec(compile(source, f"{__file__.removesuffix('.py')}/{name}", "exec"), space)
    made: Callable[..., Any] = space[word]
    made.__doc__ = doc
    made.__module__ = __name__
    return made


# What defaults in signatures may name.
_NAMES = {"DataType": DataType, "Layout": Layout, "MemoryConfig": MemoryConfig}
