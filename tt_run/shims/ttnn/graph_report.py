"""`ttnn.graph_report`: names only; `python -m ttnn.graph_report` writes the database."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.graph.database.comparisons": """
        COMPARISON_RECORDS_FALLBACK_NAME=COMPARED COMPARISON_RECORDS_SIDECAR_SUFFIX=COMPARED_SUFFIX
        import_tensor_comparison_records
    """,
    "tt_run.runtime.graph.calls": "PYTHON_IO_SIDECAR_SUFFIX=SUFFIX",
    "tt_run.runtime.graph.database.importing": "SUPPORTED_REPORT_VERSION import_report main",
    "tt_run.runtime.graph.database.pytest_fixture": "derive_report_name run_pytest_graph_report_fixture",
    "tt_run.runtime.graph.database.rows": "import_devices import_graph import_metadata",
    "tt_run.runtime.graph.database.schema": """
        DATABASE_SCHEMA_VERSION create_database_schema save_database_schema_version CREATE_SOURCE_FILES_TABLE_SQL
        CREATE_STACK_TRACES_TABLE_WITH_SOURCE_SQL CREATE_INDEX_STACK_TRACES_SOURCE_FILE_SQL
    """,
    "tt_run.runtime.graph.database.lifetimes": "compute_tensor_lifetime_records",
    "tt_run.runtime.graph.database.origins": "sanitize_git_remote_url",
    "tt_run.runtime.graph.database.sources": "get_source_file_id normalize_source_path_from_stack_trace read_source_file",
    "tt_run.runtime.graph.extract": "extract_operation_durations extract_total_duration_from_graph",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)

if __name__ == "__main__":
    import sys

    sys.exit(__getattr__("main")())
