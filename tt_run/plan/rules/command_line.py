"""TTR0xx: the command line."""

from __future__ import annotations

from tt_run.plan.rules.rule import Rule

COMMAND_LINE = (
    Rule(
        "TTR001",
        "several sources of ranks",
        "Bindings, a mapping, a descriptor and a system each say on their own which ranks there are.",
        "Keep one of the options.",
        "tt-run --rank-binding a.yaml --rank-bindings-mapping b.yaml python x.py",
    ),
    Rule(
        "TTR002",
        "no source of ranks",
        "Nothing says how many ranks to start and what each of them owns.",
        "Give --rank-binding FILE; or --emulate --system t3000 to run without files and without hardware.",
        "tt-run python x.py",
    ),
    Rule(
        "TTR003",
        "no program",
        "The words after the options are the program; there are none.",
        "Add the program: tt-run --rank-binding f.yaml python x.py.",
        "tt-run --rank-binding f.yaml",
    ),
    Rule(
        "TTR006",
        "words for mpirun that cannot be passed on",
        "A ':' starts another program in the same job, and an option without its value swallows the next word.",
        "Leave ':' out; tt-run describes each rank itself. Give each option its value and close quotes.",
        "tt-run --rank-binding f.yaml --mpi-args '-x A=1 : -np 1' python x.py",
    ),
    Rule(
        "TTR007",
        "process count differs from the bindings",
        "With another -np some processes would take the identity of rank 0 and the job would be green and wrong.",
        "Leave -np out: the rank bindings say how many ranks there are.",
        "tt-run --rank-binding two_ranks.yaml --mpi-args '-np 3' python x.py",
    ),
    Rule(
        "TTR008",
        "--split or --meshes that cannot be followed",
        "They cut and multiply the meshes of a named system, so they need --system, positive numbers, and a mesh that "
        "divides evenly.",
        "Write --system t3000 --split 1x2: rows x columns of hosts for each mesh.",
        "tt-run --emulate --system t3000 --split 3x1 python x.py",
    ),
    Rule(
        "TTR009",
        "discovery of nothing",
        "--discover asks the hardware where the ranks of a descriptor go; without a descriptor, or emulated, there is nothing to ask.",
        "Name a descriptor and hosts, or leave --discover out.",
        "tt-run --discover --rank-binding ranks.yaml ./app",
    ),
    Rule(
        "TTR010",
        "options of --tracy that cannot be read",
        "The base port must be a positive number, and -t and -o need a value.",
        'Write --tracy "--port 8087 --output-folder DIR", or --tracy "" for the defaults.',
        'tt-run --tracy "--port abc" --rank-binding f.yaml python x.py',
    ),
    Rule(
        "TTR011",
        "a descriptor without hosts",
        "Ranks are made from the descriptor's host blocks and need somewhere to run.",
        "Add --hosts host1:2,host2:2 or --mock-cluster-rank-binding FILE.",
        "tt-run -m mesh.textproto python x.py",
    ),
    Rule(
        "TTR012",
        "unknown system",
        "--system takes the name of a shipped descriptor.",
        "`mgd systems` lists the names; or write rank bindings and use --rank-binding.",
        "tt-run --emulate --system t3001 python x.py",
    ),
    Rule(
        "TTR013",
        "program not found",
        "A command that is missing on one host makes mpirun hang; on all hosts it fails late and without a reason.",
        "Check the name. If only the other hosts have the program, add --skip-executable-check.",
        "tt-run --rank-binding f.yaml pyhton x.py",
    ),
    Rule(
        "TTR014",
        "program not executable",
        "A directory or a plain text file exists, but cannot be started.",
        "Start it through its interpreter (python x.py) or make it executable (chmod +x x.sh).",
        "tt-run --rank-binding f.yaml ./notes.txt",
    ),
    Rule(
        "TTR015",
        "a list of hosts that cannot be read",
        "A host named twice, a blank or an option in place of a name ends in ranks on the wrong machine.",
        "Write --hosts host1:2,host2:2; ranges such as node[1-4] are understood.",
        "tt-run -m mesh.textproto --hosts a,b,a python x.py",
    ),
    Rule(
        "TTR016",
        "rank pins without an allocation",
        "Pins say on which of the given hosts an allocated rank must run; without hosts or an allocation they would mean nothing.",
        "Add -m FILE and --hosts a,b (or a mock cluster), or leave --rank-pinning-file out.",
        "tt-run --rank-binding f.yaml --rank-pinning-file pins.yaml python x.py",
    ),
    Rule(
        "TTR017",
        "launch directory removed",
        "Ranks start in the directory that tt-run is called from, and files are looked for there.",
        "Change to a directory that exists, or to the new one of the same name: cd .",
    ),
    Rule(
        "TTR031",
        "the run folder cannot be made",
        "Logs and status records of the ranks go there, and the verdict is made from them.",
        "Name a folder that can be written with --log-dir DIR.",
    ),
    Rule(
        "TTR032",
        "the run folder is in use",
        "Status records of an earlier run would be taken for this one's.",
        "Name an empty folder with --log-dir DIR.",
    ),
    Rule(
        "TTR033",
        "--tee that is not understood",
        "It says which ranks' output is shown on the console.",
        "Write all, first, errors, none, or ranks such as 0,3.",
    ),
    Rule(
        "TTR039",
        "a file of the launch cannot be written",
        "A disk is full or read-only, or a folder belongs to somebody else.",
        "Make room, or name other folders: --log-dir DIR for the run's logs, TMPDIR=DIR for temporary files, XDG_CACHE_HOME=DIR for derived ones.",
    ),
)
