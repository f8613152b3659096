#!/bin/bash
# What `make install` puts in place: nothing that others can write, completions that the shells
# take, a manual page for each command and each topic; uninstall leaves nothing.
# runs: beside others
. "$(dirname "$0")/lib.sh"

root=$TMPDIR/root
build=$(dirname "$STACKWIDE")
run_make() { make -s -C "$REPO" O="$build" PREFIX=/usr DESTDIR="$root" "$@" >"$TMPDIR/log" 2>&1; }
# Not what this test is about: a program that must be linked again.
[[ ! "$REPO/Makefile" -nt "$build/stackwide" || -w $build ]] || skip "the build folder is read-only"
touch -c "$build/stackwide"
# What an older program has said of itself may lie there.
[[ ! -w $build ]] || rm -rf "$build/generated"
run_make -o "$build/stackwide" install || fail "$(cat "$TMPDIR/log")"

[[ -z $(find "$root" -perm /022) ]] || fail "others can write: $(find "$root" -perm /022)"
[[ -z $(find "$root" -type f -perm /111 ! -path '*/bin/stackwide') ]] || fail "odd modes"
grep -q '^ExecStart=/usr/bin/stackwide capture' \
    "$root/usr/lib/systemd/system/stackwide-capture.service" || fail "the unit has another path"
grep -q '^[^#]' <(grep -v '^SHELL=\|^PATH=' "$root/etc/cron.d/stackwide") &&
    fail "the cron job runs without being asked to"

for command in $("$STACKWIDE" generate commands); do
    page=$root/usr/share/man/man1/stackwide-$command.1
    [[ -s $page ]] || fail "no manual page for $command"
    ! command -v man >/dev/null || [[ -z $(man --warnings -l "$page" 2>&1 >/dev/null) ]] ||
        fail "$page is no clean manual page"
done

# Topics are manuals, or are there as they are where lowdown is missing. In 120 columns all tables fit.
for document in "$REPO"/packaging/docs/*.md; do
    topic=$(basename "$document" .md)
    if ! command -v lowdown >/dev/null; then
        cmp "$document" "$root/usr/share/doc/stackwide/$topic.md" || fail "no document of $topic"
        continue
    fi
    page=$root/usr/share/man/man7/stackwide-$topic.7
    grep -q "^stackwide.-$topic .- " "$page" || fail "no manual page for $topic"
    ! command -v man >/dev/null || [[ -z $(LC_ALL=C.UTF-8 MANWIDTH=120 man --warnings -l "$page" 2>&1 >/dev/null) ]] ||
        fail "$page is no clean manual page"
done

# The page that is written by hand lists the formats of the table, those that are written.
manual=$root/usr/share/man/man1/stackwide.1
sed -n '/^\.BR .*-to "/,/^\.RE/{ s/\\-/-/g; s/^\\fB\(.*\)\\fR.*/\1/p; }' "$manual" >"$TMPDIR/listed"
"$STACKWIDE" help formats | awk '/^  [^ ]/ {
    verb = $2 ~ /^\./ ? 3 : 2
    if ($verb == "write" || $verb $(verb + 1) == "read,write")
        print $1
}' >"$TMPDIR/written"
[[ -s $TMPDIR/written ]] || fail "'stackwide help formats' says of no format that it is written"
diff "$TMPDIR/written" "$TMPDIR/listed" || fail "stackwide.1 lists other formats than are written"
! command -v man >/dev/null || [[ -z $(man --warnings -l "$manual" 2>&1 >/dev/null) ]] ||
    fail "$manual is no clean manual page"

completion=$root/usr/share/bash-completion/completions/stackwide
# complete_bash WORD…: the last is being typed
complete_bash() {
    bash -c '. "$1"; shift; COMP_WORDS=(stackwide "$@"); COMP_CWORD=$#; _stackwide
        printf "%s\n" "${COMPREPLY[@]}"' - "$completion" "$@"
}
[[ $(complete_bash rec) = record ]] || fail "'rec' completes to: $(complete_bash rec)"
[[ $(complete_bash record --freq) = --frequency ]] || fail "no options are completed"
[[ $(complete_bash record --kernel-stacks o | paste -sd ' ') = "on off" ]] || fail "no values are"
complete_bash convert --to pp | has_line -x pprof || fail "no formats are completed"
[[ -z $(complete_bash record --check) ]] || fail "an option of developers is completed"
[[ $(complete_bash record --user-stacks '' | paste -sd ' ') = "auto table fp none" ]] ||
    fail "no kinds of stacks are completed"
[[ $(complete_bash convert --width '') = max ]] || fail "a stand-in for a number is completed"

# What a person types and the line that it becomes, in shells that have read nothing else.
lines=('rec' 'record ' 'record --zon' 'record --zones ' 'record --sche' 'record --sched '
    'convert --from perf-s' 'convert --from perf-script ' 'diff --bef' 'diff --before '
    'capture --min-f' 'capture --min-free ' 'report --root none --since' 'report --root none --since '
    'record -e page-f' 'record -e page-faults' 'record -e faults,minor-f' 'record -e faults,minor-faults'
    'capture --event minor-f' 'capture --event minor-faults')
export PATH=$root/usr/bin:$PATH # shells ask it for the events
# A terminal's zsh; each answer is waited for.
# shellcheck disable=SC2016 # of zsh
complete_zsh() {
    HOME=$TMPDIR TERM=dumb timeout 60 zsh -f -c '
        zmodload zsh/zpty && zpty z "zsh -f -i" || exit 1
        zpty -w z "PS1= RPS1= fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; echo rea\dy"
        zpty -r z answer "*ready*"
        for ((i = 2; i < ARGC; i += 2)); do
            zpty -w -n z "stackwide ${argv[i]}"$'"'\t'"'
            zpty -r z answer "*stackwide ${argv[i + 1]}*" || exit 1
            zpty -w -n z $'"'\C-u'"'
        done
        zpty -d z' - "$root/usr/share/zsh/site-functions" "${lines[@]}" "" >/dev/null
}
! command -v zsh >/dev/null || complete_zsh || fail "zsh does not complete"
complete_fish() {
    HOME=$TMPDIR fish --no-config -c 'source $argv[1]; complete -C "stackwide $argv[2]"' \
        "$root/usr/share/fish/vendor_completions.d/stackwide.fish" "$1" | cut -f1
}
for ((i = 0; i < ${#lines[@]}; i += 2)); do
    words=${lines[i + 1]% }
    [[ $(complete_bash ${lines[i]}) = "${words##* }" ]] || fail "bash: ${lines[i]}: $(complete_bash ${lines[i]})"
    ! command -v fish >/dev/null || [[ $(complete_fish "${lines[i]}") = "${words##* }" ]] ||
        fail "fish: ${lines[i]}: $(complete_fish "${lines[i]}")"
done

# The configuration as it is installed is understood; an archive is bounded by it.
mkdir "$TMPDIR/archive"
sed "s,^dir = .*,dir = $TMPDIR/archive," "$root/etc/stackwide/capture.conf" >"$TMPDIR/capture.conf"
"$STACKWIDE" capture --config "$TMPDIR/capture.conf" --min-free 1000000T 2>"$TMPDIR/err" &&
    fail "captures on a disk that is too full"
grep -q 'too full' "$TMPDIR/err" || fail "the configuration is not taken: $(cat "$TMPDIR/err")"

echo changed >>"$root/etc/stackwide/capture.conf"
run_make -o "$build/stackwide" install || fail "$(cat "$TMPDIR/log")"
grep -qx changed "$root/etc/stackwide/capture.conf" || fail "a changed configuration is lost"
run_make uninstall || fail "$(cat "$TMPDIR/log")"
[[ -z $(find "$root" -type f) ]] || fail "uninstall leaves $(find "$root" -type f)"
