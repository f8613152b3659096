/*
 * Assembly without call-frame information that calls C, in a program with frame pointers:
 * asm_frames [SECONDS]. Most of it makes no frame, so that the frame pointer in it is its caller's,
 * and whoever follows it skips that caller. asm_framed keeps to the rules.
 *
 * main calls eight functions named call_*, each of which works for an eighth of the time.
 */
#include "spin.h"

static uint64_t work_ns;

__attribute__((noinline, used)) void work(void)
{
	spin_cpu_ns(work_ns);
}

#define FUNCTION(name, code)                                                                   \
	__asm__("\t.text\n\t.globl " #name "\n\t.type " #name ", @function\n" #name ":\n" code \
		"\t.size " #name ", . - " #name "\n")
#define GAP __asm__("\t.text\n\t.skip 256, 0xcc\n")
/* With call-frame information. */
#define NEIGHBOUR(name) FUNCTION(name, "\t.cfi_startproc\n\tret\n\t.cfi_endproc\n")

/* It lies between two neighbours and looks like padding. */
NEIGHBOUR(neighbour_before);
FUNCTION(asm_small, "push $0; call work; add $8, %rsp; ret\n");
NEIGHBOUR(neighbour_behind);
GAP;
/* xchg is not followed, so that no rules come from the code either. */
FUNCTION(asm_large, "lea -72(%rsp), %rax; xchg %rax, %rsp; call work\n"
		    ".Lafter_work: add $72, %rsp; ret\n");
GAP;
/* Calls nothing; rdi turns. */
FUNCTION(asm_leaf, "1: dec %rdi; jnz 1b; ret\n");
GAP;
/* Also calls nothing. It has a frame, with an address in it that looks like a return address. */
FUNCTION(asm_stale, "push %rbp; mov %rsp, %rbp; lea .Lafter_work(%rip), %rax; push %rax\n"
		    "1: dec %rdi; jnz 1b; leave; ret\n");
GAP;
FUNCTION(asm_framed, "push %rbp; mov %rsp, %rbp; call work; pop %rbp; ret\n");
GAP;
/* Jumps to the assembly in its place. */
FUNCTION(jump_to_framed, "\t.cfi_startproc\n\tjmp asm_framed\n\t.cfi_endproc\n");

void asm_small(void);
void asm_large(void);
void asm_leaf(uint64_t num_turns);
void asm_stale(uint64_t num_turns);
void asm_framed(void);
void jump_to_framed(void);

static volatile int num_returns;

#define CALLER(name) static __attribute__((noinline, noclone)) void name(void)
#define CALLER_OF(function)       \
	CALLER(call_##function)   \
	{                         \
		asm_##function(); \
		num_returns++;    \
	}

CALLER_OF(small)
CALLER_OF(large)
CALLER_OF(framed)

#define CALLER_WITH_TURNS(function)                        \
	CALLER(call_##function)                            \
	{                                                  \
		uint64_t start_ns = read_cpu_ns();         \
                                                           \
		while (read_cpu_ns() - start_ns < work_ns) \
			asm_##function(1000000);           \
		num_returns++;                             \
	}

CALLER_WITH_TURNS(leaf)
CALLER_WITH_TURNS(stale)

/* main calls this one by its address. */
CALLER(call_by_address)
{
	asm_large();
	num_returns++;
}

CALLER(call_tail)
{
	jump_to_framed();
	num_returns++;
}

CALLER(call_framed_by_address)
{
	void (*volatile address)(void) = asm_framed;

	address();
	num_returns++;
}

int main(int argc, char **argv)
{
	void (*volatile address)(void) = call_by_address;

	work_ns = read_duration_ns(argc, argv, 1, 2) / 8;
	call_small();
	call_large();
	call_leaf();
	call_stale();
	address();
	call_framed();
	call_tail();
	call_framed_by_address();
	return num_returns == 0;
}
