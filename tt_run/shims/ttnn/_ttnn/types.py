"""`ttnn._ttnn.types`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.mesh.view": """
        QueueId
    """,
    "tt_run.runtime.descriptors.words": """
        DataMovementProcessor NOC_MODE
    """,
    "tt_run.runtime.enums": """
        DEVICE_STORAGE_TYPE=StorageType.DEVICE HOST_STORAGE_TYPE=StorageType.HOST
    """,
    "tt_run.runtime.tuning.choices": """
        CoreType NOC
    """,
    "tt_run.runtime.ops.elementwise.bcast": """
        BcastOpDim BcastOpMath
    """,
    "tt_run.runtime.tensor.spec.memory_config": "CoreGrid DRAM_MEMORY_CONFIG L1_MEMORY_CONFIG",
    "tt_run.runtime.tensor.spec.tensor_spec": "Shape",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
