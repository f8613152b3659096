/* A heat map is put together from its numbers; unpack.h says how they are written. */
#include "import_fixture.h"
#include "timeline/timeline.h"

#define FORMAT (&format_async_profiler)

static void put_digit(struct text *text, unsigned int digit)
{
	static const char kept[] = {
		['\0'] = 127, ['\r'] = 126, ['&'] = 125, ['<'] = 124, ['>'] = 123};

	text_append_char(text, digit < sizeof(kept) && kept[digit] ? kept[digit] : (char)digit);
}

static void put(struct text *text, unsigned int number)
{
	for (; number >= 61; number /= 61)
		put_digit(text, 61 + number % 61);
	put_digit(text, number);
}

static void put_all(struct text *text, const unsigned int *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		put(text, numbers[i]);
}
#define PUT(text, ...)                                     \
	put_all(text, (const unsigned int[]){__VA_ARGS__}, \
		sizeof((const unsigned int[]){__VA_ARGS__}) / sizeof(unsigned int))

static void put_bits(struct text *text, unsigned int number, int digits)
{
	for (; digits; digits--, number >>= 6)
		put_digit(text, number & 63);
}

/* 27 bits of code, the first one as the lowest. */
static void put_word(struct text *text, unsigned int bits)
{
	put_digit(text, bits / (123 * 123 * 123));
	put_digit(text, bits / (123 * 123) % 123);
	put_digit(text, bits / 123 % 123);
	put_digit(text, bits % 123);
}

static void put_method(struct text *text, unsigned int class, unsigned int name, unsigned int line,
		       unsigned int type)
{
	PUT(text, class, name);
	put_bits(text, 0, 3);
	put_bits(text, line, 3);
	put_digit(text, type);
}

#define SCRIPT "if (type >= 3 && type <= 5) {\nlet startMs = 1000;\n"

static void make_page(struct text *page, const struct text *executions, const struct text *methods,
		      const char *script)
{
	text_append_string(page, "<html lang='en'>\n<pre id=\"executionsHeatmap\">S");
	text_append(page, executions->data, executions->length);
	text_append_string(page, "E</pre>\n<pre id=\"methods\">SA");
	text_append(page, methods->data, methods->length);
	text_append_string(page, "AE</pre>\n");
	text_append_string(page, script);
}

static void put_counts(struct text *text, unsigned int slices, unsigned int steps,
		       unsigned int chunks, unsigned int samples)
{
	put_bits(text, slices, 5);
	put_bits(text, steps, 5);
	put_bits(text, 99, 5);
	put_bits(text, chunks, 5);
	put_bits(text, samples, 5);
}

/*
 * Methods 1 main, 2 a.B.run, 3 sys, 4 [w tid=7]; pieces 1 main, 2 main;run, 3 [w], 4 sys, 5 run.
 * Steps of 2, 0, 0 and 1 samples: main;run;sys, main;run;sys and [w];run.
 */
static void make_small_page(struct text *page)
{
	struct text executions = {0};
	struct text methods = {0};

	PUT(&executions, 2, 1, 4);                      /* stacks start with methods 1 and 4 */
	PUT(&executions, 3, 2, 0, 1, 1, 2, 2, 2);       /* code of 0: 0, of 1: 10, of 2: 11 */
	put_word(&executions, 1 | 1 << 1 | 1 << 4);     /* 11 0 0 10 */
	PUT(&executions, 1, 1 + 0);                     /* synonym 0 is piece 0 */
	PUT(&executions, 0, 1, 2, 2, 0, 4, 0, 3, 0, 2); /* pieces */
	PUT(&executions, 2, 2 + 2, 2 + 4);              /* synonyms of pieces 2 and 4 */
	PUT(&executions, 0, 1, 0, 2 + 4, 2 + 3, 2 + 5); /* samples */
	put_counts(&executions, 6, 4, 6, 3);
	PUT(&methods, 4);
	put_method(&methods, 0, 1, 0, 3);
	put_method(&methods, 2, 3, 12, 1);
	put_method(&methods, 5, 4, 0xffff, 5);
	put_method(&methods, 0, 6, 0xffff, 3);
	make_page(page, &executions, &methods,
		  SCRIPT "let cpool = [\"\",\"main\",\"a.B\",\"run\",\"sys\",\"libc\","
			 "\"[w\\\\ tid=7]\",];\n");
	text_release(&executions);
	text_release(&methods);
}

static int read_page(struct imported *imported, const struct text *page)
{
	return imported_read(imported, FORMAT, page->data, page->length);
}

static void stacks_and_threads_are_read(void **state _unused_)
{
	struct text page = {0};
	struct imported imported = {0};

	make_small_page(&page);
	assert_int_equal(FORMAT->detect((const uint8_t *)page.data, page.length), DETECTED_SURE);
	assert_int_equal(read_page(&imported, &page), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_written(&format_folded, imported.profile,
		       (struct call_tree_opts){.root = TREE_ROOT_TID},
		       "main;a.B.run_[j];sys_[k] 2\nw\\-?/7;a.B.run_[j] 1\n");
	imported_release(&imported);
	text_release(&page);
}

static void lines_are_kept_where_they_are_known(void **state _unused_)
{
	struct text page = {0};
	struct imported imported = {0};
	uint32_t found = 0;

	make_small_page(&page);
	assert_int_equal(read_page(&imported, &page), 0);
	for (uint32_t i = 0; i < profile_count_frames(imported.profile); i++)
		found += profile_get_frame(imported.profile, i)->line;
	assert_int_equal(found, 12);
	imported_release(&imported);
	text_release(&page);
}

static void samples_have_the_times_of_their_steps(void **state _unused_)
{
	struct timeline *timeline = timeline_new();
	struct imported imported = {.import.timeline = timeline};
	static const uint64_t times_ms[] = {1000, 1000, 1060};
	struct text page = {0};

	make_small_page(&page);
	assert_non_null(timeline);
	assert_int_equal(read_page(&imported, &page), 0);
	assert_int_equal(timeline_count_sample(timeline), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(timeline_get_sample(timeline, i)->time_ns, times_ms[i] * 1000000);
	assert_int_equal(
		timeline_get_thread(timeline, timeline_get_sample(timeline, 2)->thread)->tid, 7);
	imported_release(&imported);
	timeline_free(timeline);
	text_release(&page);
}

static void timestamps_are_kept_where_they_are_wanted(void **state _unused_)
{
	struct text page = {0};
	struct imported imported = {.profile = profile_new()};
	struct timestamps *timestamps;
	uint64_t zero_ns = 1;
	uint64_t weight = 0;

	make_small_page(&page);
	assert_int_equal(profile_keep_timestamps(imported.profile), 0);
	assert_int_equal(imported_read(&imported, FORMAT, page.data, page.length), 0);
	timestamps = profile_get_timestamps(imported.profile);
	for (size_t i = 0; i < timestamps_count(timestamps); i++)
		weight += timestamps_get(timestamps, i)->weight;
	assert_int_equal(weight, imported.import.counts.records);
	assert_true(timestamps_find_clock(timestamps, 0, &zero_ns));
	assert_int_equal(zero_ns, 0);
	imported_release(&imported);
	text_release(&page);
}

static void older_pages_number_their_names_from_1(void **state _unused_)
{
	struct text executions = {0};
	struct text methods = {0};
	struct text page = {0};
	struct imported imported = {0};

	PUT(&executions, 1, 1, 1, 0, 2, 0, 0, 0, 1, 0, 1, 1);
	put_counts(&executions, 2, 1, 2, 2);
	PUT(&methods, 1);
	put_method(&methods, 1, 2, 0, 0);
	make_page(&page, &executions, &methods,
		  "cpool[className - 1]\nlet cpool = [\"a\\\"A\",\"b\",];\n");
	assert_int_equal(read_page(&imported, &page), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0}, "a\"A.b 2\n");
	imported_release(&imported);
	text_release(&executions);
	text_release(&methods);
	text_release(&page);
}

static void a_truncated_page_is_refused_with_the_position(void **state _unused_)
{
	struct text page = {0};

	make_small_page(&page);
	for (size_t size = 60; size < page.length - 10; size++) {
		struct imported imported = {0};
		struct text truncated = {.data = page.data, .length = size};

		assert_int_equal(read_page(&imported, &truncated), -EBADMSG);
		assert_non_null(strstr(imported.import.error.message, "FILE: at byte "));
		imported_release(&imported);
	}
	text_release(&page);
}

/* A chain of pieces, each of which is a sample and all that is before it, as a further one. */
static void small_pages_do_not_unfold_to_huge_stacks(void **state _unused_)
{
	struct text executions = {0};
	struct text methods = {0};
	struct text page = {0};
	struct imported imported = {0};
	unsigned int count = 20000;

	PUT(&executions, 1, 1, 1, 0, 1, 0, 0);
	PUT(&executions, 0, 1);
	for (unsigned int i = 1; i < count; i++)
		PUT(&executions, i, 1 + i % 2);
	PUT(&executions, 0);
	for (unsigned int i = 0; i < count; i++)
		PUT(&executions, 1 + i, count + 1 - 1 - i / 2);
	put_counts(&executions, count + 1, count, 2 * count, count);
	PUT(&methods, 2);
	put_method(&methods, 0, 0, 0, 0);
	put_method(&methods, 0, 1, 0, 0);
	make_page(&page, &executions, &methods, "let cpool = [\"a\",\"b\",];\n");
	assert_int_equal(read_page(&imported, &page), -EBADMSG);
	assert_non_null(strstr(imported.import.error.message, "fewer and less deep"));
	imported_release(&imported);
	text_release(&executions);
	text_release(&methods);
	text_release(&page);
}

static void long_names_do_not_fill_the_memory(void **state _unused_)
{
	struct text executions = {0};
	struct text methods = {0};
	struct text page = {0};
	struct text script = {0};
	struct imported imported = {0};
	unsigned int count = 3000;

	PUT(&executions, 0, 1, 0, 1, 0, 0);
	for (unsigned int i = 0; i < count; i++)
		PUT(&executions, 0, 1 + i);
	PUT(&executions, 0);
	for (unsigned int i = 0; i < count; i++)
		PUT(&executions, 1 + i);
	put_counts(&executions, count + 1, 1, count, 1);
	PUT(&methods, count);
	for (unsigned int i = 0; i < count; i++)
		put_method(&methods, 0, 1 + i, 0, 0);
	text_append_string(&script, "let cpool = [\"");
	for (unsigned int i = 0; i < 10000; i++)
		text_append_char(&script, 'x');
	for (unsigned int i = 0; i < count; i++)
		text_printf(&script, "\",\"%u", i);
	text_append_string(&script, "\",];\n");
	make_page(&page, &executions, &methods, script.data);
	assert_int_equal(read_page(&imported, &page), -EBADMSG);
	assert_non_null(strstr(imported.import.error.message, "shorter names"));
	imported_release(&imported);
	text_release(&executions);
	text_release(&methods);
	text_release(&script);
	text_release(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_and_threads_are_read),
		cmocka_unit_test(lines_are_kept_where_they_are_known),
		cmocka_unit_test(samples_have_the_times_of_their_steps),
		cmocka_unit_test(timestamps_are_kept_where_they_are_wanted),
		cmocka_unit_test(older_pages_number_their_names_from_1),
		cmocka_unit_test(a_truncated_page_is_refused_with_the_position),
		cmocka_unit_test(small_pages_do_not_unfold_to_huge_stacks),
		cmocka_unit_test(long_names_do_not_fill_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
