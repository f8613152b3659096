#!/bin/bash
# Rust names of both mangling schemes are demangled, without hashes.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording
need_command rustc

cat >"$TMPDIR/shop.rs" <<'RUST'
mod checkout {
    #[inline(never)]
    pub fn total<T: Into<u64>>(seed: T) -> u64 {
        let mut sum = seed.into();
        for i in 0..50_000_000u64 {
            let next = sum.wrapping_mul(31) ^ i;
            sum = unsafe { std::ptr::read_volatile(&next) };
        }
        sum
    }
}

fn main() {
    let mut sum = 0;
    for _ in 0..1000 {
        sum ^= checkout::total(7u32);
    }
    std::process::exit((sum == 1) as i32);
}
RUST
for scheme in legacy v0; do
    rustc -O -g -C force-frame-pointers=yes -C "symbol-mangling-version=$scheme" \
        -o "$TMPDIR/shop" "$TMPDIR/shop.rs" 2>"$TMPDIR/rustc.err" ||
        rustc -O -g -C force-frame-pointers=yes -Z unstable-options \
            -C "symbol-mangling-version=$scheme" -o "$TMPDIR/shop" "$TMPDIR/shop.rs" \
            2>"$TMPDIR/rustc.err" || { echo "$scheme: not known to this rustc, left out"; continue; }
    start "$TMPDIR/shop"
    program=$PID
    record_cpu_time 700 "$program" -F 499 --no-annotations -p "$program" \
        -o "$TMPDIR/$scheme.folded"
    kill "$program"
    # It does nothing else.
    named=$(folded_match "$TMPDIR/$scheme.folded" ';shop::checkout::total(::<u32>|<u32>)?[; ]')
    total=$(folded_total "$TMPDIR/$scheme.folded")
    echo "$scheme: $named of $total samples are in shop::checkout::total"
    ((named >= 30 && named * 10 >= total * 9)) ||
        fail "$scheme: $named of $total samples are in shop::checkout::total"
    ! grep -E '_R[NI]|17h[0-9a-f]{16}' "$TMPDIR/$scheme.folded" || fail "$scheme: mangled names"
done
