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
		log_error("unexpected '%s': one pattern can be given", argv[first_operand + 1]);
		return EXIT_USAGE;
	}
	pattern = argv[first_operand];
	event_paths_find(&paths);
	err = events_list(&paths, pattern, print_event, &output);
	if (err == -EACCES)
		log_warning("tracepoints are not listed: only root may read %s", paths.tracing);
	event_paths_release(&paths);
	if (err && err != -EACCES) {
		log_error("the events cannot be listed: %s", strerror(-err));
		return EXIT_FAILED;
	}
	if (!output.num_events) {
		log_error(err ? "no listed event matches '%s'" : "this machine has no event '%s'",
			  pattern);
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

const struct command command_events = {
	.name = "events",
	.summary = "list the events that this machine offers",
	.usage = "Usage: stackwide events [PATTERN]",
	.help = "`record -e` takes them. PATTERN is searched for in their names; with * or ? in it, it is to match\n"
		"the whole name. Hardware is listed where there is something that counts it, which many virtual\n"
		"machines have not. Beside those that are listed, what the CPU's manual has numbers for (r01c4), and\n"
		"what the devices below /sys/bus/event_source/devices describe (cpu/event=0x3c,umask=0x0/).\n"
		"Tracepoints are listed by who may read tracefs; record takes patterns of them (block:block_rq_*),\n"
		"and sums of a field of their records, with its unit: 'block:block_rq_issue{bytes:By}'. What the\n"
		"kernel counts may weigh the same each: 'page-faults{4096:By}'.\n\n"
		"`record --filter EXPRESSION` leaves out hits that do not match, as the kernel's filters do: fields of the\n"
		"record, CPU and COMM, compared with a number by == != < <= > >= or & (a common bit), or with a text in\n"
		"quotes by == != or ~ (a pattern with * ? [a-z]), joined by && || ! and parentheses. Text in the program's\n"
		"memory is FIELD.ustring. Several filters have to match all.\n\n"
		"Modifiers follow a colon, or the last slash: u, k and h count in user mode, the kernel and a\n"
		"hypervisor only; each p asks for less skid (cycles:upp, cpu/event=0x3c/u).\n\n"
		"Probes are points in code that you name. PATH is a file, as the process sees it that is recorded (-p), or\n"
		"a library as ldconfig lists it: libc, pthread, libssl.so.3. FUNCTION is a symbol, or a name of C++ or\n"
		"Rust as stacks show it, ns::f, or with parameters: 'ns::f(int, char const*)'; where several functions\n"
		"have it, the mangled name says which. OFFSET is in bytes and begins an instruction. All processes that\n"
		"map the file are stopped there for some microseconds, those that are not recorded, too. {arg1}, {arg2}\n"
		"and so on (of a method {arg1} is its object), and {retval} where a function returns, make the sum of it\n"
		"the metric, {arg1:By} in bytes: registers as a whole (64 bits), or as types, {arg1:u32}, {retval:s32:By},\n"
		"of usdt what its author has named. What is below 0, as an error is, weighs nothing.\n\n"
		"alloc is what malloc, calloc, realloc (the new size), posix_memalign and the like, and operator new are\n"
		"asked for, of glibc, musl, jemalloc, tcmalloc and mimalloc: those that the recorded processes have when\n"
		"the recording begins, also within a program, those of the command, and those that ldconfig lists. What\n"
		"a program maps itself (mmap) is not in it. Each call takes about a microsecond longer, also of processes\n"
		"that are not recorded. With -c N in place of 512 KiB a sample comes for N bytes in the mean.\n\n"
		"alloc-live is what of that is not freed when the recording ends, or when its process did: with innermost\n"
		"frames for how long ago it was allocated ([age 1 to 10 min]), so that what leaks stands out from what is in use.\n"
		"What was allocated before the recording began is not in it, nor what a forked child has inherited. Returns of\n"
		"these functions and free() are probed, too: each call takes about three microseconds longer.\n\n"
		"Examples:\n"
		"  stackwide events fault\n"
		"  sudo stackwide record -e page-faults -c 1 -o faults.folded -- ./program\n"
		"  sudo stackwide record -e 'uprobe:libc:malloc{arg1:By}' -p 812 -d 10 -o malloc.html\n"
		"  sudo stackwide record -e syscalls:sys_enter_openat --filter 'filename.ustring ~ \"/etc/*\"' -o opens.svg\n",
	.options = events_options,
	.run = run_events,
};
