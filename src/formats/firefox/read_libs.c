/*
 * Libraries in the Firefox Profiler's files. The browser's own report where they were mapped. In
 * processed ones code belongs to them by their index in the list, and samply leaves it
 * unsymbolized: the name of a function is its address, relative to the mapping address of the
 * file's first byte.
 */
#include <errno.h>
#include <string.h>

#include "formats/firefox/read.h"

/* More than any process has. */
#define MAX_LIBS 65536

static int take_string(struct firefox_code *code, struct json *json, uint32_t *ret)
{
	json_take_string(json, &code->text);
	if (code->text.failed)
		return -ENOMEM;
	return string_table_add(profile_get_strings(code->import->profile),
				code->text.data ? code->text.data : "", code->text.length, ret);
}

static int get_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A build ID in hexadecimal; on other systems it is something else. */
static int take_build_id(struct firefox_code *code, struct json *json, struct firefox_lib *lib)
{
	uint8_t id[BUILD_ID_MAX_BYTES];
	const char *digits;
	size_t length;

	json_take_string(json, &code->text);
	if (code->text.failed)
		return -ENOMEM;
	digits = code->text.data;
	length = code->text.length;
	if (!length || length % 2 || length > 2 * sizeof(id))
		return 0;
	for (size_t i = 0; i < length; i += 2) {
		int high = get_digit(digits[i]);
		int low = get_digit(digits[i + 1]);

		if (high < 0 || low < 0)
			return 0;
		id[i / 2] = (uint8_t)(high << 4 | low);
	}
	memcpy(lib->build_id, id, length / 2);
	lib->build_id_size = (uint8_t)(length / 2);
	return 0;
}

static int read_lib(struct firefox_code *code, struct json *json)
{
	struct firefox_lib *lib = array_add(&code->libs);

	if (!lib)
		return -ENOMEM;
	lib->module = FIREFOX_NONE;
	while (json_next(json) == JSON_KEY) {
		int err = 0;

		if (json_is(json, "start"))
			lib->start = json_take_u64(json);
		else if (json_is(json, "end"))
			lib->end = json_take_u64(json);
		else if (json_is(json, "offset"))
			lib->offset = json_take_u64(json);
		else if (json_is(json, "name"))
			err = take_string(code, json, &lib->name);
		else if (json_is(json, "path"))
			err = take_string(code, json, &lib->path);
		else if (json_is(json, "codeId"))
			err = take_build_id(code, json, lib);
		else
			json_skip_value(json);
		if (err)
			return err;
	}
	return 0;
}

static int compare_libs(const void *left, const void *right)
{
	const struct firefox_lib *a = left;
	const struct firefox_lib *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

/* After JSON_ARRAY. */
static int read_list(struct firefox_code *code, struct json *json)
{
	while (code->libs.length < MAX_LIBS && json_next(json) == JSON_OBJECT) {
		int err = read_lib(code, json);

		if (err)
			return err;
	}
	return 0;
}

/* The oldest files have the list as a text. */
static int read_text(struct firefox_code *code, const struct json *json)
{
	_cleanup_(text_release) struct text text = {0};
	_cleanup_(json_release) struct json list = {0};

	text_append(&text, json->text, json->length);
	if (text.failed)
		return -ENOMEM;
	list = json_of(text.data, text.length);
	return json_next(&list) == JSON_ARRAY ? read_list(code, &list) : 0;
}

int firefox_code_read_libs(struct firefox_code *code, size_t position)
{
	const struct import *import = code->import;
	_cleanup_(json_release) struct json json = {0};
	enum json_token token;

	code->libs.length = 0;
	code->are_libs_sorted = false;
	if (position == JSON_TABLE_NOWHERE)
		return 0;
	json = json_of(import->data + position, import->size - position);
	token = json_next(&json);
	if (token == JSON_STRING)
		return read_text(code, &json);
	return token == JSON_ARRAY ? read_list(code, &json) : 0;
}

/* Raw files refer to libraries by address, and the others by index. */
void firefox_code_sort_libs(struct firefox_code *code)
{
	if (!code->are_libs_sorted && code->libs.length)
		qsort(code->libs.items, code->libs.length, sizeof(*code->libs.items), compare_libs);
	code->are_libs_sorted = true;
}

int firefox_code_add_address(struct firefox_code *code, uint32_t index, uint64_t address,
			     uint32_t *ret)
{
	struct firefox_lib *lib = &code->libs.items[index];
	struct profile *profile = code->import->profile;

	if (lib->module == FIREFOX_NONE) {
		struct module module = {
			.path = lib->path != STRING_EMPTY ? lib->path : lib->name,
			.build_id_size = lib->build_id_size,
		};
		int err;

		memcpy(module.build_id, lib->build_id, lib->build_id_size);
		err = profile_add_module(profile, &module, &lib->module);
		if (err)
			return err;
	}
	return profile_add_location(profile, LOCATION_ELF, lib->module, address, ret);
}
