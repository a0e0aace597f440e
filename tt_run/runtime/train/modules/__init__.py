"""Modules: parameters with names, children, train and eval modes."""
