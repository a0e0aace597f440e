"""`ttnn._ttnn.tensor`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.enums": "DataType Layout StorageType BufferType TensorMemoryLayout ShardOrientation",
    "tt_run.runtime.tensor.spec.memory_config": "MemoryConfig ShardSpec CoreCoord CoreRange CoreRangeSet",
    "tt_run.runtime.tensor.spec.tensor_spec": "Shape Tile TensorSpec",
    "tt_run.runtime.tensor.tensor": "Tensor",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
