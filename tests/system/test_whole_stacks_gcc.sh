#!/bin/bash
# User stacks of a compiler at work, and of what it starts, are whole.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
need_command gcc

for number in $(seq 60); do
    cat <<C
int filter_$number(const int *values, int count)
{
    int sum = 0, i;
    for (i = 0; i < count; i++)
        switch ((values[i] + $number) & 7) {
        case 0: sum += values[i] * $number; break;
        case 1: sum ^= values[i] << 3; break;
        case 2: sum -= sum / (values[i] | 1); break;
        case 3: if (sum > $number) sum >>= 1; break;
        default: sum += i; break;
        }
    return sum;
}
C
done >"$TMPDIR/load.c"
expect_whole_load gcc 98.8 99.8 1999 bash -c \
    'end=$((SECONDS + 2)); while ((SECONDS < end)); do gcc -O2 -c -o /dev/null "$1"; done' - \
    "$TMPDIR/load.c"
