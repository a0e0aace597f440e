"""The profiler's reports: test files import their readers beside tests that read none, so the names are here, and a reader refuses when called.

Source: the modules of `tracy` that come with reference library 0.81.1.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from tt_run.runtime.native import names

TT_METAL_HOME = Path(os.environ.get("TT_METAL_HOME") or Path.cwd())

PROFILER_DEVICE_SIDE_LOG = "profile_log_device.csv"
PROFILER_HOST_SIDE_LOG = "profile_log_host.csv"
PROFILER_HOST_DEVICE_SYNC_INFO = "sync_device_info.csv"
PROFILER_CPP_DEVICE_PERF_REPORT = "cpp_device_perf_report.csv"
PROFILER_DEFAULT_OP_SUPPORT_COUNT = 1000
PROFILER_SCRIPTS_ROOT = TT_METAL_HOME / "tools/tracy"
PROFILER_ARTIFACTS_DIR = Path(os.environ.get("TT_METAL_PROFILER_DIR") or TT_METAL_HOME / "generated/profiler")
PROFILER_BIN_DIR = TT_METAL_HOME / "build/tools/profiler/bin"
TRACY_OPS_TIMES_FILE_NAME = "tracy_ops_times.csv"
TRACY_OPS_DATA_FILE_NAME = "tracy_ops_data.csv"
TRACY_MODULE_PATH = TT_METAL_HOME / "tt_metal/third_party/tracy"
TRACY_FILE_NAME = "tracy_profile_log_host.tracy"
TRACY_CAPTURE_TOOL = "tracy-capture"
TRACY_CSVEXPROT_TOOL = "tracy-csvexport"


def generate_logs_folder(outFolder: str | Path) -> Path:
    """Where a run's logs lie."""
    return Path(outFolder) / ".logs"


def generate_reports_folder(outFolder: str | Path) -> Path:
    """Where a run's reports lie."""
    return Path(outFolder) / "reports"


PROFILER_LOGS_DIR = generate_logs_folder(PROFILER_ARTIFACTS_DIR)
PROFILER_OUTPUT_DIR = generate_reports_folder(PROFILER_ARTIFACTS_DIR)


def rm(path: str | Path) -> None:
    """Remove a file or a folder, if there is one."""
    path = Path(path)
    if path.is_file() or path.is_symlink():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def clear_profiler_runtime_artifacts() -> None:
    """Remove what earlier runs left; the emulation leaves nothing."""


def get_profiler_folder(output_logs_subdir: str) -> Path:
    """Where the reports of a run of that name lie."""
    return PROFILER_ARTIFACTS_DIR / output_logs_subdir


def get_samples_per_s(time_ns: float, num_samples: float) -> float:
    """How many samples a second make."""
    return num_samples / (time_ns * 1e-9)


class default_setup:
    """What to read of a device's log; programs derive theirs from it."""

    timerAnalysis: ClassVar[dict[str, Any]] = {}
    deviceInputLog: str | Path = PROFILER_LOGS_DIR / PROFILER_DEVICE_SIDE_LOG


def _reader(module: str, name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(names.sentence(f"tracy.{module}.{name}"))

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


get_latest_ops_log_filename = _reader("process_model_log", "get_latest_ops_log_filename")
post_process_ops_log = _reader("process_model_log", "post_process_ops_log")
run_device_profiler = _reader("process_model_log", "run_device_profiler")
get_device_data_generate_report = _reader("process_ops_logs", "get_device_data_generate_report")
import_tracy_op_logs = _reader("process_ops_logs", "import_tracy_op_logs")
append_device_data = _reader("process_ops_logs", "append_device_data")
generate_reports = _reader("process_ops_logs", "generate_reports")
process_ops = _reader("process_ops_logs", "process_ops")
import_log_run_stats = _reader("process_device_log", "import_log_run_stats")
extract_device_info = _reader("process_device_log", "extract_device_info")
compare_ops_logs = _reader("compare_ops_logs", "compare_ops_logs")
