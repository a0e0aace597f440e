"""Mesh Graph Descriptors: parse, check, expand, draw, convert, author."""
