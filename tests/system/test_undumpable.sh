#!/bin/bash
# A process that turns non-dumpable while it runs: its own work, its child and what it executes then.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/privileged_program.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording
need_command setpriv

make_set_user_id burn other_user
cp "$WORKLOADS/undumpable" "$WORKLOADS/burn" .

# expect_all_parts FILE
expect_all_parts() {
    for part in while_dumpable while_undumpable in_child; do
        expect_frame "$1" "main;$part" 50
    done
    expect_near "share of [unknown]" "$(folded_share "$1" '[unknown]' undumpable)" 0 0.5
    expect_whole "$1" "$2"
}

for program in burn other_user; do
    command=(./undumpable 0.3 0.3 "./$program" 0.5)
    record -F 999 -o command.folded -- "${as_nobody[@]}" "${command[@]}"
    expect_all_parts command.folded "$program"

    rm -f begin
    # shellcheck disable=SC2016 # the inner shell is to expand it
    start "${as_nobody[@]}" sh -c 'until [ -e begin ]; do sleep 0.1; done; "$@"; exit 0' - "${command[@]}"
    start_recording -F 999 -d 1h -p "$PID" -o attached.folded
    touch begin
    end_recording
    expect_all_parts attached.folded "$program"

    start_recording -F 999 -a -o all.folded
    "${as_nobody[@]}" "${command[@]}"
    stop_recording
    expect_all_parts all.folded "$program"
done

# One that is so when the recording begins.
start "${as_nobody[@]}" ./undumpable 0.1 60
running=$PID
wait_until runs_program "$running" undumpable
wait_until test -O "/proc/$running/maps" # root owns what is in its folder now
record_cpu_time 250 "$running" -F 999 -p "$running" -o running.folded
expect_frame running.folded "main;while_undumpable" 50
expect_near "share of main" "$(folded_share running.folded main)" 97 3
kill -KILL "$running"
