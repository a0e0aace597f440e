"""Softmax and normalisations: over the last dimension, over channels, and with statistics gathered from devices."""
