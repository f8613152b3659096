#!/bin/bash
# --off-cpu: what threads wait has the weight that they measure themselves, at the stack where they wait; the
# stacks are whole, and the account adds up.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

# A directory of a disk. /tmp is in memory on many systems, and reading from memory never blocks.
find_disk() {
    local folder
    for folder in "$TMPDIR" "$(dirname "$STACKWIDE")" /var/tmp; do
        [[ ! -w $folder || $(stat -f -c %T "$folder") = @(tmpfs|ramfs|rootfs) ]] || { echo "$folder" && return; }
    done
    return 1
}

# Files to wait for: on a disk, and in a file system in user space that takes 5 ms for each page.
truncate -s 64M "$TMPDIR/slow"
disk=$(find_disk) || disk=$TMPDIR
direct=$(mktemp "$disk/stackwide-direct.XXXXXX") slow=$TMPDIR/fuse/program server=
file=$direct
mkdir "$TMPDIR/fuse"
end_server() {
    rm -f "$file"
    [[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true
    umount -l "$TMPDIR/fuse" 2>/dev/null || true
    stop_background
}
trap end_server EXIT
head -c 32M /dev/zero >"$direct"
start "$WORKLOADS/hostile/fuse_file" "$TMPDIR/fuse" "$TMPDIR/slow" 60 5
server=$PID
is_mounted_or_gone() { [[ -e $slow ]] || ! kill -0 "$server" 2>/dev/null; }
wait_until is_mounted_or_gone
[[ -e $slow ]] || { echo "FUSE is not to be had here: nobody waits for a page" && slow=; }
{ find_disk && dd if="$direct" of=/dev/null bs=1M count=1 iflag=direct; } >/dev/null 2>&1 ||
    { echo "no disk here can be read directly: no thread waits for the disk" && direct=; }

period_us=1000
# The rings hold all that may come, so nothing is lost however late it is read.
record -v --off-cpu --period "${period_us}us" --buffer-size 64M -o "$TMPDIR/waits.folded" -o "$TMPDIR/waits.pb.gz" \
    -o "$TMPDIR/samples.html" --stats "$TMPDIR/stats.json" -- "$WORKLOADS/nofp_waits" 2 "$direct" "$slow" >"$TMPDIR/truth"
grep -o 'off-CPU time is sampled by .*' "$TMPDIR/record.err"

# An emulated CPU takes so long for a program of ours that interrupts come meanwhile; of the threads that these wake the kernel
# tells nothing.
guest_factor=${LOAD_DIVISOR:+2}
guest_factor=${guest_factor:-1}

# weight KIND FRAME: us of the stacks with this frame that end so
weight() { folded_match "$TMPDIR/waits.folded" ";$2;.*\[($1)\] [0-9]+\$"; }

# What a thread is off the CPU crosses a period for each that it lasts, and one more or less; beside that, one
# percent. For the kernel, a thread that leaves a CPU is off it some microseconds earlier. Of a stack that is not
# whole it is not known whose wait it was: how many there may be is judged below.
# expect_weight WHAT WEIGHT_US OFF_NS WALL_NS WAITS
expect_weight() {
    local margin=$(($3 / 100000 * guest_factor + 2 * period_us))
    echo "$1: $2 us, by its own clock $(($3 / 1000)) of $(($4 / 1000)) us, $5 times"
    expect_between "weight of $1 in us" "$2" $(($3 / 1000 - margin - 10 * $5 - truncated_us)) $(($4 / 1000 + margin))
}

any='blocked|uninterruptible|run queue|preempted'
truncated_us=$(weight "$any" '\[truncated\]')
grep '\[truncated\]' "$TMPDIR/waits.folded" || true
preempted_ns=(0 0)
while read -r name wall_ns off_ns queue_ns waits; do
    case $name in
    preempted)
        # Two of them. By the kernel's account, or what is not CPU time: of a virtual machine these differ by
        # what its host took. For the kernel, who is preempted waits from when the other one was woken: the way
        # from there to the switch is as long as the machine is slow, and takes two percent where it is emulated.
        preempted_ns[0]=$((preempted_ns[0] + (queue_ns < off_ns ? queue_ns : off_ns) * 95 / 100))
        preempted_ns[1]=$((preempted_ns[1] + (queue_ns < off_ns ? off_ns : queue_ns)))
        ;;
    child) # which has the same stack, and run_child on it
        expect_weight "$name" $(($(weight "$any" wait_child) - $(weight "$any" 'wait_child;run_child'))) "$off_ns" "$wall_ns" "$waits"
        expect_frame "$TMPDIR/waits.folded" "[uninterruptible]" 1
        ;;
    direct) # only the disk wakes it
        expect_weight "$name" "$(weight "$any" wait_direct)" "$off_ns" "$wall_ns" "$waits"
        ((off_ns < wall_ns / 2)) || [[ $(weight uninterruptible wait_direct) -gt 0 ]] || fail "nothing is uninterruptible in wait_direct"
        ;;
    fault) # a signal may, as servers of FUSE are told of signals
        expect_weight "$name" "$(weight "$any" wait_fault)" "$off_ns" "$wall_ns" "$waits"
        ((off_ns < 100000000)) || [[ $(weight blocked 'wait_fault;.*page_fault_\[k\]') -gt 0 ]] || fail "no page is waited for in wait_fault"
        ;;
    *)
        expect_weight "$name" "$(weight "$any" "wait_$name")" "$off_ns" "$wall_ns" "$waits"
        # Where one wait ends and the queue begins, chance decides about a period at each of them, and the
        # kernel's account is as good as above. In a guest wakeups are missed: then the queue counts as blocked.
        most_ns=$((off_ns - queue_ns + off_ns / 20))
        [[ -z ${LOAD_DIVISOR:-} ]] || most_ns=$((off_ns + off_ns / 20))
        expect_between "of that blocked" "$(weight blocked "wait_$name")" 1 $((most_ns / 1000 + 2 * period_us +
            $(awk -v n="$waits" -v p="$period_us" 'BEGIN { print int(2.5 * p * (sqrt(n) + 1)) }')))
        ;;
    esac
done <"$TMPDIR/truth"
expect_weight preempted "$(weight 'run queue|preempted' wait_preempted)" "${preempted_ns[@]}" 2

# Each at its place, down to where it leaves the CPU.
for path in 'wait_futex;syscall' 'wait_condition;.*futex' 'wait_pipe;.*read' 'wait_epoll;epoll_wait' \
    'wait_sleep;.*nanosleep' 'wait_lock;flock'; do
    [[ $(folded_match "$TMPDIR/waits.folded" \
        ";run_waiter;$path.*_\[k\];schedule_\[k\];\[blocked\] [0-9]+\$") -gt 0 ]] ||
        fail "nothing is blocked in $path"
done
expect_no_frame "$TMPDIR/waits.folded" "__schedule_[k];[blocked]"

# The account.
stats=$TMPDIR/stats.json
expect_account_adds_up "$stats"
expect_off_cpu_adds_up "$stats"
stats_get "$stats" off_cpu.lost off_cpu.unnoted off_cpu.below_period off_cpu.period_ns \
    off_cpu.user_stacks.complete off_cpu.user_stacks.truncated off_cpu.coverage_percent >"$TMPDIR/values"
{ read -r lost && read -r unnoted && read -r below_period && read -r period_ns && read -r complete &&
    read -r truncated && read -r coverage; } <"$TMPDIR/values"
((lost == 0 && unnoted == 0)) || fail "$lost samples were lost, $unnoted waits not noted"
((period_ns == period_us * 1000)) || fail "the period is $period_ns ns"
((below_period > 0)) || fail "no wait was below the period"
((complete > 0)) || fail "no wait has a whole user stack: $truncated are truncated"
figure "coverage_percent" "$coverage"
expect_near "sampled part of the off-CPU time" "$coverage" 100 2
# What is written is what was sampled, beside the ticks, of which each weighs its period.
stats_get "$stats" off_cpu.sampled_ns samples >"$TMPDIR/values"
{ read -r sampled_ns && read -r samples; } <"$TMPDIR/values"
[[ $(folded_match "$TMPDIR/waits.folded" "\[($any)\] [0-9]+\$") = $((sampled_ns / 1000)) ]] ||
    fail "the weights of the waits are not $((sampled_ns / 1000)) us"
# By time, as one wait is as long as another thread keeps the CPU. A child of vfork() wakes its parent before it has
# ended, which then writes over the stack that they shared: a child that is preempted there has none any more.
given_back_us=$(weight "$any" '\[truncated\];.*do_exit_\[k\]')
expect_between "percent of the waits' time that has a whole stack, in tenths" \
    $((1000 * (sampled_ns / 1000 - truncated_us) / (sampled_ns / 1000 - given_back_us))) 990 1000

# Every metric is in formats that hold several, and who reads them is shown the same one.
"$STACKWIDE" convert "$TMPDIR/samples.html" -q -o "$TMPDIR/converted.folded"
cmp "$TMPDIR/waits.folded" "$TMPDIR/converted.folded" || fail "the page does not become the folded text that was recorded"
"$STACKWIDE" report --json "$TMPDIR/waits.pb.gz" >"$TMPDIR/pprof.json"
"$STACKWIDE" report --json "$TMPDIR/samples.html" >"$TMPDIR/html.json"
for file in pprof html; do
    python3 -S - "$TMPDIR/$file.json" "$samples" "$sampled_ns" <<'PYTHON' || fail "metrics of $file: $(cat "$TMPDIR/$file.json")"
import json, sys
report = json.load(open(sys.argv[1]))
totals = {metric["name"]: metric["total"] for metric in report["metrics"]}
waits = sum(totals[name] for name in ("blocked", "uninterruptible", "run-queue", "preempted"))
tick_ns = 1000000000 // 99
sys.exit(not (report["metric"]["name"] == "wall" and totals["samples"] == int(sys.argv[2]) and totals["cpu"] == totals["samples"] * tick_ns and
              waits == int(sys.argv[3]) and totals["wall"] == totals["cpu"] + waits))
PYTHON
done
