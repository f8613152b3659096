# shellcheck shell=bash
# Sourced by what fetches from Debian: guests' kernels, clean systems.

# The mirror that the caller names in DEBIAN_MIRROR, or that this machine's own apt uses; fails, and
# says what to set, where there is neither.
find_mirror() {
    local mirror=${DEBIAN_MIRROR:-}
    [[ -n $mirror ]] ||
        mirror=$(grep -rhoE '^(deb |URIs:).*' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null |
            grep -oE 'https?://[^ ]+/debian/?( |$)' | head -n 1 | tr -d ' ')
    [[ -n $mirror ]] || {
        echo "apt has no mirror of Debian here: set DEBIAN_MIRROR to the address of one"
        return 1
    }
    echo "$mirror"
}
