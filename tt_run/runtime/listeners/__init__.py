"""Listeners of events that fit into a module each: the ledger of what crossed links, and replicas that differ."""
