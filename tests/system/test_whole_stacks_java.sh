#!/bin/bash
# Java's compiled code keeps no frame pointers unless it is told to: stacks through it are whole all the same, by what HotSpot
# says of its frames. Methods have their names, or as native code those of a perf-map.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command java
need_command javac
source "$(dirname "$0")/own_tmp.sh"

cat >"$own_tmp/Deep.java" <<'JAVA'
import java.lang.management.ManagementFactory;
import javax.management.ObjectName;

public class Deep {
    static int sink;
    static int leaf(int n) {
        int sum = n;
        for (int i = 0; i < 2000; i++) sum = sum * 31 + i;
        return sum;
    }
    static int third(int n) { return leaf(n) + 1; }
    static int second(int n) { return third(n) + 1; }
    static int first(int n) { return second(n) + 1; }
    static long cpuTime() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }
    static void run(double endNs) {
        while (cpuTime() < endNs) for (int i = 0; i < 1000; i++) sink += first(i);
    }
    public static void main(String[] args) throws Exception {
        run(1e9);
        // What it writes at its exit is gone with its /tmp before it can be read.
        ManagementFactory.getPlatformMBeanServer().invoke(
            new ObjectName("com.sun.management:type=DiagnosticCommand"), "compilerPerfmap", null, null);
        run(1.5e9);
    }
}
JAVA
"${in_own_tmp[@]}" javac Deep.java || fail "javac failed"

# run_java FRAMES JAVA_OPTION…: record it with --runtime-frames FRAMES.
run_java() {
    local frames=$1
    shift
    record -F 999 --runtime-frames "$frames" --stats "$TMPDIR/stats.json" -o "$TMPDIR/out.folded" -- "${in_own_tmp[@]}" \
        java "-XX:CompileCommand=dontinline,Deep.*" "$@" Deep >"$TMPDIR/java.out" || fail "java failed"
    expect_account_adds_up "$TMPDIR/stats.json"
    # Until the recorder knows this HotSpot, stacks through its code end there: that takes the longer the busier the machine
    # is. At this frequency a sample is a millisecond. The chain of the leaf, below, allows no other ones.
    expect_between "samples without a whole stack" \
        $(($(folded_total "$TMPDIR/out.folded") - $(stats_get "$TMPDIR/stats.json" user_stacks.complete))) 0 200
}

# expect_chain SUFFIX FIRST SECOND THIRD LEAF: of the stacks with the leaf, those that have the others below it.
expect_chain() {
    local names
    printf -v names '%s;' "$@"
    expect_between "samples of the leaf" "$(folded_count "$TMPDIR/out.folded" "${*: -1}" "")" 300 100000
    expect_between "share of whole stacks of the leaf in %" "$(folded_share "$TMPDIR/out.folded" "${names%;}" "${*: -1}")" 99 100
}

for option in -XX:-PreserveFramePointer -XX:+PreserveFramePointer; do
    run_java managed "$option"
    expect_chain Deep.main Deep.run Deep.first Deep.second Deep.third Deep.leaf
    ! grep -F -e PreserveFramePointer -e DumpPerfMapAtExit "$TMPDIR/record.err" || fail "there is advice, and nothing to be gained by it"
    run_java native "$option"
    expect_chain "int Deep.first(int)_[j]" "int Deep.second(int)_[j]" "int Deep.third(int)_[j]" "int Deep.leaf(int)_[j]"
done

# Only where frame pointers are all that is gone by there is advice to have them.
record -F 499 --user-stacks fp -o "$TMPDIR/out.folded" -- "${in_own_tmp[@]}" java "-XX:CompileCommand=dontinline,Deep.*" Deep >"$TMPDIR/java.out"
grep -qF 'Java keeps them with -XX:+PreserveFramePointer' "$TMPDIR/record.err" ||
    fail "no advice for compiled code without frame pointers"
