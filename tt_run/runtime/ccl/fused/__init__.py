"""Collectives that do in the same call what models compute before or after them: products, norms, attention, prefill of experts."""
