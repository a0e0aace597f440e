"""Attention: of whole sequences, of one query against a cache, to chosen keys, by states that decay; heads, caches and positions."""
