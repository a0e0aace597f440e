"""What a launch starts from besides its command line: the machine, its launcher, and the folder of the run."""

from __future__ import annotations

import sys
from pathlib import Path

from mgd.diagnostics import Diagnostic
from mgd.lean import dataclass
from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.reading.owners import from_command_line
from tt_run.errors import LauncherError
from tt_run.inputs.site import Site
from tt_run.launch.machine import Machine, physical_cores, user_home
from tt_run.launch.mpi_library import library_beside_python
from tt_run.launch.mpirun import Launcher, find_launcher
from tt_run.launch.options import LaunchOptions
from tt_run.plan.build import starting_site
from tt_run.plan.launcher import LauncherFacts
from tt_run.plan.request import CheckLevel, LaunchRequest
from tt_run.supervise.folder import predicted_folder


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`launcher` is None where there is none, which `missing` then explains: looking at a plan needs no launcher."""

    site: Site
    machine: Machine
    launcher: Launcher | None
    missing: Diagnostic | None
    options: LaunchOptions
    run_dir: Path

    @classmethod
    def of(cls, given: CommandLine) -> Surroundings:
        """This machine, as a launch with these options sees it. Raises InputError when the launch directory is gone."""
        site = Site.current()
        machine = Machine(site.environ, physical_cores(), site.is_root, user_home())
        missing = None
        try:
            launcher = find_launcher(site.environ)
        except LauncherError as error:
            launcher, missing = None, error.diagnostics[0]
        options = from_command_line(LaunchOptions, given, unchecked=given.check == CheckLevel.OFF.value)
        run_dir = predicted_folder(Path(given.log_dir) if given.log_dir else None, site.cwd)
        return cls(site, machine, launcher, missing, options, run_dir)

    @property
    def shown_launcher(self) -> Launcher:
        """The launcher, or the word for one in what is only looked at."""
        return self.launcher or Launcher("mpirun", "nowhere")

    def require_launcher(self) -> Launcher:
        """The launcher. Raises LauncherError where there is none."""
        if self.launcher is None:
            raise LauncherError(self.missing or Diagnostic("TTR501", "there is no mpirun"))
        return self.launcher

    def facts(self, request: LaunchRequest) -> LauncherFacts:
        """What the check may know of the launcher, and of mpi4py where the program runs under this Python."""
        if self.launcher is None:
            return LauncherFacts()
        program = starting_site(request, self.site).which(request.program[0]) if request.program[:1] else None
        is_this_python = program is not None and program.parent == Path(sys.executable).parent
        return LauncherFacts(
            path=Path(self.launcher.path),
            version=(self.launcher.major,) if self.launcher.major else None,
            vendor=self.launcher.vendor,
            mpi4py=library_beside_python() if is_this_python and not self.site.get("MPI4PY_LIBMPI") else None,
        )
