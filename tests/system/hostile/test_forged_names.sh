#!/bin/bash
# A user runs a program of their own, with the path (in a mount namespace of theirs) and the build ID
# of one that root runs, and with other names in its symbol table. Neither gets the other's names.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../cpu_time.sh"
need_recording
need_command setpriv
as_attacker=(setpriv --reuid=65534 --regid=65534 --clear-groups)
"${as_attacker[@]}" unshare --user --map-root-user --mount true 2>/dev/null ||
    skip "users may not make namespaces here"

# The build ID is a checksum that nobody checks: it stays that of the program with the true names.
sed 's/burn_\([0-9]\)/evil_\1/g' "$WORKLOADS/burn" >"$TMPDIR/forged"
cmp -s "$WORKLOADS/burn" "$TMPDIR/forged" && fail "no name was forged"
for name in early late; do
    cp "$WORKLOADS/burn" "$TMPDIR/$name"
done

# The folder with the program may be one that the user cannot pass: they mount their own over the
# first one of its path.
programs=()
run_forged() {
    # shellcheck disable=SC2016 # the inner shells are to expand it
    start bash -c 'exec "${@:2}" <"$1"' - "$TMPDIR/forged" "${as_attacker[@]}" \
        unshare --user --map-root-user --mount sh -c '
            cd / && mount -t tmpfs none "$1" && mkdir -p "${2%/*}" && cat >"$2" &&
                chmod 755 "$2" && exec "$2" 60' - "$(cut -d/ -f1-2 <<<"$1")" "$1"
    wait_until runs_program "$PID" "${1##*/}"
    programs+=("$PID")
    forged=$PID
}
run_true() {
    start "$1" 60
    wait_until runs_program "$PID" "${1##*/}"
    programs+=("$PID")
    true=$PID
}

run_forged "$TMPDIR/early"
early_forged=$forged
run_true "$TMPDIR/early"
early_true=$true
start_recording -a -F 1999 --root pid -o "$TMPDIR/all.folded"
run_forged "$TMPDIR/late"
run_true "$TMPDIR/late"
wait_for_cpu_times 500 "${programs[@]}"
stop_recording

for program in "early-$early_true" "late-$true"; do
    forged=$(folded_count "$TMPDIR/all.folded" evil_60 "$program")
    ((forged == 0)) || fail "$forged samples of $program have a forged name"
    expect_share "$TMPDIR/all.folded" burn_60 "$program" 60 999
done
for program in "early-$early_forged" "late-${programs[2]}"; do
    [[ $(folded_count "$TMPDIR/all.folded" evil_60 "$program") -gt 50 ]] ||
        fail "the names of $program are not its own"
done
