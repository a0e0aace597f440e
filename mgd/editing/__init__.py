"""Descriptors while they are written: a language server (`mgd serve`) that tells mistakes, completes, explains and lays out."""
