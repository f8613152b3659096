/*
 * Recursive descent: alternatives of sequences of repeated atoms. An atom may be a group, which is
 * parsed as alternatives again. Recursion ends at REGEX_MAX_DEPTH parentheses. This also limits
 * recursive walks of the tree, since long sequences and alternatives are one node with many
 * children.
 */
#include "analysis/regex_parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/regex.h"
#include "base/text.h"

/* A group may be repeated, and contain alternatives of sequences. */
#define MAX_HEIGHT (4 * REGEX_MAX_DEPTH)

struct regex_parser {
	const char *pattern;
	const char *at;
	bool ignores_case;
	uint32_t depth;
	struct regex_tree *tree;
	struct error *error;
};

const struct regex_range regex_word_ranges[4] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};

/* Classes like [[:alpha:]], as in the C locale: first and last of each range. */
static const struct character_class {
	const char *name;
	const char *ranges;
} character_classes[] = {
	{"alnum", "09AZaz"},   {"alpha", "AZaz"},
	{"blank", "\t\t  "},   {"cntrl", "\x01\x1f\x7f\x7f"},
	{"digit", "09"},       {"graph", "!~"},
	{"lower", "az"},       {"print", " ~"},
	{"punct", "!/:@[`{~"}, {"space", "\t\r  "},
	{"upper", "AZ"},       {"word", "09AZ__az"},
	{"xdigit", "09AFaf"},
};

int regex_refuse(const char *pattern, size_t offset, struct error *error, const char *format, ...)
{
	char reason[256];
	size_t number = 1;
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	for (size_t i = 0; i < offset; number++) {
		uint32_t character;

		i += regex_decode(pattern + i, offset - i, &character);
	}
	return error_set(error, -EINVAL, "at character %zu: %s", number, reason);
}

#define refuse(parser, position, ...)                                                              \
	regex_refuse((parser)->pattern, (size_t)((position) - (parser)->pattern), (parser)->error, \
		     __VA_ARGS__)

static int refuse_memory(struct regex_parser *parser)
{
	return error_set(parser->error, -ENOMEM, "out of memory");
}

static int add_node(struct regex_parser *parser, enum regex_node_kind kind, uint32_t *ret)
{
	struct regex_node *node = array_add(&parser->tree->nodes);

	if (!node)
		return refuse_memory(parser);
	*node = (struct regex_node){
		.kind = kind, .first_child = REGEX_NO_NODE, .next = REGEX_NO_NODE};
	*ret = (uint32_t)parser->tree->nodes.length - 1;
	return 0;
}

/* last  the child that was added before, or REGEX_NO_NODE */
static int add_child(struct regex_parser *parser, uint32_t parent, uint32_t last, uint32_t child)
{
	struct regex_node *nodes = parser->tree->nodes.items;

	if (last == REGEX_NO_NODE)
		nodes[parent].first_child = child;
	else
		nodes[last].next = child;
	if (nodes[child].height >= nodes[parent].height)
		nodes[parent].height = nodes[child].height + 1;
	if (nodes[parent].height > MAX_HEIGHT)
		return refuse(parser, parser->at, "more than %d levels are nested", MAX_HEIGHT);
	return 0;
}

/* ---- sets of characters --------------------------------------------------------------------- */

static int add_range(struct regex_parser *parser, uint32_t first, uint32_t last)
{
	struct regex_range *range = array_add(&parser->tree->sets.ranges);

	if (!range)
		return refuse_memory(parser);
	*range = (struct regex_range){first, last};
	return 0;
}

static int add_ranges(struct regex_parser *parser, const char *ranges, bool is_negated)
{
	uint32_t first = 0;

	for (const char *c = ranges; *c; c += 2) {
		int err = is_negated ? add_range(parser, first, (uint8_t)c[0] - 1u)
				     : add_range(parser, (uint8_t)c[0], (uint8_t)c[1]);

		if (err)
			return err;
		first = (uint8_t)c[1] + 1u;
	}
	return is_negated ? add_range(parser, first, REGEX_LAST_CHARACTER) : 0;
}

/* Add the letters of a range from `first` on in the other case, `distance` away. */
static int add_other_case(struct regex_parser *parser, struct regex_range range, uint32_t first,
			  int distance)
{
	uint32_t last = first + 25;

	if (range.first > last || range.last < first)
		return 0;
	if (range.first > first)
		first = range.first;
	if (range.last < last)
		last = range.last;
	return add_range(parser, (uint32_t)((int)first + distance),
			 (uint32_t)((int)last + distance));
}

static int compare_ranges(const void *a, const void *b)
{
	const struct regex_range *left = a;
	const struct regex_range *right = b;

	return (left->first > right->first) - (left->first < right->first);
}

/* Sort and join the ranges from `first` on. */
static void join_ranges(struct regex_tree *tree, size_t first)
{
	struct regex_range *ranges = tree->sets.ranges.items + first;
	size_t count = tree->sets.ranges.length - first;
	size_t num_joined = 0;

	if (count)
		qsort(ranges, count, sizeof(*ranges), compare_ranges);
	for (size_t i = 0; i < count; i++) {
		struct regex_range *before = num_joined ? &ranges[num_joined - 1] : NULL;

		if (!before || ranges[i].first > before->last + 1)
			ranges[num_joined++] = ranges[i];
		else if (ranges[i].last > before->last)
			before->last = ranges[i].last;
	}
	tree->sets.ranges.length = first + num_joined;
}

/* Replace joined ranges by the gaps between them. */
static int negate_ranges(struct regex_parser *parser, size_t first)
{
	struct regex_tree *tree = parser->tree;
	size_t count = tree->sets.ranges.length - first;
	uint32_t start = 0;
	size_t num_kept = first;

	for (size_t i = 0; i < count; i++) {
		struct regex_range range = tree->sets.ranges.items[first + i];

		if (range.first > start)
			tree->sets.ranges.items[num_kept++] =
				(struct regex_range){start, range.first - 1};
		start = range.last + 1;
	}
	tree->sets.ranges.length = num_kept;
	return start <= REGEX_LAST_CHARACTER ? add_range(parser, start, REGEX_LAST_CHARACTER) : 0;
}

/* Add a node for the set of the ranges from `first` on. */
static int add_set(struct regex_parser *parser, size_t first, bool is_negated, uint32_t *ret)
{
	struct regex_tree *tree = parser->tree;
	size_t end = tree->sets.ranges.length;
	struct regex_set *set;
	int err;

	for (size_t i = first; parser->ignores_case && i < end; i++) {
		err = add_other_case(parser, tree->sets.ranges.items[i], 'A', 'a' - 'A');
		if (err)
			return err;
		err = add_other_case(parser, tree->sets.ranges.items[i], 'a', 'A' - 'a');
		if (err)
			return err;
	}
	join_ranges(tree, first);
	if (is_negated) {
		err = negate_ranges(parser, first);
		if (err)
			return err;
	}
	set = array_add(&tree->sets.items);
	if (!set)
		return refuse_memory(parser);
	*set = (struct regex_set){(uint32_t)first, (uint32_t)(tree->sets.ranges.length - first)};
	err = add_node(parser, REGEX_SET, ret);
	if (err)
		return err;
	tree->nodes.items[*ret].set = (uint32_t)tree->sets.items.length - 1;
	return 0;
}

/* Read the character at the parser, and step behind it. */
static uint32_t take_character(struct regex_parser *parser)
{
	uint32_t character;

	/* strnlen() bounds the character: the NUL behind the pattern is part of none. */
	parser->at += regex_decode(parser->at, strnlen(parser->at, 4), &character);
	return character;
}

/*
 * Parse the text behind a backslash, within brackets or not: the ranges of \d, or one character.
 *
 * ret  the character; REGEX_NO_NODE if ranges have been added
 */
static int parse_escape(struct regex_parser *parser, uint32_t *ret)
{
	static const char names[] = "tnrfv";
	static const char characters[] = "\t\n\r\f\v";
	const char *start = parser->at - 1;
	char c = *parser->at;
	const char *name = c ? strchr(names, c) : NULL;

	*ret = REGEX_NO_NODE;
	if (!c)
		return refuse(parser, start, "nothing follows the backslash");
	if (!(c >= '0' && c <= '9') && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z')) {
		*ret = take_character(parser);
		return 0;
	}
	parser->at++;
	if (name) {
		*ret = (uint8_t)characters[name - names];
		return 0;
	}
	switch (c) {
	case 'd':
	case 'D':
		return add_ranges(parser, "09", c == 'D');
	case 'w':
	case 'W':
		return add_ranges(parser, "09AZ__az", c == 'W');
	case 's':
	case 'S':
		return add_ranges(parser, "\t\r  ", c == 'S');
	case 'x':
		if (!is_hex_digit(parser->at[0]) || !is_hex_digit(parser->at[1]))
			return refuse(parser, start, "expected two hexadecimal digits after \\x");
		*ret = hex_digit_value(parser->at[0]) << 4 | hex_digit_value(parser->at[1]);
		parser->at += 2;
		return 0;
	default:
		break;
	}
	if ((c >= '1' && c <= '9') || c == 'k' || c == 'g')
		return refuse(parser, start, "back references, such as \\%c, are not supported", c);
	return refuse(parser, start, "\\%c is not supported", c);
}

/* [:alpha:] within brackets. */
static int parse_class(struct regex_parser *parser)
{
	const char *start = parser->at;
	const char *name = start + 2;
	const char *end = strstr(name, ":]");

	if (start[1] != ':')
		return refuse(parser, start,
			      "collating elements, such as [%c…%c], are not supported", start[1],
			      start[1]);
	if (!end)
		return refuse(parser, start, "the end of this class, ':]', is missing");
	for (size_t i = 0; i < ARRAY_LENGTH(character_classes); i++) {
		const struct character_class *class = &character_classes[i];

		if (strlen(class->name) != (size_t)(end - name) ||
		    strncmp(class->name, name, (size_t)(end - name)) != 0)
			continue;
		parser->at = end + 2;
		return add_ranges(parser, class->ranges, false);
	}
	return refuse(parser, start, "unknown class [:%.*s:]",
		      end - name < 40 ? (int)(end - name) : 40, name);
}

/* Parse an end of a range within brackets; REGEX_NO_NODE for a class. */
static int parse_bracket_item(struct regex_parser *parser, uint32_t *ret)
{
	*ret = REGEX_NO_NODE;
	if (parser->at[0] == '[' &&
	    (parser->at[1] == ':' || parser->at[1] == '.' || parser->at[1] == '='))
		return parse_class(parser);
	if (parser->at[0] == '\\') {
		parser->at++;
		return parse_escape(parser, ret);
	}
	*ret = take_character(parser);
	return 0;
}

/* Behind the opening bracket. A ] right at the start is one of the characters. */
static int parse_bracket(struct regex_parser *parser, uint32_t *ret)
{
	const char *open = parser->at - 1;
	bool is_negated = *parser->at == '^';
	const char *start = parser->at += is_negated;
	size_t first_range = parser->tree->sets.ranges.length;

	while (*parser->at && (*parser->at != ']' || parser->at == start)) {
		const char *item = parser->at;
		bool is_dash = *item == '-' && item != start && item[1] != ']';
		uint32_t first;
		uint32_t last;
		int err;

		if (is_dash)
			return refuse(
				parser, item,
				"a '-' that is not a range must be first or last, or written as \\-");
		err = parse_bracket_item(parser, &first);
		if (err)
			return err;
		if (first == REGEX_NO_NODE)
			continue;
		last = first;
		if (parser->at[0] == '-' && parser->at[1] && parser->at[1] != ']') {
			parser->at++;
			err = parse_bracket_item(parser, &last);
			if (err)
				return err;
			if (last == REGEX_NO_NODE || last < first)
				return refuse(parser, item,
					      "the end of this range is before its start");
		}
		err = add_range(parser, first, last);
		if (err)
			return err;
	}
	if (!*parser->at)
		return refuse(parser, open, "the ']' of this '[' is missing");
	parser->at++;
	return add_set(parser, first_range, is_negated, ret);
}

/* ---- the tree ------------------------------------------------------------------------------- */

static int parse_alternatives(struct regex_parser *parser, uint32_t *ret);

/* Behind "(?": report unsupported groups by their name. */
static int refuse_group(struct regex_parser *parser, const char *open)
{
	const char *c = open + 2;

	if (*c == '=' || *c == '!')
		return refuse(parser, open, "look-ahead, (?%c…), is not supported", *c);
	if (*c == '<' && (c[1] == '=' || c[1] == '!'))
		return refuse(parser, open, "look-behind, (?<%c…), is not supported", c[1]);
	if (string_starts_with(c, "i)"))
		return refuse(parser, open, "(?i) is only supported at the start of the pattern");
	return refuse(
		parser, open,
		"of groups with a question mark, only (?:…) and, at the start, (?i) are supported");
}

/* Behind its parenthesis. */
static int parse_group(struct regex_parser *parser, uint32_t *ret)
{
	const char *open = parser->at - 1;
	int err;

	if (parser->at[0] == '?') {
		if (parser->at[1] != ':')
			return refuse_group(parser, open);
		parser->at += 2;
	}
	if (parser->depth == REGEX_MAX_DEPTH)
		return refuse(parser, open, "more than %d parentheses are open", REGEX_MAX_DEPTH);
	parser->depth++;
	err = parse_alternatives(parser, ret);
	if (err)
		return err;
	if (*parser->at != ')')
		return refuse(parser, open, "the ')' of this '(' is missing");
	parser->depth--;
	parser->at++;
	return 0;
}

/*
 * Whether {m}, {m,}, {,n} or {m,n} starts here. Any other brace is a character, as in {closure#0}.
 * A number above REGEX_MAX_COUNT is stored as REGEX_MAX_COUNT + 1.
 */
static bool read_interval(const char *c, uint32_t *ret_least, uint32_t *ret_most,
			  const char **ret_end)
{
	uint32_t numbers[2] = {0, 0};
	size_t num_digits[2] = {0, 0};
	bool has_comma = false;

	if (*c++ != '{')
		return false;
	for (; (*c >= '0' && *c <= '9') || (*c == ',' && !has_comma); c++) {
		if (*c == ',') {
			has_comma = true;
			continue;
		}
		num_digits[has_comma]++;
		numbers[has_comma] = 10 * numbers[has_comma] + (uint32_t)(*c - '0');
		if (numbers[has_comma] > REGEX_MAX_COUNT)
			numbers[has_comma] = REGEX_MAX_COUNT + 1;
	}
	if (*c != '}' || (!num_digits[0] && !has_comma))
		return false;
	*ret_least = numbers[0];
	*ret_most = !has_comma ? numbers[0] : num_digits[1] ? numbers[1] : REGEX_NO_LIMIT;
	*ret_end = c + 1;
	return true;
}

/* Whether a * + ? or {m,n} starts here. */
static bool read_repetition(const char *c, uint32_t *ret_least, uint32_t *ret_most,
			    const char **ret_end)
{
	if (*c != '*' && *c != '+' && *c != '?')
		return read_interval(c, ret_least, ret_most, ret_end);
	*ret_least = *c == '+';
	*ret_most = *c == '?' ? 1 : REGEX_NO_LIMIT;
	*ret_end = c + 1;
	return true;
}

/*
 * Parse the repetitions of an atom; the result replaces it. A ? behind selects among matches:
 * ignored.
 */
static int parse_repetitions(struct regex_parser *parser, uint32_t *atom)
{
	uint32_t least;
	uint32_t most;
	const char *end;

	while (read_repetition(parser->at, &least, &most, &end)) {
		const char *start = parser->at;
		struct regex_node *node;
		uint32_t repeat;
		int err;

		if (least > REGEX_MAX_COUNT || (most > REGEX_MAX_COUNT && most != REGEX_NO_LIMIT))
			return refuse(parser, start, "more than %d repetitions", REGEX_MAX_COUNT);
		if (least > most)
			return refuse(parser, start, "the first number is larger than the second");
		err = add_node(parser, REGEX_REPEAT, &repeat);
		if (err)
			return err;
		node = &parser->tree->nodes.items[repeat];
		node->least = least;
		node->most = most;
		node->offset = (uint32_t)(start - parser->pattern);
		err = add_child(parser, repeat, REGEX_NO_NODE, *atom);
		if (err)
			return err;
		*atom = repeat;
		parser->at = end + (*end == '?');
	}
	return 0;
}

static int parse_atom(struct regex_parser *parser, uint32_t *ret)
{
	struct regex_tree *tree = parser->tree;
	size_t first_range = tree->sets.ranges.length;
	const char *start = parser->at;
	uint32_t character;
	uint32_t least;
	uint32_t most;
	const char *end;
	int err;

	if (read_repetition(start, &least, &most, &end))
		return refuse(parser, start, "nothing precedes the '%c' to repeat", *start);
	if (*start == ')')
		return refuse(parser, start, "the '(' of this ')' is missing");
	if (*start == '\\' && (start[1] == 'b' || start[1] == 'B')) {
		parser->at += 2;
		return add_node(parser, start[1] == 'b' ? REGEX_BOUNDARY : REGEX_NO_BOUNDARY, ret);
	}
	character = take_character(parser);
	switch (character) {
	case '(':
		return parse_group(parser, ret);
	case '[':
		return parse_bracket(parser, ret);
	case '^':
		return add_node(parser, REGEX_START, ret);
	case '$':
		return add_node(parser, REGEX_END, ret);
	case '.':
		err = add_range(parser, 0, REGEX_LAST_CHARACTER);
		return err ? err : add_set(parser, first_range, false, ret);
	case '\\':
		err = parse_escape(parser, &character);
		if (err)
			return err;
		break;
	default:
		break;
	}
	if (character != REGEX_NO_NODE) {
		err = add_range(parser, character, character);
		if (err)
			return err;
	}
	return add_set(parser, first_range, false, ret);
}

/* Up to a | or ), or the end. */
static int parse_sequence(struct regex_parser *parser, uint32_t *ret)
{
	uint32_t last = REGEX_NO_NODE;
	int err = add_node(parser, REGEX_SEQUENCE, ret);

	while (!err && *parser->at && *parser->at != '|' &&
	       (*parser->at != ')' || !parser->depth)) {
		uint32_t atom;

		err = parse_atom(parser, &atom);
		if (err)
			return err;
		err = parse_repetitions(parser, &atom);
		if (err)
			return err;
		err = add_child(parser, *ret, last, atom);
		last = atom;
	}
	return err;
}

static int parse_alternatives(struct regex_parser *parser, uint32_t *ret)
{
	uint32_t last;
	uint32_t next;
	int err = parse_sequence(parser, &last);

	*ret = last;
	if (err || *parser->at != '|')
		return err;
	err = add_node(parser, REGEX_ALTERNATIVES, ret);
	if (err)
		return err;
	err = add_child(parser, *ret, REGEX_NO_NODE, last);
	while (!err && *parser->at == '|') {
		parser->at++;
		err = parse_sequence(parser, &next);
		if (err)
			return err;
		err = add_child(parser, *ret, last, next);
		last = next;
	}
	return err;
}

int regex_parse(const char *pattern, struct regex_tree *ret, struct error *error)
{
	struct regex_parser parser = {
		.pattern = pattern, .at = pattern, .tree = ret, .error = error};

	if (strlen(pattern) > REGEX_MAX_LENGTH)
		return error_set(error, -EINVAL, "it is longer than %d bytes", REGEX_MAX_LENGTH);
	if (string_starts_with(pattern, "(?i)")) {
		parser.ignores_case = true;
		parser.at += 4;
	}
	return parse_alternatives(&parser, &ret->root);
}

void regex_tree_release(struct regex_tree *tree)
{
	array_release(&tree->nodes);
	array_release(&tree->sets.items);
	array_release(&tree->sets.ranges);
}
