"""Predicted operations as rows of a device profiler."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.e2e.launch import tt_run
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.model.work import Cost, Kernel, Matmul
from tt_run.runtime.prediction.device_rows import DeviceRows, table
from tt_run.runtime.tensor.creation.from_shape import empty
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG

PROGRAM = """
import ttnn
from tracy import signpost

mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
x = ttnn.ones((1, 1, 64, 96), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
signpost("start")
y = ttnn.matmul(x, ttnn.ones((96, 128), dtype=ttnn.bfloat8_b, layout=ttnn.TILE_LAYOUT, device=mesh))
ttnn.all_gather(ttnn.relu(y), dim=3)
signpost("stop")
ttnn.close_mesh_device(mesh)
"""


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_tells_program_tensors_and_times(one: MeshDevice) -> None:
    rows = DeviceRows("WORMHOLE_B0", 64)
    left = empty((3, 40, 96), DataType.BFLOAT16, Layout.TILE, device=one)
    right = empty(
        (2, 1, 96, 128), DataType.BFLOAT8_B, Layout.TILE, device=one, memory_config=L1_MEMORY_CONFIG
    )
    rest = empty((4,), DataType.BFLOAT16, Layout.ROW_MAJOR, device=one)
    product = Matmul(40, 96, 128, batch=3, fidelity="LoFi", grid=(4, 2))
    rows.add(
        "MatmulDeviceOperation",
        product,
        Cost(2.5, "dram"),
        3,
        10.0,
        "a.py:4",
        "Program(a=1, b=2)",
        (left, right, rest),
        left,
    )
    rows.signpost("stop")
    rows.add("TilizeDeviceOperation", Kernel("tilize", 4), Cost(1.0, "latency"), 3, 13.0, "a.py:5")
    first, mark, second = read(table([{"device_rows": rows.rows}]))
    assert (first["OP CODE"], first["MATH FIDELITY"], first["CORE COUNT"]) == (
        "MatmulDeviceOperation",
        "LoFi",
        "8",
    )
    assert (first["DEVICE ARCH"], first["AVAILABLE WORKER CORE COUNT"]) == ("wormhole_b0", "64")
    assert (first["DEVICE ID"], first["BOUND"], first["SITE"]) == ("3", "dram", "a.py:4")
    assert (first["HOST START TS"], first["DEVICE FW DURATION [ns]"]) == ("10000", "2500")
    assert first["ATTRIBUTES"] == "{'program_config': ''Program(a=1; b=2)''}"
    sizes = [first[f"INPUT_0_{axis}_PAD[LOGICAL]"] for axis in "WZYX"]
    assert sizes == ["1[1]", "3[3]", "64[40]", "96[96]"]
    assert (first["INPUT_0_DATATYPE"], first["INPUT_0_MEMORY"]) == ("BFLOAT16", "DEV_0_DRAM_INTERLEAVED")
    assert (first["INPUT_1_LAYOUT"], first["INPUT_1_MEMORY"]) == ("TILE", "DEV_0_L1_INTERLEAVED")
    assert (first["INPUT_1_W_PAD[LOGICAL]"], first["INPUT_2_LAYOUT"]) == ("2[2]", "ROW_MAJOR")
    assert (mark["OP CODE"], mark["OP TYPE"], mark["HOST START TS"]) == ("stop", "signpost", "12500")
    assert (second["OP TO OP LATENCY [ns]"], second["CORE COUNT"], second["INPUT_0_MEMORY"]) == (
        "500",
        "64",
        "",
    )
    assert (
        0
        < int(first["GLOBAL CALL COUNT"])
        < int(mark["GLOBAL CALL COUNT"])
        < int(second["GLOBAL CALL COUNT"])
    )


@pytest.mark.wide
def test_ranks_tell_of_their_own_devices_and_marks_are_told_once(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    words = ("--emulate", "--system", "n300", "--split", "1x2", "--predict=ops.csv", "python", program)
    tt_run(*words, cwd=tmp_path).check()
    rows = read((tmp_path / "ops.csv").read_text())
    assert [row["OP CODE"] for row in rows if row["OP TYPE"] == "signpost"] == ["start", "stop"]
    by_device = {
        device: [row["OP CODE"] for row in rows if row["DEVICE ID"] == device and "Matmul" in row["OP CODE"]]
        for device in ("0", "1")
    }
    assert by_device == {device: ["MatmulDeviceOperation"] for device in ("0", "1")}
    line = 1 + PROGRAM.splitlines().index("ttnn.all_gather(ttnn.relu(y), dim=3)")
    assert {row["SITE"] for row in rows if "gather" in row["OP CODE"].lower()} == {f"{program}:{line}"}
    assert (tmp_path / "ops.csv.json").exists()
