"""Shapes, coordinates and ranges of meshes, and how one is laid over another."""
