# shellcheck shell=bash
# Sourced after lib.sh by tests that bring about what a machine hardly ever does, or by chance: they look
# into the maps that the recording shares with its BPF programs, and write to them.

run_bpftool() { PATH=$PATH:/usr/sbin:/sbin bpftool "$@"; }

# Leaves in MAP the number of the map of this name that the recording has.
# find_map NAME
find_map() {
    while read -r MAP; do
        run_bpftool map show id "$MAP" </dev/null | has_line -w "name $1" && return
    done < <(sed -n 's/^map_id:[[:space:]]*//p' "/proc/$RECORDER/fdinfo"/* | sort -un)
    fail "the recording has no map '$1'"
}

# A number as so many bytes, the lowest first.
# list_bytes NUMBER COUNT
list_bytes() {
    local i
    for ((i = 0; i < $2; i++)); do
        printf '%d ' $(($1 >> (8 * i) & 255))
    done
}

# Recording in the background, of a process that waits until it is told to go on.
# record_waiting PID OPTION…
record_waiting() {
    start_recording -v -p "$@"
    wait_until grep -q 'debug: sampling' "$TMPDIR/record.err"
}

# Whether the thread is among those that are to be recorded.
# is_wanted TID
is_wanted() {
    # shellcheck disable=SC2046 # bytes
    run_bpftool map lookup id "$MAP" key $(list_bytes "$1" 8) 2>/dev/null | has_line -w value
}
