#include "cli/runtime_advice.h"

#include <stdbool.h>
#include <string.h>

#include "base/attributes.h"

/* The name of code in memory that no file backs and no perf-map names. */
#define ANONYMOUS_CODE "[anon]"
/* No advice for less than this share of the weight: 1 / MIN_SHARE. */
#define MIN_SHARE 100

struct runtime {
	const char *module; /* its file's name, less the version of a library */
	const char *name;
	const char *frame_pointers; /* NULL: its code has them always */
	const char *names[2];       /* lines; NULL: no more */
};

/*
 * What makes a runtime give perf, and with it us, the names of the code that it compiles, or keep
 * frame pointers in it.
 */
static const struct runtime runtimes[] = {
	{"libjvm.so",
	 "Java",
	 "-XX:+PreserveFramePointer",
	 {"-XX:+UnlockDiagnosticVMOptions",
	  "-XX:+DumpPerfMapAtExit, or after 'jcmd PID Compiler.perfmap'"}},
	{"node", "Node.js", NULL, {"--perf-basic-prof", NULL}},
	{"libnode.so", "Node.js", NULL, {"--perf-basic-prof", NULL}},
	{"libcoreclr.so", ".NET", NULL, {"DOTNET_PerfMapEnabled=1 in its environment", NULL}},
};

/* libnode.so.108 is libnode.so, and node_exporter is not node. */
static bool is_shown(const struct runtime *runtime, const struct flat_table *table)
{
	size_t length = strlen(runtime->module);

	for (size_t i = 0; i < table->num_rows; i++) {
		const char *module = table->rows[i].module;

		if (string_starts_with(module, runtime->module) &&
		    (!module[length] || module[length] == '.'))
			return true;
	}
	return false;
}

void runtime_advice_append_frame_pointers(struct text *text, const struct flat_table *table,
					  const char *indent)
{
	for (size_t i = 0; i < ARRAY_LENGTH(runtimes); i++)
		if (runtimes[i].frame_pointers && is_shown(&runtimes[i], table))
			text_printf(text, "%s%s keeps them with %s\n", indent, runtimes[i].name,
				    runtimes[i].frame_pointers);
}

static bool has_unsymbolized_code(const struct flat_table *table)
{
	for (size_t i = 0; i < table->num_rows; i++) {
		const struct flat_row *row = &table->rows[i];

		if (row->function_length == strlen(ANONYMOUS_CODE) &&
		    memcmp(row->function, ANONYMOUS_CODE, row->function_length) == 0)
			return row->total >= table->sum / MIN_SHARE;
	}
	return false;
}

void runtime_advice_append_names(struct text *text, const struct flat_table *table,
				 const char *indent)
{
	if (!has_unsymbolized_code(table))
		return;
	for (size_t i = 0; i < ARRAY_LENGTH(runtimes); i++) {
		const struct runtime *runtime = &runtimes[i];

		if (!is_shown(runtime, table))
			continue;
		text_printf(text, "%s%s names its code with %s\n", indent, runtime->name,
			    runtime->names[0]);
		if (runtime->names[1])
			text_printf(text, "%s%s\n", indent, runtime->names[1]);
	}
}
