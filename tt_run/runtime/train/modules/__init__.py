"""Modules: parameters with names, children, train and eval modes (ttml specification, section 5)."""
