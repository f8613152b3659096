/*
 * The x86-64 registers for stack walks. All lists of registers elsewhere are made from this one. A
 * walk starts with these, and reads the rest from memory.
 *
 * Sources: System V ABI, AMD64 supplement, figure 3.36 (DWARF numbers); Linux arch/x86/include/uapi/asm: ptrace.h,
 * perf_regs.h, sigcontext.h within ucontext.h.
 */
#ifndef WIRE_ARCH_X86_64_H
#define WIRE_ARCH_X86_64_H

/*
 * REGISTER(name, NAME, saved, perf, dwarf, context) for each:
 *
 * name     in struct wire_registers; NAME in enumerations
 * saved    in struct pt_regs, as the kernel lays it out for user space
 * perf     its number in a sample of perf
 * dwarf    its number in call-frame information. For pc: the column of the return address.
 * context  its offset, in bytes, in a ucontext of a signal frame, getcontext() and the like
 */
#define WIRE_FOR_EACH_REGISTER(REGISTER)    \
	REGISTER(pc, PC, ip, 8, 16, 168)    \
	REGISTER(sp, SP, sp, 7, 7, 160)     \
	REGISTER(fp, FP, bp, 6, 6, 120)     \
	REGISTER(bx, BX, bx, 1, 3, 128)     \
	REGISTER(r10, R10, r10, 18, 10, 56) \
	REGISTER(di, DI, di, 5, 5, 104)     \
	REGISTER(cx, CX, cx, 2, 2, 152)     \
	REGISTER(dx, DX, dx, 3, 1, 136)     \
	REGISTER(r8, R8, r8, 16, 8, 40)     \
	REGISTER(r9, R9, r9, 17, 9, 48)     \
	REGISTER(ax, AX, ax, 0, 0, 144)     \
	REGISTER(si, SI, si, 4, 4, 112)     \
	REGISTER(r11, R11, r11, 19, 11, 64) \
	REGISTER(r12, R12, r12, 20, 12, 72) \
	REGISTER(r13, R13, r13, 21, 13, 80) \
	REGISTER(r14, R14, r14, 22, 14, 88) \
	REGISTER(r15, R15, r15, 23, 15, 96)

/* The machine in uname(2), and in the header of perf.data. */
#define WIRE_MACHINE_NAME "x86_64"

/* bpf/registers.h finds the futex that a thread waits for in the registers of its system call. */
#define WIRE_KNOWS_FUTEXES true

/* Location of the return address after a call: bytes from the CFA. */
#define WIRE_RETURN_ADDRESS_OFFSET (-8)

#endif
