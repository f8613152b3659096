/*
 * The user registers that a walk begins with: one list for each architecture, of which everything
 * else is made. A walk reads the rest from memory.
 */
#ifndef WIRE_REGISTERS_H
#define WIRE_REGISTERS_H

#include "wire/types.h"

/*
 * REGISTER(name, saved, number) for each:
 *
 * name    in struct wire_registers
 * saved   in struct pt_regs, as the kernel lays it out for user space (asm/ptrace.h)
 * number  in a sample of perf, enum perf_event_<arch>_regs (asm/perf_regs.h)
 *
 * x86-64 is the only architecture whose tables we build; a program that is made for another one
 * (the viewer) reads recordings of x86-64.
 */
#define WIRE_FOR_EACH_REGISTER(REGISTER) \
	REGISTER(pc, ip, 8)              \
	REGISTER(sp, sp, 7)              \
	REGISTER(fp, bp, 6)              \
	REGISTER(bx, bx, 1)              \
	REGISTER(r10, r10, 18)           \
	REGISTER(di, di, 5)              \
	REGISTER(cx, cx, 2)              \
	REGISTER(dx, dx, 3)              \
	REGISTER(r8, r8, 16)             \
	REGISTER(r9, r9, 17)             \
	REGISTER(ax, ax, 0)              \
	REGISTER(si, si, 4)              \
	REGISTER(r11, r11, 19)

struct wire_registers {
#define WIRE_REGISTER_FIELD(name, saved, number) wire_u64 name;
	WIRE_FOR_EACH_REGISTER(WIRE_REGISTER_FIELD)
#undef WIRE_REGISTER_FIELD
};

#endif
