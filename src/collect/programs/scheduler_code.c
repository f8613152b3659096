#include "collect/programs/scheduler_code.h"

#include "base/text.h"
#include "collect/kernel/kallsyms.h"

/*
 * Frames between the stack capture and the scheduler: BPF's own, the tracepoint's or the probe's.
 */
#define MAX_INNER_LEVELS 16

/* The function ends at the next address. Symbols are in order, but for those of modules at the end. */
struct scheduler_code scheduler_code_read(FILE *kallsyms)
{
	struct scheduler_code code = {0};
	struct kallsyms_symbol symbol;

	while (kallsyms_next(kallsyms, &symbol)) {
		if (code.start && !code.end && symbol.address > code.start)
			code.end = symbol.address;
		if (string_equals(symbol.name, "__sched_text_start"))
			code.text_start = symbol.address;
		else if (string_equals(symbol.name, "__schedule"))
			code.start = symbol.address;
		else if (string_equals(symbol.name, "__sched_text_end"))
			code.text_end = symbol.address;
		if (code.end && code.text_end)
			break;
	}
	if (!code.end)
		return (struct scheduler_code){0};
	if (code.text_start > code.start || code.text_end < code.end)
		code.text_start = code.text_end = 0;
	return code;
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
