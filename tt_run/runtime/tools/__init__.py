"""What the reference offers around operations: golden functions and comparison with them, hooks, registration, files of calls, smaller modules."""
