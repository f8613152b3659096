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
