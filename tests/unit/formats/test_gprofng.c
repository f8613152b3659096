#include "gprofng_writer.h"
#include "import_fixture.h"

#define FORMAT (&format_gprofng)

/* Two functions have names: code that the kernel gave, and stacks that were truncated. */
#define VDSO      0x7004
#define MAIN      0x400010
#define LEAF      0x400020
#define TRUNCATED (UINT64_MAX - 1)

/* An archive of one experiment, finished. */
static struct text finish(struct gprofng_writer *writer)
{
	struct text tar = {0};

	gprofng_finish(writer, "x.er", &tar);
	tar_finish(&tar);
	return tar;
}

static void read_tar(struct imported *imported, struct text *tar)
{
	int err = imported_read(imported, FORMAT, tar->data, tar->length);

	assert_string_equal(imported->import.error.message, "");
	assert_int_equal(err, 0);
	text_release(tar);
}

/* The archive is read without a warning and is these stacks in the metric of that name. */
static void assert_tar(struct text *tar, const char *metric, const char *expected)
{
	struct imported imported = {0};
	struct call_tree_opts tree = {0};

	read_tar(&imported, tar);
	assert_string_equal(imported.warnings.data, "");
	tree.metric = profile_find_metric(imported.profile, metric);
	assert_int_not_equal(tree.metric, METRIC_NONE);
	assert_written(&format_folded, imported.profile, tree, expected);
	imported_release(&imported);
}

static struct gprofng_writer make_clock(const char *states)
{
	struct gprofng_writer writer = gprofng_writer_new("", "profile");

	text_append_string(&writer.log, string_equals(states, "1") ? GPROFNG_CLOCK_PROFILE("1")
								   : GPROFNG_CLOCK_PROFILE("10"));
	gprofng_put_frames(&writer.frames, 1, 1, 101, GPROFNG_WORDS(VDSO));
	return writer;
}

static void ticks_are_cpu_time_of_the_stack(void **state _unused_)
{
	struct gprofng_writer writer = make_clock("1");
	struct text tar;

	gprofng_put_clock(&writer.data, 7, 1, 10, 2);
	gprofng_put_clock(&writer.data, 8, 1, 10, 1);
	tar = finish(&writer);
	assert_tar(&tar, "cpu", "work;__vdso_time 30000000\n");
}

static void threads_keep_their_ids(void **state _unused_)
{
	struct gprofng_writer writer = make_clock("1");
	struct imported imported = {0};
	struct text tar;

	gprofng_put_clock(&writer.data, 7, 1, 10, 2);
	gprofng_put_clock(&writer.data, 8, 1, 10, 1);
	tar = finish(&writer);
	read_tar(&imported, &tar);
	assert_written(&format_folded, imported.profile,
		       (struct call_tree_opts){.root = TREE_ROOT_TID},
		       "work-7/7;__vdso_time 20000000\nwork-7/8;__vdso_time 10000000\n");
	imported_release(&imported);
}

static void every_state_of_a_thread_is_a_metric(void **state _unused_)
{
	struct gprofng_writer writer = make_clock("10");
	struct imported imported = {0};
	struct text tar;

	gprofng_put_clock(&writer.data, 7, 1, 0, 1);
	gprofng_put_clock(&writer.data, 7, 1, 7, 4);
	tar = finish(&writer);
	read_tar(&imported, &tar);
	assert_int_equal(profile_count_metrics(imported.profile), 4);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 0},
		       "work;__vdso_time 10000000\n");
	assert_string_equal(format_get_metric_name(imported.profile, 1), "thread_time");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 1},
		       "work;__vdso_time 50000000\n");
	assert_string_equal(format_get_metric_name(imported.profile, 3), "sleep");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 3},
		       "work;__vdso_time 40000000\n");
	imported_release(&imported);
}

static void addresses_become_offsets_in_files(void **state _unused_)
{
	struct gprofng_writer writer = gprofng_writer_new(GPROFNG_CLOCK_PROFILE("1"), "profile");
	struct imported imported = {0};
	const struct location *location;
	uint32_t stack;
	struct text tar;

	gprofng_put_frames(&writer.frames, 1, 1, 101, GPROFNG_WORDS(LEAF, MAIN));
	gprofng_put_clock(&writer.data, 7, 1, 10, 1);
	tar = finish(&writer);
	read_tar(&imported, &tar);
	assert_int_equal(profile_count_samples(imported.profile), 1);
	stack = profile_get_sample(imported.profile, 0)->stack;
	location = profile_get_location(imported.profile,
					profile_get_stack_location(imported.profile, stack));
	assert_int_equal(location->space, LOCATION_FILE);
	assert_int_equal(location->address, 0x1020);
	assert_string_equal(
		profile_get_string(imported.profile,
				   profile_get_module(imported.profile, location->owner)->path),
		"/bin/work");
	stack = profile_get_stack_parent(imported.profile, stack);
	location = profile_get_location(imported.profile,
					profile_get_stack_location(imported.profile, stack));
	assert_int_equal(location->address, 0x1010);
	imported_release(&imported);
}

static void code_is_called_by_its_place_where_nobody_has_the_file(void **state _unused_)
{
	struct gprofng_writer writer = gprofng_writer_new(GPROFNG_CLOCK_PROFILE("1"), "profile");
	struct text tar;

	gprofng_put_frames(&writer.frames, 1, 1, 101, GPROFNG_WORDS(LEAF, MAIN));
	gprofng_put_clock(&writer.data, 7, 1, 10, 1);
	tar = finish(&writer);
	assert_tar(&tar, "cpu", "work;work+0x1010;work+0x1020 10000000\n");
}

static void a_linked_stack_goes_on_in_another_wherever_it_is(void **state _unused_)
{
	struct gprofng_writer writer = make_clock("1");
	struct text tar;

	gprofng_put_frames(&writer.frames, 2, 0x80000001, 102, GPROFNG_WORDS(VDSO, VDSO, 103));
	gprofng_put_frames(&writer.frames, 3, 1, 103, GPROFNG_WORDS(VDSO, TRUNCATED));
	gprofng_put_frames(&writer.frames, 4, 1, 103, NULL, 0);
	gprofng_put_clock(&writer.data, 7, 2, 10, 1);
	gprofng_put_clock(&writer.data, 7, 4, 10, 1);
	tar = finish(&writer);
	assert_tar(&tar, "cpu",
		   "work;[truncated];__vdso_time 10000000\n"
		   "work;[truncated];__vdso_time;__vdso_time;__vdso_time 10000000\n");
}

static void links_in_a_circle_are_truncated(void **state _unused_)
{
	struct gprofng_writer writer = make_clock("1");
	struct imported imported = {0};
	struct text tar;

	gprofng_put_frames(&writer.frames, 2, 0x80000001, 102, GPROFNG_WORDS(VDSO, 103));
	gprofng_put_frames(&writer.frames, 3, 0x80000001, 103, GPROFNG_WORDS(VDSO, 102));
	gprofng_put_clock(&writer.data, 7, 2, 10, 1);
	tar = finish(&writer);
	read_tar(&imported, &tar);
	assert_int_equal(imported.import.counts.truncated_stacks, 1);
	imported_release(&imported);
}

static void a_stack_that_is_not_there_is_unknown(void **state _unused_)
{
	struct gprofng_writer writer = make_clock("1");
	struct text tar;

	gprofng_put_clock(&writer.data, 7, 77, 10, 1);
	tar = finish(&writer);
	assert_tar(&tar, "cpu", "work;[unknown] 10000000\n");
}

static void fillers_between_blocks_are_stepped_over(void **state _unused_)
{
	static const char zeros[16384];
	struct gprofng_writer writer = make_clock("1");
	struct text tar;

	gprofng_put_clock(&writer.data, 7, 1, 10, 1);
	text_append(&writer.data, zeros, 16384 - writer.data.length);
	gprofng_put_clock(&writer.data, 7, 1, 10, 1);
	gprofng_put_number(&writer.data, 8, 2);
	gprofng_put_number(&writer.data, 65535, 2);
	gprofng_put_number(&writer.data, 0, 4);
	gprofng_put_clock(&writer.data, 7, 1, 10, 1);
	tar = finish(&writer);
	assert_tar(&tar, "cpu", "work;__vdso_time 30000000\n");
}

/* malloc of 100, of 10 at its place once it was freed, and of 1 that is never freed. */
static struct text make_heap(void)
{
	static const struct {
		uint64_t type, size, address;
	} events[] = {{0, 100, 0x10}, {1, 0, 0x10}, {0, 10, 0x10}, {1, 0, 0x10}, {0, 1, 0x20}};
	struct gprofng_writer writer = gprofng_writer_new(
		GPROFNG_PROFILE("name=\"heaptrace\"", "heaptrace", "5",
				GPROFNG_FIELD("HTYPE", "48", "INT32")
					GPROFNG_FIELD("HSIZE", "56", "UINT64")
						GPROFNG_FIELD("HVADDR", "64", "UINT64")),
		"heaptrace");

	gprofng_put_frames(&writer.frames, 1, 1, 101, GPROFNG_WORDS(VDSO));
	/* Last first: the file is in no order. */
	for (size_t i = ARRAY_LENGTH(events); i-- > 0;)
		gprofng_put_packet(&writer.data, 5, 7, i, 1, events[i].type, events[i].size,
				   events[i].address);
	return finish(&writer);
}

static void allocations_count_and_what_stays_leaks(void **state _unused_)
{
	struct text tar = make_heap();

	assert_tar(&tar, "alloc", "work;__vdso_time 111\n");
	tar = make_heap();
	assert_tar(&tar, "allocs", "work;__vdso_time 3\n");
	tar = make_heap();
	assert_tar(&tar, "leak", "work;__vdso_time 1\n");
	tar = make_heap();
	assert_tar(&tar, "leaks", "work;__vdso_time 1\n");
}

static void waiting_lasts_from_the_request_on(void **state _unused_)
{
	struct gprofng_writer writer =
		gprofng_writer_new(GPROFNG_PROFILE("name=\"synctrace\"", "synctrace", "2",
						   GPROFNG_FIELD("SRQST", "48", "INT64")
							   GPROFNG_FIELD("SOBJ", "56", "INT64")),
				   "synctrace");
	struct text tar;

	gprofng_put_frames(&writer.frames, 1, 1, 101, GPROFNG_WORDS(VDSO));
	gprofng_put_packet(&writer.data, 2, 7, 5000, 1, GPROFNG_START_NS + 2000, 0, 0);
	tar = finish(&writer);
	assert_tar(&tar, "sync_wait", "work;__vdso_time 3000\n");
}

static struct text make_io(void)
{
	struct gprofng_writer writer = gprofng_writer_new(
		GPROFNG_PROFILE("name=\"iotrace\"", "iotrace", "19",
				GPROFNG_FIELD("IOTYPE", "48", "INT32")
					GPROFNG_FIELD("IONBYTE", "56", "INT64")
						GPROFNG_FIELD("IORQST", "64", "INT64")),
		"iotrace");

	gprofng_put_frames(&writer.frames, 1, 1, 101, GPROFNG_WORDS(VDSO));
	gprofng_put_packet(&writer.data, 19, 7, 50, 1, 0, 512, GPROFNG_START_NS + 10);
	gprofng_put_packet(&writer.data, 19, 7, 50, 1, 5, UINT64_MAX, GPROFNG_START_NS + 20);
	return finish(&writer);
}

static void input_and_output_have_time_and_bytes(void **state _unused_)
{
	struct text tar = make_io();

	assert_tar(&tar, "read_time", "work;__vdso_time 40\n");
	tar = make_io();
	assert_tar(&tar, "read_bytes", "work;__vdso_time 512\n");
	tar = make_io();
	assert_tar(&tar, "io_error_time", "work;__vdso_time 30\n");
}

static void hardware_counters_are_named_by_their_tag(void **state _unused_)
{
	struct gprofng_writer writer = gprofng_writer_new(
		GPROFNG_PROFILE("name=\"hwcounter\" hwcname=\"cycles\" tag=\"0\"", "hwcounters",
				"3",
				GPROFNG_FIELD("HWCTAG", "48", "INT32")
					GPROFNG_FIELD("HWCINT", "56", "INT64"))
			GPROFNG_PROFILE("name=\"hwcounter\" hwcname=\"insts\" tag=\"1\"",
					"hwcounters", "3",
					GPROFNG_FIELD("HWCTAG", "48", "INT32")
						GPROFNG_FIELD("HWCINT", "56", "INT64")),
		"hwcounters");
	struct text tar;

	gprofng_put_frames(&writer.frames, 1, 1, 101, GPROFNG_WORDS(VDSO));
	gprofng_put_packet(&writer.data, 3, 7, 50, 1, 0, 1000, 0);
	gprofng_put_packet(&writer.data, 3, 7, 50, 1, 1, 300, 0);
	gprofng_put_packet(&writer.data, 3, 7, 50, 1, 1, 300, 0);
	tar = finish(&writer);
	assert_tar(&tar, "insts", "work;__vdso_time 600\n");
}

/* Class 1 with the method 5. */
static void put_classes(struct text *text)
{
	gprofng_put_number(text, 40, 2);
	gprofng_put_number(text, 0x0a03, 2);
	gprofng_put_number(text, 0, 4);
	gprofng_put_number(text, 1, 8);
	gprofng_put_number(text, 0, 8);
	text_append(text, "Lorg/App;\0\0\0App\0", 16);
	gprofng_put_number(text, 40, 2);
	gprofng_put_number(text, 0x0b03, 2);
	gprofng_put_number(text, 0, 4);
	gprofng_put_number(text, 1, 8);
	gprofng_put_number(text, 5, 8);
	text_append(text, "main\0\0\0\0()V\0\0\0\0\0", 16);
}

static void java_is_shown_as_its_user_sees_it(void **state _unused_)
{
	struct gprofng_writer writer = make_clock("1");
	struct imported imported = {0};
	const struct call_tree_opts tree = {0};
	struct text tar;

	text_append_string(&writer.log,
			   "<event kind=\"jthread_start\" name=\"a&lt;%c3%%a4%\" tid=\"8\"/>\n");
	put_classes(&writer.classes);
	gprofng_put_frames(&writer.frames, 2, 2, 102, GPROFNG_WORDS(3, 5));
	gprofng_put_clock(&writer.data, 7, 1, 10, 1);
	gprofng_put_clock(&writer.data, 8, 2, 10, 2);
	tar = finish(&writer);
	read_tar(&imported, &tar);
	assert_string_equal(imported.warnings.data, "");
	assert_written(&format_folded, imported.profile, tree,
		       "a<\xc3\xa4;org.App.main 20000000\nwork;<JVM-System> 10000000\n");
	for (uint32_t i = 0; i < profile_count_frames(imported.profile); i++) {
		const struct frame *frame = profile_get_frame(imported.profile, i);
		const char *name = profile_get_string(imported.profile, frame->name);

		assert_int_equal(frame->kind,
				 string_equals(name, "org.App.main") ? FRAME_JAVA : FRAME_USER);
	}
	imported_release(&imported);
}

static void processes_that_were_forked_are_merged(void **state _unused_)
{
	static const char forked[] = "<experiment version=\"12.4\">\n</experiment>\n"
				     "<process pid=\"9\"></process>\n<process>(fork)</process>\n"
				     "<event kind=\"run\" tstamp=\"1000.000000000\"/>\n";
	struct gprofng_writer writer = make_clock("1");
	struct imported imported = {0};
	struct text tar = {0};

	text_truncate(&writer.log, 0);
	text_append_string(&writer.log, forked);
	text_append_string(&writer.log, GPROFNG_CLOCK_PROFILE("1"));
	gprofng_put_clock(&writer.data, 9, 1, 10, 2);
	gprofng_finish(&writer, "x.er/_f1.er", &tar);
	writer = make_clock("1");
	gprofng_put_clock(&writer.data, 7, 1, 10, 1);
	gprofng_finish(&writer, "x.er", &tar);
	tar_finish(&tar);
	read_tar(&imported, &tar);
	assert_written(&format_folded, imported.profile,
		       (struct call_tree_opts){.root = TREE_ROOT_PID},
		       "work-7;__vdso_time 10000000\nwork-9;__vdso_time 20000000\n");
	imported_release(&imported);
}

static void copies_in_the_archives_are_found(void **state _unused_)
{
	struct gprofng_writer writer = make_clock("1");
	struct imported imported = {0};
	const struct module *module;
	struct text tar = {0};

	gprofng_put_clock(&writer.data, 7, 1, 10, 1);
	tar_put_file(&tar, "x.er/archives/work_abcdefghijk", "ELF");
	gprofng_finish(&writer, "x.er", &tar);
	tar_finish(&tar);
	read_tar(&imported, &tar);
	assert_int_equal(profile_count_modules(imported.profile), 1);
	module = profile_get_module(imported.profile, 0);
	assert_string_equal(profile_get_string(imported.profile, module->copy),
			    "x.er/archives/work_abcdefghijk");
	imported_release(&imported);
}

static void damage_costs_its_block_and_is_reported(void **state _unused_)
{
	struct gprofng_writer writer = make_clock("1");
	struct imported imported = {0};
	struct text tar;

	gprofng_put_clock(&writer.data, 7, 1, 10, 1);
	gprofng_put_number(&writer.data, 2, 2);
	gprofng_put_clock(&writer.data, 7, 1, 10, 1);
	tar = finish(&writer);
	read_tar(&imported, &tar);
	assert_string_equal(imported.warnings.data,
			    "FILE/x.er/profile: at byte 88: impossible size of a packet, "
			    "skipping the rest of its block\n");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "work;__vdso_time 10000000\n");
	imported_release(&imported);
}

/* The message starts as expected. */
static void assert_tar_refused(struct text *tar, bool is_strict, const char *expected)
{
	struct imported imported = {.import.is_strict = is_strict};
	struct error got;

	assert_int_equal(imported_read(&imported, FORMAT, tar->data, tar->length), -EBADMSG);
	got = imported.import.error;
	if (strlen(got.message) > strlen(expected))
		got.message[strlen(expected)] = '\0';
	assert_string_equal(got.message, expected);
	imported_release(&imported);
	text_release(tar);
}

static void the_first_damage_ends_a_strict_import(void **state _unused_)
{
	struct gprofng_writer writer = make_clock("1");
	struct text tar;

	gprofng_put_clock(&writer.data, 7, 1, 10, 1);
	gprofng_put_number(&writer.data, 2, 2);
	gprofng_put_number(&writer.data, 0, 2);
	tar = finish(&writer);
	assert_tar_refused(&tar, true,
			   "FILE/x.er/profile: at byte 88: impossible size of a packet");
}

static void what_cannot_be_read_names_the_file(void **state _unused_)
{
	struct gprofng_writer writer = make_clock("1");
	struct text tar;

	text_truncate(&writer.log, 0);
	text_append_string(&writer.log, "<experiment version=\"10.1\">\n</experiment>\n");
	tar = finish(&writer);
	assert_tar_refused(&tar, false, "FILE/x.er/log.xml: at byte 0: experiments before version");
	writer = make_clock("1");
	tar = finish(&writer);
	assert_tar_refused(&tar, false, "FILE: at byte 0: the experiment has no samples");
	text_append_string(&tar, "no archive");
	assert_tar_refused(&tar, false, "FILE: at byte 0: expected the directory of an experiment");
}

static void an_archive_of_an_experiment_is_recognised(void **state _unused_)
{
	struct gprofng_writer writer = make_clock("1");
	struct text tar = finish(&writer);

	assert_int_equal(FORMAT->detect((const uint8_t *)tar.data, tar.length), DETECTED_SURE);
	text_release(&tar);
	tar_put_file(&tar, "x/other", "a");
	assert_int_equal(FORMAT->detect((const uint8_t *)tar.data, tar.length), DETECTED_NOT);
	text_release(&tar);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_are_cpu_time_of_the_stack),
		cmocka_unit_test(threads_keep_their_ids),
		cmocka_unit_test(every_state_of_a_thread_is_a_metric),
		cmocka_unit_test(addresses_become_offsets_in_files),
		cmocka_unit_test(code_is_called_by_its_place_where_nobody_has_the_file),
		cmocka_unit_test(a_linked_stack_goes_on_in_another_wherever_it_is),
		cmocka_unit_test(links_in_a_circle_are_truncated),
		cmocka_unit_test(a_stack_that_is_not_there_is_unknown),
		cmocka_unit_test(fillers_between_blocks_are_stepped_over),
		cmocka_unit_test(allocations_count_and_what_stays_leaks),
		cmocka_unit_test(waiting_lasts_from_the_request_on),
		cmocka_unit_test(input_and_output_have_time_and_bytes),
		cmocka_unit_test(hardware_counters_are_named_by_their_tag),
		cmocka_unit_test(java_is_shown_as_its_user_sees_it),
		cmocka_unit_test(processes_that_were_forked_are_merged),
		cmocka_unit_test(copies_in_the_archives_are_found),
		cmocka_unit_test(damage_costs_its_block_and_is_reported),
		cmocka_unit_test(the_first_damage_ends_a_strict_import),
		cmocka_unit_test(what_cannot_be_read_names_the_file),
		cmocka_unit_test(an_archive_of_an_experiment_is_recognised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
