#!/bin/bash
# Probes: every hit of a function, of its return and of a place that a program names is counted once, at its stack, with
# its argument; nothing is left behind, whoever ends the recorder; what cannot be probed is said in a line.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
[[ -e /sys/bus/event_source/devices/uprobe ]] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"

load=$WORKLOADS/nofp_probes
function=$load:handle_request
calls='main;call_often;inlined_request'
num_calls=$(fewer 300003)
some_calls=$(fewer 50000)

# expect_events STATS PROGRAM…: that python accepts `events`, by name without what is before the function's name
expect_events() {
    local stats=$1
    shift
    python3 -S - "$stats" "$@" <<'PYTHON' || fail "the account of $stats: $(cat "$stats")"
import json, sys
stats = json.load(open(sys.argv[1]))
events = {event["name"]: event for event in stats["events"]}
for event in events.values():
    assert event["fired"] == event["idle"] + event["filtered"] + event["weightless"] + event["below_period"] + event["samples"] + sum(event["lost"].values())
for wanted in sys.argv[2:]:
    name, key, number = wanted.rsplit(" ", 2)
    print(f"{name.rsplit('/', 1)[-1]}: {key} {events[name][key]}, expected {number}")
    assert events[name][key] == int(number)
PYTHON
}

# Each call once: with every one sampled, and with one of a thousand, which stands for a thousand.
record -e "uprobe:$function" -c 1 --buffer-size 64M -o "$TMPDIR/each.folded" --stats "$TMPDIR/each.json" -- "$load" "$some_calls"
expect_account_adds_up "$TMPDIR/each.json"
expect_events "$TMPDIR/each.json" "uprobe:$function fired $some_calls" "uprobe:$function filtered 0"
lost=$(stats_get "$TMPDIR/each.json" lost) # the reader may be stopped for longer than a ring lasts
[[ $(folded_total "$TMPDIR/each.folded") = $((some_calls - lost)) ]] ||
    fail "$(folded_total "$TMPDIR/each.folded") calls of $some_calls, $lost lost"
if ! is_brief; then
    record -e "uprobe:$function" -c 1000 -o "$TMPDIR/some.folded" --stats "$TMPDIR/some.json" -- "$load" "$num_calls"
    expect_account_adds_up "$TMPDIR/some.json"
    expect_events "$TMPDIR/some.json" "uprobe:$function fired $num_calls" "uprobe:$function filtered 0"
    python3 -S - "$TMPDIR/some.json" "$num_calls" <<'PYTHON' || fail "calls are left out: $(cat "$TMPDIR/some.json")"
import json, sys
event, = json.load(open(sys.argv[1]))["events"]
# A sample stands for 500 to 1,500 calls.
lost = sum(event["lost"].values())
assert 500 * lost <= int(sys.argv[2]) - event["weight"] - event["rest"] <= 1500 * lost
assert 500 * event["samples"] <= event["weight"] <= 1500 * event["samples"]
PYTHON
fi

if ! is_brief; then
    # Whole stacks: the function's first instruction is the innermost frame.
    record -e "uprobe:$function" -c 10 -o "$TMPDIR/stacks.folded" --stats "$TMPDIR/stacks.json" -- "$load" "$some_calls"
    elsewhere=$(grep -Ev ";$calls(_\[i\])?;handle_request [0-9]+\$|;\[truncated\];" "$TMPDIR/stacks.folded" || true)
    [[ -z $elsewhere ]] || fail "calls elsewhere: $elsewhere"
    (($(folded_match "$TMPDIR/stacks.folded" ';main;.*;handle_request [0-9]+$') > 0)) || fail "no stack is whole"

    # Of more threads than there are CPUs, which meet in the program where the kernel preempts it: none is lost where it can be
    # kept from that.
    record -v -e "uprobe:$function" -c 1000 -o "$TMPDIR/threads.folded" --stats "$TMPDIR/threads.json" -- "$load" "$((some_calls / 10))" 12
    expect_account_adds_up "$TMPDIR/threads.json"
    expect_events "$TMPDIR/threads.json" "uprobe:$function fired $((some_calls / 10 * 12))"
    grep -q "lose its CPU" "$TMPDIR/record.err" || [[ $(stats_get "$TMPDIR/threads.json" lost.preempted) = 0 ]] || fail "hits are lost: $(cat "$TMPDIR/threads.json")"
fi

# With arguments and results; with the places of a note, whose argument is not everywhere in the same register. Of 0 to
# 99 bytes the first is nothing, and of 99 the result is less.
passed="usdt:$load:workload:request{arg1:By}"
if ! "$STACKWIDE" record -q -e "$passed" -o "$TMPDIR/passed.folded" -- true 2>"$TMPDIR/err"; then
    grep -q 'need Linux 5.15' "$TMPDIR/err" || fail "an argument of a note is refused: $(cat "$TMPDIR/err")"
    echo "this kernel does not tell a program at which of several places it runs: arguments of notes are not measured"
    passed=
fi
record -e "uprobe:$function{arg1:By},uretprobe:$function{retval},uretprobe:$function" \
    -e "usdt:$load:workload:request${passed:+,$passed}" -c 100000 -o "$TMPDIR/sums.pb.gz" --stats "$TMPDIR/sums.json" -- "$load" "$some_calls"
expect_account_adds_up "$TMPDIR/sums.json"
expect_events "$TMPDIR/sums.json" \
    "uprobe:$function{arg1} fired $some_calls" "uprobe:$function{arg1} weightless $((some_calls / 100))" \
    "uretprobe:$function{retval} fired $some_calls" "uretprobe:$function{retval} weightless $((some_calls / 50))" \
    "uretprobe:$function fired $some_calls" \
    "usdt:$load:workload:request fired $((some_calls * 3 / 2))" ${passed:+"usdt:$load:workload:request{arg1} weightless $((some_calls / 100))"}
# expect_sum EVENT SUM UNIT
expect_sum() {
    python3 -S - "$TMPDIR/sums.json" "$@" <<'PYTHON' || fail "the sum of $1 is not $2: $(cat "$TMPDIR/sums.json")"
import json, sys
event, = (event for event in json.load(open(sys.argv[1]))["events"] if event["name"] == sys.argv[2])
print(f"{event['weight']} and {event['rest']} {event['unit']}")
sys.exit(event["weight"] + event["rest"] != int(sys.argv[3]) or event["unit"] != sys.argv[4])
PYTHON
}
expect_sum "uprobe:$function{arg1}" $((some_calls / 100 * 4950)) bytes
expect_sum "uretprobe:$function{retval}" $((some_calls / 100 * 3 * 4851)) count
[[ -z $passed ]] || expect_sum "usdt:$load:workload:request{arg1}" $((some_calls / 100 * (4950 + 2500))) bytes

# Returns: where the caller goes on; and what is inside of a function that will be seen to return is at its stack, too.
record -e "uretprobe:$function,usdt:$load:workload:request" -c 10 -o "$TMPDIR/returns.folded" --metric "uretprobe:$function" --stats "$TMPDIR/returns.json" -- "$load" "$some_calls"
elsewhere=$(grep -Ev ";main;call_often(;inlined_request(_\[i\])?)? [0-9]+\$|;\[truncated\];" "$TMPDIR/returns.folded" || true)
[[ -z $elsewhere ]] || fail "returns elsewhere: $elsewhere"
if ! is_brief; then
    record -e "uretprobe:$function,usdt:$load:workload:request" -c 10 -o "$TMPDIR/inside.folded" --metric "usdt:$load:workload:request" -- "$load" "$some_calls"
    elsewhere=$(grep -Ev ";$calls(_\[i\])?;handle_request [0-9]+\$|;\[truncated\];" "$TMPDIR/inside.folded" || true)
    [[ -z $elsewhere ]] || fail "elsewhere, while returns are watched: $elsewhere"
    (($(folded_match "$TMPDIR/inside.folded" ';main;.*;handle_request [0-9]+$') > 0)) || fail "no stack is whole while returns are watched"
fi

if ! is_brief; then
    # Time, too, of a program that is being probed: its instructions are carried out elsewhere then, and its returns lead
    # elsewhere. Its first stacks may come before their tables.
    record -e "cpu-clock,uretprobe:$function" -F 499 -c 100000 -o "$TMPDIR/time.folded" --stats "$TMPDIR/time.json" -- "$load" "$((some_calls * 4))"
    expect_account_adds_up "$TMPDIR/time.json"
    num_samples=$(stats_get "$TMPDIR/time.json" samples)
    lost_ways=$(stats_get "$TMPDIR/time.json" user_stacks.truncated.frame_pointer user_stacks.truncated.no_mapping | awk '{ sum += $1 } END { print sum }')
    echo "$lost_ways of $num_samples stacks end at the probe"
    ((lost_ways * 10 <= num_samples)) || fail "$lost_ways of $num_samples stacks end at the probe"
fi

# An instruction further on, by its offset; and inside of an instruction there is none.
second=$(objdump -d --no-show-raw-insn "$load" 2>/dev/null | awk '/<handle_request>:$/ { start = $1; getline; getline; sub(":", "", $1); print $1, start }' || true)
if [[ -n $second ]]; then
    read -r next start <<<"$second"
    offset=$((16#$next - 16#$start))
    record -e "uprobe:$function+$offset" -c 1000 -o "$TMPDIR/offset.folded" --stats "$TMPDIR/offset.json" -- "$load" 5000
    expect_events "$TMPDIR/offset.json" "uprobe:$function+$offset fired 5000"
else
    echo "objdump is not to be had here: no offset is known"
fi

if ! is_brief; then
    # Only the target's hits, or everybody's; a library by its name.
    mkfifo "$TMPDIR/mine" "$TMPDIR/others"
    exec 3<>"$TMPDIR/mine" 4<>"$TMPDIR/others"
    # shellcheck disable=SC2016 # the inner shell's
    waiting='read -r _ <"$1" && exec "$2" 3000'
    start bash -c "$waiting" - "$TMPDIR/mine" "$load" 3>&- 4>&-
    mine=$PID
    start bash -c "$waiting" - "$TMPDIR/others" "$load" 3>&- 4>&-
    others=$PID
    start_recording -p "$mine" -e "uprobe:$function" -c 1 -o "$TMPDIR/mine.folded" --stats "$TMPDIR/mine.json" 3>&- 4>&-
    echo >&4
    wait "$others"
    echo >&3
    wait "$mine"
    wait "$RECORDER" || fail "record ended with status $?"
    expect_events "$TMPDIR/mine.json" "uprobe:$function samples 3000" "uprobe:$function filtered 3000"
    record -a -e "uprobe:$function" -c 1 -o "$TMPDIR/all.folded" --stats "$TMPDIR/all.json" -- bash -c '"$1" 2000; "$1" 1000 & "$1" 1000; wait' - "$load"
    expect_events "$TMPDIR/all.json" "uprobe:$function samples 4000"
    record -e uprobe:libc:syscall -c 1 -o "$TMPDIR/library.folded" --stats "$TMPDIR/library.json" -- "$WORKLOADS/nofp_calls" 1234
    expect_events "$TMPDIR/library.json" "uprobe:libc:syscall samples 1234"
    # The library that the target has mapped, wherever it has it from.
    mkdir "$TMPDIR/lib"
    cp "$(awk '/libc\.so\.6$/ { print $NF; exit }' /proc/self/maps)" "$TMPDIR/lib/libc.so.6"
    mkfifo "$TMPDIR/calls"
    exec 3<>"$TMPDIR/calls"
    # shellcheck disable=SC2016 # the inner shell's
    LD_LIBRARY_PATH=$TMPDIR/lib start bash -c 'read -r _ <"$1" && exec "$2" 2345' - "$TMPDIR/calls" "$WORKLOADS/nofp_calls" 3>&-
    caller=$PID
    wait_until grep -q "$TMPDIR/lib/libc.so.6" "/proc/$caller/maps"
    start_recording -p "$caller" -e uprobe:libc:syscall -c 1 -o "$TMPDIR/own.folded" --stats "$TMPDIR/own.json" 3>&-
    echo >&3
    exec 3>&-
    wait "$caller"
    wait "$RECORDER" || fail "record ended with status $?"
    expect_events "$TMPDIR/own.json" "uprobe:libc:syscall samples 2345"

    # A program that is gone while it is watched.
    cp "$load" "$TMPDIR/gone"
    # shellcheck disable=SC2016 # the inner shell's
    record -e "uprobe:$TMPDIR/gone:handle_request" -c 1 -o "$TMPDIR/gone.folded" --stats "$TMPDIR/gone.json" -- \
        bash -c 'exec 5<"$1"; rm "$1"; /proc/self/fd/5 4321' - "$TMPDIR/gone"
    expect_events "$TMPDIR/gone.json" "uprobe:$TMPDIR/gone:handle_request samples 4321"
fi

# Who watches is counted, and no more when the recorder has ended, also when it was killed.
mkfifo "$TMPDIR/ask" "$TMPDIR/told"
exec 3<>"$TMPDIR/ask" 4<>"$TMPDIR/told"
# shellcheck disable=SC2016 # the inner shell's
start bash -c 'exec "$1" - <"$2" >"$3"' - "$load" "$TMPDIR/ask" "$TMPDIR/told" 3>&- 4>&-
# watched_by NUMBER
watched_by() {
    local told
    echo >&3
    read -r -t 60 told <&4 || fail "the program does not answer"
    [[ $told = "$1" ]]
}
watched_by 0 || fail "somebody watches already"
start_recording -a -e "usdt:$load:workload:request" -c 1 -o "$TMPDIR/watched.folded" 3>&- 4>&-
watched_by 2 || fail "the recorder is not counted, once for each place"
stop_recording
wait_until watched_by 0
start_recording -a -e "usdt:$load:workload:request" -c 1 -o "$TMPDIR/watched.folded" 3>&- 4>&-
watched_by 2 || fail "the second recorder is not counted"
kill -9 "$RECORDER"
wait "$RECORDER" 2>/dev/null || true
wait_until watched_by 0
exec 3>&- 4>&-

# The program alone decides what is not to be had.
if ! is_brief; then
    mkfifo "$TMPDIR/fifo"
    expect_refused 2 "no file /nonexistent/x" -e uprobe:/nonexistent/x:f
    expect_refused 2 "is not an ELF file" -e uprobe:/etc/passwd:f
    expect_refused 2 "not a regular file" -e "uprobe:$TMPDIR/fifo:f"
    expect_refused 2 "no library 'libnonexistent'" -e uprobe:libnonexistent:f
    expect_refused 2 "did you mean 'handle_request'" -e "uprobe:$load:handle_requst"
    expect_refused 2 "was inlined at every call" -e "uprobe:$load:inlined_request"
    expect_refused 2 "is beyond the function" -e "uprobe:$function+0x10000"
    expect_refused 2 "argument 9 of 'handle_request' is passed in memory" -e "uprobe:$function{arg9}"
    expect_refused 2 "knows only {retval}" -e "uretprobe:$function{arg1}"
    expect_refused 2 "did you mean 'workload:request'" -e "usdt:$load:workload:reqest"
    expect_refused 2 "has no argument 2" -e "usdt:$load:workload:request{arg2}"
    [[ -z ${next-} ]] || ((offset == 1)) ||
        expect_refused 2 "is in the middle of an instruction, which starts at +0x0; the next one starts at +0x$(printf %x "$offset")" -e "uprobe:$function+$((offset - 1))"
fi

# The kernel itself.
if [[ -e /sys/bus/event_source/devices/kprobe ]]; then
    expect_refused 2 "the kernel has no function 'vfs_raed'; did you mean" -e kprobe:vfs_raed
    record -e 'kprobe:vfs_read{arg3:By},kretprobe:vfs_read{retval:By}' -c 1 -o "$TMPDIR/kernel.folded" --stats "$TMPDIR/kernel.json" -- \
        dd if=/dev/zero of=/dev/null bs=500 count=10000 2>/dev/null
    expect_account_adds_up "$TMPDIR/kernel.json"
    bytes=$(folded_match "$TMPDIR/kernel.folded" '^dd;.*vfs_read_\[k\] [0-9]+$')
    expect_between "bytes that vfs_read was asked for" "$bytes" 5000000 5200000
    expect_refused 2 "is beyond the function" -e kprobe:vfs_read+0xfffff
    expect_refused 4 "the kernel allows no probe there" -e kprobe:kprobe_dispatcher
else
    expect_refused 4 "CONFIG_KPROBE_EVENTS" -e kprobe:vfs_read
    echo "this kernel has no kprobes: only the refusal was seen"
fi
"$STACKWIDE" events probe >"$TMPDIR/events" || fail "the events cannot be listed"
grep -q '^  uprobe:PATH:FUNCTION' "$TMPDIR/events" || fail "probes are not among the events: $(cat "$TMPDIR/events")"
