"""`tt_lib.utils`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tools.fallback.helpers": """
        _nearest_32=roundup32 _nearest_y=roundup convert_act_2d_matrix convert_weights_2d_matrix divup find_closest_largest_divisor
        find_closest_largest_divisor_with_num_padding float_to_bits is_close pad_activation pad_weight print_diff_argmax
        roundup roundup32 tilize tilize_to_list tt2torch tt2torch_rm=tt2torch untilize
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
