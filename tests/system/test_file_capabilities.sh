#!/bin/bash
# Programs that get capabilities by their file, and such that their user may execute but not read.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/privileged_program.sh"
need_recording
need_command setpriv

cp "$WORKLOADS/burn" capable
PATH=$PATH:/usr/sbin:/sbin
need_command setcap
setcap cap_net_raw+ep capable || skip "the temporary folder's file system keeps no capabilities"
cp "$WORKLOADS/burn" unreadable
chmod 711 unreadable

for program in capable unreadable; do
    record -F 999 --stats command.json -o command.folded -- "${as_nobody[@]}" "./$program" 0.5
    expect_whole command.folded "$program"
    expect_walked_at_once command.json command.folded "$program"

    rm -f begin
    # shellcheck disable=SC2016 # the inner shell is to expand it
    start "${as_nobody[@]}" sh -c 'until [ -e begin ]; do sleep 0.1; done; "$0" 0.5; exit 0' "./$program"
    start_recording -F 999 -d 1h -p "$PID" -o attached.folded
    touch begin
    end_recording
    expect_whole attached.folded "$program"

    start_recording -F 999 -a -o all.folded
    "${as_nobody[@]}" "./$program" 0.5
    stop_recording
    expect_whole all.folded "$program"
done
