/*
 * The table of formats and how an input's format is found. In the order of names, as help and
 * completions print it; the order decides nothing, since no two formats are sure of one content.
 */
#include "formats/format.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "formats/compression.h"
#include "formats/tar.h"
#include "timeline/timeline.h"

/* The part of a report that is searched for its words. */
#define REPORT_HEAD_BYTES 4096

/* clang-format off */
static const struct format *const formats[] = {
	&format_async_profiler,
	&format_bcc,
	&format_bpftrace,
	&format_callgrind,
	&format_chrome_trace,
	&format_cpuprofile,
	&format_diff_folded,
	&format_gprofng,
	&format_firefox,
	&format_flamebearer,
	&format_folded,
	&format_gperftools,
	&format_heapprofile,
	&format_page,
	&format_jfr,
	&format_json,
	&format_offwake,
	&format_perf_data,
	&format_perf_script,
	&format_pftrace,
	&format_pprof,
	&format_sampling_prof,
	&format_speedscope,
	&format_stackprof,
	&format_svg,
	&format_text,
	&format_zones,
	NULL,
};
/* clang-format on */

const struct format *const *format_get_all(void)
{
	return formats;
}

const struct format *format_find_name(const char *name)
{
	for (const struct format *const *format = formats; *format; format++)
		if (string_equals((*format)->name, name))
			return *format;
	return NULL;
}

static bool ends_in(const char *path, size_t length, const char *extension)
{
	size_t size = strlen(extension);

	return length >= size && !memcmp(path + length - size, extension, size);
}

/* The longest extension wins: x.diff.folded is a differential file, not a folded one. */
const struct format *format_find_extension(const char *path, size_t length)
{
	const struct format *found = NULL;

	for (const struct format *const *format = formats; *format; format++)
		if ((*format)->write && (*format)->extension[0] &&
		    ends_in(path, length, (*format)->extension) &&
		    (!found || strlen((*format)->extension) > strlen(found->extension)))
			found = *format;
	return found;
}

const struct format *format_find_path(const char *path)
{
	return format_find_extension(path, strlen(path));
}

bool format_is_extension_of(const struct format *format, const char *path)
{
	size_t length = strlen(path);

	if (!format->extension[0])
		return false;
	do {
		if (ends_in(path, length, format->extension))
			return true;
	} while (compression_find_suffix(path, length, &length) != COMPRESSION_NONE);
	return false;
}

const struct format *format_detect(const char *path, const uint8_t *data, size_t size)
{
	const struct format *by_path = NULL;
	const struct format *possible = NULL;

	if (!data)
		data = (const uint8_t *)""; /* memcmp(NULL, …, 0) is undefined */
	for (const struct format *const *format = formats; *format; format++) {
		enum detection detection;

		if (!(*format)->read)
			continue;
		detection = (*format)->detect ? (*format)->detect(data, size) : DETECTED_MAYBE;
		if (detection == DETECTED_SURE)
			return *format;
		if (detection == DETECTED_NOT)
			continue;
		if ((*format)->detect && detection == DETECTED_MAYBE && !possible)
			possible = *format;
		if (format_is_extension_of(*format, path) &&
		    (!by_path || strlen((*format)->extension) > strlen(by_path->extension)))
			by_path = *format;
	}
	/*
	 * Files in a tar archive are not lines of it; experiments of gprofng are found by their
	 * members.
	 */
	if (tar_detect(data, size))
		return NULL;
	return by_path ? by_path : possible;
}

/* Count the samples, and the items that only a timeline has. */
static uint64_t count_contents(const struct import *import)
{
	const struct timeline *timeline = import->timeline;
	uint64_t count = profile_count_samples(import->profile);

	if (!timeline)
		return count;
	return count + timeline_count_zone(timeline) + timeline_count_counter_value(timeline) +
	       timeline_count_occupancy(timeline) + timeline_count_switch(timeline) +
	       timeline_count_sample(timeline);
}

int format_read(const struct format *format, struct import *import)
{
	/* For a directory that is read as a file, the caller has a better message. */
	bool is_explained =
		import->may_be_empty || (import->open_member && !format->detect_members);
	uint64_t before = count_contents(import);
	int err = format->read(import);

	if (err)
		return err;
	import_report_malformed(import);
	err = import_unify_decimals(import);
	if (err)
		return err;
	if (count_contents(import) == before) {
		if (import->counts.skipped)
			return error_set(&import->error, -EBADMSG,
					 "%.200s: nothing in it could be read", import->name);
		if (!is_explained)
			import_warn(import, "valid %s, but without samples", format->name);
	}
	return import_keep_counts(import);
}

const struct format *format_detect_members(const char *const *members, size_t num_members)
{
	for (const struct format *const *format = formats; *format; format++)
		if ((*format)->detect_members && (*format)->detect_members(members, num_members))
			return *format;
	return NULL;
}

/* Detects reports for people by words at their head: the data behind them can be read. */
static const char *describe_report(const uint8_t *data, size_t size)
{
	static const struct {
		const char *words;
		const char *description;
	} reports[] = {
		{"# Overhead ",
		 "a report of perf, without whole stacks; use perf.data, or what 'perf "
		 "script' prints"},
		{"Performance counter stats for", "counts of 'perf stat', not samples"},
		{"Showing nodes accounting for", "a report of pprof, without whole stacks; use the "
						 "profile that pprof read"},
		{"Each sample counts as", "a report of gprof, without whole stacks"},
		{"Profile data file 'callgrind.out", "a report of callgrind_annotate; use the "
						     "callgrind.out file that it read"},
		{"PERF_RECORD_",
		 "a dump of 'perf script -D' or 'perf report -D'; use perf.data, or "
		 "what 'perf script' prints"},
	};

	if (size > REPORT_HEAD_BYTES)
		size = REPORT_HEAD_BYTES;
	for (size_t i = 0; i < ARRAY_LENGTH(reports); i++)
		if (memmem(data, size, reports[i].words, strlen(reports[i].words)))
			return reports[i].description;
	return NULL;
}

const char *format_describe_unknown(const uint8_t *data, size_t size)
{
	static const struct {
		const char *magic;
		const char *description;
	} contents[] = {
		{"\177ELF", "an ELF program, library or core dump; 'stackwide record -- PROGRAM' "
			    "profiles a program"},
		{"PK\3\4", "a zip archive; unpack it and name the profile in it"},
		{"gmon", "data of gprof, without stacks"},
		{"MDMP", "a minidump of Windows, not a profile"},
		{"%PDF", "a PDF document, not a profile"},
		{"\211PNG", "a picture, not a profile"},
	};

	if (!size)
		return "the file is empty";
	if (tar_detect(data, size))
		return "a tar archive; unpack it and name the profile in it";
	for (size_t i = 0; i < ARRAY_LENGTH(contents); i++) {
		size_t length = strlen(contents[i].magic);

		if (size >= length && !memcmp(data, contents[i].magic, length))
			return contents[i].description;
	}
	return describe_report(data, size);
}
