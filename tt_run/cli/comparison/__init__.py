"""`tt-run what-if`: the same program predicted for several candidates, and the candidates side by side."""
