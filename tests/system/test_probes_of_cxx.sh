#!/bin/bash
# Probes of C++ functions by their demangled names: every overload, operator, method and template is the one that is
# meant, and counted once a call; of several of a name one is asked for.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
[[ -e /sys/bus/event_source/devices/uprobe ]] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"

load=$WORKLOADS/overloads
rounds=503

# How often each is called in a round.
names=("shop::pay(int)" "shop::pay(int, char const*)" "shop::refund" "shop::Cart::operator+" "shop::Cart::total"
    "shop::scale<int, 7>" "shop::Cart::operator<(shop::Cart const&) const" "(anonymous namespace)::hidden" "_ZN4shop3payEi")
calls=(1 2 3 15 5 6 7 8 1)
events=()
for name in "${names[@]}"; do
    events+=("uprobe:$load:$name")
done
(IFS=, && echo "${events[*]}") >"$TMPDIR/list"
record -e "$(cat "$TMPDIR/list")" -c 10 --buffer-size 64M -o "$TMPDIR/calls.pb.gz" --stats "$TMPDIR/calls.json" -- "$load" "$rounds"
expect_account_adds_up "$TMPDIR/calls.json"
for i in "${!names[@]}"; do
    python3 -S - "$TMPDIR/calls.json" "${events[i]}" $((calls[i] * rounds)) <<'PYTHON' || fail "calls of ${names[i]}: $(cat "$TMPDIR/calls.json")"
import json, sys
event, = (event for event in json.load(open(sys.argv[1]))["events"] if event["name"] == sys.argv[2])
print(f"{event['name'].split(':', 2)[2]}: {event['fired']} calls of {sys.argv[3]}")
sys.exit(event["fired"] != int(sys.argv[3]))
PYTHON
done

# Arguments and offsets stand behind a name, whatever is in it.
record -e "uprobe:$load:shop::pay(int){arg1}" -e "uretprobe:$load:shop::scale<int, 7>{retval}" -c 1 --buffer-size 64M \
    -o "$TMPDIR/sums.pb.gz" --stats "$TMPDIR/sums.json" -- "$load" "$rounds"
python3 -S - "$TMPDIR/sums.json" "$rounds" <<'PYTHON' || fail "the sums of arguments: $(cat "$TMPDIR/sums.json")"
import json, sys
rounds = int(sys.argv[2])
paid, scaled = (event["weight"] + event["rest"] for event in json.load(open(sys.argv[1]))["events"])
print(f"{paid} paid, {scaled} scaled")
assert paid == sum(range(rounds))
assert scaled == 7 * sum(6 * i + sum(range(6)) for i in range(rounds))
PYTHON

# Of an int only the lower half of a register is known, and its sign is there.
record -e "uprobe:$load:shop::balance{arg1:u32:By},uretprobe:$load:shop::balance{retval:s32}" -c 1 \
    -o "$TMPDIR/types.pb.gz" --stats "$TMPDIR/types.json" -- "$load" "$rounds"
python3 -S - "$TMPDIR/types.json" "$rounds" <<'PYTHON' || fail "the sums of ints: $(cat "$TMPDIR/types.json")"
import json, sys
rounds = int(sys.argv[2])
passed, returned = json.load(open(sys.argv[1]))["events"]
print(f"{passed['weight']} {passed['unit']} passed, {returned['weight']} returned, {returned['weightless']} times less than nothing")
assert passed["weight"] + passed["rest"] == sum(range(rounds)) and passed["unit"] == "bytes"
assert returned["weight"] + returned["rest"] == sum(range(0, rounds, 2))
assert returned["weightless"] == 1 + rounds // 2 # and of nothing
PYTHON

expect_refused 2 "several functions are called 'shop::pay': '_ZN4shop3payEi' (shop::pay(int)), '_ZN4shop3payEiPKc' (shop::pay(int, char const*)); give the mangled name of one" \
    -e "uprobe:$load:shop::pay"
expect_refused 2 "did you mean 'shop::refund'" -e "uprobe:$load:shop::refnd"
expect_refused 2 "did you mean 'shop::Cart::operator+(long)'" -e "uprobe:$load:shop::Cart::operator+(int)"
expect_refused 2 "is beyond the function" -e "uprobe:$load:shop::Cart::operator++0x10000"
