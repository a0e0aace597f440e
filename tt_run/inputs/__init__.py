"""What comes from outside (bindings, rankfiles, hosts, cluster descriptors, the environment), read into checked values with positions."""
