#include "import_fixture.h"
#include "trace_builder.h"
#include "zones_builder.h"

static void put_line(struct text *address, const char *function, const char *file, uint32_t number)
{
	struct text line = {0};

	put_string(&line, 1, function);
	put_string(&line, 2, file);
	put(&line, 3, number);
	put_message(address, 2, &line);
}

/* Names for the first unsymbolized address of make_anonymous(), where the file has this build ID. */
static struct text make_named(const char *build_id)
{
	struct text trace = make_anonymous();
	struct text symbols = {0};
	struct text address = {0};

	put(&address, 1, 0x1231);
	put_line(&address, "inner(int)", "in.h", 4);
	put_line(&address, "outer;", "out.c", 9);
	put_string(&symbols, 1, "/opt/app/libx.so");
	put_string(&symbols, 2, build_id);
	put_message(&symbols, 3, &address);
	put_packet(&trace, 2, 0, 9, SYMBOLS, &symbols);
	return trace;
}

static void names_that_were_appended_are_those_of_their_address(void **state _unused_)
{
	struct text trace = make_named("\xab\xcd");
	struct imported imported = {0};
	uint32_t num_found = 0;

	assert_int_equal(imported_read(&imported, &format_pftrace, trace.data, trace.length), 0);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "[unknown];main;outer:;inner(int)_[i];libx.so+0x1232 1\n");
	for (uint32_t i = 0; i < profile_count_frames(imported.profile); i++) {
		const struct frame *frame = profile_get_frame(imported.profile, i);

		if (!frame->is_inlined)
			continue;
		num_found++;
		assert_int_equal(frame->line, 4);
		assert_string_equal(profile_get_string(imported.profile, frame->file), "in.h");
		assert_string_equal(profile_get_string(imported.profile, frame->module), "libx.so");
	}
	assert_int_equal(num_found, 1);
	imported_release(&imported);
	text_release(&trace);
}

static void names_of_another_build_are_not_taken(void **state _unused_)
{
	struct text trace = make_named("\xab\xce");
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, &format_pftrace, trace.data, trace.length), 0);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "[unknown];main;libx.so+0x1231;libx.so+0x1232 1\n");
	imported_release(&imported);
	text_release(&trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_were_appended_are_those_of_their_address),
		cmocka_unit_test(names_of_another_build_are_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
