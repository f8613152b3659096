# shellcheck shell=bash
# What the scripts of this folder share: kernels out of Debian's packages, a root for a guest out
# of this machine's own programs, and QEMU, which needs no KVM.
set -u
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin

. "$(dirname "${BASH_SOURCE[0]}")/../debian_mirror.sh"
kernels_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$kernels_folder/../.." && pwd)
O=${O:-build}
[[ $O = /* ]] || { [[ -d $O ]] && O=$PWD/$O || O=$repo/$O; }
if [[ $(id -u) = 0 ]]; then
    cache=${KERNELS_CACHE:-/var/cache/stackwide-kernels}
else
    cache=${KERNELS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stackwide-kernels}
fi

# What a kernel is called here, and the Debian suite that has it.
KERNELS=(5.10:bullseye 6.1:bookworm 6.12:trixie newest:sid)

# The kernel that is meant, so that a guest does the same today and in a year: its package, the
# version, and the SHA-256 of the vmlinuz in it. The newest is meant to change.
declare -A PINNED=(
    [bullseye]="linux-image-5.10.0-32-cloud-amd64=5.10.223-1 \
3d50697d478a4114f7924f7e020027ddce11ef32ed8f1e548952191f179cfe02"
    [bookworm]="linux-image-6.1.0-50-cloud-amd64=6.1.176-1 \
3d616aa853fe11b1c0ea99a1cdb4fb6ddc9010ba7c4562de700ad94264989654"
    [trixie]="linux-image-6.12.117+deb13-cloud-amd64=6.12.117-1 \
ed8f0dbdbefe3994093937f5ee934818ae902b88cb0b6bc423811c10d55b87b0"
)

# The entry of KERNELS that a version or a suite means.
find_kernel() {
    local kernel
    for kernel in "${KERNELS[@]}"; do
        [[ $1 = "${kernel%:*}" || $1 = "${kernel#*:}" ]] && echo "$kernel" && return
    done
    return 1
}

# Why no guest can be booted here; fails when one can.
why_not() {
    if [[ $(uname -m) != x86_64 ]]; then
        echo "guests are x86-64 and run this machine's programs, which are not"
    elif ! type -P qemu-system-x86_64 >/dev/null; then
        echo "needs qemu-system-x86_64 (package qemu-system-x86), which is not installed"
    elif ! type -P cpio >/dev/null; then
        echo "needs cpio (package cpio), which is not installed"
    else
        return 1
    fi
}

# ---- kernels --------------------------------------------------------------------------------

# apt with lists of its own, in this folder. Nothing it fetches runs anywhere but in a guest, and
# this machine need not know the keys of later suites.
private_apt() {
    local command=$1
    shift
    "$command" -o "Dir::Etc::sourcelist=$PWD/list" -o Dir::Etc::sourceparts=/dev/null \
        -o "Dir::State::lists=$PWD/lists" -o "Dir::Cache=$PWD/cache" -o Dir::State::status=/dev/null \
        -o Acquire::Check-Valid-Until=false -o Acquire::Languages=none -o Acquire::Retries=3 \
        -o APT::Architecture=amd64 -o APT::Architectures=amd64 -o APT::Sandbox::User=root "$@"
}

# The package of a suite's current kernel for virtual machines, small and with all that a guest needs
# built in: linux-image-…, or linux-binary-…, where that is what the other one depends on.
name_kernel_package() {
    private_apt apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
        --no-replaces linux-image-cloud-amd64 |
        grep -E '^linux-(image|binary)-[0-9].*-cloud-amd64$' | sort | head -n 1
}

find_vmlinuz() { find "$1" -name 'vmlinuz*' -type f 2>/dev/null | head -n 1; }
has_sum() { sha256sum --quiet -c - <<<"$2  $1" >/dev/null 2>&1; }

# unpack_kernel PACKAGE FOLDER
unpack_kernel() {
    mkdir "$2"
    private_apt apt-get -qq download "$1" || { echo "$mirror does not give $1"; return 1; }
    dpkg-deb --fsys-tarfile ./*.deb | tar -C "$2" -x --wildcards '*/vmlinuz*' ||
        { echo "$1 cannot be unpacked"; return 1; }
    echo "$1" >"$2/package"
}

# Put the pinned kernel of a suite into $cache/SUITE, or its current one where the mirror no longer
# has that, which is said.
# ask_mirror SUITE PINNED-PACKAGE SUM
ask_mirror() (
    suite=$1 pinned=$2 sum=$3 folder=$cache/$1.new
    mirror=$(find_mirror) || { echo "$mirror"; exit 1; }
    type -P apt-get dpkg-deb >/dev/null || { echo "there is no apt-get to fetch it with"; exit 1; }
    rm -rf "${folder:?}"
    trap 'rm -rf "${folder:?}"' EXIT
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" && cd "$folder" || exit 1
    echo "deb [trusted=yes] $mirror $suite main" >list
    private_apt apt-get -qq -o APT::Update::Error-Mode=any update ||
        { echo "$mirror does not give the packages of $suite"; exit 1; }
    package=$pinned
    if [[ -z $(private_apt apt-cache show "${pinned:-none}" 2>/dev/null) ]]; then
        package=$(name_kernel_package)
        [[ -n $package ]] || { echo "$mirror has no kernel of $suite"; exit 1; }
        package="$package=$(private_apt apt-cache show --no-all-versions "$package" |
            sed -n 's/^Version: //p')"
    fi
    if [[ $package = "$pinned" || $package != "$(cat "$cache/$suite/package" 2>/dev/null)" ]]; then
        unpack_kernel "$package" kernel || exit 1
        [[ $package != "$pinned" ]] || has_sum "$(find_vmlinuz kernel)" "$sum" ||
            { echo "$package of $mirror is not the file that is meant"; exit 1; }
        rm -rf "${cache:?}/$suite"
        mv kernel "$cache/$suite" || exit 1
    fi
    [[ -z $pinned || $package = "$pinned" ]] || echo "$package, as $mirror no longer has $pinned"
)

# Leaves a kernel of a suite in $cache/SUITE: the pinned one, or another, which the last line says. When
# none can be had, it fails, and the last line is the reason.
# fetch_kernel SUITE
fetch_kernel() {
    local suite=$1 pinned sum cached reason
    read -r pinned sum <<<"${PINNED[$1]:-}"
    cached=$(find_vmlinuz "$cache/$suite")
    [[ -z $cached ]] || { [[ -n $pinned ]] && ! has_sum "$cached" "$sum"; } || return 0
    reason=$(ask_mirror "$suite" "$pinned" "$sum" 2>/dev/null) || {
        [[ -n $cached ]] || { printf '%s\n' "$reason"; return 1; }
        reason="$(basename "$cached") of an earlier time: $(tail -n 1 <<<"$reason")"
    }
    [[ -z $reason ]] || printf '%s\n' "$reason"
}

# ---- the guest's root -----------------------------------------------------------------------

# What the tests call; some of it only some tests, which skip without it.
guest_programs=(awk base64 bash basename bpftool cat chmod chown cmp comm cp cut dash date dd df diff dirname
    dmesg du echo env expr false find grep gzip head hostname id ip kill ln ls mkdir mkfifo mktemp mount
    mv nice nohup nproc nsenter od paste perl pgrep pkill printf prlimit ps readlink realpath rm rmdir
    sed seq setarch setpriv setsid sh sha256sum sleep sort stat sync tac tail tar taskset tee test timeout touch
    tr true truncate tty umount uname uniq unshare wc xargs zcat)
# Modules of Python that the tests import.
guest_modules=asyncio,collections,functools,json,os,struct,sys,threading,time

# Python itself, where the name stands for a version manager's script.
find_python() {
    if [[ -x /usr/bin/python3 ]]; then
        echo /usr/bin/python3
    else
        python3 -c 'import sys; print(sys.executable)'
    fi
}

# The files of its modules that these import, and encodings, which are imported by name.
list_modules() {
    "$1" -I -c "
import importlib, sys
for name in sys.argv[1].split(',') + ['encodings.ascii', 'encodings.latin_1', 'encodings.utf_8']:
    importlib.import_module(name)
for module in list(sys.modules.values()):
    if getattr(module, '__file__', None):
        print(module.__file__)
" "$guest_modules"
}

# Files that a program loads besides itself.
list_libraries() { ldd "$@" 2>/dev/null | grep -oE '/[^ ():]+' | sort -u; }

# The names of files where they are without links to folders.
list_places() {
    local file
    for file; do
        printf '%s/%s\n' "$(realpath "$(dirname "$file")")" "$(basename "$file")"
    done | sort -u
}

# make_root FOLDER: programs, the libraries that they need, what the tests read
make_root() {
    local root=$1 python folder programs modules libraries
    mkdir -p "$root"/{proc,sys,dev,tmp,run,root,etc,usr/bin,var/tmp,stackwide/build/tests,stackwide/tests}
    for folder in bin sbin lib lib64 usr/sbin usr/lib64; do
        [[ ! -L /$folder ]] ||
            ln -s "$(realpath --relative-to="/$(dirname "$folder")" "/$folder")" "$root/$folder"
    done
    python=$(find_python) || return 1
    mapfile -t programs < <(type -P "${guest_programs[@]}")
    mapfile -t modules < <(list_modules "$python")
    mapfile -t libraries < <(list_libraries "$O/stackwide" "$python" "${programs[@]}" "${modules[@]}" \
        "$O"/tests/workloads/*)
    list_places "$python" "${programs[@]}" "${modules[@]}" "${libraries[@]}" |
        cpio -pdmL --quiet "$root" || return 1
    [[ -e $root/usr/bin/python3 ]] || ln -s "$python" "$root/usr/bin/python3"
    # Python would compile its modules each time, as the kernel may not keep the dates of files.
    (cd "$root" && find . -path '*/python3*/*.py' -exec "$python" -m compileall -q \
        --invalidation-mode unchecked-hash -s . -p / {} +)
    printf '%s\n' root:x:0:0::/root:/bin/bash nobody:x:65534:65534::/:/bin/false >"$root/etc/passwd"
    printf '%s\n' root:x:0: nogroup:x:65534: >"$root/etc/group"
    cp "$O/stackwide" "$root/usr/bin/" && ln -s /usr/bin/stackwide "$root/stackwide/build/" &&
        cp -a "$O/tests/workloads" "$root/stackwide/build/tests/" &&
        cp -a "$repo"/tests/{run,system} "$root/stackwide/tests/" &&
        install -D -m 644 -t "$root/stackwide/tests/workloads" "$repo"/tests/workloads/*.py &&
        cp "$kernels_folder/init" "$root/"
}

# ---- QEMU -----------------------------------------------------------------------------------

# Without cmpxchg16b where QEMU is old: in 7.2 an interrupt behind it finds flags that are none, and
# one kernel of ten ends with a double fault. Since 10 no instruction leaves flags halfway.
name_cpu() {
    local version
    version=$(qemu-system-x86_64 --version | grep -oE '[0-9]+' | head -n 1)
    if ((version < 10)); then echo max,cx16=off; else echo max; fi
}

# Boot a kernel with a root that pack_root has packed, whose /init ends it. Its console is ours; what
# it writes to its second serial port is in NAME.results.
#
# boot SUITE ROOT SECONDS NAME
#
# One thread for all CPUs of a guest: with a thread for each, one may run code that another has just
# patched, which the kernel does wherever a tracepoint is switched on.
#
#   GUEST_CPUS=2  GUEST_MEMORY=2048 (MB)
boot() {
    local suite=$1 root=$2 seconds=$3 name=$4
    timeout -k 5 "$seconds" qemu-system-x86_64 -accel tcg,thread=single -cpu "$(name_cpu)" \
        -smp "${GUEST_CPUS:-2}" -m "${GUEST_MEMORY:-2048}" -nodefaults -display none -no-reboot \
        -serial stdio -serial "file:$name.results" -pidfile "$name.pid" \
        -kernel "$(find_vmlinuz "$cache/$suite")" -initrd "$root.cpio" \
        -append "console=ttyS0 panic=-1 quiet mitigations=off" </dev/null 2>&1 | tr -d '\r'
}

# pack_root ROOT: into ROOT.cpio
pack_root() { (cd "$1" && find . | cpio -o -H newc --quiet -R 0:0) >"$1.cpio"; }

# End what boot has started, which a signal to us does not reach.
stop_guest() {
    local pid
    [[ ! -f $1.pid ]] || { read -r pid <"$1.pid" && kill "$pid"; } 2>/dev/null
}
