#include "collect/scheduler_code.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

#define LINE_BYTES 512

/* Levels between what takes the stack and the scheduler: BPF's own, the tracepoint's or the probe's. */
#define MAX_INNER_LEVELS 16

/*
 * "ffffffff81c0a2d0 t __schedule". The kernel's own symbols come in order of address, so the function
 * ends where the next line's begins.
 */
struct scheduler_code scheduler_code_read(FILE *kallsyms)
{
	struct scheduler_code code = {0};
	char line[LINE_BYTES];

	while (fgets(line, sizeof(line), kallsyms)) {
		char name[LINE_BYTES];
		uint64_t address;

		if (sscanf(line, "%" SCNx64 " %*c %511s", &address, name) != 2)
			continue;
		if (code.begin && address > code.begin) {
			code.end = address;
			return code;
		}
		if (string_equals(name, "__schedule"))
			code.begin = address;
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
		if (pcs[i] > code->begin && pcs[i] <= code->end)
			return i + 1;
	return 0;
}
