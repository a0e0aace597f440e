"""Is there something to start?"""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from tt_run.inputs.findings import Findings, nearest
from tt_run.inputs.site import Site
from tt_run.plan.checks.subject import Subject
from tt_run.plan.request import LaunchRequest

_LONGEST_FIRST_LINE = 256  # bytes: Linux reads no more of it


def require_program(request: LaunchRequest, site: Site, findings: Findings) -> None:
    """TTR013: the program must exist as a path or on PATH. Holds at every check level, as in the reference."""
    word = request.program[0]
    if request.skip_executable_check or site.which(word) is not None or os.path.lexists(_file(word, site)):
        return
    home = site.expand_user(word)
    meant = str(home) if word[:1] == "~" and os.path.lexists(home) else None
    meant = meant if "/" in word else _near_command(word, site)
    if word.startswith("-"):
        findings.fatal(
            "TTR013",
            f"program not found: {word}: after -- comes the program",
            help="write the options of tt-run before --",
        )
        return
    meant = "tt-run --" + word if word in ("help", "version", "doctor", "explain") else meant
    barred = _barred_command(word, site)
    if barred is not None:
        findings.fatal(
            "TTR013",
            f"program not found: {word}: you may not execute {barred}",
            help="name one that you may, or ask whose it is",
        )
        return
    if " " in word and site.which(word.split()[0]) is not None:
        findings.fatal(
            "TTR013",
            f"program not found: the quotes make '{word}' one word",
            help=f"leave the quotes out: tt-run … {word}",
        )
        return
    findings.fatal(
        "TTR013",
        f"program not found: {word}",
        help=f"did you mean {meant}?"
        if meant
        else "check the name, or add --skip-executable-check if only the hosts have it",
        notes=(f"neither a file in {site.cwd} nor a command on PATH",),
    )


def check_program(subject: Subject, findings: Findings) -> None:
    """TTR014: the program must be an executable file. The reference starts a directory or a text file and fails later.

    TTR013 for a gdbserver that does not exist.
    """
    word = subject.request.program[0]
    is_debugged = subject.request.debug_gdbserver and not subject.request.skip_executable_check
    if is_debugged and subject.site.which("gdbserver") is None:
        findings.error(
            "TTR013",
            "--debug-gdbserver: there is no gdbserver on PATH",
            help="install it on every host (apt install gdbserver), or add --skip-executable-check if only the hosts have it",
        )
    if subject.request.skip_executable_check:
        return
    found = subject.site.which(word)
    if found is not None:
        _check_first_line(word, found, subject.site, findings)
        return
    path = _file(word, subject.site)
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises for a name that is too long
        findings.error("TTR014", f"the program {word} is a directory", help="name the file to start in it")
    elif "/" not in word:
        findings.error(
            "TTR014",
            f"{word} is a file here, but no command on PATH",
            help=_started_as(word),
        )
    else:
        starter = "python " if word.endswith(".py") else "bash " if word.endswith(".sh") else ""
        help = f"write {starter}{word}" if starter else f"chmod +x {word}"
        findings.error("TTR014", f"the program {word} is not executable", help=help)


def _started_as(word: str) -> str:
    """How a file is started whose name was given as a command."""
    if word.endswith(".ipynb"):
        return f"jupyter nbconvert --to script {shlex.quote(word)} writes the program of a notebook"
    return f"write python {word}" if word.endswith(".py") else f"write ./{word}"


def _check_first_line(word: str, path: Path, site: Site, findings: Findings) -> None:
    """TTR014: a script says in its first line what runs it. Without one a shell takes it, which cannot read Python."""
    try:
        with path.open("rb") as stream:
            line = stream.read(_LONGEST_FIRST_LINE).partition(b"\n")[0].decode("utf-8", "replace")
    except OSError:  # one may be allowed to start what one may not read
        return
    is_python = path.suffix == ".py" or "python" in line
    instead = f"write python {word}" if is_python else f"write the interpreter before it, such as bash {word}"
    if not line.startswith("#!"):
        if path.suffix == ".py":
            findings.error(
                "TTR014", f"{word} does not say in its first line that Python runs it", help=instead
            )
        return
    if line.endswith("\r"):
        message = f"{word} has the line ends of Windows, which its first line takes for part of a name"
        findings.error("TTR014", message, help=f"sed -i 's/\\r$//' {shlex.quote(word)}")
        return
    interpreter, *words = line[2:].split() or [""]
    is_env = os.path.basename(interpreter) == "env"  # noqa: PTH119
    name = words[0] if is_env and words and words[0][:1] != "-" and "=" not in words[0] else interpreter
    if name and site.which(name) is None:
        message = f"{word} is for {name}, as its first line says, which is not on this machine"
        findings.error("TTR014", message, help=instead)


def _file(word: str, site: Site) -> Path:
    return site.cwd / word


def _barred_command(word: str, site: Site) -> str | None:
    """A file of this name on PATH, or a path, which this user may not execute."""
    if "/" in word:
        try:
            os.stat(_file(word, site))  # noqa: PTH116 - as in `which`
        except PermissionError:
            return word
        except (OSError, ValueError):
            pass
        return None
    for folder in filter(None, site.environ.get("PATH", "").split(os.pathsep)):
        path = os.path.join(folder, word)  # noqa: PTH118 - as in `which`
        try:
            if stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
                return path
        except PermissionError:
            return path
        except (OSError, ValueError):  # the latter: a NUL in it
            continue
    return None


def _near_command(word: str, site: Site) -> str | None:
    from difflib import SequenceMatcher

    commands: set[str] = set()
    for folder in site.environ.get("PATH", "").split(os.pathsep):
        try:
            commands.update(name for name in os.listdir(folder or ".") if name[:1] == word[:1])  # noqa: PTH208
        except OSError:
            continue
    meant = nearest(word, commands - {word})  # a link that leads nowhere is no command
    return meant if meant is not None and SequenceMatcher(None, word, meant).ratio() > 0.75 else None
