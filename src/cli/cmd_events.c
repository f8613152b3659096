/* `stackwide events`: the events that this machine can sample. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/table_format.h"
#include "base/text.h"
#include "cli/options/command.h"
#include "cli/options/terminal.h"
#include "collect/events.h"

static const struct option_spec events_options[] = {{0}};

/* Columns before the purposes. */
#define PURPOSE_COLUMN 48

struct events_output {
	enum event_kind kind; /* of the last one */
	size_t num_events;
	size_t num_columns; /* of the terminal; 0: none */
};

static int print_event(const struct event_offer *offer, void *context)
{
	_cleanup_(text_release) struct text purpose = {0};
	struct events_output *output = context;
	char names[128];

	if (!output->num_events || output->kind != offer->kind)
		printf("%s%s\n", output->num_events ? "\n" : "", event_kind_get_name(offer->kind));
	output->kind = offer->kind;
	output->num_events++;
	snprintf(names, sizeof(names), "%s%s%s", offer->name, offer->alias ? ", " : "",
		 offer->alias ? offer->alias : "");
	if (offer->purpose)
		table_append_words(&purpose, offer->purpose, PURPOSE_COLUMN, output->num_columns);
	if (purpose.length)
		printf("  %-45s %.*s\n", names, (int)purpose.length, purpose.data);
	else
		printf("  %s\n", names);
	return purpose.failed ? -ENOMEM : 0;
}

static int handle(int id _unused_, const char *value _unused_, void *context _unused_)
{
	return -EINVAL;
}

static int run_events(int argc, char **argv)
{
	struct event_paths paths;
	struct events_output output = {.num_columns = terminal_get().num_columns};
	int first_operand;
	int parsed = options_parse(events_options, argc, argv, handle, NULL, &first_operand);
	const char *pattern;
	int err;

	if (parsed)
		return parsed < 0 ? EXIT_USAGE : EXIT_SHOW_HELP;
	if (argc - first_operand > 1) {
		log_error("unexpected '%s': expected one pattern", argv[first_operand + 1]);
		return EXIT_USAGE;
	}
	pattern = argv[first_operand];
	event_paths_find(&paths);
	err = events_list(&paths, pattern, print_event, &output);
	if (err == -EACCES)
		log_warning("tracepoints are not listed: only root may read %s", paths.tracing);
	event_paths_release(&paths);
	if (err && err != -EACCES) {
		log_error("cannot list the events: %s", strerror(-err));
		return EXIT_FAILED;
	}
	if (!output.num_events) {
		log_error(err ? "no listed event matches '%s'" : "no event '%s' on this machine",
			  pattern);
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

const struct command command_events = {
	.name = "events",
	.summary = "list the events of this machine",
	.usage = "Usage: stackwide events [PATTERN]",
	.help = "`record -e` takes these events. PATTERN is searched for in their names; with *\n"
		"or ? in it, it must match the whole name. Hardware events are listed if there is\n"
		"a device that counts them, which many virtual machines lack. Events that are not\n"
		"listed work, too: numbers from the CPU's manual (r01c4), and events that\n"
		"/sys/bus/event_source/devices describes (cpu/event=0x3c,umask=0x0/). Tracepoints\n"
		"are listed if tracefs is readable. record takes patterns of them\n"
		"(block:block_rq_*) and sums of a field, with its unit:\n"
		"'block:block_rq_issue{bytes:By}'. Software events can have a fixed weight, such\n"
		"as an assumed cost: 'context-switches{2:us}'.\n\n"
		"`record --filter EXPRESSION` drops hits that do not match, as the kernel's\n"
		"filters do. It compares fields of the record, CPU and COMM with a number by ==\n"
		"!= < <= > >= or & (a common bit), or with a text in quotes by == != or ~ (a\n"
		"pattern with * ? [a-z]). Comparisons are joined by && || ! and parentheses.\n"
		"FIELD.ustring is text in the program's memory. Several filters must all match.\n\n"
		"Modifiers follow a colon or the last slash: u, k and h count in user mode, in\n"
		"the kernel and in a hypervisor only. Each p asks for less skid (cycles:upp,\n"
		"cpu/event=0x3c/u).\n\n"
		"Probes are at points in code that you specify. PATH is a file as the recorded\n"
		"process (-p) sees it, or a library that ldconfig lists: libc, pthread,\n"
		"libssl.so.3. FUNCTION is a symbol, or a C++ or Rust name as stacks show it:\n"
		"ns::f, or with parameters, 'ns::f(int, char const*)'. If several functions have\n"
		"that name, use the mangled name. OFFSET is in bytes and must be at the start of\n"
		"an instruction. All processes that map the file stop there for some\n"
		"microseconds, recorded or not.\n\n"
		"{arg1}, {arg2} and so on of uprobe, kprobe and usdt are arguments ({arg1} of a\n"
		"method is its object). {retval} of uretprobe and kretprobe is the value that a\n"
		"function returns: 'uretprobe:libc:read{retval:s64:By}'. The metric is then the\n"
		"sum of these values; {arg1:By} is in bytes. Values are whole registers (64 bits)\n"
		"unless a type follows: {arg1:u32}, {retval:s32:By}. usdt probes define the types\n"
		"themselves. Values below 0, such as errors, count as 0.\n\n"
		"syscalls counts calls that start during the recording; one that the kernel\n"
		"restarts counts again, one that seccomp refuses does not. syscall-time is the\n"
		"time in calls within the recording, also of those that started before it or have\n"
		"not returned at its end. exit and exit_group have no time, as they do not return;\n"
		"the time of an execve belongs to the program that it starts.\n\n"
		"alloc is the sum of bytes requested from malloc, calloc, realloc (the new size),\n"
		"posix_memalign and the like, and operator new, of glibc, musl, jemalloc,\n"
		"tcmalloc and mimalloc. It covers the allocators that the recorded processes use\n"
		"when the recording starts (also inside a program), those of the command, and\n"
		"those that ldconfig lists. Memory that a program maps itself (mmap) is not\n"
		"included. Each call takes about a microsecond longer, also in processes that are\n"
		"not recorded. With -c N, there is one sample per N bytes on average instead of\n"
		"512 KiB.\n\n"
		"alloc-live is the part of alloc that is not freed when the recording or the\n"
		"process ends. The innermost frame shows the age ([age 1 to 10 min]), so that\n"
		"leaks stand out from memory in use. Memory that was allocated before the\n"
		"recording started, or that a forked child inherited, is not included. Returns of\n"
		"these functions and free() are probed, too: each call takes about three\n"
		"microseconds longer.\n\n"
		"Examples:\n"
		"  stackwide events fault\n"
		"  sudo stackwide record -e page-faults -c 1 -o faults.folded -- ./program\n"
		"  sudo stackwide record -e 'uprobe:libc:malloc{arg1:By}' -p 812 -d 10 -o m.html\n"
		"  sudo stackwide record -e syscalls:sys_enter_openat \\\n"
		"    --filter 'filename.ustring ~ \"/etc/*\"' -o opens.svg\n",
	.options = events_options,
	.run = run_events,
};
