#include "import_fixture.h"
#include "perf_data_writer.h"

#include <zstd.h>

#define USUAL                                                                           \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)
#define USER WRITER_CONTEXT(512)

/* Like perf: one stream, flushed after each piece, a record for each. */
static void add_compressed(struct perf_writer *writer, ZSTD_CStream *stream, const void *data,
			   size_t size)
{
	uint8_t compressed[32768];
	ZSTD_inBuffer in = {data, size, 0};
	ZSTD_outBuffer out = {compressed, sizeof(compressed), 0};

	assert_int_equal(ZSTD_compressStream2(stream, &out, &in, ZSTD_e_flush), 0);
	assert_int_equal(in.pos, size);
	perf_start(writer, PERF_COMPRESSED, 0);
	text_append(&writer->records, compressed, out.pos);
	perf_end(writer);
}

/* Two samples, compressed in two pieces, of which the first ends `split` bytes into the records. */
static struct text write_compressed(size_t split)
{
	struct perf_sample_spec spec = {3, 7, 7, 11, 250, 0, {USER, 0x1010}, {0}, {0}};
	ZSTD_CStream *stream = ZSTD_createCStream();
	struct perf_writer inner;
	struct perf_writer writer;

	perf_writer_init(&inner, USUAL, false);
	perf_add_comm(&inner, 1, 7, 7, "run", true);
	perf_add_mmap(&inner, 1, 7, 0x1000, 0x1000, 0x400, "/bin/run", 0);
	perf_add_sample(&inner, &spec);
	spec.chain[1] = 0x1030;
	perf_add_sample(&inner, &spec);
	assert_true(split < inner.records.length);
	perf_writer_init(&writer, USUAL, false);
	perf_add_event(&writer, 0, 0, 100, 11, "cycles:u");
	add_compressed(&writer, stream, inner.records.data, split);
	add_compressed(&writer, stream, inner.records.data + split, inner.records.length - split);
	ZSTD_freeCStream(stream);
	text_release(&inner.records);
	return perf_writer_finish(&writer);
}

static void compressed_records_may_be_split_anywhere(void **state _unused_)
{
	for (size_t split = 0; split < 300; split += 7) {
		struct text file = write_compressed(split);
		struct imported imported = {0};

		assert_int_equal(
			imported_read(&imported, &format_perf_data, file.data, file.length), 0);
		assert_string_equal(imported.warnings.data, "");
		assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
			       "run;run+0x410 250\nrun;run+0x430 250\n");
		imported_release(&imported);
		text_release(&file);
	}
}

static void what_is_before_damaged_compressed_records_counts(void **state _unused_)
{
	struct text file = write_compressed(260);
	struct imported imported = {0};
	char *compressed = memmem(file.data, file.length, "\x28\xb5\x2f\xfd", 4);
	uint16_t size;

	/* The second piece starts with a block's header of 3 bytes, here of a kind that is none. */
	assert_non_null(compressed);
	memcpy(&size, compressed - 2, sizeof(size));
	memset(compressed + size, 0xff, 3);
	assert_int_equal(imported_read(&imported, &format_perf_data, file.data, file.length), 0);
	assert_non_null(strstr(imported.warnings.data, "damaged compressed data: the rest"));
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "run;run+0x410 250\n");
	imported_release(&imported);
	text_release(&file);
}

static void start_chunk(struct perf_writer *inner)
{
	text_release(&inner->records);
	perf_writer_init(inner, USUAL, false);
}

/*
 * A mapping that another CPU wrote later than the sample in it, but that is older: the queue puts
 * them in order, also when chunks have left it before.
 */
static void compressed_records_of_several_cpus_come_in_order_of_time(void **state _unused_)
{
	struct perf_sample_spec spec = {3, 7, 7, 11, 250, 0, {USER, 0x1010}, {0}, {0}};
	ZSTD_CStream *stream = ZSTD_createCStream();
	struct imported imported = {0};
	struct perf_writer inner;
	struct perf_writer writer;
	struct text file;

	perf_writer_init(&inner, USUAL, false);
	perf_writer_init(&writer, USUAL, false);
	perf_add_event(&writer, 0, 0, 100, 11, "cycles:u");
	for (unsigned int i = 0; i < 4; i++) {
		uint32_t pid = 7 + i;

		spec.pid = spec.tid = pid;
		spec.time_ns = 100 * i + 50;
		perf_add_sample(&inner, &spec);
		perf_add_sample(&inner, &spec);
		add_compressed(&writer, stream, inner.records.data, inner.records.length);
		start_chunk(&inner);
		perf_add_comm(&inner, 100 * i + 10, pid, pid, "run", true);
		perf_add_mmap(&inner, 100 * i + 11, pid, 0x1000, 0x1000, 0x400, "/bin/run", 0);
		add_compressed(&writer, stream, inner.records.data, inner.records.length);
		start_chunk(&inner);
		perf_add_round(&writer);
	}
	ZSTD_freeCStream(stream);
	text_release(&inner.records);
	file = perf_writer_finish(&writer);
	assert_int_equal(imported_read(&imported, &format_perf_data, file.data, file.length), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "run;run+0x410 2000\n");
	imported_release(&imported);
	text_release(&file);
}

static void a_bomb_does_not_expand(void **state _unused_)
{
	size_t size = 17u << 20;
	char *zeros = calloc(1, size);
	ZSTD_CStream *stream = ZSTD_createCStream();
	struct imported imported = {0};
	struct perf_writer writer;
	struct text file;

	perf_writer_init(&writer, USUAL, false);
	perf_add_event(&writer, 0, 0, 100, 11, "cycles:u");
	add_compressed(&writer, stream, zeros, size);
	file = perf_writer_finish(&writer);
	assert_int_equal(imported_read(&imported, &format_perf_data, file.data, file.length),
			 -EBADMSG);
	assert_non_null(strstr(imported.warnings.data, "expands too much"));
	imported_release(&imported);
	text_release(&file);
	ZSTD_freeCStream(stream);
	free(zeros);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compressed_records_may_be_split_anywhere),
		cmocka_unit_test(what_is_before_damaged_compressed_records_counts),
		cmocka_unit_test(compressed_records_of_several_cpus_come_in_order_of_time),
		cmocka_unit_test(a_bomb_does_not_expand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
