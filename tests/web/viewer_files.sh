# Sourced by the tests of the viewer after web.sh: makes the files that they open, in $scratch.
# shellcheck shell=bash disable=SC2154

[[ -s $(dirname "$STACKWIDE")/viewer.html ]] || skip "the build folder has no viewer: scripts/install-deps names its packages, and a build with G=FOLDER leaves it there"

# Recursion, so that first and last occurrences differ.
cat >"$scratch/loop.folded" <<'END'
go;f;g;f;g;f;h 7
go;g;f;h 5
go;f 3
go;f;g 2
go;k 4
END
cat >"$scratch/other.folded" <<'END'
go;f 10
go;fresh 10
go;k_[k] 1
END
# Waits, and who ended them: main calls read_all in the waker, too.
cat >"$scratch/waits.offwake.folded" <<'END'
app;main;read_all;read;[blocked];--;vfs_write_[k];write;send(int);serve;db 700
app;main;read_all;read;[blocked];--;irq_[k];[interrupt] 200
app;main;take_lock;futex;[blocked];[futex 0x7f10];--;futex_wake_[k];read_all;flush_log;app 40
END
cat >"$scratch/tree.json" <<'END'
{"name": "all", "value": 30, "children": [{"name": "go", "value": 30, "children": [{"name": "k", "value": 12}]}]}
END
printf '{"name": "all", "value": 3, "children": [{"name": "a", "value": }]}' >"$scratch/broken.json"
# Two events, two processes, modules, a kernel part.
cat >"$scratch/perf.txt" <<'END'
web 100/101 [000] 1.000000: 250000 cpu-clock:
	ffffffff81000010 copy_page ([kernel.kallsyms])
	          401000 read_all (/usr/bin/web)
	          400100 main (/usr/bin/web)

web 100/102 [000] 1.010000: 250000 cpu-clock:
	          402000 hash (/usr/lib/libhash.so)
	          400100 main (/usr/bin/web)

db 200/200 [001] 1.020000: 500000 cpu-clock:
	          500000 scan (/usr/bin/db)
	          500100 main (/usr/bin/db)

END
awk 'BEGIN { for (i = 0; i < 300; i++) print "main;task_" i ";/usr/bin/tool", 1 }' >"$scratch/tasks.folded"
# Two halves of one recording at random, and one in which a function of 7 % takes half as long again.
compare() {
    awk -v seed="$1" -v slow="$2" 'BEGIN {
        srand(seed)
        for (i = 0; i < 4000; i++) {
            at = rand() * (slow ? 103.5 : 100)
            count[at < 40 ? "run;parse" : at < 60 ? "run;parse;read" : at < 75 ? "run;sort" : \
                at < 90 ? "run;sort;compare" : at < 93 ? "run;write" : "run;write;flush"]++
        }
        for (stack in count) print "main;" stack, count[stack]
    }'
}
compare 1 0 >"$scratch/half1.folded"
compare 2 0 >"$scratch/half2.folded"
compare 3 1 >"$scratch/slow.folded"
awk 'BEGIN { for (i = 0; i < 12; i++) print "main;f" i, 1000003 + i * 7919 }' >"$scratch/periods.folded"
sed 's/cpu-clock/page-faults/; s/: *[0-9]* page/: 3 page/' "$scratch/perf.txt" >"$scratch/faults.txt"
sed 's/_\[k\]//' "$scratch/loop.folded" | gzip >"$scratch/loop.folded.gz"
"$STACKWIDE" convert "$scratch/loop.folded" -o "$scratch/loop.folded.zst" || exit
{ printf '\377\376' && iconv -f UTF-8 -t UTF-16LE "$scratch/loop.folded"; } >"$scratch/loop.utf16.folded"
printf 'a;b 1\nnonsense\n;; x\n' >"$scratch/malformed.folded"
{ cat "$scratch/perf.txt" && printf 'web 100/101 [000] 1.5: PERF_RECORD_LOST lost 17\n'; } >"$scratch/lossy.txt"
printf '%s\n' '<html>' 'function unpack(cpool) {' 'const cpool = [' "'all'," "' main'" '];' 'n(3,12)' 'u(8,9)' >"$scratch/pruned.html"
# The account of a recording, as the recorder leaves it in what it writes: 100 samples in 2 s, 90 whole stacks, 10
# truncated (depth 2, no_table 8), 25 lost (ring_sample), 95 named frames, 5 without (no_symbol).
cat >"$scratch/recording.svg" <<'END'
<svg xmlns="http://www.w3.org/2000/svg">
<metadata id="stackwide-profile">
stackwide profile 3
H4sIAAAAAAAAA2WPvY7CMAzH49KSFoEEy53QLTxBlnsblio0AapLkypOObH1TW5luYGRZ2DnAWDgNXBgxJb/ln62/IFBVj+/tdKL1rt1
bfTie1Rk49k0nfCvvGCMs2gfletsWHvZaBSWVHX2mYR1Je6blTPGYRC+tpsSZdMa3cjael05r4gJ3G1eGDvUvsS4FkXwna1koDFKt2FL
s4JcGQ0cABTFkByg7w/H29/9/An94XLi0P9fU1jCCOaxGtt4mhfJYKjmSV5mdC6xDIBFgez5ALCERQLszYg9AFKZp0oGAQAA
</metadata>
</svg>
END
"$STACKWIDE" view "$scratch/perf.txt" -o "$scratch/report.html" || exit
"$STACKWIDE" convert "$scratch/loop.folded" -o "$scratch/loop.written" --to folded || exit
cp -r "$tests/../golden/convert_er/small.er" "$scratch"
"$STACKWIDE" convert "$tests/../golden/convert_waits/waits.json" -o "$scratch/waits.svg" --quiet || exit
"$STACKWIDE" convert "$tests/../golden/report_sleepers/sleepers.json" -o "$scratch/sleepers.svg" --quiet || exit
"$STACKWIDE" convert "$scratch/sleepers.svg" -o "$scratch/sleepers.folded" --quiet || exit
mkdir -p "$scratch/runs/deep"
cp "$scratch/loop.folded" "$scratch/runs"
cp "$scratch/other.folded" "$scratch/runs/deep"
seq -f 'go;function_%.0f 1' 0 99998 >"$scratch/many.folded"
# One name in two programs.
cat >"$scratch/starts.txt" <<'END'
cc1 300/300 [000] 1.000000: 250000 cpu-clock:
	          402000 parse (/usr/bin/cc1)
	          400100 _start (/usr/bin/cc1)

make 301/301 [000] 1.010000: 750000 cpu-clock:
	          402000 wait (/usr/bin/make)
	          400100 _start (/usr/bin/make)

END
# Deeper than a window, and than any.
deepen() {
    awk -v depth="$1" 'BEGIN { for (i = 0; i < depth; i++) printf "%slevel_%d", i ? ";" : "", i; print " 1" }'
}
deepen 300 >"$scratch/tall.folded"
deepen 20000 >"$scratch/deep.folded"
# Names of 5 kB and of 3 MB.
lengthen() { head -c "$1" /dev/zero | tr '\0' "$2"; }
printf 'go;%s;%s 3\ngo;f 1\n' "begin_$(lengthen 5000 m)_end" "begin_$(lengthen 3000000 n)_end" >"$scratch/long.folded"
"$STACKWIDE" view "$scratch/long.folded" -o "$scratch/long.html" || exit
