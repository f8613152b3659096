/*
 * The user registers at the start of a walk: those of the one architecture whose tables we build.
 * Programs built for other architectures (the viewer) read recordings of it as well.
 */
#ifndef WIRE_REGISTERS_H
#define WIRE_REGISTERS_H

#include "wire/arch_x86_64.h"
#include "wire/types.h"

struct wire_registers {
#define WIRE_REGISTER_FIELD(name, ...) wire_u64 name;
	WIRE_FOR_EACH_REGISTER(WIRE_REGISTER_FIELD)
#undef WIRE_REGISTER_FIELD
};

#endif
