# shellcheck shell=bash
# What the tests of packages share: a copy of the clean system, in $ROOT, and commands in it.
. "$(dirname "${BASH_SOURCE[0]}")/../system/lib.sh"
export DEBIAN_FRONTEND=noninteractive PATH=$PATH:/usr/sbin:/sbin

ROOT=$TMPDIR/root

# The .deb, which a broken packaging/ must not skip.
need_deb() {
    need_command dpkg-buildpackage
    need_command dh
    [[ -e $PACKAGES/deb.made ]] || fail "scripts/build-deb: $(tail -n 20 "$PACKAGES/deb.log")"
    DEB=$(echo "$PACKAGES"/deb/stackwide_*.deb)
}

need_system() {
    [[ $(id -u) = 0 ]] || skip "needs root"
    need_command debootstrap
    [[ -e $PACKAGES/system.made ]] ||
        skip "debootstrap made no system: $(tail -n 1 "$PACKAGES/system.log")"
}

# A copy of the clean system, with the .deb in it.
copy_system() {
    cp -a "$PACKAGES/system" "$ROOT"
    cp "$DEB" "$ROOT/tmp/stackwide.deb"
}

# A command in $ROOT, with /proc and /sys as on this machine.
in_root() {
    # shellcheck disable=SC2016 # of the inner shell
    unshare --mount --propagation private sh -c '
        root=$1 && shift && mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" &&
            exec chroot "$root" "$@"' - "$ROOT" "$@"
}

# The same quietly; what it said is shown when it fails.
do_in_root() {
    in_root "$@" >"$TMPDIR/in_root.log" 2>&1 || {
        cat "$TMPDIR/in_root.log"
        fail "in the clean system: $*"
    }
}

# Captures of a second, so that a test need not wait.
shorten_captures() {
    sed -i 's/^duration = .*/duration = 1s/' "$ROOT/etc/stackwide/capture.conf"
}

# All files but what dpkg, apt and ldconfig note down: type, mode, owner, name, where a link leads.
list_files() {
    (cd "$ROOT" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./run -o -path ./tmp \
        -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache/apt -o -path ./var/cache/ldconfig \
        -o -path ./var/log \) -prune -o -printf '%M %U %G %p %l\n' | sort)
}

# The captures that are there, of whatever owner: OWNER MODE FILE
list_captures() {
    find -L "$ROOT/var/lib/stackwide" "$ROOT/var/lib/private/stackwide" -name '*.pb.gz' \
        -printf '%U %m %p\n' 2>/dev/null
}
