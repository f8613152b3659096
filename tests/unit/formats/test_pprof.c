/*
 * What is written as pprof, seen by protobuf-c, and what of it comes back.
 */
#include "pprof_fixture.h"

static int refuse(void *context _unused_, const void *data _unused_, size_t size _unused_)
{
	return -ENOSPC;
}

static const char *get_string(const Pprof__Profile *message, int64_t index)
{
	assert_in_range(index, 0, message->n_string_table - 1);
	return message->string_table[index];
}

/* A location in a file, with a line. */
static uint32_t add_file_location(struct profile *profile, uint32_t module, uint64_t offset,
				  const char *name, const char *full_name)
{
	struct frame frame = {.line = 7};
	uint32_t location;

	assert_int_equal(profile_add_string(profile, name, &frame.name), 0);
	assert_int_equal(profile_add_string(profile, full_name, &frame.full_name), 0);
	assert_int_equal(profile_add_string(profile, "libx.so", &frame.module), 0);
	assert_int_equal(profile_add_string(profile, "/src/x.c", &frame.file), 0);
	assert_int_equal(profile_add_location(profile, LOCATION_FILE, module, offset, &location),
			 0);
	assert_int_equal(profile_set_frames(profile, location, &frame, 1, UNNAMED_NOT), 0);
	return location;
}

static uint32_t add_module(struct profile *profile, const char *path, uint8_t first_byte)
{
	struct module module = {.build_id = {first_byte, 0xab}, .build_id_size = 20};
	uint32_t id;

	assert_int_equal(profile_add_string(profile, path, &module.path), 0);
	assert_int_equal(profile_add_module(profile, &module, &id), 0);
	return id;
}

static void add_sample(struct profile *profile, uint32_t thread, uint32_t location, uint64_t weight)
{
	uint32_t stack;
	uint32_t metric;

	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, metric, weight), 0);
}

/* Code of one file, with full name, line and build ID. */
static struct profile *make_file_profile(void)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 12, 13, "worker");
	uint32_t module = add_module(profile, "/usr/lib/libx.so", 0x01);

	add_sample(profile, thread,
		   add_file_location(profile, module, 0x1234, "a::f", "a::f(int, char)"), 3);
	add_sample(profile, thread, add_file_location(profile, module, 0x5678, "g", "g"), 4);
	return profile;
}

static void one_sample_type_stands_for_each_metric(void **state _unused_)
{
	struct profile *profile = make_file_profile();
	uint32_t metric;
	Pprof__Profile *message;

	assert_int_equal(profile_add_metric(profile, "alloc", "bytes", &metric), 0);
	assert_int_equal(profile_add_sample(profile, 0, 1, metric, 500), 0);
	message = fixture_decompress(profile);
	assert_int_equal(message->n_sample_type, 2);
	assert_string_equal(get_string(message, message->sample_type[1]->type), "alloc");
	assert_string_equal(get_string(message, message->sample_type[1]->unit), "bytes");
	assert_int_equal(message->n_sample, 2);
	assert_int_equal(message->sample[0]->n_value, 2);
	assert_int_equal(message->sample[0]->value[0], 3);
	assert_int_equal(message->sample[0]->value[1], 500);
	assert_int_equal(message->sample[1]->value[1], 0);
	pprof__profile__free_unpacked(message, NULL);
	profile_free(profile);
}

static void labels_say_whose_a_sample_is(void **state _unused_)
{
	struct profile *profile = make_file_profile();
	Pprof__Profile *message = fixture_decompress(profile);
	Pprof__Label **labels = message->sample[0]->label;

	assert_int_equal(message->sample[0]->n_label, 4);
	assert_string_equal(get_string(message, labels[0]->key), "pid");
	assert_int_equal(labels[0]->num, 12);
	assert_string_equal(get_string(message, labels[1]->key), "tid");
	assert_int_equal(labels[1]->num, 13);
	assert_string_equal(get_string(message, labels[2]->key), "thread");
	assert_string_equal(get_string(message, labels[2]->str), "worker");
	assert_string_equal(get_string(message, labels[3]->key), "process");
	pprof__profile__free_unpacked(message, NULL);
	profile_free(profile);
}

/* "KEY=STRING …", but for those of labels_say_whose_a_sample_is(). */
static void assert_wait_labels(const Pprof__Profile *message, size_t sample, const char *expected)
{
	_cleanup_(text_release) struct text labels = {0};

	text_append_string(&labels, "");
	for (size_t i = 0; i < message->sample[sample]->n_label; i++) {
		const Pprof__Label *label = message->sample[sample]->label[i];
		const char *key = get_string(message, label->key);

		if (string_equals(key, "state") || string_equals(key, "waker"))
			text_printf(&labels, "%s=%s ", key, get_string(message, label->str));
	}
	assert_string_equal(labels.data, expected);
}

static void labels_say_what_a_wait_is_and_who_ended_it(void **state _unused_)
{
	static const struct {
		const char *metric;
		const char *stack;
		const char *labels;
	} cases[] = {
		{"blocked", "main;read;[blocked]", "state=blocked "},
		{"uninterruptible", "main;read;[uninterruptible]", "state=uninterruptible "},
		{"run-queue", "main;[run queue]", "state=run queue "},
		{"preempted", "[preempted]", "state=preempted "},
		{"cpu", "main;[blocked];f", ""},
		{"cpu", "main;--;db", ""},
		{"cpu", "", ""},
		{"offwake", "main;read;[blocked];--;vfs_write_[k];serve;db",
		 "waker=db state=blocked "},
		{"offwake", "main;[uninterruptible];--;irq_[k];[interrupt]",
		 "waker=interrupt state=uninterruptible "},
		{"offwake", "main;[blocked];--;[unknown waker]", "state=blocked "},
		{"offwake", "main;[blocked];--;[not woken]", "state=blocked "},
	};
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	_cleanup_(profile_freep) struct profile *again = NULL;
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	Pprof__Profile *message;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		uint32_t metric;

		assert_int_equal(
			profile_add_metric(profile, cases[i].metric, "nanoseconds", &metric), 0);
		assert_int_equal(profile_add_sample(profile, thread,
						    builder_add_stack(profile, cases[i].stack),
						    metric, 1),
				 0);
	}
	message = fixture_decompress(profile);
	assert_int_equal(message->n_sample, ARRAY_LENGTH(cases));
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_wait_labels(message, i, cases[i].labels);
	pprof__profile__free_unpacked(message, NULL);
	again = fixture_go_round(profile);
	message = fixture_decompress(again);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_wait_labels(message, i, cases[i].labels);
	pprof__profile__free_unpacked(message, NULL);
	for (uint32_t i = 0; i < profile_count_metrics(profile); i++) {
		struct text before = fixture_fold(profile, TREE_ROOT_TID, i);
		struct text after = fixture_fold(again, TREE_ROOT_TID, i);

		assert_string_equal(before.data, after.data);
		text_release(&before);
		text_release(&after);
	}
}

static void mappings_have_paths_and_build_ids(void **state _unused_)
{
	struct profile *profile = make_file_profile();
	Pprof__Profile *message = fixture_decompress(profile);
	Pprof__Mapping *mapping = message->mapping[0];

	assert_int_equal(message->n_mapping, 1);
	assert_string_equal(get_string(message, mapping->filename), "/usr/lib/libx.so");
	assert_string_equal(get_string(message, mapping->build_id),
			    "01ab000000000000000000000000000000000000");
	assert_int_equal(message->location[0]->mapping_id, mapping->id);
	assert_int_equal(message->location[0]->address - mapping->memory_start, 0x1234);
	assert_int_equal(message->location[1]->address - mapping->memory_start, 0x5678);
	assert_true(message->location[1]->address < mapping->memory_limit);
	pprof__profile__free_unpacked(message, NULL);
	profile_free(profile);
}

static void functions_have_their_full_names_and_lines(void **state _unused_)
{
	struct profile *profile = make_file_profile();
	Pprof__Profile *message = fixture_decompress(profile);
	Pprof__Function *function = message->function[0];

	assert_string_equal(get_string(message, function->name), "a::f(int, char)");
	assert_string_equal(get_string(message, function->filename), "/src/x.c");
	assert_int_equal(message->location[0]->line[0]->function_id, function->id);
	assert_int_equal(message->location[0]->line[0]->line, 7);
	pprof__profile__free_unpacked(message, NULL);
	profile_free(profile);
}

static void inlined_calls_are_lines_of_one_location(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 0, 0, "");
	Pprof__Profile *message;
	Pprof__Location *location;

	builder_add_sample(profile, thread, "main;f;g_[i];h_[i]", 1);
	message = fixture_decompress(profile);
	assert_int_equal(message->n_location, 2);
	assert_int_equal(message->sample[0]->n_location_id, 2);
	location = message->location[0]->n_line == 3 ? message->location[0] : message->location[1];
	assert_int_equal(location->n_line, 3);
	assert_int_equal(location->id, message->sample[0]->location_id[0]);
	assert_string_equal(
		get_string(message, message->function[location->line[0]->function_id - 1]->name),
		"h");
	assert_string_equal(
		get_string(message, message->function[location->line[2]->function_id - 1]->name),
		"f");
	pprof__profile__free_unpacked(message, NULL);
	profile_free(profile);
}

static void folded_text_comes_back_as_it_was(void **state _unused_)
{
	static const enum tree_root roots[] = {TREE_ROOT_COMM, TREE_ROOT_PID, TREE_ROOT_TID,
					       TREE_ROOT_NONE};
	struct profile *profile = profile_new();
	uint32_t a = builder_add_thread(profile, 10, 11, "a b");
	uint32_t b = builder_add_thread(profile, 10, 12, "\xc3\xa9");
	struct profile *again;

	builder_add_sample(profile, a, "main;run;sys_[k];irq_[k]", 1);
	builder_add_sample(profile, b, "main;jit_[j];x_[i];y_[i]", 2);
	builder_add_sample(profile, b, "main;x_[i];y", 3);
	builder_add_sample(profile, b, "main;;  padded ;std::f(int)", 0);
	builder_add_sample(profile, b, "", 5);
	again = fixture_go_round(profile);
	for (size_t i = 0; i < ARRAY_LENGTH(roots); i++) {
		struct text before = fixture_fold(profile, roots[i], 0);
		struct text after = fixture_fold(again, roots[i], 0);

		assert_string_equal(before.data, after.data);
		text_release(&before);
		text_release(&after);
	}
	profile_free(again);
	profile_free(profile);
}

/* By the name of the mapping, as the format has no field for it. */
static void languages_come_back_with_their_kinds_and_modules(void **state _unused_)
{
	static const struct {
		enum frame_kind kind;
		const char *module;
	} cases[] = {
		{FRAME_PYTHON, "/usr/lib/parser.py"},
		{FRAME_PYTHON, "<string>"},
		{FRAME_PYTHON, ""},
		{FRAME_JAVASCRIPT, "/srv/app/server.js"},
		{FRAME_JAVASCRIPT, ""},
		{FRAME_JAVA, "HashMap.java"},
		{FRAME_JAVA, ""},
		{FRAME_PHP, "/srv/www/index.php"},
		{FRAME_RUBY, "app.rb"},
		{FRAME_PERL, "Carp.pm"},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct profile *profile = profile_new();
		uint32_t thread = builder_add_thread(profile, 1, 1, "t");
		struct frame frame = {.kind = cases[i].kind};
		struct profile *again;
		const struct frame *read;
		uint32_t location;
		uint32_t stack;
		uint32_t metric;

		assert_int_equal(profile_add_string(profile, "parse", &frame.name), 0);
		frame.full_name = frame.name;
		assert_int_equal(profile_add_string(profile, cases[i].module, &frame.module), 0);
		assert_int_equal(profile_add_frame_location(profile, &frame, &location), 0);
		assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
		assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
		assert_int_equal(profile_add_sample(profile, thread, stack, metric, 1), 0);
		again = fixture_go_round(profile);
		assert_int_equal(profile_count_frames(again), 1);
		read = profile_get_frame(again, 0);
		assert_int_equal(read->kind, cases[i].kind);
		assert_string_equal(profile_get_string(again, read->name), "parse");
		assert_string_equal(profile_get_string(again, read->module), cases[i].module);
		profile_free(again);
		profile_free(profile);
	}
}

static void every_metric_comes_back(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct profile *again;
	uint32_t metric;
	struct text folded;

	builder_add_sample(profile, thread, "main;f", 1);
	builder_add_sample(profile, thread, "main", 2);
	assert_int_equal(profile_add_metric(profile, "alloc", "bytes", &metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, 1, metric, INT64_MAX), 0);
	again = fixture_go_round(profile);
	metric = profile_find_metric(again, "alloc");
	folded = fixture_fold(again, TREE_ROOT_NONE, metric);
	assert_string_equal(folded.data, "main 9223372036854775807\n");
	assert_string_equal(profile_get_string(again, profile_get_metric(again, metric)->unit),
			    "bytes");
	fixture_assert_folded(again, "main 2\nmain;f 1\n");
	text_release(&folded);
	profile_free(again);
	profile_free(profile);
}

static void the_first_metric_is_the_one_to_be_shown(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct import import = {0};
	Pprof__Profile *message;
	struct profile *again;
	uint32_t metric;

	builder_add_sample(profile, thread, "main;f", 1);
	assert_int_equal(profile_add_metric(profile, "alloc", "bytes", &metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, 1, metric, 7), 0);
	message = fixture_decompress(profile);
	assert_int_equal(message->default_sample_type, message->sample_type[0]->type);
	message->default_sample_type = message->sample_type[1]->type;
	assert_int_equal(fixture_read_message(message, &again, &import), 0);
	assert_string_equal(format_get_metric_name(again, 0), "alloc");
	assert_string_equal(format_get_metric_name(again, 1), "samples");
	pprof__profile__free_unpacked(message, NULL);
	profile_free(again);
	profile_free(profile);
}

static void of_gos_heap_what_is_in_use_comes_first(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct import import = {0};
	Pprof__Profile *message;
	struct profile *again;
	uint32_t metric;

	assert_int_equal(profile_add_metric(profile, "alloc_space", "bytes", &metric), 0);
	assert_int_equal(profile_add_metric(profile, "inuse_space", "bytes", &metric), 0);
	builder_add_sample(profile, thread, "main;f", 1);
	message = fixture_decompress(profile);
	message->default_sample_type = 0;
	assert_int_equal(fixture_read_message(message, &again, &import), 0);
	assert_string_equal(format_get_metric_name(again, 0), "inuse_space");
	pprof__profile__free_unpacked(message, NULL);
	profile_free(again);
	profile_free(profile);
}

static void writing_what_was_read_gives_the_same_bytes(void **state _unused_)
{
	struct profile *profile = make_file_profile();
	struct sampling sampling = {.start_ns = 5,
				    .duration_ns = 6,
				    .period_ns = 7,
				    .complete_stacks = 8,
				    .truncated_stacks = 9,
				    .lost_samples = 10};
	struct profile *again;
	struct text first, second;

	profile_add_sampling(profile, &sampling);
	again = fixture_go_round(profile);
	first = fixture_write(profile);
	second = fixture_write(again);
	assert_int_equal(first.length, second.length);
	assert_memory_equal(first.data, second.data, first.length);
	text_release(&first);
	text_release(&second);
	profile_free(again);
	profile_free(profile);
}

static void how_it_was_recorded_comes_back(void **state _unused_)
{
	struct sampling sampling = {.start_ns = 1700000000000000000,
				    .duration_ns = 30000000000,
				    .period_ns = 10101010,
				    .complete_stacks = 99,
				    .lost_samples = 1};
	struct profile *profile = make_file_profile();
	Pprof__Profile *message;
	struct profile *again;

	profile_add_sampling(profile, &sampling);
	message = fixture_decompress(profile);
	assert_int_equal(message->time_nanos, sampling.start_ns);
	assert_int_equal(message->duration_nanos, sampling.duration_ns);
	assert_int_equal(message->period, sampling.period_ns);
	assert_string_equal(get_string(message, message->period_type->type), "cpu");
	again = fixture_go_round(profile);
	assert_memory_equal(profile_get_sampling(again), &sampling, sizeof(sampling));
	pprof__profile__free_unpacked(message, NULL);
	profile_free(again);
	profile_free(profile);
}

static uint64_t get_tally(const struct profile *profile, const char *name)
{
	const struct provenance *provenance = profile_get_provenance(profile);

	for (uint32_t i = 0; i < provenance_count_tallies(provenance); i++) {
		const struct tally *tally = provenance_get_tally(provenance, i);

		if (string_equals(profile_get_string(profile, tally->name), name))
			return tally->count;
	}
	return 0;
}

static void the_account_comes_back_but_for_what_came_of_reading(void **state _unused_)
{
	struct profile *profile = make_file_profile();
	struct profile *again;

	assert_int_equal(profile_add_tally(profile, 0, "cpus", 2), 0);
	assert_int_equal(profile_add_tally(profile, 0, "user_stacks.truncated.depth", 9), 0);
	assert_int_equal(profile_add_tally(profile, 0, "fired", UINT64_MAX), 0);
	assert_int_equal(profile_add_tally(profile, 0, "import.skipped", 3), 0);
	again = fixture_go_round(profile);
	assert_int_equal(get_tally(again, "cpus"), 2);
	assert_int_equal(get_tally(again, "user_stacks.truncated.depth"), 9);
	assert_true(get_tally(again, "fired") == UINT64_MAX);
	assert_int_equal(provenance_count_tallies(profile_get_provenance(again)), 3);
	profile_free(again);
	profile_free(profile);
}

static void accounts_of_several_recordings_are_written_as_one(void **state _unused_)
{
	struct profile *profile = make_file_profile();
	struct profile *again;
	uint32_t source;

	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(profile_add_source(profile, STRING_EMPTY, &source), 0);
		assert_int_equal(profile_add_tally(profile, source, "cpus", 8), 0);
		assert_int_equal(profile_add_tally(profile, source, "fired", 5), 0);
	}
	assert_int_equal(profile_add_tally(profile, 0, "lost.ring_sample", UINT64_MAX), 0);
	assert_int_equal(profile_add_tally(profile, 1, "lost.ring_sample", 1), 0);
	again = fixture_go_round(profile);
	assert_int_equal(get_tally(again, "fired"), 10);
	assert_true(get_tally(again, "lost.ring_sample") == UINT64_MAX);
	assert_int_equal(get_tally(again, "cpus"), 0);
	profile_free(again);
	profile_free(profile);
}

static void strings_are_utf8_whatever_the_names_are(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 0, 0, "");
	struct profile *again;

	builder_add_sample(profile, thread, "\xff-\xc3;\xe2\x82\xac", 1);
	again = fixture_go_round(profile);
	fixture_assert_folded(again, "\xef\xbf\xbd-\xef\xbf\xbd;\xe2\x82\xac 1\n");
	profile_free(again);
	profile_free(profile);
}

static void a_weight_beyond_63_bits_is_refused(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct format_opts opts = {0};
	struct text written = {0};
	struct sink sink = {.write = fixture_append, .context = &written};

	builder_add_sample(profile, builder_add_thread(profile, 0, 0, ""), "a", 1ull << 63);
	assert_int_equal(format_pprof.write(profile, &opts, &sink), -EOVERFLOW);
	text_release(&written);
	profile_free(profile);
}

static void an_offset_at_the_end_of_all_numbers_is_written_without(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 0, 0, "");
	uint32_t module = add_module(profile, "/x", 1);
	struct profile *again;

	add_sample(profile, thread, add_file_location(profile, module, UINT64_MAX, "f", "f"), 1);
	again = fixture_go_round(profile);
	fixture_assert_folded(again, "f 1\n");
	profile_free(again);
	profile_free(profile);
}

static void a_full_disk_is_reported(void **state _unused_)
{
	struct profile *profile = make_file_profile();
	struct format_opts opts = {0};
	struct sink sink = {.write = refuse};

	assert_int_equal(format_pprof.write(profile, &opts, &sink), -ENOSPC);
	profile_free(profile);
}

static void an_empty_profile_has_a_sample_type_and_comes_back(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct profile *again;
	uint32_t metric;

	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	again = fixture_go_round(profile);
	assert_int_equal(profile_count_metrics(again), 1);
	assert_int_equal(profile_count_samples(again), 0);
	profile_free(again);
	profile_free(profile);
}

/* A profile of 7 samples on two stacks, one of which weighs as much as said. */
static uint64_t read_number_of_samples(uint64_t weight)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 2, "t");
	struct profile *again = profile_new();
	struct import import = {0};
	struct text plain;
	uint64_t count;
	char *value;

	builder_add_sample(profile, thread, "a", 3);
	builder_add_sample(profile, thread, "b", 5);
	assert_int_equal(profile_rename_metric(profile, 0, "cpu", "nanoseconds"), 0);
	profile_set_metric_samples(profile, 0, 7);
	plain = fixture_write_plain(profile);
	/* The last thing of a sample that is not a label: its value, as field 2. */
	value = memmem(plain.data, plain.length, "\x12\x01\x05", 3);
	assert_non_null(value);
	value[2] = (char)weight;
	assert_int_equal(fixture_read(again, &import, plain.data, plain.length), 0);
	count = profile_get_metric(again, 0)->num_samples;
	text_release(&plain);
	profile_free(again);
	profile_free(profile);
	return count;
}

static void number_of_samples_is_that_of_what_was_written(void **state _unused_)
{
	assert_int_equal(read_number_of_samples(5), 7);
	assert_int_equal(read_number_of_samples(4), 2); /* somebody has filtered it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_sample_type_stands_for_each_metric),
		cmocka_unit_test(labels_say_whose_a_sample_is),
		cmocka_unit_test(labels_say_what_a_wait_is_and_who_ended_it),
		cmocka_unit_test(mappings_have_paths_and_build_ids),
		cmocka_unit_test(functions_have_their_full_names_and_lines),
		cmocka_unit_test(inlined_calls_are_lines_of_one_location),
		cmocka_unit_test(folded_text_comes_back_as_it_was),
		cmocka_unit_test(languages_come_back_with_their_kinds_and_modules),
		cmocka_unit_test(every_metric_comes_back),
		cmocka_unit_test(the_first_metric_is_the_one_to_be_shown),
		cmocka_unit_test(of_gos_heap_what_is_in_use_comes_first),
		cmocka_unit_test(writing_what_was_read_gives_the_same_bytes),
		cmocka_unit_test(how_it_was_recorded_comes_back),
		cmocka_unit_test(the_account_comes_back_but_for_what_came_of_reading),
		cmocka_unit_test(accounts_of_several_recordings_are_written_as_one),
		cmocka_unit_test(strings_are_utf8_whatever_the_names_are),
		cmocka_unit_test(a_weight_beyond_63_bits_is_refused),
		cmocka_unit_test(an_offset_at_the_end_of_all_numbers_is_written_without),
		cmocka_unit_test(a_full_disk_is_reported),
		cmocka_unit_test(an_empty_profile_has_a_sample_type_and_comes_back),
		cmocka_unit_test(number_of_samples_is_that_of_what_was_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
