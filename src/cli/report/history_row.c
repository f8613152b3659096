/*
 * A line of the history is made from one capture, which is then freed: an archive has thousands. So
 * a row has copies of the few names that it shows.
 *
 * Load is CPU time per elapsed time, in CPUs: samples times their period, by the duration. Missing
 * values are -1 and shown as a dash, not as zero.
 */
#include "cli/report/history_row.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "analysis/flat_table.h"
#include "base/array.h"
#include "base/json.h"
#include "base/table_format.h"
#include "base/utf8.h"
#include "cli/files/inputs.h"

#define MAX_NAME_COLUMNS 28
#define MIN_NAME_COLUMNS 10
/*
 * All columns except both names; and those of samples and complete stacks, which are hidden first.
 */
#define FIXED_COLUMNS 75
#define COUNT_COLUMNS 18
#define MAX_COLUMNS   1024

/* The name of a thread's process, or of the thread if the process has no name. */
static uint32_t get_process_name(const struct profile *profile, uint32_t thread_id)
{
	const struct thread *thread = profile_get_thread(profile, thread_id);
	const struct process_info *process = profile_get_process(profile, thread->process);

	return process->comm != STRING_EMPTY ? process->comm : thread->comm;
}

struct name_weight {
	uint32_t name;
	uint64_t weight;
};

static int compare_names(const void *left, const void *right)
{
	const struct name_weight *a = left;
	const struct name_weight *b = right;

	return (a->name > b->name) - (a->name < b->name);
}

/* Samples of processes with the same name are added up: a person asks for the program. */
static int find_busiest_process(struct history_row *row, const struct profile *profile)
{
	uint32_t count = profile_count_samples(profile);
	_cleanup_free_ struct name_weight *names = calloc((size_t)count + 1, sizeof(*names));
	uint32_t busiest = STRING_EMPTY;
	size_t num_names = 0;

	if (!names)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct sample *sample = profile_get_sample(profile, i);

		/* The first metric, which is also that of the busiest function. */
		if (sample->metric == 0)
			names[num_names++] = (struct name_weight){
				get_process_name(profile, sample->thread), sample->value};
	}
	qsort(names, num_names, sizeof(*names), compare_names);
	for (size_t i = 0, end; i < num_names; i = end) {
		uint64_t weight = 0;

		for (end = i; end < num_names && names[end].name == names[i].name; end++)
			weight += names[end].weight;
		row->weight += weight;
		if (weight > row->process_weight) {
			row->process_weight = weight;
			busiest = names[i].name;
		}
	}
	if (!row->process_weight)
		return 0;
	row->process = strdup(busiest ? profile_get_string(profile, busiest) : UNKNOWN_NAME);
	return row->process ? 0 : -ENOMEM;
}

/* Rows are sorted by self weight. */
static int find_busiest_function(struct history_row *row, const struct profile *profile)
{
	_cleanup_(flat_table_release) struct flat_table table = {0};
	int err = flat_table_init_profile(&table, profile, 0);

	if (err || !table.num_rows || !table.rows[0].self)
		return err;
	row->function = strdup(table.rows[0].function);
	row->module = strdup(table.rows[0].module);
	row->function_weight = table.rows[0].self;
	return row->function && row->module ? 0 : -ENOMEM;
}

static bool is_of_samples(const struct profile *profile)
{
	return !profile_count_metrics(profile) ||
	       string_equals(profile_get_string(profile, profile_get_metric(profile, 0)->name),
			     "samples");
}

/* The weight of chosen events is not the number of samples; the account has it. */
static uint64_t count_samples(const struct profile *profile, uint64_t weight)
{
	const struct provenance *provenance = profile_get_provenance(profile);
	uint64_t count = 0;

	if (is_of_samples(profile))
		return weight;
	for (uint32_t i = 0; i < provenance_count_tallies(provenance); i++) {
		const struct tally *tally = provenance_get_tally(provenance, i);

		if (string_equals(profile_get_string(profile, tally->name), "samples"))
			count += tally->count;
	}
	return count ? count : weight;
}

int history_row_init(struct history_row *row, const char *file, int64_t time_s,
		     const struct profile *profile)
{
	const struct sampling *sampling = profile_get_sampling(profile);
	uint64_t stacks = sampling->complete_stacks + sampling->truncated_stacks;
	int err;

	*row = (struct history_row){
		.file = strdup(file),
		.time_s = time_s,
		.duration_ns = sampling->duration_ns,
		.load = -1,
		.complete = stacks ? (double)sampling->complete_stacks / (double)stacks : -1,
		.lost = sampling->lost_samples,
	};
	if (!row->file)
		return -ENOMEM;
	err = find_busiest_process(row, profile);
	if (err)
		return err;
	err = find_busiest_function(row, profile);
	if (err)
		return err;
	row->samples = count_samples(profile, row->weight);
	if (row->duration_ns && sampling->period_ns)
		row->load = (double)row->weight * (double)sampling->period_ns /
			    (double)row->duration_ns;
	return 0;
}

int history_row_init_damaged(struct history_row *row, const char *file, int64_t time_s)
{
	*row = (struct history_row){.file = strdup(file),
				    .time_s = time_s,
				    .load = -1,
				    .complete = -1,
				    .is_damaged = true};
	return row->file ? 0 : -ENOMEM;
}

int history_row_read(struct history_row *row, const char *path, int64_t time_s, const int *fd,
		     bool *ret_is_final)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	struct input_options options = {.may_be_empty = true, .fd = fd}; /* its row shows that */
	struct import_counts counts = {0};
	int status;

	*row = (struct history_row){0};
	if (!profile)
		return -ENOMEM;
	status = inputs_read_file(path, &options, profile, NULL, &counts);
	*ret_is_final = !status && !counts.warnings && !counts.unnamed_code;
	return status ? history_row_init_damaged(row, path, time_s)
		      : history_row_init(row, path, time_s, profile);
}

/* ---- a row as a line of text: a JSON array of all but file and time ---- */

/* JSON would change the bytes of a name that is not UTF-8. */
static bool is_utf8(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length;) {
		uint32_t code_point;
		size_t size = utf8_decode(name + i, length - i, &code_point);

		if (utf8_is_broken(code_point, size))
			return false;
		i += size;
	}
	return true;
}

static bool append_text_name(struct text *text, const char *name)
{
	text_append_char(text, ',');
	if (!name) {
		text_append_string(text, "null");
		return true;
	}
	json_append_string(text, name, strlen(name));
	return is_utf8(name);
}

/* 17 digits reproduce a double exactly. */
bool history_row_append_text(const struct history_row *row, struct text *text)
{
	bool is_whole = !row->is_damaged;

	text_printf(text, "[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.17g,%.17g",
		    row->samples, row->lost, row->weight, row->duration_ns, row->load,
		    row->complete);
	is_whole &= append_text_name(text, row->process);
	text_printf(text, ",%" PRIu64, row->process_weight);
	is_whole &= append_text_name(text, row->function);
	is_whole &= append_text_name(text, row->module);
	text_printf(text, ",%" PRIu64 "]", row->function_weight);
	return is_whole && !text->failed;
}

static bool take_number(struct json *json, uint64_t *ret)
{
	return json_next(json) == JSON_NUMBER && json_get_u64(json, ret);
}

static bool take_double(struct json *json, double *ret)
{
	if (json_next(json) != JSON_NUMBER)
		return false;
	*ret = json_get_double(json);
	return isfinite(*ret);
}

/* Out of memory counts as an invalid name: the capture is read instead. */
static bool take_name(struct json *json, char **ret)
{
	enum json_token token = json_next(json);

	if (token == JSON_NULL)
		return true;
	if (token != JSON_STRING || memchr(json->text, '\0', json->length))
		return false;
	*ret = strndup(json->text, json->length);
	return *ret;
}

/* A function is printed as two names. */
static bool take_row(struct json *json, struct history_row *row)
{
	return json_next(json) == JSON_ARRAY && take_number(json, &row->samples) &&
	       take_number(json, &row->lost) && take_number(json, &row->weight) &&
	       take_number(json, &row->duration_ns) && take_double(json, &row->load) &&
	       take_double(json, &row->complete) && take_name(json, &row->process) &&
	       take_number(json, &row->process_weight) && take_name(json, &row->function) &&
	       take_name(json, &row->module) && !row->function == !row->module &&
	       take_number(json, &row->function_weight) && json_next(json) == JSON_ARRAY_END &&
	       json_next(json) == JSON_END;
}

int history_row_init_text(struct history_row *row, const char *file, int64_t time_s,
			  const char *text)
{
	struct json json = json_of(text, strlen(text));
	bool is_row;

	*row = (struct history_row){.file = strdup(file), .time_s = time_s};
	is_row = take_row(&json, row);
	json_release(&json);
	if (!row->file)
		return -ENOMEM;
	return is_row ? 0 : -EINVAL;
}

void history_row_release(struct history_row *row)
{
	free(row->file);
	free(row->process);
	free(row->function);
	free(row->module);
	*row = (struct history_row){0};
}

/* The parts of a row that fit. */
struct row_layout {
	size_t name; /* columns of each of the two names */
	bool has_counts;
};

/* num_columns  0: of any length */
static struct row_layout fit_row(size_t num_columns)
{
	struct row_layout layout = {.name = MAX_NAME_COLUMNS, .has_counts = true};
	size_t left = num_columns > FIXED_COLUMNS ? num_columns - FIXED_COLUMNS : 0;

	if (!num_columns || left >= 2 * MAX_NAME_COLUMNS)
		return layout;
	layout.has_counts = left >= 2 * MIN_NAME_COLUMNS;
	if (!layout.has_counts)
		left = num_columns > FIXED_COLUMNS - COUNT_COLUMNS
			       ? num_columns - (FIXED_COLUMNS - COUNT_COLUMNS)
			       : 0;
	layout.name = left / 2 > MIN_NAME_COLUMNS ? left / 2 : MIN_NAME_COLUMNS;
	return layout;
}

static void append_share(struct text *text, const char *name, uint64_t part, uint64_t whole,
			 const struct row_layout *layout)
{
	size_t columns;

	if (!name || !whole) {
		text_printf(text, "  %5s %-*s", "", (int)layout->name, "-");
		return;
	}
	text_printf(text, "  %4.0f%% ", 100.0 * (double)part / (double)whole);
	columns = table_append_name(text, name, strlen(name), layout->name);
	table_append_blanks(text, layout->name - columns);
}

/*
 * For people in local time, with its offset, which distinguishes the hours that occur twice in
 * autumn; for programs in ISO 8601.
 */
static void append_time(struct text *text, int64_t time_s, bool is_for_people)
{
	time_t time = (time_t)time_s;
	char buffer[64] = "-";
	struct tm tm;

	if (is_for_people && localtime_r(&time, &tm))
		strftime(buffer, sizeof(buffer), "%Y-%m-%d %H:%M:%S %z", &tm);
	else if (!is_for_people && gmtime_r(&time, &tm))
		strftime(buffer, sizeof(buffer), "%Y-%m-%dT%H:%M:%SZ", &tm);
	text_append_string(text, buffer);
}

/* The last column is padded like the others. */
static void trim_end(struct text *text)
{
	while (text->length && text->data[text->length - 1] == ' ')
		text_truncate(text, text->length - 1);
	text_append_char(text, '\n');
}

void history_print_heading(struct text *text, size_t num_columns)
{
	struct row_layout layout = fit_row(num_columns);

	text_printf(text, "%-25s %8s", "began", "length");
	if (layout.has_counts)
		text_printf(text, " %8s", "samples");
	text_printf(text, " %6s", "load");
	if (layout.has_counts)
		text_printf(text, " %8s", "complete");
	text_printf(text, "  %5s %-*.*s  %5s %.*s\n", "", (int)layout.name, (int)layout.name,
		    "busiest process", "", (int)layout.name, "busiest function");
}

void history_row_print(const struct history_row *row, struct text *text, size_t num_columns)
{
	struct row_layout layout = fit_row(num_columns);

	append_time(text, row->time_s, true);
	if (row->is_damaged) {
		text_append_string(text, "  damaged\n");
		return;
	}
	if (row->duration_ns)
		text_printf(text, " %6.1f s", (double)row->duration_ns / 1e9);
	else
		text_printf(text, " %8s", "-");
	if (layout.has_counts)
		text_printf(text, " %8" PRIu64, row->samples);
	if (row->load >= 0)
		text_printf(text, " %6.2f", row->load);
	else
		text_printf(text, " %6s", "-");
	if (layout.has_counts && row->complete >= 0)
		table_append_share(text, row->complete, 1, 9);
	else if (layout.has_counts)
		text_printf(text, " %8s", "-");
	append_share(text, row->process, row->process_weight, row->weight, &layout);
	append_share(text, row->function, row->function_weight, row->weight, &layout);
	trim_end(text);
}

static void append_json_name(struct text *text, const char *key, const char *name)
{
	text_printf(text, "\"%s\": ", key);
	json_append_string(text, name, strlen(name));
}

/* "samples" if each weighs 1 */
static void append_json_weight(struct text *text, const struct history_row *row, uint64_t weight)
{
	text_printf(text, ", \"%s\": %" PRIu64 "}",
		    row->weight == row->samples ? "samples" : "weight", weight);
}

void history_row_print_json(const struct history_row *row, struct text *text)
{
	text_append_char(text, '{');
	append_json_name(text, "file", row->file);
	text_append_string(text, ", \"time\": \"");
	append_time(text, row->time_s, false);
	if (row->is_damaged) {
		text_append_string(text, "\", \"damaged\": true}");
		return;
	}
	text_printf(text, "\", \"samples\": %" PRIu64 ", \"lost\": %" PRIu64, row->samples,
		    row->lost);
	if (row->weight != row->samples)
		text_printf(text, ", \"weight\": %" PRIu64, row->weight);
	if (row->duration_ns)
		text_printf(text, ", \"duration_ns\": %" PRIu64, row->duration_ns);
	if (row->load >= 0)
		text_printf(text, ", \"load\": %.4f", row->load);
	if (row->complete >= 0) /* all only if it is all */
		text_printf(text, ", \"complete\": %.4f",
			    row->complete < 1 && row->complete > 0.9999 ? 0.9999 : row->complete);
	if (row->process) {
		text_append_string(text, ", \"process\": {");
		append_json_name(text, "name", row->process);
		append_json_weight(text, row, row->process_weight);
	}
	if (row->function) {
		text_append_string(text, ", \"function\": {");
		append_json_name(text, "name", row->function);
		text_append_string(text, ", ");
		append_json_name(text, "module", row->module);
		append_json_weight(text, row, row->function_weight);
	}
	text_append_char(text, '}');
}

/*
 * The highest load of each time span; below 0 without captures. A column is a time span, and
 * captures are not evenly spread: several share a column, others are empty. The highest is shown,
 * because people look for peaks.
 */
static double fill_columns(const struct history_row *rows, size_t num_rows, size_t num_columns,
			   double *columns)
{
	int64_t first_s = rows[0].time_s;
	double length_s = (double)(rows[num_rows - 1].time_s - first_s) + 1;
	double highest = 0;

	for (size_t i = 0; i < num_columns; i++)
		columns[i] = -1;
	for (size_t i = 0; i < num_rows; i++) {
		size_t column = (size_t)((double)(rows[i].time_s - first_s) / length_s *
					 (double)num_columns);

		if (column < num_columns && rows[i].load > columns[column])
			columns[column] = rows[i].load;
		if (rows[i].load > highest)
			highest = rows[i].load;
	}
	return highest;
}

void history_print_sparkline(const struct history_row *rows, size_t num_rows, size_t num_columns,
			     struct text *text)
{
	static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	double columns[MAX_COLUMNS];
	double highest;

	if (num_columns > MAX_COLUMNS)
		num_columns = MAX_COLUMNS;
	if (!num_rows || !num_columns)
		return;
	highest = fill_columns(rows, num_rows, num_columns, columns);
	if (highest <= 0)
		return;
	for (size_t i = 0; i < num_columns; i++) {
		size_t bar;

		if (columns[i] < 0) {
			text_append_char(text, ' ');
			continue;
		}
		bar = (size_t)(columns[i] / highest * ARRAY_LENGTH(bars));
		text_append_string(text,
				   bars[bar < ARRAY_LENGTH(bars) ? bar : ARRAY_LENGTH(bars) - 1]);
	}
	text_append_char(text, '\n');
}
