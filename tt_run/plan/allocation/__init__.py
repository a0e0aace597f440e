"""Automatic allocation: from a descriptor and hosts, or described machines, to ranks and the files that say so."""
