/*
 * Scopes of compiled code, and methods, in the memory of a hostile process. Whatever it holds, all ends, chains are as deep as may be,
 * and methods that could be read are ones that can be kept.
 *
 * The input is the number of a layout (hotspot_layouts.h) and then pieces of memory: where it is in two bytes, how long it is in one,
 * and as many bytes. All other memory is 0, and what is not within 64 KiB is not mapped.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "hotspot_layouts.h"
#include "require.h"
#include "runtime/hotspot_method.h"
#include "runtime/hotspot_scopes.h"

#define BASE 0x7f2c18000000
#define SIZE (64u << 10)
#define BLOB (BASE + 0x1000)
#define CODE (BLOB + 0x200) /* where the seeds have it */

struct fuzzed_memory {
	uint8_t bytes[SIZE];
	unsigned int num_reads;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_fuzzed(void *context, uint64_t address, void *ret, size_t size)
{
	struct fuzzed_memory *memory = context;

	memory->num_reads++;
	require(size > 0 && size <= 64u << 10);
	if (address < BASE || address - BASE > SIZE || size > SIZE - (address - BASE))
		return -EFAULT;
	memcpy(ret, memory->bytes + (address - BASE), size);
	return 0;
}

static void build(struct fuzzed_memory *memory, struct bytes *input)
{
	memset(memory, 0, sizeof(*memory));
	while (bytes_left(input)) {
		size_t place = bytes_u16(input);
		size_t size = bytes_u8(input);

		size = size < bytes_left(input) ? size : bytes_left(input);
		size = size < SIZE - place ? size : SIZE - place;
		if (size)
			memcpy(memory->bytes + place, bytes_take(input, size), size);
	}
}

static void check_method(const struct hotspot_layout *layout, const struct hotspot_memory *memory,
			 struct hotspot_methods *methods, const struct hotspot_scope *scope)
{
	const struct hotspot_method *method;
	struct wire_hotspot_method record;

	if (hotspot_method_read(layout, memory, scope->method, &record))
		return;
	record.code = scope->method;
	require(!hotspot_methods_add(methods, &record));
	method = hotspot_methods_find(methods, 0, 0, scope->method, 0);
	require(method != NULL && method->name[0]);
	require(hotspot_method_get_line(method, scope->bytecode) <= UINT16_MAX);
}

static void check_place(const struct hotspot_layout *layout, const struct hotspot_memory *memory,
			struct hotspot_methods *methods, const struct hotspot_scopes *scopes,
			uint64_t pc, bool is_call)
{
	struct hotspot_scope_chain chain;
	int err = hotspot_scopes_find(scopes, pc, is_call, &chain);

	require(!err || err == -ENOENT || err == -EBADMSG);
	if (err)
		return;
	require(chain.num_scopes > 0 && chain.num_scopes <= HOTSPOT_SCOPES_MAX_DEPTH);
	for (size_t i = 0; i < chain.num_scopes; i++)
		require(chain.scopes[i].bytecode <= WIRE_HOTSPOT_NO_BYTECODE);
	check_method(layout, memory, methods, &chain.scopes[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzzed_memory fuzzed;
	struct bytes input = bytes_of(data, size);
	const struct hotspot_layout *layout =
		&hotspot_test_layouts[bytes_u8(&input) % HOTSPOT_TEST_LAYOUTS];
	const struct hotspot_memory memory = {read_fuzzed, &fuzzed};
	struct hotspot_methods *methods = hotspot_methods_new();
	struct hotspot_scopes *scopes = NULL;
	uint32_t compile_id;
	int err;

	require(methods != NULL);
	build(&fuzzed, &input);
	memcpy(&compile_id, fuzzed.bytes + (BLOB - BASE) + layout->wire.nmethod_compile_id,
	       sizeof(compile_id));
	err = hotspot_scopes_read(layout, &memory, BLOB, compile_id, &scopes);
	require((err != 0) == (scopes == NULL));
	require(err != -ESTALE && err != -ENOTSUP);
	require(fuzzed.num_reads < 256);
	for (uint64_t pc = CODE; scopes && pc < CODE + 128; pc++) {
		check_place(layout, &memory, methods, scopes, pc, false);
		check_place(layout, &memory, methods, scopes, pc, true);
	}
	check_method(layout, &memory, methods, &(struct hotspot_scope){.method = BASE + 0x8000});
	hotspot_scopes_free(scopes);
	hotspot_methods_free(methods);
	return 0;
}
