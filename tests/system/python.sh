# shellcheck shell=bash
# Sourced after lib.sh and own_tmp.sh by tests of Python's own support for profilers.

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
