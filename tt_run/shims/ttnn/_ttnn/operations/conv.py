"""`ttnn._ttnn.operations.conv`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": """
        Conv2dConfig PaddingMode conv1d conv2d conv_transpose2d prepare_conv_bias
        prepare_conv_transpose2d_bias prepare_conv_transpose2d_weights prepare_conv_weights
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
