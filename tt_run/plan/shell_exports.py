"""What the launching shell exports for plain programs of the emulation, as part of the request of a launch."""

from __future__ import annotations

from mgd.diagnostics import Diagnostic
from mgd.lean import replace
from tt_run.contract import MESH_GRAPH_DESC_PATH, MOCK_CLUSTER_DESC_PATH
from tt_run.errors import UsageError
from tt_run.inputs.site import Site
from tt_run.plan.request import LaunchRequest
from tt_run.plan.usage import SOURCES


def with_exported(request: LaunchRequest, site: Site) -> LaunchRequest:
    """The request; of an emulation, with the descriptor of the shell where it names nothing to launch, and with its mock cluster.

    Raises UsageError for a mock cluster that would not be looked at.
    """
    if not request.emulate:
        return request
    descriptor, mock = site.get(MESH_GRAPH_DESC_PATH), site.get(MOCK_CLUSTER_DESC_PATH)
    if descriptor and all(getattr(request, name) is None for name in SOURCES):
        request = replace(request, mesh_graph_descriptor=descriptor)
    if mock and request.mock_cluster_rank_binding is None:
        if request.system is not None:
            raise UsageError(
                Diagnostic(
                    "TTR026",
                    f"{MOCK_CLUSTER_DESC_PATH}={mock} is set in this shell, but --system brings chips of its own",
                    help=f"unset {MOCK_CLUSTER_DESC_PATH}, or write -m FILE in place of --system",
                )
            )
        return replace(request, mock_cluster_rank_binding=mock)
    return request
