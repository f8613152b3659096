#include "runtime/wasm_module.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

#define MAX_BYTES 4096

struct scene {
	uint8_t bytes[MAX_BYTES];
	size_t num_bytes;
	struct wasm_module *module;
};

static int read_scene(void *context, uint64_t offset, void *ret, size_t size)
{
	const struct scene *scene = context;

	if (offset > scene->num_bytes || size > scene->num_bytes - offset)
		return -1;
	memcpy(ret, scene->bytes + offset, size);
	return 0;
}

static void add(struct scene *scene, const void *bytes, size_t size)
{
	assert_in_range(scene->num_bytes + size, 0, MAX_BYTES);
	memcpy(scene->bytes + scene->num_bytes, bytes, size);
	scene->num_bytes += size;
}

/* Its content is shorter than 128 bytes. */
static void add_section(struct scene *scene, uint8_t kind, const void *content, size_t size)
{
	const uint8_t header[] = {kind, (uint8_t)size};

	assert_in_range(size, 0, 127);
	add(scene, header, sizeof(header));
	add(scene, content, size);
}
#define ADD_SECTION(scene, kind, content) add_section(scene, kind, content, sizeof(content) - 1)

static struct scene start(void)
{
	struct scene scene = {0};

	add(&scene, "\0asm\1\0\0\0", 8);
	return scene;
}

static int read_module(struct scene *scene)
{
	const struct wasm_source source = {
		.read = read_scene, .context = scene, .size = scene->num_bytes};

	scene->module = NULL;
	return wasm_module_read(&source, &scene->module);
}

static void expect_name(const struct scene *scene, uint32_t function, const char *name)
{
	const char *found = wasm_module_get_name(scene->module, function);

	if (name)
		assert_string_equal(found, name);
	else
		assert_null(found);
}

static void functions_have_the_names_of_the_name_section(void **state _unused_)
{
	struct scene scene = start();

	ADD_SECTION(&scene, 2, "\1\3env\1f\0\0");
	ADD_SECTION(&scene, 3, "\2\0\0");
	ADD_SECTION(&scene, 7, "\1\5other\0\1");
	/* The module's own name, and two functions, of which the second one has a name twice. */
	ADD_SECTION(&scene, 0, "\4name\0\2\1m\1\16\3\1\3one\2\2tw\2\3two");
	assert_int_equal(read_module(&scene), 0);
	assert_int_equal(wasm_module_get_num_imports(scene.module), 1);
	assert_int_equal(wasm_module_get_num_functions(scene.module), 2);
	expect_name(&scene, 0, NULL);
	expect_name(&scene, 1, "one");
	expect_name(&scene, 2, "tw");
	expect_name(&scene, 3, NULL);
	wasm_module_free(scene.module);
}

static void without_one_they_have_those_of_exports(void **state _unused_)
{
	struct scene scene = start();

	ADD_SECTION(&scene, 3, "\3\0\0\0");
	/* Unsorted; what is no function is none. */
	ADD_SECTION(&scene, 7, "\4\1b\0\2\1m\2\0\1a\0\0\2aa\0\0");
	ADD_SECTION(&scene, 0, "\5other\1\2\3");
	assert_int_equal(read_module(&scene), 0);
	expect_name(&scene, 0, "a");
	expect_name(&scene, 1, NULL);
	expect_name(&scene, 2, "b");
	wasm_module_free(scene.module);
}

static void imports_of_all_kinds_are_gone_through(void **state _unused_)
{
	struct scene scene = start();

	/* A table with a limit, one of references to a type, a memory, a global, a tag; and a function behind each. */
	ADD_SECTION(&scene, 2,
		    "\12\0\0\1\x70\1\0\2\0\0\0\7\0\0\1\x63\0\0\1\0\0\0\7\0\0\2\0\1\0\0\0\7"
		    "\0\0\3\x7f\1\0\0\0\7\0\0\4\0\7\0\0\0\7");
	assert_int_equal(read_module(&scene), 0);
	assert_int_equal(wasm_module_get_num_imports(scene.module), 5);
	wasm_module_free(scene.module);
}

static void what_is_no_module_is_none(void **state _unused_)
{
	struct scene scene = {0};

	assert_int_equal(read_module(&scene), -EBADMSG);
	add(&scene, "\0asm\2\0\0\0", 8);
	assert_int_equal(read_module(&scene), -EBADMSG);
	scene = start();
	assert_int_equal(read_module(&scene), 0);
	wasm_module_free(scene.module);
	/* A section that is longer than the module; imports that are none. */
	add(&scene, "\2\5", 2);
	assert_int_equal(read_module(&scene), -EBADMSG);
	scene = start();
	ADD_SECTION(&scene, 2, "\1\0\0\7");
	assert_int_equal(read_module(&scene), -EBADMSG);
	scene = start();
	ADD_SECTION(&scene, 3, "\xff\xff\xff\xff\x7f");
	assert_int_equal(read_module(&scene), -EBADMSG);
}

static void of_names_that_end_early_the_first_ones_count(void **state _unused_)
{
	struct scene scene = start();

	ADD_SECTION(&scene, 0, "\4name\1\10\3\0\1a\1\7b");
	assert_int_equal(read_module(&scene), 0);
	expect_name(&scene, 0, NULL);
	wasm_module_free(scene.module);
	scene = start();
	ADD_SECTION(&scene, 0, "\4name\1\7\3\0\1a\1\7b");
	assert_int_equal(read_module(&scene), 0);
	expect_name(&scene, 0, "a");
	expect_name(&scene, 1, NULL);
	wasm_module_free(scene.module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_the_names_of_the_name_section),
		cmocka_unit_test(without_one_they_have_those_of_exports),
		cmocka_unit_test(imports_of_all_kinds_are_gone_through),
		cmocka_unit_test(what_is_no_module_is_none),
		cmocka_unit_test(of_names_that_end_early_the_first_ones_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
