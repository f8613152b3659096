/*
 * The walk in the memory of interpreters that run: a program (standing.py) writes what Python itself says of its frames, and
 * stands still while it is compared.
 *
 * Interpreters are taken where they usually are; STACKWIDE_TEST_PYTHONS names more, with `:` between their paths.
 */
#include "runtime/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/text.h"
#include "python_interpreters.h"
#include "unit.h"

#define PYTHON_INLINE static inline
#include "runtime/python_walk.h"

#define PROGRAM     "tests/unit/runtime/standing.py"
#define FIRST_KNOWN 8
#define LAST_KNOWN  15
#define MAX_WORD    8192

/* What Python says. */
struct truth_text {
	uint32_t kind;
	uint32_t length;
	char hex[MAX_WORD];
};

struct truth_frame {
	uint64_t code;
	int64_t instruction; /* below 0: not known */
	char run;
	uint32_t first_line;
	struct truth_text name;
	struct truth_text file;
	char lines[MAX_WORD];
};

struct truth_thread {
	uint64_t thread_pointer;
	ARRAY(struct truth_frame) frames;
};

struct live_python {
	struct python_walk walk; /* first: what the walk hands to python_read() */
	struct wire_runtime_frame frames[WIRE_MAX_RUNTIME_FRAMES];
	struct wire_python_code code;
	pid_t pid;
	int stdin_fd;
	FILE *output;
	int memory_fd;
	struct runtime_build build;
	uint64_t bias;
};

static int python_read(struct python_walk *walk, void *ret, wire_u32 bytes, wire_u64 address)
{
	const struct live_python *live = (const struct live_python *)walk;
	uint8_t read[PYTHON_WINDOW_WORDS * 8];

	assert_true(bytes <= sizeof(read));
	if (pread(live->memory_fd, read, bytes, (off_t)address) != (ssize_t)bytes)
		return -1;
	memcpy(ret, read, bytes);
	return 0;
}

/*
 * An interpreter of this machine, running.
 */

static void start(struct live_python *live, const char *interpreter, const char *mode)
{
	int input[2];
	int output[2];

	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	assert_int_equal(pipe2(output, O_CLOEXEC), 0);
	live->pid = fork();
	assert_true(live->pid >= 0);
	if (!live->pid) {
		if (dup2(input[0], 0) < 0 || dup2(output[1], 1) < 0)
			_exit(127);
		execl(interpreter, interpreter, "-I", "-S", "-X", "utf8", PROGRAM, mode, NULL);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	live->stdin_fd = input[1];
	live->output = fdopen(output[0], "r");
	assert_non_null(live->output);
}

static void stop(struct live_python *live)
{
	int status;

	close(live->stdin_fd);
	fclose(live->output);
	if (live->memory_fd >= 0)
		close(live->memory_fd);
	/* Some interpreters wait for threads that will never end. */
	kill(live->pid, SIGKILL);
	assert_int_equal(waitpid(live->pid, &status, 0), live->pid);
}

static const char *next_word(char **rest)
{
	const char *word = strsep(rest, " \n");

	assert_non_null(word);
	assert_true(strlen(word) < MAX_WORD);
	return word;
}

static void read_text(char **rest, struct truth_text *ret)
{
	ret->kind = (uint32_t)strtoul(next_word(rest), NULL, 10);
	ret->length = (uint32_t)strtoul(next_word(rest), NULL, 10);
	strcpy(ret->hex, next_word(rest));
}

/* What a thread writes when it stands still. Returns false where the program has ended instead. */
static bool read_thread(struct live_python *live, struct truth_thread *ret)
{
	char *line = NULL;
	size_t size = 0;
	bool is_whole = false;

	memset(ret, 0, sizeof(*ret));
	while (!is_whole && getline(&line, &size, live->output) >= 0) {
		char *rest = line;
		const char *what = next_word(&rest);
		struct truth_frame *frame;

		if (string_equals(what, "thread")) {
			ret->thread_pointer = strtoull(next_word(&rest), NULL, 10);
		} else if (string_equals(what, "frame")) {
			frame = array_add(&ret->frames);
			assert_non_null(frame);
			frame->code = strtoull(next_word(&rest), NULL, 10);
			frame->instruction = strtoll(next_word(&rest), NULL, 10);
			frame->run = *next_word(&rest);
			frame->first_line = (uint32_t)strtoul(next_word(&rest), NULL, 10);
			read_text(&rest, &frame->name);
			read_text(&rest, &frame->file);
			strcpy(frame->lines, next_word(&rest));
		} else {
			is_whole = string_equals(what, ".");
		}
	}
	free(line);
	return is_whole;
}

/* Look for CPython in a file that is mapped. Returns whether it is there. */
static bool look_into(struct live_python *live, const char *path,
		      const struct objfile_mapping *mapping)
{
	struct objfile *objfile;
	bool is_there;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return false;
	err = objfile_open(fd, path, NULL, &objfile, NULL);
	close(fd);
	if (err)
		return false;
	is_there = !runtime_find(objfile, &live->build);
	if (is_there)
		assert_int_equal(objfile_get_bias(objfile, mapping, &live->bias), 0);
	objfile_unref(objfile);
	return is_there;
}

/* Returns whether the process has CPython in one of its files. */
static bool open_memory(struct live_python *live)
{
	char path[PATH_MAX];
	char *line = NULL;
	size_t size = 0;
	bool is_found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/mem", live->pid);
	live->memory_fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(live->memory_fd >= 0);
	snprintf(path, sizeof(path), "/proc/%d/maps", live->pid);
	maps = fopen(path, "re");
	assert_non_null(maps);
	while (!is_found && getline(&line, &size, maps) > 0) {
		struct objfile_mapping mapping;
		char permissions[5];
		int name = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n",
			   &mapping.start, &mapping.end, permissions, &mapping.file_offset,
			   &name) < 4 ||
		    permissions[2] != 'x' || !name || line[name] != '/')
			continue;
		line[strcspn(line, "\n")] = '\0';
		is_found = look_into(live, line + name, &mapping);
	}
	free(line);
	fclose(maps);
	return is_found;
}

static void walk_thread(struct live_python *live, uint64_t thread_pointer, uint64_t thread_state)
{
	unsigned int num_steps = 0;

	if (python_walk_start(&live->walk, &live->build.layout.python,
			      live->build.state + live->bias, thread_pointer, thread_state))
		return;
	while (!python_walk_step(&live->walk, live->frames))
		assert_true(++num_steps < PYTHON_MAX_STEPS);
}

/*
 * Each test is done with all interpreters that are known; those that are not are said.
 */

struct scenario {
	const char *mode;
	unsigned int num_threads; /* that stand still */
	void (*check)(struct live_python *live, const struct truth_thread *truth);
};

/* Returns whether it is one that is known, and then has its minor version. */
static bool check_interpreter(const char *interpreter, const struct scenario *scenario,
			      unsigned int *ret_minor)
{
	static struct live_python live; /* larger than a stack likes */
	struct truth_thread threads[2];
	bool is_known = false;

	memset(&live, 0, sizeof(live));
	live.memory_fd = -1;
	start(&live, interpreter, scenario->mode);
	assert_true(scenario->num_threads <= ARRAY_LENGTH(threads));
	for (unsigned int i = 0; i < scenario->num_threads; i++)
		if (!read_thread(&live, &threads[i]))
			fail_msg("%s %s has not come to a stand", interpreter, scenario->mode);
	if (!open_memory(&live)) {
		print_message("%s: skipped, no symbols of CPython in any file\n", interpreter);
	} else if (live.build.support != SUPPORT_KNOWN) {
		print_message("%s: skipped, 3.%u is not known (%d)\n", interpreter,
			      live.build.minor, (int)live.build.support);
		assert_true(live.build.minor < FIRST_KNOWN || live.build.minor > LAST_KNOWN ||
			    live.build.support != SUPPORT_UNKNOWN_VERSION);
	} else {
		is_known = true;
		*ret_minor = live.build.minor;
		print_message("%s: 3.%u\n", interpreter, live.build.minor);
		for (unsigned int i = 0; i < scenario->num_threads; i++)
			scenario->check(&live, &threads[i]);
	}
	stop(&live);
	for (unsigned int i = 0; i < scenario->num_threads; i++)
		array_release(&threads[i].frames);
	return is_known;
}

static void check_all(const struct scenario *scenario)
{
	struct interpreter_list list = {0};
	bool is_checked[LAST_KNOWN + 1] = {false};
	unsigned int num_checked = 0;

	find_interpreters(&list);
	array_for_each (&list.paths, path) {
		unsigned int minor;

		if (!check_interpreter(*path, scenario, &minor))
			continue;
		num_checked++;
		assert_in_range(minor, FIRST_KNOWN, LAST_KNOWN);
		is_checked[minor] = true;
	}
	for (unsigned int minor = FIRST_KNOWN; minor <= LAST_KNOWN; minor++)
		if (!is_checked[minor])
			print_message("3.%u: skipped, not on this machine\n", minor);
	release_interpreters(&list);
	if (!num_checked)
		fail_msg("no interpreter: install python3, or set STACKWIDE_TEST_PYTHONS");
}

static void check_frame(const struct live_python *live, const struct wire_runtime_frame *frame,
			const struct truth_frame *truth)
{
	uint32_t instruction =
		frame->position & ~(WIRE_RUNTIME_ENTRY_FRAME | WIRE_PYTHON_NOT_STARTED);

	assert_int_equal(frame->code, truth->code);
	assert_false(frame->position & WIRE_PYTHON_NOT_STARTED);
	if (truth->instruction >= 0)
		assert_int_equal(instruction, truth->instruction);
	if (truth->run == 'c' || live->build.minor <= 10)
		assert_true(frame->position & WIRE_RUNTIME_ENTRY_FRAME);
	else if (truth->run == 'p')
		assert_false(frame->position & WIRE_RUNTIME_ENTRY_FRAME);
}

static void check_frames(struct live_python *live, const struct truth_thread *truth)
{
	walk_thread(live, truth->thread_pointer, 0);
	assert_int_equal(live->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(live->walk.num_frames, truth->frames.length);
	for (size_t i = 0; i < truth->frames.length; i++)
		check_frame(live, &live->frames[i], &truth->frames.items[i]);
	/* The outermost is always called from C. */
	assert_true(live->frames[truth->frames.length - 1].position & WIRE_RUNTIME_ENTRY_FRAME);
}

static void every_frame_of_every_thread_is_found(void **state)
{
	static const struct scenario scenario = {"chain", 2, check_frames};

	(void)state;
	check_all(&scenario);
}

static void check_text(const struct wire_python_text *text, const wire_u8 *bytes, uint32_t limit,
		       const struct truth_text *truth)
{
	size_t num_bytes = strlen(truth->hex) / 2;

	assert_int_equal(text->kind, truth->kind);
	assert_int_equal(text->length, truth->length);
	assert_int_equal(text->num_bytes, num_bytes < limit ? num_bytes : limit);
	for (uint32_t i = 0; i < text->num_bytes; i++)
		assert_int_equal(bytes[i], hex_digit_value(truth->hex[2 * i]) * 16 +
						   hex_digit_value(truth->hex[2 * i + 1]));
	for (uint32_t i = text->num_bytes; i < limit; i++)
		assert_int_equal(bytes[i], 0);
}

static void check_codes(struct live_python *live, const struct truth_thread *truth)
{
	struct wire_python_code *code = &live->code;

	walk_thread(live, truth->thread_pointer, 0);
	assert_int_equal(live->walk.num_frames, truth->frames.length);
	for (size_t i = 0; i < truth->frames.length; i++) {
		const struct truth_frame *expected = &truth->frames.items[i];
		size_t line_bytes = strlen(expected->lines) / 2;

		memset(code, 0xff, sizeof(*code));
		assert_int_equal(python_read_code(&live->walk, live->frames[i].code, code), 0);
		assert_int_equal(code->code, expected->code);
		assert_int_equal(code->fingerprint, live->frames[i].fingerprint);
		assert_int_not_equal(code->fingerprint, 0);
		assert_int_equal(code->first_line, expected->first_line);
		assert_int_equal(code->minor, live->build.minor);
		check_text(&code->name, code->name_text, WIRE_PYTHON_NAME_BYTES, &expected->name);
		check_text(&code->file, code->file_text, WIRE_PYTHON_FILE_BYTES, &expected->file);
		assert_int_equal(code->line_bytes, line_bytes);
		assert_int_equal(code->num_line_bytes, line_bytes < WIRE_PYTHON_LINE_BYTES
							       ? line_bytes
							       : WIRE_PYTHON_LINE_BYTES);
		for (uint32_t j = 0; j < code->num_line_bytes; j++)
			assert_int_equal(code->lines[j],
					 hex_digit_value(expected->lines[2 * j]) * 16 +
						 hex_digit_value(expected->lines[2 * j + 1]));
	}
}

static void code_objects_say_their_names_and_lines(void **state)
{
	static const struct scenario scenario = {"chain", 2, check_codes};

	(void)state;
	check_all(&scenario);
}

static void check_remembered(struct live_python *live, const struct truth_thread *truth)
{
	uint64_t found;

	walk_thread(live, truth->thread_pointer, 0);
	found = live->walk.thread_state;
	assert_int_not_equal(found, 0);
	assert_int_not_equal(live->walk.num_looks, 0);

	walk_thread(live, truth->thread_pointer, found);
	assert_int_equal(live->walk.thread_state, found);
	assert_int_equal(live->walk.num_looks, 0);
	assert_int_equal(live->walk.num_frames, truth->frames.length);

	/* It is another thread's, or is not there any more. */
	walk_thread(live, truth->thread_pointer + 8, found);
	assert_int_equal(live->walk.end, WIRE_RUNTIME_NO_THREAD);
	assert_int_equal(live->walk.thread_state, 0);
	walk_thread(live, truth->thread_pointer, 8);
	assert_int_equal(live->walk.thread_state, found);
	assert_int_equal(live->walk.num_frames, truth->frames.length);
}

static void a_state_is_remembered_while_it_is_the_threads(void **state)
{
	static const struct scenario scenario = {"chain", 2, check_remembered};

	(void)state;
	check_all(&scenario);
}

static void check_deep(struct live_python *live, const struct truth_thread *truth)
{
	assert_true(truth->frames.length > WIRE_MAX_RUNTIME_FRAMES);
	walk_thread(live, truth->thread_pointer, 0);
	assert_int_equal(live->walk.end, WIRE_RUNTIME_DEEP);
	assert_int_equal(live->walk.num_frames, WIRE_MAX_RUNTIME_FRAMES);
	for (size_t i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i++)
		check_frame(live, &live->frames[i], &truth->frames.items[i]);
}

static void of_a_deep_recursion_the_inner_frames_are_there(void **state)
{
	static const struct scenario scenario = {"deep", 1, check_deep};

	(void)state;
	check_all(&scenario);
}

static void frames_of_subinterpreters_lie_on_those_that_called_them(void **state)
{
	static const struct scenario scenario = {"interpreters", 1, check_frames};

	(void)state;
	check_all(&scenario);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_of_every_thread_is_found),
		cmocka_unit_test(code_objects_say_their_names_and_lines),
		cmocka_unit_test(a_state_is_remembered_while_it_is_the_threads),
		cmocka_unit_test(of_a_deep_recursion_the_inner_frames_are_there),
		cmocka_unit_test(frames_of_subinterpreters_lie_on_those_that_called_them),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
