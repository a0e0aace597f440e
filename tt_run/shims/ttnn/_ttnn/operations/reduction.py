"""`ttnn._ttnn.operations.reduction`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": """
        ReduceType argmax cumprod cumsum ema manual_seed max mean min moe prod sampling std sum topk var
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
