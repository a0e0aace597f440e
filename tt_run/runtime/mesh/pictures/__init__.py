"""Pictures of meshes and of tensors on them."""
