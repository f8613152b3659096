#!/bin/bash
# The RPM is built from its spec, holds what `make install` puts in place and nothing else, installs,
# and leaves nothing when it is erased. On Debian the macros of Fedora are given by hand.
# runs: in turn
. "$(dirname "$0")/lib.sh"
need_command rpmbuild

version=$(sed -n 's/^VERSION := //p' "$REPO/Makefile")
[[ $(sed -n 's/^Version: *//p' "$REPO/packaging/stackwide.spec") = "$version" ]] ||
    fail "the spec is of another version than the Makefile"
git -c safe.directory='*' -C "$REPO" archive --prefix="stackwide-$version/" \
    -o "$TMPDIR/stackwide-$version.tar.gz" HEAD
macros=(--define "_topdir $TMPDIR/rpm" --define "_sourcedir $TMPDIR")
[[ -n $(rpm --eval '%{?systemd_post:1}') ]] || macros+=(
    --define 'build_cflags -O2 -g' --define 'build_ldflags %{nil}'
    --define '_unitdir /usr/lib/systemd/system' --define '_tmpfilesdir /usr/lib/tmpfiles.d'
    --define 'systemd_post() :' --define 'systemd_preun() :' --define 'systemd_postun() :')
rpmbuild -bb --nodeps "${macros[@]}" "$REPO/packaging/stackwide.spec" >"$TMPDIR/log" 2>&1 ||
    fail "rpmbuild: $(tail -n 20 "$TMPDIR/log")"
mapfile -t packages < <(find "$TMPDIR/rpm/RPMS" -name 'stackwide-[0-9]*.rpm')
((${#packages[@]} == 1)) || fail "packages: ${packages[*]}"

build=$(dirname "$STACKWIDE")
make -s -C "$REPO" O="$build" -o "$build/stackwide" PREFIX=/usr DESTDIR="$TMPDIR/made" install \
    >"$TMPDIR/log" 2>&1 || fail "make install: $(tail "$TMPDIR/log")"
(cd "$TMPDIR/made" && find . -type f ! -path './usr/share/doc/*' -printf '/%P %m\n' | sort) >"$TMPDIR/expected"
rpm -qp --qf '[%{FILENAMES} %{FILEMODES:octal}\n]' "${packages[0]}" 2>/dev/null |
    sed -nE 's/(\.[137])\.gz /\1 /; /^\/usr\/(share\/(doc|licenses)|lib\/\.build-id)\//d; s/ 100([0-7]+)$/ \1/p' |
    sort >"$TMPDIR/actual"
diff "$TMPDIR/expected" "$TMPDIR/actual" || fail "it holds other files than make install (<) makes"

rpm_root() { rpm --root "$TMPDIR/root" --nodeps --noscripts "$@" 2>"$TMPDIR/rpm.err"; }
mkdir "$TMPDIR/root"
rpm_root -i "${packages[0]}" || fail "rpm -i: $(cat "$TMPDIR/rpm.err")"
"$TMPDIR/root/usr/bin/stackwide" --version | grep -qF "$version" || fail "another program was installed"
rpm_root -e stackwide || fail "rpm -e: $(cat "$TMPDIR/rpm.err")"
left=$(find "$TMPDIR/root" -name '*stackwide*' ! -path '*/rpm/*')
[[ -z $left ]] || fail "erasing leaves $left"
