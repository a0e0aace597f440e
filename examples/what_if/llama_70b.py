"""One decoding step of Llama-3.1-70B, whole, on a machine without hardware: what it needs, what it moves, how long it would take.

    tt-run --emulate --system galaxy --shapes-only --predict python examples/what_if/llama_70b.py --parallel tp8dp4
    tt-run --emulate --system loudbox --shapes-only --predict python examples/what_if/llama_70b.py --parallel tp8
    tt-run --emulate --system galaxy-torus-xy --shapes-only --predict python examples/what_if/llama_70b.py --parallel tp32

TP8 is one model on the eight chips of a QuietBox, TP8xDP4 four replicas of it on the columns of a Galaxy, each for 32 users of its own;
TP32 is one model over all 32 chips of a Galaxy, hidden dimension along its rows of four, heads along its columns of eight; it is
written with the fused operations of the published decoder: norms with their gathers, heads with their reduce-scatter, matmuls around
rings of cores whose weights are prefetched, reduce-scatters beside matmuls. On eight chips, too, the program has the published form:
between layers each chip has its part of the hidden dimension, norms gather sums and then columns, a reduce-scatter ends the layer. The published figures (reference documents, Llama-3.1 70B on Wormhole): 15.1 tokens/s and user on a QuietBox, 14.3 on a Galaxy as TP8xDP4, 72 as TP32.

Weights are of PyTorch's device `meta`, which has shapes and no memory. `--values` draws them instead, for a model made small with
`--layers`, `--hidden` and so on.
"""

import argparse
from dataclasses import dataclass

import torch
import ttnn
from tracy import signpost

PUBLISHED = {"tp8": 15.1, "tp8dp4": 14.3, "tp32": 72.0}  # tokens per second and user
DRAM_BANKS = 12  # of a Wormhole chip
MESHES = {"tp8": (1, 8), "tp8dp4": (8, 4), "tp32": (8, 4)}


@dataclass(frozen=True)
class Model:
    """The lengths of a Llama."""

    layers: int = 80
    hidden: int = 8192
    heads: int = 64
    kv_heads: int = 8
    head_dim: int = 128
    ffn: int = 28672
    vocab: int = 128256
    users: int = 32
    context: int = 256


class Decoder:
    """Weights, caches and a step. `tp` is the mesh axis of heads and feed-forward, `split` the one of the hidden dimension or None."""

    def __init__(self, device, model, parallel, values):
        self.device, self.model, self.values = device, model, values
        self.tp = 1 if parallel == "tp8" else 0
        self.split = 1 if parallel == "tp32" else None
        self.degree = device.shape[self.tp]
        self.columns = device.shape[1] if self.split is not None else 1
        self.users = model.users // self.columns  # whose attention a device computes
        kv = 2 * model.kv_heads * model.head_dim
        width = model.heads * model.head_dim + kv
        self.layers = [
            {
                "attention_norm": self.norm(),
                "qkv": self.weight(model.hidden, width, rows=self.split, columns=self.tp),
                "out": self.out_weight(),
                "ffn_norm": self.norm(),
                "gate": self.weight(model.hidden, model.ffn, self.split, self.tp, ttnn.bfloat4_b),
                "up": self.weight(model.hidden, model.ffn, self.split, self.tp, ttnn.bfloat4_b),
                "down": self.weight(model.ffn, model.hidden, rows=self.tp, columns=self.split),
                "keys": self.cache(),
                "values": self.cache(),
            }
            for _ in range(model.layers)
        ]
        self.norm_weight = self.norm()
        # Of rows that devices share, a norm has each device's columns spread over some of its cores.
        self.over_cores = self.spread(model.hidden // (self.degree if self.split is None else self.columns))
        # The sums of all devices' columns meet on one core.
        first = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(0, 0))})
        self.on_a_core = ttnn.MemoryConfig(
            ttnn.TensorMemoryLayout.WIDTH_SHARDED,
            ttnn.BufferType.L1,
            ttnn.ShardSpec(first, [model.users, 32 * self.degree], ttnn.ShardOrientation.ROW_MAJOR),
        )
        cut = self.over_cores.shard_spec
        last = cut.grid.bounding_box().end
        self.norm_program = ttnn.LayerNormShardedMultiCoreProgramConfig(
            compute_with_storage_grid_size=(last.x + 1, last.y + 1),
            subblock_w=1,
            block_h=cut.shape[0] // 32,
            block_w=cut.shape[1] // 32,
            inplace=False,
        )
        self.embedding = self.tensor(
            (1, 1, model.vocab, model.hidden),
            ttnn.bfloat16,
            {self.tp if self.split is None else self.split: 3},
            layout=ttnn.ROW_MAJOR_LAYOUT,
        )
        self.head = self.weight(model.hidden, model.vocab, rows=self.split, columns=self.tp)
        self.cos, self.sin, self.turn = self.turns(self.users)
        self.position = self.ids((model.users,), {} if self.split is None else {self.split: 0})
        self.memory = ttnn.L1_MEMORY_CONFIG
        cores = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(7, 7))})
        self.semaphore = ttnn.create_global_semaphore(device, cores, 0)
        self.pair = [self.semaphore, ttnn.create_global_semaphore(device, cores, 0)]
        each = (model.users,)
        self.choice = (
            self.placed(torch.full(each, 32, dtype=torch.int32), ttnn.uint32, {}, ttnn.ROW_MAJOR_LAYOUT),
            self.placed(torch.ones(each), ttnn.bfloat16, {}, ttnn.ROW_MAJOR_LAYOUT),
            self.placed(torch.ones(each), ttnn.bfloat16, {}, ttnn.ROW_MAJOR_LAYOUT),
        )

    def spread(self, width):
        """Activations of all users in L1, their columns over as many cores as share them evenly."""
        tiles = -(-width // 32)
        count = max(n for n in range(1, 65) if tiles % n == 0 and (n <= 8 or n % 8 == 0))
        last = ttnn.CoreCoord(min(count, 8) - 1, max(count // 8, 1) - 1)
        cores = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), last)})
        return ttnn.MemoryConfig(
            ttnn.TensorMemoryLayout.WIDTH_SHARDED,
            ttnn.BufferType.L1,
            ttnn.ShardSpec(cores, [self.model.users, tiles // count * 32], ttnn.ShardOrientation.ROW_MAJOR),
        )

    def on_cores(self, count, width):
        """A tile of rows on each of the first cores."""
        cores = ttnn.num_cores_to_corerangeset(count, ttnn.CoreCoord(8, 8), row_wise=True)
        return ttnn.MemoryConfig(
            ttnn.TensorMemoryLayout.HEIGHT_SHARDED,
            ttnn.BufferType.L1,
            ttnn.ShardSpec(cores, [32, width], ttnn.ShardOrientation.ROW_MAJOR),
        )

    def turns(self, count):
        """Cosines, sines and what turns pairs, on a core for each of `count` users."""
        wide = self.on_cores(count, self.model.head_dim)
        each = (1, count, 1, self.model.head_dim)
        cos, sin = (self.tensor(each, ttnn.bfloat16, memory=wide) for _ in range(2))
        return cos, sin, self.tensor((1, 1, 32 * count, 32), ttnn.bfloat16, memory=self.on_cores(count, 32))

    def tensor(self, shape, dtype, cuts=None, layout=ttnn.TILE_LAYOUT, memory=None):
        """A tensor of the model; `cuts` names the dimension that each mesh axis cuts."""
        host = torch.randn(shape) * 0.02 if self.values else torch.empty(shape, device="meta")
        return self.placed(host, dtype, cuts or {}, layout, memory)

    def placed(self, host, dtype, cuts, layout, memory=None):
        placements = [
            ttnn.PlacementShard(cuts[axis]) if axis in cuts else ttnn.PlacementReplicate() for axis in (0, 1)
        ]
        mapper = ttnn.create_mesh_mapper(self.device, ttnn.MeshMapperConfig(placements))
        return ttnn.from_torch(
            host,
            dtype=dtype,
            layout=layout,
            device=self.device,
            mesh_mapper=mapper,
            memory_config=memory,
        )

    def ids(self, shape, cuts=None, dtype=ttnn.int32):
        return self.placed(torch.ones(shape, dtype=torch.int32), dtype, cuts or {}, ttnn.ROW_MAJOR_LAYOUT)

    def weight(self, k, n, rows, columns, dtype=ttnn.bfloat8_b):
        """A matrix, each device's part of it spread by columns over the banks of its DRAM: all of them are read at once."""
        cuts = {axis: dim for axis, dim in ((rows, 2), (columns, 3)) if axis is not None}
        own_k = k // (self.device.shape[rows] if rows is not None else 1)
        own_n = n // (self.device.shape[columns] if columns is not None else 1)
        banks = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(DRAM_BANKS - 1, 0))})
        part = [own_k, -(-own_n // DRAM_BANKS // 32) * 32]
        memory = ttnn.MemoryConfig(
            ttnn.TensorMemoryLayout.WIDTH_SHARDED,
            ttnn.BufferType.DRAM,
            ttnn.ShardSpec(banks, part, ttnn.ShardOrientation.ROW_MAJOR),
        )
        return self.tensor((1, 1, k, n), dtype, cuts, memory=memory)

    def out_weight(self):
        """The matrix behind the heads: its columns are cut, and the heads gathered."""
        return self.weight(
            self.model.heads * self.model.head_dim, self.model.hidden, rows=None, columns=self.tp
        )

    def norm(self):
        """Weights of a norm, cut as the hidden dimension is between layers."""
        axis = self.tp if self.split is None else self.split
        return self.tensor((1, 1, 1, self.model.hidden), ttnn.bfloat16, {axis: 3})

    def cache(self):
        model = self.model
        cuts = {self.tp: 1} | ({} if self.split is None else {self.split: 0})
        return self.tensor((model.users, model.kv_heads, model.context, model.head_dim), ttnn.bfloat8_b, cuts)

    def gathered(self, x):
        return ttnn.all_gather(x, 3, cluster_axis=self.tp, memory_config=self.memory)

    def normed(self, x, weight):
        """RMS norm of a hidden dimension that is cut between layers: devices exchange their sums of squares, then its columns."""
        x = ttnn.to_memory_config(x, self.over_cores)
        sums = ttnn.rms_norm_pre_all_gather(x, program_config=self.norm_program)
        every = ttnn.all_gather(sums, 3, cluster_axis=self.tp, memory_config=self.on_a_core)
        x = ttnn.rms_norm_post_all_gather(
            x, every, epsilon=1e-5, weight=weight, program_config=self.norm_program
        )
        return ttnn.to_memory_config(self.gathered(x), self.spread(self.model.hidden))

    def product(self, x, weight):
        """Rows times a matrix, over the cores that hold the rows; they come back where other operations take them."""
        x = ttnn.to_memory_config(x, self.spread(x.shape[-1]))
        place = self.spread(weight.shape[-1])
        blocks = ttnn.MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(
            in0_block_w=x.memory_config().shard_spec.shape[1] // 32,
            per_core_M=1,
            per_core_N=place.shard_spec.shape[1] // 32,
        )
        product = ttnn.linear(x, weight, memory_config=place, program_config=blocks)
        return ttnn.sharded_to_interleaved(product, self.memory)

    def projected(self, heads, weight):
        """What the heads found, times columns of the matrix behind them: on a box gathering and product are one operation."""
        if self.tp == 1:
            return ttnn.experimental.all_gather_matmul_async(
                heads,
                weight,
                dim=3,
                multi_device_global_semaphore=self.pair,
                memory_config_ag=self.memory,
                memory_config_mm=self.memory,
            )[1]
        return self.product(self.gathered(heads), weight)

    def attention(self, x, layer):
        model = self.model
        heads, kv_heads = model.heads // self.degree, model.kv_heads // self.degree
        qkv = self.product(x, layer["qkv"])
        q, k, v = ttnn.experimental.nlp_create_qkv_heads_decode(qkv, num_heads=heads, num_kv_heads=kv_heads)
        q, k = (
            ttnn.experimental.rotary_embedding_llama(t, self.cos, self.sin, self.turn, is_decode_mode=True)
            for t in (q, k)
        )
        ttnn.experimental.paged_update_cache(layer["keys"], k, update_idxs_tensor=self.position)
        ttnn.experimental.paged_update_cache(layer["values"], v, update_idxs_tensor=self.position)
        mixed = ttnn.transformer.scaled_dot_product_attention_decode(
            q, layer["keys"], layer["values"], cur_pos_tensor=self.position
        )
        mixed = ttnn.to_memory_config(mixed, q.memory_config())  # each user on a core of its own
        return self.projected(ttnn.experimental.nlp_concat_heads_decode(mixed, num_heads=heads), layer["out"])

    def feed_forward(self, x, layer):
        gate, up = self.product(x, layer["gate"]), self.product(x, layer["up"])
        product = ttnn.mul(
            gate, up, input_tensor_a_activations=[ttnn.UnaryOpType.SILU], memory_config=self.memory
        )
        product = ttnn.to_memory_config(product, self.spread(product.shape[-1]))
        return ttnn.reduce_scatter(
            self.product(product, layer["down"]), 3, cluster_axis=self.tp, memory_config=self.memory
        )

    def step(self, ids):
        """The next token of every user. Between layers each device has its part of the hidden dimension."""
        x = ttnn.embedding(ids, self.embedding, layout=ttnn.TILE_LAYOUT, memory_config=self.memory)
        x = ttnn.reshape(x, (1, 1, self.model.users, x.shape[-1]))
        for layer in self.layers:
            x = ttnn.add(x, self.attention(self.normed(x, layer["attention_norm"]), layer))
            x = ttnn.add(x, self.feed_forward(self.normed(x, layer["ffn_norm"]), layer))
        return self.sampled(self.product(self.normed(x, self.norm_weight), self.head))

    def sampled(self, logits):
        """The next token of every user: each device offers the likeliest of its part of the vocabulary."""
        values, indices = map(self.gathered, ttnn.topk(logits, 32, dim=-1))
        return ttnn.sampling(values, ttnn.untilize(ttnn.typecast(indices, ttnn.int32)), *self.choice, seed=1)


class FusedDecoder(Decoder):
    """The same decoder over a whole Galaxy, with operations that compute and communicate at once. Mesh axis 0 cuts heads, axis 1 hidden."""

    def __init__(self, device, model, parallel, values):
        super().__init__(device, model, parallel, values)
        self.worker = ttnn.SubDeviceId(0)
        self.cos, self.sin, self.turn = self.turns(2 * self.users)  # for queries, then for keys
        self.buffer = self.tensor((1, 1, 32, 512), ttnn.bfloat8_b, memory=ttnn.L1_MEMORY_CONFIG)
        self.packets = self.tensor((1, 1, 32, 512), ttnn.bfloat16, memory=self.spread(512))
        # A core for each user's queries, keys and values.
        self.by_user = self.on_cores(3 * self.users + 1, model.head_dim)
        self.norm_cores = ttnn.LayerNormShardedMultiCoreProgramConfig(
            compute_with_storage_grid_size=(8, 4), subblock_w=1, block_h=1, block_w=2, inplace=False
        )
        # Activations go round 24 cores; each holds the weights that the prefetcher brings it.
        self.ring, self.ring_in_rows = (
            ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig(
                compute_with_storage_grid_size=(8, 3),
                in0_block_w=1,
                out_subblock_h=1,
                out_subblock_w=1,
                per_core_M=1,
                per_core_N=1,
                fuse_batch=True,
                mcast_in0=False,
                gather_in0=True,
                untilize_out=in_rows,
            )
            for in_rows in (False, True)
        )

    def out_weight(self):
        """Its rows are cut as the heads are, its columns as the hidden dimension: partial sums are added up."""
        return self.weight(
            self.model.heads * self.model.head_dim, self.model.hidden, rows=self.tp, columns=self.split
        )

    def normed_sum(self, x, residual, weight):
        """The residual grows by x where it lies; its norm comes back."""
        x = ttnn.to_memory_config(x, self.over_cores) if residual is None else x
        return ttnn.fused_rms_minimal(
            x,
            self.norm_cores,
            1,
            self.device,
            self.semaphore,
            residual_input_tensor=residual,
            epsilon=1e-5,
            weight=weight,
            dtype=ttnn.bfloat8_b,
            memory_config=self.spread(x.shape[-1]),
        )

    def product(self, x, weight):
        place = self.spread(weight.shape[-1])
        return ttnn.linear(x, weight, program_config=self.ring, dtype=ttnn.bfloat8_b, memory_config=place)

    def reduced(self, x, axis):
        return ttnn.experimental.all_reduce_async(
            x,
            self.buffer,
            axis,
            self.device,
            self.semaphore,
            memory_config=self.memory,
            topology=ttnn.Topology.Ring,
        )

    def attention(self, x, layer):
        model = self.model
        heads = ttnn.linear(
            x,
            layer["qkv"],
            program_config=self.ring_in_rows,
            dtype=ttnn.bfloat16,
            memory_config=self.spread(layer["qkv"].shape[-1]),
        )
        q, k, v = ttnn.experimental.llama_rs_create_heads(
            heads,
            self.packets,
            3,
            self.semaphore,
            self.worker,
            1,
            self.device,
            ttnn.Topology.Ring,
            num_heads=model.heads // self.degree,
            num_kv_heads=model.kv_heads // self.degree,
            memory_config=self.by_user,
            qkv_memory_config=self.by_user,
        )
        q, k = ttnn.experimental.rotary_embedding_llama_fused_qk(q, k, self.cos, self.sin, self.turn)
        ttnn.experimental.paged_fused_update_cache(
            layer["keys"], k, layer["values"], v, update_idxs_tensor=self.position
        )
        mixed = ttnn.transformer.scaled_dot_product_attention_decode(
            q, layer["keys"], layer["values"], cur_pos_tensor=self.position, memory_config=self.by_user
        )
        mixed = ttnn.experimental.all_gather_concat(
            mixed,
            self.buffer,
            1,
            1,
            self.device,
            self.semaphore,
            num_heads=model.heads // self.degree,
            memory_config=self.spread(layer["out"].shape[-2]),
            topology=ttnn.Topology.Ring,
            num_links=None,
        )
        return self.reduced(self.product(mixed, layer["out"]), 0)

    def feed_forward(self, x, layer):
        gate, up, gate = ttnn.experimental.llama_rs_matmul(
            x,
            layer["gate"],
            self.buffer,
            3,
            self.semaphore,
            1,
            self.device,
            second_weight_tensor=layer["up"],
            topology=ttnn.Topology.Ring,
            memory_config_rs=self.memory,
            memory_config_mm=self.memory,
            program_config=self.ring,
            dtype=ttnn.bfloat8_b,
        )
        up = ttnn.experimental.llama_reduce_scatter(
            up,
            self.buffer,
            3,
            self.semaphore,
            self.worker,
            1,
            self.device,
            memory_config=self.memory,
            topology=ttnn.Topology.Ring,
        )
        product = ttnn.mul(
            gate, up, input_tensor_a_activations=[ttnn.UnaryOpType.SILU], memory_config=self.memory
        )
        product = ttnn.experimental.all_gather_async(
            product,
            3,
            cluster_axis=1,
            mesh_device=self.device,
            topology=ttnn.Topology.Ring,
            multi_device_global_semaphore=self.pair,
            memory_config=self.spread(layer["down"].shape[-2]),
        )
        return self.reduced(self.product(product, layer["down"]), 0)

    def step(self, ids):
        x = ttnn.embedding(ids, self.embedding, layout=ttnn.TILE_LAYOUT, memory_config=self.memory)
        x = ttnn.reshape(x, (1, 1, self.model.users, x.shape[-1]))
        residual = ttnn.to_memory_config(x, self.over_cores)
        x = None
        for layer in self.layers:
            first = residual if x is None else x
            x = self.normed_sum(first, None if x is None else residual, layer["attention_norm"])
            x = self.attention(x, layer)
            x = self.normed_sum(x, residual, layer["ffn_norm"])
            x = self.feed_forward(x, layer)
        x = self.normed_sum(x, residual, self.norm_weight)
        logits = self.product(x, self.head)
        return self.sampled(ttnn.typecast(self.reduced(logits, 1), ttnn.bfloat16))

    def sampled(self, logits):
        """The next token of every user: each row of devices offers its likeliest of its part of the vocabulary."""
        width = 32
        values, indices = ttnn.topk(logits, width, dim=-1)
        values, indices = (
            ttnn.experimental.all_gather_async(
                t,
                3,
                cluster_axis=0,
                mesh_device=self.device,
                topology=ttnn.Topology.Ring,
                multi_device_global_semaphore=self.pair,
                memory_config=self.memory,
            )
            for t in (values, indices)
        )
        return ttnn.sampling(values, ttnn.untilize(ttnn.typecast(indices, ttnn.int32)), *self.choice, seed=1)


def main():
    parser = argparse.ArgumentParser(description="A decoding step of Llama-3.1-70B.")
    parser.add_argument("--parallel", choices=tuple(MESHES), default="tp8dp4")
    parser.add_argument("--steps", type=int, default=1, help="replays of the captured step")
    parser.add_argument("--values", action="store_true", help="draw weights: for small models")
    for name, length in Model().__dict__.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=length)
    options = parser.parse_args()
    model = Model(**{name: getattr(options, name) for name in Model().__dict__})

    ttnn.set_fabric_config(
        ttnn.FabricConfig.FABRIC_2D if options.parallel != "tp8" else ttnn.FabricConfig.FABRIC_1D
    )
    device = ttnn.open_mesh_device(ttnn.MeshShape(*MESHES[options.parallel]))
    kind = FusedDecoder if options.parallel == "tp32" else Decoder
    decoder = kind(device, model, options.parallel, options.values)
    ids = decoder.ids((1, model.users), dtype=ttnn.uint32)
    trace = ttnn.begin_trace_capture(device, cq_id=0)
    tokens = decoder.step(ids)
    ttnn.end_trace_capture(device, trace, cq_id=0)
    for _ in range(options.steps):
        signpost("decode start")
        ttnn.execute_trace(device, trace, cq_id=0, blocking=True)
        signpost("decode stop")
    replicas = 4 if options.parallel == "tp8dp4" else 1
    print(
        f"{options.parallel}: {model.layers} layers on {device.get_num_devices()} chips, {replicas * model.users} users, "
        f"tokens {list(tokens.shape)} per chip"
    )
    print(
        f"published for the whole model: {PUBLISHED[options.parallel]} tokens/s and user, that is "
        f"{1000 / PUBLISHED[options.parallel]:.1f} ms a step"
    )
    ttnn.release_trace(device, trace)
    ttnn.close_mesh_device(device)


if __name__ == "__main__":
    main()
