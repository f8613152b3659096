#!/bin/bash
# --root script: processes of Java are named by their class or jar; its threads that have names of their own
# keep these.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command java
need_command javac

mkdir -p "$TMPDIR/example"
cat >"$TMPDIR/example/Main.java" <<'END'
package example;

import java.lang.management.ManagementFactory;

public class Main {
    public static void main(String[] words) throws Exception {
        var threads = ManagementFactory.getThreadMXBean();
        long sum = 0;
        while (threads.getCurrentThreadCpuTime() < 500_000_000L)
            for (int i = 0; i < 100_000; i++)
                sum += i % 7;
        Thread named = new Thread(() -> {
            while (threads.getCurrentThreadCpuTime() < 300_000_000L)
                ;
        }, "own-name");
        named.start();
        named.join();
        System.out.println(sum);
    }
}
END
javac -d "$TMPDIR" "$TMPDIR/example/Main.java"
record -F 999 --root script -o "$TMPDIR/out.folded" -- \
    java -cp "$TMPDIR" -Xmx64m --add-opens java.base/java.lang=ALL-UNNAMED example.Main >/dev/null
for root in 'java \(example\.Main\)' own-name; do
    grep -Eq "^${root}[; ]" "$TMPDIR/out.folded" ||
        fail "no '$root': $(cut -d';' -f1 "$TMPDIR/out.folded" | sort | uniq -c)"
done
! grep -Eq '^own-name \(' "$TMPDIR/out.folded" || fail "a thread with a name of its own has another"
