"""The completion scripts of bash, zsh and fish, from the tables of options: the launch's and those of each subcommand."""

from __future__ import annotations

from importlib import import_module

from tt_run.cli.commands import COMMANDS
from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.reading.options import Arguments, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHELLS = ("bash", "zsh", "fish")
RUNS = ("logs", "report", "stacks", "status")
"""The subcommands that take the name of a run."""
RUN_NAMES = "$(command ls tt-run-logs 2>/dev/null)"
_ANY_RANKS = "0 1 2 3"
# What each shell has of the line up to the cursor; the ranks that it is about are asked when they are wanted.
_LINES = {
    "bash": '"${COMP_LINE:0:COMP_POINT}"',
    "zsh": '"${(j: :)words[1,CURRENT]}"',
    "fish": '"(commandline -cp)"',
}


def completion_script(shell: str) -> str:
    """What a shell evaluates to complete subcommands, options, their values, runs, and files everywhere else."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _scopes() -> Iterator[tuple[str, Sequence[Option]]]:
    """The subcommands with their options, and last, under the name "", a launch."""
    for name, (module, _) in COMMANDS.items():
        found = [each for each in vars(import_module(module)).values() if isinstance(each, type)]
        [kind] = (each for each in found if issubclass(each, Arguments) and each.__module__ == module)
        yield name, list(kind.options())
    yield "", list(CommandLine.options())


def _values(option: Option, shell: str) -> Sequence[str]:
    """The words that a shell offers for the value of an option, besides files."""
    if isinstance(option.kind, tuple):
        return option.kind
    if option.key in ("system", "systems"):
        from mgd.systems import systems

        return [system.name for system in systems()]
    if option.key == "explain":
        return _codes()
    if option.key == "tee":
        return ("all", "first", "errors", "none", _ranks(shell))
    if option.key == "inject":
        from tt_run.faults import ACTIONS

        return [f"{action}=" for action in ACTIONS]
    if option.key == "split":
        return ("1x2", "2x1", "2x2", "1x4", "2x4")
    if option.key in ("rank", "debug_rank", "print_env"):
        return (_ranks(shell),)
    if option.key == "set":
        return _hardware(keys=True)
    if option.key == "hardware" and not option.repeated:  # of several, each is a file
        return _hardware(keys=False)
    from tt_run.inputs.shipped import shipped

    kinds = {
        "rank_binding": "rank-binding file",
        "mesh_graph_descriptor": "mesh graph descriptor",
        "mock_cluster_rank_binding": "mock cluster rank binding",
    }
    return list(shipped(kinds.get(option.key, "")))


def _ranks(shell: str) -> str:
    """A command substitution: the ranks of the line's job or run, and some where nobody knows them."""
    if shell == "fish":
        return f'(tt-run completion --ranks -- {_LINES[shell][1:-1]} 2>/dev/null; or string split " " "{_ANY_RANKS}")'
    return f"$(tt-run completion --ranks -- {_LINES[shell]} 2>/dev/null || echo {_ANY_RANKS})"


def _takes_files(option: Option) -> bool:
    """Whether files are offered for the value of an option: not where it is a number, a name or a list."""
    return option.is_path or option.key == "inject"


def _positional(command: str) -> Sequence[str]:
    """The words that a subcommand takes besides its options."""
    if command == "explain":
        return _codes()
    if command == "completion":
        return SHELLS
    if command == "help":
        return list(COMMANDS)
    if command == "examples":
        from tt_run.cli.commands.examples import example_names

        return example_names()
    return (RUN_NAMES,) if command in RUNS else ()


def _hardware(keys: bool) -> list[str]:
    """The systems that the shipped hardware files have numbers of, or the keys of their numbers."""
    from tt_run.hardware.files import load, shipped
    from tt_run.hardware.numbers import ARCHITECTURES

    files = [load(shipped(architecture)) for architecture in ARCHITECTURES]
    if not keys:
        return sorted({system for file in files for system in file.systems})
    numbers = (each for file in files for each in (file.common, *file.systems.values()))
    return sorted({f"{key}=" for each in numbers for key in each})


def _codes() -> list[str]:
    from tt_run.rules import FAMILIES

    return [code for family in FAMILIES for code in family.rules()]


# --- bash ----------------------------------------------------------------------------------------------------------


def _bash() -> str:
    names, values, words = [], [], []
    for command, options in _scopes():
        spelled = " ".join(name for option in options for name in option.names)
        names.append(f"    {command or '*'}) {'' if command else 'command= '}options='{spelled}' ;;")
        for option in options:
            if option.is_flag:
                continue
            patterns = "|".join(f"'{command} {name}'" for name in option.names)
            offered = " ".join(_values(option, "bash"))
            files = "-d " if option.is_folder else "-f " if _takes_files(option) else ""
            values.append(
                f"    {patterns}) COMPREPLY=($(compgen {files}-W '{offered}' -- \"$word\")); return ;;"
            )
        if taken := " ".join(_positional(command)):
            words.append(f'    {command}) COMPREPLY=($(compgen -W "{taken}" -- "$word")) ;;')
    lines = "\n"
    return f"""_tt_run() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}" options
  COMPREPLY=()
  case "$word:$before" in
    =:*) word= ;;
    *:=) before="${{COMP_WORDS[COMP_CWORD-2]}}" ;;
  esac
  if [ "$COMP_CWORD" = 1 ] && [[ "$word" != -* ]]; then
    COMPREPLY=($(compgen -f -W '{" ".join(COMMANDS)}' -- "$word")); return
  fi
  case "$command" in
{lines.join(names)}
  esac
  case "$command $before" in
{lines.join(values)}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")); return ;;
  esac
  case "$command" in
{lines.join(words)}
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _tt_run tt-run"""


# --- zsh -----------------------------------------------------------------------------------------------------------


def _zsh() -> str:
    names, values, words = [], [], []
    for command, options in _scopes():
        told = " ".join(_told(name, option.help) for option in options for name in option.names)
        names.append(f"    ({command or '*'}) {'' if command else 'command= '}options=({told}) ;;")
        for option in options:
            if option.is_flag:
                continue
            patterns = "|".join(f"'{command} {name}'" for name in option.names)
            offered = " ".join(_values(option, "zsh"))
            files = "_files -/; " if option.is_folder else "_files; " if _takes_files(option) else ""
            added = f"compadd -- {offered}; " if offered else ""
            values.append(f"    ({patterns}) {added}{files}return ;;")
        if taken := " ".join(_positional(command)):
            words.append(f"    ({command}) compadd -- {taken} ;;")
    commands = " ".join(_told(name, text) for name, (_, text) in COMMANDS.items())
    lines = "\n"
    return f"""#compdef tt-run
_tt_run() {{
  local command=$words[2] before=$words[CURRENT-1]
  local -a options commands
  if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
    commands=({commands})
    _describe command commands
    _files
    return
  fi
  case $command in
{lines.join(names)}
  esac
  if [[ $PREFIX == --*=* ]]; then
    before=${{PREFIX%%=*}}
    compset -P '*='
  fi
  case "$command $before" in
{lines.join(values)}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe -o option options
    return
  fi
  case $command in
{lines.join(words)}
    (*) _files ;;
  esac
}}
if [[ $funcstack[1] == _tt-run ]]; then
  _tt_run "$@"
else
  (( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit -u }}
  compdef _tt_run tt-run
fi"""


def _told(name: str, text: str) -> str:
    """`'--name:what it does'`, quoted for zsh's `_describe`."""
    quoted = text.replace("'", "'\\''")
    return f"'{name}:{quoted}'"


# --- fish ----------------------------------------------------------------------------------------------------------


def _fish() -> str:
    lines = [
        f"complete -c tt-run -n __fish_is_first_arg -a {name} -d {_plain(text)}"
        for name, (_, text) in COMMANDS.items()
    ]
    launch = f"not __fish_seen_subcommand_from {' '.join(COMMANDS)}"
    for command, options in _scopes():
        when = _plain(f"__fish_seen_subcommand_from {command}" if command else launch)
        lines += [f"complete -c tt-run -n {when} {_fish_option(option)}" for option in options]
        if taken := " ".join(_positional(command)).replace("$(", "("):
            lines.append(f"complete -c tt-run -f -n {when} -a {_plain(taken)}")
    return "\n".join(lines)


def _fish_option(option: Option) -> str:
    words = []
    for name in option.names:
        words += ["-l", name[2:]] if name.startswith("--") else ["-s", name[1:]]
    offered = _values(option, "fish")
    if offered:
        words += ["-r" if option.is_path else "-x", "-a", f"'{' '.join(offered)}'"]
    elif option.is_folder:
        words += ["-x", "-a", "'(__fish_complete_directories)'"]
    elif not option.is_flag:
        words.append("-r" if _takes_files(option) else "-x")
    return " ".join([*words, "-d", _plain(option.help)])


def _plain(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{quoted}'"
