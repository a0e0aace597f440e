"""Writing descriptors: blueprints, formatting, repairs, and the difference of two topologies."""
