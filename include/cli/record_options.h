/*
 * The options of `stackwide record`, from the command line to what is to be done.
 */
#ifndef CLI_RECORD_OPTIONS_H
#define CLI_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "cli/options.h"
#include "cli/output_options.h"
#include "collect/recorder.h"

struct record_options {
	bool wants_system; /* -a */
	ARRAY(pid_t) pids;
	ARRAY(pid_t) tids;
	const char *cgroup_path;
	char **command; /* what stands after --; NULL: none */
	uint32_t frequency_hz;
	uint64_t duration_ns;          /* 0: until it is stopped */
	struct output_options outputs; /* at least one request */
	uint64_t flush_ns;             /* 0: one piece */
	const char *stats_path;
	bool no_kernel_stacks;
	enum user_stacks user_stacks;
	bool no_fp_steps; /* --user-stacks table: never by frame pointer */
	bool no_table_cache;
	bool checks_calls;
	bool no_inlines;
	uint64_t ring_bytes; /* 0: the default */
};

extern const struct option_spec record_option_specs[];

/*
 * Returns 0, 1 when help was asked for, or negative (usage error, told). Values are borrowed from
 * argv.
 */
_must_check_ int record_options_parse(struct record_options *options, int argc, char **argv);
void record_options_release(struct record_options *options);

#endif
