#!/bin/bash
# A program that runs as another user than the one who started it is named like any other one,
# whatever the target that it belongs to, and so are its children.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/privileged_program.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording
need_command setpriv

make_set_user_id burn other_user
make_set_user_id forks other_forks

record -F 999 --stats command.json -o command.folded -- ./other_user 0.5
expect_whole command.folded other_user
expect_walked_at_once command.json command.folded other_user
expect_account_adds_up command.json

# A chain of executions that each end the monitoring of the task, and children after it.
record -F 999 -o chain.folded -- sh -c './other_user 0.3; ./other_forks 0.5; "$0" 0.2; exit 0' \
    "$WORKLOADS/burn"
expect_whole chain.folded other_user
expect_whole chain.folded burn
expect_frame chain.folded parent_burn 30
expect_frame chain.folded child_burn 30
expect_near "share of [unknown]" "$(folded_share chain.folded '[unknown]')" 0 0.5

# Short ones, one after the other.
# shellcheck disable=SC2016 # the inner shell is to expand it
record -F 1999 -o short.folded -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do ./other_user 0.01; done'
expect_near "share of [unknown]" "$(folded_share short.folded '[unknown]' other_user)" 0 2

# Those that are attached to before they execute it: a process, and a thread.
for option in -p -t; do
    rm -f begin
    # shellcheck disable=SC2016 # the inner shell is to expand it
    start sh -c 'until [ -e begin ]; do sleep 0.1; done; ./other_user 0.5; exec ./other_user 0.5'
    # A recording that went on would go on until the runner ends it.
    start_recording -F 999 -d 1h "$option" "$PID" -o attached.folded -o attached.pb.gz
    touch begin
    end_recording
    expect_whole attached.folded other_user
    # The child, and what the shell has become.
    "$STACKWIDE" convert attached.pb.gz --root pid -o pids.folded
    pids=$(grep -oE '^other_user-[0-9]+;.*;burn_60[; ]' pids.folded | cut -d';' -f1 | sort -u | wc -l)
    ((pids == 2)) || fail "$pids processes have samples of other_user, expected 2"
done

# One that runs already.
start ./other_user 60
running=$PID
wait_until runs_program "$running" other_user
record_cpu_time 250 "$running" -F 999 -p "$running" -o running.folded
expect_whole running.folded other_user
kill -KILL "$running"

for option in -a --cgroup; do
    if [[ $option = -a ]]; then
        target=(-a)
    elif awk '$3 == "cgroup2" { found = 1 } END { exit !found }' /proc/mounts; then
        target=(--cgroup /)
    else
        continue
    fi
    start_recording -F 999 "${target[@]}" -o all.folded
    ./other_user 0.5
    ./other_user 0.5
    stop_recording
    expect_whole all.folded other_user
done
