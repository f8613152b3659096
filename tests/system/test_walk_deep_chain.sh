#!/bin/bash
# A chain of 66 calls without frame pointers is exact in every sample, on the way down and up too.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

record_walk nofp_deep 1.5
folded=$TMPDIR/nofp_deep.folded
# level_65 follows level_64 or nothing does, level_64 follows level_63, and so on; kernel frames come
# last. Without a name are the stubs through which libraries are called, and parts of the vdso.
wanted=""
for level in $(seq 65 -1 0); do
    wanted="(;$(printf 'level_%02d' "$level")$wanted)?"
done
beginning=$(way_to_main nofp_deep)
# Before all of that main has libc read its argument.
reading="(;nofp_deep\+0x[0-9a-f]+)?(;(libc|ld-linux)[^;]*\+0x[0-9a-f]+|;_*(GI_+)?strto[^;]*(;[^;l][^;]*)*|;_dl_[^;]*|;[^;]+@plt)+"
expect_every_stack "$folded" ';(main|level_[0-9]+)[; ]' \
    "$beginning($reading|(;nofp_deep\+0x[0-9a-f]+)?(;(__)?clock_gettime(@plt)?|;__vdso_clock_gettime(;\[vdso\]\+0x[0-9a-f]+)?)*$wanted)(;[^;]+_\[k\])* [0-9]+\$"
echo "at the end of the chain $(folded_share "$folded" level_65) %," \
    "on the way $(awk -v whole="$(folded_total "$folded")" -v end="$(folded_count "$folded" level_65)" \
        -v any="$(folded_count "$folded" level_00)" 'BEGIN { printf "%.2f", 100 * (any - end) / whole }') %"
# How much it is at its end, is the machine's affair.
expect_frame "$folded" "$(seq -f 'level_%02g' -s ';' 0 65)" 30
(($(folded_count "$folded" level_00) > $(folded_count "$folded" level_65))) ||
    fail "no sample is on the way down or up"
