"""How classes look that are native in the reference: their names and members, what they refuse and in which words, fields, arguments, order."""
