#!/bin/bash
# The viewer's page in a browser: a file of every kind that it says it reads, with the command line's
# functions and totals; experiments with and without the programs that they are of.
# runs: beside others
. "$(dirname "$0")/web.sh"
. "$(dirname "$0")/viewer_files.sh"

mkdir "$scratch/kinds"
# keep NAME FILE: of those that the fuzzers begin with.
keep() {
    cp "$tests/../fuzz/corpus/$2" "$scratch/kinds/$1" || exit
}
keep async-profiler.html async_profiler/version_2
keep profile.txt bcc/profile
keep map.txt bpftrace/map
keep callgrind.out callgrind/recorded
keep render.json flamebearer/single
keep goroutine.txt gperftools/goroutine
keep wall.dump stackprof/wall.dump
keep trace.json chrome_trace/samples
keep counts.cpuprofile cpuprofile/counts
keep two.diff.folded diff_folded/plain
keep heap.heapprofile heapprofile/heap
keep hotspot.jfr jfr/hotspot
keep perf.data perf_data/file
keep attributes.zones zones/attributes
for extension in firefox.json folded html json pb.gz pftrace sprof speedscope.json svg; do
    "$STACKWIDE" convert "$scratch/perf.txt" -o "$scratch/kinds/own.$extension" || exit
done
cp "$scratch/perf.txt" "$scratch/kinds/script.txt"
cp "$scratch/waits.offwake.folded" "$scratch/kinds/own.offwake.folded"

# Experiments whose code lies in a file: it is at 0x7000, from offset 0x1000 of the file on.
cp -r "$scratch/small.er" "$scratch/bare.er"
for map in "$scratch"/bare.er{,/_f1.er}/map.xml; do
    echo '<event kind="map" object="segment" tstamp="0.000001" vaddr="0x7000" size="4096"' \
        'foffset="+0x1000" name="/nonexistent/work"/>' >"$map"
done
cp -r "$scratch/bare.er" "$scratch/archived.er"
mkdir "$scratch/archived.er/archives"
node "$tests/write_elf.js" "$scratch/archived.er/archives/work_abcdefghijk" start work wait_for leaf || exit
cp -r "$scratch/archived.er" "$scratch/kinds"
tar -C "$scratch" -czf "$scratch/archived.er.tar.gz" archived.er
run_page_test viewer_formats.js "$scratch" "$(dirname "$STACKWIDE")/viewer.html"
