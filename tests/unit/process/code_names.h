/* What code is called at a time. */
#ifndef CODE_NAMES_H
#define CODE_NAMES_H

#include "unit.h"

#include "base/text.h"
#include "process/jit_code.h"

static inline void assert_code_name(const struct jit_code *code, uint64_t time_ns, uint64_t pc,
				    const char *name)
{
	const char *found = jit_code_find(code, pc, jit_code_count_until(code, time_ns));

	if (!name)
		assert_null(found);
	else if (!found || !string_equals(found, name))
		fail_msg("at %#lx: %s instead of %s", (unsigned long)pc, found ? found : "nothing",
			 name);
}

#endif
