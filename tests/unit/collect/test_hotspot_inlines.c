/* Compiled code is read once, and no more of it is kept than there is room for. The test replaces what reads memory. */
#include "collect/runtimes/hotspot_inlines.c"

#include "failing_memory.h"
#include "unit.h"

#define BLOB   0x7000
#define METHOD 0x9000

/* Of the test: what a compiled method says of itself. */
struct hotspot_scopes {
	size_t size;
};

static bool is_known; /* the process runs a HotSpot that is known */
static int read_error;
static size_t next_size;
static uint32_t num_read;
static uint32_t num_freed;
static int find_error;
static bool may_lack_inlined;
static uint32_t num_methods_read;
static int method_error;

const struct hotspot_layout *hotspot_layouts_find(struct hotspot_layouts *layouts _unused_,
						  const struct process *process _unused_)
{
	return is_known ? (const struct hotspot_layout *)(uintptr_t)16 : NULL;
}

struct process_memory hotspot_layouts_get_memory(const struct hotspot_layouts *layouts _unused_,
						 const struct process *process _unused_)
{
	return (struct process_memory){0};
}

int hotspot_scopes_read(const struct hotspot_layout *layout _unused_,
			const struct hotspot_memory *memory _unused_, uint64_t blob,
			uint32_t compile_id, struct hotspot_scopes **ret)
{
	num_read++;
	assert_int_equal(blob, BLOB);
	assert_int_equal(compile_id, 12);
	if (read_error)
		return read_error;
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->size = next_size;
	return 0;
}

void hotspot_scopes_free(struct hotspot_scopes *scopes)
{
	num_freed += scopes != NULL;
	free(scopes);
}

size_t hotspot_scopes_get_size(const struct hotspot_scopes *scopes)
{
	return scopes->size;
}

int hotspot_scopes_find(const struct hotspot_scopes *scopes _unused_, uint64_t pc, bool is_call,
			struct hotspot_scope_chain *ret)
{
	ret->num_scopes = find_error ? 0 : 2;
	ret->may_lack_inlined = may_lack_inlined;
	ret->scopes[0] = (struct hotspot_scope){.method = pc, .bytecode = is_call};
	return find_error;
}

int hotspot_method_read(const struct hotspot_layout *layout _unused_,
			const struct hotspot_memory *memory _unused_, uint64_t method _unused_,
			struct wire_hotspot_method *ret)
{
	num_methods_read++;
	*ret = (struct wire_hotspot_method){.type = WIRE_RUNTIME_CODE,
					    .runtime = WIRE_RUNTIME_HOTSPOT};
	return method_error;
}

static struct hotspot_methods *methods;
static struct hotspot_inlines *inlines;
static const struct process process = {.pid = 7};

static int set_up(void **state _unused_)
{
	is_known = true;
	read_error = find_error = method_error = 0;
	may_lack_inlined = false;
	next_size = 1000;
	num_read = num_freed = num_methods_read = 0;
	methods = hotspot_methods_new();
	inlines = hotspot_inlines_new(NULL, methods);
	assert_true(methods && inlines);
	return 0;
}

static int tear_down(void **state _unused_)
{
	hotspot_inlines_free(inlines);
	hotspot_methods_free(methods);
	return 0;
}

static struct hotspot_scope_chain chain;

/* Returns the number of scopes of such code. */
static size_t find_scopes(uint64_t generation, uint32_t fingerprint)
{
	const struct hotspot_method code = {.generation = generation,
					    .code = BLOB,
					    .pid = 7,
					    .fingerprint = fingerprint,
					    .compile_id = 12,
					    .name = "x"};

	assert_int_equal(hotspot_inlines_find(inlines, &process, &code, 0x7010, true, &chain), 0);
	if (chain.num_scopes) {
		assert_int_equal(chain.scopes[0].method, 0x7010);
		assert_int_equal(chain.scopes[0].bytecode, 1);
	}
	return chain.num_scopes;
}

static void code_is_read_once(void **state _unused_)
{
	assert_int_equal(find_scopes(1, 3), 2);
	assert_int_equal(find_scopes(1, 3), 2);
	assert_int_equal(num_read, 1);
	/* Other code in its place, and that of another image. */
	assert_int_equal(find_scopes(1, 5), 2);
	assert_int_equal(find_scopes(2, 3), 2);
	assert_int_equal(num_read, 3);
	tear_down(NULL);
	assert_int_equal(num_freed, 3);
	set_up(NULL);
}

static void code_that_cannot_be_read_is_not_read_again(void **state _unused_)
{
	read_error = -ESTALE;
	assert_int_equal(find_scopes(1, 3), 0);
	assert_true(chain.may_lack_inlined);
	read_error = 0;
	assert_int_equal(find_scopes(1, 3), 0);
	assert_true(chain.may_lack_inlined);
	assert_int_equal(num_read, 1);
	is_known = false;
	assert_int_equal(find_scopes(1, 5), 0);
	assert_int_equal(num_read, 1);
	assert_int_equal(hotspot_inlines_get_dropped(inlines), 0);
}

static void a_place_that_is_not_described_has_no_scopes(void **state _unused_)
{
	find_error = -ENOENT;
	may_lack_inlined = true;
	assert_int_equal(find_scopes(1, 3), 0);
	assert_true(chain.may_lack_inlined);
	may_lack_inlined = false;
	assert_int_equal(find_scopes(1, 3), 0);
	assert_false(chain.may_lack_inlined);
	find_error = 0;
	assert_int_equal(find_scopes(1, 3), 2);
}

static void code_beyond_64_mib_is_dropped(void **state _unused_)
{
	assert_int_equal(MAX_SCOPES_BYTES, 64 << 20);
	next_size = MAX_SCOPES_BYTES - 1000;
	assert_int_equal(find_scopes(1, 3), 2);
	next_size = 1001;
	assert_int_equal(find_scopes(1, 5), 0);
	assert_int_equal(hotspot_inlines_get_dropped(inlines), 1);
	assert_int_equal(num_freed, 1);
	assert_int_equal(find_scopes(1, 5), 0);
	assert_int_equal(hotspot_inlines_get_dropped(inlines), 1);
	/* There is room for as much as that. */
	next_size = 1000;
	assert_int_equal(find_scopes(1, 7), 2);
	next_size = 1;
	assert_int_equal(find_scopes(1, 9), 0);
	assert_int_equal(hotspot_inlines_get_dropped(inlines), 2);
}

static void an_inlined_method_is_read_once(void **state _unused_)
{
	const struct hotspot_method code = {
		.generation = 4, .code = BLOB, .pid = 7, .fingerprint = 9};
	const struct hotspot_method *found;

	method_error = -EFAULT;
	assert_null(hotspot_inlines_get_method(inlines, &process, &code, METHOD));
	method_error = 0;
	is_known = false;
	assert_null(hotspot_inlines_get_method(inlines, &process, &code, METHOD));
	assert_int_equal(num_methods_read, 1);
	is_known = true;
	for (int i = 0; i < 2; i++) {
		found = hotspot_inlines_get_method(inlines, &process, &code, METHOD);
		assert_non_null(found);
		assert_int_equal(found->generation, 4);
		assert_int_equal(found->code, METHOD);
		assert_int_equal(found->pid, 7);
		/* No method that was sent: theirs are odd. */
		assert_int_equal(found->fingerprint, 8);
	}
	assert_int_equal(num_methods_read, 2);
}

/* They take no room until they are kept, and are read again. */
static void scopes_that_lacked_memory_can_be_found_again(void **state _unused_)
{
	const struct hotspot_method code = {.generation = 1,
					    .code = BLOB,
					    .pid = 7,
					    .fingerprint = 3,
					    .compile_id = 12,
					    .name = "x"};
	int64_t num_before = 0;

	next_size = MAX_SCOPES_BYTES;
	for (;; num_before++) {
		int err;

		failing_memory_start(num_before);
		err = hotspot_inlines_find(inlines, &process, &code, 0x7010, true, &chain);
		assert_int_equal(err, failing_memory_end() ? -ENOMEM : 0);
		if (!err)
			break;
		assert_int_equal(chain.num_scopes, 0);
	}
	assert_true(num_before > 1);
	assert_int_equal(chain.num_scopes, 2);
	assert_int_equal(hotspot_inlines_get_dropped(inlines), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(code_is_read_once),
		TEST(code_that_cannot_be_read_is_not_read_again),
		TEST(a_place_that_is_not_described_has_no_scopes),
		TEST(code_beyond_64_mib_is_dropped),
		TEST(an_inlined_method_is_read_once),
		TEST(scopes_that_lacked_memory_can_be_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
