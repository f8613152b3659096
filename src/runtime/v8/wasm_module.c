/*
 *     "\0asm" 1                              8 bytes
 *     section: its number, its length, its contents
 *       2   imports: two names and a kind, each
 *       3   functions: the number of those not imported, and their types
 *       7   exports: a name, a kind, a number, each
 *       0   a name; the name section has "name": parts with a number and a length, of them
 *             1   functions: number, name, each, by number
 *
 * Other sections are skipped, not read.
 */
#include "runtime/wasm_module.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/text.h"
#include "runtime/characters.h"

#define SECTION_CUSTOM     0
#define SECTION_IMPORTS    2
#define SECTION_FUNCTIONS  3
#define SECTION_EXPORTS    7
#define NAMES_OF_FUNCTIONS 1

/* Kinds of imports and exports. */
enum external_kind {
	EXTERNAL_FUNCTION,
	EXTERNAL_TABLE,
	EXTERNAL_MEMORY,
	EXTERNAL_GLOBAL,
	EXTERNAL_TAG,
};

/* A section's number, and its length, in five bytes at most. */
#define HEADER_BYTES 6
#define READ_BYTES   (64u << 10)

struct wasm_name {
	uint32_t function;
	size_t text; /* offset in the texts */
};

struct wasm_module {
	uint32_t num_imports;
	uint32_t num_functions;        /* besides these */
	ARRAY(struct wasm_name) names; /* by function */
	struct text texts;             /* each ends with NUL */
};

void wasm_module_free(struct wasm_module *module)
{
	if (!module)
		return;
	array_release(&module->names);
	text_release(&module->texts);
	free(module);
}

uint32_t wasm_module_get_num_imports(const struct wasm_module *module)
{
	return module->num_imports;
}

uint32_t wasm_module_get_num_functions(const struct wasm_module *module)
{
	return module->num_functions;
}

size_t wasm_module_get_size(const struct wasm_module *module)
{
	return sizeof(*module) + module->names.capacity * sizeof(*module->names.items) +
	       module->texts.length;
}

const char *wasm_module_get_name(const struct wasm_module *module, uint32_t function)
{
	size_t number = array_count_front(&module->names, name, name->function < function);

	if (number == module->names.length || module->names.items[number].function != function)
		return NULL;
	return module->texts.data + module->names.items[number].text;
}

static void skip_string(struct bytes *bytes)
{
	bytes_skip(bytes, leb128_read_unsigned(bytes));
}

/* Skip a value type; references may have a second part. */
static void skip_type(struct bytes *bytes)
{
	uint8_t type = bytes_u8(bytes);

	if (type == 0x63 || type == 0x64)
		(void)leb128_read_signed(bytes);
}

/* Skip a minimum, and the maximum if present. */
static void skip_limits(struct bytes *bytes)
{
	uint8_t flags = bytes_u8(bytes);

	(void)leb128_read_unsigned(bytes);
	if (flags & 1)
		(void)leb128_read_unsigned(bytes);
}

static void skip_external_type(struct bytes *bytes, uint8_t kind)
{
	switch (kind) {
	case EXTERNAL_FUNCTION:
		(void)leb128_read_unsigned(bytes);
		break;
	case EXTERNAL_TABLE:
		skip_type(bytes);
		skip_limits(bytes);
		break;
	case EXTERNAL_MEMORY:
		skip_limits(bytes);
		break;
	case EXTERNAL_GLOBAL:
		skip_type(bytes);
		(void)bytes_u8(bytes);
		break;
	case EXTERNAL_TAG:
		(void)bytes_u8(bytes);
		(void)leb128_read_unsigned(bytes);
		break;
	default:
		bytes->failed = true;
	}
}

/*
 * A section that cannot be read to its end is ignored: missing functions would shift the numbers of
 * all others.
 */
static int read_imports(struct wasm_module *module, struct bytes bytes)
{
	uint64_t num_left = leb128_read_unsigned(&bytes);

	for (; num_left && !bytes.failed; num_left--) {
		uint8_t kind;

		skip_string(&bytes);
		skip_string(&bytes);
		kind = bytes_u8(&bytes);
		skip_external_type(&bytes, kind);
		module->num_imports += kind == EXTERNAL_FUNCTION;
	}
	return bytes.failed || module->num_imports > WASM_MODULE_FUNCTIONS_MAX ? -EBADMSG : 0;
}

static int add_name(struct wasm_module *module, uint64_t function, const uint8_t *string,
		    size_t length)
{
	struct wasm_name *name;

	if (!length || function > UINT32_MAX)
		return 0;
	name = array_add(&module->names);
	if (!name)
		return -ENOMEM;
	*name = (struct wasm_name){.function = (uint32_t)function, .text = module->texts.length};
	characters_append_utf8(&module->texts, string, length);
	text_append_char(&module->texts, '\0');
	return module->texts.failed ? -ENOMEM : 0;
}

static int read_function_names(struct wasm_module *module, struct bytes bytes)
{
	uint64_t num_left = leb128_read_unsigned(&bytes);

	for (; num_left && module->names.length < WASM_MODULE_FUNCTIONS_MAX; num_left--) {
		uint64_t function = leb128_read_unsigned(&bytes);
		uint64_t length = leb128_read_unsigned(&bytes);
		const uint8_t *string = bytes_take(&bytes, length);
		int err;

		if (!string)
			break;
		err = add_name(module, function, string, length);
		if (err)
			return err;
	}
	return 0;
}

/* These replace the names of exports, which precede them. */
static int read_names(struct wasm_module *module, struct bytes bytes)
{
	while (bytes_left(&bytes)) {
		uint8_t kind = bytes_u8(&bytes);
		uint64_t size = leb128_read_unsigned(&bytes);
		const uint8_t *part = bytes_take(&bytes, size);

		if (!part || kind != NAMES_OF_FUNCTIONS)
			continue;
		module->names.length = 0;
		text_truncate(&module->texts, 0);
		return read_function_names(module, bytes_of(part, size));
	}
	return 0;
}

static int read_exports(struct wasm_module *module, struct bytes bytes)
{
	uint64_t num_left = leb128_read_unsigned(&bytes);

	for (; num_left && module->names.length < WASM_MODULE_FUNCTIONS_MAX; num_left--) {
		uint64_t length = leb128_read_unsigned(&bytes);
		const uint8_t *string = bytes_take(&bytes, length);
		uint8_t kind = bytes_u8(&bytes);
		uint64_t number = leb128_read_unsigned(&bytes);
		int err;

		if (bytes.failed)
			break;
		err = kind == EXTERNAL_FUNCTION ? add_name(module, number, string, length) : 0;
		if (err)
			return err;
	}
	return 0;
}

static int read_functions(struct wasm_module *module, struct bytes bytes)
{
	uint64_t number = leb128_read_unsigned(&bytes);

	if (bytes.failed || number > WASM_MODULE_FUNCTIONS_MAX)
		return -EBADMSG;
	module->num_functions = (uint32_t)number;
	return 0;
}

static int read_custom(struct wasm_module *module, struct bytes bytes)
{
	uint64_t length = leb128_read_unsigned(&bytes);
	const uint8_t *name = bytes_take(&bytes, length);

	if (!name || length != 4 || memcmp(name, "name", 4) != 0)
		return 0;
	bytes = bytes_of(bytes.data + bytes.offset, bytes_left(&bytes));
	return read_names(module, bytes);
}

static int read_section(struct wasm_module *module, uint8_t kind, struct bytes bytes)
{
	switch (kind) {
	case SECTION_CUSTOM:
		return read_custom(module, bytes);
	case SECTION_IMPORTS:
		return read_imports(module, bytes);
	case SECTION_FUNCTIONS:
		return read_functions(module, bytes);
	case SECTION_EXPORTS:
		return read_exports(module, bytes);
	default:
		return 0;
	}
}

static int read_some(const struct wasm_source *source, uint64_t offset, uint8_t *ret, size_t size)
{
	for (size_t done = 0; done < size;) {
		size_t part = size - done < READ_BYTES ? size - done : READ_BYTES;

		if (source->read(source->context, offset + done, ret + done, part))
			return -EBADMSG;
		done += part;
	}
	return 0;
}

/*
 * There are many custom sections, and those for debuggers are large: only that with the names is
 * read.
 */
static bool is_wanted(const struct wasm_source *source, uint8_t kind, uint64_t offset,
		      uint64_t size)
{
	static const char start[] = "\4name";
	char there[sizeof(start) - 1];

	if (size > WASM_MODULE_SECTION_BYTES_MAX)
		return false;
	if (kind != SECTION_CUSTOM)
		return kind == SECTION_IMPORTS || kind == SECTION_FUNCTIONS ||
		       kind == SECTION_EXPORTS;
	return size >= sizeof(there) &&
	       !source->read(source->context, offset, there, sizeof(there)) &&
	       memcmp(there, start, sizeof(there)) == 0;
}

static int read_section_at(struct wasm_module *module, const struct wasm_source *source,
			   uint8_t kind, uint64_t offset, size_t size)
{
	_cleanup_free_ uint8_t *data = malloc(size + 1);
	int err;

	if (!data)
		return -ENOMEM;
	err = read_some(source, offset, data, size);
	return err ? err : read_section(module, kind, bytes_of(data, size));
}

static int read_sections(struct wasm_module *module, const struct wasm_source *source)
{
	uint64_t offset = sizeof(uint64_t);

	for (unsigned int i = 0; i < WASM_MODULE_SECTIONS_MAX && offset < source->size; i++) {
		uint64_t left = source->size - offset;
		uint8_t header[HEADER_BYTES];
		struct bytes bytes =
			bytes_of(header, left < sizeof(header) ? left : sizeof(header));
		uint64_t size;
		uint8_t kind;
		int err = 0;

		if (source->read(source->context, offset, header, bytes.size))
			return -EBADMSG;
		kind = bytes_u8(&bytes);
		size = leb128_read_unsigned(&bytes);
		if (bytes.failed || size > left - bytes.offset)
			return -EBADMSG;
		offset += bytes.offset;
		if (is_wanted(source, kind, offset, size))
			err = read_section_at(module, source, kind, offset, size);
		if (err)
			return err;
		offset += size;
	}
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	const struct wasm_name *in_a = a;
	const struct wasm_name *in_b = b;

	if (in_a->function != in_b->function)
		return in_a->function < in_b->function ? -1 : 1;
	return in_a->text < in_b->text ? -1 : in_a->text > in_b->text;
}

int wasm_module_read(const struct wasm_source *source, struct wasm_module **ret)
{
	_cleanup_(wasm_module_freep) struct wasm_module *module = NULL;
	uint64_t start;
	int err;

	if (source->size < sizeof(start) ||
	    source->read(source->context, 0, &start, sizeof(start)) || start != WASM_MODULE_START)
		return -EBADMSG;
	module = calloc(1, sizeof(*module));
	if (!module)
		return -ENOMEM;
	err = read_sections(module, source);
	if (err)
		return err;
	/* For a function with several names the first one counts. */
	if (module->names.length)
		qsort(module->names.items, module->names.length, sizeof(*module->names.items),
		      compare_names);
	*ret = return_ptr(module);
	return 0;
}
