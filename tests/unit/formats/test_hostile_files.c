/*
 * Every reader of a foreign format, on inputs that are truncated or have a byte changed, and on such
 * as would unfold to more than any memory holds: each is read, or refused with the position; in time,
 * and in memory that the input's size bounds.
 *
 *   HOSTILE_RUNS=300         changed inputs of each format; the issue asks for 10000
 *   HOSTILE_FOLDER=FOLDER    files to change in place of the fuzz targets' corpora; their formats
 *                            are detected
 *
 * A child reads the inputs one after the other and says in shared memory which it is at, so that
 * a crash or a hang can be reported.
 */
#include "unit.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/attributes.h"
#include "folder_input.h"
#include "formats/format.h"
#include "timeline/timeline.h"

#define DEFAULT_RUNS 300
#define MAX_INPUTS   256
#define MAX_BYTES    (16u << 20)              /* of an input */
#define TIME_LIMIT_S (IS_SANITIZED ? 30 : 10) /* of CPU time: the machine may be busy */
#define FREE_BYTES   (64u << 20)
#define MEMORY_RATIO 4

struct input {
	char name[512];
	uint8_t *data;
	size_t size;
	const struct format *format;
};

struct inputs {
	struct input items[MAX_INPUTS];
	size_t length;
};

enum change { CHANGE_NONE, CHANGE_TRUNCATED, CHANGE_BIT, CHANGE_BYTE };

/* What the child is at, for the parent to report. */
struct progress {
	char input[512];
	char message[512]; /* the complaint, or what the reader said last */
	enum change change;
	size_t offset;
	size_t largest; /* bytes, of all inputs */
	size_t used_kb; /* the child's peak, above where it began */
	unsigned int runs;
};

/* ---- reading one input ---- */

static void complain(struct progress *progress, const char *complaint, const char *message)
{
	snprintf(progress->message, sizeof(progress->message), "%s: %s", complaint, message);
	_exit(1);
}

static int swallow(void *context, const void *data, size_t size)
{
	*(size_t *)context += data ? size : 0;
	return 0;
}

/* "FILE:12: …", "FILE: at byte 12: …" or "FILE/member: at byte 12: …" */
static bool has_position(const char *message)
{
	const char *position = strstr(message, ": at byte ");
	const char *number = position ? position + strlen(": at byte ") : message + strlen("FILE:");
	size_t digits;

	if (strncmp(message, "FILE", 4) != 0 || (!position && message[4] != ':'))
		return false;
	digits = strspn(number, "0123456789");
	return digits && number[digits] == ':' && number[digits + 1] == ' ';
}

static void read_input(struct progress *progress, const struct format *format, const uint8_t *data,
		       size_t size)
{
	struct profile *profile = profile_new();
	struct timeline *timeline = timeline_new();
	struct folder_input folder = {0};
	struct import import = {.name = "FILE",
				.data = data,
				.size = size,
				.profile = profile,
				.timeline = timeline};
	size_t written = 0;
	struct sink sink = {.write = swallow, .context = &written};
	struct format_opts opts = {0};
	int err;

	if (!profile || !timeline || profile_add_source(profile, STRING_EMPTY, &import.source))
		complain(progress, "no memory", "");
	if (format->detect_members && folder_input_open(&folder, data, size)) {
		import.data = NULL;
		import.size = 0;
		import.open_member = folder_input_open_member;
		import.members = folder.names;
		import.num_members = folder.length;
		import.context = &folder;
	}
	err = format->read(&import);
	snprintf(progress->message, sizeof(progress->message), "%s", import.error.message);
	if (err && err != -EBADMSG && err != -EOVERFLOW)
		complain(progress, "the error is not of the input", strerror(-err));
	if (err && !has_position(import.error.message))
		complain(progress, "no position in the message", import.error.message);
	if (!err && format_folded.write(profile, &opts, &sink))
		complain(progress, "what was read cannot be written", "");
	profile_free(profile);
	timeline_free(timeline);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* From now on; 0: no longer. */
static void limit_cpu_time(time_t seconds)
{
	struct itimerval limit = {.it_value.tv_sec = seconds};

	setitimer(ITIMER_PROF, &limit, NULL);
}

static void read_changed(struct progress *progress, const struct input *input, enum change change,
			 uint64_t random)
{
	static const uint8_t values[] = {0, 0xff, 0x7f, 0x80, '0', '9', '"', '<'};
	size_t offset = input->size ? random % input->size : 0;
	size_t size = change == CHANGE_TRUNCATED ? offset : input->size;
	uint8_t *copy = malloc(size ? size : 1); /* of exactly the size, for the sanitizers */

	if (!copy)
		complain(progress, "no memory", "");
	memcpy(copy, input->data, size);
	if (change == CHANGE_BIT && size)
		copy[offset] ^= (uint8_t)(1u << (random >> 40) % 8);
	else if (change == CHANGE_BYTE && size)
		copy[offset] = values[(random >> 40) % sizeof(values)];
	snprintf(progress->input, sizeof(progress->input), "%s", input->name);
	progress->change = change;
	progress->offset = offset;
	progress->runs++;
	if (input->size > progress->largest)
		progress->largest = input->size;
	limit_cpu_time(TIME_LIMIT_S);
	(void)format_detect("x.bin", copy, size);
	read_input(progress, input->format, copy, size);
	limit_cpu_time(0);
	free(copy);
}

/* ---- the child ---- */

/* Above where the child began. */
static size_t get_peak_kb(size_t before_kb)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (size_t)usage.ru_maxrss > before_kb ? (size_t)usage.ru_maxrss - before_kb : 0;
}

/* Where a child's peak starts: at what its parent has, too. */
static size_t get_resident_kb(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file) {
		if (fscanf(file, "%*u %lu", &pages) != 1)
			pages = 0;
		fclose(file);
	}
	return pages * 4;
}

static void read_all_changed(struct progress *progress, const struct inputs *inputs,
			     const struct format *format, unsigned int runs)
{
	uint64_t random = 0x9e3779b97f4a7c15ull;
	size_t count = 0;

	for (size_t i = 0; i < inputs->length; i++)
		if (inputs->items[i].format == format) {
			read_changed(progress, &inputs->items[i], CHANGE_NONE, 0);
			count++;
		}
	for (unsigned int run = 0; count && run < runs;)
		for (size_t i = 0; i < inputs->length && run < runs; i++)
			if (inputs->items[i].format == format) {
				read_changed(progress, &inputs->items[i],
					     CHANGE_TRUNCATED + run / count % 3,
					     next_random(&random));
				run++;
			}
}

static unsigned int get_runs(void)
{
	const char *runs = getenv("HOSTILE_RUNS");

	return runs ? (unsigned int)strtoul(runs, NULL, 10) : DEFAULT_RUNS;
}

/* NULL when out of memory. */
static struct progress *share_progress(void)
{
	void *shared = mmap(NULL, sizeof(struct progress), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return shared == MAP_FAILED ? NULL : shared;
}

static void report(const struct progress *progress, const char *what)
{
	static const char *const changes[] = {"as it is", "truncated", "with a bit flipped",
					      "with a byte replaced"};

	print_error("%s, %s at byte %zu, run %u: %s; %s\n", progress->input,
		    changes[progress->change], progress->offset, progress->runs, what,
		    progress->message);
}

/* Wait for the child, and say what went wrong. */
static bool ended_well(pid_t child, const struct progress *progress)
{
	size_t allowed;
	int status = 0;

	if (waitpid(child, &status, 0) != child)
		return false;
	allowed = MEMORY_RATIO * progress->largest + FREE_BYTES;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
		report(progress, "takes too long");
	else if (WIFSIGNALED(status))
		report(progress, strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		report(progress, "failed");
	else if (!IS_SANITIZED && progress->used_kb > allowed / 1024)
		print_error("%zu kB of memory for inputs of %zu bytes\n", progress->used_kb,
			    progress->largest);
	else
		return true;
	return false;
}

/* ---- inputs ---- */

static void add_input(struct inputs *inputs, const char *path, const struct format *format)
{
	struct input *input = &inputs->items[inputs->length];
	struct stat status;
	FILE *file;

	if (inputs->length == MAX_INPUTS || stat(path, &status) || !S_ISREG(status.st_mode) ||
	    status.st_size > MAX_BYTES)
		return;
	file = fopen(path, "r");
	assert_non_null(file);
	input->size = (size_t)status.st_size;
	input->data = malloc(input->size + 1);
	assert_non_null(input->data);
	assert_int_equal(fread(input->data, 1, input->size, file), input->size);
	fclose(file);
	input->format = format ? format : format_detect(path, input->data, input->size);
	snprintf(input->name, sizeof(input->name), "%s", path);
	if (input->format)
		inputs->length++;
}

static void add_folder(struct inputs *inputs, const char *path, const struct format *format)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	char below[512];

	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		add_input(inputs, below, format);
		if (!format && entry->d_type == DT_DIR)
			add_folder(inputs, below, NULL);
	}
	closedir(folder);
}

/* The corpus of a fuzz target, which is called as the format or its folder, with underscores. A reader has one. */
static void add_corpus(struct inputs *inputs, const struct format *format)
{
	const char *name = format->name;
	size_t before = inputs->length;
	const char *target = strcmp(name, "er") == 0        ? "gprofng"
			     : strcmp(name, "pftrace") == 0 ? "perfetto"
			     : strcmp(name, "offwake") == 0 ? "folded"
							    : name;
	char path[256];

	snprintf(path, sizeof(path), "tests/fuzz/corpus/%s", target);
	for (char *c = path + strlen("tests/fuzz/corpus/"); *c; c++)
		if (*c == '-' || *c == '.')
			*c = '_';
	add_folder(inputs, path, format);
	if (inputs->length == before)
		fail_msg("the reader of %s has no corpus %s", name, path);
	if (strcmp(name, "er") == 0)
		add_folder(inputs, "tests/fuzz/corpus/tar", format);
	if (strcmp(name, "zones") == 0)
		add_folder(inputs, "tests/fuzz/corpus/zones_capture", format);
}

static int load_inputs(void **state)
{
	static struct inputs inputs;
	const char *folder = getenv("HOSTILE_FOLDER");

	if (folder)
		add_folder(&inputs, folder, NULL);
	for (const struct format *const *format = format_get_all(); !folder && *format; format++)
		if ((*format)->read)
			add_corpus(&inputs, *format);
	*state = &inputs;
	return 0;
}

static int free_inputs(void **state)
{
	struct inputs *inputs = *state;

	if (!inputs) /* they could not be loaded */
		return 0;
	for (size_t i = 0; i < inputs->length; i++)
		free(inputs->items[i].data);
	return 0;
}

/* ---- the tests ---- */

/* In a child, so that a crash is one format's. */
static bool reads_or_refuses(const struct inputs *inputs, const struct format *format)
{
	struct progress *progress = share_progress();
	bool is_well;
	pid_t child;

	assert_non_null(progress);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		size_t before_kb = get_resident_kb();

		read_all_changed(progress, inputs, format, get_runs());
		progress->used_kb = get_peak_kb(before_kb);
		_exit(0);
	}
	is_well = ended_well(child, progress);
	if (!getenv("HOSTILE_FOLDER"))
		assert_true(progress->runs > 0);
	if (getenv("HOSTILE_RUNS"))
		print_message("# %s: %u runs, %zu kB\n", format->name, progress->runs,
			      progress->used_kb);
	munmap(progress, sizeof(*progress));
	return is_well;
}

static void changed_inputs_of_every_format_are_read_or_refused(void **state)
{
	const struct inputs *inputs = *state;
	bool all_well = true;

	for (const struct format *const *format = format_get_all(); *format; format++)
		if ((*format)->read)
			all_well &= reads_or_refuses(inputs, *format);
	assert_true(all_well);
}

/* A text, then pieces so many times, and ends as many times. */
struct bomb {
	const char *format;
	const char *start;
	const char *chunk;
	size_t times;
	const char *end; /* NULL: it has none */
};

static bool explodes(const char *name, const struct format *format, const struct text *text)
{
	struct progress *progress = share_progress();
	struct input input = {
		.format = format, .data = (uint8_t *)text->data, .size = text->length};
	bool is_well;
	pid_t child;

	assert_non_null(format);
	assert_non_null(progress);
	assert_false(text->failed);
	snprintf(input.name, sizeof(input.name), "%s", name);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		size_t before_kb = get_resident_kb();

		read_changed(progress, &input, CHANGE_NONE, 0);
		progress->used_kb = get_peak_kb(before_kb);
		_exit(0);
	}
	is_well = ended_well(child, progress);
	if (getenv("HOSTILE_RUNS"))
		print_message("# %s, %zu bytes: %zu kB; %s\n", name, text->length,
			      progress->used_kb, progress->message);
	munmap(progress, sizeof(*progress));
	return !is_well;
}

static bool nesting_explodes(const struct bomb *bomb)
{
	struct text text = {0};
	char name[256];
	bool has_exploded;

	text_append_string(&text, bomb->start);
	for (size_t i = 0; i < bomb->times; i++)
		text_append_string(&text, bomb->chunk);
	for (size_t i = 0; bomb->end && i < bomb->times; i++)
		text_append_string(&text, bomb->end);
	snprintf(name, sizeof(name), "%s: %zu times %.100s", bomb->format, bomb->times,
		 bomb->chunk);
	has_exploded = explodes(name, format_find_name(bomb->format), &text);
	text_release(&text);
	return has_exploded;
}

static void deep_nesting_is_read_or_refused(void **state _unused_)
{
	static const struct bomb bombs[] = {
		{"json", "", "[", 1000000, NULL},
		{"json", "", "{\"children\":[", 1000000, NULL},
		{"json", "", "{\"name\":\"a\",\"value\":1,\"children\":[", 1000000, NULL},
		{"json", "{\"name\":\"a\",\"value\":1,\"x\":", "{\"x\":", 1000000, NULL},
		{"json", "", "{\"name\":\"a\",\"value\":1,\"children\":[", 1000000, "]}"},
		{"json", "", "{\"n\":\"a\",\"v\":1,\"x\":", 1000000, "}"},
		{"cpuprofile", "{\"nodes\":", "[", 1000000, NULL},
		{"cpuprofile", "{\"x\":", "{\"x\":", 1000000, NULL},
		{"cpuprofile", "{\"head\":", "{\"children\":[", 1000000, NULL},
		{"cpuprofile", "{\"head\":",
		 "{\"functionName\":\"a\",\"hitCount\":1,\"id\":1,\"children\":[", 300000, "]}"},
		{"heapprofile", "{\"head\":", "{\"children\":[", 1000000, NULL},
		{"heapprofile", "{\"head\":",
		 "{\"functionName\":\"a\",\"hitCount\":1,\"id\":1,\"children\":[", 300000, "]}"},
		{"firefox", "{\"meta\":", "{\"meta\":", 1000000, NULL},
		{"firefox", "{\"threads\":", "[", 1000000, NULL},
		{"speedscope", "{\"profiles\":", "[", 1000000, NULL},
		{"speedscope", "{\"shared\":", "{\"frames\":", 1000000, NULL},
		{"speedscope",
		 "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":"
		 "{\"frames\":[{\"name\":\"a\"}]},\"profiles\":[{\"type\":\"evented\",\"name\":\"x\","
		 "\"unit\":\"none\",\"startValue\":0,\"endValue\":1,\"events\":[",
		 "{\"type\":\"O\",\"frame\":0,\"at\":0},", 500000, NULL},
		{"svg", "<svg>", "<g>", 1000000, NULL},
		{"svg", "<svg><g id=\"frames\">",
		 "<g><title>a (1 samples, 1%)</title><rect x=\"1\" y=\"1\" width=\"1\"/>", 100000,
		 NULL},
		{"er", "\nFILE: log.xml\n", "<a>", 1000000, NULL},
		{"async-profiler", "<html>\n<title>Tree view</title>\n",
		 "<ul>\n<li><div>1% [9] self: 0% [1]</div> <span class=\"t1\">a</span>\n", 200000,
		 NULL},
		{"async-profiler", "<html>\n<title>Tree view</title>\nBacktrace view, total x: 9\n",
		 "<ul>\n<li><div>1% [9]</div> <span class=\"t1\">a</span>\n", 200000, NULL},
		{"folded", "", "a;", 1000000, NULL},
		{"perf-script", "a 1 1.0: 1 cycles:\n", "\t    1 a (b)\n", 1000000, NULL},
		{"sampling-prof", "", "1,2\n", 1000000, NULL},
		{"zones", "# stackwide zones\n", "BEGIN 1\n", 1000000, NULL},
		{"pftrace", "", "\x0a\x7f", 1000000, NULL},
	};
	bool has_exploded = false;

	for (size_t i = 0; i < sizeof(bombs) / sizeof(bombs[0]); i++)
		has_exploded |= nesting_explodes(&bombs[i]);
	assert_false(has_exploded);
}

/* Packets of a trace that expand to a thousand times their size. */
static void compressed_packets_do_not_fill_the_memory(void **state _unused_)
{
	static uint8_t zeros[1 << 20];
	static uint8_t compressed[1 << 20];
	z_stream stream = {.next_out = compressed, .avail_out = sizeof(compressed)};
	struct text trace = {0};
	uint32_t sizes[2];

	assert_int_equal(deflateInit(&stream, 9), Z_OK);
	for (int i = 0; i < 400; i++) {
		stream.next_in = zeros;
		stream.avail_in = sizeof(zeros);
		assert_int_equal(deflate(&stream, i < 399 ? Z_NO_FLUSH : Z_FINISH),
				 i < 399 ? Z_OK : Z_STREAM_END);
	}
	/* Trace.packet 1, and in it TracePacket.compressed_packets 50; sizes in 4 bytes. */
	sizes[1] = (uint32_t)stream.total_out;
	sizes[0] = sizes[1] + 6;
	for (int level = 0; level < 2; level++) {
		text_append(&trace, level ? "\x92\x03" : "\x0a", level ? 2 : 1);
		for (int i = 0; i < 4; i++)
			text_append_char(&trace, (char)((sizes[level] >> (7 * i) & 0x7f) |
							(i < 3 ? 0x80 : 0)));
	}
	text_append(&trace, compressed, sizes[1]);
	deflateEnd(&stream);
	assert_false(explodes("compressed packets", format_find_name("pftrace"), &trace));
	text_release(&trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changed_inputs_of_every_format_are_read_or_refused),
		cmocka_unit_test(deep_nesting_is_read_or_refused),
		cmocka_unit_test(compressed_packets_do_not_fill_the_memory),
	};

	return cmocka_run_group_tests(tests, load_inputs, free_inputs);
}
