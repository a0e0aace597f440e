"""The command `tt-run`: read the words into a typed value, call the library, print. No rule lives here."""
