#include "folder_input.h"
#include "import_fixture.h"
#include "perf_data_writer.h"

#define USUAL                                                                           \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)
#define USER   WRITER_CONTEXT(512)
#define KERNEL WRITER_CONTEXT(128)

/* One event of some cycles, and a program "run" (7) that has /bin/run mapped at 0x1000. */
static void start(struct perf_writer *writer, uint64_t sample_type, bool is_pipe)
{
	perf_writer_init(writer, sample_type, is_pipe);
	writer->user_registers = 1 << 6 | 1 << 7 | 1 << 8;
	perf_add_event(writer, 0, 0, 100, 11, "cycles:u");
	perf_add_kernel(writer);
	perf_add_comm(writer, 1, 7, 7, "run", true);
	perf_add_mmap(writer, 2, 7, 0x1000, 0x1000, 0x400, "/bin/run", 0);
}

static void read_records(struct imported *imported, struct perf_writer *writer)
{
	struct text file = perf_writer_finish(writer);
	int err = imported_read(imported, &format_perf_data, file.data, file.length);

	text_release(&file);
	assert_string_equal(imported->import.error.message, "");
	assert_int_equal(err, 0);
}

static void assert_file(struct perf_writer *writer, const char *warnings, const char *expected)
{
	struct imported imported = {0};

	read_records(&imported, writer);
	assert_string_equal(imported.warnings.data, warnings);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0}, expected);
	imported_release(&imported);
}

/* The fixture passes its own context, which is for warnings. */
static int read_folder(struct imported *imported, struct folder_input *folder)
{
	struct import *import = &imported->import;

	imported->profile = profile_new();
	assert_non_null(imported->profile);
	text_append_string(&imported->warnings, "");
	import->name = "FILE";
	import->profile = imported->profile;
	import->context = folder;
	return format_perf_data.read(import);
}

static void return_addresses_are_in_the_call(void **state _unused_)
{
	struct perf_writer writer;

	start(&writer, USUAL, false);
	perf_add_sample(&writer, &(struct perf_sample_spec){
					 3, 7, 7, 11, 250, 0, {USER, 0x1010, 0x1020}, {0}, {0}});
	assert_file(&writer, "", "run;run+0x41f;run+0x410 250\n");
}

static void pipes_say_what_files_have_around_their_records(void **state _unused_)
{
	struct perf_writer writer;

	start(&writer, USUAL, true);
	perf_add_sample(&writer,
			&(struct perf_sample_spec){3, 7, 7, 11, 250, 0, {USER, 0x1010}, {0}, {0}});
	assert_file(&writer, "", "run;run+0x410 250\n");
}

static void the_kernel_is_called_by_the_program(void **state _unused_)
{
	struct perf_writer writer;
	uint64_t text = WRITER_KERNEL_TEXT;

	start(&writer, USUAL, false);
	perf_add_sample(&writer,
			&(struct perf_sample_spec){3,
						   7,
						   7,
						   11,
						   1,
						   PERF_CPU_KERNEL,
						   {KERNEL, text + 0x20, text + 0x11, USER, 0x1010},
						   {0},
						   {0}});
	assert_file(&writer, "", "run;run+0x410;[kernel]+0x10_[k];[kernel]+0x20_[k] 1\n");
}

static void records_take_effect_in_order_of_time(void **state _unused_)
{
	struct perf_writer writer;
	struct perf_sample_spec spec = {5, 7, 7, 11, 1, 0, {USER, 0x1010}, {0}, {0}};

	start(&writer, USUAL, false);
	perf_add_sample(&writer, &spec);
	spec.time_ns = 15;
	perf_add_sample(&writer, &spec);
	perf_add_round(&writer);
	perf_add_comm(&writer, 10, 7, 7, "renamed", false);
	perf_add_round(&writer);
	assert_file(&writer, "", "renamed;run+0x410 1\nrun;run+0x410 1\n");
}

static void every_event_is_a_metric(void **state _unused_)
{
	struct perf_writer writer;
	struct imported imported = {0};
	struct perf_sample_spec spec = {5, 7, 7, 11, 3, 0, {USER, 0x1010}, {0}, {0}};

	perf_writer_init(&writer, USUAL, false);
	perf_add_event(&writer, 0, 0, 100, 11, "cycles:u");
	perf_add_event(&writer, 1, 0, 100, 12, NULL);
	perf_add_comm(&writer, 1, 7, 7, "run", true);
	perf_add_sample(&writer, &spec);
	spec.id = 12;
	spec.period = 4;
	perf_add_sample(&writer, &spec);
	read_records(&imported, &writer);
	assert_string_equal(format_get_metric_name(imported.profile, 0), "cycles:u");
	assert_string_equal(format_get_metric_unit(imported.profile, 0), "count");
	assert_string_equal(format_get_metric_name(imported.profile, 1), "cpu-clock");
	assert_string_equal(format_get_metric_unit(imported.profile, 1), "nanoseconds");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 1},
		       "run;[unknown] 4\n");
	imported_release(&imported);
}

/* perf adds up the time off the CPU, and gives the sums a time behind all others. */
static void sums_of_off_cpu_time_have_no_time(void **state _unused_)
{
	struct perf_writer writer;
	struct imported imported = {.profile = profile_new()};
	struct perf_sample_spec spec = {5000000, 7, 7, 11, 3, 0, {USER, 0x1010}, {0}, {0}};
	const struct timestamps *timestamps;

	perf_writer_init(&writer, USUAL, false);
	perf_add_event(&writer, 0, 0, 100, 11, "cycles:u");
	perf_add_event(&writer, 1, 10, 1, 12, "offcpu-time");
	perf_add_comm(&writer, 1, 7, 7, "run", true);
	perf_add_sample(&writer, &spec);
	spec.id = 12;
	spec.time_ns = ~0ull << 32;
	perf_add_sample(&writer, &spec);
	assert_int_equal(profile_keep_timestamps(imported.profile), 0);
	read_records(&imported, &writer);
	assert_string_equal(format_get_metric_unit(imported.profile, 1), "nanoseconds");
	timestamps = profile_get_timestamps(imported.profile);
	assert_int_equal(timestamps_count(timestamps), 1);
	assert_int_equal(timestamps_get(timestamps, 0)->time_ns, 5000000);
	imported_release(&imported);
}

static void the_first_metric_is_that_of_the_first_event_with_samples(void **state _unused_)
{
	struct perf_writer writer;
	struct imported imported = {0};
	struct perf_sample_spec spec = {5, 7, 7, 13, 3, 0, {USER, 0x1010}, {0}, {0}};

	perf_writer_init(&writer, USUAL, false);
	perf_add_event(&writer, 0, 0, 100, 11, "none");
	perf_add_event(&writer, 0, 0, 100, 12, "first");
	perf_add_event(&writer, 0, 1, 100, 13, "second");
	perf_add_sample(&writer, &spec);
	spec.id = 12;
	perf_add_sample(&writer, &spec);
	read_records(&imported, &writer);
	assert_int_equal(profile_count_metrics(imported.profile), 2);
	assert_string_equal(format_get_metric_name(imported.profile, 0), "first");
	imported_release(&imported);
}

static void records_of_all_files_of_a_folder_are_one_order(void **state _unused_)
{
	static const char *const names[] = {"data", "data.0", "data.1"};
	struct perf_writer writers[3];
	struct text files[3];
	struct folder_input folder = {.length = 3};
	struct imported imported = {.import.open_member = folder_input_open_member,
				    .import.members = folder.names,
				    .import.num_members = 3};
	struct perf_sample_spec spec = {5, 7, 7, 11, 1, 0, {USER, 0x1010}, {0}, {0}};

	start(&writers[0], USUAL, false);
	for (size_t i = 1; i < 3; i++)
		perf_writer_init(&writers[i], USUAL, false);
	perf_add_sample(&writers[1], &spec);
	spec.time_ns = 15;
	perf_add_sample(&writers[1], &spec);
	perf_add_comm(&writers[2], 10, 7, 7, "renamed", false);
	files[0] = perf_writer_finish(&writers[0]);
	files[1] = writers[1].records;
	files[2] = writers[2].records;
	for (size_t i = 0; i < 3; i++) {
		folder.names[i] = names[i];
		folder.data[i] = (const uint8_t *)files[i].data;
		folder.sizes[i] = files[i].length;
	}
	assert_true(format_perf_data.detect_members(folder.names, 3));
	assert_int_equal(read_folder(&imported, &folder), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "renamed;run+0x410 1\nrun;run+0x410 1\n");
	imported_release(&imported);
	for (size_t i = 0; i < 3; i++)
		text_release(&files[i]);
}

static void other_folders_are_not_of_perf(void **state _unused_)
{
	static const char *const names[] = {"data", "data.0", "kcore_dir/kcore", "README"};

	assert_true(format_perf_data.detect_members(names, 3));
	assert_false(format_perf_data.detect_members(names, 4));
	assert_false(format_perf_data.detect_members(names + 1, 1));
}

static void events_read_as_a_group_count_what_each_has_gone_on(void **state _unused_)
{
	struct perf_writer writer;
	struct imported imported = {0};
	struct perf_sample_spec spec = {5, 7, 7, 11, 3, 0, {USER, 0x1010}, {0}, {0}};

	perf_writer_init(&writer, USUAL | PERF_SAMPLE_READ, false);
	writer.read_format = PERF_READ_GROUP | PERF_READ_ID;
	perf_add_event(&writer, 0, 0, 100, 11, "cycles");
	perf_add_event(&writer, 0, 1, 100, 12, "instructions");
	perf_add_comm(&writer, 1, 7, 7, "run", true);
	memcpy(writer.counters, (uint64_t[]){100, 11, 20, 12}, sizeof(writer.counters));
	perf_add_sample(&writer, &spec);
	writer.counters[0] = 150;
	perf_add_sample(&writer, &spec);
	read_records(&imported, &writer);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 0},
		       "run;[unknown] 150\n");
	assert_string_equal(format_get_metric_name(imported.profile, 1), "instructions");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 1},
		       "run;[unknown] 20\n");
	imported_release(&imported);
}

static void a_child_has_its_parents_code_until_it_execs(void **state _unused_)
{
	struct perf_writer writer;
	struct perf_sample_spec spec = {5, 8, 8, 11, 1, 0, {USER, 0x1010}, {0}, {0}};

	start(&writer, USUAL, false);
	perf_add_task(&writer, PERF_FORK, 3, 8, 8, 7);
	perf_add_sample(&writer, &spec);
	perf_add_comm(&writer, 6, 8, 8, "other", true);
	spec.time_ns = 7;
	perf_add_sample(&writer, &spec);
	assert_file(&writer, "", "other;[unknown] 1\nrun;run+0x410 1\n");
}

/* Nor when a thread that had the number of another one has ended. */
static void code_stays_known_while_a_thread_lives(void **state _unused_)
{
	struct perf_writer writer;
	struct perf_sample_spec spec = {8, 7, 7, 11, 1, 0, {USER, 0x1010}, {0}, {0}};

	start(&writer, USUAL, false);
	perf_add_task(&writer, PERF_FORK, 3, 7, 9, 7);
	perf_add_task(&writer, PERF_EXIT, 4, 7, 9, 7);
	perf_add_task(&writer, PERF_FORK, 5, 7, 9, 7);
	perf_add_task(&writer, PERF_EXIT, 6, 7, 9, 7);
	perf_add_task(&writer, PERF_EXIT, 7, 7, 9, 7); /* told twice */
	perf_add_sample(&writer, &spec);
	/* Without any, it is forgotten. */
	perf_add_task(&writer, PERF_EXIT, 9, 7, 7, 1);
	spec.time_ns = 10;
	perf_add_sample(&writer, &spec);
	assert_file(&writer, "", "run;[unknown] 1\nrun;run+0x410 1\n");
}

static void a_new_thread_keeps_the_name_it_was_made_under(void **state _unused_)
{
	struct perf_writer writer;

	start(&writer, USUAL, false);
	perf_add_task(&writer, PERF_FORK, 3, 7, 9, 7);
	perf_add_comm(&writer, 4, 7, 9, "worker", false);
	perf_add_sample(&writer,
			&(struct perf_sample_spec){5, 7, 9, 11, 1, 0, {USER, 0x1010}, {0}, {0}});
	assert_file(&writer, "", "worker;run+0x410 1\n");
}

static void a_newer_mapping_takes_the_place_of_an_older_one(void **state _unused_)
{
	struct perf_writer writer;
	struct perf_sample_spec spec = {5, 7, 7, 11, 1, 0, {USER, 0x1810}, {0}, {0}};

	start(&writer, USUAL, false);
	perf_add_mmap(&writer, 3, 7, 0x1800, 0x100, 0, "/lib/late.so", 0);
	perf_add_sample(&writer, &spec);
	spec.chain[1] = 0x1900;
	perf_add_sample(&writer, &spec);
	assert_file(&writer, "", "run;late.so+0x10 1\nrun;run+0xd00 1\n");
}

static void modules_have_the_build_ids_of_the_record_or_of_the_file(void **state _unused_)
{
	struct perf_writer writer;
	struct imported imported = {0};

	start(&writer, USUAL, false);
	perf_add_build_id(&writer, 0xab, "/bin/run");
	perf_add_mmap(&writer, 2, 7, 0x9000, 0x1000, 0, "/lib/a.so", 0xcd);
	perf_add_sample(&writer, &(struct perf_sample_spec){
					 3, 7, 7, 11, 1, 0, {USER, 0x9010, 0x1011}, {0}, {0}});
	read_records(&imported, &writer);
	assert_int_equal(profile_count_modules(imported.profile), 2);
	assert_int_equal(profile_get_module(imported.profile, 0)->build_id[0], 0xab);
	assert_int_equal(profile_get_module(imported.profile, 1)->build_id[0], 0xcd);
	assert_int_equal(profile_get_module(imported.profile, 1)->build_id_size, 20);
	imported_release(&imported);
}

static void code_is_left_to_a_caller_who_will_name_it(void **state _unused_)
{
	struct perf_writer writer;
	struct imported imported = {.import.will_name_code = true};
	uint64_t text = WRITER_KERNEL_TEXT;
	const struct location *location;

	start(&writer, USUAL, false);
	perf_add_sample(&writer,
			&(struct perf_sample_spec){
				3, 7, 7, 11, 1, 0, {KERNEL, text, USER, 0x1010}, {0}, {0}});
	read_records(&imported, &writer);
	assert_int_equal(imported.import.kernel.text, text);
	assert_int_equal(profile_count_locations(imported.profile), 2);
	location = profile_get_location(imported.profile, 0);
	assert_int_equal(location->space, LOCATION_FILE);
	assert_int_equal(location->address, 0x410);
	assert_int_equal(location->num_frames, 0);
	assert_int_equal(profile_get_location(imported.profile, 1)->space, LOCATION_KERNEL);
	imported_release(&imported);
}

static int walk_two(void *context _unused_, const struct import_stack *stack, uint64_t *pcs,
		    size_t max_pcs, size_t *ret_num)
{
	assert_true(max_pcs >= 2);
	assert_int_equal(stack->registers.fp, 0x7000);
	assert_int_equal(stack->registers.sp, 0x6000);
	assert_int_equal(stack->num_mappings, 1);
	assert_int_equal(stack->size, 32);
	pcs[0] = stack->registers.pc | IMPORT_PC_EXACT;
	/* Not recorded: with 0 in it a thread would be a new one, behind the system call of clone(). */
	assert_true(stack->registers.ax == UINT64_MAX);
	memcpy(&pcs[1], stack->bytes, 8);
	*ret_num = 2;
	return 1;
}

static void copied_stacks_are_walked_by_the_caller(void **state _unused_)
{
	struct perf_writer writer;
	struct imported imported = {.import.walk = walk_two};
	uint64_t text = WRITER_KERNEL_TEXT;

	start(&writer, USUAL | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER, false);
	perf_add_sample(&writer, &(struct perf_sample_spec){3,
							    7,
							    7,
							    11,
							    1,
							    PERF_CPU_KERNEL,
							    {KERNEL, text + 1},
							    {0x7000, 0x6000, 0x1010},
							    {0x1021, 0, 0, 0}});
	read_records(&imported, &writer);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "run;run+0x420;run+0x410;[kernel]+0x1_[k] 1\n");
	imported_release(&imported);
}

static void copied_stacks_are_truncated_where_nobody_walks(void **state _unused_)
{
	struct perf_writer writer;
	struct imported imported = {0};

	start(&writer, USUAL | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER, false);
	perf_add_sample(&writer,
			&(struct perf_sample_spec){
				3, 7, 7, 11, 1, 0, {0}, {0x7000, 0x6000, 0x1010}, {0x1021}});
	read_records(&imported, &writer);
	assert_int_equal(imported.import.counts.truncated_stacks, 1);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "run;[truncated];run+0x410 1\n");
	assert_written(&format_folded, imported.profile,
		       (struct call_tree_opts){.no_annotations = true}, "run;run+0x410 1\n");
	imported_release(&imported);
}

static void lost_records_are_reported(void **state _unused_)
{
	struct perf_writer writer;
	struct imported imported = {0};

	start(&writer, USUAL, false);
	perf_start(&writer, PERF_LOST, 0);
	perf_put(&writer.records, 11, 8);
	perf_put(&writer.records, 5, 8);
	perf_end_at(&writer, 3, 11);
	perf_add_sample(&writer,
			&(struct perf_sample_spec){4, 7, 7, 11, 1, 0, {USER, 0x1010}, {0}, {0}});
	read_records(&imported, &writer);
	assert_string_equal(imported.warnings.data,
			    "FILE: 5 samples or other records were lost while recording\n");
	assert_int_equal(imported.import.counts.lost_samples, 5);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "run;run+0x410 1\n");
	imported_release(&imported);
}

static void a_truncated_file_gives_what_is_before(void **state _unused_)
{
	struct perf_writer writer;
	struct imported imported = {0};
	struct perf_sample_spec spec = {4, 7, 7, 11, 1, 0, {USER, 0x1010}, {0}, {0}};
	struct text file;

	start(&writer, USUAL, true);
	perf_add_sample(&writer, &spec);
	perf_add_sample(&writer, &spec);
	file = perf_writer_finish(&writer);
	assert_int_equal(imported_read(&imported, &format_perf_data, file.data, file.length - 1),
			 0);
	assert_non_null(strstr(imported.warnings.data, "truncated"));
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "run;run+0x410 1\n");
	imported_release(&imported);
	text_release(&file);
}

static void no_byte_flipped_or_truncated_does_harm(void **state _unused_)
{
	struct perf_writer writer;
	struct text file;

	start(&writer, USUAL, false);
	perf_add_task(&writer, PERF_FORK, 3, 8, 8, 7);
	perf_add_sample(&writer,
			&(struct perf_sample_spec){4, 8, 8, 11, 1, 0, {USER, 0x1010}, {0}, {0}});
	file = perf_writer_finish(&writer);
	for (size_t i = 0; i < 2 * file.length; i++) {
		struct imported imported = {0};
		size_t at = i % file.length;
		bool is_truncated = i >= file.length;
		int err;

		file.data[at] = (char)(file.data[at] ^ (is_truncated ? 0 : 0xff));
		err = imported_read(&imported, &format_perf_data, file.data,
				    is_truncated ? at : file.length);
		file.data[at] = (char)(file.data[at] ^ (is_truncated ? 0 : 0xff));
		assert_true(err == 0 || err == -EBADMSG);
		assert_int_equal(err == 0, imported.import.error.message[0] == '\0');
		imported_release(&imported);
	}
	text_release(&file);
}

static void the_other_byte_order_is_refused(void **state _unused_)
{
	assert_refused(&format_perf_data, "2ELIFREPxxxxxxxx",
		       "FILE: at byte 0: recorded on a machine with the other byte order");
	assert_int_equal(format_perf_data.detect((const uint8_t *)"2ELIFREP", 8), DETECTED_SURE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(return_addresses_are_in_the_call),
		cmocka_unit_test(pipes_say_what_files_have_around_their_records),
		cmocka_unit_test(the_kernel_is_called_by_the_program),
		cmocka_unit_test(records_take_effect_in_order_of_time),
		cmocka_unit_test(every_event_is_a_metric),
		cmocka_unit_test(sums_of_off_cpu_time_have_no_time),
		cmocka_unit_test(the_first_metric_is_that_of_the_first_event_with_samples),
		cmocka_unit_test(records_of_all_files_of_a_folder_are_one_order),
		cmocka_unit_test(other_folders_are_not_of_perf),
		cmocka_unit_test(events_read_as_a_group_count_what_each_has_gone_on),
		cmocka_unit_test(a_child_has_its_parents_code_until_it_execs),
		cmocka_unit_test(code_stays_known_while_a_thread_lives),
		cmocka_unit_test(a_new_thread_keeps_the_name_it_was_made_under),
		cmocka_unit_test(a_newer_mapping_takes_the_place_of_an_older_one),
		cmocka_unit_test(modules_have_the_build_ids_of_the_record_or_of_the_file),
		cmocka_unit_test(code_is_left_to_a_caller_who_will_name_it),
		cmocka_unit_test(copied_stacks_are_walked_by_the_caller),
		cmocka_unit_test(copied_stacks_are_truncated_where_nobody_walks),
		cmocka_unit_test(lost_records_are_reported),
		cmocka_unit_test(a_truncated_file_gives_what_is_before),
		cmocka_unit_test(no_byte_flipped_or_truncated_does_harm),
		cmocka_unit_test(the_other_byte_order_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
