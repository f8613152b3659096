#!/bin/bash
# Stacks of hand-written assembly, which finds its frames by registers that compilers use for
# nothing of the kind, and calls helpers that leave these registers alone.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
need_command openssl

for cipher in aes-256-gcm chacha20-poly1305; do
    expect_whole_load "openssl_$cipher" 98 99.5 1999 \
        openssl speed -seconds 1 -bytes 8192 -evp "$cipher"
done
