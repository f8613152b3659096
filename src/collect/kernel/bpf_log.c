#include "collect/kernel/bpf_log.h"

#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/attributes.h"
#include "base/log.h"

/* BPF_LOG_STATS of the kernel's verifier: figures at the end, and nothing else. */
#define LOG_STATISTICS 4

/*
 * libbpf's message about a program that was loaded with a log: "prog 'NAME': -- BEGIN PROG LOAD LOG
 * --" and, further down, "processed N insns".
 */
static void report_instructions(const char *message)
{
	const char *count = strstr(message, "\nprocessed ");
	char name[64];

	if (count && sscanf(message, "libbpf: prog '%63[^']'", name) == 1)
		log_debug("%s: %lu instructions verified", name,
			  strtoul(count + strlen("\nprocessed "), NULL, 10));
}

/*
 * The verifier's reason for rejecting a program is at the end of its log, which may be megabytes.
 * So the first and the last lines of libbpf's message are logged.
 */
#define NUM_LAST_LINES 10

static void print_ends(char *message)
{
	size_t num_lines = 0;
	const char *line;

	for (const char *at = message; *at; at++)
		num_lines += *at == '\n';
	for (size_t i = 0; (line = strsep(&message, "\n")); i++)
		if (*line && (!i || i + NUM_LAST_LINES >= num_lines))
			log_debug("%s", line);
}

static int _printf_(2, 0)
	print_libbpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
	_cleanup_free_ char *message = NULL;

	if (vasprintf(&message, format, arguments) < 0) {
		message = NULL;
		return 0;
	}
	if (level == LIBBPF_DEBUG)
		report_instructions(message);
	else
		print_ends(message);
	return 0;
}

void bpf_log_start(void)
{
	libbpf_set_print(print_libbpf);
}

static void count_instructions(struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) if (bpf_program__autoload(program))
		bpf_program__set_log_level(program, LOG_STATISTICS);
}

int bpf_log_load(int (*open)(void *context, struct bpf_object_skeleton **ret),
		 void (*close)(void *context), void *context)
{
	bool counts = log_get_level() == LOG_LEVEL_VERBOSE;
	struct bpf_object_skeleton *skeleton;
	int err = open(context, &skeleton);

	if (err)
		return err;
	if (counts)
		count_instructions(*skeleton->obj);
	err = bpf_object__load_skeleton(skeleton);
	if (!err || !counts)
		return err;
	close(context);
	err = open(context, &skeleton);
	return err ? err : bpf_object__load_skeleton(skeleton);
}
