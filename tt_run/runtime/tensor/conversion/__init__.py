"""An existing tensor made into another: on a device or the host, in another layout or element type, in another shape."""
