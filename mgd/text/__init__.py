"""Protobuf text format, as the reference reads it: lexer, fast parser, lossless tree (specification: MGD section 3)."""
