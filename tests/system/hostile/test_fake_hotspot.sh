#!/bin/bash
# A program that claims to be HotSpot, and whose tables and memory go in circles, are as large as numbers go, or have no end, is
# recorded like any other: its stacks end where they cannot be followed, or it is counted as a build that is not known, and
# nothing hangs. What it says of a libjvm.so is not taken for what a JVM has.
# runs: beside others
. "$(dirname "$0")/../lib.sh"
need_recording

# expect_of KIND FRAMES [FIT [VERSION]]: stacks of that kind are these, and are counted as such ones.
expect_of() {
    record -F 999 -o "$TMPDIR/$1.folded" --stats "$TMPDIR/$1.json" -- "$WORKLOADS/hostile/fake_hotspot" "$1" 0.5
    expect_account_adds_up "$TMPDIR/$1.json"
    local matching counted total
    matching=$(folded_match "$TMPDIR/$1.folded" "$2")
    total=$(folded_total "$TMPDIR/$1.folded")
    counted=$(python3 -S -c 'import json, sys
print(sum(runtime[sys.argv[2]] for runtime in json.load(open(sys.argv[1]))["runtimes"]
          if runtime["name"] == "jvm" and runtime["version"] == sys.argv[3]))' "$TMPDIR/$1.json" "${3:-fits}" "${4:-17}")
    echo "$1: $matching of $total, ${3:-fits} $counted"
    # Before the program is known to be one its stacks go by frame pointers: how long that is, the load of the machine decides.
    ((matching >= total / 2 && counted >= total / 2)) ||
        fail "of $1 $matching of $total, $counted: $(cat "$TMPDIR/$1.folded" "$TMPDIR/$1.json")"
}
need_command python3
whole='^fake_hotspot;_start;.*;main;run;'
cut='^fake_hotspot;\[truncated\];'
expect_of honest "${whole}evil\.evil;burn[; ]"
expect_of segments "${cut}\[anon\];burn[; ]" outside
expect_of heap "${cut}\[anon\];burn[; ]" outside
expect_of heaps "${cut}\[anon\];burn[; ]" early
expect_of frame "${cut}evil\.evil;burn[; ]"
expect_of frames "${whole}evil\.evil;burn[; ]"
expect_of blob "${whole}evil\.evil;burn[; ]"
expect_of symbols "${whole}x{255}x?…\.x{127}x?…;burn[; ]"
expect_of circle "${whole}me\.me;burn[; ]"
expect_of offsets ';main;run;\[anon\];\[anon\];burn[; ]' unknown_build
expect_of names ';main;run;\[anon\];\[anon\];burn[; ]' unknown_build 0
expect_of endless ';main;run;\[anon\];\[anon\];burn[; ]' unknown_build 0

java=$(command -v java) && command -v javac >/dev/null || exit 0
library=$(dirname "$(realpath "$java")")/../lib/server/libjvm.so
[[ -e $library ]] || exit 0
cat >"$TMPDIR/Spins.java" <<'JAVA'
public class Spins {
    static void spin() {
        java.lang.management.ThreadMXBean threads = java.lang.management.ManagementFactory.getThreadMXBean();
        while (threads.getCurrentThreadCpuTime() < 1_000_000_000L);
    }
    public static void main(String[] arguments) { spin(); }
}
JAVA
javac -d "$TMPDIR" "$TMPDIR/Spins.java" || fail "javac failed"
# The other one comes first, and is there all the time.
cat >"$TMPDIR/load" <<'SHELL'
#!/bin/bash
"$1" "$2" 1
"$1" "$2" 100 &
java -Xint -cp "$3" Spins
kill -KILL $!
SHELL
chmod +x "$TMPDIR/load"
record -F 499 -o "$TMPDIR/library.folded" --stats "$TMPDIR/library.json" -- \
    "$TMPDIR/load" "$WORKLOADS/hostile/fake_libjvm" "$library" "$TMPDIR"
expect_account_adds_up "$TMPDIR/library.json"
python3 -S - "$TMPDIR/library.json" <<'PYTHON' || fail "the program is not taken for HotSpot: $(cat "$TMPDIR/library.json")"
import json, sys
sys.exit(sum(runtime["processes"] for runtime in json.load(open(sys.argv[1]))["runtimes"] if not runtime["unknown_build"]) != 3)
PYTHON
samples=$(folded_count "$TMPDIR/library.folded" 'Spins.main;Spins.spin')
echo "library: $samples"
((samples >= 100)) || fail "only $samples stacks of the JVM have their names: $(grep java "$TMPDIR/library.folded")"
