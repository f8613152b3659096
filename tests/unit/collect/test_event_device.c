/* A device that counts events, as its directory describes it: bits, words that name others, values that are too large. */
#include "collect/events/event_device.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "failing_memory.h"
#include "process/fake_proc.h"
#include "unit.h"

static struct fake_proc devices;
static struct event event;
static struct error error;

static int set_up(void **state _unused_)
{
	devices = fake_proc_new();
	event = (struct event){0};
	error.message[0] = '\0';
	fake_proc_write(&devices, "cpu/type", "4\n");
	fake_proc_write(&devices, "cpu/format/event", "config:0-7,32-35\n");
	fake_proc_write(&devices, "cpu/format/inv", "config:23");
	fake_proc_write(&devices, "cpu/format/ldlat", "config1:0-15\n\n \n");
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_proc_remove(&devices);
	return 0;
}

static int configure_device(const char *device, const char *words)
{
	event = (struct event){0};
	return event_device_configure(devices.root, device, words, &event, &error);
}

static int configure(const char *words)
{
	return configure_device("cpu", words);
}

static void assert_config(const char *words, uint64_t config)
{
	int err = configure(words);

	if (err)
		print_message("%s: %s\n", words, error.message);
	assert_int_equal(err, 0);
	assert_true(event.config == config);
}

static void assert_error(int err, int expected, const char *message)
{
	if (!strstr(error.message, message))
		print_message("%s\n", error.message);
	assert_int_equal(err, expected);
	assert_non_null(strstr(error.message, message));
	error.message[0] = '\0';
}

static void set_format(const char *format)
{
	fake_proc_write(&devices, "cpu/format/x", format);
}

static void a_value_goes_into_its_bits_the_lowest_first(void **state _unused_)
{
	assert_config("event=0x13c", 0x3c | 1ull << 32);
	assert_config("event=0xfff,event=0x1", 0x1);
	assert_config("inv,event=0xff", 1 << 23 | 0xff);
	assert_config("ldlat=0xffff", 0);
	assert_int_equal(event.config1, 0xffff);
	set_format("config2:4");
	assert_config("x", 0);
	assert_int_equal(event.config2, 1 << 4);
	set_format("config:63");
	assert_config("x", 1ull << 63);
	set_format("config:60-63,0-59");
	assert_config("x=0xfedcba9876543210", 0xfedcba987654321);
}

static void all_bits_may_be_one_value(void **state _unused_)
{
	set_format("config:0-63");
	assert_config("x=0xfedcba9876543210", 0xfedcba9876543210);
	assert_config("config=7,x=0", 0);
}

static void what_does_not_fit_is_refused(void **state _unused_)
{
	assert_config("event=0xfff", 0xf000000ff);
	assert_error(configure("event=0x1000"), -EINVAL,
		     "cpu/event=0x1000/: number too large for the device");
	assert_error(configure("inv=2"), -EINVAL, "number too large");
	set_format("config:3-4");
	assert_config("x=3", 3 << 3);
	assert_error(configure("x=4"), -EINVAL, "number too large");
}

/* Also a description of the kernel's that is not understood. */
static void a_description_has_a_form(void **state _unused_)
{
	static const char *const formats[] = {
		"",           "\n",          "config",        "config:",     "config:x",
		"config:5-3", "config:0-64", "config:64",     "config7:0-3", "conf:0-3",
		"config11:1", "config:0-3x", "config:0-3 ,8", "config:0-3,", "config:-3",
		"0-3",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
		set_format(formats[i]);
		assert_error(configure("x=0"), -EINVAL, "cpu/x/: unknown word for the device");
	}
	assert_error(configure("nothing=1"), -EINVAL, "cpu/nothing/: unknown word");
	/* No file of another directory. */
	fake_proc_write(&devices, "cpu/format/.hidden", "config:0\n");
	fake_proc_write(&devices, "cpu/word", "config:0\n");
	assert_error(configure(".hidden"), -EINVAL, "unknown word");
	assert_error(configure("../word"), -EINVAL, "unknown word");
	fake_proc_write(&devices, "cpu/format/deep/word", "config:0\n");
	assert_error(configure("deep/word"), -EINVAL, "unknown word");
}

static void a_value_is_a_number(void **state _unused_)
{
	static const char *const words[] = {"event=", "event=x", "event=1x", "event=-1",
					    "event=0x10000000000000000"};

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
		assert_error(configure(words[i]), -EINVAL, "is not a number");
	assert_config("config=0xffffffffffffffff", UINT64_MAX);
	assert_config("event=010", 8);
	assert_error(configure("config"), -EINVAL, "unknown word");
}

static void words_may_be_empty(void **state _unused_)
{
	assert_config("", 0);
	assert_config(",event=1,,", 1);
}

static void a_word_may_name_an_event_which_names_others(void **state _unused_)
{
	fake_proc_write(&devices, "cpu/events/at-1", "event=0x7,inv\n");
	fake_proc_write(&devices, "cpu/events/at-2", "at-1\n");
	fake_proc_write(&devices, "cpu/events/at-3", "at-2\n");
	fake_proc_write(&devices, "cpu/events/at-4", "at-3,event=0x9\n");
	fake_proc_write(&devices, "cpu/events/at-5", "at-4\n");
	assert_config("at-1", 0x7 | 1 << 23);
	assert_config("at-4", 0x9 | 1 << 23);
	assert_config("at-4,event=0x2", 0x2 | 1 << 23);
	assert_error(configure("at-5"), -EINVAL, "cpu/at-1/: unterminated description");
}

/* A description of the kernel's has a page at most. */
static void a_description_has_a_length(void **state _unused_)
{
	char *text = calloc(1, 4098);

	memset(text, ',', 4096);
	memcpy(text, "inv", 3);
	fake_proc_write(&devices, "cpu/events/long", text);
	assert_config("long", 1 << 23);
	text[4096] = ',';
	fake_proc_write(&devices, "cpu/events/long", text);
	assert_error(configure("long"), -EINVAL, "unknown word");
	free(text);
}

static void a_device_is_a_directory_with_a_type(void **state _unused_)
{
	static const char *const devices_of_none[] = {"", ".", "..", "gpu", "cpu/format", ".cpu"};

	fake_proc_write(&devices, "type", "4\n");
	fake_proc_write(&devices, ".cpu/type", "4\n");
	fake_proc_write(&devices, "cpu/format/type", "4\n");
	for (size_t i = 0; i < ARRAY_LENGTH(devices_of_none); i++)
		assert_error(configure_device(devices_of_none[i], "config=1"), -ENOTSUP,
			     "no device '");
	assert_int_equal(configure("config=1"), 0);
	assert_int_equal(event.type, 4);
}

static void a_type_is_a_number(void **state _unused_)
{
	static const char *const types[] = {"x\n", "4x\n", "4294967296\n",
					    "99999999999999999999\n"};

	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		fake_proc_write(&devices, "cpu/type", types[i]);
		assert_error(configure("config=1"), -ENOTSUP, ", not a number");
	}
	fake_proc_write(&devices, "cpu/type", "4294967295\n");
	assert_int_equal(configure("config=1"), 0);
	assert_true(event.type == UINT32_MAX);
}

static void a_word_that_is_too_long_for_a_path_is_none(void **state _unused_)
{
	char *word = malloc(2 * PATH_MAX);

	memset(word, 'a', 2 * PATH_MAX);
	word[2 * PATH_MAX - 1] = '\0';
	assert_int_equal(configure(word), -EINVAL);
	assert_int_equal(configure_device(word, "config=1"), -ENOTSUP);
	free(word);
}

static int configure_anew(void *context _unused_)
{
	return configure("name,event=1,ldlat=3");
}

static void short_memory_is_an_error(void **state _unused_)
{
	fake_proc_write(&devices, "cpu/events/name", "inv,event=0x7\n");
	failing_memory_try_all(configure_anew, NULL);
}

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

static int list_anew(void *context _unused_)
{
	struct listing listing = {.text = ""};

	return event_device_list(devices.root, "power", note, &listing);
}

/* Beside an event are files with its unit and scale. */
static void events_of_a_device_are_listed(void **state _unused_)
{
	struct listing listing = {.text = ""};

	assert_int_equal(event_device_list(devices.root, "cpu", note, &listing), 0);
	assert_string_equal(listing.text, "");
	fake_proc_write(&devices, "power/events/energy-cores", "event=1\n");
	fake_proc_write(&devices, "power/events/energy-cores.unit", "Joules\n");
	fake_proc_write(&devices, "power/events/energy-gpu", "event=2\n");
	assert_int_equal(event_device_list(devices.root, "power", note, &listing), 0);
	assert_string_equal(listing.text, "power/energy-cores/ power/energy-gpu/ ");
	listing = (struct listing){.last = "power/energy-cores/"};
	assert_int_equal(event_device_list(devices.root, "power", note, &listing), 42);
	assert_string_equal(listing.text, "power/energy-cores/ ");
	failing_memory_try_all(list_anew, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_value_goes_into_its_bits_the_lowest_first),
		TEST(all_bits_may_be_one_value),
		TEST(what_does_not_fit_is_refused),
		TEST(a_description_has_a_form),
		TEST(a_value_is_a_number),
		TEST(words_may_be_empty),
		TEST(a_word_may_name_an_event_which_names_others),
		TEST(a_description_has_a_length),
		TEST(a_device_is_a_directory_with_a_type),
		TEST(a_type_is_a_number),
		TEST(a_word_that_is_too_long_for_a_path_is_none),
		TEST(short_memory_is_an_error),
		TEST(events_of_a_device_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
