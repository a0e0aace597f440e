"""What the joint check looks at, as one value."""

from __future__ import annotations

from collections.abc import Mapping

from mgd.diagnostics import Position
from mgd.lean import dataclass, field
from tt_run.inputs.bindings import Binding
from tt_run.inputs.mpi_args import MpiArgs
from tt_run.inputs.site import Site
from tt_run.plan.launcher import LauncherFacts
from tt_run.plan.model import RankPlan
from tt_run.plan.rank_source import RankSource
from tt_run.plan.request import LaunchRequest
from tt_run.plan.slots import Seating


@dataclass(frozen=True)
class Subject:
    """The request, everything read for it, and the ranks that came out of it."""

    request: LaunchRequest
    source: RankSource
    seating: Seating
    ranks: tuple[RankPlan, ...]
    mpi_args: MpiArgs
    site: Site
    launcher: LauncherFacts | None = None
    left: Mapping[str, str] = field(default_factory=dict)  # of the shell, which no rank will see

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """The bindings in rank order, alongside `ranks`."""
        return self.source.bindings.bindings

    def set_at(self, rank: int, name: str) -> Position | None:
        """Where an input sets a variable of a rank: env_overrides, else global_env; None when neither does."""
        setting = self.bindings[rank].env.get(name) or self.source.bindings.global_env.get(name)
        return setting.position if setting and setting.position.file else None
