#!/bin/bash
# --wakers: who ended each wait, with its stack; an interrupt is no thread; of who is not of the target only its
# name and what the kernel did are told.
# runs: beside others
source "$(dirname "$0")/lib.sh"

# usage_error WORD ARGUMENT…: the message holds WORD.
usage_error() {
    local word=$1
    shift
    expect_status 2 "$STACKWIDE" record "$@" -d 1
    grep -qF -- "$word" "$TMPDIR/err" || fail "$*: no '$word' in: $(cat "$TMPDIR/err")"
}
if ! is_brief; then
    usage_error --off-cpu --wakers -o "$TMPDIR/x.folded"
    usage_error --wakers --off-cpu -o "$TMPDIR/x.offwake.folded"
    usage_error --wakers --off-cpu --metric offwake -o "$TMPDIR/x.folded"
fi

need_recording

file=$TMPDIR/waits.offwake.folded
record --off-cpu --wakers --period 1ms --buffer-size 64M -o "$file" -o "$TMPDIR/waits.pb.gz" \
    -o "$TMPDIR/blocked.folded" --stats "$TMPDIR/stats.json" -- "$WORKLOADS/nofp_waits" 2 >"$TMPDIR/truth"
expect_off_cpu_adds_up "$TMPDIR/stats.json"

# expect_waker WAIT WAKER: both are expressions; of what is blocked in WAIT, nearly all was ended by WAKER. Stacks
# of the program's begin, before its tables are there, are whole, too.
expect_waker() {
    local waits=$TMPDIR/some.offwake.folded all known
    grep -E -- ";$1;.*;\[(blocked|uninterruptible)\];--;" "$file" >"$waits" || fail "nothing is blocked in $1"
    all=$(folded_total "$waits")
    known=$(folded_match "$waits" "--;(.*;)?$2 [0-9]+\$")
    grep -Ev -- "--;(.*;)?$2 [0-9]+\$" "$waits" >"$TMPDIR/others.folded" || true
    echo "$1: $known of $all us ended by $2"
    ((100 * known >= 95 * all)) ||
        fail "blocked in $1 for $all us, ended by $2 for $known us: $(head -n 5 "$TMPDIR/others.folded")"
}
thread='.*nofp_waits'
expect_waker wait_condition "wake_others;$thread"
expect_waker wait_pipe ".*pipe_write_\[k\];.*;wake_others;$thread"
expect_waker wait_epoll ".*pipe_write_\[k\];.*;wake_others;$thread"
expect_waker wait_lock ".*flock.*;hold_lock;$thread"
# When it ends.
expect_waker 'wait_child;[^;]*vfork' 'do_exit_\[k\];.*;_exit;.*nofp_waits'
expect_waker wait_futex '\[interrupt\]'
expect_waker wait_sleep '\[interrupt\]'
# What the interrupt found running has no part in it, nor has the wakeup's own code.
for wrong in '--;.*(main|run_waiter|wake_others|hold_lock|do_idle_\[k\]).*;\[interrupt\] [0-9]+$' '--;.*try_to_wake_up'; do
    (($(folded_match "$file" "$wrong") == 0)) || fail "$(grep -Em 1 -- "$wrong" "$file")"
done

stats_get "$TMPDIR/stats.json" off_cpu.wakers.user_stacks.{complete,truncated.{no_process,no_mapping,no_table}} >"$TMPDIR/stacks"
mapfile -t stacks <"$TMPDIR/stacks"
echo "${stacks[0]} stacks of wakers are whole, and ${stacks[*]:1} lack a table"
((stacks[0] && !(stacks[1] + stacks[2] + stacks[3]))) || fail "stacks of wakers end before their file's table was there"

# All that was blocked has a line, whoever ended it; the metric is the same in every file.
stats_get "$TMPDIR/stats.json" off_cpu.sampled_ns.blocked off_cpu.sampled_ns.uninterruptible \
    off_cpu.wakers.known off_cpu.wakers.unseen off_cpu.wakers.lost >"$TMPDIR/values"
{ read -r blocked_ns && read -r uninterruptible_ns && read -r known && read -r unseen && read -r lost; } <"$TMPDIR/values"
[[ $(folded_total "$file") = $(((blocked_ns + uninterruptible_ns) / 1000)) ]] ||
    fail "the weights are not $(((blocked_ns + uninterruptible_ns) / 1000)) us"
expect_between "waits with wakers in percent" $((100 * known / (known + unseen + lost))) 95 100
# How many of their user stacks are whole. One that is not is in a line of the file: nothing is lost. Whom it woke
# may not be told of, if that was at the end.
stats_get "$TMPDIR/stats.json" off_cpu.wakers.user_stacks.complete off_cpu.wakers.user_stacks.in_exec \
    off_cpu.wakers.user_stacks.truncated >"$TMPDIR/values"
{ read -r complete && read -r in_exec && read -r truncated; } <"$TMPDIR/values"
figure "whole_waker_stacks_percent" $((100 * (complete + in_exec) / (complete + in_exec + truncated)))
((complete > 0 && complete + in_exec + truncated <= known + lost + 10)) ||
    fail "of $known wakers $complete user stacks are whole, $in_exec in exec, $truncated truncated"
truncated_us=$(folded_match "$file" ';--;(.*;)?\[truncated\];')
(((truncated > 0) == (truncated_us > 0))) || fail "$truncated stacks of wakers are truncated, in the file $truncated_us us"

expect_status 0 "$STACKWIDE" convert "$TMPDIR/waits.pb.gz" -o "$TMPDIR/again.offwake.folded"
cmp "$file" "$TMPDIR/again.offwake.folded" || fail "the profile does not hold who ended the waits"
expect_status 1 "$STACKWIDE" convert "$TMPDIR/blocked.folded" -o "$TMPDIR/none.offwake.folded"
grep -q -- '--off-cpu --wakers' "$TMPDIR/err" || fail "no way to it in: $(cat "$TMPDIR/err")"
[[ ! -e $TMPDIR/none.offwake.folded ]] || fail "wrote an output"

# Of a target: who is outside is a name.
mkfifo "$TMPDIR/fifo"
cat "$TMPDIR/fifo" >/dev/null &
reader=$!
exec 8>"$TMPDIR/fifo"
(while sleep 0.02 && kill -0 $reader; do echo >&8; done) 2>/dev/null &
writer=$!
name=$(<"/proc/$writer/comm")
record -p $reader --off-cpu --wakers --period 1ms -d 2 -o "$TMPDIR/reader.offwake.folded"
exec 8>&-
kill $writer $reader 2>/dev/null || true
file=$TMPDIR/reader.offwake.folded
all=$(($(folded_total "$file") - $(folded_match "$file" ';\[not woken\] [0-9]+$'))) # which goes on at the end
expect_between "blocked time of the reader in us" "$all" 1000000 3000000
expect_between "ended by the writer, in percent" $((100 * $(folded_match "$file" ';\[blocked\];--;([^;]*_\[k\];)+'"$name"' [0-9]+$') / all)) 90 100
