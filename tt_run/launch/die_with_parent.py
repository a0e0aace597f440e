"""Starts a program that the kernel kills when its parent dies; for hosts without util-linux's setpriv. Linux only."""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1
SIGKILL = 9

if __name__ == "__main__":
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL)
    os.execvp(sys.argv[1], sys.argv[1:])
