"""`ttnn.config_serialization`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tools.config_dicts": """
        memory_config_to_dict compute_kernel_config_to_dict program_config_to_dict
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
