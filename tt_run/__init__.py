"""tt-run: a launcher for multi-host mesh programs, and the emulation on which they run without hardware.

The launcher (`cli` and below) and the emulated runtime (`runtime`, published by `shims`) never import each other; `contract` is what they share.
"""
