#!/bin/bash
# A JVM that gets the pid of one before it, and has called exec as often: its code lies elsewhere, and its methods are in its
# stacks as in those of the other.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command java
need_command javac
last_pid=/proc/sys/kernel/ns_last_pid
[[ -w $last_pid ]] || skip "this kernel does not let us choose a pid ($last_pid)"

cat >"$TMPDIR/Spins.java" <<'JAVA'
public class Spins {
    static long early(long end) { return spin(end); }
    static long late(long end) { return spin(end); }
    static long spin(long end) {
        var threads = java.lang.management.ManagementFactory.getThreadMXBean();
        while (threads.getCurrentThreadCpuTime() < end);
        return end;
    }
    public static void main(String[] arguments) {
        long end = 1_000_000_000L;
        System.out.println(arguments[0].equals("early") ? early(end) : late(end));
    }
}
JAVA
javac -d "$TMPDIR" "$TMPDIR/Spins.java" || fail "javac failed"
cat >"$TMPDIR/load" <<'SHELL'
#!/bin/bash
# Others may be quicker to take the pid: then the next one is tried with.
java -Xint -cp "$1" Spins early &
pid=$!
wait
for _ in {1..20}; do
    echo $((pid - 1)) >/proc/sys/kernel/ns_last_pid
    java -Xint -cp "$1" Spins late &
    if [[ $! = "$pid" ]]; then
        wait
        echo again
        exit
    fi
    kill -KILL $!
    wait $!
done
SHELL
chmod +x "$TMPDIR/load"
record -F 499 -o "$TMPDIR/out.folded" --stats "$TMPDIR/stats.json" -- "$TMPDIR/load" "$TMPDIR" >"$TMPDIR/said"
grep -q again "$TMPDIR/said" || skip "the pid could not be taken again"
expect_account_adds_up "$TMPDIR/stats.json"
for name in early late; do
    samples=$(folded_count "$TMPDIR/out.folded" "Spins.main;Spins.$name;Spins.spin")
    echo "$name: $samples"
    ((samples >= 100)) || fail "only $samples stacks hold $name"
done
