#!/bin/bash
# Stacks of goroutines begin at runtime.goexit, those of Go's runtime where it leaves a goroutine's
# stack, and a signal handler leads to what was interrupted.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
need_command go

mkdir "$TMPDIR/shop"
cat >"$TMPDIR/shop/main.go" <<'GO'
package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

var kept [][]byte

//go:noinline
func price(depth int) int {
	if depth == 0 {
		sum := 0
		for i := 0; i < 200000; i++ {
			sum += i * i
		}
		return sum
	}
	return price(depth-1) + 1
}

func sell(end time.Time, wait *sync.WaitGroup) {
	defer wait.Done()
	for time.Now().Before(end) {
		price(5)
		kept = nil
		for i := 0; i < 100; i++ {
			kept = append(kept, make([]byte, 10000))
		}
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	}
}

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	var wait sync.WaitGroup
	wait.Add(1)
	sell(time.Now().Add(3*time.Second), &wait)
}
GO
(cd "$TMPDIR/shop" && HOME=$TMPDIR GOCACHE=$TMPDIR/cache GO111MODULE=off GOFLAGS= CGO_ENABLED=0 \
    go build -o "$TMPDIR/goshop" main.go) >"$TMPDIR/go.out" 2>&1 ||
    skip "go cannot build here: $(tail -n 1 "$TMPDIR/go.out")"

record -F 999 --no-inline -o "$TMPDIR/go.folded" --stats "$TMPDIR/go.json" -- "$TMPDIR/goshop"
expect_account_adds_up "$TMPDIR/go.json"
expect_whole "$TMPDIR/go.folded" "$TMPDIR/go.json" go 97 99.5
expect_frame "$TMPDIR/go.folded" "main.price;main.price;main.price;main.price;main.price" 100
expect_every_stack "$TMPDIR/go.folded" ';main\.price[; ]' \
    '^goshop;runtime\.goexit(\.abi0)?;runtime\.main;main\.main;main\.sell;main\.price'
