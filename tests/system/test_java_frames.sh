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

# What JDK 8 runs, and what newer ones do. A compiler that does for both will do for all; that of JDK 8 knows no --release.
classes=$TMPDIR/classes
old_classes=$TMPDIR/old_classes
compile() {
    local java javac source
    source=$(dirname "$0")/../workloads/JavaChains.java
    for java in "${javas[@]}"; do
        javac=$(dirname "$(realpath "$java")")/javac
        [[ -x $javac ]] || javac=$(dirname "$java")/javac
        [[ -x $javac ]] || continue
        "$javac" --release 11 -encoding UTF-8 -d "$classes" "$source" 2>"$TMPDIR/javac.err" || rm -rf "$classes"
        "$javac" --release 8 -Xlint:-options -encoding UTF-8 -d "$old_classes" "$source" 2>"$TMPDIR/javac.err" ||
            "$javac" -encoding UTF-8 -d "$old_classes" "$source" 2>"$TMPDIR/javac.err" ||
            fail "$javac failed: $(cat "$TMPDIR/javac.err")"
        [[ -d $classes ]] && return
    done
    [[ -d $old_classes ]] || skip "needs javac (package ${PACKAGE_OF[javac]}), which is not installed"
    classes=$old_classes
}

# The compilers do not say what is inlined where a loop does nothing but call the JVM's routines: these leaves have code of their own.
own_code=(-XX:CompileCommand=quiet)
for method in leafCopy leafChecksum leafBig; do
    own_code+=("-XX:CompileCommand=dontinline,JavaChains.$method")
done

# expect_chains NAME JAVA MAJOR exact|some OPTION…: of all stacks that end in a leaf of the program, the methods are those that it says.
expect_chains() {
    local name=$1 java=$2 major=$3 kind=$4 path=$classes
    shift 4
    ((major >= 11)) || path=$old_classes
    record -F 1999 -o "$TMPDIR/$name.folded" --stats "$TMPDIR/$name.json" -- \
        "$java" -Xmx128m "${own_code[@]}" "$@" -cp "$path" JavaChains 1 >"$TMPDIR/chains"
    expect_account_adds_up "$TMPDIR/$name.json"
    python3 -S "$(dirname "$0")/java_chains.py" "$kind" "$TMPDIR/$name.folded" "$TMPDIR/$name.json" "$TMPDIR/chains" "$major" ||
        fail "$name: $(cat "$TMPDIR/record.err")"
}

compile
num_javas=0 last_java=
declare -A seen
for java in "${javas[@]}"; do
    [[ -x $java ]] || continue
    java=$(realpath "$java")
    [[ -z ${seen[$java]:-} ]] || continue
    seen[$java]=1
    # Others than HotSpot are made from OpenJDK as well.
    settings=$("$java" -XshowSettings:properties -version 2>&1) || continue
    [[ $settings =~ java\.vm\.name\ =\ [^$'\n']*(HotSpot|OpenJDK) ]] || continue
    [[ $settings =~ java\.specification\.version\ =\ (1\.)?([0-9]+)$'\n' ]] || continue
    major=${BASH_REMATCH[2]}
    ((major == 8 || major >= 11)) || continue
    num_javas=$((num_javas + 1))
    ((major < 11)) || last_java=$java last_major=$major
    # In loops of the second compiler JDK 8 does not say what was inlined.
    optimized=exact
    ((major >= 11)) || optimized=some
    # In the gate only the first JDK runs in every way.
    if [[ ${TEST_VERSIONS:-} = few ]] && ((num_javas > 1)); then
        expect_chains "default$num_javas" "$java" "$major" "$optimized"
        continue
    fi
    # What runs a method: the interpreter, either compiler, and all of them, which methods go through one after the other.
    expect_chains "interpreted$num_javas" "$java" "$major" exact -Xint
    expect_chains "c1_$num_javas" "$java" "$major" exact -XX:TieredStopAtLevel=1
    expect_chains "c2_$num_javas" "$java" "$major" "$optimized" -XX:-TieredCompilation -XX:CompileThreshold=500
    expect_chains "default$num_javas" "$java" "$major" "$optimized"
done
((num_javas)) || skip "needs java (package ${PACKAGE_OF[java]}) of 8, 11 or newer, which is not installed"

# Whose frames a recording would have; JDK 8 runs no source files.
[[ -n $last_java ]] || exit 0
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
