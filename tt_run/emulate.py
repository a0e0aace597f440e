"""`python -m tt_run.emulate [--system NAME] prog.py …`: run a program on the emulation in this process, without launcher or MPI.

One rank that hosts every device. `python -m tt_run.emulate -m package …` runs a module, `-c CODE` a text. From Python,
`tt_run.emulate.activate()` before `import ttnn` does the same for a notebook.
"""

from __future__ import annotations

import sys

from tt_run.testing.one_process import main
from tt_run.testing.shims import activate as activate

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], f"{__doc__}"))
