/* Functions as the sampling program sends them: names with a class, what is cut or is no text, and the store. */
#include "runtime/script_function.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

struct scene {
	struct script_functions *functions;
	struct wire_script_function record;
};

static void put_text(struct wire_script_text *text, uint8_t *place, const char *string)
{
	text->num_bytes = text->length = (wire_u32)strlen(string);
	memcpy(place, string, strlen(string));
}

static void put_name(struct scene *scene, const char *class_name, const char *name)
{
	put_text(&scene->record.class_name, scene->record.class_text, class_name);
	put_text(&scene->record.name, scene->record.name_text, name);
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	*state = scene;
	scene->functions = script_functions_new();
	assert_non_null(scene->functions);
	scene->record = (struct wire_script_function){
		.pid = 12,
		.generation = 3,
		.code = 0x1000,
		.fingerprint = 7,
		.runtime = WIRE_RUNTIME_PHP,
	};
	put_name(scene, "Order", "total");
	put_text(&scene->record.file, scene->record.file_text, "/srv/order.php");
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	script_functions_free(scene->functions);
	free(scene);
	return 0;
}

static const struct script_function *find(const struct scene *scene)
{
	return script_functions_find(scene->functions, 12, 3, 0x1000, 7);
}

static const struct script_function *add(struct scene *scene)
{
	const struct script_function *function;

	assert_int_equal(script_functions_add(scene->functions, &scene->record), 0);
	function = find(scene);
	assert_non_null(function);
	return function;
}

/* Perl has what it can in Latin-1. */
static void names_of_perl_may_be_in_latin_1(void **state)
{
	struct scene *scene = *state;
	const struct script_function *function;

	scene->record.runtime = WIRE_RUNTIME_PERL;
	put_name(scene, "Ma\xdf",
		 "gr\xf6\xdf"
		 "e");
	function = add(scene);
	assert_string_equal(function->name, "Maß::größe");
	scene->record.code = 0x2000;
	put_name(scene, "Maß", "größe");
	assert_int_equal(script_functions_add(scene->functions, &scene->record), 0);
	function = script_functions_find(scene->functions, 12, 3, 0x2000, 7);
	assert_string_equal(function->name, "Maß::größe");
}

static void a_method_is_called_by_its_class(void **state)
{
	const struct script_function *function = add(*state);

	assert_string_equal(function->name, "Order::total");
	assert_string_equal(function->file, "/srv/order.php");
	assert_int_equal(function->code_kind, WIRE_SCRIPT_CODE_FUNCTION);
}

static void a_function_has_its_name_alone(void **state)
{
	struct scene *scene = *state;

	put_name(scene, "", "strlen");
	assert_string_equal(add(scene)->name, "strlen");
}

static void code_without_a_name_has_no_class_either(void **state)
{
	struct scene *scene = *state;

	put_name(scene, "Order", "");
	scene->record.code_kind = WIRE_SCRIPT_CODE_FILE;
	assert_string_equal(add(scene)->name, "");
	assert_int_equal(find(scene)->code_kind, WIRE_SCRIPT_CODE_FILE);
}

static void a_name_that_is_cut_ends_in_an_ellipsis(void **state)
{
	struct scene *scene = *state;

	put_name(scene, "", "größe");
	scene->record.name.length = 200;
	assert_string_equal(add(scene)->name, "größe…");
}

static void half_a_character_is_left_out(void **state)
{
	struct scene *scene = *state;

	put_name(scene, "", "gr\xc3");
	scene->record.name.length = 200;
	assert_string_equal(add(scene)->name, "gr…");
}

static void what_is_no_text_becomes_one(void **state)
{
	struct scene *scene = *state;

	put_name(scene, "", "a\nb\xff");
	assert_string_equal(add(scene)->name, "a b\xef\xbf\xbd");
}

static void what_could_not_be_read_may_come_later(void **state)
{
	struct scene *scene = *state;

	scene->record.name = (struct wire_script_text){0};
	scene->record.file = (struct wire_script_text){0};
	assert_string_equal(add(scene)->name, "");
	put_name(scene, "", "later");
	assert_string_equal(add(scene)->name, "later");
	put_name(scene, "", "other");
	put_text(&scene->record.file, scene->record.file_text, "a.php");
	assert_string_equal(add(scene)->name, "later");
	assert_string_equal(find(scene)->file, "a.php");
}

static void records_that_cannot_be_are_refused(void **state)
{
	struct scene *scene = *state;
	struct wire_script_function others[5];

	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		others[i] = scene->record;
	others[0].name.num_bytes = WIRE_SCRIPT_NAME_BYTES + 1;
	others[0].name.length = UINT32_MAX;
	others[1].name.length = others[1].name.num_bytes - 1;
	others[2].class_name.num_bytes = UINT32_MAX;
	others[3].file.num_bytes = others[3].file.length = WIRE_SCRIPT_FILE_BYTES + 1;
	others[4].code_kind = NUM_WIRE_SCRIPT_CODES;
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		assert_int_equal(script_functions_add(scene->functions, &others[i]), -EINVAL);
	assert_null(find(scene));
}

static void functions_are_told_apart(void **state)
{
	struct scene *scene = *state;

	add(scene);
	assert_null(script_functions_find(scene->functions, 13, 3, 0x1000, 7));
	assert_null(script_functions_find(scene->functions, 12, 4, 0x1000, 7));
	assert_null(script_functions_find(scene->functions, 12, 3, 0x1001, 7));
	assert_null(script_functions_find(scene->functions, 12, 3, 0x1000, 8));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_method_is_called_by_its_class),
		TEST(names_of_perl_may_be_in_latin_1),
		TEST(a_function_has_its_name_alone),
		TEST(code_without_a_name_has_no_class_either),
		TEST(a_name_that_is_cut_ends_in_an_ellipsis),
		TEST(half_a_character_is_left_out),
		TEST(what_is_no_text_becomes_one),
		TEST(what_could_not_be_read_may_come_later),
		TEST(records_that_cannot_be_are_refused),
		TEST(functions_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
