#include "objfile/architecture.h"

#include "base/array.h"
#include "objfile/architectures.h"

static const struct architecture *const rows[] = {&x86_64_architecture, &aarch64_architecture};

const struct architecture *architecture_find(uint16_t machine)
{
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		if (rows[i]->machine == machine)
			return rows[i];
	return NULL;
}

const struct architecture *architecture_find_of_any_size(uint16_t machine)
{
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		if (machine && rows[i]->machine_of_32_bits == machine)
			return rows[i];
	return architecture_find(machine);
}

bool architecture_decode(const struct architecture *architecture, const uint8_t *code, size_t size,
			 struct instruction_flow *ret)
{
	return architecture && architecture->decode && architecture->decode(code, size, ret);
}

const struct architecture *architecture_here(void)
{
#if defined(__x86_64__)
	return &x86_64_architecture;
#elif defined(__aarch64__)
	return &aarch64_architecture;
#else
#error "unknown architecture; see objfile/architecture.h"
#endif
}
