#!/bin/bash
# Java's compiled code keeps no frame pointers unless it is told to: a stack through it may lack frames
# although it ends at the thread's start, and is not counted as complete then. With frame pointers,
# stacks are whole.
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
        run(2e9);
        // What it writes at its exit is gone with its /tmp before it can be read.
        ManagementFactory.getPlatformMBeanServer().invoke(
            new ObjectName("com.sun.management:type=DiagnosticCommand"), "compilerPerfmap", null, null);
        run(3e9);
    }
}
JAVA
"${in_own_tmp[@]}" javac Deep.java || fail "javac failed"

run_java() {
    record -F 499 --stats "$TMPDIR/stats.json" -o "$TMPDIR/out.folded" -- "${in_own_tmp[@]}" \
        java "-XX:CompileCommand=dontinline,Deep.*" "$@" Deep >"$TMPDIR/java.out" || fail "java failed"
    complete=$(stats_get "$TMPDIR/stats.json" user_stacks.complete)
    num_jit=$(folded_match "$TMPDIR/out.folded" '_\[j\]')
    total=$(folded_total "$TMPDIR/out.folded")
}

expect_believed() {
    local count
    count=$(stats_get "$TMPDIR/stats.json" user_stacks.truncated.jit_code)
    ((count == 0)) || fail "$count stacks by frame pointers are not believed"
}

run_java
((num_jit > 500)) || fail "only $num_jit samples in compiled code"
# No stack through generated code counts: what is complete are the others.
((complete <= total - num_jit)) ||
    fail "$complete stacks count as complete, of $total with $num_jit in compiled code"
grep -qF 'Java keeps them with -XX:+PreserveFramePointer' "$TMPDIR/record.err" ||
    fail "no advice for compiled code without frame pointers"

run_java -XX:+PreserveFramePointer
((num_jit > 500)) || fail "only $num_jit samples in compiled code with frame pointers"
expect_believed
expect_between "share of complete stacks with frame pointers" \
    "$(awk -v part="$complete" -v whole="$total" 'BEGIN { print 100 * part / whole }')" 95 100
expect_between "share of whole stacks of leaf" \
    "$(folded_share "$TMPDIR/out.folded" "int Deep.first(int)_[j];int Deep.second(int)_[j];int Deep.third(int)_[j];int Deep.leaf(int)_[j]" \
        "int Deep.leaf(int)_[j]")" 95 100

# In the environment it is as good.
export JAVA_TOOL_OPTIONS=-XX:+PreserveFramePointer
run_java
expect_believed
