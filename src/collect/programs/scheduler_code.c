#include "collect/programs/scheduler_code.h"

#include "base/text.h"
#include "collect/kernel/kallsyms.h"

/*
 * Frames between the stack capture and the scheduler: BPF's own, the tracepoint's or the probe's.
 */
#define MAX_INNER_LEVELS 16

/* The function ends at the next address. */
struct scheduler_code scheduler_code_read(FILE *kallsyms)
{
	struct scheduler_code code = {0};
	struct kallsyms_symbol symbol;

	while (kallsyms_next(kallsyms, &symbol)) {
		if (code.start && symbol.address > code.start) {
			code.end = symbol.address;
			return code;
		}
		if (string_equals(symbol.name, "__schedule"))
			code.start = symbol.address;
	}
	return (struct scheduler_code){0};
}

struct scheduler_code scheduler_code_find(void)
{
	struct scheduler_code code = {0};
	FILE *kallsyms = fopen("/proc/kallsyms", "re");

	if (!kallsyms)
		return code;
	code = scheduler_code_read(kallsyms);
	fclose(kallsyms);
	return code;
}

uint32_t scheduler_code_count(const struct scheduler_code *code, const uint64_t *pcs,
			      uint32_t num_pcs)
{
	for (uint32_t i = 0; i < num_pcs && i < MAX_INNER_LEVELS; i++)
		if (pcs[i] > code->start && pcs[i] <= code->end)
			return i + 1;
	return 0;
}
