/*
 * Filters of tracepoints: a line that is an expression; then a format up to a NUL, or, if it is empty, one with every kind of
 * field; then a record. What is compiled goes forward only, its opposite matches what it does not, and twice the same is the
 * same.
 */
#include "filter_evaluation.h"
#include "require.h"

#include "collect/events/event_filter.h"

#include <stdlib.h>

#include "base/text.h"
#include "collect/events/event_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char usual_format[] =
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\tfield:s8 a;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield:u16 b;\toffset:10;\tsize:2;\tsigned:0;\n"
	"\tfield:int c;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long d;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:char name[8];\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] path;\toffset:32;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] tail;\toffset:36;\tsize:4;\tsigned:0;\n"
	"\tfield:const char * where;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:u8 e[16];\toffset:48;\tsize:16;\tsigned:0;\n";

/* NULL where it is refused, which has a reason. */
static struct event_filter *compile(const char *expression, const struct event_format *format)
{
	struct event_filter *filter = event_filter_new("test:thing", 365);
	struct error error = {0};
	int err;

	require(filter != NULL);
	err = event_filter_add(filter, expression, format, &error);
	require(!err == !error.message[0]);
	if (!err)
		return filter;
	event_filter_free(filter);
	return NULL;
}

static bool evaluate(const struct event_filter *filter)
{
	uint32_t length;
	const struct wire_filter_part *parts = event_filter_get_parts(filter, &length);

	require(length > 0 && length <= WIRE_MAX_PREDICATES);
	for (uint32_t i = 0; i < length; i++) {
		const uint8_t targets[] = {parts[i].predicate.when_true,
					   parts[i].predicate.when_false};

		require(parts[i].pattern.length <= WIRE_MAX_PATTERN);
		for (int j = 0; j < 2; j++)
			require((targets[j] > i && targets[j] < length) ||
				targets[j] == WIRE_FILTER_PASSES ||
				targets[j] == WIRE_FILTER_FAILS);
	}
	return filter_evaluate(parts, length);
}

static void check(const char *expression, const struct event_format *format)
{
	struct event_filter *filter = compile(expression, format);
	struct event_filter *opposite;
	struct text negated = {0};
	bool passes;

	if (!filter)
		return;
	passes = evaluate(filter);
	text_printf(&negated, "!(%s)", expression);
	require(!negated.failed);
	/* Perhaps there are too many parentheses now. */
	opposite = compile(negated.data, format);
	require(!opposite || evaluate(opposite) == !passes);
	if (!event_filter_add(filter, expression, format, NULL))
		require(evaluate(filter) == passes);
	event_filter_free(opposite);
	event_filter_free(filter);
	text_release(&negated);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	const char *line_end = size ? memchr(bytes, '\n', size) : NULL;
	size_t line_length = line_end ? (size_t)(line_end - bytes) : size;
	const char *rest = bytes + line_length + (line_end != NULL);
	const char *rest_end = bytes + size;
	size_t format_length = strnlen(rest, (size_t)(rest_end - rest));
	struct event_format format = {0};
	char *expression = strndup(bytes, line_length);
	char *format_text = strndup(format_length ? rest : usual_format,
				    format_length ? format_length : sizeof(usual_format) - 1);

	require(expression && format_text);
	rest += format_length;
	if (format_length && rest < rest_end)
		rest++; /* the NUL */
	scene = (struct filter_scene){
		.record = rest,
		.record_bytes = (size_t)(rest_end - rest),
		.kernel_text = "kernel",
		.user_text = "user",
		.comm = "comm",
		.cpu = 1,
		.tid = 4711,
	};
	require(!event_format_parse(format_text, &format));
	check(expression, &format);
	event_format_release(&format);
	free(format_text);
	free(expression);
	return 0;
}
