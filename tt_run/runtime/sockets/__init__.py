"""Sockets: streams of tensors from the devices of one mesh to those of another, in a process or between ranks.

Source: ttnn specification, section 9.
"""
