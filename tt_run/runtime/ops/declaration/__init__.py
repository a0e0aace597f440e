"""What an operation is: its declaration, the way from a call to a result, and what all operations ask of operands."""
