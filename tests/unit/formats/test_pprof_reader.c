/*
 * Profiles as other programs write them, and as nobody should: made with protobuf-c.
 */
#include "pprof_fixture.h"

/* A profile of one sample in main, called by nothing, in the parts that tests change. */
struct scene {
	Pprof__Profile profile;
	Pprof__ValueType type;
	Pprof__Sample sample;
	Pprof__Mapping mapping;
	Pprof__Location location;
	Pprof__Line line;
	Pprof__Function function;
	Pprof__ValueType *types[1];
	Pprof__Sample *samples[3];
	Pprof__Mapping *mappings[1];
	Pprof__Location *locations[1];
	Pprof__Line *lines[1];
	Pprof__Function *functions[1];
	uint64_t location_ids[1];
	int64_t values[2];
	char *strings[8];
};

enum scene_string { EMPTY, CPU, NANOSECONDS, NAME, SYSTEM_NAME, FILENAME, COMMENT, KEY };

static void scene_init(struct scene *scene)
{
	static char strings[8][64] = {"",     "cpu",       "nanoseconds",  "main",
				      "main", "/bin/prog", "made by hand", "pid"};

	memset(scene, 0, sizeof(*scene));
	pprof__profile__init(&scene->profile);
	pprof__value_type__init(&scene->type);
	pprof__sample__init(&scene->sample);
	pprof__mapping__init(&scene->mapping);
	pprof__location__init(&scene->location);
	pprof__line__init(&scene->line);
	pprof__function__init(&scene->function);
	scene->types[0] = &scene->type;
	scene->samples[0] = scene->samples[1] = &scene->sample;
	scene->mappings[0] = &scene->mapping;
	scene->locations[0] = &scene->location;
	scene->lines[0] = &scene->line;
	scene->functions[0] = &scene->function;
	scene->type.type = CPU;
	scene->type.unit = NANOSECONDS;
	scene->values[0] = 42;
	scene->location_ids[0] = scene->location.id = 1;
	scene->sample.n_location_id = 1;
	scene->sample.location_id = scene->location_ids;
	scene->sample.n_value = 1;
	scene->sample.value = scene->values;
	scene->mapping.id = scene->location.mapping_id = 1;
	scene->mapping.filename = FILENAME;
	scene->location.n_line = 1;
	scene->location.line = scene->lines;
	scene->line.function_id = scene->function.id = 1;
	scene->function.name = NAME;
	scene->function.system_name = SYSTEM_NAME;
	for (size_t i = 0; i < ARRAY_LENGTH(scene->strings); i++)
		scene->strings[i] = strings[i];
	scene->profile.n_sample_type = scene->profile.n_sample = 1;
	scene->profile.n_mapping = scene->profile.n_location = scene->profile.n_function = 1;
	scene->profile.sample_type = scene->types;
	scene->profile.sample = scene->samples;
	scene->profile.mapping = scene->mappings;
	scene->profile.location = scene->locations;
	scene->profile.function = scene->functions;
	scene->profile.n_string_table = ARRAY_LENGTH(scene->strings);
	scene->profile.string_table = scene->strings;
}

static void assert_reads_as(const struct scene *scene, const char *folded)
{
	struct import import = {0};
	struct profile *profile;

	assert_int_equal(fixture_read_message(&scene->profile, &profile, &import), 0);
	fixture_assert_folded(profile, folded);
	profile_free(profile);
}

static void assert_is_refused(const struct scene *scene, const char *message)
{
	struct import import = {0};
	struct profile *profile;

	assert_int_equal(fixture_read_message(&scene->profile, &profile, &import), -EBADMSG);
	if (!strstr(import.error.message, message))
		fail_msg("'%s' does not say '%s'", import.error.message, message);
	assert_true(string_starts_with(import.error.message, "test.pb.gz: at byte "));
	profile_free(profile);
}

static void a_small_profile_is_read(void **state _unused_)
{
	struct import import = {0};
	struct profile *profile;
	struct scene scene;

	scene_init(&scene);
	assert_int_equal(fixture_read_message(&scene.profile, &profile, &import), 0);
	fixture_assert_folded(profile, "main 42\n");
	assert_int_equal(import.counts.records, 1);
	assert_int_equal(profile_find_metric(profile, "cpu"), 0);
	assert_string_equal(profile_get_string(profile, profile_get_frame(profile, 0)->module),
			    "prog");
	profile_free(profile);
}

static void ids_may_be_any_numbers(void **state _unused_)
{
	struct scene scene;

	scene_init(&scene);
	scene.location_ids[0] = scene.location.id = UINT64_MAX;
	scene.line.function_id = scene.function.id = 1ull << 40;
	scene.mapping.id = scene.location.mapping_id = 77777;
	assert_reads_as(&scene, "main 42\n");
}

static void a_mangled_system_name_is_not_shown(void **state _unused_)
{
	struct scene scene;

	scene_init(&scene);
	scene.strings[NAME] = (char[]){"a::f(int)"};
	scene.strings[SYSTEM_NAME] = (char[]){"_ZN1a1fEi"};
	assert_reads_as(&scene, "a::f(int) 42\n");
	scene.strings[NAME] = (char[]){""};
	assert_reads_as(&scene, "_ZN1a1fEi 42\n");
}

static void names_of_others_cannot_break_a_line(void **state _unused_)
{
	struct scene scene;

	scene_init(&scene);
	scene.strings[NAME] = (char[]){" f;g\n"};
	assert_reads_as(&scene, "f:g 42\n");
}

static void code_of_the_kernel_is_known_by_its_mapping(void **state _unused_)
{
	struct scene scene;

	scene_init(&scene);
	scene.strings[FILENAME] = (char[]){"[kernel.kallsyms]_text"};
	assert_reads_as(&scene, "main_[k] 42\n");
	scene.strings[FILENAME] = (char[]){"[nf_tables]"};
	assert_reads_as(&scene, "main 42\n");
	scene.mapping.memory_start = 0xffffffffc0000000;
	assert_reads_as(&scene, "main_[k] 42\n");
	scene.strings[FILENAME] = (char[]){"[vsyscall]"};
	assert_reads_as(&scene, "main 42\n");
}

static void code_without_names_is_called_by_its_file(void **state _unused_)
{
	struct scene scene;

	scene_init(&scene);
	scene.location.n_line = 0;
	assert_reads_as(&scene, "[prog] 42\n");
	scene.location.mapping_id = 0;
	assert_reads_as(&scene, "[unknown] 42\n");
}

/* What nobody has looked up is left to who has the file; else its place in the file says it. */
static void code_that_its_producer_did_not_name_is_left_to_others(void **state _unused_)
{
	struct import import = {.will_name_code = true};
	struct profile *profile;
	struct scene scene;

	scene_init(&scene);
	scene.mapping.memory_start = 0x7f0000001000;
	scene.mapping.memory_limit = 0x7f0000009000;
	scene.location.address = 0x7f0000001234;
	scene.location.n_line = 0;
	assert_reads_as(&scene, "prog+0x234 42\n");
	assert_int_equal(fixture_read_message(&scene.profile, &profile, &import), 0);
	assert_int_equal(profile_get_location(profile, 0)->space, LOCATION_FILE);
	assert_int_equal(profile_get_location(profile, 0)->num_frames, 0);
	profile_free(profile);

	scene.mapping.has_functions = true;
	assert_int_equal(fixture_read_message(&scene.profile, &profile, &import), 0);
	assert_int_equal(profile_get_location(profile, 0)->num_frames, 1);
	profile_free(profile);
}

static void addresses_become_offsets_in_the_file(void **state _unused_)
{
	struct import import = {0};
	struct profile *profile;
	struct scene scene;

	scene_init(&scene);
	scene.mapping.memory_start = 0x7f0000001000;
	scene.mapping.memory_limit = 0x7f0000009000;
	scene.mapping.file_offset = 0x2000;
	scene.location.address = 0x7f0000001234;
	assert_int_equal(fixture_read_message(&scene.profile, &profile, &import), 0);
	assert_int_equal(profile_get_location(profile, 0)->space, LOCATION_FILE);
	assert_int_equal(profile_get_location(profile, 0)->address, 0x2234);
	profile_free(profile);
}

static void one_address_with_two_names_is_two_locations(void **state _unused_)
{
	struct profile *profile;
	struct import import = {0};
	struct scene scene;
	uint8_t data[512];
	size_t size;

	scene_init(&scene);
	scene.mapping.memory_limit = 0x9000;
	scene.location.address = 0x1234;
	assert_int_equal(fixture_read_message(&scene.profile, &profile, &import), 0);
	scene.strings[NAME] = (char[]){"renamed"};
	size = pprof__profile__get_packed_size(&scene.profile);
	assert_true(size <= sizeof(data));
	pprof__profile__pack(&scene.profile, data);
	assert_int_equal(fixture_read(profile, &import, data, size), 0);
	fixture_assert_folded(profile, "main 42\nrenamed 42\n");
	profile_free(profile);
}

static void samples_of_one_stack_are_summed(void **state _unused_)
{
	struct scene scene;

	scene_init(&scene);
	scene.profile.n_sample = 2;
	assert_reads_as(&scene, "main 84\n");
}

static void samples_without_labels_have_no_root_frame(void **state _unused_)
{
	struct import import = {0};
	struct profile *profile;
	struct scene scene;
	struct text folded;

	scene_init(&scene);
	assert_int_equal(fixture_read_message(&scene.profile, &profile, &import), 0);
	folded = fixture_fold(profile, TREE_ROOT_COMM, 0);
	assert_string_equal(folded.data, "main 42\n");
	text_release(&folded);
	profile_free(profile);
}

static void keep_warning(void *context, const char *line)
{
	text_append_string(context, line);
}

/* The warning names the keys of lost labels. Our own labels repeat names of frames: nothing is lost. */
static void labels_that_are_not_kept_are_told(void **state _unused_)
{
	static const struct {
		const char *key;
		const char *comment;
		const char *warning;
	} cases[] = {
		{"pid", "", ""},
		{"user", "",
		 "2 labels of samples (user) are skipped: only those of threads and processes are read"},
		{"", "",
		 "2 labels of samples () are skipped: only those of threads and processes are read"},
		{"state", "",
		 "2 labels of samples (state) are skipped: only those of threads and processes are read"},
		{"state", PPROF_COMMENT "1.0", ""},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		Pprof__Label label = PPROF__LABEL__INIT;
		Pprof__Label *labels[] = {&label};
		struct text warnings = {0};
		struct import import = {.warn = keep_warning, .context = &warnings};
		int64_t comment = COMMENT;
		struct profile *profile;
		struct scene scene;

		scene_init(&scene);
		strcpy(scene.strings[KEY], cases[i].key);
		strcpy(scene.strings[COMMENT], cases[i].comment);
		scene.profile.n_comment = 1;
		scene.profile.comment = &comment;
		label.key = KEY;
		label.num = 7;
		scene.sample.n_label = 1;
		scene.sample.label = labels;
		scene.profile.n_sample = 2;
		text_append_string(&warnings, "");
		assert_int_equal(fixture_read_message(&scene.profile, &profile, &import), 0);
		assert_non_null(strstr(warnings.data, cases[i].warning));
		assert_true(*cases[i].warning || !warnings.length);
		strcpy(scene.strings[KEY], "pid");
		strcpy(scene.strings[COMMENT], "made by hand");
		text_release(&warnings);
		profile_free(profile);
	}
}

static void a_profile_of_nothing_but_negative_values_is_refused(void **state _unused_)
{
	struct import import = {0};
	struct profile *profile;
	struct scene scene;

	scene_init(&scene);
	scene.values[0] = -1;
	assert_int_equal(fixture_read_message(&scene.profile, &profile, &import), -EBADMSG);
	assert_non_null(strstr(import.error.message, "all sums are negative"));
	assert_int_equal(import.counts.skipped, 1);
	profile_free(profile);
}

/* Two sample types and two samples of one stack, with a label of its own for the second. */
struct signed_scene {
	struct scene scene;
	Pprof__Sample second;
	Pprof__ValueType types[2];
	Pprof__ValueType *type_pointers[2];
	Pprof__Label label;
	Pprof__Label pid;
	Pprof__Label *labels[2];
	int64_t values[2];
};

static void signed_scene_init(struct signed_scene *scene)
{
	scene_init(&scene->scene);
	scene->types[0] = scene->types[1] = scene->scene.type;
	scene->types[0].type = COMMENT; /* "made by hand" */
	scene->type_pointers[0] = &scene->types[0];
	scene->type_pointers[1] = &scene->types[1];
	scene->scene.profile.n_sample_type = 2;
	scene->scene.profile.sample_type = scene->type_pointers;
	scene->scene.profile.n_sample = 2;
	scene->scene.sample.n_value = 2;
	scene->second = scene->scene.sample;
	scene->second.value = scene->values;
	scene->scene.samples[1] = &scene->second;
	pprof__label__init(&scene->label);
	pprof__label__init(&scene->pid);
	scene->values[0] = scene->values[1] = 0;
	scene->label.key = KEY;
	scene->labels[0] = &scene->label;
	scene->second.label = scene->labels;
}

/* As pprof has it: the default, else the last, but of Go's heap the space in use. */
static void the_default_sample_type_is_the_first_metric(void **state _unused_)
{
	static const struct {
		const char *types[2];
		int64_t default_type;
		const char *first;
	} cases[] = {
		{{"samples", "cpu"}, 0, "cpu"},
		{{"samples", "cpu"}, COMMENT, "samples"},
		{{"samples", "cpu"}, KEY, "cpu"},
		{{"inuse_space", "alloc_space"}, 0, "inuse_space"},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct import import = {0};
		struct signed_scene scene;
		struct profile *profile;

		signed_scene_init(&scene);
		scene.types[1].type = KEY;
		scene.second.n_label = 0;
		strcpy(scene.scene.strings[COMMENT], cases[i].types[0]);
		strcpy(scene.scene.strings[KEY], cases[i].types[1]);
		scene.scene.profile.default_sample_type = cases[i].default_type;
		assert_int_equal(fixture_read_message(&scene.scene.profile, &profile, &import), 0);
		assert_string_equal(format_get_metric_name(profile, 0), cases[i].first);
		strcpy(scene.scene.strings[COMMENT], "made by hand");
		strcpy(scene.scene.strings[KEY], "pid");
		profile_free(profile);
	}
}

/* type  of two sample types: the last one is the first metric, as no default is named */
static uint64_t sum_of(const struct profile *profile, uint32_t type)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < profile_count_samples(profile); i++)
		if (profile_get_sample(profile, i)->metric == 1 - type)
			sum += profile_get_sample(profile, i)->value;
	return sum;
}

static void a_negative_value_leaves_the_others_of_its_sample(void **state _unused_)
{
	static const struct {
		int64_t first[2];
		int64_t second[2];
		uint64_t sums[2];
		const char *warning;
	} cases[] = {
		{{100, 50}, {30, -20}, {130, 30}, ""},
		{{100, -20}, {30, 50}, {130, 30}, ""},
		{{100, 0},
		 {30, -20},
		 {130, 0},
		 "1 stack has a negative sum of cpu (20 nanoseconds"},
		{{100, INT64_MIN}, {0, INT64_MAX}, {100, 0}, "negative sum of cpu (1 nanoseconds"},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct text warnings = {0};
		struct import import = {.warn = keep_warning, .context = &warnings};
		struct signed_scene scene;
		struct profile *profile;

		signed_scene_init(&scene);
		memcpy(scene.scene.values, cases[i].first, sizeof(cases[i].first));
		memcpy(scene.values, cases[i].second, sizeof(cases[i].second));
		text_append_string(&warnings, "");
		assert_int_equal(fixture_read_message(&scene.scene.profile, &profile, &import), 0);
		for (uint32_t type = 0; type < 2; type++)
			assert_int_equal(sum_of(profile, type), cases[i].sums[type]);
		assert_non_null(strstr(warnings.data, cases[i].warning));
		assert_true(*cases[i].warning || !warnings.length);
		assert_int_equal(import.counts.records, 2);
		text_release(&warnings);
		profile_free(profile);
	}
}

/* Two versions of a program have a function in other lines, two runs other threads. */
static void a_difference_is_of_stacks_with_the_same_names(void **state _unused_)
{
	Pprof__Location location = PPROF__LOCATION__INIT;
	Pprof__Line line = PPROF__LINE__INIT;
	Pprof__Line *lines[] = {&line};
	uint64_t location_ids[] = {2};
	Pprof__Location *locations[2];
	struct signed_scene scene;

	signed_scene_init(&scene);
	locations[0] = scene.scene.locations[0];
	locations[1] = &location;
	scene.scene.profile.n_location = 2;
	scene.scene.profile.location = locations;
	scene.scene.line.line = 483;
	line.function_id = 1;
	line.line = 35;
	location.id = 2;
	location.mapping_id = 1;
	location.n_line = 1;
	location.line = lines;
	scene.second.location_id = location_ids;
	scene.scene.values[0] = 50;
	scene.values[0] = -20;
	for (size_t i = 0; i < 2; i++) {
		/* The label of one sample alone makes its thread another one. */
		struct import import = {0};
		struct profile *profile;

		scene.second.n_label = i;
		scene.label.num = 7;
		assert_int_equal(fixture_read_message(&scene.scene.profile, &profile, &import), 0);
		assert_int_equal(sum_of(profile, 0), i ? 50 : 30);
		assert_int_equal(import.counts.skipped, i);
		profile_free(profile);
	}
}

/* `pprof -diff_base` labels samples of the base: these are subtracted, and no label is left out. */
static void a_difference_of_two_profiles_is_said_to_be_one(void **state _unused_)
{
	struct text warnings = {0};
	struct import import = {.warn = keep_warning, .context = &warnings};
	struct signed_scene scene;
	struct profile *profile;

	signed_scene_init(&scene);
	scene.second.n_label = 1;
	strcpy(scene.scene.strings[KEY], "pprof::base");
	scene.scene.values[0] = scene.scene.values[1] = 50;
	scene.values[0] = -20;
	scene.values[1] = -30;
	text_append_string(&warnings, "");
	assert_int_equal(fixture_read_message(&scene.scene.profile, &profile, &import), 0);
	assert_int_equal(sum_of(profile, 0), 30);
	assert_int_equal(sum_of(profile, 1), 20);
	assert_non_null(strstr(warnings.data, "the file is a comparison of two profiles"));
	assert_non_null(strstr(warnings.data, "'stackwide diff BEFORE AFTER'"));
	assert_null(strstr(warnings.data, "labels of samples"));
	text_release(&warnings);
	profile_free(profile);
	/* Threads of two runs have other ids. */
	strcpy(scene.scene.strings[COMMENT], "pid");
	scene.pid.key = COMMENT;
	scene.pid.num = 7;
	scene.labels[1] = &scene.pid;
	scene.second.n_label = 2;
	import = (struct import){0};
	assert_int_equal(fixture_read_message(&scene.scene.profile, &profile, &import), 0);
	assert_int_equal(sum_of(profile, 0), 30);
	assert_int_equal(import.counts.skipped, 0);
	profile_free(profile);
	strcpy(scene.scene.strings[COMMENT], "made by hand");
	strcpy(scene.scene.strings[KEY], "pid");
}

static void a_sum_beyond_64_bits_is_an_error(void **state _unused_)
{
	struct import import = {0};
	struct profile *profile;
	struct scene scene;

	scene_init(&scene);
	scene.values[0] = INT64_MAX;
	scene.samples[2] = &scene.sample;
	scene.profile.n_sample = 2;
	assert_reads_as(&scene, "main 18446744073709551614\n");
	scene.profile.n_sample = 3;
	assert_int_equal(fixture_read_message(&scene.profile, &profile, &import), -EOVERFLOW);
	assert_non_null(strstr(import.error.message, "overflows 64 bits"));
	profile_free(profile);
}

static void what_is_named_must_be_there(void **state _unused_)
{
	struct scene scene;

	scene_init(&scene);
	scene.location_ids[0] = 9;
	assert_is_refused(&scene, "no location 9");
	scene_init(&scene);
	scene.line.function_id = 9;
	assert_is_refused(&scene, "no function 9");
	scene_init(&scene);
	scene.location.mapping_id = 9;
	assert_is_refused(&scene, "no mapping 9");
	scene_init(&scene);
	scene.function.name = 9;
	assert_is_refused(&scene, "no string 9");
	scene_init(&scene);
	scene.type.unit = -1;
	assert_is_refused(&scene, "no string");
}

static void a_sample_needs_a_value_for_each_type(void **state _unused_)
{
	struct scene scene;

	scene_init(&scene);
	scene.sample.n_value = 2;
	assert_is_refused(&scene, "a sample with 2 values, expected 1");
	scene.profile.n_sample_type = 0;
	assert_is_refused(&scene, "expected a sample type");
}

static void numbers_need_not_be_packed(void **state _unused_)
{
	/* sample_type, sample with location 1 and value 5, location, function, strings "", "f" */
	static const char data[] = "\x0a\x04\x08\x01\x10\x01"
				   "\x12\x04\x08\x01\x10\x05"
				   "\x22\x06\x08\x01\x22\x02\x08\x01"
				   "\x2a\x04\x08\x01\x10\x01"
				   "\x32\x00\x32\x01\x66";
	struct profile *profile = profile_new();
	struct import import = {0};

	assert_int_equal(fixture_read(profile, &import, data, sizeof(data) - 1), 0);
	fixture_assert_folded(profile, "f 5\n");
	profile_free(profile);
}

static void a_truncated_profile_is_read_or_refused(void **state _unused_)
{
	struct scene scene;
	uint8_t data[512];
	size_t size;

	scene_init(&scene);
	size = pprof__profile__get_packed_size(&scene.profile);
	assert_true(size <= sizeof(data));
	pprof__profile__pack(&scene.profile, data);
	for (size_t length = 0; length < size; length++) {
		struct profile *profile = profile_new();
		struct import import = {0};
		uint8_t *copy = malloc(length + 1);
		int err;

		memcpy(copy, data, length);
		err = fixture_read(profile, &import, copy, length);
		assert_true(err == 0 || err == -EBADMSG);
		assert_int_equal(err == 0, import.error.message[0] == '\0');
		free(copy);
		profile_free(profile);
	}
}

static void a_location_of_endless_lines_is_refused(void **state _unused_)
{
	static Pprof__Line *lines[5000];
	struct scene scene;

	scene_init(&scene);
	for (size_t i = 0; i < ARRAY_LENGTH(lines); i++)
		lines[i] = &scene.line;
	scene.location.line = lines;
	scene.location.n_line = ARRAY_LENGTH(lines);
	assert_is_refused(&scene, "more than 4096 lines");
}

static void other_files_are_not_taken_for_pprof(void **state _unused_)
{
	static const char folded[] = "\nmain;f 1\n";
	static const char trace[] = "\x0a\x08\x50\x01\x1a\x04\x0a\x02xy\x0a\x02\x50\x01";
	static const char recording[] = "FLR\0\0\2\0\1";
	static const char json[] = "{\"name\": \"root\"}";

	assert_int_equal(pprof_detect((const uint8_t *)"", 0), DETECTED_NOT);
	assert_int_equal(pprof_detect((const uint8_t *)folded, sizeof(folded) - 1), DETECTED_NOT);
	assert_int_equal(pprof_detect((const uint8_t *)trace, sizeof(trace) - 1), DETECTED_NOT);
	assert_int_equal(pprof_detect((const uint8_t *)recording, sizeof(recording)), DETECTED_NOT);
	assert_int_equal(pprof_detect((const uint8_t *)json, sizeof(json) - 1), DETECTED_NOT);
}

/* Numbers that may be fields are in any bytes: "PK" is a duration. */
static void a_start_that_fits_does_not_make_other_files_pprof(void **state _unused_)
{
	static const char zip[] = "PK\3\4\24\0\0\0\10\0";
	static const char numbers[] = "\x38\1\x48\2";
	static const char broken[] = "\x32\3abc\x4b\x4b";
	static const char names[] = "\x32\0\x32\3abc";

	assert_null(format_detect("x.zip", (const uint8_t *)zip, sizeof(zip) - 1));
	assert_null(format_detect("x.bin", (const uint8_t *)numbers, sizeof(numbers) - 1));
	assert_null(format_detect("x.bin", (const uint8_t *)broken, sizeof(broken) - 1));
	assert_ptr_equal(format_detect("x.bin", (const uint8_t *)names, sizeof(names) - 1),
			 &format_pprof);
	assert_null(format_detect("x.gz", (const uint8_t *)broken, sizeof(broken) - 1));
	assert_ptr_equal(format_detect("x.pb.gz", (const uint8_t *)broken, sizeof(broken) - 1),
			 &format_pprof);
}

/* ---- frames to drop ---- */

static void add_varint(struct text *text, uint64_t value)
{
	for (; value > 127; value >>= 7)
		text_append_char(text, (char)(value | 128));
	text_append_char(text, (char)value);
}

static void add_number(struct text *text, unsigned int field, uint64_t value)
{
	add_varint(text, field << 3);
	add_varint(text, value);
}

static void add_bytes(struct text *text, unsigned int field, struct text *bytes)
{
	add_varint(text, field << 3 | 2);
	add_varint(text, bytes->length);
	text_append(text, bytes->data, bytes->length);
	text_truncate(bytes, 0);
}

enum { MAIN = 5, ALLOC, MALLOC, SWEEP, KEEP, NAMESPACE, INLINED = 20, BOTH_INLINED };

static void add_location(struct text *text, uint64_t id, uint64_t inner, uint64_t outer)
{
	struct text location = {0};
	struct text line = {0};

	add_number(&location, 1, id);
	if (inner) {
		add_number(&line, 1, inner);
		add_bytes(&location, 4, &line);
	}
	add_number(&line, 1, outer);
	add_bytes(&location, 4, &line);
	add_bytes(text, 4, &location);
	text_release(&location);
	text_release(&line);
}

/* ids  innermost first, ended by 0 */
static void add_sample(struct text *text, const uint64_t *ids, uint64_t value)
{
	struct text sample = {0};

	for (; *ids; ids++)
		add_number(&sample, 1, *ids);
	add_number(&sample, 2, value);
	add_bytes(text, 2, &sample);
	text_release(&sample);
}

static struct text make_heap(const char *drop, const char *keep)
{
	const char *const strings[] = {
		"",
		"space",
		"bytes",
		drop,
		keep,
		"main",
		"alloc",
		".malloc(int)",
		"sweep",
		"malloc::keep",
		"ns::(anonymous namespace)::malloc(x)",
	};
	struct text text = {0};
	struct text part = {0};

	add_number(&part, 1, 1);
	add_number(&part, 2, 2);
	add_bytes(&text, 1, &part);
	for (uint64_t i = MAIN; i <= NAMESPACE; i++) {
		add_number(&part, 1, i);
		add_number(&part, 2, i);
		add_bytes(&text, 5, &part);
		add_location(&text, i, 0, i);
	}
	add_location(&text, INLINED, MALLOC, ALLOC);
	add_location(&text, BOTH_INLINED, SWEEP, MALLOC);
	add_sample(&text, (const uint64_t[]){SWEEP, MALLOC, MAIN, 0}, 100);
	add_sample(&text, (const uint64_t[]){INLINED, MAIN, 0}, 10);
	add_sample(&text, (const uint64_t[]){SWEEP, INLINED, MAIN, 0}, 7);
	add_sample(&text, (const uint64_t[]){SWEEP, KEEP, MAIN, 0}, 3);
	add_sample(&text, (const uint64_t[]){SWEEP, MALLOC, 0}, 2);
	add_sample(&text, (const uint64_t[]){BOTH_INLINED, MAIN, 0}, 1);
	add_sample(&text, (const uint64_t[]){NAMESPACE, MAIN, 0}, 4);
	for (size_t i = 0; i < ARRAY_LENGTH(strings); i++) {
		text_append_string(&part, strings[i]);
		add_bytes(&text, 6, &part);
	}
	add_number(&text, 7, 3);
	add_number(&text, 8, 4);
	text_release(&part);
	return text;
}

static void assert_pruned(const char *drop, const char *keep, bool keeps_all_frames,
			  const char *warning, const char *folded)
{
	struct text heap = make_heap(drop, keep);
	struct text warnings = {0};
	struct profile *profile = profile_new();
	struct import import = {
		.keeps_all_frames = keeps_all_frames, .warn = keep_warning, .context = &warnings};

	text_append_string(&warnings, "");
	assert_int_equal(fixture_read(profile, &import, heap.data, heap.length), 0);
	assert_string_equal(warnings.data, warning);
	fixture_assert_folded(profile, folded);
	profile_free(profile);
	text_release(&heap);
	text_release(&warnings);
}

#define ALL_FRAMES                                                         \
	".malloc(int);sweep 2\nmain;.malloc(int);sweep 100\n"              \
	"main;.malloc(int);sweep_[i] 1\nmain;alloc;.malloc(int)_[i] 10\n"  \
	"main;alloc;.malloc(int)_[i];sweep 7\nmain;malloc::keep;sweep 3\n" \
	"main;ns::(anonymous namespace)::malloc(x) 4\n"

/* As `go tool pprof -traces` shows the same profile. */
static void frames_that_the_file_drops_are_left_out(void **state _unused_)
{
	assert_pruned(
		"malloc.*|ns::.*malloc", ".*::keep", false,
		"test.pb.gz: dropped 8 frames of 5 samples that match the file's drop_frames; --all-frames keeps them",
		".malloc(int);sweep 2\nmain 105\nmain;alloc 17\nmain;malloc::keep;sweep 3\n");
	assert_pruned(
		"(?i)MALLOC", "", false,
		"test.pb.gz: dropped 7 frames of 4 samples that match the file's drop_frames; --all-frames keeps them",
		".malloc(int);sweep 2\nmain 101\nmain;alloc 17\nmain;malloc::keep;sweep 3\n"
		"main;ns::(anonymous namespace)::malloc(x) 4\n");
	/* A part of a name is no match. */
	assert_pruned("mallo|lloc", "", false, "", ALL_FRAMES);
	assert_pruned("malloc", "", true, "", ALL_FRAMES);
}

static void what_is_no_regular_expression_drops_nothing(void **state _unused_)
{
	assert_pruned("mal(loc", "", false,
		      "test.pb.gz: drop_frames: the regular expression /^(mal(loc)$/ is not valid: "
		      "at character 2: the ')' of this '(' is missing; all frames are kept",
		      ALL_FRAMES);
	assert_pruned("malloc", "[", false,
		      "test.pb.gz: keep_frames: the regular expression /^([)$/ is not valid: "
		      "at character 3: the ']' of this '[' is missing; all frames are kept",
		      ALL_FRAMES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_profile_is_read),
		cmocka_unit_test(a_start_that_fits_does_not_make_other_files_pprof),
		cmocka_unit_test(ids_may_be_any_numbers),
		cmocka_unit_test(a_mangled_system_name_is_not_shown),
		cmocka_unit_test(names_of_others_cannot_break_a_line),
		cmocka_unit_test(code_of_the_kernel_is_known_by_its_mapping),
		cmocka_unit_test(code_without_names_is_called_by_its_file),
		cmocka_unit_test(code_that_its_producer_did_not_name_is_left_to_others),
		cmocka_unit_test(addresses_become_offsets_in_the_file),
		cmocka_unit_test(one_address_with_two_names_is_two_locations),
		cmocka_unit_test(samples_of_one_stack_are_summed),
		cmocka_unit_test(samples_without_labels_have_no_root_frame),
		cmocka_unit_test(labels_that_are_not_kept_are_told),
		cmocka_unit_test(a_profile_of_nothing_but_negative_values_is_refused),
		cmocka_unit_test(the_default_sample_type_is_the_first_metric),
		cmocka_unit_test(a_negative_value_leaves_the_others_of_its_sample),
		cmocka_unit_test(a_difference_is_of_stacks_with_the_same_names),
		cmocka_unit_test(a_difference_of_two_profiles_is_said_to_be_one),
		cmocka_unit_test(a_sum_beyond_64_bits_is_an_error),
		cmocka_unit_test(what_is_named_must_be_there),
		cmocka_unit_test(a_sample_needs_a_value_for_each_type),
		cmocka_unit_test(numbers_need_not_be_packed),
		cmocka_unit_test(a_truncated_profile_is_read_or_refused),
		cmocka_unit_test(a_location_of_endless_lines_is_refused),
		cmocka_unit_test(other_files_are_not_taken_for_pprof),
		cmocka_unit_test(frames_that_the_file_drops_are_left_out),
		cmocka_unit_test(what_is_no_regular_expression_drops_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
