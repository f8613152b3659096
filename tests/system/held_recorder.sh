# Sourced after lib.sh and cpu_time.sh: a recorder that is held while a program runs. Nobody builds tables
# meanwhile, so that every sample brings its stack along, and the ring has room for all of them.
# shellcheck shell=bash

# record_held NAME SECONDS MS OPTION…: the workload NAME runs for SECONDS, and the recorder goes on once it has
# used MS milliseconds of CPU time in all; it must not end by itself. Leaves $program, $TMPDIR/NAME.folded and NAME.json when it has stopped.
record_held() {
    local name=$1 seconds=$2 ms=$3
    shift 3
    mkfifo "$TMPDIR/begin"
    # shellcheck disable=SC2016 # the inner shell is to expand it
    start bash -c 'read -r _ <"$1"; exec "$2" "$3"' - "$TMPDIR/begin" "$WORKLOADS/$name" "$seconds"
    program=$PID
    start_recording --no-cache --no-inline "$@" -p "$program" -o "$TMPDIR/$name.folded" --stats "$TMPDIR/$name.json"
    kill -STOP "$RECORDER"
    echo >"$TMPDIR/begin"
    wait_until runs_program "$program" "$name"
    until has_used "$ms" "$program"; do
        sleep 0.05
    done
    kill -CONT "$RECORDER"
}
