"""The account of each device's DRAM and L1: what is allocated, by which line, how much at most, and whether it would fit.

It listens to tensors being made and given back, costs nothing when nobody asked for it, and needs no values.
"""
