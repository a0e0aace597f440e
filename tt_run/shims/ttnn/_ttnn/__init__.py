"""`ttnn._ttnn`, the native module of the reference: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.settings": "CONFIG",
    "tt_run.runtime.tensor.tensor": "fetch_and_increment_tensor_id=next_tensor_id",
    "tt_run.runtime.tools.numbering": """
        get_tensor_id set_tensor_id get_python_operation_id set_python_operation_id fetch_and_increment_python_operation_id
        get_device_operation_id set_device_operation_id fetch_and_increment_device_operation_id
    """,
}

_SUBMODULES = (
    "activation",
    "bfp_utils",
    "cluster",
    "core",
    "counter_channel",
    "d2d_stream_service",
    "device",
    "events",
    "fabric",
    "global_circular_buffer",
    "global_semaphore",
    "graph",
    "h2d_stream_service",
    "hd_socket",
    "mcast_host",
    "mesh_socket",
    "multi_device",
    "operations",
    "profiler",
    "program_descriptor",
    "reports",
    "tensor",
    "tensor_accessor_args",
    "types",
)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
