"""Errors of the library in a replay."""

from __future__ import annotations


class ReplayedError(RuntimeError):
    """`MPI.Exception`: what the library said in the run."""

    said = ""

    def __init__(self, ierr: int = 0, said: str = "") -> None:
        super().__init__(ierr)
        self.error_code = self.ob_mpi = ierr
        if said:
            self.said = said

    def Get_error_code(self) -> int:
        """Its number."""
        return self.error_code

    Get_error_class = Get_error_code
    error_class = property(Get_error_code)

    def Get_error_string(self) -> str:
        """The library's words."""
        return self.said or str(self.error_code)

    error_string = property(Get_error_string)
    __str__ = Get_error_string

    def Free(self) -> None:
        """Nothing to give back."""

    def __int__(self) -> int:
        return self.error_code

    def __eq__(self, other: object) -> bool:
        return self.error_code == (other.error_code if isinstance(other, ReplayedError) else other)

    __hash__ = RuntimeError.__hash__
