"""`ttnn._ttnn.operations.binary_backward`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": """
        add_bw addalpha_bw assign_bw atan2_bw bias_gelu_bw concat_bw div_bw fmod_bw hypot_bw ldexp_bw logaddexp2_bw
        logaddexp_bw max_bw min_bw mul_bw remainder_bw rsub_bw squared_difference_bw sub_bw subalpha_bw xlogy_bw
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
