#!/bin/bash
# Addresses in a trace are those of the ELF files, as readers look them up there: also of a program
# whose code does not lie where it is in its file.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor
need_command nm
need_command readelf

# expect_addresses PROGRAM FUNCTION
expect_addresses() {
    local program=$1 function=$2 start size offset address
    read -r start size < <(nm -S --defined-only "$program" |
        awk -v name="$function" '$4 == name { print "0x" $1, "0x" $2 }')
    read -r offset address < <(readelf -lW "$program" | awk '$1 == "LOAD" && / E / { print $2, $3 }')
    QUERIES=()
    rm -f "$TMPDIR/expected_rows"
    record -F 499 -o "$TMPDIR/x.pftrace" -- "$program" 0.3
    expect_rows "select count(*) > 0, sum(rel_pc not between $((start)) and $((start + size - 1))),
        group_concat(distinct load_bias) from stack_profile_frame f
        join stack_profile_mapping m on m.id = f.mapping where f.name = '$function'" <<END
1|0|$((address - offset))
END
    check_trace "$TMPDIR/x.pftrace"
}

expect_addresses "$WORKLOADS/burn" burn_60
[[ -x $WORKLOADS/deep_static ]] || skip "needs a static libc (package libc6-dev) when the tests are built"
expect_addresses "$WORKLOADS/deep_static" level_65
# Read and written again, it is the same.
expect_status 0 "$STACKWIDE" convert "$TMPDIR/x.pftrace" -o "$TMPDIR/y.pftrace"
check_trace "$TMPDIR/y.pftrace"
