"""`ttnn._ttnn.operations.experimental.disaggregation`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn.experimental.disaggregation": """
        ChunkCompression DeviceGroup DeviceGroupIndex KvCacheLocation KvChunkAddressTable KvChunkAddressTableConfig
        KvChunkTensorType tensor_from_bfp8_bytes
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
