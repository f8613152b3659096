/*
 * Every reader of a foreign format, on the start of each file of its fuzz target's corpus: what is
 * read with less weight than the whole is refused, or comes with a warning, as far as the format
 * lets a reader know.
 *
 *   TRUNCATED_COUNTS=1    print how many of the cuts of each format were silent
 *
 * A warning counts if the whole file does not have it, too. A file that is refused as a whole tests
 * nothing.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/array.h"
#include "base/text.h"
#include "formats/format.h"
#include "timeline/timeline.h"

#define NUM_CUTS  20 /* of a file, and as many at the ends of lines */
#define MAX_BYTES (1u << 20)

/* Where a reader can tell that a file is truncated. */
enum known_cuts {
	KNOWN_EVERYWHERE,
	KNOWN_WITHIN_LINES, /* whole lines are a file, too */
	KNOWN_NOWHERE,
};

struct truncated_format {
	const char *format;
	const char *folder; /* of the corpus */
	enum known_cuts known;
	const char *unknown; /* a file of which nothing is known; NULL: no such file */
};

static const struct truncated_format truncated_formats[] = {
	{"async-profiler", "async_profiler", KNOWN_EVERYWHERE, NULL},
	{"bcc", "bcc", KNOWN_WITHIN_LINES, NULL},
	{"bpftrace", "bpftrace", KNOWN_WITHIN_LINES, NULL},
	{"callgrind", "callgrind", KNOWN_WITHIN_LINES, NULL}, /* sums are optional */
	{"chrome-trace", "chrome_trace", KNOWN_EVERYWHERE, NULL},
	{"cpuprofile", "cpuprofile", KNOWN_EVERYWHERE, NULL},
	{"diff.folded", "diff_folded", KNOWN_WITHIN_LINES, NULL},
	{"firefox", "firefox", KNOWN_EVERYWHERE, NULL},
	{"flamebearer", "flamebearer", KNOWN_EVERYWHERE, NULL},
	{"folded", "folded", KNOWN_WITHIN_LINES, NULL},
	{"gperftools", "gperftools", KNOWN_WITHIN_LINES, NULL}, /* only some kinds have sums */
	{"heapprofile", "heapprofile", KNOWN_EVERYWHERE, NULL},
	{"html", "html", KNOWN_EVERYWHERE, NULL},
	{"jfr", "jfr", KNOWN_EVERYWHERE, NULL},
	{"json", "json", KNOWN_EVERYWHERE, NULL},
	{"offwake", "folded", KNOWN_WITHIN_LINES, NULL},
	{"perf-data", "perf_data", KNOWN_EVERYWHERE, "pipe"},     /* a list of records */
	{"perf-script", "perf_script", KNOWN_WITHIN_LINES, NULL}, /* between two samples */
	{"pftrace", "perfetto", KNOWN_NOWHERE, NULL}, /* those of others are lists of packets */
	{"pprof", "pprof", KNOWN_EVERYWHERE, NULL},
	{"sampling-prof", "sampling_prof", KNOWN_WITHIN_LINES, NULL},
	{"speedscope", "speedscope", KNOWN_EVERYWHERE, NULL},
	{"stackprof", "stackprof", KNOWN_EVERYWHERE, NULL},
	{"svg", "svg", KNOWN_EVERYWHERE, NULL},
	{"zones", "zones", KNOWN_WITHIN_LINES, NULL},
};

/* What the start of a file gave. */
struct outcome {
	bool is_refused;
	struct text warnings; /* one a line */
	uint64_t weight;
};

static uint64_t sum_weights(const struct profile *profile, const struct timeline *timeline)
{
	uint64_t sum = timeline_count_zone(timeline) + timeline_count_counter_value(timeline);

	for (uint32_t i = 0; i < profile_count_samples(profile); i++)
		sum = add_saturated(sum, profile_get_sample(profile, i)->value);
	return sum;
}

static void add_warning(void *context, const char *line)
{
	text_append_string(context, line);
	text_append_char(context, '\n');
}

/* A copy of exactly the bytes, so that the sanitizers see every read beyond. */
static struct outcome read_start(const struct format *format, const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct profile *profile = profile_new();
	struct timeline *timeline = timeline_new();
	struct import import = {.name = "FILE",
				.data = copy,
				.size = size,
				.profile = profile,
				.timeline = timeline,
				.warn = add_warning};
	struct outcome outcome = {0};
	int err;

	text_append_string(&outcome.warnings, "");
	import.context = &outcome.warnings;
	assert_true(copy && profile && timeline);
	memcpy(copy, data, size);
	assert_int_equal(profile_add_source(profile, STRING_EMPTY, &import.source), 0);
	err = format_read(format, &import);
	assert_true(!err || err == -EBADMSG || err == -EOVERFLOW);
	outcome.is_refused = err;
	outcome.weight = sum_weights(profile, timeline);
	profile_free(profile);
	timeline_free(timeline);
	free(copy);
	return outcome;
}

/* ---- cuts ---- */

struct cuts {
	const struct truncated_format *row;
	const struct format *format;
	const char *name;
	bool is_unknown;
	const uint8_t *data;
	size_t size;
	struct outcome whole;
	/* Of all files of the format. */
	unsigned int num_files;
	unsigned int num_cuts;
	unsigned int num_silent;          /* within a line */
	unsigned int num_silent_at_lines; /* at the end of one */
	unsigned int num_failures;
};

static bool is_line_end(const struct cuts *cuts, size_t size)
{
	return size && cuts->data[size - 1] == '\n';
}

/* Whether the start was refused, or with a warning that the whole does not have. */
static bool is_told(const struct cuts *cuts, const struct outcome *outcome)
{
	char *line = outcome->warnings.data;

	if (outcome->is_refused)
		return true;
	for (char *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (!strstr(cuts->whole.warnings.data, line))
			return true;
	}
	return false;
}

static void cut(struct cuts *cuts, size_t size)
{
	struct outcome outcome = read_start(cuts->format, cuts->data, size);
	bool is_silent = !is_told(cuts, &outcome) && outcome.weight < cuts->whole.weight;
	bool is_at_line = is_line_end(cuts, size);

	text_release(&outcome.warnings);
	cuts->num_cuts++;
	if (!is_silent)
		return;
	cuts->num_silent += !is_at_line;
	cuts->num_silent_at_lines += is_at_line;
	if (cuts->row->known == KNOWN_NOWHERE || cuts->is_unknown ||
	    (cuts->row->known == KNOWN_WITHIN_LINES && is_at_line))
		return;
	print_error("%s: %zu of %zu bytes are read without a word\n", cuts->name, size, cuts->size);
	cuts->num_failures++;
}

static void cut_everywhere(struct cuts *cuts)
{
	size_t num_lines = 0;
	size_t line = 0;

	for (size_t i = 1; i <= NUM_CUTS; i++)
		cut(cuts, cuts->size * i / (NUM_CUTS + 1));
	for (size_t i = 1; i < cuts->size; i++)
		num_lines += is_line_end(cuts, i);
	for (size_t i = 1; i < cuts->size; i++)
		if (is_line_end(cuts, i) && line++ % (num_lines / NUM_CUTS + 1) == 0)
			cut(cuts, i);
}

static void cut_file(struct cuts *cuts, const char *path)
{
	FILE *file = fopen(path, "r");
	uint8_t *data = malloc(MAX_BYTES);

	assert_true(file && data);
	cuts->name = path;
	cuts->data = data;
	cuts->size = fread(data, 1, MAX_BYTES, file);
	fclose(file);
	cuts->whole = read_start(cuts->format, data, cuts->size);
	if (!cuts->whole.is_refused && cuts->whole.weight && cuts->size < MAX_BYTES) {
		cuts->num_files++;
		cut_everywhere(cuts);
	}
	text_release(&cuts->whole.warnings);
	free(data);
}

static bool cut_corpus(const struct truncated_format *row)
{
	struct cuts cuts = {.row = row, .format = format_find_name(row->format)};
	char path[512];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "tests/fuzz/corpus/%s", row->folder);
	folder = opendir(path);
	assert_non_null(folder);
	assert_non_null(cuts.format);
	while ((entry = readdir(folder))) {
		char file[1024];

		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		cuts.is_unknown = row->unknown && !strcmp(entry->d_name, row->unknown);
		if (entry->d_type == DT_REG)
			cut_file(&cuts, file);
	}
	closedir(folder);
	if (getenv("TRUNCATED_COUNTS"))
		print_message(
			"# %s: %u files, %u cuts, silent: %u within lines, %u at their ends\n",
			row->format, cuts.num_files, cuts.num_cuts, cuts.num_silent,
			cuts.num_silent_at_lines);
	if (!cuts.num_files)
		print_error("%s: no file of the corpus has samples\n", row->format);
	return cuts.num_files && !cuts.num_failures;
}

/* ---- the tests ---- */

static void truncated_files_of_every_format_are_refused_or_reported(void **state _unused_)
{
	bool is_well = true;

	for (size_t i = 0; i < ARRAY_LENGTH(truncated_formats); i++)
		is_well &= cut_corpus(&truncated_formats[i]);
	assert_true(is_well);
}

/* A new format says how much its reader knows. */
static void every_format_has_a_row(void **state _unused_)
{
	for (const struct format *const *format = format_get_all(); *format; format++) {
		size_t i = 0;

		while (i < ARRAY_LENGTH(truncated_formats) &&
		       strcmp(truncated_formats[i].format, (*format)->name) != 0)
			i++;
		if ((*format)->read && !(*format)->detect_members &&
		    i == ARRAY_LENGTH(truncated_formats))
			fail_msg("%s has no row", (*format)->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(truncated_files_of_every_format_are_refused_or_reported),
		cmocka_unit_test(every_format_has_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
