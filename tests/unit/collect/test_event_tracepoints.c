/* Tracepoints of a directory like tracefs: which match, what cannot be read, and how it is reported. */
#include "base/file.h"
#include "collect/kernel/name_list.h"

int read_of_test(int folder, const char *path, size_t limit_bytes, struct text *ret);
int list_of_test(const char *folder, struct name_list *ret);

#define file_read_at   read_of_test
#define name_list_read list_of_test
#include "collect/events/event_tracepoints.c"
#undef file_read_at
#undef name_list_read

#include "failing_memory.h"
#include "process/fake_proc.h"
#include "unit.h"

/* A path with this end cannot be read. */
static const char *unreadable;
static int read_error;

static bool is_unreadable(const char *path)
{
	return unreadable && strlen(path) >= strlen(unreadable) &&
	       string_equals(path + strlen(path) - strlen(unreadable), unreadable);
}

int read_of_test(int folder, const char *path, size_t limit_bytes, struct text *ret)
{
	assert_int_equal(limit_bytes, 1 << 20);
	return is_unreadable(path) ? read_error : file_read_at(folder, path, limit_bytes, ret);
}

int list_of_test(const char *folder, struct name_list *ret)
{
	return is_unreadable(folder) ? read_error : name_list_read(folder, ret);
}

#define FIELD(name, offset, size) \
	"\tfield:" name ";\toffset:" #offset ";\tsize:" #size ";\tsigned:0;\n"

static struct fake_proc tracing;
static struct event_list list_of_events;
static struct error error;

static void add_tracepoint(const char *name, const char *id, const char *format)
{
	char path[128];

	snprintf(path, sizeof(path), "events/%s/id", name);
	fake_proc_write(&tracing, path, id);
	snprintf(path, sizeof(path), "events/%s/format", name);
	fake_proc_write(&tracing, path, format);
}

static int set_up(void **state _unused_)
{
	tracing = fake_proc_new();
	unreadable = NULL;
	error.message[0] = '\0';
	fake_proc_write(&tracing, "events/enable", "0\n");
	fake_proc_write(&tracing, "events/sched/enable", "0\n");
	add_tracepoint("sched/switch", "311\n",
		       FIELD("int common_pid", 4, 4) FIELD("int first", 8, 4)
			       FIELD("char comm[16]", 16,
				     16) "\tfield:long sum;\toffset:32;\tsize:8;\tsigned:1;\n");
	add_tracepoint("sched/waking", "312\n", "");
	add_tracepoint("ftrace/print", "5\n", "");
	return 0;
}

static int tear_down(void **state _unused_)
{
	event_list_release(&list_of_events);
	fake_proc_remove(&tracing);
	return 0;
}

static int add_words(const char *pattern, const char *field, char *unit)
{
	const struct tracepoint_words words = {.pattern = pattern, .field = field, .unit = unit};

	event_list_release(&list_of_events);
	return event_tracepoints_add(tracing.root, &words, &list_of_events, &error);
}

static void assert_error(int err, int expected, const char *message)
{
	if (!strstr(error.message, message))
		print_message("%s\n", error.message);
	assert_int_equal(err, expected);
	assert_non_null(strstr(error.message, message));
	error.message[0] = '\0';
}

static const struct event *get_event(size_t number)
{
	assert_true(number < list_of_events.events.length);
	return &list_of_events.events.items[number];
}

static void a_pattern_is_of_those_that_match_in_order(void **state _unused_)
{
	assert_int_equal(add_words("sch*:*", NULL, NULL), 0);
	assert_int_equal(list_of_events.events.length, 2);
	assert_string_equal(get_event(0)->name, "sched:switch");
	assert_int_equal(get_event(0)->kind, EVENT_TRACEPOINT);
	assert_int_equal(get_event(0)->type, PERF_TYPE_TRACEPOINT);
	assert_int_equal(get_event(0)->config, 311);
	assert_string_equal(get_event(1)->name, "sched:waking");
	assert_int_equal(get_event(1)->config, 312);
	assert_int_equal(add_words("none:*", NULL, NULL), 0);
	assert_int_equal(list_of_events.events.length, 0);
	/* What ftrace writes itself. */
	assert_int_equal(add_words("*:print", NULL, NULL), 0);
	assert_int_equal(list_of_events.events.length, 0);
}

static void add_many(int first, int end)
{
	char name[32];

	for (int i = first; i < end; i++) {
		snprintf(name, sizeof(name), "many/event%02d", i);
		add_tracepoint(name, "1\n", "");
	}
}

static void a_recording_has_sixteen_at_most(void **state _unused_)
{
	const struct tracepoint_words one = {.pattern = "sched:switch"};

	add_many(0, 16);
	assert_int_equal(add_words("many:*", NULL, NULL), 0);
	assert_int_equal(list_of_events.events.length, 16);
	/* With those that are there already. */
	assert_error(event_tracepoints_add(tracing.root, &one, &list_of_events, &error), -E2BIG,
		     "'sched:switch' matches more than 16 tracepoints");
	add_many(16, 17);
	assert_error(add_words("many:*", NULL, NULL), -E2BIG, "more than 16");
	assert_int_equal(list_of_events.events.length, 16);
}

static void a_pattern_has_a_colon_and_a_subsystem(void **state _unused_)
{
	char pattern[NAME_MAX + 8];

	assert_error(add_words("switch", NULL, NULL), -EINVAL,
		     "'switch' is not a name of a tracepoint");
	assert_error(add_words("sched:switch:u", NULL, NULL), -EINVAL, "take no modifiers");
	memset(pattern, '*', sizeof(pattern));
	strcpy(pattern + NAME_MAX, ":wak*");
	assert_int_equal(add_words(pattern, NULL, NULL), 0);
	assert_int_equal(list_of_events.events.length, 1);
	strcpy(pattern + NAME_MAX, "*:*");
	assert_error(add_words(pattern, NULL, NULL), -EINVAL, "is not a name of a tracepoint");
}

static void a_field_that_can_be_summed_is_a_weight(void **state _unused_)
{
	char unit[] = "By";

	assert_int_equal(add_words("sched:switch", "sum", unit), 0);
	assert_string_equal(get_event(0)->name, "sched:switch{sum}");
	assert_string_equal(get_event(0)->unit, "bytes");
	assert_int_equal(get_event(0)->field_offset, 32);
	assert_int_equal(get_event(0)->field_bytes, 8);
	assert_true(get_event(0)->is_field_signed);
	/* Right behind what the kernel overwrites. */
	assert_int_equal(add_words("sched:switch", "first", NULL), 0);
	assert_int_equal(get_event(0)->field_offset, 8);
	assert_false(get_event(0)->is_field_signed);
	assert_error(add_words("sched:switch", "common_pid", NULL), -EINVAL,
		     "the field 'common_pid' of sched:switch is not a number");
	assert_error(add_words("sched:switch", "comm", NULL), -EINVAL, "is not a number");
	assert_error(add_words("sched:switch", "nothing", NULL), -EINVAL,
		     "sched:switch has no field 'nothing'");
	assert_error(add_words("sched:waking", "sum", NULL), -EINVAL, "has no field 'sum'");
}

static void a_number_that_cannot_be_read_is_an_error(void **state _unused_)
{
	static const char *const ids[] = {"", "\n", "x\n", "99999999999999999999\n"};
	uint64_t id = 7;

	for (size_t i = 0; i < ARRAY_LENGTH(ids); i++) {
		add_tracepoint("sched/broken", ids[i], "");
		assert_error(add_words("sched:broken", NULL, NULL), -EINVAL,
			     "sched:broken: cannot read its number");
		assert_error(event_tracepoint_find(tracing.root, "sched:broken", &id, &error),
			     -ENOTSUP, "this kernel has no tracepoint sched:broken");
	}
	assert_int_equal(event_tracepoint_find(tracing.root, "sched:switch", &id, &error), 0);
	assert_int_equal(id, 311);
	assert_error(event_tracepoint_find(tracing.root, "sched:none", &id, &error), -ENOTSUP,
		     "this kernel has no tracepoint sched:none");
}

static void what_may_not_be_read_takes_rights(void **state _unused_)
{
	static const int errors[] = {-EACCES, -EPERM};
	static const char *const paths[] = {"/events", "/events/sched", "/switch/id"};
	uint64_t id;

	for (size_t i = 0; i < ARRAY_LENGTH(errors); i++) {
		read_error = errors[i];
		for (size_t k = 0; k < ARRAY_LENGTH(paths); k++) {
			unreadable = paths[k];
			assert_error(add_words("sched:sw*", NULL, NULL), -EACCES,
				     "sched:sw*: not permitted to read tracepoints");
		}
		assert_error(event_tracepoint_find(tracing.root, "sched:switch", &id, &error),
			     -EACCES, "sched:switch: not permitted to read tracepoints");
	}
	/* That of another subsystem is in nobody's way. */
	unreadable = "/events/sched";
	add_many(0, 1);
	assert_int_equal(add_words("many:*", NULL, NULL), 0);
	assert_int_equal(list_of_events.events.length, 1);
	unreadable = "/events";
	read_error = -EIO;
	assert_int_equal(add_words("sched:*", NULL, NULL), -EIO);
	unreadable = "/events/sched";
	assert_int_equal(add_words("sched:*", NULL, NULL), -EIO);
}

static void without_tracefs_there_is_none(void **state _unused_)
{
	const struct tracepoint_words words = {.pattern = "sched:switch"};
	uint64_t id;

	assert_error(event_tracepoints_add(NULL, &words, &list_of_events, &error), -ENOTSUP,
		     "tracefs, which is not mounted");
	assert_error(event_tracepoint_find(NULL, "sched:switch", &id, &error), -ENOTSUP,
		     "sched:switch: tracepoints need tracefs");
}

static void a_field_of_a_known_tracepoint_is_found(void **state _unused_)
{
	struct event event = {0};
	uint16_t offset = 1;

	assert_int_equal(
		event_tracepoint_find_field(tracing.root, "sched:switch", "sum", &event, &error),
		0);
	assert_int_equal(event.field_offset, 32);
	assert_error(
		event_tracepoint_find_field(tracing.root, "sched:switch", "comm", &event, &error),
		-ENOTSUP, "sched:switch has no number 'comm' on this kernel");
	assert_int_equal(
		event_tracepoint_find_offset(tracing.root, "sched:switch", "comm", &offset, &error),
		0);
	assert_int_equal(offset, 16);
	assert_int_equal(event_tracepoint_find_offset(tracing.root, "sched:switch", "first",
						      &offset, &error),
			 0);
	assert_int_equal(offset, 8);
	assert_error(event_tracepoint_find_offset(tracing.root, "sched:switch", "common_pid",
						  &offset, &error),
		     -ENOTSUP, "sched:switch has no 'common_pid' on this kernel");
	assert_error(
		event_tracepoint_find_offset(tracing.root, "sched:none", "first", &offset, &error),
		-ENOTSUP, "sched:none has no 'first' on this kernel");
	assert_int_equal(offset, 8);
}

static int filter(struct event *event, const char *expression)
{
	return event_tracepoint_filter(tracing.root, expression, event, &error);
}

/* Further ones narrow it down. The name of the event may have a field, or be a word for the tracepoint. */
static void a_filter_is_over_the_fields_of_the_tracepoint(void **state _unused_)
{
	char named[] = "sched:switch{sum}";
	char word[] = "switches";
	struct event event = {.name = named, .config = 311};
	struct event other = {.name = word, .tracepoint = "sched:switch", .config = 311};
	const struct wire_filter_part *parts;
	struct event_filter *first;
	uint32_t num_parts;
	uint32_t num_more;

	assert_int_equal(filter(&event, "sum > 4"), 0);
	first = event.filter;
	(void)event_filter_get_parts(event.filter, &num_parts);
	assert_int_equal(filter(&event, "first < 9"), 0);
	assert_ptr_equal(event.filter, first);
	(void)event_filter_get_parts(event.filter, &num_more);
	assert_true(num_more > num_parts);
	assert_non_null(strstr(event_filter_get_text(event.filter), "sum > 4"));
	assert_error(filter(&event, "nothing > 4"), -EINVAL, "no field 'nothing'");
	/* Its number is what the records of the tracepoint say. */
	assert_int_equal(filter(&other, "common_type == 311"), 0);
	parts = event_filter_get_parts(other.filter, &num_parts);
	assert_int_equal(num_parts, 1);
	assert_int_equal(parts->predicate.kind, WIRE_PREDICATE_TYPE);
	assert_int_equal(parts->predicate.offset, 311);
	event_filter_free(event.filter);
	event_filter_free(other.filter);
}

static void a_format_that_cannot_be_read_has_no_filter(void **state _unused_)
{
	char name[] = "sched:switch";
	struct event event = {.name = name, .config = 311};

	unreadable = "/switch/format";
	read_error = -EACCES;
	assert_error(filter(&event, "sum > 4"), -EACCES,
		     "sched:switch: cannot read the fields for its filter");
	read_error = -ENOENT;
	assert_error(filter(&event, "sum > 4"), -EINVAL, "cannot read the fields for its filter");
	read_error = -ENOMEM;
	assert_int_equal(filter(&event, "sum > 4"), -ENOMEM);
	assert_null(event.filter);
}

static int filter_anew(void *context _unused_)
{
	char name[] = "sched:switch{sum}";
	struct event event = {.name = name, .config = 311};
	int err = filter(&event, "sum > 4");

	event_filter_free(event.filter);
	return err;
}

static int add_anew(void *context _unused_)
{
	char unit[] = "sectors";
	uint64_t id;
	uint16_t offset;
	struct event event;
	int err = add_words("sched:waking", NULL, NULL);

	if (err)
		return err;
	err = add_words("sched:sw*", "sum", unit);
	if (err)
		return err;
	err = event_tracepoint_find(tracing.root, "sched:switch", &id, &error);
	if (err)
		return err;
	err = event_tracepoint_find_field(tracing.root, "sched:switch", "sum", &event, &error);
	if (err)
		return err;
	return event_tracepoint_find_offset(tracing.root, "sched:switch", "sum", &offset, &error);
}

static void short_memory_is_an_error(void **state _unused_)
{
	failing_memory_try_all(filter_anew, NULL);
	failing_memory_try_all(add_anew, NULL);
}

/* Names, until one is the last. */
struct listing {
	char text[256];
	const char *last;
};

static int note(const char *name, void *context)
{
	struct listing *listing = context;

	strcat(strcat(listing->text, name), " ");
	return listing->last && string_equals(name, listing->last) ? 42 : 0;
}

static void all_are_listed_until_the_caller_has_enough(void **state _unused_)
{
	struct listing listing = {.text = ""};

	add_many(0, 2);
	assert_int_equal(event_tracepoints_list(tracing.root, note, &listing), 0);
	assert_string_equal(listing.text, "many:event00 many:event01 sched:switch sched:waking ");
	listing = (struct listing){.last = "many:event01"};
	assert_int_equal(event_tracepoints_list(tracing.root, note, &listing), 42);
	assert_string_equal(listing.text, "many:event00 many:event01 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pattern_is_of_those_that_match_in_order),
		TEST(a_recording_has_sixteen_at_most),
		TEST(a_pattern_has_a_colon_and_a_subsystem),
		TEST(a_field_that_can_be_summed_is_a_weight),
		TEST(a_number_that_cannot_be_read_is_an_error),
		TEST(what_may_not_be_read_takes_rights),
		TEST(without_tracefs_there_is_none),
		TEST(a_field_of_a_known_tracepoint_is_found),
		TEST(a_filter_is_over_the_fields_of_the_tracepoint),
		TEST(a_format_that_cannot_be_read_has_no_filter),
		TEST(short_memory_is_an_error),
		TEST(all_are_listed_until_the_caller_has_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
