"""Sockets: streams of tensors from the devices of one mesh to those of another, in a process or between ranks.

Source: reference library 0.81.1.
"""
