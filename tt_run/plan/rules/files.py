"""TTR1xx: files that are missing or cannot be understood."""

from __future__ import annotations

from tt_run.plan.rules.rule import Rule

FILES = (
    Rule(
        "TTR101",
        "file not found",
        "Relative paths are looked for in $TT_METAL_HOME, then the launch directory, then beside the file that names them.",
        "Write an absolute path, or a path from the launch directory.",
    ),
    Rule(
        "TTR102",
        "file that cannot be read",
        "No permission, a directory, or not UTF-8 text.",
        "Check the file.",
    ),
    Rule(
        "TTR103",
        "not well-formed YAML",
        "The parser stops at the position shown; often the cause is a line above: a missing quote, bracket or blank.",
        "Correct the syntax.",
        "rank_bindings:\n  - {rank: 0, mesh_id: 0",
    ),
    Rule(
        "TTR104",
        "value of the wrong kind",
        "A list where a mapping is wanted, a word where a number is wanted. YAML 1.1 turns on, yes and no into booleans.",
        "Write the wanted kind; put text that looks like something else into quotes.",
        "rank_bindings:\n  - {rank: zero, mesh_id: 0}",
    ),
    Rule(
        "TTR105",
        "missing key",
        "Without it the file does not say what to launch.",
        "Add the key.",
        "rank_bindings:\n  - {rank: 0}",
    ),
    Rule(
        "TTR106",
        "unknown key",
        "The reference launcher ignores it, so a typing error loses variables or host ranks without a word.",
        "Use the key that is proposed.",
        "rank_bindings:\n  - {rank: 0, mesh_id: 0, env_overides: {A: b}}",
    ),
    Rule(
        "TTR107",
        "repeated key",
        "YAML keeps the last one silently, so everything below the first is lost.",
        "Merge the two.",
        "global_env: {A: b}\nglobal_env: {C: d}",
    ),
    Rule(
        "TTR108",
        "number where text or a whole number is wanted",
        "It is taken as it is written. YAML reads 010 as 8 and 1:30 as 90, and the reference launcher refuses numbers here.",
        "Put the value into quotes.",
        "env_overrides: {TT_VISIBLE_DEVICES: 0}",
    ),
    Rule(
        "TTR109", "empty list", "There is nothing to launch.", "Add at least one entry.", "rank_bindings: []"
    ),
    Rule(
        "TTR110",
        "rank bound twice",
        "Two entries claim the same MPI rank.",
        "Number the ranks 0, 1, 2, … in any order.",
        "rank_bindings:\n  - {rank: 0, mesh_id: 0}\n  - {rank: 0, mesh_id: 1}",
    ),
    Rule(
        "TTR111",
        "gap in the ranks",
        "MPI numbers its processes 0..N-1 without gaps.",
        "Number the ranks 0, 1, 2, … in any order.",
        "rank_bindings:\n  - {rank: 0, mesh_id: 0}\n  - {rank: 2, mesh_id: 1}",
    ),
    Rule(
        "TTR112",
        "gap in the sub-contexts",
        "Sub-contexts are numbered 0..N-1, and their ranks follow one another in that order.",
        "Number the keys 0, 1, 2, … in any order.",
        "subcontext_id_to_rank_bindings: {0: a.yaml, 2: b.yaml}",
    ),
    Rule(
        "TTR113",
        "sub-contexts disagree about a variable",
        "global_env of all sub-contexts is united and reaches every rank, so a name can have one value only.",
        "Give it the same value in all files, or set it in env_overrides of the ranks.",
    ),
    Rule(
        "TTR114",
        "mock mapping does not fit the ranks",
        "Every rank needs a cluster descriptor; with sub-contexts no further one is allowed.",
        "Name one descriptor for each rank.",
    ),
    Rule(
        "TTR115",
        "old name of the mock mapping",
        "The reference launcher takes a file with rank_to_filename for a cluster descriptor and gives it to rank 0.",
        "Rename the key to rank_to_cluster_mock_cluster_desc.",
    ),
    Rule(
        "TTR116",
        "rankfile line that cannot be read",
        "Skipped silently by the reference; Open MPI then places fewer ranks than there are.",
        "Write: rank 0=hostname slot=0",
        "rank 0 hostA slot 0",
    ),
    Rule(
        "TTR117",
        "not a name or value of a variable",
        "A name that is empty, holds a blank or '=' becomes another variable or none; no value can hold NUL.",
        "Use letters, digits and _.",
        'global_env: {"A=B": c}',
    ),
    Rule(
        "TTR118",
        "TT_METAL_HOME hides a file",
        "It is searched before the launch directory, even for the file named on the command line.",
        "Write an absolute path, or unset TT_METAL_HOME.",
    ),
    Rule(
        "TTR119",
        "reference to an unset variable",
        "$NAME in a value is replaced from the launching shell; an unset name stays in the text as it is.",
        "Export the variable before the launch, or write its value.",
        "global_env: {DATA: $DATASETS/shakespeare}",
    ),
    Rule(
        "TTR120",
        "hostfile line that cannot be read",
        "Open MPI would take it for something else or place ranks on fewer hosts.",
        "Write: hostname slots=2",
        "metal-wh-01 slot=1",
    ),
    Rule(
        "TTR121",
        "a pin of a rank or host that is not there",
        "A pin that names nothing would be dropped without a word, and the rank would run elsewhere.",
        "Name a rank of the allocation and one of its hosts.",
        "rank_pinnings: [{rank: 7, host: metal-wh-01}]",
    ),
    Rule(
        "TTR122",
        "rank pinned twice",
        "Only one of the hosts could be meant.",
        "Keep one of the entries.",
        "rank_pinnings: [{rank: 0, host: a}, {mesh_id: 0, mesh_host_rank: 0, host: b}]",
    ),
    Rule(
        "TTR123",
        "pin of a mesh that lies on several hosts",
        "Its hosts must be cabled to each other in the order of the mesh, which the allocation finds out.",
        "Pin only ranks of meshes with one host block.",
    ),
    Rule(
        "TTR124",
        "mesh ids that repeat",
        "Rank bindings and TT_MESH_ID name a mesh by its id alone; the reference takes the last of those that share one, without a word.",
        "Number the meshes of all graphs through.",
    ),
)
