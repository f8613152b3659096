#include "collect/runtimes/hotspot_inlines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/log.h"
#include "process/process_memory.h"

/* Limit for all code; a thousand methods need some hundred kilobytes. */
#define MAX_SCOPES_BYTES (64u << 20)

/* Compiled code and its inlined methods. */
struct compiled_code {
	uint64_t generation; /* of the process, as in wire_sample */
	uint64_t blob;
	uint32_t pid;
	uint32_t fingerprint;
	struct hotspot_scopes *scopes; /* NULL: unknown */
};
INTERN_TABLE(compiled_code_table, struct compiled_code, pid, generation, blob, fingerprint);

struct hotspot_inlines {
	struct hotspot_layouts *hotspots;
	struct hotspot_methods *methods;
	struct compiled_code_table codes;
	size_t scopes_size; /* bytes */
	uint64_t num_dropped;
};

struct hotspot_inlines *hotspot_inlines_new(struct hotspot_layouts *hotspots,
					    struct hotspot_methods *methods)
{
	struct hotspot_inlines *inlines = calloc(1, sizeof(*inlines));

	if (!inlines)
		return NULL;
	inlines->hotspots = hotspots;
	inlines->methods = methods;
	return inlines;
}

void hotspot_inlines_free(struct hotspot_inlines *inlines)
{
	if (!inlines)
		return;
	array_for_each (&inlines->codes, code)
		hotspot_scopes_free(code->scopes);
	compiled_code_table_release(&inlines->codes);
	free(inlines);
}

/* The memory of a process, and how it is read. */
struct readable {
	const struct hotspot_layout *layout;
	struct process_memory memory;
};

static bool find_readable(const struct hotspot_inlines *inlines, const struct process *process,
			  struct readable *ret)
{
	ret->layout = hotspot_layouts_find(inlines->hotspots, process);
	if (ret->layout)
		ret->memory = hotspot_layouts_get_memory(inlines->hotspots, process);
	return ret->layout;
}

/* Gives NULL for code that cannot be read, as its process has gone. Returns 0 or -ENOMEM. */
static int read_scopes(struct hotspot_inlines *inlines, const struct process *process,
		       const struct hotspot_method *code, struct hotspot_scopes **ret)
{
	struct readable readable;
	struct hotspot_memory source = {.read = process_memory_read, .context = &readable.memory};
	struct hotspot_scopes *scopes = NULL;
	int err;

	*ret = NULL;
	if (!find_readable(inlines, process, &readable))
		return 0;
	err = hotspot_scopes_read(readable.layout, &source, code->code, code->compile_id, &scopes);
	if (err == -ENOMEM)
		return err;
	if (err) {
		log_debug("what was inlined into %s is not known: %d", code->name, err);
		return 0;
	}
	if (inlines->scopes_size + hotspot_scopes_get_size(scopes) > MAX_SCOPES_BYTES) {
		inlines->num_dropped++;
		hotspot_scopes_free(scopes);
		return 0;
	}
	*ret = scopes;
	return 0;
}

int hotspot_inlines_find(struct hotspot_inlines *inlines, const struct process *process,
			 const struct hotspot_method *code, uint64_t pc, bool is_call,
			 struct hotspot_scope_chain *ret)
{
	struct compiled_code compiled = {.generation = code->generation,
					 .blob = code->code,
					 .pid = code->pid,
					 .fingerprint = code->fingerprint};
	uint32_t item = compiled_code_table_find(&inlines->codes, &compiled);
	const struct hotspot_scopes *scopes;
	int err;

	ret->num_scopes = 0;
	ret->may_lack_inlined = true;
	if (item == HASH_INDEX_NONE) {
		err = read_scopes(inlines, process, code, &compiled.scopes);
		if (err)
			return err;
		err = compiled_code_table_add(&inlines->codes, &compiled, &item);
		if (err) {
			hotspot_scopes_free(compiled.scopes);
			return err;
		}
		if (compiled.scopes)
			inlines->scopes_size += hotspot_scopes_get_size(compiled.scopes);
	}
	scopes = inlines->codes.items[item].scopes;
	if (!scopes)
		return 0;
	err = hotspot_scopes_find(scopes, pc, is_call, ret);
	if (err)
		log_debug("no methods at an address of %s: %d", code->name, err);
	return 0;
}

/* The sampling program's fingerprints are odd. */
static uint32_t get_fingerprint(const struct hotspot_method *code)
{
	return code->fingerprint & ~1u;
}

const struct hotspot_method *hotspot_inlines_get_method(struct hotspot_inlines *inlines,
							const struct process *process,
							const struct hotspot_method *code,
							uint64_t method)
{
	const struct hotspot_method *known = hotspot_methods_find(
		inlines->methods, code->pid, code->generation, method, get_fingerprint(code));
	struct readable readable;
	struct hotspot_memory source = {.read = process_memory_read, .context = &readable.memory};
	struct wire_hotspot_method record;
	struct hotspot_method id = *code; /* which may move */

	if (known)
		return known;
	if (!find_readable(inlines, process, &readable) ||
	    hotspot_method_read(readable.layout, &source, method, &record))
		return NULL;
	record.pid = id.pid;
	record.generation = id.generation;
	record.code = method;
	record.fingerprint = get_fingerprint(&id);
	if (hotspot_methods_add(inlines->methods, &record))
		return NULL;
	return hotspot_methods_find(inlines->methods, id.pid, id.generation, method,
				    get_fingerprint(&id));
}

uint64_t hotspot_inlines_get_dropped(const struct hotspot_inlines *inlines)
{
	return inlines->num_dropped;
}
