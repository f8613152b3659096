#include "collect/runtimes/runtime_ops.h"

static const struct runtime_ops *const rows[NUM_WIRE_INTERPRETERS] = {
	[WIRE_RUNTIME_PYTHON] = &python_stack_ops,   [WIRE_RUNTIME_V8] = &v8_stack_ops,
	[WIRE_RUNTIME_HOTSPOT] = &hotspot_stack_ops, [WIRE_RUNTIME_PHP] = &script_stack_ops,
	[WIRE_RUNTIME_RUBY] = &script_stack_ops,     [WIRE_RUNTIME_PERL] = &script_stack_ops,
};

const struct runtime_ops *runtime_ops_get(enum wire_runtime runtime)
{
	return rows[runtime];
}
