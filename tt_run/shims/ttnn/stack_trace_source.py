"""`ttnn.stack_trace_source`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.graph.database.schema": """
        CREATE_SOURCE_FILES_TABLE_SQL CREATE_STACK_TRACES_TABLE_WITH_SOURCE_SQL CREATE_INDEX_STACK_TRACES_SOURCE_FILE_SQL
    """,
    "tt_run.runtime.graph.database.sources": """
        extract_stack_trace_file get_source_file_id normalize_existing_source_file_path
        normalize_source_path_from_stack_trace read_source_file
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
