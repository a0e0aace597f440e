"""Cluster descriptors: the chips of a host and their links."""
