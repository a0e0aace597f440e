"""Words of `mgd`'s command line that cannot be meant: one message with a code and what to type."""

from __future__ import annotations

import resource
import signal
from pathlib import Path

import pytest

from mgd.files import write_file
from tests.mgd.cli.run import Mgd


@pytest.mark.parametrize(
    ("line", "says", "help"),
    [
        ("chek x", "there is no command 'chek'", "did you mean `mgd check`?"),
        ("version", "there is no command 'version'", "write mgd --version"),
        ("t3000", "there is no command 't3000'", "write mgd show t3000"),
        ("-help", "mgd has no option -help", "did you mean --help?"),
        ("show -svg x t3000", "mgd show has no option -svg", "did you mean --svg?"),
        ("check", "mgd check: missing argument 'FILE...'", "write mgd check t3000"),
        ("check --json a", "mgd check has no option --json", "write --format json"),
        ("show a b", "mgd show: got unexpected extra argument (b)", "write mgd show a"),
        ("show a b --all", "mgd show: got unexpected extra argument (b)", "write mgd show a --all"),
        ("diff", "mgd diff: missing argument 'A'", "write mgd diff t3000 galaxy"),
        ("explain host-split", "there is no rule 'host-split'", "did you mean uneven-host-split?"),
        ("show --widht 3 x", "mgd show has no option --widht", "--width"),
        ("show --width 3 t3000", "mgd show --width: 3 is not in the range 20<=x<=1000", "write --width 20"),
        ("show --width x t3000", "mgd show --width: 'x' is not a whole number", "write --width 100"),
        ("show -o p.svg t3000", "mgd show has no option -o", "write --svg FILE.svg or --html FILE.html"),
        ("show --svg p.png t3000", "it writes .svg, not .png", "write --svg p.svg"),
        ("show --html p.svg t3000", "it writes .html, not .svg", "write --html p.html, or --svg p.svg"),
        ("describe t3000 --format json", "mgd describe has no option --format", "write --json"),
        ("systems --every", "mgd systems has no option --every", "it has --json, --path"),
        ("-v", "mgd has no option -v", "write mgd --version"),
        ("new", "mgd new: neither --shape nor --system", "mgd new --shape 2x4"),
        ("new --shape 2x", "mgd new --shape: '2x' is not a shape", "write rows x columns, such as 2x4"),
        (
            "new --arch wormhol --shape 2x2",
            "mgd new --arch: 'wormhol' is not one of",
            "write --arch wormhole",
        ),
        ("new --system t300", "no system is called 't300'", "did you mean"),
        ("diff a", "mgd diff: missing argument 'B'", "write mgd diff a galaxy"),
        ("diff galaxy", "mgd diff: missing argument 'B'", "write mgd diff galaxy t3000"),
        ("explain MGD9999", "there is no rule 'MGD9999'", "did you mean MGD"),
        ("explain TTR204", "there is no rule 'TTR204'", "tt-run explain TTR204"),
        ("completion", "mgd completion: name one of bash, zsh, fish", "write mgd completion bash"),
        ("convert -", "standard input does not say what to convert to", "add --to 1.0 or --to 2.0"),
        ("check .", "there is no descriptor (*.textproto) in the folder .", "mgd new --shape 2x4 writes one"),
        ("completion tcsh", "'tcsh' is not one of", "write mgd completion bash"),
        ("schema x", "there is no schema 'x'", "there are "),
    ],
)
def test_one_mistake_is_one_message(
    mgd: Mgd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, says: str, help: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = mgd(*line.split())
    first, second = result.err.splitlines()
    assert (result.code, result.out) == (2, "")
    assert first.startswith("error[MGD300]: ") and says in first
    assert second.startswith("  help: ") and help in second and second.endswith("more: mgd explain MGD300")


@pytest.mark.parametrize(
    ("line", "idle"),
    [
        ("check -q --format github t3000", ["--quiet"]),
        ("check -q t3000", []),
        ("show --width 60 --all --svg x.svg t3000", ["--width", "--all"]),
        ("show --width 60 --html x.html t3000", ["--width"]),
        ("show --width 60 --all t3000", []),
        ("systems --json --path t3000", ["--json"]),
        ("new --shape 2x4 --link ring --link-channels 2 --link-policy STRICT --z", ["--link", "--link-channels", "--link-policy", "--z"]),
        ("new --shape 2x4 --link none", []),
        ("new --shape 2x4 --meshes 2 --link none --link-channels 2", ["--link-channels"]),
        ("new --shape 2x4 --hosts 1x1 --hosts 1x1 --link ring --link-channels 2", []),
        ("new --shape 2x4 --force", ["--force"]),
        ("new --shape 2x4 --force -o x.textproto", []),
        ("new --system t3000 --force", ["--force"]),
        ("convert t3000 --force", ["--force"]),
    ],
)  # fmt: skip
def test_options_that_do_nothing_are_told(
    mgd: Mgd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, idle: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = mgd(*line.split())
    told = [word for word in result.err.splitlines() if word.startswith("warning[MGD301]: ")]
    assert [word.split(": ")[1] for word in told] == idle and result.code == 0


def test_options_are_named_as_they_are_written(mgd: Mgd) -> None:
    result = mgd(*["new", "--system", "t3000", "--z", "--channels", "3", "--link-policy", "STRICT"])
    assert "help: leave out --channels, --link-policy, --z" in result.err


@pytest.mark.parametrize(
    ("line", "code", "says", "help"),
    [
        ("fmt t3000", 2, "cannot read t3000: there is no such file", "mgd new --system t3000 -o t3000.textproto"),
        ("fix none.yaml", 2, "cannot read none.yaml", "check the path: here.textproto and there.textproto are there"),
        ("fmt no/mesh", 2, "cannot read no/mesh", "check the path: there is no folder no"),
        ("new --shape 2x4 --link rng", 1, "'rng' is not a link", "write --link ring"),
        ("fix ranks.yaml", 0, "ranks.yaml: left alone, it holds no descriptor", "mgd check ranks.yaml says what it is"),
    ],
)  # fmt: skip
def test_what_is_there_is_said(
    mgd: Mgd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, code: int, says: str, help: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ranks.yaml").write_text("rank_bindings: []\n")
    for name in ("there", "here"):
        (tmp_path / f"{name}.textproto").write_text("")
    result = mgd(*line.split())
    assert result.code == code and says in result.err and help in result.err


def test_a_file_that_cannot_be_written_whole_is_named_and_goes(tmp_path: Path) -> None:
    """Here for want of room under a limit; a full disk says as little about which file it was."""
    path, (soft, hard) = tmp_path / "x", resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            write_file(path, 100 * "text")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert caught.value.filename == str(path) and not path.exists()
