/*
 * Has a libjvm.so mapped, as anybody may, and lets it say what is not so: that it has code, and that names lie elsewhere than they do in
 * a JVM. Then it uses CPU time.
 *
 * usage: fake_libjvm FILE SECONDS
 */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "../spin.h"

/* As HotSpot has it. */
struct field {
	const char *type;
	const char *name;
	const char *field_type;
	int32_t is_static;
	uint64_t offset;
	void *address;
};

/* As a growable array, it has so many items wherever that is looked for. */
static uint32_t heaps[] = {3, 3, 3, 3, 3, 3, 3, 3};

int main(int argc, char **argv)
{
	void *library = dlopen(argc > 1 ? argv[1] : "libjvm.so", RTLD_NOW | RTLD_LOCAL);
	struct field **fields = library ? dlsym(library, "gHotSpotVMStructs") : NULL;

	if (!fields)
		return 1;
	for (struct field *field = *fields; field->type; field++)
		if (!strcmp(field->type, "Symbol") && !strncmp(field->name, "_body", 5))
			field->offset += 3;
	/* Last: it is asked when it has some. */
	for (struct field *field = *fields; field->type; field++)
		if (!strcmp(field->type, "CodeCache") && !strcmp(field->name, "_heaps"))
			__atomic_store_n((void **)field->address, heaps, __ATOMIC_RELEASE);
	spin_cpu_ns(read_duration_ns(argc, argv, 2, 1));
	return 0;
}
