#!/bin/bash
# Stacks of goroutines begin at runtime.goexit, those of Go's runtime where it leaves a goroutine's
# stack, and a signal handler leads to what was interrupted; in a stripped program as well, by the
# table that Go puts in every program. Where Go calls C, and C calls Go, stacks go all the way.
# runs: beside others
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

// Its own CPU time, however busy the machine is.
func used() time.Duration {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

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

func sell(end time.Duration, wait *sync.WaitGroup) {
	defer wait.Done()
	for used() < end {
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
	sell(3*time.Second/4, &wait)
}
GO
# build NAME OPTION…
build() {
    local name=$1
    shift
    (cd "$TMPDIR/shop" && HOME=$TMPDIR GOCACHE=${TEST_RUN:-$TMPDIR}/go-cache GO111MODULE=off GOFLAGS= CGO_ENABLED=0 \
        go build "$@" -o "$TMPDIR/$name" main.go) >"$TMPDIR/go.out" 2>&1
}

# expect_whole_program NAME
expect_whole_program() {
    record -F 1999 --no-inline -o "$TMPDIR/$1.folded" --stats "$TMPDIR/$1.json" -- "$TMPDIR/$1"
    expect_account_adds_up "$TMPDIR/$1.json"
    expect_whole "$TMPDIR/$1.folded" "$TMPDIR/$1.json" "$1" 97 99.5
    expect_frame "$TMPDIR/$1.folded" "main.price;main.price;main.price;main.price;main.price" 100
    expect_every_stack "$TMPDIR/$1.folded" ';main\.price[; ]' \
        "^$1;runtime\\.goexit;runtime\\.main;main\\.main;main\\.sell;main\\.price"
}

# What .debug_frame and the table make of the same code.
show_table() { "$STACKWIDE" unwind-table "$TMPDIR/$1" | sed -n '2,3p'; }

build goshop || skip "go cannot build here: $(tail -n 1 "$TMPDIR/go.out")"
build stripped -ldflags=-s || fail "go does not strip: $(tail -n 1 "$TMPDIR/go.out")"
expect_whole_program goshop
expect_whole_program stripped
[[ $(show_table goshop) = *rows* && $(show_table goshop) = "$(show_table stripped)" ]] ||
    fail "the tables differ: $(show_table goshop) and stripped $(show_table stripped)"

# The runtime calls the vdso, and its own work, on the stack of the thread: each of these stacks goes
# on where the goroutine was left, in Go and in C.
cat >"$TMPDIR/shop/main.go" <<'GO'
package main

import (
	"crypto/rand"
	"syscall"
	"time"
)

var kept [][]byte
var sum int64

//go:noinline
func askTime() {
	start := time.Now()
	for i := 0; i < 10000; i++ {
		sum += time.Now().UnixNano() + int64(time.Since(start))
	}
}

//go:noinline
func askRandom(bytes []byte) {
	for i := 0; i < 5000; i++ {
		rand.Read(bytes)
	}
}

//go:noinline
func allocate() {
	kept = nil
	for i := 0; i < 200; i++ {
		kept = append(kept, make([]byte, 40000))
	}
}

//go:noinline
func deepen(depth int) int {
	var room [256]int
	if depth > 0 {
		room[depth%256] = deepen(depth-1) + 1
	}
	return room[depth%256]
}

//go:noinline
func grow(end chan bool) {
	deepen(400)
	end <- true
}

func main() {
	bytes := make([]byte, 16)
	end := make(chan bool)
	var usage syscall.Rusage
	for usage.Utime.Sec+usage.Stime.Sec < 3 {
		askTime()
		askRandom(bytes)
		allocate()
		go grow(end)
		<-end
		syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	}
}
GO

# expect_goroutines NAME: every stack that has a function has its callers up to the goroutine's start.
expect_goroutines() {
    local start="^$1;runtime\\.goexit;runtime\\.main;main\\.main;"
    record -F 1999 --no-inline -o "$TMPDIR/$1.folded" --stats "$TMPDIR/$1.json" -- "$TMPDIR/$1"
    expect_account_adds_up "$TMPDIR/$1.json"
    expect_frame "$TMPDIR/$1.folded" "runtime.nanotime1" 20
    expect_frame "$TMPDIR/$1.folded" "runtime.systemstack" 20
    expect_frame "$TMPDIR/$1.folded" "runtime.newstack" 5
    expect_every_stack "$TMPDIR/$1.folded" ';(runtime\.nanotime1|time\.now)[; ]' \
        ';runtime\.(goexit|mcall|morestack|mstart|rt0_go);.*(runtime\.nanotime1|time\.now)[; ]'
    expect_every_stack "$TMPDIR/$1.folded" ';(time\.Now|time\.Since)[; ]' "${start}main\\.askTime;"
    expect_every_stack "$TMPDIR/$1.folded" ';runtime\.systemstack;' ';runtime\.(goexit|mcall|morestack|mstart|rt0_go);'
    expect_every_stack "$TMPDIR/$1.folded" 'runtime\.newstack;.*runtime\.copystack' "^$1;runtime\\.goexit;"
    expect_frame "$TMPDIR/$1.folded" "main.deepen;runtime.morestack;runtime.newstack;runtime.copystack" 5
}

build asks || fail "go does not build: $(tail -n 1 "$TMPDIR/go.out")"
build asks_pie -buildmode=pie || fail "go does not build: $(tail -n 1 "$TMPDIR/go.out")"
expect_goroutines asks
expect_goroutines asks_pie

# C is built by gcc, which Go calls; its stack is the thread's, and Go's the goroutine's.
cat >"$TMPDIR/shop/main.go" <<'GO'
package main

/*
#include <stdint.h>
extern uint64_t goWork(int);
static __attribute__((noinline)) uint64_t c_work(int n)
{
    volatile uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += i;
    return sum;
}
static __attribute__((noinline)) uint64_t c_calls_go(int n)
{
    return goWork(n) + c_work(n);
}
*/
import "C"
import "syscall"

//export goWork
func goWork(n C.int) C.uint64_t {
	sum := C.c_work(n)
	for i := C.int(0); i < n; i++ {
		sum += C.uint64_t(i * i)
	}
	return sum
}

func main() {
	var usage syscall.Rusage
	for usage.Utime.Sec < 1 {
		C.c_calls_go(1000000)
		syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	}
}
GO
(cd "$TMPDIR/shop" && HOME=$TMPDIR GOCACHE=${TEST_RUN:-$TMPDIR}/go-cache GO111MODULE=off GOFLAGS= CGO_ENABLED=1 \
    go build -ldflags=-s -o "$TMPDIR/cgo" main.go) >"$TMPDIR/go.out" 2>&1 ||
    fail "go does not build with C: $(tail -n 3 "$TMPDIR/go.out")"
record -F 1999 --no-inline -o "$TMPDIR/cgo.folded" --stats "$TMPDIR/cgo.json" -- "$TMPDIR/cgo"
expect_whole "$TMPDIR/cgo.folded" "$TMPDIR/cgo.json" cgo 97 99
start='^cgo;runtime\.goexit;runtime\.main;main\.main;main\._Cfunc_c_calls_go;runtime\.cgocall;runtime\.'
expect_every_stack "$TMPDIR/cgo.folded" ';main\.goWork[; ]' "${start}cgocallback;"
expect_every_stack "$TMPDIR/cgo.folded" '_Cfunc_c_work;runtime\.cgocall;runtime\.asmcgocall;' "${start}cgocallback;"
expect_frame "$TMPDIR/cgo.folded" "main._Cfunc_c_work;runtime.cgocall;runtime.asmcgocall" 100
expect_frame "$TMPDIR/cgo.folded" "main._Cfunc_c_calls_go;runtime.cgocall;runtime.asmcgocall" 100
