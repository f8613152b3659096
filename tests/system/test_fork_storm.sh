#!/bin/bash
# While processes begin and end as fast as they can, and every CPU is busy, nothing is lost, and
# every tick is in the account. STORM_SECONDS=60 makes it the long run that it stands for.
# runs: in turn
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

seconds=${STORM_SECONDS:-3}
for _ in $(seq "$(nproc)"); do
    start "$WORKLOADS/spawn" $((seconds + 60)) "$WORKLOADS/short_lived" >/dev/null
    start "$WORKLOADS/spawn" $((seconds + 60)) /bin/true >/dev/null
    start bash -c 'while :; do (: | :); done'
done
start bash -c 'while :; do "$1/execs" "$1/burn" 1; "$1/forks" 1; done' - "$WORKLOADS"
# A ring that has room for all, however late it is read: half of it takes no copies of stacks.
start_recording -a -F 999 --buffer-size 256M -o "$TMPDIR/storm.folded" --stats "$TMPDIR/storm.json"
begun=$SECONDS
# Processes and threads that have begun since the machine started.
count_forks() { awk '$1 == "processes" { print $2 }' /proc/stat; }
before=$(count_forks)
until ((SECONDS >= begun + seconds && $(count_forks) > before + 40 * seconds)); do
    sleep 0.1
done
stop_recording
{ read -r samples && read -r forks && read -r execs && read -r lost && read -r undelivered && read -r unfollowed; } < <(
    stats_get "$TMPDIR/storm.json" samples processes.forks processes.execs lost lost.undelivered unfollowed_threads)
figure storm.samples "$samples"
figure storm.forks "$forks"
figure storm.execs "$execs"
figure storm.whole_stacks "$(whole_share "$TMPDIR/storm.json")"
echo "cut: $(list_reasons "$TMPDIR/storm.json")"
expect_account_adds_up "$TMPDIR/storm.json"
# Another machine may have the CPU when a tick is due.
[[ $lost = "$undelivered" && $unfollowed = 0 ]] || fail "lost samples: $(cat "$TMPDIR/storm.json")"
((forks >= 20 * seconds)) || fail "only $forks processes began"
[[ $samples = "$(folded_total "$TMPDIR/storm.folded")" ]] ||
    fail "samples differ from the sum of the folded file"
