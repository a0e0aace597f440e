"""`python -m tt_run` is the command `tt-run`."""

from tt_run.cli.entry import main

if __name__ == "__main__":
    main()
