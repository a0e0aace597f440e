# Runs one MPI rank: sh rank.sh RUN_DIR WORLD_SIZE
#
# Started by mpirun on every host. Gives the program exactly the environment of its plan, sends its output to the rank's files, ties
# its life to this shell's, and records how it ended; the record, not mpirun's exit code, is what tt-run believes.
# Plain POSIX sh with as few processes as possible: a Python wrapper costs some 90 ms of CPU per rank.
# All names begin with _tt_, because an assignment to an inherited name would change what the program inherits.

_tt_run=$1 _tt_size=$2 _tt_parent=${3:-}

if [ -z "${OMPI_COMM_WORLD_RANK:-}" ] || [ "${OMPI_COMM_WORLD_SIZE:-}" != "$_tt_size" ]; then
    printf 'rank=%s\nsize=%s\nexpected=%s\n' "${OMPI_COMM_WORLD_RANK:-}" "${OMPI_COMM_WORLD_SIZE:-}" "$_tt_size" \
        >>"$_tt_run/launch/wrong-size"
    echo "tt-run: started as rank '${OMPI_COMM_WORLD_RANK:-}' of '${OMPI_COMM_WORLD_SIZE:-}', expected $_tt_size ranks" >&2
    exit 70
fi

# The words that make a program die with its parent; none where neither setpriv nor Python can do it.
# A linked setpriv is not taken: the link leads to busybox, whose setpriv does not know the option.
set --
for _tt_word in /usr/bin/setpriv /bin/setpriv /usr/local/bin/setpriv; do
    if [ -x "$_tt_word" ] && [ ! -h "$_tt_word" ]; then
        set -- "$_tt_word" --pdeathsig KILL
        break
    fi
done
if [ $# = 0 ] && command -v python3 >/dev/null; then
    set -- python3 -S -E "$_tt_run/launch/die_with_parent.py"
fi
if [ "$_tt_parent" = untied ]; then
    set -- # a sandbox refuses it
    _tt_parent=$PPID
elif [ "$_tt_parent" = tied ]; then
    _tt_parent=$PPID # if that is not mpirun any more, the keeper on this host ends us
elif [ -z "$_tt_parent" ] && [ $# != 0 ]; then
    exec "$@" /bin/sh "$0" "$_tt_run" "$_tt_size" "$PPID"
fi
if [ "${_tt_parent:-$PPID}" != "$PPID" ]; then
    exit 137 # the parent died before this shell was tied to it
fi

_tt_umask=
while [ "$_tt_umask" != Umask: ] && read -r _tt_umask _tt_word; do :; done </proc/self/status # without a process of its own
if [ "$_tt_umask" = Umask: ]; then _tt_umask=$_tt_word; else _tt_umask=$(umask); fi
umask 077 # for the records of the run; the program gets its own back
_tt_rank=$OMPI_COMM_WORLD_RANK
while [ ${#_tt_rank} -lt 4 ]; do _tt_rank=0$_tt_rank; done
_tt_base=$_tt_run/rank-$_tt_rank
_tt_notes=$_tt_run/launch/rank-$_tt_rank.shell

# Signals that mpirun sends to the whole process group are for the program; this shell stays to write down what they did.
# A rank that was told to end before it did is no first cause, whatever the clocks of its host say.
trap : HUP INT
# mpirun passes these on to all ranks when it is sent them itself.
for _tt_word in ABRT ALRM USR1 USR2; do
    trap "echo passed=$_tt_word >>\"\$_tt_base.status\"" $_tt_word
done
trap 'echo told=TERM >>"$_tt_base.status"' TERM # at once: mpirun kills us, too, a quarter of a second later

# On other hosts than tt-run's, where nobody inherits what a program leaves behind: a cgroup of the rank's own, if one can be made.
read -r _tt_host </proc/sys/kernel/hostname
_tt_home=$_tt_host _tt_cage=
[ ! -r "$_tt_run/launch/host" ] || read -r _tt_home <"$_tt_run/launch/host"
_tt_own_group() {
    while IFS=: read -r _tt_number _tt_word _tt_path; do
        [ "$_tt_number:$_tt_word" = 0: ] || continue
        for _tt_root in /sys/fs/cgroup /sys/fs/cgroup/unified; do
            if [ -w "$_tt_root$_tt_path/cgroup.procs" ] && [ -e "$_tt_root$_tt_path/cgroup.subtree_control" ]; then
                _tt_above=$_tt_root${_tt_path%/} _tt_cage=$_tt_root${_tt_path%/}/tt-run-$_tt_host-$$
                return
            fi
        done
    done </proc/self/cgroup
}
if [ "$_tt_host" != "$_tt_home" ]; then
    _tt_own_group
    if [ -n "$_tt_cage" ]; then
        { mkdir "$_tt_cage" && echo $$ >"$_tt_cage/cgroup.procs"; } 2>/dev/null || _tt_cage=
    fi
fi

# Sets _tt_now: on tt-run's own host to the seconds since that was started, "@12.34", which costs no process; else to those since 1970.
_tt_ask_time() {
    if [ "$_tt_host" = "$_tt_home" ] && read -r _tt_now _tt_word </proc/uptime; then
        _tt_now=@$_tt_now
    else
        _tt_now=$(date +%s.%N)
    fi
}

# Counts, in _tt_kills, what the memory killer has ended in this rank's control group; "-" where nobody counts.
_tt_count_kills() {
    _tt_kills=-
    while IFS=: read -r _tt_number _tt_word _tt_path; do
        case $_tt_number:$_tt_word in
        0:) _tt_events="/sys/fs/cgroup$_tt_path/memory.events /sys/fs/cgroup/memory.events" ;;
        *:memory | *:memory,* | *,memory)
            _tt_events="/sys/fs/cgroup/memory$_tt_path/memory.oom_control /sys/fs/cgroup/memory/memory.oom_control"
            ;;
        *) continue ;;
        esac
        for _tt_word in $_tt_events; do
            [ -r "$_tt_word" ] || continue
            while read -r _tt_number _tt_count; do
                [ "$_tt_number" != oom_kill ] || { _tt_kills=$_tt_count && return; }
            done <"$_tt_word"
        done
    done </proc/self/cgroup
}
_tt_count_kills
_tt_kills_before=$_tt_kills

# This shell's own standard error goes to a file while the program runs: a shell writes "Killed" or "Segmentation fault" there
# when, and only when, a signal ended the program, which tells a signal from an exit code above 128.
{
    (
        exec 2>&4 4>&-
        _tt_ask_time
        read -r _tt_pid _tt_word _tt_word _tt_word _tt_pgid _tt_word </proc/self/stat
        printf 'rank=%s\nhost=%s\npid=%s\npgid=%s\nstart=%s\n' "$OMPI_COMM_WORLD_RANK" "$_tt_host" "$_tt_pid" "$_tt_pgid" \
            "$_tt_now" >>"$_tt_base.status"
        [ -z "$_tt_cage" ] || printf 'cgroup=%s\n' "$_tt_cage" >>"$_tt_base.status"
        _tt_refuse() {
            echo "tt-run: $2" >&2
            printf 'error=%s\n' "$2" >>"$_tt_base.status"
            exit "$1"
        }
        for _tt_word in "$_tt_base.status" "$_tt_base.out" "$_tt_base.err"; do # no file of its own: the shell would end without a word of ours
            { true >>"$_tt_word"; } 2>/dev/null || _tt_refuse 69 "$_tt_word cannot be written on $_tt_host (is its disk full?)"
        done
        exec >>"$_tt_base.out" 2>>"$_tt_base.err"
        umask "$_tt_umask"
        # And here its own number of open files, which was raised for mpirun.
        if [ "$_tt_host" = "$_tt_home" ] && [ -r "$_tt_run/launch/open-files" ]; then
            read -r _tt_word <"$_tt_run/launch/open-files"
            ulimit -S -n "$_tt_word"
        fi
        # Without --stdin nobody reads; Open MPI 5 would never tell a reader that there is no more.
        if [ "$OMPI_COMM_WORLD_RANK" = 0 ] && [ -p "$_tt_run/launch/stdin" ]; then
            exec <"$_tt_run/launch/stdin"
        elif [ ! -e "$_tt_run/launch/stdin-from-mpirun" ]; then
            exec </dev/null
        fi
        # Sets the environment, appends the program and its words to "$@", and defines _tt_cwd and _tt_program.
        . "$_tt_run/launch/rank-$_tt_rank.env"
        cd "$_tt_cwd" || _tt_refuse 127 "cannot enter the launch directory $_tt_cwd on $_tt_host"
        case $_tt_program in
        */*)
            [ -e "$_tt_program" ] || _tt_refuse 127 "$_tt_program: no such file on $_tt_host"
            [ ! -d "$_tt_program" ] || _tt_refuse 126 "$_tt_program: a directory, not a program"
            [ -x "$_tt_program" ] || _tt_refuse 126 "$_tt_program: not executable on $_tt_host"
            ;;
        *) command -v "$_tt_program" >/dev/null || _tt_refuse 127 "$_tt_program: not found on PATH on $_tt_host" ;;
        esac
        exec "$@"
    )
    _tt_code=$?
    trap : TERM # whoever tells us from here on does not tell the program
} 4>&2 2>"$_tt_notes"

_tt_ask_time
_tt_end=$_tt_now
_tt_how=exit
_tt_value=$_tt_code
if [ "$_tt_code" -gt 128 ]; then
    # INT and PIPE leave no note, so an exit code of 130 or 141 is taken for the signal.
    if [ -s "$_tt_notes" ] || [ "$_tt_code" = 130 ] || [ "$_tt_code" = 141 ]; then
        _tt_how=signal _tt_value=$((_tt_code - 128))
    fi
fi
[ -e "$_tt_base.status" ] || exit "$_tt_code" # somebody has removed the run folder: nothing can be recorded

# How much of a rank that was killed is told by the kernel: its own count for the control group, or its log where one may read it.
_tt_memory= _tt_limit=
if [ "$_tt_how=$_tt_value" = signal=9 ]; then
    _tt_word=$(ulimit -t)
    if [ "$_tt_word" != unlimited ] && times >"$_tt_notes" 2>/dev/null; then
        # The second line is of those that this shell has waited for: 0m1.002s 0m0.017s
        { read -r _tt_number && read -r _tt_number _tt_any; } <"$_tt_notes"
        _tt_count=0
        for _tt_number in "$_tt_number" "$_tt_any"; do
            _tt_any=${_tt_number#*m} _tt_any=${_tt_any%%[.,]*}
            _tt_count=$((_tt_count + ${_tt_number%%m*} * 60 + _tt_any))
        done
        [ $((_tt_count + 1)) -lt "$_tt_word" ] || _tt_limit="it had used the $_tt_word s of processor time that it may have (ulimit -t)"
    fi
    _tt_count_kills
    if [ "$_tt_kills" != "$_tt_kills_before" ]; then
        _tt_memory='its control group counts it'
    else
        _tt_pid=
        while IFS== read -r _tt_word _tt_number; do [ "$_tt_word" != pid ] || _tt_pid=$_tt_number; done <"$_tt_base.status"
        if [ -n "$_tt_pid" ] && dmesg 2>/dev/null | tail -n 400 | grep -q "[Oo]ut of memory.* Killed process $_tt_pid "; then
            _tt_memory="the kernel's log says so"
        fi
    fi
fi

_tt_left=
if [ "$_tt_host" != "$_tt_home" ]; then
    printf 'over=%s:%s\nend=%s\n' "$_tt_how" "$_tt_value" "$_tt_end" >>"$_tt_base.status" # we may be killed before we are done here
    # tt-run ends what is left on its own host; here this shell is the last that knows of it.
    for _tt_number in TERM KILL; do
        _tt_any=
        for _tt_word in $(grep -lszxF "TT_RUN_DIR=$_tt_run" /proc/[0-9]*/environ 2>/dev/null); do
            grep -qszxF "OMPI_COMM_WORLD_RANK=$OMPI_COMM_WORLD_RANK" "$_tt_word" || continue
            _tt_word=${_tt_word#/proc/}
            kill -s $_tt_number "${_tt_word%/environ}" 2>/dev/null && _tt_any=yes _tt_left=yes
        done
        [ -n "$_tt_any" ] || break
        [ $_tt_number = KILL ] || sleep 1
    done
    if [ -n "$_tt_cage" ]; then
        echo $$ >"$_tt_above/cgroup.procs"
        read -r _tt_word <"$_tt_cage/cgroup.procs" && [ -n "$_tt_word" ] && _tt_left=yes && echo 1 >"$_tt_cage/cgroup.kill"
        rmdir "$_tt_cage" 2>/dev/null || { sleep 0.2 && rmdir "$_tt_cage"; }
    fi 2>/dev/null
fi

{
    [ -z "$_tt_memory" ] || printf 'memory=%s\n' "$_tt_memory"
    [ -z "$_tt_limit" ] || printf 'limit=%s\n' "$_tt_limit"
    [ -z "$_tt_left" ] || echo left=yes
    printf 'end=%s\n%s=%s\n' "$_tt_end" "$_tt_how" "$_tt_value"
} 2>/dev/null >>"$_tt_base.status" || echo "tt-run: unrecorded rank=$_tt_rank end=$_tt_end $_tt_how=$_tt_value" >&2 # mpirun's log may be elsewhere
exit "$_tt_code"
