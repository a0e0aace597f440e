"""TTR2xx: bindings, descriptor, devices and variables that do not fit together."""

from __future__ import annotations

from mgd.catalogue import Rule
from mgd.diagnostics import Severity

FIT = (
    Rule(
        "TTR204",
        "unknown mesh",
        why="The rank would look for a mesh that the descriptor does not instantiate and fail, or hang, on the hardware.",
        help="Bind the rank to one of the descriptor's mesh ids.",
        bad="rank_bindings:\n  - {rank: 0, mesh_id: 7}",
    ),
    Rule(
        "TTR205",
        "host rank outside of its mesh",
        why="A mesh of host_topology [1, 2] has host ranks 0 and 1; another one owns no devices.",
        help="Use a host rank of the mesh, or cut the mesh over more hosts.",
        bad="rank_bindings:\n  - {rank: 0, mesh_id: 0, mesh_host_rank: 2}",
    ),
    Rule(
        "TTR206",
        "two ranks in one place",
        why="Both would open the same block of devices; one of them waits for ever.",
        help="Give each rank its own mesh_id or mesh_host_rank.",
        bad="rank_bindings:\n  - {rank: 0, mesh_id: 0, mesh_host_rank: 0}\n  - {rank: 1, mesh_id: 0, mesh_host_rank: 0}",
    ),
    Rule(
        "TTR207",
        "host block without a rank",
        why="The other ranks would wait for it in their first collective.",
        help="Bind one rank to each host rank of each mesh.",
    ),
    Rule(
        "TTR209",
        "host rank missing",
        why="The mesh is cut over several hosts, so each rank must say which block is its own.",
        help="Add mesh_host_rank.",
        bad="rank_bindings:\n  - {rank: 0, mesh_id: 0}\n  - {rank: 1, mesh_id: 0}",
    ),
    Rule(
        "TTR210",
        "too few visible devices",
        why=(
            "TT_VISIBLE_DEVICES names PCIe devices. An N300 adds a second chip to each, other cards none; the block of the "
            "rank has more devices than that."
        ),
        help="Name more devices, or cut the mesh over more hosts.",
        bad='rank_bindings:\n  - {rank: 0, mesh_id: 0, env_overrides: {TT_VISIBLE_DEVICES: "0"}}   # the mesh is 2x4',
    ),
    Rule(
        "TTR211",
        "more visible devices than owned ones",
        why="The mapping may choose other devices than meant, and no other rank of the host can open the spare ones.",
        help="Name as many devices as the rank owns.",
        severity=Severity.WARNING,
    ),
    Rule(
        "TTR212",
        "TT_VISIBLE_DEVICES that cannot be read",
        why="It is a comma list of the numbers under /dev/tenstorrent, each one once.",
        help='Write "0,1".',
        bad='env_overrides: {TT_VISIBLE_DEVICES: "0;1"}',
    ),
    Rule(
        "TTR213",
        "device shared by two ranks of a host",
        why="The first one locks it, the second one waits or fails.",
        help="Give each rank its own devices, or put the ranks on different hosts with a rankfile.",
    ),
    Rule(
        "TTR214",
        "rank that sees every device of a shared host",
        why="Without TT_VISIBLE_DEVICES a rank opens all devices of its host, those of the other ranks too.",
        help="Set TT_VISIBLE_DEVICES in env_overrides of each rank.",
    ),
    Rule(
        "TTR215",
        "training configuration larger than the mesh",
        why="device_config.mesh_shape asks for more devices than the descriptor gives the mesh; the device cannot be opened.",
        help="Make mesh_shape fit the mesh, or launch on a larger system.",
        bad="device_config: {mesh_shape: [1, 32]}   # on a T3000",
    ),
    Rule(
        "TTR216",
        "device that the machine does not have",
        why="TT_VISIBLE_DEVICES names PCIe devices; the second chip of an N300 is none, it follows the first.",
        help="Choose from the devices that the message lists.",
    ),
    Rule(
        "TTR217",
        "devices that do not form the block",
        why="A rank owns a block of its mesh, whose neighbours must be linked; the chips that it sees are linked in another way.",
        help="Choose devices whose chips lie side by side, or let -m with a mock cluster choose them.",
    ),
    Rule(
        "TTR220",
        "cache or log folder shared by ranks",
        why="Two ranks that compile the same kernel into one folder, or write one log, overwrite each other.",
        help="Leave TT_METAL_CACHE and TT_METAL_LOGS_PATH out: each rank has its own by default.",
        bad="global_env: {TT_METAL_CACHE: /tmp/cache}",
        severity=Severity.WARNING,
    ),
    Rule(
        "TTR221",
        "old name of TT_VISIBLE_DEVICES",
        why="TT_METAL_VISIBLE_DEVICES is not read any more, so every rank sees every device.",
        help="Rename it to TT_VISIBLE_DEVICES.",
        severity=Severity.WARNING,
    ),
    Rule(
        "TTR222",
        "variable that contradicts the binding",
        why=(
            "TT_MESH_ID, TT_MESH_HOST_RANK and TT_RUN_RANK tell a rank who it is; tt-run sets them from the binding, and a "
            "setting of the same name replaces them."
        ),
        help="Remove the variable.",
        bad='rank_bindings:\n  - {rank: 0, mesh_id: 0, env_overrides: {TT_MESH_ID: "9"}}',
    ),
    Rule(
        "TTR223",
        "-x of mpirun without effect",
        why="The variables of a rank are those of the plan; what mpirun is told to export counts only where the plan says nothing.",
        help="Set the variable in env_overrides or global_env, or leave it out there.",
        bad="tt-run --rank-binding f.yaml --mpi-args '-x TT_MESH_ID=1' ./app",
        severity=Severity.WARNING,
    ),
    Rule(
        "TTR224",
        "variable of the shell that stays behind",
        why="Ranks on other hosts do not see the launching shell, and all ranks of a job see the same; the program reads a variable that "
        "only the shell has.",
        severity=Severity.WARNING,
        help="Name it in global_env, or with --mpi-args '-x NAME'; --inherit-env gives the ranks all of them.",
    ),
)
