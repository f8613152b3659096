#include "formats/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/table_format.h"
#include "base/text.h"

/* An input whose format was guessed wrong would fill the terminal. */
#define MAX_MALFORMED_WARNINGS 5
#define MAX_NAME_BYTES         200 /* of a file, in a message */

#define MAX_REASON_BYTES 256

/* A name out of the file may be in it: no escape sequences for the terminal, and one line. */
_printf_(2, 0) static void print_reason(char ret[MAX_REASON_BYTES], const char *format,
					va_list args)
{
	vsnprintf(ret, MAX_REASON_BYTES, format, args);
	text_mask_controls(ret);
}

_printf_(3, 0) static int fail(struct import *import, const char *position, const char *format,
			       va_list args)
{
	char reason[MAX_REASON_BYTES];

	print_reason(reason, format, args);
	return error_set(&import->error, -EBADMSG, "%.*s%s: %s", MAX_NAME_BYTES, import->name,
			 position, reason);
}

/* The name may be truncated in the message, hence strnlen(). */
const char *import_get_reason(const struct import *import)
{
	const char *message = import->error.message;
	size_t length = strnlen(import->name, MAX_NAME_BYTES);

	if (strncmp(message, import->name, length) != 0)
		return message;
	message += length;
	return message + strspn(message, ":/ ");
}

int import_fail_line(struct import *import, uint64_t line, const char *format, ...)
{
	char position[32];
	va_list args;
	int err;

	snprintf(position, sizeof(position), ":%" PRIu64, line);
	va_start(args, format);
	err = fail(import, position, format, args);
	va_end(args);
	return err;
}

int import_fail_byte(struct import *import, uint64_t offset, const char *format, ...)
{
	char position[40];
	va_list args;
	int err;

	snprintf(position, sizeof(position), ": at byte %" PRIu64, offset);
	va_start(args, format);
	err = fail(import, position, format, args);
	va_end(args);
	return err;
}

/* "/MEMBER: at byte N" */
#define MEMBER_POSITION_BYTES 160

static void print_member_position(char *position, const struct import *import, const char *member,
				  uint64_t offset)
{
	bool has_slash = string_ends_with(import->name, "/");

	snprintf(position, MEMBER_POSITION_BYTES, "%s%.100s: at byte %" PRIu64,
		 has_slash ? "" : "/", member, offset);
	text_mask_controls(position); /* names in an archive are foreign bytes */
}

int import_fail_member(struct import *import, const char *member, uint64_t offset,
		       const char *format, ...)
{
	char position[MEMBER_POSITION_BYTES];
	va_list args;
	int err;

	print_member_position(position, import, member, offset);
	va_start(args, format);
	err = fail(import, position, format, args);
	va_end(args);
	return err;
}

/*
 * Both the name and the reason are bounded, so that a hostile name cannot push the reason out of
 * the line.
 */
_printf_(3, 0) static void warn(struct import *import, const char *position, const char *format,
				va_list args)
{
	char reason[MAX_REASON_BYTES];
	char line[832];

	import->counts.warnings++;
	if (!import->warn)
		return;
	print_reason(reason, format, args);
	snprintf(line, sizeof(line), "%.400s%s: %s", import->name, position, reason);
	import->warn(import->context, line);
}

/* Counted in any case, reported only at first. */
_printf_(3, 0) static void skip(struct import *import, const char *position, const char *format,
				va_list args)
{
	import->counts.skipped++;
	if (import->num_malformed++ < MAX_MALFORMED_WARNINGS)
		warn(import, position, format, args);
}

void import_report_malformed(struct import *import)
{
	if (import->num_malformed > MAX_MALFORMED_WARNINGS)
		import_warn(import, "%" PRIu64 " more malformed records, skipping",
			    import->num_malformed - MAX_MALFORMED_WARNINGS);
}

void import_skip_line(struct import *import, uint64_t line, const char *format, ...)
{
	char position[32];
	va_list args;

	snprintf(position, sizeof(position), ":%" PRIu64, line);
	va_start(args, format);
	skip(import, position, format, args);
	va_end(args);
}

void import_skip_member(struct import *import, const char *member, uint64_t offset,
			const char *format, ...)
{
	char position[MEMBER_POSITION_BYTES];
	va_list args;

	print_member_position(position, import, member, offset);
	va_start(args, format);
	skip(import, position, format, args);
	va_end(args);
}

void import_warn(struct import *import, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	warn(import, "", format, args);
	va_end(args);
}

void import_warn_counted(struct import *import, uint64_t count, const char *phrase)
{
	_cleanup_(text_release) struct text text = {0};

	table_append_counted(&text, count, phrase);
	import_warn(import, "%s", text.failed ? "out of memory" : text.data);
}

/* Bring a metric to `decimals`: the samples of these sources, which have `has` decimals. */
static int multiply(struct import *import, uint32_t metric, uint32_t first_source,
		    uint32_t end_source, uint8_t has, uint8_t decimals)
{
	uint64_t factor = 1;
	int err;

	if (has == decimals)
		return 0;
	for (; has < decimals; has++)
		factor *= 10;
	err = profile_multiply_samples(import->profile, metric, first_source, end_source, factor);
	if (err == -EOVERFLOW)
		return import_fail_byte(import, 0,
					"weights exceed 64 bits when those of all inputs are "
					"multiplied by %" PRIu64,
					factor);
	return err;
}

/* Whether the import has added to a metric. A file that names its own sources adds them behind its. */
static bool has_metric(const struct import *import, uint32_t metric)
{
	for (uint32_t i = profile_count_samples(import->profile); i-- > 0;) {
		const struct sample *sample = profile_get_sample(import->profile, i);

		if (sample->metric == metric &&
		    profile_get_thread(import->profile, sample->thread)->source >= import->source)
			return true;
	}
	return false;
}

int import_unify_decimals(struct import *import)
{
	for (uint32_t i = 0; i < profile_count_metrics(import->profile); i++) {
		uint8_t before = profile_get_metric(import->profile, i)->decimals;
		uint8_t all = before > import->decimals ? before : import->decimals;
		int err;

		if (!all || !has_metric(import, i))
			continue;
		err = multiply(import, i, 0, import->source, before, all);
		if (err)
			return err;
		err = multiply(import, i, import->source, UINT32_MAX, import->decimals, all);
		if (err)
			return err;
		profile_set_metric_decimals(import->profile, i, all);
	}
	return 0;
}

/*
 * Whether the file itself has the counts of its creation. The tallies that this import added are
 * last.
 */
static bool has_counts(const struct import *import)
{
	const struct provenance *provenance = profile_get_provenance(import->profile);

	for (uint32_t i = provenance_count_tallies(provenance); i-- > 0;) {
		const struct tally *tally = provenance_get_tally(provenance, i);

		if (tally->source < import->source)
			break;
		if (tally->source == import->source &&
		    string_starts_with(profile_get_string(import->profile, tally->name), "import."))
			return true;
	}
	return false;
}

int import_keep_counts(const struct import *import)
{
	const struct {
		const char *name;
		uint64_t count;
	} counts[] = {
		{"import.skipped", import->counts.skipped},
		{"import.unknown_events", import->counts.unknown_events},
		{"import.truncated_stacks", import->counts.truncated_stacks},
		{"import.without_stack", import->counts.without_stack},
		{"import.lost_samples", import->counts.lost_samples},
		{"import.pruned_weight", import->counts.pruned_weight},
	};
	int err;

	if (has_counts(import))
		return 0;
	for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
		if (counts[i].count) {
			err = profile_add_tally(import->profile, import->source, counts[i].name,
						counts[i].count);
			if (err)
				return err;
		}
	}
	return 0;
}
