/* HotSpot in the symbols of a file: the variables that its debugger starts from. */
#include <errno.h>

#include "base/attributes.h"
#include "runtime/file_data.h"
#include "runtime/finder.h"

enum { STRUCTS, TYPES, INT_CONSTANTS, NUM_NAMES };

/* A debugger that is linked against HotSpot has the names, too, but does not define them. */
static const char *const names[NUM_NAMES] = {
	[STRUCTS] = "gHotSpotVMStructs",
	[TYPES] = "gHotSpotVMTypes",
	[INT_CONSTANTS] = "gHotSpotVMIntConstants",
};

int hotspot_find(struct objfile *objfile, struct runtime_build *build)
{
	struct file_symbol symbols[NUM_NAMES];

	/* The walk knows frames and code of this machine alone. */
	if (!file_has_known_code(objfile))
		return -ENOENT;
	file_find_symbols(objfile, names, NUM_NAMES, symbols);
	build->hotspot = (struct hotspot_build){
		.structs = symbols[STRUCTS].address,
		.types = symbols[TYPES].address,
		.int_constants = symbols[INT_CONSTANTS].address,
	};
	build->support = SUPPORT_BY_PROCESS;
	return build->hotspot.structs && build->hotspot.types && build->hotspot.int_constants
		       ? 0
		       : -ENOENT;
}
