"""The rules at work: each module applies one group of them to a descriptor and reports what it finds."""
