#include <perfetto.pb-c.h>

#include "trace_checker.h"
#include "zones_builder.h"
#include "zones_chunks.h"

static uint32_t choose(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33) % below;
}

/* Any zone that is open on the region gets something, the innermost most often. */
static void add_attribute(struct text *text, uint64_t *state, const uint32_t *open, uint32_t depth)
{
	uint32_t pointer = open[choose(state, 3) ? depth - 1 : choose(state, depth)];

	switch (choose(state, 6)) {
	case 0:
		text_printf(text, "ZONE_NAME, %u, name%u\n", pointer, choose(state, 5));
		break;
	case 1:
		text_printf(text, "ZONE_CATEGORY, %u, c%u\n", pointer, choose(state, 4));
		break;
	case 2:
		text_printf(text, "ZONE_FLOW, %u, %u\n", pointer, choose(state, 20));
		break;
	case 3:
		text_printf(text, "ZONE_FLOW_T, %u, %u\n", pointer, choose(state, 20));
		break;
	default:
		text_printf(text, "ZONE_PARAM, %u, p%u, v%u\n", pointer, choose(state, 4),
			    choose(state, 1000));
		break;
	}
}

/*
 * Zones on five regions, two of them not declared, that four threads go on with; records of a
 * region are in order of time, those of different ones are not.
 */
static void make_program(struct text *text, uint64_t seed, uint32_t num_steps)
{
	enum { NUM_REGIONS = 5, MAX_DEPTH = 9 };
	uint32_t open[NUM_REGIONS][MAX_DEPTH];
	uint32_t depths[NUM_REGIONS] = {0};
	uint64_t times[NUM_REGIONS] = {90, 10, 50, 0, 10};
	uint64_t state = seed * 2 + 1;

	for (uint32_t i = 0; i < 4; i++)
		text_printf(text, "LOCATION, %u, zone%u, function, file.c, %u\n", i, i, i);
	text_append_string(text, "COUNTER_TRACK, 1, queue\n");
	for (uint32_t step = 0; step < num_steps; step++) {
		uint32_t region = choose(&state, NUM_REGIONS);
		uint32_t *depth = &depths[region];

		times[region] += choose(&state, 4);
		if (*depth && choose(&state, 5) < 2) {
			text_printf(text, "ZONE_END, %u, %llu\n", open[region][--*depth],
				    (unsigned long long)times[region]);
		} else if (*depth < MAX_DEPTH) {
			open[region][*depth] = (region + 1) * 0x100000 + 0xf000 - *depth * 64;
			text_printf(text, "ZONE_START, %u, %u, %llu, %u\n",
				    open[region][(*depth)++], choose(&state, 4),
				    (unsigned long long)times[region], choose(&state, 4));
		}
		while (*depth && choose(&state, 3) == 0)
			add_attribute(text, &state, open[region], *depth);
		if (choose(&state, 10) == 0)
			text_printf(text, "COUNTER_VALUE, 1, %u, %u.5\n", choose(&state, 1000),
				    step);
	}
	/* What is used already is declared only here. */
	for (uint32_t i = 0; i < 3; i++)
		text_printf(text, "STACK, %u, %u, fiber %u\nTHREAD, %u, thread %u\n",
			    (i + 1) * 0x100000, (i + 1) * 0x100000 + 0x10000, i, i, i);
}

/* As a reader of traces sees it: zones, occupancies, regions in use. */
static void describe(const struct text *trace, struct text *ret)
{
	struct zones_read_result read;
	struct text zones;

	perfetto__trace__free_unpacked(check_trace(trace), NULL);
	assert_int_equal(builder_read(&format_pftrace, trace->data, trace->length, false, &read),
			 0);
	zones = builder_write(&format_zones, &read, (struct format_opts){0});
	text_append(ret, zones.data, zones.length);
	for (uint32_t i = 0; i < timeline_count_occupancy(read.timeline); i++) {
		const struct occupancy *occupancy = timeline_get_occupancy(read.timeline, i);

		text_printf(ret, "%u on %u from %llu to %llu\n", occupancy->thread,
			    occupancy->region, (unsigned long long)occupancy->start_ns,
			    (unsigned long long)occupancy->end_ns);
	}
	for (uint32_t i = 0; i < timeline_count_in_use(read.timeline); i++) {
		const struct regions_in_use *use = timeline_get_in_use(read.timeline, i);

		text_printf(ret, "%u of %llu bytes at %llu\n", use->number,
			    (unsigned long long)use->bytes, (unsigned long long)use->time_ns);
	}
	text_release(&zones);
	builder_release(&read);
}

static int convert(struct chunks *chunks, struct import *import, struct text *ret)
{
	struct sink sink = {.write = builder_append, .context = ret};

	import->name = "x";
	text_append_string(ret, "");
	if (!chunks->last_size)
		chunks->last_size = chunks->size;
	return chunks_convert(chunks, import, &sink);
}

/* The trace is the one that is made of zones in memory. */
static void assert_same_trace(const struct text *zones, size_t chunk_bytes, size_t *ret_stored)
{
	struct zones_read_result read;
	struct chunks chunks = {
		.data = zones->data, .size = zones->length, .chunk_bytes = chunk_bytes};
	struct text warnings = {0};
	struct import import = {.warn = builder_warn, .context = &warnings};
	struct text streamed = {0};
	struct text stored;
	struct text expected = {0};
	struct text got = {0};

	text_append_string(&warnings, "");
	assert_int_equal(builder_read(&format_zones, zones->data, zones->length, false, &read), 0);
	stored = builder_write(&format_pftrace, &read, (struct format_opts){0});
	describe(&stored, &expected);
	assert_int_equal(convert(&chunks, &import, &streamed), 0);
	describe(&streamed, &got);
	assert_string_equal(got.data, expected.data);
	assert_string_equal(warnings.data, read.warnings.data);
	*ret_stored = chunks.stored.length;
	builder_release(&read);
	text_release(&warnings);
	text_release(&streamed);
	text_release(&stored);
	text_release(&expected);
	text_release(&got);
	text_release(&chunks.stored);
}

static void zones_in_chunks_give_the_trace_of_zones_in_memory(void **state _unused_)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct text zones = {0};
		size_t stored;

		make_program(&zones, seed, 500);
		assert_same_trace(&zones, seed * seed, &stored);
		assert_int_equal(stored, 0);
		text_release(&zones);
	}
}

/* Results are often given at the end of a zone, when others were open inside it. */
static void what_comes_late_and_is_too_much_for_memory_is_stored(void **state _unused_)
{
	struct text zones = {0};
	size_t stored;

	text_append_string(&zones,
			   "LOCATION, 1, outer, f, f.c, 1\nLOCATION, 2, inner, f, f.c, 2\n");
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t time = i * 10;

		text_printf(&zones,
			    "ZONE_START, 9000, 1, %u, 1\nZONE_START, 8900, 1, %u, 2\n"
			    "ZONE_END, 8900, %u\nZONE_PARAM, 9000, result, %u\n"
			    "ZONE_NAME, 9000, outer %u\nZONE_END, 9000, %u\n",
			    time, time + 2, time + 4, i, i % 100, time + 8);
	}
	assert_same_trace(&zones, SIZE_MAX, &stored);
	assert_true(stored > 0);
	text_release(&zones);
}

/* Attributes of zones on a second track, in time and late. */
static void further_tracks_of_a_region_are_those_of_zones_in_memory(void **state _unused_)
{
	static const char zones[] =
		"STACK, 4096, 16384, one\nLOCATION, 1, A, a, a.c, 1\n"
		"ZONE_START, 16000, 100, 10, 1\n"
		"ZONE_START, 15000, 101, 504, 1\nZONE_END, 15000, 600\n"
		"ZONE_START, 15000, 100, 210, 1\nZONE_PARAM, 15000, is, late\n"
		"ZONE_START, 14000, 100, 220, 1\nZONE_NAME, 15000, outer\nZONE_END, 14000, 230\n"
		"ZONE_END, 15000, 300\nZONE_END, 16000, 601\n"
		"ZONE_START, 90000, 102, 30, 1\nZONE_START, 89000, 103, 20, 1\n"
		"ZONE_END, 89000, 40\nZONE_END, 90000, 50\n";
	struct text text = {0};
	size_t stored;

	text_append_string(&text, zones);
	assert_same_trace(&text, 7, &stored);
	text_release(&text);
}

static void errors_are_those_of_zones_in_memory(void **state _unused_)
{
	static const char *const texts[] = {
		"ZONE_END, 1, 2\n",
		"THREAD, 1, a\n\nSTACK, 9, 5, a\nWHAT\n",
		"WHAT\nSTACK, x, 5, a\n",
		"#! process 1 a\nTHREAD, 1, a\nTHREAD, 1, a\n#! process 2 b\nSTACK, 1, x, a\n",
		"#! process 1 a\nTHREAD, 1, a\n#! process 2 b\nSTACK, 1, x, a\n",
		"THREAD, 1, \"a\n",
		"\x10PROF\x01\x00\x00",
		"\x10PROF\x01\x00\x00\x00\xff",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		size_t size = texts[i][0] == '\x10' ? i + 2 : strlen(texts[i]);
		struct chunks chunks = {.data = texts[i], .size = size, .chunk_bytes = 3};
		struct import import = {0};
		struct text streamed = {0};
		struct zones_read_result read;
		int err = builder_read(&format_zones, texts[i], size, false, &read);

		assert_int_equal(convert(&chunks, &import, &streamed), err);
		assert_string_equal(import.error.message, read.error.message);
		builder_release(&read);
		text_release(&streamed);
		text_release(&chunks.stored);
	}
}

static void a_file_that_changes_meanwhile_is_refused(void **state _unused_)
{
	struct text zones = {0};
	int num_refused = 0;

	make_program(&zones, 3, 100);
	for (size_t size = 0; size < zones.length; size += 7) {
		struct chunks chunks = {.data = zones.data,
					.size = size,
					.last_size = zones.length,
					.chunk_bytes = 100};
		struct import import = {0};
		struct text streamed = {0};
		int err = convert(&chunks, &import, &streamed);

		/* Where only an attribute came or went, nobody can know. */
		num_refused += err == -EBADMSG;
		assert_int_equal(err != 0, import.error.message[0] != 0);
		text_release(&streamed);
		text_release(&chunks.stored);
	}
	assert_true(num_refused > 10);
	text_release(&zones);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones_in_chunks_give_the_trace_of_zones_in_memory),
		cmocka_unit_test(what_comes_late_and_is_too_much_for_memory_is_stored),
		cmocka_unit_test(further_tracks_of_a_region_are_those_of_zones_in_memory),
		cmocka_unit_test(errors_are_those_of_zones_in_memory),
		cmocka_unit_test(a_file_that_changes_meanwhile_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
