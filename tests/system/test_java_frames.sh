#!/bin/bash
# Methods of Java are in the stacks of the processes that run HotSpot: those that called each other, as the program itself says,
# whoever runs or compiles them; from the first samples on, without a flag, and with each JDK that is here.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command python3
javas=(/usr/lib/jvm/*/bin/java "$(command -v java || true)")
IFS=: read -ra more_javas <<<"${STACKWIDE_TEST_JAVAS:-}"
javas+=(${more_javas[@]+"${more_javas[@]}"})

# The first compiler will do for all.
classes=$TMPDIR
compile() {
    local java javac
    for java in "${javas[@]}"; do
        javac=$(dirname "$(realpath "$java")")/javac
        [[ -x $javac ]] || continue
        "$javac" --release 11 -encoding UTF-8 -d "$classes" "$(dirname "$0")/../workloads/JavaChains.java" ||
            fail "$javac failed"
        return
    done
    skip "needs javac (package ${PACKAGE_OF[javac]}), which is not installed"
}

# expect_chains NAME JAVA MAJOR OPTION…: of all stacks that end in a leaf of the program, the methods are those that it says.
expect_chains() {
    local name=$1 java=$2 major=$3
    shift 3
    record -F 999 -o "$TMPDIR/$name.folded" --stats "$TMPDIR/$name.json" -- \
        "$java" -Xmx128m "$@" -cp "$classes" JavaChains 2 >"$TMPDIR/chains"
    expect_account_adds_up "$TMPDIR/$name.json"
    python3 -S "$(dirname "$0")/java_chains.py" exact "$TMPDIR/$name.folded" "$TMPDIR/$name.json" "$TMPDIR/chains" "$major" ||
        fail "$name: $(cat "$TMPDIR/record.err")"
}

compile
num_javas=0
declare -A seen
for java in "${javas[@]}"; do
    [[ -x $java ]] || continue
    java=$(realpath "$java")
    [[ -z ${seen[$java]:-} ]] || continue
    seen[$java]=1
    # Others than HotSpot are made from OpenJDK as well.
    settings=$("$java" -XshowSettings:properties -version 2>&1) || continue
    [[ $settings =~ java\.vm\.name\ =\ [^$'\n']*(HotSpot|OpenJDK) ]] || continue
    [[ $settings =~ java\.specification\.version\ =\ ([0-9]+)$'\n' ]] || continue
    major=${BASH_REMATCH[1]}
    ((major >= 11)) || continue
    num_javas=$((num_javas + 1)) last_java=$java last_major=$major
    # What runs a method: the interpreter, either compiler, and all of them, which methods go through one after the other.
    expect_chains "interpreted$num_javas" "$java" "$major" -Xint
    expect_chains "c1_$num_javas" "$java" "$major" -XX:TieredStopAtLevel=1
    expect_chains "c2_$num_javas" "$java" "$major" -XX:-TieredCompilation -XX:CompileThreshold=500
    expect_chains "default$num_javas" "$java" "$major"
done
((num_javas)) || skip "needs java (package ${PACKAGE_OF[java]}) of 11 or newer, which is not installed"

# Whose frames a recording would have.
cat >"$TMPDIR/Waits.java" <<'JAVA'
public class Waits {
    public static void main(String[] arguments) throws Exception {
        java.nio.file.Files.createFile(java.nio.file.Path.of(arguments[0]));
        Thread.sleep(100_000);
    }
}
JAVA
start "$last_java" "$TMPDIR/Waits.java" "$TMPDIR/runs"
wait_until test -e "$TMPDIR/runs"
"$STACKWIDE" doctor >"$TMPDIR/doctor" || true
grep -q "^ok  *interpreters  *Java $last_major in [0-9]* process.*[0-9] java" "$TMPDIR/doctor" ||
    fail "the doctor does not see Java $last_major: $(cat "$TMPDIR/doctor")"
