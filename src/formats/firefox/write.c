/*
 * The Firefox Profiler's processed profile, version 60: the oldest in which threads share the
 * tables of stacks, frames and functions, so that a stack here is a stack there.
 *
 * The file contains every thread once for each metric it has samples of; all but the first are
 * copies under another id. Data that the format has no place for, the exact names of metrics and
 * threads, is in an object `stackwide` of each thread. The samples have no time, and are put one
 * after the other, each as long as it weighs.
 *
 * Source: src/types/profile.ts of the profiler's repository.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "base/json.h"
#include "formats/firefox/write.h"
#include "formats/named_profile.h"
#include "formats/reader.h"
#include "formats/sample_order.h"
#include "formats/thread_note.h"

#define VERSION           60
#define GECKO_VERSION     30
#define DEFAULT_PERIOD_NS 1000000
#define NS_PER_MS         1000000
#define MAX_TIME_NS       1000000000000000000 /* longest drawn duration of a sample */

/* ---- libraries ---- */

/*
 * The build ID, and Breakpad's variant of it: its first 16 bytes as a GUID, and an age. Symbol
 * servers look a library up by either; the GUID's first three numbers are little-endian in a build
 * ID.
 */
static void append_build_id(struct text *text, const struct module *module)
{
	static const uint8_t order[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

	text_append_string(text, ",\"breakpadId\":\"");
	for (size_t i = 0; module && module->build_id_size >= 16 && i < sizeof(order); i++)
		text_printf(text, "%02X", module->build_id[order[i]]);
	text_append_string(text, module && module->build_id_size >= 16 ? "0\"" : "\"");
	if (!module || !module->build_id_size) {
		text_append_string(text, ",\"codeId\":null}");
		return;
	}
	text_append_string(text, ",\"codeId\":\"");
	for (size_t i = 0; i < module->build_id_size; i++)
		text_printf(text, "%02x", module->build_id[i]);
	text_append_string(text, "\"}");
}

static void append_lib(struct firefox_writer *writer, uint32_t row)
{
	static const char *const names[] = {"name", "debugName"};
	static const char *const paths[] = {"path", "debugPath"};
	struct text *text = &writer->text;
	uint32_t id = writer->module_of[row + 1];
	const struct module *module =
		id == UINT32_MAX ? NULL : profile_get_module(writer->original, id);
	const char *name = string_table_get(writer->modules, row + 1);
	const char *path = module ? profile_get_string(writer->original, module->path) : name;

	text_append_string(text, "{\"arch\":\"\"");
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		text_printf(text, ",\"%s\":", names[i]);
		json_append_string(text, name, strlen(name));
		text_printf(text, ",\"%s\":", paths[i]);
		json_append_string(text, path, strlen(path));
	}
	append_build_id(text, module);
}

/* ---- threads ---- */

static const struct sample *get_sample(const struct firefox_writer *writer, uint32_t row)
{
	return profile_get_sample(writer->profile, writer->order[writer->first + row]);
}

/*
 * The format's weights of time are milliseconds: the number of decimals for weights in a unit; -1:
 * not a time.
 */
static int get_time_decimals(const struct firefox_writer *writer, uint32_t metric)
{
	const char *unit = format_get_metric_unit(writer->profile, metric);

	if (string_equals(unit, "nanoseconds"))
		return 6;
	if (string_equals(unit, "microseconds"))
		return 3;
	return string_equals(unit, "milliseconds") ? 0 : -1;
}

static void append_sample_stack(struct firefox_writer *writer, uint32_t row)
{
	uint32_t stack = get_sample(writer, row)->stack;

	if (stack == STACK_EMPTY)
		text_append_string(&writer->text, "null");
	else
		text_append_number(&writer->text, stack - 1);
}

/* number / 10^decimals, without zeros at its end */
static void append_decimal(struct text *text, uint64_t number, int decimals)
{
	char digits[32];
	uint64_t scale = decimals == 6 ? NS_PER_MS : decimals == 3 ? 1000 : 1;
	int length;

	text_append_number(text, number / scale);
	if (number % scale == 0)
		return;
	length = snprintf(digits, sizeof(digits), ".%0*" PRIu64, decimals, number % scale);
	while (digits[length - 1] == '0')
		length--;
	text_append(text, digits, (size_t)length);
}

static void append_weight(struct firefox_writer *writer, uint32_t row)
{
	const struct sample *sample = get_sample(writer, row);
	int decimals = get_time_decimals(writer, sample->metric);

	append_decimal(&writer->text, sample->value, decimals < 0 ? 0 : decimals);
}

/* The profile has sums and no times: a sample starts at the end of the one before it. */
static void append_time_delta(struct firefox_writer *writer, uint32_t row)
{
	const struct sample *sample;
	int decimals;
	uint64_t factor;
	uint64_t time_ns;

	if (!row) {
		text_append_char(&writer->text, '0');
		return;
	}
	sample = get_sample(writer, row - 1);
	decimals = get_time_decimals(writer, sample->metric);
	factor = decimals == 6   ? 1
		 : decimals == 3 ? 1000
		 : decimals == 0 ? NS_PER_MS
				 : writer->period_ns;
	if (__builtin_mul_overflow(sample->value, factor, &time_ns) || time_ns > MAX_TIME_NS)
		time_ns = MAX_TIME_NS;
	append_decimal(&writer->text, time_ns, 6);
}

static int write_samples(struct firefox_writer *writer)
{
	static const struct firefox_column columns[] = {{"stack", append_sample_stack},
							{"timeDeltas", append_time_delta},
							{"weight", append_weight}};
	uint32_t metric = get_sample(writer, 0)->metric;
	const char *type = "samples";

	if (get_time_decimals(writer, metric) >= 0)
		type = "tracing-ms";
	else if (string_equals(format_get_metric_unit(writer->profile, metric), "bytes"))
		type = "bytes";
	text_printf(&writer->text, ",\n\"samples\":{\"weightType\":\"%s\",", type);
	return firefox_write_columns(writer, writer->end - writer->first, columns,
				     ARRAY_LENGTH(columns));
}

/*
 * The first thread with a number keeps it; the others get their index in the file. The profiler
 * distinguishes threads by their number alone.
 */
static int append_tid(struct firefox_writer *writer, uint32_t tid, uint32_t index)
{
	const struct firefox_id id = {tid};
	uint32_t item;

	if (firefox_ids_find(&writer->tids, &id) != HASH_INDEX_NONE) {
		text_printf(&writer->text, "\"%u.%u\"", tid, index);
		return 0;
	}
	text_printf(&writer->text, "\"%u\"", tid);
	return firefox_ids_add(&writer->tids, &id, &item);
}

/* A process has at most one main thread. */
static int append_is_main(struct firefox_writer *writer, uint32_t pid, uint32_t tid)
{
	const struct firefox_id id = {pid};
	bool is_main = pid && pid == tid && firefox_ids_find(&writer->pids, &id) == HASH_INDEX_NONE;
	uint32_t item;

	text_printf(&writer->text, ",\"isMainThread\":%s", is_main ? "true" : "false");
	return is_main ? firefox_ids_add(&writer->pids, &id, &item) : 0;
}

static void append_profile_string(struct firefox_writer *writer, const char *key, uint32_t string)
{
	text_printf(&writer->text, "\"%s\":", key);
	json_append_string(&writer->text, profile_get_string(writer->profile, string),
			   profile_get_string_length(writer->profile, string));
}

/* As people see it; if there are several metrics, the metric follows. */
static void append_thread_name(struct firefox_writer *writer, const struct thread *thread)
{
	uint32_t metric = get_sample(writer, 0)->metric;
	_cleanup_(text_release) struct text name = {0};

	text_append(&name, profile_get_string(writer->profile, thread->comm),
		    profile_get_string_length(writer->profile, thread->comm));
	if (!name.length)
		text_append_string(&name, "all");
	if (metric)
		text_printf(&name, " (%s)", format_get_metric_name(writer->profile, metric));
	text_append_string(&writer->text, "\"name\":");
	json_append_string(&writer->text, name.data ? name.data : "", name.length);
	writer->text.failed |= name.failed;
}

static int append_thread_head(struct firefox_writer *writer, uint32_t index)
{
	const struct sample *sample = get_sample(writer, 0);
	const struct thread *thread = profile_get_thread(writer->profile, sample->thread);
	const struct process_info *process = profile_get_process(writer->profile, thread->process);
	struct text *text = &writer->text;
	int err;

	text_append_char(text, '{');
	append_thread_name(writer, thread);
	text_append_char(text, ',');
	append_profile_string(writer, "processName",
			      process->comm == STRING_EMPTY ? thread->comm : process->comm);
	text_printf(text, ",\"pid\":\"%u\",\"tid\":", process->pid);
	err = append_tid(writer, thread->tid, index);
	if (err)
		return err;
	err = append_is_main(writer, process->pid, thread->tid);
	if (err)
		return err;
	text_append_string(text, ",\"processType\":\"default\",\"processStartupTime\":0,"
				 "\"processShutdownTime\":null,\"registerTime\":0,"
				 "\"unregisterTime\":null,\"pausedRanges\":[],\n");
	thread_note_append(text, writer->profile, sample);
	return 0;
}

static int write_thread(struct firefox_writer *writer, uint32_t index)
{
	int err = append_thread_head(writer, index);

	if (err)
		return err;
	err = write_samples(writer);
	if (err)
		return err;
	text_append_string(&writer->text,
			   "\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],"
			   "\"phase\":[],\"category\":[],\"length\":0}}");
	return 0;
}

/*
 * Samples are in the order of thread and metric, so that each thread of the file is a range of
 * them.
 */
static int write_threads(struct firefox_writer *writer)
{
	uint32_t count = profile_count_samples(writer->profile);
	uint32_t index = 0;

	text_append_string(&writer->text, "\"threads\":[");
	for (writer->first = 0; writer->first < count; writer->first = writer->end) {
		int err;

		writer->end = sample_order_find_end(writer->profile, writer->order, writer->first);
		text_append_string(&writer->text, index ? ",\n" : "\n");
		err = write_thread(writer, index++);
		if (err)
			return err;
	}
	text_append_string(&writer->text, "]}\n");
	return 0;
}

/* ---- the whole ---- */

static int write_libs(struct firefox_writer *writer)
{
	static const struct firefox_column libs = {"libs", append_lib};

	return firefox_write_column(writer, string_table_get_count(writer->modules) - 1, &libs);
}

static void append_meta(struct firefox_writer *writer)
{
	struct text *text = &writer->text;

	text_append_string(text, "{\"meta\":{\"interval\":");
	append_decimal(text, writer->period_ns, 6);
	text_append_string(text, ",\"startTime\":");
	append_decimal(text, profile_get_sampling(writer->original)->start_ns, 6);
	text_printf(text,
		    ",\"version\":%d,\"preprocessedProfileVersion\":%d,\"product\":\"stackwide\","
		    "\"importedFrom\":\"stackwide %s\",\"processType\":0,\"stackwalk\":1,"
		    "\"symbolicated\":true,\"usesOnlyOneStackType\":true,"
		    "\"sourceCodeIsNotOnSearchfox\":true,\"keepProfileThreadOrder\":true,"
		    "\"markerSchema\":[],\n",
		    GECKO_VERSION, VERSION, STACKWIDE_VERSION);
	firefox_append_categories(text);
	text_append_string(
		text, "\"extensions\":{\"baseURL\":[],\"id\":[],\"name\":[],\"length\":0}},\n");
}

static int write_all(struct firefox_writer *writer)
{
	int err = sample_order_new(writer->profile, &writer->order);

	if (err)
		return err;
	err = firefox_collect(writer);
	if (err)
		return err;
	append_meta(writer);
	err = write_libs(writer);
	if (err)
		return err;
	err = firefox_write_shared(writer);
	if (err)
		return err;
	err = write_threads(writer);
	if (err)
		return err;
	return sink_flush(writer->sink, &writer->text);
}

/* The profile's locations are named frames. */
static void release_writer(struct firefox_writer *writer)
{
	string_table_free(writer->strings);
	string_table_free(writer->files);
	string_table_free(writer->modules);
	firefox_func_keys_release(&writer->func_keys);
	firefox_ids_release(&writer->pids);
	firefox_ids_release(&writer->tids);
	free(writer->funcs);
	free(writer->module_of);
	free(writer->order);
	text_release(&writer->text);
}

/* The profile's locations are named frames. */
static int write_named(const struct profile *profile, const struct profile *original,
		       const struct sink *sink)
{
	_cleanup_(release_writer) struct firefox_writer writer = {
		.profile = profile,
		.original = original,
		.sink = sink,
		.strings = string_table_new(),
		.files = string_table_new(),
		.modules = string_table_new(),
		.period_ns = profile_get_sampling(original)->period_ns,
	};

	if (!writer.strings || !writer.files || !writer.modules)
		return -ENOMEM;
	if (!writer.period_ns)
		writer.period_ns = DEFAULT_PERIOD_NS;
	return write_all(&writer);
}

static int firefox_write(const struct profile *profile, const struct format_opts *opts _unused_,
			 const struct sink *sink)
{
	struct profile *named;
	int err;

	if (named_profile_is_needless(profile))
		return write_named(profile, profile, sink);
	err = named_profile_copy(profile, &named);
	if (err)
		return err;
	err = write_named(named, profile, sink);
	profile_free(named);
	return err;
}

const struct format format_firefox = {
	.name = "firefox",
	.extension = ".firefox.json",
	.summary = "profiles for profiler.firefox.com: all threads and metrics",
	.has_all_metrics = true,
	.has_threads = true,
	.has_lines = true,
	.write = firefox_write,
	.detect = firefox_detect,
	.read = firefox_read,
};
