"""Whole arrays over a mesh and back: mappers cut, composers join, and shards as tensors of their own."""
