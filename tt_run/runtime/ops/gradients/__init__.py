"""Backward operations: the gradients of operands from that of a result."""
