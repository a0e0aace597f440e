"""TTR2xx: bindings, descriptor, devices and variables that do not fit together."""

from __future__ import annotations

from tt_run.plan.rules.rule import Rule

FIT = (
    Rule(
        "TTR204",
        "unknown mesh",
        "The rank would look for a mesh that the descriptor does not instantiate and fail, or hang, on the hardware.",
        "Bind the rank to one of the descriptor's mesh ids.",
        "rank_bindings:\n  - {rank: 0, mesh_id: 7}",
    ),
    Rule(
        "TTR205",
        "host rank outside of its mesh",
        "A mesh of host_topology [1, 2] has host ranks 0 and 1; another one owns no devices.",
        "Use a host rank of the mesh, or cut the mesh over more hosts.",
        "rank_bindings:\n  - {rank: 0, mesh_id: 0, mesh_host_rank: 2}",
    ),
    Rule(
        "TTR206",
        "two ranks in one place",
        "Both would open the same block of devices; one of them waits for ever.",
        "Give each rank its own mesh_id or mesh_host_rank.",
        "rank_bindings:\n  - {rank: 0, mesh_id: 0, mesh_host_rank: 0}\n  - {rank: 1, mesh_id: 0, mesh_host_rank: 0}",
    ),
    Rule(
        "TTR207",
        "host block without a rank",
        "The other ranks would wait for it in their first collective.",
        "Bind one rank to each host rank of each mesh.",
    ),
    Rule(
        "TTR209",
        "host rank missing",
        "The mesh is cut over several hosts, so each rank must say which block is its own.",
        "Add mesh_host_rank.",
        "rank_bindings:\n  - {rank: 0, mesh_id: 0}\n  - {rank: 1, mesh_id: 0}",
    ),
    Rule(
        "TTR210",
        "too few visible devices",
        "TT_VISIBLE_DEVICES names PCIe devices. An N300 adds a second chip to each, other cards none; the block of the "
        "rank has more devices than that.",
        "Name more devices, or cut the mesh over more hosts.",
        'rank_bindings:\n  - {rank: 0, mesh_id: 0, env_overrides: {TT_VISIBLE_DEVICES: "0"}}   # the mesh is 2x4',
    ),
    Rule(
        "TTR211",
        "more visible devices than owned ones",
        "The mapping may choose other devices than meant, and no other rank of the host can open the spare ones.",
        "Name as many devices as the rank owns.",
    ),
    Rule(
        "TTR212",
        "TT_VISIBLE_DEVICES that cannot be read",
        "It is a comma list of the numbers under /dev/tenstorrent, each one once.",
        'Write "0,1".',
        'env_overrides: {TT_VISIBLE_DEVICES: "0;1"}',
    ),
    Rule(
        "TTR213",
        "device shared by two ranks of a host",
        "The first one locks it, the second one waits or fails.",
        "Give each rank its own devices, or put the ranks on different hosts with a rankfile.",
    ),
    Rule(
        "TTR214",
        "rank that sees every device of a shared host",
        "Without TT_VISIBLE_DEVICES a rank opens all devices of its host, those of the other ranks too.",
        "Set TT_VISIBLE_DEVICES in env_overrides of each rank.",
    ),
    Rule(
        "TTR215",
        "training configuration larger than the mesh",
        "device_config.mesh_shape asks for more devices than the descriptor gives the mesh; the device cannot be opened.",
        "Make mesh_shape fit the mesh, or launch on a larger system.",
        "device_config: {mesh_shape: [1, 32]}   # on a T3000",
    ),
    Rule(
        "TTR216",
        "device that the machine does not have",
        "TT_VISIBLE_DEVICES names PCIe devices; the second chip of an N300 is none, it follows the first.",
        "Choose from the devices that the message lists.",
    ),
    Rule(
        "TTR217",
        "devices that do not form the block",
        "A rank owns a block of its mesh, whose neighbours must be linked; the chips that it sees are linked in another way.",
        "Choose devices whose chips lie side by side, or let -m with a mock cluster choose them.",
    ),
    Rule(
        "TTR220",
        "cache or log folder shared by ranks",
        "Two ranks that compile the same kernel into one folder, or write one log, overwrite each other.",
        "Leave TT_METAL_CACHE and TT_METAL_LOGS_PATH out: each rank has its own by default.",
        "global_env: {TT_METAL_CACHE: /tmp/cache}",
    ),
    Rule(
        "TTR221",
        "old name of TT_VISIBLE_DEVICES",
        "TT_METAL_VISIBLE_DEVICES is not read any more, so every rank sees every device.",
        "Rename it to TT_VISIBLE_DEVICES.",
    ),
    Rule(
        "TTR222",
        "variable that contradicts the binding",
        "TT_MESH_ID, TT_MESH_HOST_RANK and TT_RUN_RANK tell a rank who it is; tt-run sets them from the binding, and a "
        "setting of the same name replaces them.",
        "Remove the variable.",
        'rank_bindings:\n  - {rank: 0, mesh_id: 0, env_overrides: {TT_MESH_ID: "9"}}',
    ),
    Rule(
        "TTR223",
        "-x of mpirun without effect",
        "The variables of a rank are those of the plan; what mpirun is told to export counts only where the plan says nothing.",
        "Set the variable in env_overrides or global_env, or leave it out there.",
        "tt-run --rank-binding f.yaml --mpi-args '-x TT_MESH_ID=1' ./app",
    ),
)
