#include <perfetto.pb-c.h>

#include "import_fixture.h"
#include "trace_builder.h"
#include "zones_builder.h"

static int read_trace(const struct text *trace, struct zones_read_result *ret)
{
	return builder_read(&format_pftrace, trace->data, trace->length, false, ret);
}

/* A profile with everything that our own traces keep of code. */
static struct profile *make_code(void)
{
	struct profile *profile = profile_new();
	struct frame frames[2] = {{.line = 7, .is_inlined = true}, {.line = 9}};
	struct module module = {.build_id = {1, 2, 0}, .build_id_size = 3};
	uint32_t thread, metric, location, stack, id;

	assert_non_null(profile);
	assert_int_equal(profile_add_string(profile, "/usr/lib/libx.so", &module.path), 0);
	assert_int_equal(profile_add_module(profile, &module, &id), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(profile_add_string(profile, i ? "f" : "g", &frames[i].name), 0);
		assert_int_equal(
			profile_add_string(profile, i ? "f(int)" : "g(char)", &frames[i].full_name),
			0);
		assert_int_equal(profile_add_string(profile, "libx.so", &frames[i].module), 0);
		assert_int_equal(profile_add_string(profile, "x.c", &frames[i].file), 0);
	}
	assert_int_equal(profile_add_location(profile, LOCATION_FILE, id, 0x1234, &location), 0);
	assert_int_equal(profile_set_frames(profile, location, frames, 2, UNNAMED_NOT), 0);
	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
	assert_int_equal(profile_add_stack(profile, stack, location, &stack), 0);
	assert_int_equal(profile_add_metric(profile, "alloc", "bytes", &metric), 0);
	thread = builder_add_thread(profile, 5, 7, "worker");
	assert_int_equal(profile_add_sample(profile, thread, stack, metric, 4096), 0);
	return profile;
}

static struct text write_trace(const struct profile *profile)
{
	struct format_opts opts = {0};
	struct text text = {0};
	struct sink sink = {.write = imported_append, .context = &text};

	assert_int_equal(format_pftrace.write(profile, &opts, &sink), 0);
	return text;
}

static void code_is_what_was_written(void **state _unused_)
{
	struct profile *profile = make_code();
	struct text trace = write_trace(profile);
	struct zones_read_result result;
	const struct location *location;
	const struct frame *frame;
	const struct module *module;

	assert_int_equal(read_trace(&trace, &result), 0);
	assert_written(&format_folded, result.profile, (struct call_tree_opts){0},
		       "worker;f;g_[i];f;g_[i] 4096\n");
	assert_int_equal(profile_count_locations(result.profile), 1);
	location = profile_get_location(result.profile, 0);
	assert_int_equal(location->space, LOCATION_FILE);
	assert_int_equal(location->address, 0x1234);
	frame = profile_get_frame(result.profile, location->first_frame);
	assert_string_equal(profile_get_string(result.profile, frame->full_name), "g(char)");
	assert_string_equal(profile_get_string(result.profile, frame->module), "libx.so");
	assert_string_equal(profile_get_string(result.profile, frame->file), "x.c");
	assert_int_equal(frame->line, 7);
	module = profile_get_module(result.profile, location->owner);
	assert_string_equal(profile_get_string(result.profile, module->path), "/usr/lib/libx.so");
	assert_int_equal(module->build_id_size, 3);
	assert_memory_equal(module->build_id, "\1\2\0", 3);
	assert_string_equal(format_get_metric_name(result.profile, 0), "alloc");
	assert_string_equal(format_get_metric_unit(result.profile, 0), "bytes");
	builder_release(&result);
	text_release(&trace);
	profile_free(profile);
}

/* How far the mapping of a frame with this address has its file offsets. */
static uint64_t find_load_bias(const struct text *trace, uint64_t rel_pc)
{
	Perfetto__Trace *unpacked =
		perfetto__trace__unpack(NULL, trace->length, (const uint8_t *)trace->data);
	uint64_t mapping = 0;
	uint64_t found = UINT64_MAX;

	assert_non_null(unpacked);
	for (size_t i = 0; i < unpacked->n_packet; i++) {
		const Perfetto__InternedData *data = unpacked->packet[i]->interned_data;

		for (size_t k = 0; data && k < data->n_frames; k++)
			if (data->frames[k]->rel_pc == rel_pc)
				mapping = data->frames[k]->mapping_id;
		for (size_t k = 0; data && k < data->n_mappings; k++)
			if (data->mappings[k]->iid == mapping && data->mappings[k]->has_load_bias)
				found = data->mappings[k]->load_bias;
	}
	perfetto__trace__free_unpacked(unpacked, NULL);
	return found;
}

/* Two segments of one file: they may lie at different distances from where they are in it. */
static void a_trace_has_elf_addresses_and_gives_back_file_offsets(void **state _unused_)
{
	static const uint64_t offsets[] = {0x1234, 0x2345};
	static const uint64_t addresses[] = {0x401234, 0x702345};
	struct profile *profile = make_code();
	struct frame frame = *profile_get_frame(profile, 1);
	struct zones_read_result result;
	struct text trace;
	uint32_t location, stack;

	profile_set_elf_address(profile, 0, addresses[0]);
	assert_int_equal(profile_add_location(profile, LOCATION_FILE, 0, offsets[1], &location), 0);
	assert_int_equal(profile_set_frames(profile, location, &frame, 1, UNNAMED_NOT), 0);
	profile_set_elf_address(profile, location, addresses[1]);
	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
	assert_int_equal(profile_add_sample(profile, 0, stack, 0, 1), 0);
	trace = write_trace(profile);
	assert_int_equal(find_load_bias(&trace, addresses[0]), 0x400000);
	assert_int_equal(find_load_bias(&trace, addresses[1]), 0x700000);
	assert_int_equal(read_trace(&trace, &result), 0);
	assert_int_equal(profile_count_locations(result.profile), 2);
	assert_int_equal(profile_count_modules(result.profile), 1);
	for (uint32_t i = 0; i < 2; i++) {
		const struct location *found = profile_get_location(result.profile, i);
		size_t which = found->address == offsets[1];

		assert_int_equal(found->space, LOCATION_FILE);
		assert_int_equal(found->address, offsets[which]);
		assert_true(found->has_elf_address);
		assert_int_equal(found->elf_address, addresses[which]);
	}
	builder_release(&result);
	text_release(&trace);
	profile_free(profile);
}

/* As versions wrote it that did not know ELF addresses: mappings have no bias. */
static void addresses_of_older_traces_are_file_offsets(void **state _unused_)
{
	struct profile *profile = make_code();
	struct text trace = write_trace(profile);
	struct zones_read_result result;

	assert_int_equal(find_load_bias(&trace, 0x1234), UINT64_MAX);
	assert_int_equal(read_trace(&trace, &result), 0);
	assert_int_equal(profile_get_location(result.profile, 0)->address, 0x1234);
	assert_false(profile_get_location(result.profile, 0)->has_elf_address);
	builder_release(&result);
	text_release(&trace);
	profile_free(profile);
}

/* Names without an address, which come in another order when the trace is read than they were met before. */
static void a_trace_of_names_is_the_same_when_it_is_written_again(void **state _unused_)
{
	static const char *const names[] = {"[blocked]", "wait", "main"};
	struct zones_read_result first = {.profile = profile_new(), .timeline = timeline_new()};
	struct timeline_process process = {.pid = 5};
	struct timeline_thread thread = {.tid = 7};
	struct timeline_sample sample = {.time_ns = 1, .weight = 10, .stack = STACK_EMPTY};
	struct zones_read_result second;
	struct text trace;
	struct text again;
	uint32_t locations[3];
	uint32_t metric;

	assert_true(first.profile && first.timeline);
	assert_int_equal(profile_add_metric(first.profile, "blocked", "nanoseconds", &metric), 0);
	assert_int_equal(timeline_add_string(first.timeline, "worker", &process.name), 0);
	thread.name = process.name;
	assert_int_equal(timeline_add_process(first.timeline, &process, NULL), 0);
	assert_int_equal(timeline_add_thread(first.timeline, &thread, NULL), 0);
	for (uint32_t i = 0; i < 3; i++) {
		struct frame frame = {0};

		assert_int_equal(profile_add_string(first.profile, names[i], &frame.name), 0);
		frame.full_name = frame.name;
		assert_int_equal(profile_add_frame_location(first.profile, &frame, &locations[i]),
				 0);
	}
	for (uint32_t i = 3; i-- > 0;)
		assert_int_equal(
			profile_add_stack(first.profile, sample.stack, locations[i], &sample.stack),
			0);
	assert_int_equal(profile_add_sample(first.profile,
					    builder_add_thread(first.profile, 5, 7, "worker"),
					    sample.stack, metric, 10),
			 0);
	assert_int_equal(timeline_add_sample(first.timeline, &sample, NULL), 0);
	trace = builder_write(&format_pftrace, &first, (struct format_opts){0});
	assert_int_equal(read_trace(&trace, &second), 0);
	again = builder_write(&format_pftrace, &second, (struct format_opts){0});
	assert_int_equal(again.length, trace.length);
	assert_memory_equal(again.data, trace.data, trace.length);
	text_release(&again);
	text_release(&trace);
	builder_release(&second);
	builder_release(&first);
}

/* Twice the same full name: each name is emitted. */
static void names_that_are_not_the_functions_own_come_back(void **state _unused_)
{
	static const char *const names[] = {"f", "f", "call f"};
	struct profile *profile = profile_new();
	struct zones_read_result result;
	uint32_t stack = STACK_EMPTY;
	struct text trace;
	uint32_t metric;

	for (size_t i = 0; i < 3; i++) {
		struct frame frame = {.module = STRING_EMPTY, .file = STRING_EMPTY, .line = 1 + i};
		uint32_t location;

		assert_int_equal(profile_add_string(profile, names[i], &frame.name), 0);
		assert_int_equal(profile_add_string(profile, "void f(int)", &frame.full_name), 0);
		assert_int_equal(profile_add_frame_location(profile, &frame, &location), 0);
		assert_int_equal(profile_add_stack(profile, stack, location, &stack), 0);
	}
	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	assert_int_equal(profile_add_sample(profile, builder_add_thread(profile, 1, 1, "t"), stack,
					    metric, 7),
			 0);
	trace = write_trace(profile);
	assert_int_equal(read_trace(&trace, &result), 0);
	assert_written(&format_folded, result.profile, (struct call_tree_opts){0},
		       "t;f;f;call f 7\n");
	builder_release(&result);
	text_release(&trace);
	profile_free(profile);
}

/* ---- of other tools ----------------------------------------------------------------------- */

static void unsymbolized_code_of_others_is_known_by_its_elf_address(void **state _unused_)
{
	struct imported imported = {.import.will_name_code = true};
	struct text trace = make_anonymous();
	const struct location *location;
	const struct module *module;
	uint32_t num_anonymous = 0;

	assert_int_equal(imported_read(&imported, &format_pftrace, trace.data, trace.length), 0);
	for (uint32_t i = 0; i < profile_count_locations(imported.profile); i++) {
		location = profile_get_location(imported.profile, i);
		if (location->num_frames)
			continue;
		assert_int_equal(location->space, LOCATION_ELF);
		assert_int_equal(location->address, 0x1231 + num_anonymous++);
		module = profile_get_module(imported.profile, location->owner);
		assert_string_equal(profile_get_string(imported.profile, module->path),
				    "/opt/app/libx.so");
		assert_int_equal(module->build_id_size, 2);
		assert_memory_equal(module->build_id, "\xab\xcd", 2);
	}
	assert_int_equal(num_anonymous, 2);
	imported_release(&imported);
	text_release(&trace);
}

static void unsymbolized_code_is_called_by_its_place_where_nobody_names_it(void **state _unused_)
{
	struct text trace = make_anonymous();
	struct zones_read_result result;

	assert_int_equal(read_trace(&trace, &result), 0);
	assert_written(&format_folded, result.profile, (struct call_tree_opts){0},
		       "[unknown];main;libx.so+0x1231;libx.so+0x1232 1\n");
	builder_release(&result);
	text_release(&trace);
}

static void elf_addresses_come_back_as_such(void **state _unused_)
{
	struct text foreign = make_anonymous();
	struct zones_read_result result;
	struct text trace;
	uint32_t num_found = 0;

	assert_int_equal(read_trace(&foreign, &result), 0);
	trace = write_trace(result.profile);
	builder_release(&result);
	assert_int_equal(read_trace(&trace, &result), 0);
	for (uint32_t i = 0; i < profile_count_locations(result.profile); i++)
		if (profile_get_location(result.profile, i)->space == LOCATION_ELF)
			num_found++;
	assert_int_equal(num_found, 2);
	builder_release(&result);
	text_release(&trace);
	text_release(&foreign);
}

/* The first 64 parts name the file well enough; all behind them are left out, not only one. */
static void a_path_of_very_many_parts_is_truncated(void **state _unused_)
{
	struct imported imported = {.import.will_name_code = true};
	struct text trace = {0};
	struct text data = {0};
	struct text item = {0};
	const struct module *module;

	put_numbered(&data, 17, 1, "a");
	put(&item, 1, 1);
	for (int i = 0; i < 70; i++)
		put(&item, 7, 1);
	put_message(&data, 19, &item);
	put(&item, 1, 1);
	put(&item, 3, 1);
	put(&item, 4, 0x1230);
	put_message(&data, 6, &item);
	put(&item, 1, 1);
	put(&item, 2, 1);
	put_message(&data, 7, &item);
	put_packet(&trace, 1, CLEARED, 1, INTERNED, &data);
	put_sample(&trace, 1, 2);
	assert_int_equal(imported_read(&imported, &format_pftrace, trace.data, trace.length), 0);
	assert_int_equal(profile_count_locations(imported.profile), 1);
	module = profile_get_module(imported.profile,
				    profile_get_location(imported.profile, 0)->owner);
	assert_int_equal(strlen(profile_get_string(imported.profile, module->path)), 2 * 64);
	imported_release(&imported);
	text_release(&trace);
}

/* A sequence of our own samples of one kind, "m0", "m1", …, with one sample. */
static void put_kind(struct text *trace, uint32_t sequence, uint32_t kind)
{
	_cleanup_(text_release) struct text name = {0};
	struct text timebase = {0};
	struct text defaults = {0};

	text_printf(&name, "m%u", kind);
	put_stack(trace, sequence, CLEARED, "f");
	put_string(&timebase, 10, name.data);
	put_string(&timebase, 1000, "count");
	put_message(&defaults, 1, &timebase);
	put_message(&timebase, 12, &defaults);
	put_packet(trace, sequence, NEEDED, 1, DEFAULTS, &timebase);
	put_sample(trace, sequence, 2);
}

static void as_many_kinds_of_samples_as_fit_may_come_again(void **state _unused_)
{
	struct imported imported = {0};
	struct imported refused = {0};
	struct text trace = {0};

	for (uint32_t i = 0; i < 256; i++)
		put_kind(&trace, i + 1, i);
	put_kind(&trace, 257, 5);
	assert_int_equal(imported_read(&imported, &format_pftrace, trace.data, trace.length), 0);
	assert_int_equal(profile_count_metrics(imported.profile), 256);
	imported_release(&imported);
	put_kind(&trace, 258, 256);
	assert_int_equal(imported_read(&refused, &format_pftrace, trace.data, trace.length),
			 -EBADMSG);
	imported_release(&refused);
	text_release(&trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_what_was_written),
		cmocka_unit_test(a_trace_has_elf_addresses_and_gives_back_file_offsets),
		cmocka_unit_test(addresses_of_older_traces_are_file_offsets),
		cmocka_unit_test(names_that_are_not_the_functions_own_come_back),
		cmocka_unit_test(unsymbolized_code_of_others_is_known_by_its_elf_address),
		cmocka_unit_test(unsymbolized_code_is_called_by_its_place_where_nobody_names_it),
		cmocka_unit_test(elf_addresses_come_back_as_such),
		cmocka_unit_test(a_path_of_very_many_parts_is_truncated),
		cmocka_unit_test(a_trace_of_names_is_the_same_when_it_is_written_again),
		cmocka_unit_test(as_many_kinds_of_samples_as_fit_may_come_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
