"""What a run says in the terminal: the ranks' lines while it runs, and the report at its end."""
