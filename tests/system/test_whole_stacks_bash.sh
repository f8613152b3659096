#!/bin/bash
# User stacks of a shell are whole, though it forks all the time.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

expect_whole_load bash 98.5 99.5 1999 bash -c '
depth() { (($1 == 0)) || depth $(($1 - 1)); }
end=$((SECONDS + 2))
while ((SECONDS < end)); do
    for ((i = 0; i < 200; i++)); do
        text="$text $((i * 7919 % 1000))"
    done
    depth 20
    words=$(for word in $text; do echo "${word/1/one}"; done | while read -r line; do echo "$line"; done)
    text=
done
'
