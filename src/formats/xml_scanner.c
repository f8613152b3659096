/*
 * The text after a `<` decides its kind; only tags are returned. A `>` in quotes does not end a
 * tag, which SVG titles and attributes of foreign tools do contain. Nothing is checked that no
 * reader needs: a reader that needs nesting counts the tags itself, and an unclosed tag ends the
 * input.
 *
 * Each byte is looked at once, but for attributes, which are taken apart when they are asked for.
 */
#include "formats/xml_scanner.h"

#include <string.h>

#include "base/utf8.h"

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool starts_with(const struct xml_scanner *scanner, size_t offset, const char *string)
{
	size_t length = strlen(string);

	return scanner->size - offset >= length &&
	       memcmp(scanner->data + offset, string, length) == 0;
}

/* The offset behind the next occurrence of the string, or the end of the input. */
static size_t find_after(const struct xml_scanner *scanner, size_t offset, const char *string)
{
	const char *found =
		memmem(scanner->data + offset, scanner->size - offset, string, strlen(string));

	return found ? (size_t)(found - scanner->data) + strlen(string) : scanner->size;
}

/* The tag's `>`, not counting those in quotes, or the end of the input. */
static size_t find_tag_end(const struct xml_scanner *scanner, size_t offset)
{
	while (offset < scanner->size) {
		char c = scanner->data[offset];

		if (c == '>')
			return offset;
		offset++;
		if (c == '"' || c == '\'')
			offset = find_after(scanner, offset, c == '"' ? "\"" : "'");
	}
	return scanner->size;
}

/*
 * `offset` is at the `<`, `end` at the `>`. The attributes of `<path d="…"/>` end in the slash,
 * which take_attribute() steps over.
 */
static void fill_tag(const struct xml_scanner *scanner, size_t offset, size_t end,
		     struct xml_tag *tag)
{
	size_t start = offset + 1;
	size_t name_end;

	tag->offset = offset;
	tag->is_closing = start < end && scanner->data[start] == '/';
	start += tag->is_closing;
	name_end = start;
	while (name_end < end && !is_space(scanner->data[name_end]) &&
	       scanner->data[name_end] != '/')
		name_end++;
	tag->name = (struct xml_slice){scanner->data + start, name_end - start};
	tag->attributes = (struct xml_slice){scanner->data + name_end, end - name_end};
}

bool xml_next_tag(struct xml_scanner *scanner, struct xml_tag *ret)
{
	size_t text_start = scanner->offset;

	while (scanner->offset < scanner->size) {
		const char *open = memchr(scanner->data + scanner->offset, '<',
					  scanner->size - scanner->offset);
		size_t offset = open ? (size_t)(open - scanner->data) : scanner->size;
		size_t end;

		if (!open)
			break;
		/*
		 * Before the general case: comments and CDATA may hold `>`, and quotes that are not
		 * closed.
		 */
		if (starts_with(scanner, offset, "<!--")) {
			scanner->offset = find_after(scanner, offset + 4, "-->");
		} else if (starts_with(scanner, offset, "<![CDATA[")) {
			scanner->offset = find_after(scanner, offset, "]]>");
		} else if (starts_with(scanner, offset, "<?")) {
			scanner->offset = find_after(scanner, offset, "?>");
		} else {
			end = find_tag_end(scanner, offset + 1);
			scanner->offset = end == scanner->size ? end : end + 1;
			if (end == scanner->size)
				break;
			/*
			 * A declaration, <!DOCTYPE …>. If it has an internal subset, it ends too
			 * early, and its rest is taken for tags of unused names. Its entities are
			 * never expanded: no billion laughs.
			 */
			if (starts_with(scanner, offset, "<!"))
				continue;
			fill_tag(scanner, offset, end, ret);
			ret->before =
				(struct xml_slice){scanner->data + text_start, offset - text_start};
			return true;
		}
	}
	scanner->offset = scanner->size;
	return false;
}

bool xml_slice_equals(struct xml_slice slice, const char *string)
{
	return slice.length == strlen(string) && memcmp(slice.data, string, slice.length) == 0;
}

/*
 * Take one `name="value"` off the front of the rest; false at the end. Anything but name="value"
 * ends the list: HTML's attributes without value do not occur where this is used, and attributes
 * behind them are not found.
 */
static bool take_attribute(struct xml_slice *rest, struct xml_slice *name, struct xml_slice *value)
{
	const char *data = rest->data;
	const char *end = data + rest->length;
	const char *close;

	while (data < end && (is_space(*data) || *data == '/'))
		data++;
	name->data = data;
	while (data < end && *data != '=' && !is_space(*data))
		data++;
	name->length = (size_t)(data - name->data);
	while (data < end && is_space(*data))
		data++;
	if (data == end || *data != '=')
		return false;
	data++;
	while (data < end && is_space(*data))
		data++;
	if (data == end || (*data != '"' && *data != '\''))
		return false;
	close = memchr(data + 1, *data, (size_t)(end - data - 1));
	if (!close)
		return false;
	*value = (struct xml_slice){data + 1, (size_t)(close - data - 1)};
	*rest = (struct xml_slice){close + 1, (size_t)(end - close - 1)};
	return true;
}

bool xml_find_attribute(const struct xml_tag *tag, const char *name, struct xml_slice *ret)
{
	struct xml_slice rest = tag->attributes;
	struct xml_slice found;

	while (take_attribute(&rest, &found, ret))
		if (xml_slice_equals(found, name))
			return true;
	return false;
}

/* A character reference, without `&#` and `;`: "65" or "x41". */
static bool read_code_point(struct xml_slice digits, uint32_t *ret)
{
	uint32_t base = digits.length && digits.data[0] == 'x' ? 16 : 10;
	size_t start = base == 16;
	uint32_t code = 0;

	for (size_t i = start; i < digits.length; i++) {
		uint32_t digit = hex_digit_value(digits.data[i]);

		if (digit >= base)
			return false;
		code = code * base + digit;
		if (code > 0x10ffff)
			return false;
	}
	*ret = code;
	return digits.length > start;
}

/*
 * Append the character of a reference, without `&` and `;`: "lt", "#65". A file's own entities are
 * not known, and stay as they are written.
 */
static bool append_reference(struct text *text, struct xml_slice name)
{
	static const struct {
		const char *name;
		char character;
	} entities[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
	uint32_t code;

	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
		if (xml_slice_equals(name, entities[i].name)) {
			text_append_char(text, entities[i].character);
			return true;
		}
	}
	if (!name.length || name.data[0] != '#' ||
	    !read_code_point((struct xml_slice){name.data + 1, name.length - 1}, &code))
		return false;
	utf8_append_code_point(text, code);
	return true;
}

/*
 * Length from the & to its ;: "&#x10ffff;" is the longest without leading zeros. Without a bound,
 * text with many & and no ; would be searched to its end for each.
 */
#define MAX_REFERENCE_BYTES 12

void xml_decode(struct text *text, struct xml_slice slice)
{
	const char *data = slice.data;
	const char *end = data + slice.length;

	while (data < end) {
		const char *sign = memchr(data, '&', (size_t)(end - data));
		const char *close;
		size_t room;

		if (!sign) {
			text_append(text, data, (size_t)(end - data));
			return;
		}
		text_append(text, data, (size_t)(sign - data));
		room = (size_t)(end - sign);
		close = memchr(sign, ';', room < MAX_REFERENCE_BYTES ? room : MAX_REFERENCE_BYTES);
		data = sign + 1;
		if (close &&
		    append_reference(text, (struct xml_slice){data, (size_t)(close - data)}))
			data = close + 1;
		else
			text_append_char(text, '&');
	}
}
