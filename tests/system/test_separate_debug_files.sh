#!/bin/bash
# A stripped program is named from its debug file, found by build ID and by debuglink, from its
# .gnu_debugdata, and without any of them by the bounds of its functions.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command objcopy
need_command xz
unshare -m true 2>/dev/null || skip "mount namespaces are not permitted here"

program=$WORKLOADS/inlined
cd "$TMPDIR"

# expect_chain SHARE-OF FILE PROGRAM
expect_chain() {
    record -F 499 -o "$2" -- "$3" 1
    expect_between "share of '$1' in $2" "$(folded_share "$2" "$1")" 90 100
}

# By debuglink, beside the program and in .debug/.
objcopy --only-keep-debug "$program" linked.debug
objcopy --strip-all --add-gnu-debuglink=linked.debug "$program" linked
# Of another build ID than any debug file of the system.
expect_chain 'main;outer;middle_i_[i];inner_i_[i]' linked.folded ./linked
mkdir .debug
mv linked.debug .debug
expect_chain 'main;outer;middle_i_[i];inner_i_[i]' linked2.folded ./linked

# By build ID, in a /usr/lib/debug of our own.
id=$(readelf -n "$program" | sed -n 's/.*Build ID: *//p')
if [[ -n $id && -d /usr/lib/debug ]]; then
    mkdir -p "debug/.build-id/${id:0:2}"
    objcopy --only-keep-debug "$program" "debug/.build-id/${id:0:2}/${id:2}.debug"
    objcopy --strip-all "$program" by_id
    expect_status 0 unshare -m sh -c 'mount --bind "$1" /usr/lib/debug && shift && exec "$@"' - \
        "$TMPDIR/debug" "$STACKWIDE" record -F 499 -o by_id.folded -- ./by_id 1
    expect_between "share of the chain by build ID" \
        "$(folded_share by_id.folded 'main;outer;middle_i_[i];inner_i_[i]')" 90 100
fi

# .gnu_debugdata holds symbols, not inlined calls.
objcopy --strip-all "$program" with_data
objcopy --only-keep-debug "$program" full
printf '%s\n' main outer >symbols
objcopy -S --keep-symbols=symbols --remove-section=.comment full mini
xz -c mini >mini.xz
objcopy --add-section .gnu_debugdata=mini.xz with_data
expect_chain 'main;outer' with_data.folded ./with_data

# Nothing at all: a stable name.
objcopy --strip-all --remove-section=.gnu_debuglink "$program" bare
record -F 499 -o bare.folded -- ./bare 1
address=$(nm "$program" | awk '$3 == "outer" { sub(/^0+/, "", $1); print $1 }')
expect_between "share of bare+0x$address" "$(folded_share bare.folded "bare+0x$address")" 90 100
