#!/bin/bash
# Code that begins and ends within one page of the file, as linkers lay out small libraries and
# programs: its stacks are whole, and its functions have their names.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
need_command cc
need_command readelf

LINKERS="bfd gold lld mold"
OPTIONS="-z,noseparate-code -z,separate-code -z,separate-loadable-segments --rosegment --no-rosegment"
SECONDS_EACH=0.075
SAMPLES_EACH=60 # of 150 that are due

cat >"$TMPDIR/tiny.c" <<'END'
#include "spin.h"

__attribute__((noinline)) int tiny_inner(double seconds)
{
	return (int)spin_cpu_ns((uint64_t)(seconds * NS_PER_SECOND));
}

int tiny_outer(double seconds)
{
	return tiny_inner(seconds) + 1;
}
END
cat >"$TMPDIR/host.c" <<'END'
#include "spin.h"

int tiny_outer(double seconds);

__attribute__((noinline)) int own_inner(double seconds)
{
	return (int)spin_cpu_ns((uint64_t)(seconds * NS_PER_SECOND));
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;

	return (tiny_outer(seconds) + own_inner(seconds)) == 0;
}
END

# build LINKER OPTION OUTPUT ARGUMENT…; fails where the linker is missing or does not know the option.
build() {
    local linker=$1 option=$2 output=$3
    shift 3
    cc -std=gnu17 -O2 -fPIC -fomit-frame-pointer -fno-optimize-sibling-calls -D_GNU_SOURCE \
        -I"$REPO/tests/workloads" -fuse-ld="$linker" ${option:+-Wl,"$option"} -o "$output" "$@" \
        2>"$TMPDIR/cc.err"
}

names=()
for linker in $LINKERS; do
    for option in "" $OPTIONS; do
        # A thread's name has 15 characters.
        name=$(echo "$linker$option" | sed 's/[-,]//g; s/separate/s/; s/rosegment/ro/; s/loadable/l/')
        name=${name:0:15}
        mkdir "$TMPDIR/$name"
        build "$linker" "$option" "$TMPDIR/$name/libtiny.so" -shared "$TMPDIR/tiny.c" || continue
        build "$linker" "$option" "$TMPDIR/$name/$name" "$TMPDIR/host.c" \
            "$TMPDIR/$name/libtiny.so" -Wl,-rpath,"$TMPDIR/$name" || continue
        echo "$name $(readelf -lW "$TMPDIR/$name/libtiny.so" | grep ' LOAD .* E ')"
        names+=("$name")
    done
done
((${#names[@]})) || fail "no linker made anything: $(cat "$TMPDIR/cc.err")"

for name in "${names[@]}"; do
    echo "$TMPDIR/$name/$name $SECONDS_EACH"
done >"$TMPDIR/all.sh"
record -F "$FREQUENCY" --no-inline --no-cache -o "$TMPDIR/tiny.folded" --stats "$TMPDIR/tiny.json" -- \
    bash "$TMPDIR/all.sh"
expect_account_adds_up "$TMPDIR/tiny.json"

failed=
for name in "${names[@]}"; do
    for chain in "tiny_outer;tiny_inner" own_inner; do
        number=$(folded_match "$TMPDIR/tiny.folded" "^$name;.*${chain##*;}")
        whole=$(folded_match "$TMPDIR/tiny.folded" "$(way_to_main "$name");${chain}[; ]")
        echo "$name: $whole of $number stacks lead from main to $chain"
        ((whole >= SAMPLES_EACH && whole * 100 >= number * 97)) || failed+=" $name"
    done
done
[[ -z $failed ]] || {
    head -n 40 "$TMPDIR/tiny.folded"
    fail "stacks are not whole, or not named, in:$failed"
}
