/*
 * The options of `stackwide capture`, from the command line and from a configuration file with the
 * same long names. The command line takes precedence.
 */
#ifndef CLI_RECORD_CAPTURE_OPTIONS_H
#define CLI_RECORD_CAPTURE_OPTIONS_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/record/record_options.h"
#include "formats/format.h"

struct capture_options {
	struct record_options record;
	const char *dir;
	const struct format *format;
	uint64_t keep_s;         /* 0: forever */
	uint64_t max_size_bytes; /* 0: no limit */
	uint64_t min_free_bytes; /* 0: no limit, or min_free_percent */
	uint32_t min_free_percent;
	uint64_t random_delay_ns;
	const char *config_path; /* NULL: none */
	struct text config;      /* its text; options point into it */
	bool has_events_of_config;
};

extern const struct option_spec capture_option_specs[];

/* Whether captures can use a format: no pages, and it must have an extension for their names. */
bool capture_takes_format(const struct format *format);

/*
 * Returns 0, 1 when help was asked for, or negative (usage error, reported). Values are borrowed from
 * argv.
 */
_must_check_ int capture_options_parse(struct capture_options *options, int argc, char **argv);
void capture_options_release(struct capture_options *options);

/*
 * Apply a configuration: lines "name = value", or "name" for a switch; # starts a comment line.
 *
 * text  changed, and borrowed afterwards
 * path  for messages
 *
 * Returns 0, or -EINVAL with "PATH:LINE: reason" in error, unless an option's value was refused,
 * which has been reported then.
 */
_must_check_ int capture_options_read(struct capture_options *options, char *text, const char *path,
				      struct error *error);

#endif
