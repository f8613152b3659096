#include "collect/events/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "collect/events.h"
#include "test_folder.h"

struct fixture {
	struct event_list list;
	struct error error;
};

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	assert_non_null(*state);
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
	struct event_paths paths = {.devices = "/nowhere"};

	event_list_release(&fixture->list);
	fixture->error.message[0] = '\0';
	return events_parse(&paths, text, &fixture->list, &fixture->error);
}

static bool is_text(const char *text, const char *wanted)
{
	return text && wanted ? strcmp(text, wanted) == 0 : text == wanted;
}

static void words_are_taken_apart(void **state)
{
	static const struct {
		const char *word;
		const char *event;
		struct {
			enum probe_kind kind;
			const char *file;
			const char *provider;
			const char *name;
			uint64_t offset;
			bool is_weighted;
			unsigned int argument;
			uint8_t argument_bytes;
			bool is_argument_signed;
		} probe;
		const char *unit;
	} cases[] = {
		{"uprobe:/usr/bin/x:f",
		 "uprobe:/usr/bin/x:f",
		 {.file = "/usr/bin/x", .name = "f"},
		 "count"},
		{"uprobe:libc:malloc+16",
		 "uprobe:libc:malloc+16",
		 {.file = "libc", .name = "malloc", .offset = 16},
		 "count"},
		{"uprobe:./x:ns::f+0x1f{arg2:By}",
		 "uprobe:./x:ns::f+0x1f{arg2}",
		 {.file = "./x", .name = "ns::f", .offset = 31, .is_weighted = true, .argument = 2},
		 "bytes"},
		{"uprobe:x:ns::f(int, char const*)+8{arg1:By}",
		 "uprobe:x:ns::f(int, char const*)+8{arg1}",
		 {.file = "x",
		  .name = "ns::f(int, char const*)",
		  .offset = 8,
		  .is_weighted = true,
		  .argument = 1},
		 "bytes"},
		{"uprobe:x:A::operator+",
		 "uprobe:x:A::operator+",
		 {.file = "x", .name = "A::operator+"},
		 "count"},
		{"uprobe:x:A::operator++16",
		 "uprobe:x:A::operator++16",
		 {.file = "x", .name = "A::operator+", .offset = 16},
		 "count"},
		{"uprobe:x:operator+(A, int){arg2}",
		 "uprobe:x:operator+(A, int){arg2}",
		 {.file = "x", .name = "operator+(A, int)", .is_weighted = true, .argument = 2},
		 "count"},
		{"uprobe:x:f<(1+2)>",
		 "uprobe:x:f<(1+2)>",
		 {.file = "x", .name = "f<(1+2)>"},
		 "count"},
		{"uprobe:x:<dyn a::B + c::D>::f",
		 "uprobe:x:<dyn a::B + c::D>::f",
		 {.file = "x", .name = "<dyn a::B + c::D>::f"},
		 "count"},
		{"uprobe:x:f()::{lambda(int)#1}::operator()",
		 "uprobe:x:f()::{lambda(int)#1}::operator()",
		 {.file = "x", .name = "f()::{lambda(int)#1}::operator()"},
		 "count"},
		{"uprobe:x:{lambda(int)#1}::operator(){arg1:By}",
		 "uprobe:x:{lambda(int)#1}::operator(){arg1}",
		 {.file = "x",
		  .name = "{lambda(int)#1}::operator()",
		  .is_weighted = true,
		  .argument = 1},
		 "bytes"},
		{"uprobe:x:a::f::{{closure}}",
		 "uprobe:x:a::f::{{closure}}",
		 {.file = "x", .name = "a::f::{{closure}}"},
		 "count"},
		{"uprobe:x:a::f::{closure#0}{arg1}",
		 "uprobe:x:a::f::{closure#0}{arg1}",
		 {.file = "x", .name = "a::f::{closure#0}", .is_weighted = true, .argument = 1},
		 "count"},
		{"uretprobe:libc:malloc{retval:ns}",
		 "uretprobe:libc:malloc{retval}",
		 {.kind = PROBE_URETPROBE, .file = "libc", .name = "malloc", .is_weighted = true},
		 "nanoseconds"},
		{"usdt:/usr/bin/x:server:request{arg10}",
		 "usdt:/usr/bin/x:server:request{arg10}",
		 {.kind = PROBE_USDT,
		  .file = "/usr/bin/x",
		  .provider = "server",
		  .name = "request",
		  .is_weighted = true,
		  .argument = 10},
		 "count"},
		{"kprobe:vfs_read{arg3:By}",
		 "kprobe:vfs_read{arg3}",
		 {.kind = PROBE_KPROBE, .name = "vfs_read", .is_weighted = true, .argument = 3},
		 "bytes"},
		{"kprobe:vfs_read{arg3:u32}",
		 "kprobe:vfs_read{arg3}",
		 {.kind = PROBE_KPROBE,
		  .name = "vfs_read",
		  .is_weighted = true,
		  .argument = 3,
		  .argument_bytes = 4},
		 "count"},
		{"uretprobe:x:f{retval:s16:By}",
		 "uretprobe:x:f{retval}",
		 {.kind = PROBE_URETPROBE,
		  .file = "x",
		  .name = "f",
		  .is_weighted = true,
		  .argument_bytes = 2,
		  .is_argument_signed = true},
		 "bytes"},
		{"uprobe:x:f{arg1:u64:s}",
		 "uprobe:x:f{arg1}",
		 {.file = "x",
		  .name = "f",
		  .is_weighted = true,
		  .argument = 1,
		  .argument_bytes = 8},
		 "s"},
		{"kprobe:vfs_read+08",
		 "kprobe:vfs_read+08",
		 {.kind = PROBE_KPROBE, .name = "vfs_read", .offset = 8},
		 "count"},
		{"kretprobe:vfs_read",
		 "kretprobe:vfs_read",
		 {.kind = PROBE_KRETPROBE, .name = "vfs_read"},
		 "count"},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct event *event;
		const struct probe *probe;

		assert_int_equal(parse(fixture, cases[i].word), 0);
		assert_int_equal(fixture->list.events.length, 1);
		event = &fixture->list.events.items[0];
		assert_int_equal(event->kind, EVENT_PROBE);
		assert_false(event_is_clock(event));
		assert_string_equal(event->name, cases[i].event);
		assert_string_equal(event_get_unit(event), cases[i].unit);
		probe = event->probe;
		assert_int_equal(probe->kind, cases[i].probe.kind);
		assert_true(is_text(probe->file, cases[i].probe.file));
		assert_true(is_text(probe->provider, cases[i].probe.provider));
		assert_true(is_text(probe->name, cases[i].probe.name));
		assert_int_equal(probe->offset, cases[i].probe.offset);
		assert_int_equal(probe->is_weighted, cases[i].probe.is_weighted);
		assert_int_equal(probe->argument, cases[i].probe.argument);
		assert_int_equal(probe->argument_bytes, cases[i].probe.argument_bytes);
		assert_int_equal(probe->is_argument_signed, cases[i].probe.is_argument_signed);
	}
}

/* The slashes of a path are not those of a device. */
static void probes_stand_in_lists(void **state)
{
	static const char *const names[] = {"cs", "uprobe:/usr/bin/x:f", "kprobe:g", "faults"};
	struct fixture *fixture = *state;

	assert_int_equal(parse(fixture, "cs,uprobe:/usr/bin/x:f,kprobe:g,faults"), 0);
	assert_int_equal(fixture->list.events.length, ARRAY_LENGTH(names));
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		assert_string_equal(fixture->list.events.items[i].name, names[i]);
}

/* Commas of parameters separate no events. */
static void names_of_cxx_and_rust_stand_in_lists(void **state)
{
	static const char *const names[] = {
		"uprobe:x:f(int, char const*)",
		"uprobe:x:A<int, B<int, 3>>::operator<(A const&, int)",
		"uprobe:x:A::operator->",
		"uprobe:x:A::operator()(int, int)",
		"uprobe:x:operator,",
		"uprobe:x:operator<< <int, char>",
		"uprobe:x:A::operator new(unsigned long, int)",
		"uprobe:x:a::f<fn(u8) -> u8, b::C>{arg1}",
		"uprobe:x:my_operator<int, int>",
		"usdt:x:a:b",
	};
	struct fixture *fixture = *state;
	char list[1024] = "";

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		strcat(list, names[i]);
		strcat(list, ",");
	}
	strcat(list, "cs");
	assert_int_equal(parse(fixture, list), 0);
	assert_int_equal(fixture->list.events.length, ARRAY_LENGTH(names) + 1);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		assert_string_equal(fixture->list.events.items[i].name, names[i]);
}

static void allocations_are_bytes_of_several_files(void **state)
{
	struct fixture *fixture = *state;
	const struct event *event;

	assert_int_equal(parse(fixture, "cs,alloc"), 0);
	assert_int_equal(fixture->list.events.length, 2);
	event = &fixture->list.events.items[1];
	assert_int_equal(event->kind, EVENT_PROBE);
	assert_string_equal(event->name, "alloc");
	assert_string_equal(event_get_unit(event), "bytes");
	assert_int_equal(event->mean_distance, 512 << 10);
	assert_int_equal(fixture->list.events.items[0].mean_distance, 0);
	assert_int_equal(event->probe->kind, PROBE_ALLOCATOR);
	assert_true(probe_is_of_user_mode(event->probe));
	assert_false(event->is_live);
}

static void what_is_live_is_sampled_as_what_is_allocated(void **state)
{
	struct fixture *fixture = *state;
	const struct event *events;

	assert_int_equal(parse(fixture, "alloc,alloc-live"), 0);
	events = fixture->list.events.items;
	assert_string_equal(events[1].name, "alloc-live");
	assert_true(events[1].is_live);
	assert_int_equal(events[1].mean_distance, events[0].mean_distance);
	assert_int_equal(events[1].probe->kind, PROBE_ALLOCATOR);
}

static void what_is_wrong_is_said(void **state)
{
	static const char *const cases[][2] = {
		{"uprobe:", "expected uprobe:PATH:FUNCTION[+OFFSET]"},
		{"uprobe:/usr/bin/x", "expected uprobe:PATH:FUNCTION[+OFFSET]"},
		{"uprobe:/usr/bin/x:", "expected uprobe:PATH:FUNCTION[+OFFSET]"},
		{"uprobe::f", "expected uprobe:PATH:FUNCTION[+OFFSET]"},
		{"uprobe:x:{arg1}", "expected uprobe:PATH:FUNCTION[+OFFSET]"},
		{"uprobe:x:f(int){arg0}", "expected an argument in braces"},
		{"uprobe:x:+8", "expected uprobe:PATH:FUNCTION[+OFFSET]"},
		{"usdt:x:server", "expected usdt:PATH:PROVIDER:NAME"},
		{"usdt:x::request", "expected usdt:PATH:PROVIDER:NAME"},
		{"kprobe:", "expected kprobe:FUNCTION[+OFFSET]"},
		{"uprobe:x:f+", "the offset is a number"},
		{"uprobe:x:f+-1", "the offset is a number"},
		{"uprobe:x:f+0xg", "the offset is a number"},
		{"uprobe:x:f+99999999999999999999", "the offset is a number"},
		{"uretprobe:x:f+1", "no offset; use uprobe"},
		{"kretprobe:f+1", "no offset; use kprobe"},
		{"uprobe:x:f{", "expected a '}' at the end"},
		{"uprobe:x:f{arg1}x", "expected a '}' at the end"},
		{"uprobe:x:f{}", "expected an argument in braces"},
		{"uprobe:x:f{arg0}", "expected an argument in braces"},
		{"uprobe:x:f{arg}", "expected an argument in braces"},
		{"uprobe:x:f{arg-1}", "expected an argument in braces"},
		{"uprobe:x:f{arg1000}", "expected an argument in braces"},
		{"uprobe:x:f{retval}", "use uretprobe"},
		{"kprobe:f{retval}", "use kretprobe"},
		{"usdt:x:p:n{retval}", "uretprobe and kretprobe only"},
		{"uprobe:x:f{ret}", "expected an argument in braces"},
		{"uretprobe:x:f{arg1}", "arguments are those of uprobe"},
		{"kretprobe:f{arg1}", "arguments are those of kprobe"},
		{"uprobe:x:f{arg1:}", "expected a unit"},
		{"uprobe:x:f{arg1:u32:}", "expected a unit"},
		{"uprobe:x:f{arg1:u31:By}", "'u31' is not one of the types"},
		{"uprobe:x:f{arg1:By:By}", "'By' is not one of the types"},
		{"usdt:x:a:b{arg1:u32}", "already have types"},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		assert_int_equal(parse(fixture, cases[i][0]), -EINVAL);
		if (!strstr(fixture->error.message, cases[i][1]) ||
		    strncmp(fixture->error.message, cases[i][0], strlen(cases[i][0])) != 0)
			fail_msg("%s: said: %s", cases[i][0], fixture->error.message);
	}
}

static void a_kernel_without_probes_is_named(void **state)
{
	struct event_paths paths = {.devices = "/nowhere"};
	struct probe_search search = {0};
	struct fixture *fixture = *state;

	assert_int_equal(parse(fixture, "kprobe:vfs_read"), 0);
	assert_int_equal(probes_locate(&paths, &search, &fixture->list, &fixture->error), -ENOTSUP);
	assert_non_null(strstr(fixture->error.message, "CONFIG_KPROBE_EVENTS"));
	assert_int_equal(parse(fixture, "uprobe:libc:malloc"), 0);
	assert_int_equal(probes_locate(&paths, &search, &fixture->list, &fixture->error), -ENOTSUP);
	assert_non_null(strstr(fixture->error.message, "CONFIG_UPROBE_EVENTS"));
}

/* A machine with both kinds, and some functions in its kernel. */
static void write_file(const char *folder, const char *name, const char *content)
{
	char path[TEST_PATH_BYTES + 64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(content, file);
	fclose(file);
}

static void functions_of_the_kernel_are_found(void **state)
{
	static const struct {
		const char *word;
		bool are_addresses;
		size_t num_sites;
		uint64_t last_offset;
		uint64_t config;
		const char *message; /* of what is wrong */
	} cases[] = {
		{"kprobe:vfs_read", false, 1, 0, 0, NULL},
		{"kretprobe:vfs_read", false, 1, 0, 1, NULL},
		{"kprobe:vfs_read+0x1f", false, 1, 0x1f, 0, NULL},
		{"kprobe:vfs_read+0x20", false, 0, 0, 0,
		 "vfs_read+0x20 is beyond the function, which has 0x20 bytes"},
		{"kprobe:twin+4", true, 2, 0xffffffff81000404, 0, NULL},
		{"kprobe:vfs_raed", false, 0, 0, 0, "did you mean 'vfs_read'?"},
		{"kprobe:vfs_read{arg9}", false, 0, 0, 0, "argument 9 of 'vfs_read'"},
	};
	struct fixture *fixture = *state;
	char folder[TEST_PATH_BYTES];
	char kallsyms[TEST_PATH_BYTES + 16];
	char command[TEST_PATH_BYTES + 64];
	struct event_paths paths = {.devices = folder};
	struct probe_search search = {.kallsyms = kallsyms};

	test_folder_make(folder);
	snprintf(kallsyms, sizeof(kallsyms), "%s/kallsyms", folder);
	snprintf(command, sizeof(command), "mkdir -p '%s/kprobe/format'", folder);
	assert_int_equal(system(command), 0);
	write_file(folder, "kprobe/type", "6\n");
	write_file(folder, "kprobe/format/retprobe", "config:0\n");
	write_file(folder, "kallsyms",
		   "ffffffff81000000 T vfs_read\n"
		   "ffffffff81000000 T alias\n"
		   "ffffffff81000020 t twin\n"
		   "ffffffff81000400 t twin\n"
		   "ffffffff81000500 T last\t[module]\n");
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct probe *probe;
		int err;

		assert_int_equal(parse(fixture, cases[i].word), 0);
		err = probes_locate(&paths, &search, &fixture->list, &fixture->error);
		probe = fixture->list.events.items[0].probe;
		if (err ? !cases[i].message || !strstr(fixture->error.message, cases[i].message)
			: cases[i].message != NULL)
			fail_msg("%s: %d: %s", cases[i].word, err, fixture->error.message);
		assert_int_equal(probe->sites.length, cases[i].num_sites);
		if (err)
			continue;
		assert_int_equal(fixture->list.events.items[0].type, 6);
		assert_int_equal(probe->are_addresses, cases[i].are_addresses);
		assert_int_equal(probe->sites.items[probe->sites.length - 1].offset,
				 cases[i].last_offset);
		assert_int_equal(probe->sites.items[0].config, cases[i].config);
	}
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(words_are_taken_apart),
		TEST(probes_stand_in_lists),
		TEST(names_of_cxx_and_rust_stand_in_lists),
		TEST(allocations_are_bytes_of_several_files),
		TEST(what_is_live_is_sampled_as_what_is_allocated),
		TEST(what_is_wrong_is_said),
		TEST(a_kernel_without_probes_is_named),
		TEST(functions_of_the_kernel_are_found),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
