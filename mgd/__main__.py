"""`python -m mgd` is the command `mgd`."""

from mgd.cli.main import main

if __name__ == "__main__":
    main()
