"""The lists of `ttnn.decorators` that say what is called around operations, and which operations are under way.

A program that asks for one of them changes it or reads it at any time, so from then on every operation is looked at.
Source: reference library 0.81.1.
"""

from __future__ import annotations

from typing import Any

from tt_run.runtime import events
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.tools import hooks
from tt_run.runtime.tools.hooks import POST_OPERATION_HOOKS as POST_OPERATION_HOOKS
from tt_run.runtime.tools.hooks import PRE_OPERATION_HOOKS as PRE_OPERATION_HOOKS

OPERATION_CALL_STACK: list[str] = []
"""The names of the operations that are under way, the innermost last."""


def _around(begun: events.Begun) -> events.After | None:
    if not isinstance(begun.subject, FastOperation):
        return None
    OPERATION_CALL_STACK.append(begun.subject.python_fully_qualified_name)

    def after(result: Any, error: BaseException | None) -> None:
        OPERATION_CALL_STACK.pop()

    return after


hooks.around_every_operation(_around)
hooks.look()
