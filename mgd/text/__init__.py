"""Protobuf text format, as the reference reads it: lexer, fast parser, lossless tree (reference library 0.81.1)."""
