"""Placing logical meshes on the chips and links of described machines (cluster specification, sections 5 to 9)."""
