#!/bin/bash
# scripts/install-deps asks each package manager for what is missing, by the names it has there, and
# runs none when nothing is missing. The managers here only write down what they are asked.
# runs: beside others
source "$(dirname "$0")/lib.sh"

stub=$TMPDIR/bin

# A machine of which only the shell's own tools are known. We are root on it.
make_machine() {
    local tool
    rm -rf "$stub"
    mkdir "$stub"
    for tool in bash mktemp rm cut paste sort tr find grep cat dirname; do
        ln -s "$(command -v $tool)" "$stub/$tool"
    done
    put_command id 'echo 0'
}

# put_command NAME SCRIPT
put_command() {
    printf '#!%s\n%s\n' "$(command -v bash)" "$2" >"$stub/$1"
    chmod +x "$stub/$1"
}

# expect_asked MANAGER WORD…: all words are in what the manager was asked, each as a word.
expect_asked() {
    local manager=$1 word
    shift
    make_machine
    put_command "$manager" "echo \"$manager \$*\" >>'$TMPDIR/asked'; [[ \$1 != -q || \$2 != repoquery ]] || echo known"
    put_command apt-cache 'echo Filename: known'
    : >"$TMPDIR/asked"
    PATH=$stub expect_status 1 bash "$REPO/scripts/install-deps" --tests
    grep -q "^missing: compiler make clang .*; installing with $manager\$" "$TMPDIR/out" ||
        fail "$manager: said $(cat "$TMPDIR/out")"
    grep -q "^still missing: compiler " "$TMPDIR/err" || fail "$manager: $(cat "$TMPDIR/err")"
    for word; do
        grep -Eq "^$manager (.* )?$word( |\$)" "$TMPDIR/asked" ||
            fail "$manager was not asked for $word: $(cat "$TMPDIR/asked")"
    done
}

expect_asked apt-get update install gcc libbpf-dev libdw-dev libiberty-dev libcmocka-dev 'g\+\+' linux-perf
expect_asked dnf install gcc libbpf-devel elfutils-devel binutils-devel libcmocka-devel 'gcc-c\+\+' perf
expect_asked zypper install gcc libbpf-devel libdw-devel binutils-devel libcmocka-devel perf
expect_asked pacman -Sy gcc libbpf libelf binutils cmocka perf

# No package manager that we know.
make_machine
PATH=$stub expect_status 1 bash "$REPO/scripts/install-deps"
grep -q 'found none of apt-get' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"

# Not root: the command to run, and nothing is installed.
put_command id 'echo 1000'
put_command apt-get "echo called >>'$TMPDIR/called'"
PATH=$stub expect_status 1 bash "$REPO/scripts/install-deps"
grep -q 'run: sudo .*install-deps$' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
[[ ! -e $TMPDIR/called ]] || fail "ran the package manager without being root"

# With sudo it runs itself by that.
put_command sudo "echo \"\$*\" >'$TMPDIR/called'; exit 7"
PATH=$stub expect_status 7 bash "$REPO/scripts/install-deps" --tests
[[ $(cat "$TMPDIR/called") = "-- $REPO/scripts/install-deps --tests" ]] || fail "sudo was asked for $(cat "$TMPDIR/called")"

# Another program holds apt's lock at first, then a mirror fails once.
make_machine
put_command sleep 'exit 0'
put_command apt-cache 'echo Filename: known'
echo 0 >"$TMPDIR/tries"
# shellcheck disable=SC2016 # of the command
put_command apt-get 'wanted=$*
    case $wanted in
    *--assume-no*) echo "Need to get 123 MB of archives." ;;
    *update*)
        tries=$(($(cat '"'$TMPDIR/tries'"') + 1)) && echo $tries >'"'$TMPDIR/tries'"'
        ((tries != 1)) || { echo "E: Could not get lock /var/lib/apt/lists/lock" >&2 && exit 100; }
        ((tries != 2)) || { echo "E: Failed to fetch" >&2 && exit 100; } ;;
    *) echo "$wanted" >>'"'$TMPDIR/asked'"' ;;
    esac'
: >"$TMPDIR/asked"
PATH=$stub expect_status 1 bash "$REPO/scripts/install-deps"
[[ $(cat "$TMPDIR/tries") = 3 ]] || fail "the lists were asked for $(cat "$TMPDIR/tries") times"
grep -q "waiting until another program" "$TMPDIR/err" || fail "it does not say that it waits"
! grep -q "could not be updated" "$TMPDIR/err" || fail "it gave up"
grep -q '^packages: .*gcc' "$TMPDIR/out" || fail "it does not say which packages"
grep -q '^Need to get 123 MB' "$TMPDIR/out" || fail "it does not say how much"
grep -q 'DPkg::Lock::Timeout=[1-9]' "$TMPDIR/asked" || fail "apt does not wait for its lock"

expect_status 2 "$REPO/scripts/install-deps" --nonsense

# What built this program is there.
expect_status 0 "$REPO/scripts/install-deps"
[[ $(cat "$TMPDIR/out") = "all build dependencies are present" ]] || fail "said $(cat "$TMPDIR/out")"
