/*
 * Assembly without call-frame information that aligns its stack, or goes on at an address that it has taken, as that of
 * video codecs does, in a program without frame pointers: nofp_asm_aligned [SECONDS]. main calls each of the functions
 * named call_* for an equal time.
 */
#include "spin.h"

static uint64_t work_ns;

__attribute__((noinline, used)) void work(void)
{
	spin_cpu_ns(work_ns);
}

#define FUNCTION(name, code)                                                                      \
	__asm__("\t.text\n\t.p2align 4\n\t.globl " #name "\n\t.type " #name ", @function\n" #name \
		":\n" code "\t.size " #name ", . - " #name "\n")
#define TURN "1: dec %rdi; jnz 1b\n"

/* The copy of the stack pointer is stored, and its register used for something else. */
FUNCTION(asm_stored,
	 "push %rbx; mov %rsp, %r10; and $-64, %rsp; sub $192, %rsp; mov %r10, 128(%rsp)\n"
	 "xor %r10d, %r10d; call work; mov 128(%rsp), %rsp; pop %rbx; ret\n");
/* It is in a register all the time, which the function that is called leaves alone. */
FUNCTION(asm_in_register,
	 "mov %rsp, %rcx; sub $48, %rsp; and $-16, %rsp; call turn; mov %rcx, %rsp; ret\n");
FUNCTION(turn, TURN "ret\n");
/* In one that belongs to the caller. */
FUNCTION(asm_in_r12,
	 "push %rbx; push %rbp; push %r12; mov %rsp, %r12; and $-32, %rsp; sub $96, %rsp\n"
	 "xor %ebp, %ebp; xor %ebx, %ebx\n" TURN
	 "mov %r12, %rsp; pop %r12; pop %rbp; pop %rbx; ret\n");
/* And in rbx, where the function that is called has a frame. */
FUNCTION(asm_in_rbx, "push %rbx; mov %rsp, %rbx; and $-64, %rsp; sub $64, %rsp; call work\n"
		     "mov %rbx, %rsp; pop %rbx; ret\n");

/* Its parts have one frame. */
FUNCTION(asm_chained, "sub $24, %rsp; lea .Lend(%rip), %r8; jmp .Lpart\n"
		      "\t.p2align 4\n.Lpart:" TURN "jmp *%r8\n"
		      "\t.p2align 4\n.Lend: add $24, %rsp; ret\n");

void asm_stored(void);
void asm_in_register(uint64_t num_turns);
void asm_in_r12(uint64_t num_turns);
void asm_in_rbx(void);
void asm_chained(uint64_t num_turns);

static volatile int num_returns;

#define CALLER(name) static __attribute__((noinline, noclone)) void name(void)
#define CALLER_WITH_TURNS(function)                        \
	CALLER(call_##function)                            \
	{                                                  \
		uint64_t start_ns = read_cpu_ns();         \
                                                           \
		while (read_cpu_ns() - start_ns < work_ns) \
			asm_##function(1000000);           \
		num_returns++;                             \
	}

CALLER(call_stored)
{
	asm_stored();
	num_returns++;
}

CALLER(call_in_rbx)
{
	asm_in_rbx();
	num_returns++;
}

CALLER_WITH_TURNS(in_register)
CALLER_WITH_TURNS(in_r12)
CALLER_WITH_TURNS(chained)

int main(int argc, char **argv)
{
	work_ns = read_duration_ns(argc, argv, 1, 1) / 5;
	call_stored();
	call_in_register();
	call_in_r12();
	call_in_rbx();
	call_chained();
	return num_returns == 0;
}
