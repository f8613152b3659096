/* Which --to goes with which -o, and what is refused. */
#include "cli/files/output_options.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "profile_builder.h"

/* clang-format off */
#include "caught_output.h"
/* clang-format on */

static struct output_options options;
static char message[1024];

static int set_up(void **state _unused_)
{
	options = (struct output_options){0};
	log_set_level(LOG_LEVEL_NORMAL);
	return 0;
}

static int tear_down(void **state _unused_)
{
	output_options_release(&options);
	return 0;
}

static int handle(int id, const char *value)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);
	int err = output_options_handle(&options, id, value, "convert");

	caught_output_end(&caught, message, sizeof(message));
	return err;
}

static int finish(void)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);
	int err = output_options_finish(&options);

	caught_output_end(&caught, message, sizeof(message));
	return err;
}

static void a_format_is_of_the_next_file(void **state _unused_)
{
	assert_int_equal(handle(OPTION_OUTPUT, "a"), 0);
	assert_int_equal(handle(OPTION_TO, "folded"), 0);
	assert_int_equal(handle(OPTION_OUTPUT, "b"), 0);
	assert_int_equal(handle(OPTION_OUTPUT, "c"), 0);
	assert_int_equal(finish(), 0);
	assert_int_equal(options.requests.length, 3);
	assert_null(options.requests.items[0].format);
	assert_string_equal(options.requests.items[1].format, "folded");
	assert_null(options.requests.items[2].format);
	assert_string_equal(options.requests.items[2].path, "c");
}

static void the_last_format_may_come_behind_its_file(void **state _unused_)
{
	assert_int_equal(handle(OPTION_OUTPUT, "a"), 0);
	assert_int_equal(handle(OPTION_OUTPUT, "b"), 0);
	assert_int_equal(handle(OPTION_TO, "svg"), 0);
	assert_int_equal(finish(), 0);
	assert_null(options.requests.items[0].format);
	assert_string_equal(options.requests.items[1].format, "svg");
}

static void a_format_without_a_file_is_refused(void **state _unused_)
{
	assert_int_equal(handle(OPTION_TO, "svg"), 0);
	assert_int_equal(finish(), -EINVAL);
	assert_string_equal(message, "stackwide: --to 'svg' needs an -o\n");
	/* The last file has one. */
	assert_int_equal(handle(OPTION_OUTPUT, "a"), 0);
	assert_int_equal(handle(OPTION_TO, "folded"), 0);
	assert_int_equal(finish(), -EINVAL);
	assert_string_equal(message, "stackwide: --to 'folded' needs an -o\n");
}

static void roots_have_names(void **state _unused_)
{
	static const struct {
		const char *name;
		enum tree_root root;
	} cases[] = {{"comm", TREE_ROOT_COMM},
		     {"script", TREE_ROOT_SCRIPT},
		     {"pid", TREE_ROOT_PID},
		     {"tid", TREE_ROOT_TID},
		     {"none", TREE_ROOT_NONE}};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		assert_int_equal(handle(OPTION_ROOT, cases[i].name), 0);
		assert_int_equal(options.tree.root, cases[i].root);
	}
	assert_int_equal(handle(OPTION_ROOT, "user"), -EINVAL);
	assert_non_null(strstr(message, "--root 'user': expected comm, script, pid, tid or none; "
					"see 'stackwide help convert'"));
}

static void flags_are_set(void **state _unused_)
{
	assert_int_equal(handle(OPTION_NO_ANNOTATIONS, NULL), 0);
	assert_int_equal(handle(OPTION_COMPRESS, NULL), 0);
	assert_int_equal(handle(OPTION_TITLE, "A title"), 0);
	assert_true(options.tree.no_annotations);
	assert_true(options.is_compressed);
	assert_string_equal(options.svg.title, "A title");
	assert_int_equal(handle(1, NULL), -EINVAL);
}

/* Only where they were asked for, and there are none. */
static void scripts_that_are_not_known_are_reported(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct caught_output caught = caught_output_start(STDERR_FILENO);
	uint32_t script;
	size_t num_bytes;

	options.tree.root = TREE_ROOT_PID;
	output_options_warn_of_root(&options, profile);
	options.tree.root = TREE_ROOT_SCRIPT;
	output_options_warn_of_root(&options, profile);
	caught_output_end(&caught, message, sizeof(message));
	assert_non_null(strstr(message, "warning: --root script: the input has no command lines"));
	num_bytes = strlen(message);
	assert_ptr_equal(strchr(message, '\n'), message + num_bytes - 1); /* once */
	assert_int_equal(profile_add_string(profile, "manage.py", &script), 0);
	builder_add_sample(profile, builder_add_thread(profile, 1, 1, "python3"), "main", 1);
	profile_set_process_script(profile, 0, script);
	caught = caught_output_start(STDERR_FILENO);
	output_options_warn_of_root(&options, profile);
	caught_output_end(&caught, message, sizeof(message));
	assert_string_equal(message, "");
	profile_free(profile);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_format_is_of_the_next_file),
		TEST(the_last_format_may_come_behind_its_file),
		TEST(a_format_without_a_file_is_refused),
		TEST(roots_have_names),
		TEST(flags_are_set),
		TEST(scripts_that_are_not_known_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
