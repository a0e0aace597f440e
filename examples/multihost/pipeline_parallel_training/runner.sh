#!/usr/bin/env bash
# Launch pipeline-parallel training over the hosts of a configuration, or, with --emulate, as ranks on this machine without hardware.
#   ./runner.sh [--hostfile FILE] [--rank-bindings FILE] [--config NAME] [--emulate] [--sync]
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
hostfile=""
bindings="$here/configurations/4loudboxes/rank_bindings.yaml"
config="tiny_pp.yaml"
emulate=0
sync=0
while [ $# -gt 0 ]; do
  case "$1" in
    --hostfile | --rank-bindings | --config)
      [ $# -gt 1 ] || { echo "$1 needs a value" >&2; exit 1; }
      case "$1" in
        --hostfile) hostfile="$2" ;;
        --rank-bindings) bindings="$2" ;;
        --config) config="$2" ;;
      esac
      shift 2
      ;;
    --emulate) emulate=1; shift ;;
    --sync) sync=1; shift ;;
    *) echo "Unknown argument: $1" >&2; exit 1 ;;
  esac
done
arguments=()
[ -z "$config" ] || arguments=(-c "$config")
if [ "$emulate" = 1 ]; then
  [ -z "$hostfile" ] && [ "$sync" = 0 ] || echo "--emulate: every rank runs on this machine; --hostfile and --sync are not used" >&2
  exec tt-run --emulate --rank-binding "$bindings" python "$here/training.py" "${arguments[@]+"${arguments[@]}"}"
fi
hostfile="${hostfile:-$here/configurations/4loudboxes/hosts.txt}"
if [ "$sync" = 1 ]; then
  # Without a file system that all hosts share, the code has to be there first.
  while read -r host _; do
    case "$host" in "" | "#"*) continue ;; esac
    rsync -a --delete "$here/" "$host:$here/"
  done <"$hostfile"
fi
exec tt-run --rank-binding "$bindings" --mpi-args "--hostfile $hostfile --tag-output" python "$here/training.py" "${arguments[@]+"${arguments[@]}"}"
