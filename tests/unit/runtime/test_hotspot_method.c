/*
 * Methods of HotSpot as the sampling program sends them: names as class files and the JVM have them, tables of lines, what is cut or
 * cannot be, and the store.
 */
#include "runtime/hotspot_method.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/text.h"
#include "unsigned5_writer.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

struct scene {
	struct hotspot_methods *methods;
	struct wire_hotspot_method record;
};

/* Of the JDK whose numbers may have bytes of 0, and of the first one where these end something. */
static const unsigned int majors[] = {19, 20};

static void put_bytes(struct wire_hotspot_text *text, uint8_t *place, const void *bytes,
		      size_t size)
{
	text->length = text->num_bytes = (wire_u16)size;
	memcpy(place, bytes, size);
}

static void put_class(struct scene *scene, const char *name)
{
	put_bytes(&scene->record.class_name, scene->record.class_text, name, strlen(name));
}

static void put_name(struct scene *scene, const char *name)
{
	put_bytes(&scene->record.name, scene->record.name_text, name, strlen(name));
}

static void put_file(struct scene *scene, const char *file)
{
	put_bytes(&scene->record.file, scene->record.file_text, file, strlen(file));
}

static void put_lines(struct scene *scene, const void *bytes, size_t size)
{
	memcpy(scene->record.lines, bytes, size);
	scene->record.num_line_bytes = (wire_u16)size;
}

static void lose_name(struct scene *scene)
{
	scene->record.name = (struct wire_hotspot_text){0};
}

static void lose_file(struct scene *scene)
{
	scene->record.file = (struct wire_hotspot_text){0};
}

static int set_up(void **state)
{
	/* Bytecode 0: line 40, 7: 42, 12: 41. */
	struct unsigned5_writer lines = {.major = 17};
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	*state = scene;
	scene->methods = hotspot_methods_new();
	assert_non_null(scene->methods);
	scene->record = (struct wire_hotspot_method){
		.pid = 12,
		.generation = 3,
		.code = 0x7f2c18003200,
		.fingerprint = 0xabcd,
		.compile_id = 77,
		.method = 0x7f2bf4001230,
		.code_bytes = 20,
		.major = 17,
	};
	put_class(scene, "java/util/HashMap");
	put_name(scene, "put");
	put_file(scene, "HashMap.java");
	unsigned5_put_byte(&lines, 0xff);
	unsigned5_put_signed(&lines, 0);
	unsigned5_put_signed(&lines, 40);
	unsigned5_put_byte(&lines, 7 << 3 | 2);
	unsigned5_put_byte(&lines, 0xff);
	unsigned5_put_signed(&lines, 5);
	unsigned5_put_signed(&lines, -1);
	unsigned5_put_byte(&lines, 0);
	put_lines(scene, lines.bytes, lines.length);
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	hotspot_methods_free(scene->methods);
	free(scene);
	return 0;
}

static const struct hotspot_method *find(const struct scene *scene)
{
	const struct wire_hotspot_method *record = &scene->record;

	return hotspot_methods_find(scene->methods, record->pid, record->generation, record->code,
				    record->fingerprint);
}

static const struct hotspot_method *add(const struct scene *scene)
{
	const struct hotspot_method *method;

	assert_int_equal(hotspot_methods_add(scene->methods, &scene->record), 0);
	method = find(scene);
	assert_non_null(method);
	return method;
}

static const struct hotspot_method *add_another(struct scene *scene)
{
	scene->record.pid++;
	return add(scene);
}

static const char *add_class(struct scene *scene, const char *name)
{
	put_class(scene, name);
	return add_another(scene)->name;
}

static void a_method_is_found_with_all_that_was_sent(void **state)
{
	struct scene *scene = *state;
	const struct hotspot_method *method = add(scene);

	assert_string_equal(method->name, "java.util.HashMap.put");
	assert_string_equal(method->file, "HashMap.java");
	assert_int_equal(method->first_line, 40);
	assert_int_equal(method->pid, 12);
	assert_int_equal(method->generation, 3);
	assert_int_equal(method->code, 0x7f2c18003200);
	assert_int_equal(method->fingerprint, 0xabcd);
	assert_int_equal(method->method, 0x7f2bf4001230);
	assert_int_equal(method->compile_id, 77);
}

/* Addresses are used again: by another process, by another program of it, and for another method. */
static void no_other_one_is_taken_for_it(void **state)
{
	struct scene *scene = *state;
	const struct wire_hotspot_method *record = &scene->record;
	uint32_t pid = record->pid, fingerprint = record->fingerprint;
	uint64_t generation = record->generation, code = record->code;

	assert_null(find(scene));
	(void)add(scene);
	assert_non_null(hotspot_methods_find(scene->methods, pid, generation, code, fingerprint));
	assert_null(hotspot_methods_find(scene->methods, pid + 1, generation, code, fingerprint));
	assert_null(hotspot_methods_find(scene->methods, pid, generation + 1, code, fingerprint));
	assert_null(hotspot_methods_find(scene->methods, pid, generation, code + 8, fingerprint));
	assert_null(hotspot_methods_find(scene->methods, pid, generation, code, fingerprint + 1));
}

static void names_of_compilers_are_kept(void **state)
{
	static const struct {
		const char *class_name;
		const char *name;
		const char *expected;
	} cases[] = {
		{"Main", "main", "Main.main"},
		{"a/b/Main", "<init>", "a.b.Main.<init>"},
		{"a/b/Main$1", "<clinit>", "a.b.Main$1.<clinit>"},
		{"Main", "lambda$main$0", "Main.lambda$main$0"},
		{"Main$$anonfun$12", "apply$mcV$sp", "Main$$anonfun$12.apply$mcV$sp"},
		{"a+b", "c+0x1", "a+b.c+0x1"},
		{"a+0y1", "c", "a+0y1.c"},
		{"a+0x", "c", "a+0x.c"},
		{"a+0x1g", "c", "a+0x1g.c"},
		{"a+0x1/B", "c", "a+0x1.B.c"},
		{"Main$$Lambda$", "c", "Main$$Lambda$.c"},
		{"Main$$Lambda$14$1x", "c", "Main$$Lambda$14$1x.c"},
		{"Lambda$14", "c", "Lambda$14.c"},
		{"org/GeneratedMethodAccessor12", "c", "org.GeneratedMethodAccessor12.c"},
		{"jdk/proxy2/$Proxy12", "run", "jdk.proxy2.$Proxy12.run"},
		{"12", "c", "12.c"},
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		put_name(scene, cases[i].name);
		assert_string_equal(add_class(scene, cases[i].class_name), cases[i].expected);
	}
}

/* Else each run, and each lambda of a run, would have other names. */
static void names_that_the_jvm_makes_are_the_same_each_time(void **state)
{
	static const struct {
		const char *class_name;
		const char *expected;
	} cases[] = {
		{"a/Main$$Lambda$14", "a.Main$$Lambda.run"}, /* JDK 11 */
		{"a/Main$$Lambda$14+0x00007f2c18003200", "a.Main$$Lambda.run"},
		{"a/Main$$Lambda+0x00007f2c18003200", "a.Main$$Lambda.run"}, /* JDK 21 */
		{"a/Main$$Lambda+0x80000000c", "a.Main$$Lambda.run"},
		{"java/lang/invoke/LambdaForm$MH+0x0000000800C01400",
		 "java.lang.invoke.LambdaForm$MH.run"},
		{"a/B+c+0x0", "a.B+c.run"},
		{"+0x0", ".run"},
		{"jdk/internal/reflect/GeneratedMethodAccessor12",
		 "jdk.internal.reflect.GeneratedMethodAccessor.run"},
		{"jdk/internal/reflect/GeneratedSerializationConstructorAccessor1",
		 "jdk.internal.reflect.GeneratedSerializationConstructorAccessor.run"},
	};
	struct scene *scene = *state;

	put_name(scene, "run");
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_string_equal(add_class(scene, cases[i].class_name), cases[i].expected);
}

static void what_was_cut_of_an_address_is_none(void **state)
{
	static const struct {
		const char *class_name;
		const char *expected;
	} cases[] = {
		{"a/Main$$Lambda$14+0x00007f", "a.Main$$Lambda.put"},
		{"a/Main$$Lambda+0x", "a.Main$$Lambda.put"},
		{"a/Main$$Lambda+0", "a.Main$$Lambda.put"},
		{"a/Main$$Lambda+", "a.Main$$Lambda.put"},
		{"a/Main$$Lambda", "a.Main$$Lambda….put"},
		{"a/Main$$Lambda$1", "a.Main$$Lambda$1….put"},
		{"a/Main+1", "a.Main+1….put"},
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		put_class(scene, cases[i].class_name);
		scene->record.class_name.length = 300;
		assert_string_equal(add_another(scene)->name, cases[i].expected);
	}
}

static void names_are_modified_utf_8(void **state)
{
	static const struct {
		const char *name;
		const char *expected;
	} cases[] = {
		{"é€", "é€"},
		{"a\xc0\x80z", "a z"}, /* NUL */
		{"\xed\xa0\xbd\xed\xb0\x8d", "🐍"},
		{"\xed\xa0\x80\xed\xb0\x80\xed\xaf\xbf\xed\xbf\xbf",
		 "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
		{"a\nb\x1b[1m\x7f", "a b [1m "},
		/* Half a pair, or none. */
		{"\xed\xa0\xbd", "�"},
		{"\xed\xa0\xbdx", "�x"},
		{"\xed\xb0\x8d\xed\xa0\xbd", "��"},
		{"\xed\xa0\xbd\xed\xa0\xbd\xed\xb0\x8d", "�🐍"},
		{"\xed\x9f\xbf", "\xed\x9f\xbf"}, /* before the surrogates */
		/* Bytes that are no characters. */
		{"a\x80z", "a�z"},
		{"\xc0\x81", "��"},
		{"\xe2\x82", "��"},
		{"\xed\xa0", "��"},
		{"\xc0", "�"},
		{"\xff\xfe", "��"},
	};
	struct scene *scene = *state;
	char expected[64];

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		put_name(scene, cases[i].name);
		put_file(scene, cases[i].name);
		put_class(scene, cases[i].name);
		snprintf(expected, sizeof(expected), "%s.%s", cases[i].expected, cases[i].expected);
		assert_string_equal(add_another(scene)->name, expected);
		assert_string_equal(find(scene)->file, cases[i].expected);
	}
}

static void what_was_cut_ends_with_an_ellipsis(void **state)
{
	static const struct {
		const char *name;
		const char *expected;
	} cases[] = {
		{"abc", "abc…"},
		/* Between the bytes of a character, or between the halves of a pair. */
		{"a\xc3", "a…"},
		{"a\xe2", "a…"},
		{"a\xe2\x82", "a…"},
		{"a€", "a€…"},
		{"aé", "aé…"},
		{"a\xc0", "a…"},
		{"a\xed\xa0\xbd", "a…"},
		{"a\xed\xa0\xbd\xed", "a…"},
		{"a\xed\xa0\xbd\xed\xb0", "a…"},
		{"a\xed\xa0\xbd\xed\xb0\x8d", "a🐍…"},
		{"\x80\x80", "��…"},
	};
	struct scene *scene = *state;
	char expected[64];

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		put_name(scene, cases[i].name);
		put_file(scene, cases[i].name);
		put_class(scene, cases[i].name);
		scene->record.name.length = scene->record.file.length =
			scene->record.class_name.length = UINT16_MAX;
		snprintf(expected, sizeof(expected), "%s.%s", cases[i].expected, cases[i].expected);
		assert_string_equal(add_another(scene)->name, expected);
		assert_string_equal(find(scene)->file, cases[i].expected);
	}
}

static void as_much_as_is_sent_is_taken(void **state)
{
	char expected[WIRE_HOTSPOT_CLASS_BYTES + WIRE_HOTSPOT_NAME_BYTES + 2];
	struct scene *scene = *state;
	struct wire_hotspot_method *record = &scene->record;

	memset(expected, 'c', sizeof(expected) - 1);
	expected[sizeof(expected) - 1] = '\0';
	put_bytes(&record->class_name, record->class_text, expected, WIRE_HOTSPOT_CLASS_BYTES);
	put_bytes(&record->name, record->name_text, expected, WIRE_HOTSPOT_NAME_BYTES);
	put_bytes(&record->file, record->file_text, expected, WIRE_HOTSPOT_FILE_BYTES);
	expected[WIRE_HOTSPOT_CLASS_BYTES] = '.';
	assert_string_equal(add(scene)->name, expected);
	expected[WIRE_HOTSPOT_FILE_BYTES] = '\0';
	assert_string_equal(find(scene)->file, expected);
}

static void what_lies_behind_the_strings_is_not_taken(void **state)
{
	struct scene *scene = *state;
	struct wire_hotspot_method *record = &scene->record;

	memset(record->class_text + record->class_name.num_bytes, '1', 8);
	memset(record->name_text + record->name.num_bytes, 'x', 8);
	memset(record->file_text + record->file.num_bytes, 'x', 8);
	assert_string_equal(add(scene)->name, "java.util.HashMap.put");
	assert_string_equal(find(scene)->file, "HashMap.java");
}

static void without_its_class_or_its_name_it_has_none(void **state)
{
	struct scene *scene = *state;

	lose_name(scene);
	lose_file(scene);
	assert_string_equal(add(scene)->name, "");
	assert_string_equal(find(scene)->file, "");
	put_name(scene, "put");
	scene->record.class_name = (struct wire_hotspot_text){0};
	assert_string_equal(add_another(scene)->name, "");
}

static void a_bytecode_has_the_line_of_the_pair_before_it(void **state)
{
	static const uint32_t expected[] = {40, 40, 40, 40, 40, 40, 40, 42, 42, 42,
					    42, 42, 41, 41, 41, 41, 41, 41, 41, 41};
	struct scene *scene = *state;
	const struct hotspot_method *method = add(scene);

	for (uint32_t i = 0; i < ARRAY_LENGTH(expected); i++)
		assert_int_equal(hotspot_method_get_line(method, i), expected[i]);
	assert_int_equal(hotspot_method_get_line(method, 20), 0);
	assert_int_equal(hotspot_method_get_line(method, WIRE_HOTSPOT_NO_BYTECODE), 0);
	assert_int_equal(hotspot_method_get_line(method, UINT32_MAX), 0);
}

static void lines_are_read_as_each_jdk_compresses_them(void **state)
{
	static const struct {
		int32_t bytecode;
		int32_t line;
	} pairs[] = {{0, 65535}, {95, 1},     {96, 191},    {300, 192},   {301, 500},
		     {400, 7},   {401, 6400}, {9000, 6401}, {60000, 700}, {65534, 60000}};
	struct scene *scene = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(majors); i++) {
		struct unsigned5_writer lines = {.major = majors[i]};
		const struct hotspot_method *method;
		int32_t bytecode = 0;
		int32_t line = 0;

		for (size_t j = 0; j < ARRAY_LENGTH(pairs); j++) {
			unsigned5_put_byte(&lines, 0xff);
			unsigned5_put_signed(&lines, pairs[j].bytecode - bytecode);
			unsigned5_put_signed(&lines, pairs[j].line - line);
			bytecode = pairs[j].bytecode;
			line = pairs[j].line;
		}
		unsigned5_put_byte(&lines, 0);
		put_lines(scene, lines.bytes, lines.length);
		scene->record.major = (wire_u16)majors[i];
		scene->record.code_bytes = 65535;
		method = add_another(scene);
		for (size_t j = 0; j < ARRAY_LENGTH(pairs); j++)
			assert_int_equal(
				hotspot_method_get_line(method, (uint32_t)pairs[j].bytecode),
				pairs[j].line);
		assert_int_equal(hotspot_method_get_line(method, 59999), 6401);
		assert_int_equal(method->num_line_bytes, lines.length);
	}
}

/* 392, the line 196 with its sign: by hand, 200 + 64 * 3. */
static void numbers_of_two_bytes_are_read(void **state)
{
	static const uint8_t old_bytes[] = {0xff, 0x00, 0xc8, 0x03, 0x1a, 0x00};
	static const uint8_t new_bytes[] = {0xff, 0x01, 0xc9, 0x04, 0x1a, 0x00};
	struct scene *scene = *state;

	put_lines(scene, old_bytes, sizeof(old_bytes));
	scene->record.major = 17;
	assert_int_equal(add_another(scene)->first_line, 196);
	assert_int_equal(hotspot_method_get_line(find(scene), 3), 198);
	put_lines(scene, new_bytes, sizeof(new_bytes));
	scene->record.major = 25;
	assert_int_equal(add_another(scene)->first_line, 196);
	assert_int_equal(hotspot_method_get_line(find(scene), 3), 198);
}

/* The JVM takes the first pair of an index, and of those before it the last one. */
static void pairs_need_not_ascend(void **state)
{
	static const uint8_t lines[] = {0xff,        0,         20, /* 0: 10 */
					10 << 3 | 5,                /* 10: 15 */
					0xff,        2 * 5 - 1,     /* 5: */
					2,                          /* 16 */
					1,                          /* 5: 17 */
					2 << 3,                     /* 7: 17 */
					0xff,        2 * 1 - 1,     /* 6: */
					2 * 4,                      /* 21 */
					6 << 3 | 1,  0x00};         /* 12: 22 */
	static const uint32_t expected[] = {10, 10, 10, 10, 10, 16, 21, 17,
					    17, 17, 15, 15, 22, 22, 22};
	struct scene *scene = *state;
	const struct hotspot_method *method;

	put_lines(scene, lines, sizeof(lines));
	method = add(scene);
	for (uint32_t i = 0; i < ARRAY_LENGTH(expected); i++)
		assert_int_equal(hotspot_method_get_line(method, i), expected[i]);
}

static void a_table_that_is_cut_gives_no_wrong_line(void **state)
{
	struct scene *scene = *state;
	static const uint8_t ascending[] = {0xff, 0, 20, 5 << 3 | 1, 3 << 3 | 1};
	static const uint8_t going_back[] = {0xff, 0, 20, 10 << 3 | 1, 0xff, 1, 2, 3 << 3};
	const struct hotspot_method *method;

	put_lines(scene, ascending, sizeof(ascending));
	method = add_another(scene);
	assert_int_equal(method->first_line, 10);
	assert_int_equal(hotspot_method_get_line(method, 4), 10);
	assert_int_equal(hotspot_method_get_line(method, 5), 11);
	assert_int_equal(hotspot_method_get_line(method, 7), 11);
	assert_int_equal(hotspot_method_get_line(method, 8), 12);
	assert_int_equal(hotspot_method_get_line(method, 9), 0);

	put_lines(scene, going_back, sizeof(going_back));
	method = add_another(scene);
	assert_int_equal(method->first_line, 10);
	assert_int_equal(hotspot_method_get_line(method, 9), 12);
	assert_int_equal(hotspot_method_get_line(method, 5), 0);
	assert_int_equal(hotspot_method_get_line(method, 11), 0);

	/* Within a pair. */
	for (uint16_t length = 1; length < 4; length++) {
		put_lines(scene, "\xff\xc8\x03\x14", length);
		assert_int_equal(add_another(scene)->first_line, 0);
	}
	put_lines(scene, "", 0);
	assert_int_equal(add_another(scene)->first_line, 0);
}

static void bytes_that_are_no_table_give_no_line(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
		{"\xff\x01\x00", 3}, /* a byte that no number has */
		{"\xff\x00\x01", 3},
		{"\xff\x01\xff\x00", 4},
		{"\xff\x01\x02\x00", 4},                 /* line -1 */
		{"\xff\x01\x01\x00", 4},                 /* line 0 */
		{"\xff\x01\xff\xff\xff\xff\xff\x00", 8}, /* more than 16 bits */
		{"\xff\x01\xff\xff\xff\xff\x40\x00", 8},
		{"\x00\xff\x01\x15", 4},
	};
	struct scene *scene = *state;

	scene->record.major = 25;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		put_lines(scene, cases[i].bytes, cases[i].size);
		assert_int_equal(add_another(scene)->first_line, 0);
	}
	/* Such numbers may be anywhere, and have other ones behind them. */
	memset(scene->record.lines, 0xff, sizeof(scene->record.lines));
	scene->record.num_line_bytes = sizeof(scene->record.lines);
	(void)add_another(scene);
	for (uint32_t i = 0; i <= UINT16_MAX; i += 255)
		assert_int_equal(hotspot_method_get_line(find(scene), i), 0);
}

/* Behind a table's end are other things of the method, which differ between two that are the same. */
static void what_lies_behind_the_lines_is_not_kept(void **state)
{
	struct scene *scene = *state;
	uint16_t size = scene->record.num_line_bytes;
	const uint8_t *lines;

	memset(scene->record.lines + size, 0xaa, sizeof(scene->record.lines) - size);
	scene->record.num_line_bytes = sizeof(scene->record.lines);
	lines = add(scene)->line_table;
	assert_int_equal(find(scene)->num_line_bytes, size);
	memset(scene->record.lines + size, 0xbb, sizeof(scene->record.lines) - size);
	assert_ptr_equal(add_another(scene)->line_table, lines);
}

static void a_record_that_cannot_be_is_refused(void **state)
{
	struct scene *scene = *state;
	struct wire_hotspot_method *record = &scene->record;
	const struct wire_hotspot_method good = *record;

	for (unsigned fault = 0; fault < 8; fault++) {
		*record = good;
		switch (fault) {
		case 0:
			record->class_name.num_bytes = record->class_name.length =
				WIRE_HOTSPOT_CLASS_BYTES + 1;
			break;
		case 1:
			record->name.num_bytes = record->name.length = WIRE_HOTSPOT_NAME_BYTES + 1;
			break;
		case 2:
			record->file.num_bytes = record->file.length = WIRE_HOTSPOT_FILE_BYTES + 1;
			break;
		case 3: /* more than the whole string has */
			record->class_name.length = 4;
			break;
		case 4:
			record->name.length = 2;
			break;
		case 5:
			record->file.length = 0;
			break;
		case 6:
			record->num_line_bytes = WIRE_HOTSPOT_LINE_BYTES + 1;
			break;
		case 7:
			record->num_line_bytes = UINT16_MAX;
			break;
		}
		assert_int_equal(hotspot_methods_add(scene->methods, record), -EINVAL);
		assert_null(find(scene));
	}
	*record = good;
	(void)add(scene);
	record->num_line_bytes = UINT16_MAX; /* of one that is known neither */
	assert_int_equal(hotspot_methods_add(scene->methods, record), -EINVAL);
	assert_string_equal(find(scene)->name, "java.util.HashMap.put");
}

/* A page was not there the first time, another one the second time. */
static void what_was_not_read_before_is_completed(void **state)
{
	struct scene *scene = *state;
	const struct wire_hotspot_method whole = scene->record;

	lose_name(scene);
	lose_file(scene);
	scene->record.num_line_bytes = 0;
	scene->record.code_bytes = 0;
	assert_string_equal(add(scene)->name, "");
	assert_int_equal(hotspot_method_get_line(find(scene), 7), 0);

	scene->record = whole;
	lose_file(scene);
	assert_string_equal(add(scene)->name, "java.util.HashMap.put");
	assert_string_equal(find(scene)->file, "");
	assert_int_equal(find(scene)->first_line, 40);
	assert_int_equal(hotspot_method_get_line(find(scene), 7), 42);

	scene->record = whole;
	lose_name(scene);
	scene->record.num_line_bytes = 0;
	assert_string_equal(add(scene)->name, "java.util.HashMap.put");
	assert_string_equal(find(scene)->file, "HashMap.java");
	assert_int_equal(hotspot_method_get_line(find(scene), 7), 42);
}

static void what_is_known_stays_so(void **state)
{
	struct scene *scene = *state;

	lose_file(scene);
	(void)add(scene);
	put_name(scene, "get");
	put_file(scene, "A.java");
	scene->record.lines[3]++;
	assert_string_equal(add(scene)->name, "java.util.HashMap.put");
	put_file(scene, "B.java");
	assert_string_equal(add(scene)->file, "A.java");
	assert_int_equal(hotspot_method_get_line(find(scene), 7), 42);
}

static void the_number_of_methods_is_bounded(void **state)
{
	struct scene *scene = *state;
	const uint64_t first = scene->record.code;
	uint32_t num_methods = 0;
	int err;

	lose_file(scene); /* one that may be completed */
	while (!(err = hotspot_methods_add(scene->methods, &scene->record))) {
		num_methods++;
		scene->record.code += 8;
		assert_true(num_methods <= HOTSPOT_METHODS_MAX);
	}
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(num_methods, HOTSPOT_METHODS_MAX);
	assert_null(find(scene));
	scene->record.code = first;
	put_file(scene, "HashMap.java");
	assert_string_equal(add(scene)->file, "HashMap.java");
}

/* A program may have other names each time. */
static void the_bytes_of_names_are_bounded(void **state)
{
	struct scene *scene = *state;
	struct wire_hotspot_method *record = &scene->record;
	uint8_t name[WIRE_HOTSPOT_CLASS_BYTES];
	uint32_t num_methods = 0;
	int err;

	memset(name, 0xff, sizeof(name)); /* three bytes each */
	for (;;) {
		snprintf((char *)name, sizeof(name), "%08x", num_methods);
		name[8] = 0xff;
		put_bytes(&record->class_name, record->class_text, name, sizeof(name));
		err = hotspot_methods_add(scene->methods, record);
		if (err)
			break;
		num_methods++;
		record->code += 8;
		assert_true(num_methods <= HOTSPOT_METHODS_TEXT_MAX / sizeof(name));
	}
	assert_int_equal(err, -ENOSPC);
	assert_true(num_methods > HOTSPOT_METHODS_TEXT_MAX / (4 * sizeof(name)));
	assert_null(find(scene));
	record->code -= 8;
	assert_non_null(find(scene));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_method_is_found_with_all_that_was_sent, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(no_other_one_is_taken_for_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_of_compilers_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_that_the_jvm_makes_are_the_same_each_time,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_was_cut_of_an_address_is_none, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(names_are_modified_utf_8, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_was_cut_ends_with_an_ellipsis, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(as_much_as_is_sent_is_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_lies_behind_the_strings_is_not_taken, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_its_class_or_its_name_it_has_none, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_bytecode_has_the_line_of_the_pair_before_it,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(lines_are_read_as_each_jdk_compresses_them, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(numbers_of_two_bytes_are_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pairs_need_not_ascend, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_table_that_is_cut_gives_no_wrong_line, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(bytes_that_are_no_table_give_no_line, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_lies_behind_the_lines_is_not_kept, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_record_that_cannot_be_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_was_not_read_before_is_completed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_known_stays_so, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_number_of_methods_is_bounded, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_bytes_of_names_are_bounded, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
