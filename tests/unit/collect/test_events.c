#include "collect/events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "collect/events/event_tracepoints.h"
#include "failing_memory.h"
#include "test_folder.h"
#include "unit.h"
#include "wire/request.h"

/* A machine whose CPU counts by `cpu`: a directory that all tests read and none changes. */
static char machine[TEST_PATH_BYTES];

struct fixture {
	const char *devices;
	struct event_list list;
	struct error error;
};

static void write_file(const char *name, const char *content)
{
	char path[TEST_PATH_BYTES + 64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", machine, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(content, file);
	fclose(file);
}

static void make_folder(const char *name)
{
	char path[TEST_PATH_BYTES + 64];

	snprintf(path, sizeof(path), "%s/%s", machine, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

#define BIO_FORMAT(size_offset)                                             \
	"\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"               \
	"\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"        \
	"\tfield:unsigned int nr_sector;\toffset:" size_offset ";\tsize:4;" \
	"\tsigned:0;\n"                                                     \
	"\tfield:char rwbs[8];\toffset:28;\tsize:8;\tsigned:0;\n"

static void make_bio_tracepoint(const char *name, const char *number)
{
	char path[64];

	snprintf(path, sizeof(path), "events/block/%s", name);
	make_folder(path);
	snprintf(path, sizeof(path), "events/block/%s/id", name);
	write_file(path, number);
	snprintf(path, sizeof(path), "events/block/%s/format", name);
	write_file(path, BIO_FORMAT("24"));
}

static int make_machine(void **state _unused_)
{
	test_folder_make(machine);
	make_folder("cpu");
	make_folder("cpu/format");
	make_folder("cpu/events");
	write_file("cpu/type", "4\n");
	write_file("cpu/format/event", "config:0-7,32-35\n");
	write_file("cpu/format/umask", "config:8-15\n");
	write_file("cpu/format/inv", "config:23\n");
	write_file("cpu/format/ldlat", "config1:0-15\n");
	write_file("cpu/format/odd", "config7:0-15\n");
	write_file("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	write_file("cpu/events/endless", "endless\n");
	write_file("cpu/events/at-5", "at-4\n");
	write_file("cpu/events/at-4", "at-3\n");
	write_file("cpu/events/at-3", "at-2\n");
	write_file("cpu/events/at-2", "at-1\n");
	write_file("cpu/events/at-1", "event=0x7\n");
	/* Tracepoints beside it. */
	make_folder("events");
	make_folder("events/block");
	write_file("events/block/enable", "0\n");
	make_folder("events/block/block_rq_issue");
	write_file("events/block/block_rq_issue/id", "1017\n");
	write_file("events/block/block_rq_issue/format",
		   "name: block_rq_issue\nID: 1017\nformat:\n"
		   "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		   "\n"
		   "\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
		   "\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"
		   "\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n"
		   "\tfield:unsigned int nr_bytes;\toffset:20;\tsize:4;\tsigned:0;\n"
		   "\tfield:int bytes;\toffset:28;\tsize:4;\tsigned:1;\n"
		   "\tfield:char rwbs[8];\toffset:34;\tsize:8;\tsigned:0;\n"
		   "\tfield:char name[10];\toffset:34;\tsize:10;\tsigned:0;\n"
		   "\tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;\n"
		   "\tfield:void * where;\toffset:72;\tsize:8;\tsigned:0;\n"
		   "\tfield:int far;\toffset:90000;\tsize:4;\tsigned:0;\n"
		   "\nprint fmt: \"%u\", REC->bytes\n");
	make_folder("events/block/block_rq_insert");
	write_file("events/block/block_rq_insert/id", "1018\n");
	write_file("events/block/block_rq_insert/format", "");
	make_bio_tracepoint("block_getrq", "1019\n");
	make_bio_tracepoint("block_bio_backmerge", "1020\n");
	make_bio_tracepoint("block_bio_frontmerge", "1021\n");
	make_folder("events/raw_syscalls");
	make_folder("events/raw_syscalls/sys_enter");
	write_file("events/raw_syscalls/sys_enter/id", "443\n");
	make_folder("events/raw_syscalls/sys_exit");
	write_file("events/raw_syscalls/sys_exit/id", "442\n");
	make_folder("events/ftrace");
	make_folder("events/ftrace/print");
	write_file("events/ftrace/print/id", "5\n");
	make_folder("events/many");
	for (int i = 0; i < 20; i++) {
		char name[32];

		snprintf(name, sizeof(name), "events/many/event%d", i);
		make_folder(name);
		strcat(name, "/id");
		write_file(name, "1\n");
	}
	return 0;
}

static int remove_machine(void **state _unused_)
{
	char command[TEST_PATH_BYTES + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", machine);
	return system(command);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->devices = machine;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	event_list_release(&fixture->list);
	free(fixture);
	return 0;
}

static int parse(struct fixture *fixture, const char *text)
{
	struct event_paths paths = {.devices = fixture->devices, .tracing = fixture->devices};

	event_list_release(&fixture->list);
	fixture->error.message[0] = '\0';
	return events_parse(&paths, text, &fixture->list, &fixture->error);
}

/* The only event that a word stands for. */
static const struct event *parse_one(struct fixture *fixture, const char *text)
{
	int err = parse(fixture, text);

	if (err)
		print_message("%s: %s\n", text, fixture->error.message);
	assert_int_equal(err, 0);
	assert_int_equal(fixture->list.events.length, 1);
	return &fixture->list.events.items[0];
}

static void names_are_perfs(void **state)
{
	static const struct {
		const char *word;
		enum event_kind kind;
		uint32_t type;
		uint64_t config;
		bool is_clock;
	} cases[] = {
		{"cpu-clock", EVENT_SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true},
		{"task-clock", EVENT_SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true},
		{"page-faults", EVENT_SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS,
		 false},
		{"faults", EVENT_SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false},
		{"cs", EVENT_SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false},
		{"migrations", EVENT_SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS,
		 false},
		{"cycles", EVENT_HARDWARE, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true},
		{"cache-misses", EVENT_HARDWARE, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES,
		 true},
		{"L1-dcache-loads", EVENT_CACHE, PERF_TYPE_HW_CACHE, 0, true},
		{"L1-dcache-load-misses", EVENT_CACHE, PERF_TYPE_HW_CACHE,
		 PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_READ << 8 |
			 PERF_COUNT_HW_CACHE_RESULT_MISS << 16,
		 true},
		{"LLC-store-misses", EVENT_CACHE, PERF_TYPE_HW_CACHE,
		 PERF_COUNT_HW_CACHE_LL | PERF_COUNT_HW_CACHE_OP_WRITE << 8 |
			 PERF_COUNT_HW_CACHE_RESULT_MISS << 16,
		 true},
		{"dtlb-prefetches", EVENT_CACHE, PERF_TYPE_HW_CACHE,
		 PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_OP_PREFETCH << 8, true},
		{"r01c4", EVENT_RAW, PERF_TYPE_RAW, 0x1c4, true},
		{"rFFFFFFFFFFFFFFFF", EVENT_RAW, PERF_TYPE_RAW, UINT64_MAX, true},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct event *event = parse_one(*state, cases[i].word);

		assert_string_equal(event->name, cases[i].word);
		assert_int_equal(event->kind, cases[i].kind);
		assert_int_equal(event->type, cases[i].type);
		assert_int_equal(event->config, cases[i].config);
		assert_int_equal(event_is_clock(event), cases[i].is_clock);
		assert_int_equal(event_shows_cpu_time(event),
				 i < 2 || strcmp(event->name, "cycles") == 0);
		assert_false(event->leaves_user_out || event->leaves_kernel_out);
	}
	assert_string_equal(event_get_unit(parse_one(*state, "cpu-clock")), "nanoseconds");
	assert_string_equal(event_get_unit(parse_one(*state, "cycles")), "count");
}

static void modifiers_leave_out_what_is_not_named(void **state)
{
	const struct event *event = parse_one(*state, "page-faults:u");

	assert_string_equal(event->name, "page-faults");
	assert_true(!event->leaves_user_out && event->leaves_kernel_out &&
		    event->leaves_hypervisor_out);
	event = parse_one(*state, "cycles:kpp");
	assert_false(event_shows_cpu_time(event));
	assert_true(event->leaves_user_out && !event->leaves_kernel_out &&
		    event->leaves_hypervisor_out);
	assert_int_equal(event->precision, 2);
	event = parse_one(*state, "cycles:uk");
	assert_true(!event->leaves_user_out && !event->leaves_kernel_out &&
		    event->leaves_hypervisor_out);
	event = parse_one(*state, "cpu/event=1/u");
	assert_string_equal(event->name, "cpu/event=1/");
	assert_true(event->leaves_kernel_out);
}

static void devices_say_which_bits(void **state)
{
	const struct event *event = parse_one(*state, "cpu/event=0x13c,umask=0x2,inv,ldlat=7/");

	assert_string_equal(event->name, "cpu/event=0x13c,umask=0x2,inv,ldlat=7/");
	assert_int_equal(event->kind, EVENT_DEVICE);
	assert_int_equal(event->type, 4);
	assert_int_equal(event->config, 0x3c | 1ull << 32 | 0x200 | 1 << 23);
	assert_int_equal(event->config1, 7);
	event = parse_one(*state, "cpu/config=0xabc/");
	assert_int_equal(event->config, 0xabc);
	event = parse_one(*state, "cpu/mem-loads/");
	assert_int_equal(event->config, 0x1cd);
	assert_int_equal(event->config1, 3);
	event = parse_one(*state, "cpu/mem-loads,ldlat=30,umask=6/");
	assert_int_equal(event->config, 0x6cd);
	assert_int_equal(event->config1, 30);
	event = parse_one(*state, "cpu//");
	assert_int_equal(event->config, 0);
}

static void a_pattern_is_all_tracepoints_that_it_matches(void **state)
{
	struct fixture *fixture = *state;
	const struct event *event = parse_one(fixture, "block:block_rq_issue");

	assert_int_equal(event->kind, EVENT_TRACEPOINT);
	assert_int_equal(event->type, PERF_TYPE_TRACEPOINT);
	assert_int_equal(event->config, 1017);
	assert_false(event_is_clock(event));
	assert_int_equal(parse(fixture, "cs,bl*:block_rq_i??*"), 0);
	assert_int_equal(fixture->list.events.length, 3);
	assert_string_equal(fixture->list.events.items[1].name, "block:block_rq_insert");
	assert_string_equal(fixture->list.events.items[2].name, "block:block_rq_issue");
}

static void a_field_is_what_a_hit_weighs(void **state)
{
	const struct event *event = parse_one(*state, "block:block_rq_issue{bytes}");

	assert_string_equal(event->name, "block:block_rq_issue{bytes}");
	assert_string_equal(event_get_unit(event), "count");
	assert_int_equal(event->field_offset, 28);
	assert_int_equal(event->field_bytes, 4);
	assert_true(event->is_field_signed);
	event = parse_one(*state, "block:block_rq_issue{sector:By}");
	assert_string_equal(event->name, "block:block_rq_issue{sector}");
	assert_string_equal(event_get_unit(event), "bytes");
	assert_int_equal(event->field_bytes, 8);
	assert_false(event->is_field_signed);
	assert_string_equal(
		event_get_unit(parse_one(*state, "block:block_rq_issue{sector:sectors/s}")),
		"sectors/s");
}

static void what_the_kernel_counts_may_weigh_the_same_each(void **state)
{
	const struct event *event = parse_one(*state, "page-faults{4096:By}");

	assert_string_equal(event->name, "page-faults{4096}");
	assert_string_equal(event_get_unit(event), "bytes");
	assert_int_equal(event->hit_weight, 4096);
	assert_int_equal(event->config, PERF_COUNT_SW_PAGE_FAULTS);
	assert_string_equal(event_get_unit(parse_one(*state, "cs{2}")), "count");
}

static void system_calls_are_two_tracepoints(void **state)
{
	const struct event *event = parse_one(*state, "syscalls");

	assert_string_equal(event->name, "syscalls");
	assert_int_equal(event->kind, EVENT_SYSTEM_CALL);
	assert_int_equal(event->config, 443);
	assert_int_equal(event->start_config, 0);
	assert_string_equal(event_get_unit(event), "count");
	event = parse_one(*state, "syscall-time");
	assert_int_equal(event->config, 442);
	assert_int_equal(event->start_config, 443);
	assert_string_equal(event_get_unit(event), "nanoseconds");
	assert_true(event_is_trace_event(event));
	assert_false(event_is_clock(event));
}

static void short_memory_is_an_error_of_each_word(void **state)
{
	static const char *const words[] = {
		"cycles:u,cs,faults",
		"L1-dcache-load-misses",
		"cpu/mem-loads,ldlat=30,umask=6/",
		"cs,bl*:block_rq_i??*",
		"block:block_rq_issue{bytes}",
		"block:block_rq_issue{sector:sectors/s}",
		"page-faults{4096:By}",
		"syscalls",
		"syscall-time",
		"block-io",
		"block-io-time",
		"alloc,alloc-live",
		"uprobe:/usr/bin/x:f+4{arg1:By}",
		"uretprobe:x:f{retval:By}",
		"usdt:x:server:request{arg1}",
		"kprobe:vfs_read",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		int64_t num_before = 0;
		int err;

		for (;; num_before++) {
			failing_memory_start(num_before);
			err = parse(fixture, words[i]);
			if (!failing_memory_end())
				break;
			if (err != -ENOMEM)
				fail_msg("%s: %d without allocation %lld", words[i], err,
					 (long long)num_before);
		}
		assert_int_equal(err, 0);
		assert_true(num_before > 0);
	}
}

static void a_field_of_a_record_is_found_unless_it_is_overwritten(void **state)
{
	static const char name[] = "block:block_rq_issue";
	struct fixture *fixture = *state;
	uint16_t offset = 1;

	assert_int_equal(event_tracepoint_find_offset(fixture->devices, name, "dev", &offset,
						      &fixture->error),
			 0);
	assert_int_equal(offset, 8);
	assert_int_equal(event_tracepoint_find_offset(fixture->devices, name, "where", &offset,
						      &fixture->error),
			 0);
	assert_int_equal(offset, 72);
	assert_int_equal(event_tracepoint_find_offset(fixture->devices, name, "common_type",
						      &offset, &fixture->error),
			 -ENOTSUP);
	assert_non_null(strstr(fixture->error.message, "has no 'common_type' on this kernel"));
	assert_int_equal(event_tracepoint_find_offset(fixture->devices, name, "nothing", &offset,
						      &fixture->error),
			 -ENOTSUP);
	assert_int_equal(event_tracepoint_find_offset(fixture->devices, "block:none", "dev",
						      &offset, &fixture->error),
			 -ENOTSUP);
	assert_int_equal(offset, 72);
}

static void requests_to_block_devices_are_of_kinds(void **state)
{
	const struct event *event = parse_one(*state, "block-io");

	assert_string_equal(event->name, "block-io");
	assert_string_equal(event_get_unit(event), "bytes");
	assert_int_equal(event->requests.kinds, 1 << WIRE_REQUEST_READ | 1 << WIRE_REQUEST_WRITE);
	assert_null(event->requests.end);
	event = parse_one(*state, "block-discard");
	assert_string_equal(event_get_unit(event), "bytes");
	assert_string_equal(event->tracepoint, "block:block_getrq");
	assert_int_equal(event->num_more_configs, 2);
	assert_int_equal(event->requests.kinds, 1 << WIRE_REQUEST_DISCARD);
	event = parse_one(*state, "block-io-time");
	assert_string_equal(event_get_unit(event), "nanoseconds");
	assert_string_equal(event->requests.end, "block_rq_complete");
	assert_int_equal(event->config, 1017);
	assert_int_equal(event->requests.device_offset, 8);
	assert_int_equal(event->requests.sector_offset, 16);
	assert_int_equal(event->requests.num_sectors_offset, 24);
	assert_int_equal(event->requests.bytes_offset, 28);
	assert_int_equal(event->requests.letters_offset, 34);
	for (int kind = WIRE_REQUEST_READ; kind < WIRE_NUM_REQUEST_KINDS; kind++)
		assert_true(event->requests.kinds >> kind & 1);
}

/* Bios get a request or are merged into one, whose size at its start is not final. */
static void bytes_of_merged_bios_count(void **state)
{
	const struct event *event = parse_one(*state, "block-io");

	assert_string_equal(event->tracepoint, "block:block_getrq");
	assert_int_equal(event->config, 1019);
	assert_int_equal(event->num_more_configs, 2);
	assert_int_equal(event->more_configs[0], 1020);
	assert_int_equal(event->more_configs[1], 1021);
	assert_int_equal(event->field_offset, 24);
	assert_int_equal(event->field_scale, 512);
	assert_int_equal(event->requests.device_offset, 8);
	assert_int_equal(event->requests.sector_offset, 16);
	assert_int_equal(event->requests.num_sectors_offset, 24);
	assert_int_equal(event->requests.bytes_offset, 24);
	assert_int_equal(event->requests.letters_offset, 28);
}

/* One program reads the records of all: otherwise the request's size when it is issued counts. */
static void records_of_bios_have_to_be_alike(void **state)
{
	const struct event *event;

	write_file("events/block/block_bio_frontmerge/format", BIO_FORMAT("36"));
	event = parse_one(*state, "block-io");
	assert_string_equal(event->tracepoint, "block:block_rq_issue");
	assert_int_equal(event->field_offset, 28);
	assert_int_equal(event->field_scale, 1);
	assert_int_equal(event->num_more_configs, 0);
	write_file("events/block/block_bio_frontmerge/format", "");
	assert_string_equal(parse_one(*state, "block-io")->tracepoint, "block:block_rq_issue");
	write_file("events/block/block_bio_frontmerge/format", BIO_FORMAT("24"));
}

static void without_tracefs_the_cure_is_said(void **state)
{
	struct fixture *fixture = *state;
	struct event_paths paths = {.devices = fixture->devices};

	assert_int_equal(
		events_parse(&paths, "block:block_rq_issue", &fixture->list, &fixture->error),
		-ENOTSUP);
	assert_non_null(strstr(fixture->error.message, "mount -t tracefs"));
	assert_int_equal(events_parse(&paths, "syscalls", &fixture->list, &fixture->error),
			 -ENOTSUP);
	assert_non_null(strstr(fixture->error.message, "mount -t tracefs"));
}

static void lists_have_commas(void **state)
{
	struct fixture *fixture = *state;
	static const char *const names[] = {"page-faults", "cpu/event=1,umask=2/", "cs"};

	assert_int_equal(parse(fixture, "page-faults:u,cpu/event=1,umask=2/k,cs"), 0);
	assert_int_equal(fixture->list.events.length, ARRAY_LENGTH(names));
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		assert_string_equal(fixture->list.events.items[i].name, names[i]);
}

/* Its description may name another event, and so on. */
static void an_event_is_four_descriptions_away_at_most(void **state)
{
	assert_int_equal(parse_one(*state, "cpu/at-4/")->config, 0x7);
	assert_int_equal(parse_one(*state, "cpu/config=0xffffffffffffffff/")->config, UINT64_MAX);
}

/* The first descriptor is one, too. */
static void a_mount_of_ones_own_is_closed(void **state _unused_)
{
	int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	const int fds[] = {STDIN_FILENO, open("/dev/null", O_RDONLY | O_CLOEXEC)};

	if (input < 0)
		assert_int_equal(open("/dev/null", O_RDONLY), STDIN_FILENO);
	for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
		struct event_paths paths = {.tracing_mount = fds[i]};

		event_paths_release(&paths);
		assert_int_equal(paths.tracing_mount, -1);
		assert_int_equal(fcntl(fds[i], F_GETFD), -1);
		event_paths_release(&paths);
	}
	if (input >= 0) {
		assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
		close(input);
	}
}

static void what_is_wrong_is_said(void **state)
{
	static const struct {
		const char *text;
		int err;
		const char *message;
	} cases[] = {
		{"", -EINVAL, "an event is missing"},
		{"cs,", -EINVAL, "an event is missing"},
		{"page-fault", -EINVAL, "no event 'page-fault'; did you mean 'page-faults'"},
		{"cycels", -EINVAL, "did you mean 'cycles'"},
		{"xyzzyxyzzy", -EINVAL, "'stackwide events' lists"},
		{"r", -EINVAL, "no event 'r'"},
		{"r12345678901234567", -EINVAL, "no event '"},
		{"rxyz", -EINVAL, "no event 'rxyz'"},
		{"cycles:x", -EINVAL, "'x' is not one of u (user)"},
		{"cycles:pppp", -EINVAL, "'p' is not one of"},
		{"cpu/event=1", -EINVAL, "the second '/' is missing"},
		{"cpu/event=x/", -EINVAL, "'x' is not a number"},
		{"cpu/event=-1/", -EINVAL, "'-1' is not a number"},
		{"cpu/event=0x1000/", -EINVAL, "number too large"},
		{"cpu/inv=2/", -EINVAL, "number too large"},
		{"cpu/nothing=1/", -EINVAL, "unknown word"},
		{"cpu/odd=1/", -EINVAL, "unknown word"},
		{"cpu/../type/", -EINVAL, "unknown word"},
		{"cpu/endless/", -EINVAL, "unterminated description"},
		{"cpu/at-5/", -EINVAL, "unterminated description"},
		{"cpu/config/", -EINVAL, "unknown word"},
		{"cpu/event=/", -EINVAL, "'' is not a number"},
		{"cpu/event=1x/", -EINVAL, "'1x' is not a number"},
		{"cpu/config=0x10000000000000000/", -EINVAL, "is not a number"},
		{"gpu/event=1/", -ENOTSUP, "no device 'gpu'"},
		{"../event=1/", -ENOTSUP, "no device '..'"},
		{"block:block_rq_isue", -EINVAL, "did you mean 'block:block_rq_issue'"},
		{"block:block_rq_issue:u", -EINVAL, "take no modifiers"},
		{"block:enable", -EINVAL, "no event '"},
		{"block:..", -EINVAL, "no event '"},
		{"block:block_rq_issue{byte}", -EINVAL, "has no field 'byte'"},
		{"block:block_rq_issue{int bytes}", -EINVAL, "has no field"},
		{"block:block_rq_issue{name[10]}", -EINVAL, "has no field"},
		{"block:block_rq_issue{name}", -EINVAL, "is not a number"},
		{"block:block_rq_issue{rwbs}", -EINVAL, "is not a number"},
		{"block:block_rq_issue{cmd}", -EINVAL, "is not a number"},
		{"block:block_rq_issue{far}", -EINVAL, "has no field"},
		{"block:block_rq_issue{common_type}", -EINVAL, "is not a number"},
		{"block:block_rq_issue{where}", -EINVAL, "is not a number"},
		{"block:block_rq_issue{bytes:}", -EINVAL, "expected a field's name and"},
		{"block:block_rq_issue{bytes:u32}", -EINVAL, "only arguments of probes"},
		{"block:block_rq_issue{:By}", -EINVAL, "expected a field's name and"},
		{"block:block_rq_insert{bytes}", -EINVAL, "has no field"},
		{"ftrace:print", -EINVAL, "no event '"},
		{"block:block_rq_issue{}", -EINVAL, "expected a field's name"},
		{"block:block_rq_issue{bytes", -EINVAL, "expected a field's name"},
		{"block:block_rq_issue{bytes}x", -EINVAL, "expected a field's name"},
		{"block{bytes}", -EINVAL, "only tracepoints have fields"},
		{"cycles{bytes}", -EINVAL, "only tracepoints have fields"},
		{"many:*", -E2BIG, "matches more than 16"},
		{"uprobe:libc", -EINVAL, "expected uprobe:PATH:FUNCTION[+OFFSET]"},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct fixture *fixture = *state;
		int err = parse(fixture, cases[i].text);

		if (err != cases[i].err || !strstr(fixture->error.message, cases[i].message))
			print_message("%s: %d, %s\n", cases[i].text, err, fixture->error.message);
		assert_int_equal(err, cases[i].err);
		assert_non_null(strstr(fixture->error.message, cases[i].message));
	}
}

/* Of any length: all that is written into is bounded. */
static void long_words_are_unknown(void **state)
{
	struct fixture *fixture = *state;
	char word[5000];

	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_int_equal(parse(fixture, word), -EINVAL);
	memcpy(word, "cpu/", 4);
	word[sizeof(word) - 2] = '/';
	assert_int_equal(parse(fixture, word), -EINVAL);
	word[4000] = '/';
	assert_int_equal(parse(fixture, word), -EINVAL);
	memset(word, 'a', 4000);
	assert_int_equal(parse(fixture, word), -ENOTSUP);
}

/* The filter of those alone that it is for. */
static void filters_are_of_tracepoints(void **state)
{
	struct fixture *fixture = *state;
	struct event_paths paths = {.devices = fixture->devices, .tracing = fixture->devices};
	struct event_list *list = &fixture->list;

	assert_int_equal(parse(fixture, "cs,block:block_rq_issue,block:block_rq_issue{bytes}"), 0);
	assert_int_equal(events_filter(&paths, "bytes > 4096", 1, list, &fixture->error), 0);
	assert_null(list->events.items[0].filter);
	assert_non_null(list->events.items[1].filter);
	assert_non_null(list->events.items[2].filter);
	assert_int_equal(events_filter(&paths, "bytes > 4096", 0, list, &fixture->error), -EINVAL);
	assert_string_equal(fixture->error.message,
			    "cs: only tracepoints have filters; give block:block_rq_issue an -e of "
			    "its own");
	/* The tracepoint has no such field, and none would do. */
	assert_int_equal(parse(fixture, "block:block_rq_issue,cs"), 0);
	assert_int_equal(events_filter(&paths, "missing > 4096", 0, list, &fixture->error),
			 -EINVAL);
	assert_non_null(strstr(fixture->error.message, "cs: only tracepoints have filters; "));
	assert_int_equal(parse(fixture, "cs"), 0);
	assert_int_equal(events_filter(&paths, "bytes > 4096", 0, list, &fixture->error), -EINVAL);
	assert_string_equal(fixture->error.message, "cs: only tracepoints have filters");
	/* Of a pattern, each has to have the field. */
	assert_int_equal(parse(fixture, "block:block_rq_*"), 0);
	assert_int_equal(events_filter(&paths, "bytes > 4096", 0, list, &fixture->error), -EINVAL);
	assert_non_null(strstr(fixture->error.message, "block:block_rq_insert: "));
	assert_non_null(strstr(fixture->error.message, "no field 'bytes'"));
	assert_int_equal(parse(fixture, "block:block_rq_*"), 0);
	assert_int_equal(events_filter(&paths, "CPU == 1", 0, list, &fixture->error), 0);
	assert_int_equal(parse(fixture, "many:event1"), 0);
	assert_int_equal(events_filter(&paths, "CPU == 1", 0, list, &fixture->error), -EINVAL);
	assert_non_null(strstr(fixture->error.message,
			       "many:event1: cannot read the fields for its filter"));
}

struct offers {
	size_t num_software;
	size_t num_others;
	bool has_faults;
};

static int count_offer(const struct event_offer *offer, void *context)
{
	struct offers *offers = context;

	if (offer->kind == EVENT_SOFTWARE)
		offers->num_software++;
	else
		offers->num_others++;
	offers->has_faults |= strcmp(offer->name, "page-faults") == 0;
	assert_true(offer->kind != EVENT_SOFTWARE || offer->purpose);
	return 0;
}

static void what_there_is_is_listed(void **state)
{
	const struct fixture *fixture = *state;
	struct event_paths paths = {.devices = fixture->devices};
	struct offers all = {0}, some = {0}, globbed = {0}, aliased = {0}, none = {0};

	assert_int_equal(events_list(&paths, NULL, count_offer, &all), 0);
	if (!all.num_software) /* the kernel lets nobody use perf events */
		skip();
	assert_true(all.has_faults);
	assert_int_equal(events_list(&paths, "fault", count_offer, &some), 0);
	assert_true(some.has_faults && some.num_software < all.num_software);
	assert_int_equal(events_list(&paths, "page-*", count_offer, &globbed), 0);
	assert_int_equal(globbed.num_software, 1);
	assert_int_equal(events_list(&paths, "cs", count_offer, &aliased), 0);
	assert_true(aliased.num_software >= 1);
	assert_int_equal(events_list(&paths, "no such event", count_offer, &none), 0);
	assert_int_equal(none.num_software + none.num_others, 0);
}

#define PROBE_OFFERS                                                              \
	"alloc alloc-live uprobe:PATH:FUNCTION[+OFFSET] uretprobe:PATH:FUNCTION " \
	"usdt:PATH:PROVIDER:NAME kprobe:FUNCTION[+OFFSET] kretprobe:FUNCTION "

struct probe_offers {
	char names[1024];
	bool ends; /* with the first one */
};

static int note_probe(const struct event_offer *offer, void *context)
{
	struct probe_offers *offers = context;
	size_t length = strlen(offers->names);

	if (offer->kind != EVENT_PROBE)
		return 0;
	assert_non_null(offer->purpose);
	snprintf(offers->names + length, sizeof(offers->names) - length, "%s ", offer->name);
	return offers->ends ? -EPIPE : 0;
}

/* Those that have names first, then each kind; whoever wants no more gets no more. */
static void what_can_be_probed_is_listed_by_kind(void **state)
{
	const struct fixture *fixture = *state;
	struct event_paths paths = {.devices = fixture->devices};
	struct probe_offers all = {0}, first = {.ends = true}, kinds = {.ends = true};
	const char *space;

	assert_int_equal(events_list(&paths, NULL, note_probe, &all), 0);
	assert_string_equal(all.names, PROBE_OFFERS);
	assert_int_equal(events_list(&paths, NULL, note_probe, &first), -EPIPE);
	space = strchr(all.names, ' ');
	assert_non_null(space);
	assert_int_equal(strlen(first.names), space + 1 - all.names);
	assert_int_equal(events_list(&paths, "uprobe", note_probe, &kinds), -EPIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_are_perfs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(modifiers_leave_out_what_is_not_named, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(devices_say_which_bits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_pattern_is_all_tracepoints_that_it_matches,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_field_is_what_a_hit_weighs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_the_kernel_counts_may_weigh_the_same_each,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(system_calls_are_two_tracepoints, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_tracefs_the_cure_is_said, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_field_of_a_record_is_found_unless_it_is_overwritten, set_up, tear_down),
		cmocka_unit_test_setup_teardown(short_memory_is_an_error_of_each_word, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(bytes_of_merged_bios_count, set_up, tear_down),
		cmocka_unit_test_setup_teardown(records_of_bios_have_to_be_alike, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(requests_to_block_devices_are_of_kinds, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(lists_have_commas, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_event_is_four_descriptions_away_at_most, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_mount_of_ones_own_is_closed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_wrong_is_said, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_can_be_probed_is_listed_by_kind, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(long_words_are_unknown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(filters_are_of_tracepoints, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_there_is_is_listed, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, make_machine, remove_machine);
}
