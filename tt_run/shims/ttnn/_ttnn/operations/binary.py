"""`ttnn._ttnn.operations.binary`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": """
        BinaryOpType add add_ addalpha atan2 bias_gelu bias_gelu_ bitwise_and bitwise_left_shift
        bitwise_or bitwise_right_shift bitwise_xor clamped_silu_glu div div_no_nan divide divide_ eq eq_
        floor_div fmod gcd ge ge_ gt gt_ hypot isclose lcm ldexp ldexp_ le le_ logaddexp logaddexp2
        logaddexp2_ logaddexp_ logical_and logical_and_ logical_left_shift logical_or logical_or_
        logical_right_shift logical_xor logical_xor_ lt lt_ maximum minimum multiply multiply_ ne ne_
        nextafter outer polyval pow prelu remainder rsub rsub_ situ_glu squared_difference
        squared_difference_ subalpha subtract subtract_ xlogy
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
