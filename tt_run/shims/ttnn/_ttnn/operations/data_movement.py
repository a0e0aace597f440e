"""`ttnn._ttnn.operations.data_movement`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": """
        TileReshapeMapMode assign bcast chunk clone concat copy expand fill_implicit_tile_padding
        fill_ones_rm fill_rm fold gather indexed_fill interleaved_to_sharded
        interleaved_to_sharded_partial moe_expert_token_remap moe_routing_remap move narrow nonzero pad
        permute repeat repeat_interleave reshape reshape_on_device reshard roll scatter scatter_add
        sharded_to_interleaved sharded_to_interleaved_partial slice sort split squeeze stack tilize
        tilize_with_val_padding tilize_with_zero_padding tosa_gather tosa_scatter transpose unsqueeze
        untilize untilize_with_unpadding view
    """,
    "tt_run.runtime.ops.data_movement.forced": """
        gather_force_codegen gather_force_native repeat_force_codegen repeat_force_native repeat_interleave_force_codegen
        repeat_interleave_force_native untilize_force_codegen untilize_force_native
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
