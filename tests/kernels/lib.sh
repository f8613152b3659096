# shellcheck shell=bash
# What the scripts of this folder share: kernels out of Debian's packages, a root for a guest out
# of this machine's own programs, and QEMU, which needs no KVM.
set -u
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin

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
        echo "needs qemu-system-x86_64, which is not installed"
    elif ! type -P cpio >/dev/null; then
        echo "needs cpio, which is not installed"
    else
        return 1
    fi
}

# ---- kernels --------------------------------------------------------------------------------

# The Debian mirror that this machine uses.
find_mirror() {
    local configured
    configured=$(grep -rhoE '^(deb |URIs:).*' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null |
        grep -oE 'https?://[^ ]+/debian/?( |$)' | head -n 1 | tr -d ' ')
    echo "${DEBIAN_MIRROR:-${configured:-http://deb.debian.org/debian}}"
}

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

# The package of a suite's kernel for virtual machines, small and with all that a guest needs built in:
# linux-image-…, or linux-binary-…, where that is what the other one depends on.
name_kernel_package() {
    private_apt apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
        --no-replaces linux-image-cloud-amd64 |
        grep -E '^linux-(image|binary)-[0-9].*-cloud-amd64$' | sort | head -n 1
}

find_vmlinuz() { find "$cache/$1" -name 'vmlinuz*' -type f 2>/dev/null | head -n 1; }

# Leaves the kernel of a suite in $cache/SUITE; when that fails, the reason is the last line.
# fetch_kernel SUITE
fetch_kernel() (
    mirror=$(find_mirror) folder=$cache/$1.new package=''
    [[ -z $(find_vmlinuz "$1") ]] || exit 0
    type -P apt-get dpkg-deb >/dev/null || { echo "there is no apt-get to fetch it with"; exit 1; }
    rm -rf "${folder:?}"
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/kernel" &&
        cd "$folder" || exit 1
    echo "deb [trusted=yes] $mirror $1 main" >list
    private_apt apt-get -qq update && package=$(name_kernel_package)
    [[ -n $package ]] || { echo "$mirror has no kernel of $1"; exit 1; }
    private_apt apt-get -qq download "$package" || { echo "$mirror does not give $package"; exit 1; }
    dpkg-deb --fsys-tarfile "$package"_*.deb | tar -C kernel -x --wildcards '*/vmlinuz*' ||
        { echo "$package cannot be unpacked"; exit 1; }
    rm -rf "${cache:?}/$1"
    mv kernel "$cache/$1"
    rm -rf "$folder"
)

# ---- the guest's root -----------------------------------------------------------------------

# What the tests call; some of it only some tests, which skip without it.
guest_programs=(awk base64 bash basename bpftool cat chmod chown cmp comm cp cut dash date dd df diff dirname
    dmesg du echo env expr false find grep gzip head hostname id ip kill ln ls mkdir mkfifo mktemp mount
    mv nice nohup nproc nsenter od paste perl pgrep pkill printf prlimit ps readlink realpath rm rmdir
    sed seq setpriv setsid sh sha256sum sleep sort stat sync tac tail tar taskset tee test timeout touch
    tr true truncate tty umount uname uniq unshare wc xargs zcat)
# Modules of Python that the tests import.
guest_modules=json,os,struct,sys

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
        -kernel "$(find_vmlinuz "$suite")" -initrd "$root.cpio" \
        -append "console=ttyS0 panic=-1 quiet mitigations=off" </dev/null 2>&1 | tr -d '\r'
}

# pack_root ROOT: into ROOT.cpio
pack_root() { (cd "$1" && find . | cpio -o -H newc --quiet -R 0:0) >"$1.cpio"; }

# End what boot has started, which a signal to us does not reach.
stop_guest() {
    local pid
    [[ ! -f $1.pid ]] || { read -r pid <"$1.pid" && kill "$pid"; } 2>/dev/null
}
