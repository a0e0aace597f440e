"""What programs hand to operations to tune hardware: blockings, precision, dispatch.

The emulation keeps these objects, checks their names and prints them as the reference does. A number changes only through a
fused activation or a data type inside one; everything else is for the chip. Source: reference library 0.81.1.
"""
