#include "runtime/runtime.h"

#include <stdio.h>
#include <string.h>

#define ROW(tag, name, account_name, language, is_library, advice) \
	[WIRE_RUNTIME_##tag] = {name, account_name, language, advice, is_library},
static const struct runtime_row rows[NUM_WIRE_RUNTIMES] = {RUNTIMES(ROW)};
#undef ROW

const struct runtime_row *runtime_get(enum wire_runtime runtime)
{
	return &rows[runtime];
}

void runtime_format_version(enum wire_runtime runtime, uint16_t major, uint16_t minor,
			    char ret[static RUNTIME_VERSION_BYTES])
{
	if (runtime == WIRE_RUNTIME_HOTSPOT)
		snprintf(ret, RUNTIME_VERSION_BYTES, "%u", major);
	else
		snprintf(ret, RUNTIME_VERSION_BYTES, "%u.%u", major, minor);
}

/* A bool of any other byte must not even be read. */
static bool is_flag_valid(const bool *flag)
{
	unsigned char byte;

	memcpy(&byte, flag, sizeof(byte));
	return byte <= 1;
}

bool runtime_build_is_valid(const struct runtime_build *build)
{
	return build->runtime < NUM_WIRE_RUNTIMES && build->support < NUM_RUNTIME_SUPPORTS &&
	       build->num_eval_parts <= EVALUATION_MAX_PARTS &&
	       build->num_pushes <= EVALUATION_MAX_PUSHES &&
	       (build->support != SUPPORT_KNOWN || build->layout.runtime == build->runtime) &&
	       (build->support != SUPPORT_NAME_ONLY) == !runtime_is_named(build->runtime) &&
	       (build->support == SUPPORT_BY_PROCESS) == (build->runtime == WIRE_RUNTIME_HOTSPOT) &&
	       is_flag_valid(&build->wasm.is_known) && is_flag_valid(&build->code.is_known) &&
	       is_flag_valid(&build->code.is_shared_wrapped) &&
	       (!build->code.is_known || v8_code_layout_is_valid(&build->code));
}
