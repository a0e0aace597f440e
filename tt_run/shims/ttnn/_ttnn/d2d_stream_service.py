"""`ttnn._ttnn.d2d_stream_service`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.sockets.services.device_to_device": """
        D2DStreamService D2DStreamServiceReceiver D2DStreamServiceSender
    """,
    "tt_run.runtime.sockets.services.stage_gates": """
        D2DStageGateConfig D2DStageGateMode D2D_STAGE_GATE_UNGATED_SLOT=UNGATED_SLOT
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
