"""A program as users write them, checked against the stubs of `ttnn` and `ttml` by scripts/check; it is never run."""

import torch
import ttml
import ttnn


def norm_and_project(x: ttnn.Tensor, weight: ttnn.Tensor, bias: ttnn.Tensor | None = None) -> ttnn.Tensor:
    y = ttnn.rms_norm(x, epsilon=1e-5, memory_config=ttnn.L1_MEMORY_CONFIG)
    y = ttnn.linear(y, weight, bias=bias, dtype=ttnn.bfloat16, activation="gelu")
    y = y * 2 + ttnn.silu(y)
    return ttnn.all_gather(y, dim=3, cluster_axis=1, topology=ttnn.Topology.Linear)


def main() -> None:
    ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)
    with ttnn.create_mesh_device(ttnn.MeshShape(1, 8)) as mesh:
        mapper = ttnn.ShardTensorToMesh(mesh, dim=3)
        x = ttnn.from_torch(
            torch.rand(1, 1, 32, 256),
            dtype=ttnn.bfloat16,
            layout=ttnn.TILE_LAYOUT,
            device=mesh,
            mesh_mapper=mapper,
        )
        w = ttnn.zeros((256, 64), ttnn.bfloat16, ttnn.TILE_LAYOUT, mesh)
        out = norm_and_project(x, w)
        values, places = ttnn.topk(out, 4, dim=-1)
        scores = ttnn.transformer.scaled_dot_product_attention(out, out, out, is_causal=True)
        relu = ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)
        print(values.shape, places.dtype, scores.layout, ttnn.add(x, 1.0, activations=[relu]).shape)
        print(ttnn.to_torch(out, mesh_composer=ttnn.ConcatMeshToTensor(mesh, dim=3)))
        ttnn.digamma("x")  # type: ignore[arg-type]  # the stubs must tell a wrong argument,
        ttnn.add(x, x, dtyp=ttnn.bfloat16)  # type: ignore[call-arg]  # and a misspelt one
    second = ttnn.experimental.quasar.add(x, 1.0)  # the same operations under a second name
    ttnn.experimental.quasar.add(second, x, dtyp=ttnn.bfloat16)  # type: ignore[call-arg]
    ttnn.operation_tracer.enable_tracing()  # a module whose shim puts another one in its place
    ttnn.operation_tracer.enable_tracing("yes")  # type: ignore[arg-type]
    print(ttml.autograd.AutoContext.get_instance())


if __name__ == "__main__":
    main()
