#!/bin/bash
# Another reader than ours: speedscope, as its npm package, finds in our pprof and speedscope files the
# stacks that are in the folded text, with equal weights.
# runs: beside others
. "$(dirname "$0")/web.sh"

cat >"$scratch/stacks.folded" <<'END'
main;parse;read;vfs_read_[k];copy_page_[k] 41
main;parse;parse;parse 7
main;parse 1000000007
main;run;std::vector<int>::push_back 3
main;run;évaluer 12
main;run;jitted_[j];read 1
worker;run 2
END
for name in stacks.pb.gz stacks.speedscope.json; do
    "$STACKWIDE" convert --no-annotations "$scratch/stacks.folded" -o "$scratch/$name" || exit
done
files=("$scratch/stacks.pb.gz" "$scratch/stacks.speedscope.json")
run_page_test speedscope.js "$scratch/stacks.folded" "${files[@]}"
