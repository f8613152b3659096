#!/bin/bash
# Goroutines, whose stacks lie in one mapping and grow by moving: the trace has each mounted when and where the
# program says it was.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
. "$(dirname "$0")/mounted.sh"
need_recording
need_trace_processor
need_command go

mkdir "$TMPDIR/mounted"
cat >"$TMPDIR/mounted/main.go" <<'GO'
package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
	"unsafe"
)

const goroutines = 5
const rounds = 2

type turn struct {
	begin, end int64
	high, low  uintptr
	tid        int
	bottom     uintptr
}

// The address of the goroutine's description, which begins with the bounds of its stack.
func getg() uintptr

func now() int64 {
	const clockBoottime = 7
	var time syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&time)), 0)
	return time.Nano()
}

// Its own CPU time, however busy the machine is.
func used() time.Duration {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

//go:noinline
func burn(milliseconds time.Duration) uintptr {
	var here int
	for end := used() + milliseconds*time.Millisecond; used() < end; {
		for i := 0; i < 100000; i++ {
			here += i * i
		}
	}
	return uintptr(unsafe.Pointer(&here))
}

//go:noinline
func descend(level int, milliseconds time.Duration) uintptr {
	var room [1024]byte
	room[level] = 1
	if level == 0 {
		return burn(milliseconds)
	}
	return descend(level-1, milliseconds) + uintptr(room[level]) - 1
}

func run(number int, turns [goroutines]chan int, done chan turn) {
	level := 4 + 6*number
	// From now on the stack is large enough, and stays where it is.
	descend(level+1, 0)
	g := getg()
	stack := *(**[2]uintptr)(unsafe.Pointer(&g))
	for round := range turns[number] {
		// On one thread, until its turn is over.
		runtime.LockOSThread()
		begin := now()
		low := descend(level, 300)
		done <- turn{begin, now(), stack[1], low, syscall.Gettid(), stack[0]}
		runtime.UnlockOSThread()
		next := (number + 1) % goroutines
		if next == 0 {
			round++
		}
		if round < rounds {
			turns[next] <- round
		}
	}
}

func main() {
	var turns [goroutines]chan int
	done := make(chan turn, goroutines*rounds)
	debug.SetGCPercent(-1)
	for i := range turns {
		turns[i] = make(chan int, 1)
	}
	for i := range turns {
		go run(i, turns, done)
	}
	turns[0] <- 0
	for i := 0; i < goroutines*rounds; i++ {
		turn := <-done
		fmt.Println(turn.begin, turn.end, turn.high, turn.low, turn.tid, turn.bottom)
	}
}
GO
cat >"$TMPDIR/mounted/getg_amd64.s" <<'ASM'
#include "textflag.h"

TEXT ·getg(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET
ASM
(cd "$TMPDIR/mounted" && HOME=$TMPDIR GOCACHE=${TEST_RUN:-$TMPDIR}/go-cache GO111MODULE=off GOFLAGS='' CGO_ENABLED=0 \
    go build -o "$TMPDIR/goroutines" .) >"$TMPDIR/go.out" 2>&1 ||
    skip "go cannot build here: $(tail -n 1 "$TMPDIR/go.out")"
record -F 1997 --sched -o "$TMPDIR/x.pftrace" -- "$TMPDIR/goroutines" >"$TMPDIR/turns"
expect_mounted "$TMPDIR/turns" main.burn 'runtime.*'
check_trace "$TMPDIR/x.pftrace"
