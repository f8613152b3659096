/* The probes of an allocator's functions, and how its code is described in stretches. */
#include "collect/events/allocator_sites.c"

#include "unit.h"

static void add_function(struct allocator *allocator, uint64_t offset, uint64_t bytes,
			 enum argument_source source)
{
	struct allocator_function *function = array_add(&allocator->functions);

	assert_non_null(function);
	function->point.file_offset = offset;
	function->point.argument.source = source;
	function->bytes = bytes;
}

static void own_code_is_described_relative_to_the_point(void **state _unused_)
{
	struct allocator allocator = {0};
	struct wire_own_code own = {0};

	add_function(&allocator, 0x1000, 0x100, ARGUMENT_REGISTER);
	add_function(&allocator, 0x1100, 0x40, ARGUMENT_REGISTER);
	add_function(&allocator, 0x1140, 0, ARGUMENT_REGISTER);  /* unknown size */
	add_function(&allocator, 0x1140, 0x4000, ARGUMENT_NONE); /* frees */
	/* Behind the smallest function that allocates. */
	add_function(&allocator, 0x114d, 0x20, ARGUMENT_REGISTER);
	describe_own_code(&allocator, 0x1100, &own);
	assert_true(own.offsets[0] == (uint64_t)-0x100);
	assert_int_equal(own.bytes[0], 0x140);
	assert_int_equal(own.offsets[1], 0x4d);
	assert_int_equal(own.bytes[1], 0x20);
	assert_int_equal(own.bytes[2], 0);
	allocator_release(&allocator);
}

static void the_number_of_stretches_is_bounded(void **state _unused_)
{
	struct {
		struct wire_own_code own;
		uint64_t behind;
	} ret = {.behind = 7};
	struct allocator allocator = {0};

	for (uint64_t i = 0; i < WIRE_MAX_OWN_CODE + 3; i++)
		add_function(&allocator, 0x1000 * (i + 1), 0x10, ARGUMENT_REGISTER);
	describe_own_code(&allocator, 0, &ret.own);
	for (uint64_t i = 0; i < WIRE_MAX_OWN_CODE; i++) {
		assert_int_equal(ret.own.offsets[i], 0x1000 * (i + 1));
		assert_int_equal(ret.own.bytes[i], 0x10);
	}
	assert_int_equal(ret.own.jump_register, 0);
	assert_int_equal(ret.behind, 7);
	allocator_release(&allocator);
}

/* One that allocates, one that frees and allocates, and one that only frees. */
static void add_functions(struct allocator *allocator)
{
	add_function(allocator, 0x1000, 0x10, ARGUMENT_REGISTER);
	add_function(allocator, 0x2000, 0x10, ARGUMENT_REGISTER);
	add_function(allocator, 0x3000, 0x10, ARGUMENT_NONE);
	array_for_each (&allocator->functions, function) {
		function->free_register = ARGUMENT_NO_REGISTER;
		function->jump_register = ARGUMENT_NO_REGISTER;
		function->pointer_register = 7;
	}
	allocator->functions.items[1].free_register = 14;
	allocator->functions.items[1].jump_register = 13;
	allocator->functions.items[1].jump_limit = 16;
	allocator->functions.items[1].elf_address = 0x5000;
	allocator->functions.items[1].helpers[1].bytes = 8;
	allocator->functions.items[1].has_other_helpers = true;
	allocator->functions.items[1].hook_address = 0x4000;
	allocator->functions.items[2].free_register = 14;
}

static void sizes_are_read_where_memory_is_allocated(void **state _unused_)
{
	const struct allocator_probes probes = {.config = 4, .return_config = 5};
	struct allocator allocator = {0};
	struct probe_site site;

	add_functions(&allocator);
	assert_true(allocator_site_is_needed(&allocator.functions.items[1], false));
	assert_false(allocator_site_is_needed(&allocator.functions.items[2], false));
	site = allocator_site_describe(&allocator, &allocator.functions.items[1], &probes, 9);
	assert_int_equal(site.config, 4);
	assert_int_equal(site.return_config, 0);
	assert_int_equal(site.offset, 0x2000);
	assert_int_equal(site.argument.source, ARGUMENT_REGISTER);
	assert_int_equal(site.fd, 9);
	assert_int_equal(site.function_bytes, 0x10);
	assert_int_equal(site.free_register, WIRE_NO_REGISTER);
	assert_int_equal(site.own_code.jump_register, 13);
	assert_int_equal(site.own_code.jump_limit, 16);
	assert_true(site.own_code.hook_offset == (uint64_t)-0x1000);
	assert_int_equal(site.own_code.pointer_register, 7);
	assert_int_equal(site.helpers[1].bytes, 8);
	assert_true(site.has_other_helpers);
	assert_true(site.own_code.offsets[0] == (uint64_t)-0x1000);
	allocator_release(&allocator);
}

static void live_memory_needs_frees_and_returns(void **state _unused_)
{
	const struct allocator_probes probes = {.config = 4, .return_config = 5, .is_live = true};
	static const struct {
		uint8_t free_register;
		uint64_t return_config;
	} expected[] = {{WIRE_NO_REGISTER, 5}, {14, 5}, {14, 0}};
	struct allocator allocator = {0};

	add_functions(&allocator);
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
		const struct allocator_function *function = &allocator.functions.items[i];
		struct probe_site site = allocator_site_describe(&allocator, function, &probes, 9);

		assert_true(allocator_site_is_needed(function, true));
		assert_int_equal(site.free_register, expected[i].free_register);
		assert_int_equal(site.return_config, expected[i].return_config);
	}
	allocator_release(&allocator);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(own_code_is_described_relative_to_the_point),
		TEST(the_number_of_stretches_is_bounded),
		TEST(sizes_are_read_where_memory_is_allocated),
		TEST(live_memory_needs_frees_and_returns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
