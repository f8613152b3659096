#!/bin/bash
# What `make install` puts in place: nothing that others can write, completions that the shells
# take, a manual page for each command; uninstall leaves nothing.
. "$(dirname "$0")/lib.sh"

root=$TMPDIR/root
build=$(dirname "$STACKWIDE")
run_make() { make -s -C "$REPO" O="$build" PREFIX=/usr DESTDIR="$root" "$@" >"$TMPDIR/log" 2>&1; }
# Not what this test is about: a program that must be linked again.
[[ ! "$REPO/Makefile" -nt "$build/stackwide" || -w $build ]] || skip "the build folder is read-only"
touch -c "$build/stackwide"
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

completion=$root/usr/share/bash-completion/completions/stackwide
# complete_bash WORD…: the last is being typed
complete_bash() {
    bash -c '. "$1"; shift; COMP_WORDS=(stackwide "$@"); COMP_CWORD=$#; _stackwide
        printf "%s\n" "${COMPREPLY[@]}"' - "$completion" "$@"
}
[[ $(complete_bash rec) = record ]] || fail "'rec' completes to: $(complete_bash rec)"
[[ $(complete_bash record --freq) = --frequency ]] || fail "no options are completed"
[[ $(complete_bash record --kernel-stacks o | paste -sd ' ') = "on off" ]] || fail "no values are"
complete_bash convert --to pp | grep -qx pprof || fail "no formats are completed"
[[ -z $(complete_bash record --check) ]] || fail "an option of developers is completed"
! command -v zsh >/dev/null || zsh -n "$root/usr/share/zsh/site-functions/_stackwide" ||
    fail "zsh does not take its completion"
! command -v fish >/dev/null ||
    fish -n "$root/usr/share/fish/vendor_completions.d/stackwide.fish" ||
    fail "fish does not take its completion"

# The configuration as it is installed is understood; an archive is bounded by it.
mkdir "$TMPDIR/archive"
sed "s,^dir = .*,dir = $TMPDIR/archive," "$root/etc/stackwide/capture.conf" >"$TMPDIR/capture.conf"
"$STACKWIDE" capture --config "$TMPDIR/capture.conf" --min-free 99% 2>"$TMPDIR/err" &&
    fail "captures on a disk that is too full"
grep -q 'too full' "$TMPDIR/err" || fail "the configuration is not taken: $(cat "$TMPDIR/err")"

echo changed >>"$root/etc/stackwide/capture.conf"
run_make -o "$build/stackwide" install || fail "$(cat "$TMPDIR/log")"
grep -qx changed "$root/etc/stackwide/capture.conf" || fail "a changed configuration is lost"
run_make uninstall || fail "$(cat "$TMPDIR/log")"
[[ -z $(find "$root" -type f) ]] || fail "uninstall leaves $(find "$root" -type f)"
