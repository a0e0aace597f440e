"""What a record keeps of a call's values: one digest for what each device gave and for what it got."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.e2e.launch import tt_run
from tt_run.runtime.record.arrays import row_digests
from tt_run.runtime.record.compare import side_of
from tt_run.runtime.record.values import calls_of

PROGRAM = """
import numpy as np
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 4))
rows = np.arange(4 * 32 * 32, dtype=np.float32).reshape(1, 1, 32, 128)
mapper = ttnn.ShardTensorToMesh(mesh, 3)
x = ttnn.from_torch(rows, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=mesh, mesh_mapper=mapper)
ttnn.reduce_scatter(ttnn.all_gather(x, 3), 3)
"""


def test_each_device_has_a_digest_of_what_it_gave_and_got(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    launch = ("--emulate", "--system", "t3000", "--record", "record", "python", "program.py")
    tt_run(*launch, cwd=tmp_path).check()
    (story,) = side_of(str(tmp_path / "record"), None).stories.values()
    gathered, scattered = (call for call in calls_of(story) if call.facts.kind == "collective")
    whole = np.arange(4 * 32 * 32, dtype=np.float32).reshape(1, 1, 32, 128)
    parts = [np.ascontiguousarray(part)[None] for part in np.split(whole, 4, axis=3)]
    devices = gathered.facts.devices
    assert len(set(devices)) == 4
    for device, part in zip(devices, parts, strict=True):
        assert gathered.sent_by(device) == row_digests(part)
        assert gathered.got_by(device) == [scattered.sent_by(device)] == [row_digests(whole[None])]
        assert scattered.got_by(device) == [row_digests(4 * part)]
    assert gathered.sent_by(99) is None and gathered.got_by(99) == []
