# shellcheck shell=bash
# Sourced after lib.sh by tests of Python; by those of its own support for profilers after own_tmp.sh as well.

# The first interpreter that has -X perf (3.12 or newer). It leaves a perf-map of its own.
find_python() {
    local candidates=("${PYTHON:-}" python3 python3.14 python3.13 python3.12) python
    if command -v pyenv >/dev/null; then
        candidates+=("$(pyenv root)"/versions/3.1[2-9]*/bin/python3)
    fi
    for python in "${candidates[@]}"; do
        if [[ -n $python ]] && "${in_own_tmp[@]}" "$python" -X perf -c 'import sys
sys.exit(not sys.is_stack_trampoline_active())' >/dev/null 2>&1; then
            echo "$python"
            return
        fi
    done
    return 1
}

# Of lines that start with a version all; with TEST_VERSIONS=few, as in the gate, the first one, that of the oldest version
# and that of the newest.
few() {
    [[ ${TEST_VERSIONS:-} = few ]] || { cat && return; }
    awk '{ line[NR] = $0; split($1, part, "."); version[NR] = part[1] * 1000 + part[2] }
        END {
            oldest = newest = 1
            for (i = 2; i <= NR; i++) {
                if (version[i] < version[oldest]) oldest = i
                if (version[i] > version[newest]) newest = i
            }
            for (i = 1; i <= NR; i++) if (i == 1 || i == oldest || i == newest) print line[i]
        }'
}

# The interpreters that there are, from 3.8 on: version and command, a line each. STACKWIDE_TEST_PYTHONS has more, with colons between
# them; a command may be of several words, as `chroot /srv/debian python3.14`.
list_pythons() { list_all_pythons | few; }
list_all_pythons() {
    local pythons=(/usr/bin/python3 /usr/local/bin/python3.*[0-9]) more_pythons python version
    [[ ! -x ${PYENV_ROOT:-$HOME/.pyenv}/bin/pyenv ]] || pythons+=("${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3)
    IFS=: read -ra more_pythons <<<"${STACKWIDE_TEST_PYTHONS:-}"
    for python in "${pythons[@]}" ${more_pythons[@]+"${more_pythons[@]}"}; do
        # shellcheck disable=SC2086 # it may be several words
        version=$($python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
        [[ $version = 3.[0-7] ]] || echo "$version $python"
    done
    return 0
}
