#include "collect/events/event_filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/near_names.h"
#include "base/text.h"
#include "collect/events/event_format.h"

/* Parentheses inside each other. */
#define MAX_DEPTH 32
/* Bytes of the expression shown in an error message. */
#define MAX_SHOWN 80
/* Digits of a number; the kernel does not accept longer ones. */
#define MAX_DIGITS 23

struct event_filter {
	uint16_t type; /* the tracepoint's number */
	uint32_t num_parts;
	struct wire_filter_part parts[WIRE_MAX_PREDICATES];
	struct text text; /* all expressions added, without `.ustring` */
	char event[];
};

struct event_filter *event_filter_new(const char *event, uint32_t type)
{
	struct event_filter *filter = calloc(1, sizeof(*filter) + strlen(event) + 1);

	if (!filter)
		return NULL;
	strcpy(filter->event, event);
	filter->type = (uint16_t)type;
	return filter;
}

void event_filter_free(struct event_filter *filter)
{
	if (!filter)
		return;
	text_release(&filter->text);
	free(filter);
}

const struct wire_filter_part *event_filter_get_parts(const struct event_filter *filter,
						      uint32_t *ret_length)
{
	*ret_length = filter->num_parts;
	return filter->parts;
}

const char *event_filter_get_text(const struct event_filter *filter)
{
	return filter->text.data;
}

/*
 * A node of the expression. Negation is pushed down to the comparisons, whose targets are swapped,
 * so an && in a negated part becomes an "or" here (De Morgan).
 */
struct filter_node {
	enum { NODE_COMPARISON, NODE_AND, NODE_OR } kind;
	bool is_negated;         /* NODE_COMPARISON */
	uint8_t first_predicate; /* in the order of the text; NODE_COMPARISON: the one */
	uint8_t left, right;     /* nodes; not of NODE_COMPARISON */
};

struct filter_parser {
	struct event_filter *filter;
	const struct event_format *format;
	const char *expression;
	const char *at;
	const char *copied; /* to the filter's text, up to here */
	unsigned depth;
	struct filter_node nodes[2 * WIRE_MAX_PREDICATES];
	uint8_t num_nodes;
	struct error *error;
};

_printf_(3, 4) static int refuse(const struct filter_parser *parser, const char *at,
				 const char *format, ...)
{
	char shown[MAX_SHOWN + 1];
	char reason[384];
	va_list arguments;

	/* An error message is one line. */
	snprintf(shown, sizeof(shown), "%s", parser->expression);
	for (char *c = shown; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = ' ';
	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	return error_set(parser->error, -EINVAL, "%s: filter '%s', column %zu: %s",
			 parser->filter->event, shown, (size_t)(at - parser->expression) + 1,
			 reason);
}

static void skip_space(struct filter_parser *parser)
{
	while (isspace((unsigned char)*parser->at))
		parser->at++;
}

static bool take(struct filter_parser *parser, const char *word)
{
	if (!string_starts_with(parser->at, word))
		return false;
	parser->at += strlen(word);
	return true;
}

/* ---- values ------------------------------------------------------------------------------- */

/* "0x10", "-1", "010" (octal), as the kernel reads numbers. */
static int parse_number(struct filter_parser *parser, struct wire_predicate *predicate)
{
	const char *start = parser->at;
	char digits[MAX_DIGITS + 1];
	size_t length = *start == '-';
	uint64_t value;
	char *end;

	if (*start == '"' || *start == '\'')
		return refuse(parser, start, "the field is a number: write it without quotes");
	if (!isdigit((unsigned char)start[length]))
		return refuse(parser, start, "expected a number, such as 4096, 0x1000 or -1");
	if (*start == '-' && !predicate->is_signed)
		return refuse(parser, start, "the field is unsigned: expected a number from 0");
	while (isalnum((unsigned char)start[length]))
		length++;
	if (length > MAX_DIGITS)
		return refuse(parser, start, "the number is too long");
	memcpy(digits, start, length);
	digits[length] = '\0';
	errno = 0;
	value = predicate->is_signed ? (uint64_t)strtoll(digits, &end, 0)
				     : strtoull(digits, &end, 0);
	/* Newer C libraries accept "0b1". */
	if (*end || strpbrk(digits, "bB") == digits + (*start == '-') + 1)
		return refuse(parser, start, "'%s' is not a number", digits);
	if (errno)
		return refuse(parser, start,
			      "the number has more than 64 bits, or more than 63 beside the sign");
	parser->at += length;
	/* As the field is, whatever the number: -1 and 0xffffffff are one of 4 bytes. */
	predicate->value = value << (64 - 8 * predicate->size);
	predicate->value =
		predicate->is_signed
			? (uint64_t)((int64_t)predicate->value >> (64 - 8 * predicate->size))
			: predicate->value >> (64 - 8 * predicate->size);
	return 0;
}

/*
 * The end of the class that starts with a [, as in the kernel's glob_match(): a leading ] is one of
 * its characters. NULL: no end, and the [ is a literal character. Sets its characters.
 */
static const char *parse_class(const char *class, const char *end, bool *ret_characters)
{
	bool is_inverted;
	const char *at = class + 1;

	is_inverted = at < end && *at == '!';
	at += is_inverted;
	memset(ret_characters, 0, 256);
	do {
		unsigned char first, last;

		if (at >= end)
			return NULL;
		first = last = (unsigned char)*at++;
		if (at + 1 < end && at[0] == '-' && at[1] != ']') {
			last = (unsigned char)at[1];
			at += 2;
		}
		for (unsigned c = first; c <= last; c++)
			ret_characters[c] = true;
	} while (at >= end || *at != ']');
	for (size_t c = 0; is_inverted && c < 256; c++)
		ret_characters[c] = !ret_characters[c];
	return at + 1;
}

/* Text, or a pattern. Returns 0 or -E2BIG. */
static int compile_pattern(const char *at, const char *end, bool is_glob, struct wire_pattern *ret)
{
	bool characters[256];

	while (at < end) {
		char c = *at++;

		if (is_glob && c == '*') {
			ret->stars |= 1ull << ret->length;
			continue;
		}
		memset(characters, is_glob && c == '?', sizeof(characters));
		if (is_glob && c == '[') {
			const char *behind = parse_class(at - 1, end, characters);

			if (behind)
				at = behind;
			else
				memset(characters, 0, sizeof(characters));
			characters['['] |= !behind;
		} else if (!is_glob || c != '?') {
			if (is_glob && c == '\\') {
				if (at == end)
					break;
				c = *at++;
			}
			characters[(unsigned char)c] = true;
		}
		if (ret->length == WIRE_MAX_PATTERN)
			return -E2BIG;
		ret->length++;
		for (size_t i = 0; i < ARRAY_LENGTH(characters); i++)
			if (characters[i])
				ret->accepts[i] |= 1ull << ret->length;
	}
	return 0;
}

/* "…" or '…' */
static int parse_text(struct filter_parser *parser, bool is_glob, struct wire_predicate *predicate,
		      struct wire_pattern *pattern)
{
	char quote = *parser->at;
	const char *start = parser->at + 1;
	const char *end;

	if (quote != '"' && quote != '\'')
		return refuse(parser, parser->at, "the field is text: expected a value in quotes");
	end = strchr(start, quote);
	if (!end)
		return refuse(parser, parser->at, "the closing %c is missing", quote);
	parser->at = end + 1;
	if (is_glob && *start == '!') {
		predicate->holds_for = WIRE_IS_LESS | WIRE_IS_GREATER;
		start++;
	}
	/* The kernel takes a pattern that starts with a digit literally. */
	if (compile_pattern(start, end, is_glob && !isdigit((unsigned char)*start), pattern))
		return refuse(parser, start, "the text has more than %d characters, without stars",
			      WIRE_MAX_PATTERN);
	return 0;
}

/* ---- comparisons -------------------------------------------------------------------------- */

static int refuse_unknown_field(const struct filter_parser *parser, const char *name, size_t length)
{
	char word[NEAR_NAMES_MAX_BYTES];
	char near_text[NEAR_NAMES_TEXT_BYTES];
	char fields[160] = "";
	struct near_names near = {.word = word};
	size_t used = 0;

	snprintf(word, sizeof(word), "%.*s", (int)length, name);
	array_for_each (&parser->format->fields, field) {
		char known[NEAR_NAMES_MAX_BYTES];

		if (field->offset < NUM_OVERWRITTEN_BYTES)
			continue;
		snprintf(known, sizeof(known), "%.*s", (int)field->name_length, field->name);
		near_names_compare(&near, known);
		if (used < sizeof(fields))
			used += (size_t)snprintf(fields + used, sizeof(fields) - used, "%s%s",
						 used ? ", " : "", known);
	}
	if (used >= sizeof(fields))
		strcpy(fields + sizeof(fields) - sizeof("..."), "...");
	near_names_format(&near, near_text);
	return refuse(parser, name, "no field '%s'%s%s%s%s", word, near_text,
		      near.num_found ? " There are "
		      : used         ? "; there are "
				     : "",
		      fields, used ? ", COMM and CPU" : "");
}

static bool is_one_of(const char *name, size_t length, const char *const *words)
{
	for (; *words; words++)
		if (strlen(*words) == length && !memcmp(*words, name, length))
			return true;
	return false;
}

/* Fields of every tracepoint that are not in the record that a program sees. */
static int find_common_field(const struct filter_parser *parser, const char *name, size_t length,
			     struct wire_predicate *predicate)
{
	static const char *const cpus[] = {"CPU", "cpu", "common_cpu", NULL};
	static const char *const comms[] = {"COMM", "comm", NULL};
	static const char *const tids[] = {"common_pid", NULL};
	static const char *const types[] = {"common_type", NULL};
	static const char *const others[] = {"common_flags", "common_preempt_count", "stacktrace",
					     "STACKTRACE", NULL};

	predicate->size = 4;
	predicate->is_signed = true;
	if (is_one_of(name, length, cpus)) {
		predicate->kind = WIRE_PREDICATE_CPU;
	} else if (is_one_of(name, length, tids)) {
		predicate->kind = WIRE_PREDICATE_TID;
	} else if (is_one_of(name, length, types)) {
		predicate->kind = WIRE_PREDICATE_TYPE;
		predicate->offset = parser->filter->type;
		predicate->size = 2;
		predicate->is_signed = false;
	} else if (is_one_of(name, length, comms)) {
		predicate->kind = WIRE_PREDICATE_COMM;
	} else if (is_one_of(name, length, others)) {
		return refuse(parser, name, "'%.*s' is not known yet where the filter is applied",
			      (int)length, name);
	} else {
		return refuse_unknown_field(parser, name, length);
	}
	return 0;
}

/* A field of the record. */
static int describe_field(const struct filter_parser *parser, const struct event_field *field,
			  bool is_user_text, struct wire_predicate *predicate)
{
	bool is_of_call = string_starts_with(parser->filter->event, "syscalls:");
	const char *name = field->name;
	int length = (int)field->name_length;
	const char *at = parser->at - length - (is_user_text ? strlen(".ustring") : 0);

	predicate->offset = field->offset;
	predicate->size = field->size;
	predicate->is_signed = field->is_signed;
	if (is_user_text && field->kind != FIELD_POINTER)
		return refuse(parser, at,
			      "'%.*s' is not an address of text: .ustring does not apply to it",
			      length, name);
	switch (field->kind) {
	case FIELD_NUMBER:
		predicate->kind = WIRE_PREDICATE_NUMBER;
		return 0;
	case FIELD_ARRAY:
		predicate->kind = WIRE_PREDICATE_ARRAY;
		return 0;
	case FIELD_DATA_LOC:
	case FIELD_REL_LOC:
		/* The kernel copies a system call's arguments after the programs run. */
		if (is_of_call)
			return refuse(parser, at,
				      "'%.*s' is not known yet where the filter is applied", length,
				      name);
		predicate->kind = field->kind == FIELD_DATA_LOC ? WIRE_PREDICATE_DATA_LOC
								: WIRE_PREDICATE_REL_LOC;
		return 0;
	case FIELD_POINTER:
		if (is_of_call && !is_user_text)
			return refuse(
				parser, at,
				"'%.*s' is text in the program's memory: expected %.*s.ustring",
				length, name, length, name);
		predicate->kind =
			is_user_text ? WIRE_PREDICATE_USER_POINTER : WIRE_PREDICATE_KERNEL_POINTER;
		return 0;
	case FIELD_OTHER:
		break;
	}
	return refuse(parser, at, "'%.*s' is neither a number nor text", length, name);
}

static int parse_field(struct filter_parser *parser, struct wire_predicate *predicate)
{
	const char *name = parser->at;
	const struct event_field *field;
	bool is_user_text = false;
	size_t length;

	while (isalnum((unsigned char)*parser->at) || *parser->at == '_')
		parser->at++;
	length = (size_t)(parser->at - name);
	if (!length)
		return refuse(parser, name, "expected a field's name");
	if (string_starts_with(parser->at, ".function"))
		return refuse(parser, parser->at, "functions cannot be compared");
	field = event_format_find(parser->format, name, length);
	if (string_starts_with(parser->at, ".ustring")) {
		is_user_text = true;
		text_append(&parser->filter->text, parser->copied,
			    (size_t)(parser->at - parser->copied));
		parser->at += strlen(".ustring");
		parser->copied = parser->at;
	}
	if (field && field->offset >= NUM_OVERWRITTEN_BYTES)
		return describe_field(parser, field, is_user_text, predicate);
	if (is_user_text)
		return refuse(parser, name,
			      "'%.*s' is not an address of text: .ustring does not apply to it",
			      (int)length, name);
	return find_common_field(parser, name, length, predicate);
}

static int parse_operator(struct filter_parser *parser, struct wire_predicate *predicate,
			  bool *ret_is_glob)
{
	static const struct {
		const char *word; /* "<=" before "<" */
		uint8_t holds_for;
		bool is_of_numbers;
		bool is_of_text;
	} operators[] = {
		{"==", WIRE_IS_EQUAL, true, true},
		{"!=", WIRE_IS_LESS | WIRE_IS_GREATER, true, true},
		{"~", WIRE_IS_EQUAL, false, true},
		{"<=", WIRE_IS_LESS | WIRE_IS_EQUAL, true, false},
		{"<", WIRE_IS_LESS, true, false},
		{">=", WIRE_IS_EQUAL | WIRE_IS_GREATER, true, false},
		{">", WIRE_IS_GREATER, true, false},
		{"&", WIRE_SHARES_BITS, true, false},
	};
	bool is_text = predicate->kind >= WIRE_PREDICATE_ARRAY;
	const char *start = parser->at;

	for (size_t i = 0; i < ARRAY_LENGTH(operators); i++) {
		if (!take(parser, operators[i].word))
			continue;
		if (is_text ? !operators[i].is_of_text : !operators[i].is_of_numbers)
			return refuse(parser, start, "'%s' does not apply to %s", operators[i].word,
				      is_text ? "text, which has ==, != and ~"
					      : "a number, which has ==, !=, <, <=, >, >= and &");
		/* The kernel accepts this, but it never matches. */
		if (predicate->kind == WIRE_PREDICATE_CPU &&
		    operators[i].holds_for == WIRE_SHARES_BITS)
			return refuse(parser, start, "'&' does not apply to the number of a CPU");
		predicate->holds_for = operators[i].holds_for;
		*ret_is_glob = *start == '~';
		return 0;
	}
	return refuse(parser, start, "expected an operator: %s",
		      is_text ? "==, != or ~" : "==, !=, <, <=, >, >= or &");
}

static int add_node(struct filter_parser *parser, const struct filter_node *node, uint8_t *ret)
{
	if (parser->num_nodes == ARRAY_LENGTH(parser->nodes))
		return -E2BIG; /* cannot be: there are fewer than two for each comparison */
	parser->nodes[parser->num_nodes] = *node;
	*ret = parser->num_nodes++;
	return 0;
}

static int parse_comparison(struct filter_parser *parser, bool is_negated, uint8_t *ret)
{
	struct event_filter *filter = parser->filter;
	uint8_t number = (uint8_t)filter->num_parts;
	struct wire_predicate *predicate;
	bool is_glob = false;
	int err;

	if (number == WIRE_MAX_PREDICATES) {
		(void)refuse(parser, parser->at, "more than %d comparisons", WIRE_MAX_PREDICATES);
		return -E2BIG;
	}
	predicate = &filter->parts[number].predicate;
	err = parse_field(parser, predicate);
	if (err)
		return err;
	skip_space(parser);
	err = parse_operator(parser, predicate, &is_glob);
	if (err)
		return err;
	skip_space(parser);
	if (string_starts_with(parser->at, "CPUS{"))
		return refuse(parser, parser->at, "sets of CPUs cannot be compared");
	err = predicate->kind >= WIRE_PREDICATE_ARRAY
		      ? parse_text(parser, is_glob, predicate, &filter->parts[number].pattern)
		      : parse_number(parser, predicate);
	if (err)
		return err;
	filter->num_parts++;
	return add_node(parser,
			&(struct filter_node){.kind = NODE_COMPARISON,
					      .is_negated = is_negated,
					      .first_predicate = number},
			ret);
}

/* ---- the whole ---------------------------------------------------------------------------- */

static int parse_expression(struct filter_parser *parser, bool is_negated, uint8_t *ret);

static int parse_part(struct filter_parser *parser, bool is_negated, uint8_t *ret)
{
	const char *start;
	int err;

	for (skip_space(parser); *parser->at == '!' && parser->at[1] != '='; skip_space(parser)) {
		is_negated = !is_negated;
		parser->at++;
	}
	start = parser->at;
	if (!take(parser, "("))
		return parse_comparison(parser, is_negated, ret);
	if (parser->depth == MAX_DEPTH) {
		(void)refuse(parser, start, "more than %d nested parentheses", MAX_DEPTH);
		return -E2BIG;
	}
	parser->depth++;
	err = parse_expression(parser, is_negated, ret);
	parser->depth--;
	if (err)
		return err;
	return take(parser, ")")
		       ? 0
		       : refuse(parser, parser->at, "expected &&, || or the ')' of column %zu",
				(size_t)(start - parser->expression) + 1);
}

static int join(struct filter_parser *parser, bool is_and, uint8_t right, uint8_t *ret)
{
	return add_node(
		parser,
		&(struct filter_node){.kind = is_and ? NODE_AND : NODE_OR,
				      .first_predicate = parser->nodes[*ret].first_predicate,
				      .left = *ret,
				      .right = right},
		ret);
}

static int parse_all(struct filter_parser *parser, bool is_negated, uint8_t *ret)
{
	int err = parse_part(parser, is_negated, ret);

	if (err)
		return err;
	for (skip_space(parser); take(parser, "&&"); skip_space(parser)) {
		uint8_t right;

		err = parse_part(parser, is_negated, &right);
		if (err)
			return err;
		err = join(parser, !is_negated, right, ret);
		if (err)
			return err;
	}
	return 0;
}

static int parse_expression(struct filter_parser *parser, bool is_negated, uint8_t *ret)
{
	int err = parse_all(parser, is_negated, ret);

	if (err)
		return err;
	while (take(parser, "||")) {
		uint8_t right;

		err = parse_all(parser, is_negated, &right);
		if (err)
			return err;
		err = join(parser, is_negated, right, ret);
		if (err)
			return err;
	}
	return 0;
}

/* Set the targets of each comparison. */
static void set_targets(struct filter_parser *parser, uint8_t number, uint8_t when_true,
			uint8_t when_false)
{
	const struct filter_node *node = &parser->nodes[number];
	uint8_t right;

	if (node->kind == NODE_COMPARISON) {
		struct wire_predicate *predicate =
			&parser->filter->parts[node->first_predicate].predicate;

		predicate->when_true = node->is_negated ? when_false : when_true;
		predicate->when_false = node->is_negated ? when_true : when_false;
		return;
	}
	right = parser->nodes[node->right].first_predicate;
	set_targets(parser, node->left, node->kind == NODE_AND ? right : when_true,
		    node->kind == NODE_AND ? when_false : right);
	set_targets(parser, node->right, when_true, when_false);
}

/* Continue from the end of the present parts with the next one. */
static void go_on_from(struct event_filter *filter)
{
	uint8_t next = (uint8_t)filter->num_parts;

	for (uint32_t i = 0; i < filter->num_parts; i++) {
		struct wire_predicate *predicate = &filter->parts[i].predicate;

		if (predicate->when_true == WIRE_FILTER_PASSES)
			predicate->when_true = next;
		if (predicate->when_false == WIRE_FILTER_PASSES)
			predicate->when_false = next;
	}
}

int event_filter_add(struct event_filter *filter, const char *expression,
		     const struct event_format *format, struct error *error)
{
	struct filter_parser parser = {
		.filter = filter,
		.format = format,
		.expression = expression,
		.at = expression,
		.copied = expression,
		.error = error,
	};
	uint8_t root;
	int err;

	go_on_from(filter);
	text_append_string(&filter->text, filter->text.length ? " && (" : "(");
	err = parse_expression(&parser, false, &root);
	if (err)
		return err;
	if (*parser.at)
		return refuse(&parser, parser.at,
			      *parser.at == ')' ? "the '(' of this ')' is missing"
						: "expected &&, || or the end");
	set_targets(&parser, root, WIRE_FILTER_PASSES, WIRE_FILTER_FAILS);
	text_append_string(&filter->text, parser.copied);
	text_append_char(&filter->text, ')');
	return filter->text.failed ? -ENOMEM : 0;
}
