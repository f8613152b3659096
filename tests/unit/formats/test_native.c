#include <stdio.h>

#include "packed_profile.h"
#include "profile/timestamps.h"
#include "svg_builder.h"

static struct text write_svg(const struct profile *profile)
{
	return svg_builder_write(&format_svg, profile, &(struct format_opts){0});
}

static struct profile *read_svg(const struct text *svg)
{
	struct import import;

	if (svg_builder_read(svg->data, svg->length, NULL, &import))
		fail_msg("%s", import.error.message);
	return import.profile;
}

static void assert_text_equal(const struct text *a, const struct text *b)
{
	assert_int_equal(a->length, b->length);
	assert_memory_equal(a->data, b->data, a->length);
}

static void assert_same_folded(const struct profile *a, const struct profile *b)
{
	assert_int_equal(profile_count_metrics(a), profile_count_metrics(b));
	for (uint32_t metric = 0; metric < profile_count_metrics(a); metric++) {
		struct format_opts opts = {.tree = {.root = TREE_ROOT_TID, .metric = metric}};
		struct text of_a = svg_builder_write(&format_folded, a, &opts);
		struct text of_b = svg_builder_write(&format_folded, b, &opts);

		assert_string_equal(format_get_metric_name(a, metric),
				    format_get_metric_name(b, metric));
		assert_string_equal(format_get_metric_unit(a, metric),
				    format_get_metric_unit(b, metric));
		assert_text_equal(&of_a, &of_b);
		text_release(&of_a);
		text_release(&of_b);
	}
}

/* ---- random profiles ---------------------------------------------------------------------- */

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

/* Short names from a few bytes, so that some are equal; all kinds of bytes that could do harm. */
static uint32_t add_random_name(struct profile *profile, uint64_t *state)
{
	static const char bytes[] =
		"ab;\n\r\t\0\x01\x7f\x80\xff\xc3\xa9\xef\xbf\xbf<&>\"'\\x]-_[k] ";
	char name[8];
	size_t length = next_random(state) % sizeof(name);
	uint32_t id;

	for (size_t i = 0; i < length; i++)
		name[i] = bytes[next_random(state) % (sizeof(bytes) - 1)];
	assert_int_equal(string_table_add(profile_get_strings(profile), name, length, &id), 0);
	return id;
}

static uint32_t add_random_stack(struct profile *profile, uint64_t *state)
{
	uint32_t stack = STACK_EMPTY;

	for (uint32_t depth = next_random(state) % 6; depth; depth--) {
		struct frame frame = {
			.name = add_random_name(profile, state),
			.module = add_random_name(profile, state),
			.file = add_random_name(profile, state),
			.line = next_random(state) % 3,
			.kind = (uint8_t)(next_random(state) % 3),
			.is_inlined = next_random(state) % 2,
		};
		uint32_t location;

		frame.full_name =
			next_random(state) % 2 ? add_random_name(profile, state) : frame.name;
		assert_int_equal(profile_add_frame_location(profile, &frame, &location), 0);
		assert_int_equal(profile_add_stack(profile, stack, location, &stack), 0);
	}
	return stack;
}

static uint32_t add_random_thread(struct profile *profile, uint64_t *state)
{
	struct thread thread = {
		.tid = next_random(state) % 5,
		.comm = add_random_name(profile, state),
		.source = next_random(state) % 2,
	};
	uint32_t id;

	assert_int_equal(
		profile_add_process(profile, next_random(state) % 3, thread.comm, &thread.process),
		0);
	assert_int_equal(profile_add_thread(profile, &thread, &id), 0);
	return id;
}

static struct profile *make_random_profile(uint64_t seed)
{
	struct profile *profile = profile_new();
	uint64_t state = seed;
	uint32_t metrics[2];
	uint32_t ignored;

	assert_int_equal(profile_add_metric(profile, "samples", "count", &metrics[0]), 0);
	assert_int_equal(profile_add_metric(profile, "<time>", "nano&seconds", &metrics[1]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			profile_add_source(profile, add_random_name(profile, &state), &ignored), 0);
	for (uint32_t i = next_random(&state) % 40; i; i--) {
		uint32_t thread = add_random_thread(profile, &state);
		uint32_t stack = add_random_stack(profile, &state);
		uint64_t weight = next_random(&state) % 4 ? next_random(&state) % 4
							  : (uint64_t)next_random(&state) << 24;

		assert_int_equal(profile_add_sample(profile, thread, stack,
						    metrics[next_random(&state) % 2], weight),
				 0);
	}
	return profile;
}

static void what_is_written_is_read_back(void **state _unused_)
{
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct profile *profile = make_random_profile(seed);
		struct text svg = write_svg(profile);
		struct profile *again = read_svg(&svg);
		struct text svg_again = write_svg(again);
		struct profile *third = read_svg(&svg_again);
		struct text svg_third = write_svg(third);

		assert_same_folded(profile, again);
		assert_int_equal(profile_count_threads(again), profile_count_threads(profile));
		assert_int_equal(profile_count_stacks(again), profile_count_stacks(profile));
		assert_int_equal(profile_count_samples(again), profile_count_samples(profile));
		assert_text_equal(&svg_again, &svg_third);
		text_release(&svg);
		text_release(&svg_again);
		text_release(&svg_third);
		profile_free(profile);
		profile_free(again);
		profile_free(third);
	}
}

/* ---- one by one --------------------------------------------------------------------------- */

static void a_frame_keeps_module_file_and_line(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 7, 8, "t");
	struct frame frame = {.line = 42, .kind = FRAME_JIT, .is_inlined = true};
	struct profile *again;
	const struct frame *read;
	struct text svg;
	uint32_t location;
	uint32_t stack;
	uint32_t metric;

	assert_int_equal(profile_add_string(profile, "f", &frame.name), 0);
	assert_int_equal(profile_add_string(profile, "f(int)", &frame.full_name), 0);
	assert_int_equal(profile_add_string(profile, "libf.so", &frame.module), 0);
	assert_int_equal(profile_add_string(profile, "f.c", &frame.file), 0);
	assert_int_equal(profile_add_frame_location(profile, &frame, &location), 0);
	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, metric, 1), 0);
	svg = write_svg(profile);
	again = read_svg(&svg);
	read = profile_get_frame(again, profile_get_location(again, 0)->first_frame);
	assert_string_equal(profile_get_string(again, read->name), "f");
	assert_string_equal(profile_get_string(again, read->full_name), "f(int)");
	assert_string_equal(profile_get_string(again, read->module), "libf.so");
	assert_string_equal(profile_get_string(again, read->file), "f.c");
	assert_int_equal(read->line, 42);
	assert_int_equal(read->kind, FRAME_JIT);
	assert_true(read->is_inlined);
	text_release(&svg);
	profile_free(profile);
	profile_free(again);
}

static void every_kind_comes_back_inlined_or_not(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 7, 8, "t");
	struct profile *again;
	struct text svg;
	uint32_t stack = STACK_EMPTY;
	uint32_t metric;

	for (uint8_t i = 0; i < 2 * NUM_FRAME_KINDS; i++) {
		struct frame frame = {.kind = i / 2, .is_inlined = i % 2};
		uint32_t location;

		assert_int_equal(profile_add_string(profile, "f", &frame.name), 0);
		frame.full_name = frame.name;
		assert_int_equal(profile_add_frame_location(profile, &frame, &location), 0);
		assert_int_equal(profile_add_stack(profile, stack, location, &stack), 0);
	}
	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, metric, 1), 0);
	svg = write_svg(profile);
	again = read_svg(&svg);
	stack = profile_get_sample(again, 0)->stack;
	for (uint8_t i = 2 * NUM_FRAME_KINDS; i-- > 0;) {
		const struct location *location =
			profile_get_location(again, profile_get_stack_location(again, stack));
		const struct frame *frame = profile_get_frame(again, location->first_frame);

		assert_int_equal(frame->kind, i / 2);
		assert_int_equal(frame->is_inlined, i % 2);
		stack = profile_get_stack_parent(again, stack);
	}
	assert_int_equal(stack, STACK_EMPTY);
	text_release(&svg);
	profile_free(profile);
	profile_free(again);
}

/* As a recorder makes them: by address, several frames in one. */
static void addresses_with_inlined_calls_become_levels(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 7, 8, "t");
	uint32_t metric;
	struct profile *again;
	struct text svg;

	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	for (uint64_t address = 16; address < 18; address++) {
		struct frame frames[2] = {{.is_inlined = true}, {0}};
		uint32_t location;
		uint32_t stack;

		assert_int_equal(profile_add_string(profile, "inner", &frames[0].name), 0);
		assert_int_equal(profile_add_string(profile, "outer", &frames[1].name), 0);
		assert_int_equal(
			profile_add_location(profile, LOCATION_KERNEL, 0, address, &location), 0);
		assert_int_equal(profile_set_frames(profile, location, frames, 2, UNNAMED_NOT), 0);
		assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
		assert_int_equal(profile_add_sample(profile, thread, stack, metric, 2), 0);
	}
	svg = write_svg(profile);
	again = read_svg(&svg);
	assert_same_folded(profile, again);
	assert_int_equal(profile_count_samples(again), 1);
	text_release(&svg);
	profile_free(profile);
	profile_free(again);
}

static void frames_too_narrow_to_draw_are_read_back(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 7, 8, "t");
	struct text svg;
	struct profile *again;

	builder_add_sample(profile, thread, "narrow", 1);
	builder_add_sample(profile, thread, "wide", 1000000);
	svg = write_svg(profile);
	assert_null(strstr(svg.data, "<title>narrow"));
	again = read_svg(&svg);
	assert_same_folded(profile, again);
	text_release(&svg);
	profile_free(profile);
	profile_free(again);
}

static void a_deep_stack_is_read_back(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 0, 0, "");
	struct text deep = {0};
	struct text svg;
	struct profile *again;

	for (int i = 0; i < 100000; i++)
		text_printf(&deep, "%sf", i ? ";" : "");
	builder_add_sample(profile, thread, deep.data, 1);
	svg = write_svg(profile);
	again = read_svg(&svg);
	assert_same_folded(profile, again);
	text_release(&deep);
	text_release(&svg);
	profile_free(profile);
	profile_free(again);
}

static uint32_t add_source(struct profile *profile, const char *name, const char *label)
{
	uint32_t strings[2];
	uint32_t source;

	assert_int_equal(profile_add_string(profile, name, &strings[0]), 0);
	assert_int_equal(profile_add_string(profile, label, &strings[1]), 0);
	assert_int_equal(profile_add_source(profile, strings[0], &source), 0);
	provenance_set_label(profile_get_provenance(profile), source, strings[1]);
	return source;
}

static void add_sample_of(struct profile *profile, uint32_t source)
{
	struct thread thread = {.source = source};
	uint32_t id;

	assert_int_equal(profile_add_process(profile, 1, STRING_EMPTY, &thread.process), 0);
	assert_int_equal(profile_add_thread(profile, &thread, &id), 0);
	builder_add_sample(profile, id, "a", 1);
}

static void labels_and_accounts_stay_with_their_source(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct sampling sampling = {.duration_ns = 77, .lost_samples = 3};
	uint32_t first = add_source(profile, "a.folded", "a.folded");
	uint32_t second = add_source(profile, "b.folded", "night");
	const struct provenance *provenance;
	struct profile *again;
	struct text svg;

	add_sample_of(profile, first);
	add_sample_of(profile, second);
	provenance_add_sampling(profile_get_provenance(profile), second, &sampling);
	assert_int_equal(profile_add_tally(profile, first, "import.skipped", 4), 0);
	svg = write_svg(profile);
	again = read_svg(&svg);
	provenance = profile_get_provenance(again);
	/* 0 is the file that was read. */
	assert_string_equal(profile_get_string(again, provenance_get_label(provenance, 1)),
			    "a.folded");
	assert_string_equal(profile_get_string(again, provenance_get_label(provenance, 2)),
			    "night");
	assert_null(provenance_find_sampling(provenance, 1));
	assert_memory_equal(provenance_find_sampling(provenance, 2), &sampling, sizeof(sampling));
	assert_int_equal(provenance_count_tallies(provenance), 1);
	assert_int_equal(provenance_get_tally(provenance, 0)->source, 1);
	assert_int_equal(provenance_get_tally(provenance, 0)->count, 4);
	text_release(&svg);
	profile_free(again);
	profile_free(profile);
}

static void account_of_a_single_source_is_that_of_the_file(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t source = add_source(profile, "a.folded", "night");
	const struct provenance *provenance;
	struct profile *again;
	struct text svg;

	add_sample_of(profile, source);
	assert_int_equal(profile_add_tally(profile, source, "lost.ring_sample", 4), 0);
	svg = write_svg(profile);
	again = read_svg(&svg);
	provenance = profile_get_provenance(again);
	assert_string_equal(profile_get_string(again, provenance_get_label(provenance, 0)),
			    "night");
	assert_int_equal(provenance_get_tally(provenance, 0)->source, 0);
	text_release(&svg);
	profile_free(again);
	profile_free(profile);
}

/* ---- packed ------------------------------------------------------------------------------- */

static int append(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

static struct text write_packed(void)
{
	struct profile *profile = make_random_profile(7);
	struct text packed = {0};
	struct sink sink = {.write = append, .context = &packed};

	assert_int_equal(native_write(profile, &(struct native_opts){0}, &sink), 0);
	profile_free(profile);
	return packed;
}

/* Later programs have to read these bytes. */
static void a_profile_is_packed_in_these_bytes(void **state _unused_)
{
	struct text expected = packed_profile_with(PACKED_HEAD, PACKED(NATIVE_HEAD "\n"));
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 7, 8, "t");
	uint32_t stack = builder_add_stack(profile, "a;b");
	struct text packed = {0};
	struct sink sink = {.write = append, .context = &packed};
	uint32_t metric;

	assert_int_equal(profile_keep_timestamps(profile), 0);
	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, metric, 6), 0);
	assert_int_equal(profile_add_timestamp(profile, thread, stack, metric, 1, 4000000), 0);
	assert_int_equal(profile_add_timestamp(profile, thread, stack, metric, 4, 8000000), 0);
	assert_int_equal(native_write(profile, &(struct native_opts){.has_times = true}, &sink), 0);
	assert_text_equal(&packed, &expected);
	text_release(&packed);
	text_release(&expected);
	profile_free(profile);
}

/* A moment and an interval are as they were. */
static void intervals_are_read_back(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct profile *again = profile_new();
	uint32_t thread = builder_add_thread(profile, 7, 8, "t");
	uint32_t stack = builder_add_stack(profile, "a;b");
	const struct timestamps *timestamps;
	struct text packed = {0};
	struct sink sink = {.write = append, .context = &packed};
	struct import import = {.name = "x", .profile = again};
	uint32_t metric;

	assert_int_equal(profile_keep_timestamps(profile), 0);
	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, metric, 6), 0);
	assert_int_equal(profile_add_timestamp(profile, thread, stack, metric, 1, 4000000), 0);
	assert_int_equal(profile_add_interval(profile, thread, stack, metric, 5, 8000000, 20000000),
			 0);
	assert_int_equal(native_write(profile, &(struct native_opts){.has_times = true}, &sink), 0);

	assert_int_equal(profile_keep_timestamps(again), 0);
	import.data = (const uint8_t *)packed.data;
	import.size = packed.length;
	assert_int_equal(native_read_packed(&import), 0);
	timestamps = profile_get_timestamps(again);
	assert_int_equal(timestamps_count(timestamps), 2);
	for (size_t i = 0; i < 2; i++) {
		const struct timestamp *found = timestamps_get(timestamps, i);
		const struct timestamp *wanted = timestamps_get(profile_get_timestamps(profile), i);

		assert_int_equal(found->time_ns, wanted->time_ns);
		assert_int_equal(found->weight, wanted->weight);
		assert_int_equal(found->duration, wanted->duration);
	}
	text_release(&packed);
	profile_free(profile);
	profile_free(again);
}

static void assert_broken(const char *data, size_t size, const char *reason)
{
	struct import import;

	assert_int_equal(svg_builder_read(data, size, NULL, &import), -EBADMSG);
	if (!strstr(import.error.message, reason))
		fail_msg("'%s' does not say '%s'", import.error.message, reason);
	profile_free(import.profile);
}

/* Changed parts of the profile; a profile with one of them is refused, with this reason. */
static const struct {
	enum packed_part part;
	struct packed_bytes bytes;
	const char *reason;
} broken_parts[] = {
	{PACKED_NAMES, PACKED("\1\1\1\1a"), "names: bytes, and how many"},
	{PACKED_NAMES, PACKED("\1\x7f\0a"), "names: bytes, and how many"},
	{PACKED_METRICS, PACKED("\1\6\1\3\1\1\1\1"), "metrics: name"},
	{PACKED_METRICS, PACKED("\1\4\1\6\1\1\1\1"), "metrics: name"},
	{PACKED_METRICS, PACKED("\1\4\1\3\1\x80\x80\x80\x80\x80\x80\x80\x80\x80\1\1\1"),
	 "weights that 64 bits hold"},
	{PACKED_SOURCES, PACKED("\1\6\0"), "sources: name"},
	{PACKED_SOURCES, PACKED("\1\1\1\6"), "sources: name"},
	{PACKED_SAMPLINGS, PACKED("\1\1\0\0\0\0\0\0"), "recordings: source"},
	{PACKED_TALLIES, PACKED("\1\1\1\1\1\1"), "counts: source"},
	{PACKED_TALLIES, PACKED("\1\0\1\6\1\1"), "counts: source"},
	{PACKED_CLOCKS, PACKED("\1\1\0\0"), "clocks: source"},
	{PACKED_PROCESSES, PACKED("\1\x80\x80\x80\x80\x10\1\5"), "processes: pid"},
	{PACKED_PROCESSES, PACKED("\1\7\1\6"), "processes: pid"},
	{PACKED_THREADS, PACKED("\1\x80\x80\x80\x80\x10\0\1\5\0"), "threads: tid"},
	{PACKED_THREADS, PACKED("\1\10\1\1\1\5\0"), "threads: tid"},
	{PACKED_THREADS, PACKED("\1\10\0\1\6\0"), "threads: tid"},
	{PACKED_THREADS, PACKED("\1\10\0\1\5\1\1"), "threads: tid"},
	{PACKED_FRAMES, PACKED("\2\1\5\0\0\0\0\0"), "frames: name"},
	{PACKED_FRAMES, PACKED("\2\1\1\1\3\0\0\0\0"), "frames: name"},
	{PACKED_FRAMES, PACKED("\2\1\1\0\1\6\0\0\0"), "frames: name"},
	{PACKED_FRAMES, PACKED("\2\1\1\0\0\1\1\0\0"), "frames: name"},
	{PACKED_FRAMES, PACKED("\2\1\1\0\0\0\1\x80\x80\x80\x80\x10\0"), "frames: name"},
	{PACKED_FRAMES, PACKED("\2\1\1\0\0\0\0\1\x7f"), "frames: name"},
	{PACKED_CALLEES, PACKED("\2\1\0\3\3\0\1"), "lists of callees"},
	{PACKED_CALLEES, PACKED("\2\2\0\3\1\0\1"), "callees, which are frames"},
	{PACKED_CALLEES, PACKED("\3\1\1\0\3\2\0\1"), "callees, which are frames"},
	{PACKED_STACKS, PACKED("\2\0\1\1\1\0\0\0\0\0\0\0\1\1\0\0\0\0\0\0\0"),
	 "callees that their callers have"},
	{PACKED_STACKS, PACKED("\2\0\0\1\1\0\0\0\0\0\0\0\1\5\0\0\0\0\0\0\0"), "no more callees"},
	{PACKED_STACKS, PACKED("\2\0\0\1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "as many callees"},
	{PACKED_SAMPLES, PACKED("\0\1\1\0\1\6\0"), "samples: metric"},
	{PACKED_SAMPLES, PACKED("\0\0\1\2\1\6\0"), "samples: metric"},
	{PACKED_SAMPLES, PACKED("\0\0\0\0\0"), "samples: metric"},
	{PACKED_SAMPLES, PACKED("\0\0\0\2\6\6\0"), "as many weights"},
	{PACKED_SAMPLES, PACKED("\0\0\0\1\6\0\0"), "the end of the profile"},
};

static void broken_parts_are_refused(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_LENGTH(broken_parts); i++) {
		struct text packed =
			packed_profile_with(broken_parts[i].part, broken_parts[i].bytes);

		assert_broken(packed.data, packed.length, broken_parts[i].reason);
		text_release(&packed);
	}
}

/* As the profile itself and as an element of an SVG file; the first two versions were text. */
static void other_versions_are_refused(void **state _unused_)
{
	static const char reason[] =
		"expected 'stackwide profile 3'; was it written by another version?";
	static const char text[] = "<svg><metadata id=\"stackwide-profile\">\nstackwide profile 1\n"
				   "n f\nm 1 1\np 7 1\nt 0 7 1 0\nf 1\ns\n0\nv 0\n1 6\nend\n"
				   "</metadata></svg>";
	static const char later[] = "<svg><metadata id=\"stackwide-profile\">\n"
				    "stackwide profile 30\nH4sI\n</metadata></svg>";
	struct text packed = packed_profile_with(PACKED_HEAD, PACKED("stackwide profile 4\n"));

	assert_broken(text, strlen(text), reason);
	assert_broken(later, strlen(later), reason);
	assert_broken(packed.data, packed.length, reason);
	text_release(&packed);
}

static void every_truncation_is_refused(void **state _unused_)
{
	struct text packed = write_packed();

	for (size_t size = strlen(NATIVE_HEAD "\n"); size < packed.length; size++) {
		struct import import;

		assert_int_equal(svg_builder_read(packed.data, size, NULL, &import), -EBADMSG);
		assert_int_not_equal(import.error.message[0], '\0');
		profile_free(import.profile);
	}
	text_release(&packed);
}

/* What has changed is read as something else, or refused; under the sanitizers, nothing worse. */
static void no_changed_byte_does_harm(void **state _unused_)
{
	static const uint8_t changes[] = {0x01, 0x40, 0x80, 0xff};
	struct text packed = write_packed();

	for (size_t i = strlen(NATIVE_HEAD "\n"); i < packed.length; i++) {
		for (size_t k = 0; k < ARRAY_LENGTH(changes); k++) {
			struct import import;
			int err;

			packed.data[i] = (char)(packed.data[i] ^ changes[k]);
			err = svg_builder_read(packed.data, packed.length, NULL, &import);
			packed.data[i] = (char)(packed.data[i] ^ changes[k]);
			assert_true(!err || err == -EBADMSG || err == -EOVERFLOW);
			assert_int_equal(!err, !import.error.message[0]);
			profile_free(import.profile);
		}
	}
	text_release(&packed);
}

static uint64_t read_number_of_samples(const struct profile *profile, const uint8_t *is_left_out)
{
	struct native_opts opts = {.is_left_out = is_left_out};
	struct text packed = {0};
	struct sink sink = {.write = append, .context = &packed};
	struct import import;
	uint64_t count;

	assert_int_equal(native_write(profile, &opts, &sink), 0);
	assert_int_equal(svg_builder_read(packed.data, packed.length, NULL, &import), 0);
	count = profile_get_metric(import.profile, 0)->num_samples;
	profile_free(import.profile);
	text_release(&packed);
	return count;
}

/* Of what is left when a source is taken out it is known that each stack has a sample. */
static void number_of_samples_is_written_unless_some_are_left_out(void **state _unused_)
{
	static const uint8_t is_left_out[] = {0, 1};
	struct profile *profile = profile_new();
	struct thread thread = {.source = 1};
	uint32_t first = builder_add_thread(profile, 1, 2, "t");
	uint32_t second;
	uint32_t ignored;

	for (int i = 0; i < 2; i++)
		assert_int_equal(profile_add_source(profile, STRING_EMPTY, &ignored), 0);
	assert_int_equal(profile_add_thread(profile, &thread, &second), 0);
	builder_add_sample(profile, first, "a", 3);
	builder_add_sample(profile, second, "b", 3);
	profile_set_metric_samples(profile, 0, 291);
	assert_int_equal(read_number_of_samples(profile, NULL), 291);
	assert_int_equal(read_number_of_samples(profile, is_left_out), 1);
	profile_free(profile);
}

/* Levels far apart, long lists of callees, recursion: as the column of classes has them. */
static void wide_and_deep_stacks_are_read_back(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 2, "t");
	struct profile *again;
	struct text svg;

	for (unsigned int i = 0; i < 300; i++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "a;b%u;a;a;c%u", i % 7, i);
		builder_add_sample(profile, thread, stack, (uint64_t)i * 3000000000u);
		if (i % 3 == 0)
			builder_add_sample(profile, thread, "a;a;a;a", 3000000000u);
	}
	svg = write_svg(profile);
	again = read_svg(&svg);
	assert_same_folded(profile, again);
	text_release(&svg);
	profile_free(again);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(a_frame_keeps_module_file_and_line),
		cmocka_unit_test(every_kind_comes_back_inlined_or_not),
		cmocka_unit_test(addresses_with_inlined_calls_become_levels),
		cmocka_unit_test(frames_too_narrow_to_draw_are_read_back),
		cmocka_unit_test(a_deep_stack_is_read_back),
		cmocka_unit_test(labels_and_accounts_stay_with_their_source),
		cmocka_unit_test(account_of_a_single_source_is_that_of_the_file),
		cmocka_unit_test(a_profile_is_packed_in_these_bytes),
		cmocka_unit_test(intervals_are_read_back),
		cmocka_unit_test(broken_parts_are_refused),
		cmocka_unit_test(other_versions_are_refused),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(no_changed_byte_does_harm),
		cmocka_unit_test(number_of_samples_is_written_unless_some_are_left_out),
		cmocka_unit_test(wide_and_deep_stacks_are_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
