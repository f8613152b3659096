/*
 * What interpreters run, in what is written and read: two scripts of one interpreter stay two.
 */
#include "base/bytes.h"
#include "formats/inflate.h"
#include "import_fixture.h"

static const struct call_tree_opts by_script = {.root = TREE_ROOT_SCRIPT};

static uint32_t add_thread(struct profile *profile, uint32_t pid, const char *comm,
			   const char *script)
{
	uint32_t thread = builder_add_thread(profile, pid, pid, comm);
	uint32_t name;

	assert_int_equal(profile_add_frame_name(profile, script, strlen(script), &name), 0);
	profile_set_process_script(profile, profile_get_thread(profile, thread)->process, name);
	return thread;
}

static struct profile *make_profile(void)
{
	struct profile *profile = profile_new();
	uint32_t first = add_thread(profile, 10, "python3", "manage.py");
	struct thread named = {.tid = 11};

	builder_add_sample(profile, first, "main", 1);
	builder_add_sample(profile, add_thread(profile, 20, "python3", "-m http.server"), "main",
			   2);
	builder_add_sample(profile, add_thread(profile, 30, "sh", "-c"), "main", 4);
	builder_add_sample(profile, builder_add_thread(profile, 40, 40, "python3"), "main", 8);
	builder_add_sample(profile, builder_add_thread(profile, 50, 50, "nginx"), "main", 16);
	/* A thread of the first one that has a name of its own. */
	named.process = profile_get_thread(profile, first)->process;
	assert_int_equal(profile_add_string(profile, "pool", &named.comm), 0);
	assert_int_equal(profile_add_thread(profile, &named, &first), 0);
	builder_add_sample(profile, first, "main", 32);
	return profile;
}

static const char expected[] = "nginx;main 16\n"
			       "pool;main 32\n"
			       "python3 (-m http.server);main 2\n"
			       "python3 (manage.py);main 1\n"
			       "python3;main 8\n"
			       "sh (-c);main 4\n";

static void stacks_start_with_what_interpreters_run(void **state _unused_)
{
	struct profile *profile = make_profile();

	assert_written(&format_folded, profile, by_script, expected);
	/* It is asked for, or it is not there. */
	assert_written(&format_folded, profile, (struct call_tree_opts){0},
		       "nginx;main 16\npool;main 32\npython3;main 11\nsh;main 4\n");
	profile_free(profile);
}

static void assert_read_back(const struct format *format)
{
	struct profile *profile = make_profile();
	struct format_opts opts = {.tree = by_script};
	struct text written = {0};
	struct sink sink = {.write = imported_append, .context = &written};
	struct imported imported = {0};

	assert_int_equal(format->write(profile, &opts, &sink), 0);
	/* pprof's, which readers get decompressed. */
	if (written.data[0] == '\x1f') {
		struct bytes bytes = bytes_of(written.data, written.length);
		struct text plain = {0};

		assert_int_equal(inflate_decompress(&bytes, INFLATE_GZIP, 1 << 20, &plain), 0);
		text_release(&written);
		written = plain;
	}
	if (imported_read(&imported, format, written.data, written.length))
		fail_msg("%s: %s", format->name, imported.import.error.message);
	assert_written(&format_folded, imported.profile, by_script, expected);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "nginx;main 16\npool;main 32\npython3;main 11\nsh;main 4\n");
	text_release(&written);
	imported_release(&imported);
	profile_free(profile);
}

static void formats_that_know_it_keep_it(void **state _unused_)
{
	assert_read_back(&format_svg);
	assert_read_back(&format_json);
	assert_read_back(&format_pprof);
}

/* The profile that is written stays as it is: the next file is of it, too. */
static void writing_changes_no_comm(void **state _unused_)
{
	struct profile *profile = make_profile();
	struct format_opts opts = {.tree = by_script};
	struct text written = {0};
	struct sink sink = {.write = imported_append, .context = &written};

	assert_int_equal(format_svg.write(profile, &opts, &sink), 0);
	for (uint32_t i = 0; i < profile_count_processes(profile); i++)
		assert_null(strchr(
			profile_get_string(profile, profile_get_process(profile, i)->comm), '('));
	text_release(&written);
	profile_free(profile);
}

static void merged_profiles_keep_it(void **state _unused_)
{
	struct profile *profile = make_profile();
	struct profile *into = profile_new();
	uint32_t source;

	assert_int_equal(profile_add_source(into, STRING_EMPTY, &source), 0);
	assert_int_equal(profile_add_source(profile, STRING_EMPTY, &source), 0);
	assert_false(profile_has_scripts(into));
	assert_int_equal(profile_merge(into, profile), 0);
	assert_true(profile_has_scripts(into));
	assert_written(&format_folded, into, by_script, expected);
	profile_free(into);
	profile_free(profile);
}

static void foreign_bytes_do_not_break_a_line(void **state _unused_)
{
	struct profile *profile = profile_new();

	builder_add_sample(profile, add_thread(profile, 1, "python3", " a;b\nc\xff.py\t"), "main",
			   1);
	assert_written(&format_folded, profile, by_script, "python3 (a:b c\xff.py);main 1\n");
	profile_free(profile);
}

static void a_thread_is_found_by_its_label(void **state _unused_)
{
	struct profile *profile = make_profile();

	assert_true(thread_is_labelled(profile, 0, "python3 (manage.py)", 19));
	assert_true(thread_is_labelled(profile, 0, "python3", 7));
	assert_false(thread_is_labelled(profile, 1, "python3 (manage.py)", 19));
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_start_with_what_interpreters_run),
		cmocka_unit_test(formats_that_know_it_keep_it),
		cmocka_unit_test(writing_changes_no_comm),
		cmocka_unit_test(merged_profiles_keep_it),
		cmocka_unit_test(foreign_bytes_do_not_break_a_line),
		cmocka_unit_test(a_thread_is_found_by_its_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
