"""What a kernel that sends through the fabric is compiled with. Source: reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.ccl.exchange.fabric import get_fabric_config
from tt_run.runtime.enums import FabricConfig
from tt_run.runtime.errors import fatal
from tt_run.runtime.native.arguments import public


@public
def get_fabric_kernel_defines(api_type: str = "Linear") -> list[tuple[str, str]]:
    """Names and values to define, by the fabric that was chosen. Raises RuntimeError before one is, ValueError for another API."""
    if api_type not in ("Linear", "Mesh"):
        raise ValueError(f"api_type must be 'Linear' or 'Mesh', got: {api_type}")
    chosen = get_fabric_config()
    if chosen is FabricConfig.DISABLED:
        raise fatal(
            "Trying to get un-initialized fabric context",
            "this->fabric_context_ != nullptr",
            hint="ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D) comes first",
        )
    defined = [(f"API_TYPE_{api_type}", "1")]
    return [*defined, ("FABRIC_2D", "1")] if "2D" in chosen.name else defined
