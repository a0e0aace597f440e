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
if [ -z "$_tt_parent" ] && [ $# != 0 ]; then
    exec "$@" /bin/sh "$0" "$_tt_run" "$_tt_size" "$PPID"
fi
if [ "${_tt_parent:-$PPID}" != "$PPID" ]; then
    exit 137 # the parent died before this shell was tied to it
fi

_tt_umask=$(umask)
umask 077 # for the records of the run; the program gets its own back
_tt_rank=$OMPI_COMM_WORLD_RANK
while [ ${#_tt_rank} -lt 4 ]; do _tt_rank=0$_tt_rank; done
_tt_base=$_tt_run/rank-$_tt_rank
_tt_notes=$_tt_run/launch/rank-$_tt_rank.shell

# Signals that mpirun sends to the whole process group are for the program; this shell stays to write down what they did.
trap : HUP INT TERM USR1 USR2

# This shell's own standard error goes to a file while the program runs: a shell writes "Killed" or "Segmentation fault" there
# when, and only when, a signal ended the program, which tells a signal from an exit code above 128.
{
    (
        exec 2>&4 4>&-
        read -r _tt_pid _tt_word _tt_word _tt_word _tt_group _tt_word </proc/self/stat
        read -r _tt_host </proc/sys/kernel/hostname
        printf 'rank=%s\nhost=%s\npid=%s\npgid=%s\nstart=%s\n' "$OMPI_COMM_WORLD_RANK" "$_tt_host" "$_tt_pid" "$_tt_group" \
            "$(date +%s.%N)" >>"$_tt_base.status"
        exec >>"$_tt_base.out" 2>>"$_tt_base.err"
        umask "$_tt_umask"
        # Without --stdin nobody reads; Open MPI 5 would never tell a reader that there is no more.
        if [ "$OMPI_COMM_WORLD_RANK" = 0 ] && [ -p "$_tt_run/launch/stdin" ]; then
            exec <"$_tt_run/launch/stdin"
        elif [ ! -e "$_tt_run/launch/stdin-from-mpirun" ]; then
            exec </dev/null
        fi
        _tt_refuse() {
            echo "tt-run: $2" >&2
            printf 'error=%s\n' "$2" >>"$_tt_base.status"
            exit "$1"
        }
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
} 4>&2 2>"$_tt_notes"

_tt_end=$(date +%s.%N)
_tt_how=exit
_tt_value=$_tt_code
if [ "$_tt_code" -gt 128 ]; then
    # INT and PIPE leave no note, so an exit code of 130 or 141 is taken for the signal.
    if [ -s "$_tt_notes" ] || [ "$_tt_code" = 130 ] || [ "$_tt_code" = 141 ]; then
        _tt_how=signal _tt_value=$((_tt_code - 128))
    fi
fi
printf 'end=%s\n%s=%s\n' "$_tt_end" "$_tt_how" "$_tt_value" >>"$_tt_base.status"
exit "$_tt_code"
