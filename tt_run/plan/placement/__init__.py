"""Placing logical meshes on the chips and links of described machines (reference library 0.81.1)."""
