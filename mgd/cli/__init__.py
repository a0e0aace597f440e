"""The command `mgd`: parse the words, call the library, print. No rule lives here."""
