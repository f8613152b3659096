#include "collect/events/probe.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/events/event_names.h"

/* A name of C++ may have some hundred letters. */
#define MAX_NAME_BYTES 2048
#define MAX_ARGUMENT   99
/*
 * Some hundred samples a second for a program that allocates 50 MB in each, and little more for one
 * that allocates much.
 */
#define ALLOCATION_MEAN_BYTES (512u << 10)

static const struct probe_words {
	const char *prefix;
	const char *form; /* of the whole */
	const char *purpose;
} kinds[] = {
	[PROBE_UPROBE] = {"uprobe:", "uprobe:PATH:FUNCTION[+OFFSET]",
			  "a program's or library's function is called (uprobe:libc:malloc)"},
	[PROBE_URETPROBE] = {"uretprobe:", "uretprobe:PATH:FUNCTION", "it returns"},
	[PROBE_USDT] = {"usdt:", "usdt:PATH:PROVIDER:NAME",
			"a static probe point in the program's source"},
	[PROBE_KPROBE] = {"kprobe:", "kprobe:FUNCTION[+OFFSET]",
			  "a function of the kernel is called"},
	[PROBE_KRETPROBE] = {"kretprobe:", "kretprobe:FUNCTION", "it returns"},
};

const char *probe_kind_describe(size_t number, const char **ret_purpose)
{
	if (number >= ARRAY_LENGTH(kinds))
		return NULL;
	*ret_purpose = kinds[number].purpose;
	return kinds[number].form;
}

void probe_free(struct probe *probe)
{
	if (!probe)
		return;
	array_for_each (&probe->fds, fd)
		close(*fd);
	array_release(&probe->fds);
	array_release(&probe->sites);
	mapped_files_release(&probe->looked_at);
	mapped_files_release(&probe->unknown);
	free(probe->file);
	free(probe->provider);
	free(probe->name);
	free(probe);
}

static void probe_freep(struct probe **probe)
{
	probe_free(*probe);
}

bool probe_is_one(const char *word)
{
	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++)
		if (string_starts_with(word, kinds[i].prefix))
			return true;
	return false;
}

/*
 * The length of an operator's name. Some of its characters are brackets elsewhere: "operator->",
 * "operator()".
 */
static size_t get_operator_length(const char *text)
{
	size_t length = sizeof("operator") - 1;

	if (!string_starts_with(text, "operator"))
		return 0;
	if (string_starts_with(text + length, "()") || string_starts_with(text + length, "[]"))
		return length + 2;
	if (text[length] == ',')
		return length + 1;
	return length + strspn(text + length, "+-*/%^&|~!=<>");
}

static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

size_t probe_get_length(const char *list)
{
	size_t depth = 0;
	size_t length = 0;

	while (list[length] && (depth || list[length] != ',')) {
		const char *at = list + length;
		size_t skipped = length && is_of_word(at[-1]) ? 0 : get_operator_length(at);

		if (string_starts_with(at, "->"))
			skipped = 2;
		else if (strchr("(<{", *at))
			depth++;
		else if (depth && strchr(")>}", *at))
			depth--;
		length += skipped ? skipped : 1;
	}
	return length;
}

bool probe_is_of_user_mode(const struct probe *probe)
{
	return probe->kind == PROBE_UPROBE || probe->kind == PROBE_URETPROBE ||
	       probe->kind == PROBE_USDT || probe->kind == PROBE_ALLOCATOR;
}

static bool is_of_return(const struct probe *probe)
{
	return probe->kind == PROBE_URETPROBE || probe->kind == PROBE_KRETPROBE;
}

static int refuse(const struct probe *probe, const char *word, struct error *error)
{
	return error_set(error, -EINVAL, "%s: expected %s", word, kinds[probe->kind].form);
}

/* "arg1", "retval" */
static int read_argument(const char *word, const char *name, struct probe *probe,
			 struct error *error)
{
	unsigned long number;
	char *end;

	probe->is_weighted = true;
	if (is_of_return(probe))
		return string_equals(name, "retval")
			       ? 0
			       : error_set(error, -EINVAL,
					   "%s: a return probe knows only {retval}; arguments are "
					   "those of %s",
					   word,
					   probe->kind == PROBE_URETPROBE ? "uprobe" : "kprobe");
	if (string_equals(name, "retval"))
		return error_set(error, -EINVAL, "%s: {retval} is known %s", word,
				 probe->kind == PROBE_USDT     ? "to uretprobe and kretprobe only"
				 : probe->kind == PROBE_KPROBE ? "when the function returns: use "
								 "kretprobe"
							       : "when the function returns: use "
								 "uretprobe");
	number = string_starts_with(name, "arg") && isdigit((unsigned char)name[3])
			 ? strtoul(name + 3, &end, 10)
			 : 0;
	if (!number || *end || number > MAX_ARGUMENT)
		return error_set(error, -EINVAL,
				 "%s: expected an argument in braces: {arg1}, {arg2} and so on",
				 word);
	probe->argument = (unsigned int)number;
	return 0;
}

/*
 * Find the braces with an argument, or NULL. Names may have braces, too:
 * "f()::{lambda(int)#1}::operator()", "f::{{closure}}".
 */
static char *find_brace(const char *word)
{
	const char *brace = strrchr(word, '{');
	size_t length = brace ? (size_t)(brace - word) : 0;

	if (!length || brace[-1] == '{' || (length >= 2 && brace[-1] == ':' && brace[-2] == ':') ||
	    strstr(brace, "}::"))
		return NULL;
	return (char *)(uintptr_t)brace;
}

/* Parse "By", "u32" or "u32:By", after the argument's name. */
static int take_type_and_unit(const char *word, char *text, struct probe *probe,
			      struct event *event, struct error *error)
{
	char *colon = strchr(text, ':');
	char *unit = colon ? colon + 1 : text;

	if (colon)
		*colon = '\0';
	if (event_type_find(text, &probe->argument_bytes, &probe->is_argument_signed)) {
		if (probe->kind == PROBE_USDT)
			return error_set(error, -EINVAL,
					 "%s: arguments of usdt probes already have types", word);
		if (!colon)
			return 0;
	} else if (colon) {
		return error_set(error, -EINVAL,
				 "%s: '%s' is not one of the types u8 to u64 and s8 to s64", word,
				 text);
	}
	if (!*unit)
		return error_set(error, -EINVAL, "%s: expected a unit after the colon", word);
	event->unit = strdup(event_unit_get(unit));
	return event->unit ? 0 : -ENOMEM;
}

/* Remove "{arg1}" or "{retval:s32:By}" from the end. */
static int take_argument(const char *word, char *rest, struct probe *probe, struct event *event,
			 struct error *error)
{
	char *brace = find_brace(rest);
	char *end = brace ? strchr(brace, '}') : NULL;
	char *type;
	int err;

	if (!brace)
		return 0;
	if (!end || end[1])
		return error_set(error, -EINVAL, "%s: expected a '}' at the end", word);
	*brace = *end = '\0';
	type = strchr(brace + 1, ':');
	if (type) {
		*type++ = '\0';
		err = take_type_and_unit(word, type, probe, event, error);
		if (err)
			return err;
	}
	return read_argument(word, brace + 1, probe, error);
}

/*
 * Find the start of an offset, or NULL. Names may have a +, too: "operator+(int)", "<dyn a::B +
 * c::D>::f".
 */
static char *find_offset(char *name)
{
	char *plus = strrchr(name, '+');
	bool is_number = plus && isdigit((unsigned char)plus[1]) &&
			 !plus[1 + strspn(plus + 1, "0123456789abcdefABCDEFx")];

	if (!is_number && (strstr(name, "operator") || strpbrk(name, " (<")))
		return NULL;
	return plus;
}

/* "+0x10", which is removed. */
static int take_offset(const char *word, char *name, struct probe *probe, struct error *error)
{
	char *plus = find_offset(name);
	char *end;

	if (!plus)
		return 0;
	errno = 0;
	probe->offset = strtoull(plus + 1, &end, string_starts_with(plus + 1, "0x") ? 16 : 10);
	if (!isdigit((unsigned char)plus[1]) || *end || errno)
		return error_set(error, -EINVAL, "%s: the offset is a number: +16 or +0x10", word);
	if (is_of_return(probe))
		return error_set(error, -EINVAL, "%s: a return probe takes no offset; use %s", word,
				 probe->kind == PROBE_URETPROBE ? "uprobe" : "kprobe");
	*plus = '\0';
	return 0;
}

/*
 * Split the word at its first colon, and return the rest; NULL if there is no colon or either part
 * is empty.
 */
static char *split(char *word)
{
	char *colon = strchr(word, ':');

	if (!colon || colon == word || !colon[1])
		return NULL;
	*colon = '\0';
	return colon + 1;
}

static int keep(char **ret, const char *text)
{
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

/* Parse the part after the kind. */
static int take_point(const char *word, char *rest, struct probe *probe, struct error *error)
{
	int err;

	if (probe_is_of_user_mode(probe)) {
		char *name = split(rest);

		if (!name)
			return refuse(probe, word, error);
		err = keep(&probe->file, rest);
		if (err)
			return err;
		rest = name;
	}
	if (probe->kind == PROBE_USDT) {
		char *name = split(rest);

		if (!name)
			return refuse(probe, word, error);
		err = keep(&probe->provider, rest);
		if (err)
			return err;
		rest = name;
	} else {
		err = take_offset(word, rest, probe, error);
		if (err)
			return err;
	}
	if (!*rest || strlen(rest) >= MAX_NAME_BYTES)
		return refuse(probe, word, error);
	return keep(&probe->name, rest);
}

/* The metric's name has no unit: that is beside it. */
static char *make_name(const char *word)
{
	const char *brace = find_brace(word);
	char *name;

	if (!brace)
		return strdup(word);
	return asprintf(&name, "%.*s%.*s}", (int)(brace - word), word, (int)strcspn(brace, ":}"),
			brace) < 0
		       ? NULL
		       : name;
}

int probe_parse(const char *word, struct event_list *ret, struct error *error)
{
	_cleanup_(probe_freep) struct probe *probe = calloc(1, sizeof(*probe));
	_cleanup_free_ char *copy = strdup(word);
	struct event *event = array_add(&ret->events);
	char *rest;
	int err;

	if (!probe || !copy || !event)
		return -ENOMEM;
	while (!string_starts_with(word, kinds[probe->kind].prefix))
		probe->kind++;
	event->kind = EVENT_PROBE;
	event->name = make_name(word);
	if (!event->name)
		return -ENOMEM;
	rest = copy + strlen(kinds[probe->kind].prefix);
	err = take_argument(word, rest, probe, event, error);
	if (err)
		return err;
	err = take_point(word, rest, probe, error);
	if (err)
		return err;
	event->probe = return_ptr(probe);
	return 0;
}

int probe_add_allocations(const char *word, bool is_live, struct event_list *ret)
{
	struct event *event = array_add(&ret->events);

	if (!event)
		return -ENOMEM;
	event->kind = EVENT_PROBE;
	event->mean_distance = ALLOCATION_MEAN_BYTES;
	event->is_live = is_live;
	event->name = strdup(word);
	event->unit = strdup("bytes");
	event->probe = calloc(1, sizeof(*event->probe));
	if (!event->name || !event->unit || !event->probe)
		return -ENOMEM;
	event->probe->kind = PROBE_ALLOCATOR;
	event->probe->is_weighted = true;
	return 0;
}
