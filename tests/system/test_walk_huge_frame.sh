#!/bin/bash
# A single frame is larger than what a sample carries of the stack, and there is no table yet: the end of
# the stack comes along, and the stack is walked to its beginning when the table is there.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
source "$(dirname "$0")/held_recorder.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

record_held nofp_huge 1 900 -F 199 --buffer-size 256M
stop_recording

expect_account_adds_up "$TMPDIR/nofp_huge.json"
recovered=$(stats_get "$TMPDIR/nofp_huge.json" user_stacks.recovered)
unread=$(stats_get "$TMPDIR/nofp_huge.json" user_stacks.truncated.read)
echo "$recovered stacks were walked later, $unread end where memory could not be read"
expect_every_stack "$TMPDIR/nofp_huge.folded" ';in_huge[; ]' \
    "($(way_to_main nofp_huge)|^nofp_huge;([^;]+;){1,3}run_huge);huge;in_huge"
((unread == 0)) || fail "$unread stacks end where memory could not be read"
for way in "$(way_to_main nofp_huge);huge;in_huge" "^nofp_huge;([^;]+;){1,3}run_huge;huge;in_huge"; do
    samples=$(folded_match "$TMPDIR/nofp_huge.folded" "$way")
    ((samples >= 20)) || fail "only $samples samples of $way, expected at least 20"
done
((recovered >= 50)) || fail "only $recovered stacks were walked later, expected at least 50"
