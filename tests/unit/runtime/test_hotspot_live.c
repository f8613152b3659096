/*
 * What HotSpots say of themselves, held against their memory: a program (Standing.java) compiles one of its methods and stands
 * still while its code, and what that says of the method, is looked for.
 *
 * Java is taken where it usually is; STACKWIDE_TEST_JAVAS names more, with `:` between their paths.
 */
#include "runtime/hotspot.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "java_runtimes.h"
#include "live_java.h"
#include "runtime/hotspot_method.h"
#include "runtime/hotspot_scopes.h"
#include "unit.h"

#define PROGRAM      "tests/unit/runtime/Standing.java"
#define CLASS        "Standing"
#define METHOD       "count"
#define FILE_NAME    "Standing.java"
#define MAX_SEGMENTS (4u << 20)
#define MAX_READS    200 /* of a layout */
#define FREE_SEGMENT 0xff
#define MAX_TRIES    1000000

/* It waits for its compiler, and so has compiled the method when it says that it stands. */
static void start(struct live_java *live, const char *java)
{
	const char *const arguments[] = {java, "-Xbatch", "-Xmx256m", PROGRAM, NULL};

	live_java_start(live, arguments);
}

/* Returns false where the program has ended instead. */
static bool stands(struct live_java *live)
{
	char *line = NULL;
	size_t size = 0;
	bool is_standing = false;

	while (!is_standing && getline(&line, &size, live->output) >= 0)
		is_standing = string_starts_with(line, "standing");
	free(line);
	return is_standing;
}

static bool is_code(const struct live_java *live, uint64_t start, uint64_t end)
{
	array_for_each (&live->regions, region)
		if (region->start <= start && end <= region->end && region->is_executable)
			return true;
	return false;
}

static void read_bytes(struct live_java *live, uint64_t address, void *ret, size_t size)
{
	assert_int_equal(process_memory_read(&live->process, address, ret, size), 0);
}

static uint64_t read_number(struct live_java *live, uint64_t address, size_t size)
{
	uint64_t number = 0;

	read_bytes(live, address, &number, size);
	return number;
}

static uint64_t read_word(struct live_java *live, uint64_t address)
{
	return read_number(live, address, 8);
}

/* What the folder of the runtime says; 0: nothing. */
static unsigned int read_release(const char *java)
{
	char program[PATH_MAX];
	char path[PATH_MAX + sizeof("/release")];
	char *line = NULL;
	size_t size = 0;
	unsigned int major = 0;
	FILE *file;

	assert_true(strlen(java) < sizeof(program));
	strcpy(program, java);
	snprintf(path, sizeof(path), "%s/release", dirname(dirname(program)));
	file = fopen(path, "re");
	while (file && getline(&line, &size, file) > 0)
		if (sscanf(line, "JAVA_VERSION=\"%u", &major) == 1)
			break;
	free(line);
	if (file)
		fclose(file);
	return major;
}

/*
 * The code of the method.
 */

static void expect_symbol(struct live_java *live, uint64_t symbol, const char *expected)
{
	const struct wire_hotspot_layout *layout = &live->layout.wire;
	char text[64] = "";
	uint64_t length = read_number(live, symbol + layout->symbol_length, 2);

	assert_int_equal(length, strlen(expected));
	read_bytes(live, symbol + layout->symbol_text, text, length);
	assert_string_equal(text, expected);
}

static bool has_symbol(struct live_java *live, uint64_t symbol, const char *expected)
{
	const struct wire_hotspot_layout *layout = &live->layout.wire;
	char text[64] = "";

	if (read_number(live, symbol + layout->symbol_length, 2) != strlen(expected))
		return false;
	read_bytes(live, symbol + layout->symbol_text, text, strlen(expected));
	return string_equals(text, expected);
}

static uint64_t read_pool_symbol(struct live_java *live, uint64_t pool, uint64_t number)
{
	return read_word(live, pool + live->layout.wire.pool_bytes + 8 * number);
}

/* Returns whether it is the one. */
static bool check_method(struct live_java *live, uint64_t method)
{
	const struct wire_hotspot_layout *layout = &live->layout.wire;
	uint64_t shared = read_word(live, method + layout->method_const);
	uint64_t pool = read_word(live, shared + layout->const_pool);
	uint64_t name = read_number(live, shared + layout->const_name, 2);
	uint64_t class = read_word(live, pool + layout->pool_class);
	uint64_t file;

	if (!has_symbol(live, read_pool_symbol(live, pool, name), METHOD) ||
	    !has_symbol(live, read_word(live, class + layout->class_name), CLASS))
		return false;
	assert_true((layout->pool_file == WIRE_HOTSPOT_NONE) !=
		    (layout->class_file == WIRE_HOTSPOT_NONE));
	file = layout->pool_file == WIRE_HOTSPOT_NONE
		       ? read_number(live, class + layout->class_file, 2)
		       : read_number(live, pool + layout->pool_file, 2);
	expect_symbol(live, read_pool_symbol(live, pool, file), FILE_NAME);
	/* Its bytecode starts with iconst_0, istore_1 and ends with iload_1, ireturn. */
	assert_int_equal(read_number(live, shared + layout->const_bytes, 2), 0x3c03);
	assert_int_equal(
		read_number(live,
			    shared + layout->const_bytes +
				    read_number(live, shared + layout->const_code_bytes, 2) - 2,
			    2),
		0xac1b);
	assert_true(read_number(live, shared + layout->const_flags, 4) & layout->const_has_lines);
	return true;
}

/* PcDescs are sorted, from one before the code to one behind it; and one of the methods is the nmethod's own. */
static void check_scopes(struct live_java *live, uint64_t blob, uint64_t method,
			 uint64_t num_code_bytes)
{
	const struct hotspot_scopes_layout *scopes = &live->layout.scopes;
	uint64_t base = scopes->immutable_data == WIRE_HOTSPOT_NONE
				? blob
				: read_word(live, blob + scopes->immutable_data);
	uint64_t start = base + read_number(live, blob + scopes->scopes_pcs, 4);
	uint64_t end = base + read_number(live, blob + scopes->scopes_pcs_end, 4);
	int32_t last = INT32_MIN;
	uint64_t methods;
	bool is_found = false;

	assert_int_equal(scopes->pc_desc_bytes, 16);
	assert_true(start < end);
	for (uint64_t at = start; at + scopes->pc_desc_bytes <= end; at += scopes->pc_desc_bytes) {
		int32_t pc = (int32_t)read_number(live, at + scopes->pc_desc_pc, 4);

		assert_true(at != start || pc == -1);
		assert_true(pc > last);
		assert_true((int32_t)read_number(live, at + scopes->pc_desc_scope, 4) >= 0);
		last = pc;
	}
	assert_true(last > (int64_t)num_code_bytes);
	if (scopes->mutable_data != WIRE_HOTSPOT_NONE)
		methods = read_word(live, blob + scopes->mutable_data) +
			  read_number(live, blob + scopes->relocation_bytes, 4);
	else
		methods = blob +
			  (scopes->blob_data == WIRE_HOTSPOT_NONE
				   ? 0
				   : read_number(live, blob + scopes->blob_data, 4)) +
			  read_number(live, blob + scopes->metadata, scopes->metadata_size);
	for (unsigned int i = 0; i < 8 && !is_found; i++)
		is_found = read_word(live, methods + 8 * i) == method;
	assert_true(is_found);
}

/* The table of segments leads from the end of a block to its start. */
static void check_segments(const uint8_t *segments, uint64_t first, uint64_t last)
{
	unsigned int num_steps = 0;

	while (last > first) {
		assert_int_not_equal(segments[last], 0);
		assert_int_not_equal(segments[last], FREE_SEGMENT);
		assert_true(segments[last] <= last - first);
		last -= segments[last];
		assert_true(++num_steps < 1000000);
	}
	assert_int_equal(last, first);
}

struct found_code {
	unsigned int num_blobs;
	unsigned int num_nmethods;
	unsigned int num_wanted;
	unsigned int num_inlined; /* places of methods that are */
	struct hotspot_methods *methods;
};

/* A method that code names is one, and has the bytecode. */
static void check_named(struct live_java *live, const struct hotspot_scope *scope,
			struct found_code *found)
{
	const struct hotspot_memory memory = {live_java_read, live};
	const struct hotspot_method *method =
		hotspot_methods_find(found->methods, 0, 0, scope->method, 0);
	struct wire_hotspot_method record;

	if (!method) {
		assert_int_equal(
			hotspot_method_read(&live->layout, &memory, scope->method, &record), 0);
		record.code = scope->method;
		assert_int_equal(hotspot_methods_add(found->methods, &record), 0);
		method = hotspot_methods_find(found->methods, 0, 0, scope->method, 0);
		assert_non_null(method);
	}
	assert_true(strchr(method->name, '.') != NULL);
	assert_in_range(scope->bytecode, 0, method->code_bytes - 1);
	if (method->num_line_bytes)
		assert_int_not_equal(hotspot_method_get_line(method, scope->bytecode), 0);
}

/* Wherever it is in compiled code, the outermost method is the one that was compiled, and all others are methods. */
static void check_places(struct live_java *live, uint64_t blob, uint64_t method, uint64_t code,
			 uint64_t code_end, struct found_code *found)
{
	const struct hotspot_memory memory = {live_java_read, live};
	struct hotspot_scope_chain chain;
	struct hotspot_scopes *scopes;

	assert_int_equal(
		hotspot_scopes_read(
			&live->layout, &memory, blob,
			(uint32_t)read_number(live, blob + live->layout.wire.nmethod_compile_id, 4),
			&scopes),
		0);
	for (uint64_t pc = code; pc < code_end; pc += 5) {
		int err = hotspot_scopes_find(scopes, pc, false, &chain);

		if (err == -ENOENT)
			continue;
		assert_int_equal(err, 0);
		assert_int_equal(chain.scopes[chain.num_scopes - 1].method, method);
		for (size_t i = 0; i < chain.num_scopes; i++)
			check_named(live, &chain.scopes[i], found);
		found->num_inlined += chain.num_scopes > 1;
	}
	hotspot_scopes_free(scopes);
}

static void check_blob(struct live_java *live, uint64_t blob, struct found_code *found)
{
	const struct wire_hotspot_layout *layout = &live->layout.wire;
	uint64_t size = read_number(live, blob + layout->blob_size, 4);
	uint64_t header_bytes =
		read_number(live, blob + layout->blob_header_bytes, layout->blob_header_bytes_size);
	uint64_t code = layout->blob_code_is_offset
				? blob + read_number(live, blob + layout->blob_code, 4)
				: read_word(live, blob + layout->blob_code);
	uint64_t code_end = layout->blob_code_is_offset
				    ? blob + read_number(live, blob + layout->blob_code_end, 4)
				    : read_word(live, blob + layout->blob_code_end);
	uint64_t method;

	found->num_blobs++;
	assert_true(blob < code && code <= code_end && code_end <= blob + size);
	assert_true(header_bytes <= size);
	if (header_bytes != layout->nmethod_header_bytes)
		return;
	found->num_nmethods++;
	/* Those that only jump, of method handles, have none. */
	assert_true((int32_t)read_number(live, blob + layout->blob_frame_words, 4) >= 0);
	method = read_word(live, blob + layout->nmethod_method);
	check_places(live, blob, method, code, code_end, found);
	if (!check_method(live, method))
		return;
	found->num_wanted++;
	assert_int_not_equal(read_number(live, blob + layout->nmethod_compile_id, 4), 0);
	check_scopes(live, blob, method, code_end - code);
}

static void check_heap(struct live_java *live, uint64_t heap, struct found_code *found)
{
	const struct wire_hotspot_layout *layout = &live->layout.wire;
	uint64_t start = read_word(live, heap + layout->heap_start);
	uint64_t end = read_word(live, heap + layout->heap_end);
	uint64_t table = read_word(live, heap + layout->heap_segments);
	uint64_t shift = read_number(live, heap + layout->heap_segment_shift, 4);
	uint64_t num_segments = (end - start) >> shift;
	uint8_t *segments = malloc(MAX_SEGMENTS);
	uint64_t num_read = 0;

	assert_non_null(segments);
	assert_true(start < end && shift >= 6 && shift <= 12 && num_segments <= MAX_SEGMENTS);
	assert_true(is_code(live, start, start + 1));
	memset(segments, FREE_SEGMENT, MAX_SEGMENTS);
	/* Only of the part that is used there is a table. */
	while (num_read + 4096 <= num_segments &&
	       !process_memory_read(&live->process, table + num_read, segments + num_read, 4096))
		num_read += 4096;
	assert_true(num_read > 0);
	for (uint64_t i = 0; i < num_read; i++) {
		uint64_t block = start + (i << shift);
		uint64_t blob = block + layout->block_bytes;
		uint64_t last;

		/* What is behind all blocks may be 0, and is nothing. */
		if (segments[i] || !is_code(live, block, block + 1) ||
		    !read_number(live, block + layout->block_used, 1) ||
		    !read_number(live, blob + layout->blob_size, 4))
			continue;
		last = (blob + read_number(live, blob + layout->blob_size, 4) - 1 - start) >> shift;
		assert_true(last < num_read);
		check_segments(segments, i, last);
		check_blob(live, blob, found);
	}
	free(segments);
}

static void check_code_cache(struct live_java *live)
{
	const struct wire_hotspot_layout *layout = &live->layout.wire;
	uint64_t heaps = read_word(live, layout->heaps + live->bias);
	uint64_t num_heaps = read_number(live, heaps + layout->array_length, 4);
	uint64_t items = read_word(live, heaps + layout->array_items);
	struct found_code found = {.methods = hotspot_methods_new()};

	assert_non_null(found.methods);
	assert_true(num_heaps >= 1 && num_heaps <= WIRE_HOTSPOT_MAX_HEAPS);
	for (uint64_t i = 0; i < num_heaps; i++)
		check_heap(live, read_word(live, items + 8 * i), &found);
	assert_true(found.num_blobs > found.num_nmethods);
	assert_true(found.num_nmethods > 10);
	assert_true(found.num_wanted > 0);
	assert_true(found.num_inlined > 100);
	hotspot_methods_free(found.methods);
}

static void check_stubs(struct live_java *live)
{
	const struct wire_hotspot_layout *layout = &live->layout.wire;
	uint64_t queue = read_word(live, layout->interpreter + live->bias);
	uint64_t start = read_word(live, queue + layout->queue_start);
	uint64_t size = read_number(live, queue + layout->queue_bytes, 4);
	uint64_t call_stub = read_word(live, layout->call_stub_return + live->bias);

	assert_true(size > 4096 && is_code(live, start, start + size));
	assert_true(is_code(live, call_stub, call_stub + 1));
	assert_false(call_stub >= start && call_stub < start + size);
}

/* Returns whether it is one that is known. */
static bool check_java(const char *java)
{
	struct live_java live = {0};
	struct hotspot_memory memory = {live_java_read, &live};
	bool is_known = false;

	start(&live, java);
	if (!stands(&live)) {
		print_message("%s: skipped, it does not run a source file\n", java);
	} else if (!live_java_find(&live)) {
		print_message("%s: skipped, no HotSpot in any file\n", java);
	} else {
		assert_int_equal(hotspot_read_layout(&live.build, live.bias, &memory, &live.layout),
				 0);
		is_known = live.layout.support == SUPPORT_KNOWN;
		if (is_known) {
			print_message("%s: JDK %u, %u reads of %zu KiB\n", java, live.layout.major,
				      live.num_reads, live.num_bytes >> 10);
			assert_true(live.num_reads < MAX_READS);
			assert_int_equal(live.layout.wire.major, live.layout.major);
			assert_int_equal(live.layout.major, read_release(java));
			check_stubs(&live);
			check_code_cache(&live);
		} else {
			print_message("%s: skipped, JDK %u is not known\n", java,
				      live.layout.major);
			assert_true(live.layout.major < 11 || live.layout.major > 25);
		}
	}
	live_java_stop(&live);
	return is_known;
}

/*
 * While it starts, its file is mapped, relocated, and its constructors run. Returns whether it is one that is
 * known.
 */
static bool check_start(const char *java)
{
	struct live_java live = {0};
	struct hotspot_memory memory = {live_java_read, &live};
	struct hotspot_layout later;
	unsigned int num_tries = 0;
	int err = -EAGAIN;

	start(&live, java);
	while (!live_java_find(&live)) {
		live.regions.length = 0;
		assert_int_equal(kill(live.pid, 0), 0);
		if (++num_tries > MAX_TRIES)
			break;
	}
	num_tries = 0;
	while (live.build.structs && (err == -EAGAIN || err == -EFAULT) && num_tries++ < MAX_TRIES)
		err = hotspot_read_layout(&live.build, live.bias, &memory, &live.layout);
	if (!live.build.structs || !stands(&live)) {
		live_java_stop(&live);
		return false;
	}
	assert_int_equal(err, 0);
	/* What was read first is what it is. */
	assert_int_equal(hotspot_read_layout(&live.build, live.bias, &memory, &later), 0);
	assert_int_equal(live.layout.support, later.support);
	assert_memory_equal(&live.layout.wire, &later.wire, sizeof(later.wire));
	assert_memory_equal(&live.layout.scopes, &later.scopes, sizeof(later.scopes));
	live_java_stop(&live);
	return later.support == SUPPORT_KNOWN;
}

static void check_all(bool (*check)(const char *java))
{
	struct java_list javas = {0};
	unsigned int num_known = 0;

	find_javas(&javas);
	array_for_each (&javas.paths, java)
		num_known += check(*java);
	release_javas(&javas);
	if (!num_known) {
		print_message("skipped: there is no Java that is known\n");
		skip();
	}
}

static void what_a_build_says_leads_to_its_code_and_methods(void **state)
{
	(void)state;
	check_all(check_java);
}

static void a_build_is_not_known_before_it_runs(void **state)
{
	(void)state;
	check_all(check_start);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_build_says_leads_to_its_code_and_methods),
		cmocka_unit_test(a_build_is_not_known_before_it_runs),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
