"""The `moreh` family: sums, norms, products, losses and optimizer steps with their backward forms, as one client of the reference
brought them.

PyTorch computes them, since their definitions are PyTorch functions. Results go into the tensors that a call makes room for; results
that a call may leave out are None. Source: reference library 0.81.1.
"""
