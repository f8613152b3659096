#include "cli/record/runtime_advice.h"

#include <stdbool.h>
#include <string.h>

#include "base/attributes.h"
#include "runtime/runtime.h"

/* Names of code without a perf-map: in memory without a file, or in memory mapped twice. */
#define ANONYMOUS_CODE "[anon]"
#define MEMFD_CODE     "[memfd:"
/* No advice for less than this share of the weight: 1 / MIN_SHARE. */
#define MIN_SHARE 100

struct runtime {
	const char *module; /* its file's name, without a library's version */
	const char *name;
	const char *frame_pointers; /* NULL: its code has them always */
	const char *names[2];       /* lines; NULL: no more */
	/* Known builds of this runtime have complete stacks and names without options. */
	enum wire_runtime runtime;
};

/*
 * Options that make a runtime report the names of its compiled code to perf, and thus to us, or
 * keep frame pointers in it.
 */
static const struct runtime runtimes[] = {
	{"libjvm.so",
	 "Java",
	 "-XX:+PreserveFramePointer",
	 {"-XX:+UnlockDiagnosticVMOptions",
	  "-XX:+DumpPerfMapAtExit, or after 'jcmd PID Compiler.perfmap'"},
	 WIRE_RUNTIME_HOTSPOT},
	{"node", "Node.js", NULL, {"--perf-basic-prof", NULL}, WIRE_RUNTIME_V8},
	{"libnode.so", "Node.js", NULL, {"--perf-basic-prof", NULL}, WIRE_RUNTIME_V8},
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

/* Whether the recording has processes of this kind, and all were known versions and builds. */
static bool is_known(const struct runtime *runtime, const struct recorder_account *ticks)
{
	bool is_there = false;

	for (size_t i = 0; i < ticks->num_runtimes; i++) {
		const struct runtime_counts *counts = &ticks->runtimes[i];

		if (counts->runtime != runtime->runtime)
			continue;
		if (counts->fits[RUNTIME_UNKNOWN])
			return false;
		is_there = true;
	}
	return is_there;
}

static bool needs_options(const struct runtime *runtime, const struct flat_table *table,
			  const struct recorder_account *ticks)
{
	return is_shown(runtime, table) && !is_known(runtime, ticks);
}

void runtime_advice_append_frame_pointers(struct text *text, const struct flat_table *table,
					  const struct recorder_account *ticks, const char *indent)
{
	for (size_t i = 0; i < ARRAY_LENGTH(runtimes); i++)
		if (runtimes[i].frame_pointers && needs_options(&runtimes[i], table, ticks))
			text_printf(text, "%s%s keeps them with %s\n", indent, runtimes[i].name,
				    runtimes[i].frame_pointers);
}

static bool is_generated(const struct flat_row *row)
{
	size_t length = row->function_length;

	if (length == strlen(ANONYMOUS_CODE))
		return !memcmp(row->function, ANONYMOUS_CODE, length);
	return length > strlen(MEMFD_CODE) &&
	       !memcmp(row->function, MEMFD_CODE, strlen(MEMFD_CODE));
}

static bool has_unsymbolized_code(const struct flat_table *table)
{
	for (size_t i = 0; i < table->num_rows; i++) {
		const struct flat_row *row = &table->rows[i];

		if (is_generated(row) && row->total >= table->sum / MIN_SHARE)
			return true;
	}
	return false;
}

void runtime_advice_append_names(struct text *text, const struct flat_table *table,
				 const struct recorder_account *ticks, const char *indent)
{
	if (!has_unsymbolized_code(table))
		return;
	for (size_t i = 0; i < ARRAY_LENGTH(runtimes); i++) {
		const struct runtime *runtime = &runtimes[i];

		if (!needs_options(runtime, table, ticks))
			continue;
		text_printf(text, "%s%s names its code with %s\n", indent, runtime->name,
			    runtime->names[0]);
		if (runtime->names[1])
			text_printf(text, "%s%s\n", indent, runtime->names[1]);
	}
	for (size_t i = 0; i < ticks->num_runtimes; i++) {
		const struct runtime_row *row = runtime_get(ticks->runtimes[i].runtime);

		if (row->advice)
			text_printf(text, "%s%s names its code with %s\n", indent, row->name,
				    row->advice);
	}
}
