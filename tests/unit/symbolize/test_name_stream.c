#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/text.h"
#include "symbolize/name_stream.h"
#include "unit.h"

#define IN_FILE    0
#define IN_KERNEL  1
#define IN_PROCESS 2

/* The same profile on both sides, as after a fork. */
struct scene {
	struct profile *theirs;
	struct profile *ours;
	int fds[2];                 /* [0] theirs */
	struct name_writer *writer; /* started before anything has a name */
	struct names names;
};

static struct profile *make_profile(void)
{
	struct profile *profile = profile_new();
	struct module module = {0};
	uint32_t id;

	assert_non_null(profile);
	assert_int_equal(profile_add_string(profile, "/usr/bin/program", &module.path), 0);
	assert_int_equal(profile_add_module(profile, &module, &id), 0);
	assert_int_equal(profile_add_location(profile, LOCATION_FILE, id, 0x1000, &id), 0);
	assert_int_equal(id, IN_FILE);
	assert_int_equal(profile_add_location(profile, LOCATION_KERNEL, 0, 0x2000, &id), 0);
	assert_int_equal(profile_add_location(profile, LOCATION_PROCESS, 0, 0x3000, &id), 0);
	assert_int_equal(id, IN_PROCESS);
	return profile;
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	scene->theirs = make_profile();
	scene->ours = make_profile();
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, scene->fds), 0);
	scene->writer = name_writer_new(scene->fds[0], scene->theirs);
	assert_non_null(scene->writer);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	name_writer_free(scene->writer);
	profile_free(scene->theirs);
	profile_free(scene->ours);
	cleanup_closep(&scene->fds[0]);
	cleanup_closep(&scene->fds[1]);
	names_release(&scene->names);
	free(scene);
	return 0;
}

static struct frame make_frame(struct profile *profile, const char *name, enum frame_kind kind)
{
	struct frame frame = {.kind = (uint8_t)kind, .line = 42};

	assert_int_equal(profile_add_frame_name(profile, name, strlen(name), &frame.name), 0);
	assert_int_equal(profile_add_string(profile, name, &frame.full_name), 0);
	assert_int_equal(profile_add_string(profile, "program", &frame.module), 0);
	assert_int_equal(profile_add_string(profile, "main.c", &frame.file), 0);
	return frame;
}

static void name(struct scene *scene, uint32_t location, const char *name, enum frame_kind kind)
{
	struct frame frame = make_frame(scene->theirs, name, kind);

	assert_int_equal(profile_set_frames(scene->theirs, location, &frame, 1, UNNAMED_NOT), 0);
}

static void send_locations(struct scene *scene, const uint32_t *locations, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(name_writer_add_location(scene->writer, locations[i]), 0);
	assert_int_equal(name_writer_flush(scene->writer), 0);
	assert_false(name_writer_has_unsent(scene->writer));
}

static void receive(struct scene *scene)
{
	cleanup_closep(&scene->fds[0]);
	scene->fds[0] = -1;
	assert_int_equal(names_read(scene->fds[1], scene->ours, NULL, NULL, &scene->names), 0);
}

static const char *get_name(const struct profile *profile, uint32_t id, uint32_t index)
{
	const struct location *location = profile_get_location(profile, id);

	assert_true(index < location->num_frames);
	return profile_get_string(profile,
				  profile_get_frame(profile, location->first_frame + index)->name);
}

static void frames_arrive_as_they_were(void **state)
{
	static const uint32_t locations[] = {IN_FILE, IN_KERNEL, IN_PROCESS};
	struct scene *scene = *state;
	struct frame frames[2];
	const struct location *location;
	const struct frame *frame;

	frames[0] = make_frame(scene->theirs, "inlined;call", FRAME_USER);
	frames[0].is_inlined = true;
	frames[1] = make_frame(scene->theirs, "main", FRAME_USER);
	assert_int_equal(profile_set_frames(scene->theirs, IN_FILE, frames, 2, UNNAMED_NOT), 0);
	profile_mark_sizeless(scene->theirs, IN_FILE);
	profile_set_elf_address(scene->theirs, IN_FILE, 0x401000);
	name(scene, IN_KERNEL, "do_syscall_64", FRAME_KERNEL);
	frames[0] = make_frame(scene->theirs, "[anon]", FRAME_USER);
	assert_int_equal(
		profile_set_frames(scene->theirs, IN_PROCESS, frames, 1, UNNAMED_NO_SYMBOL), 0);
	send_locations(scene, locations, ARRAY_LENGTH(locations));
	receive(scene);

	assert_false(scene->names.is_damaged);
	location = profile_get_location(scene->ours, IN_FILE);
	assert_int_equal(location->num_frames, 2);
	assert_true(location->is_sizeless);
	assert_true(location->has_elf_address);
	assert_int_equal(location->elf_address, 0x401000);
	assert_string_equal(get_name(scene->ours, IN_FILE, 0), get_name(scene->theirs, IN_FILE, 0));
	assert_string_equal(get_name(scene->ours, IN_FILE, 1), "main");
	frame = profile_get_frame(scene->ours, location->first_frame);
	assert_true(frame->is_inlined);
	assert_int_equal(frame->line, 42);
	assert_string_equal(profile_get_string(scene->ours, frame->full_name), "inlined;call");
	assert_string_equal(profile_get_string(scene->ours, frame->module), "program");
	assert_string_equal(profile_get_string(scene->ours, frame->file), "main.c");
	assert_string_equal(get_name(scene->ours, IN_KERNEL, 0), "do_syscall_64");
	assert_int_equal(profile_get_location(scene->ours, IN_PROCESS)->unnamed_reason,
			 UNNAMED_NO_SYMBOL);
}

static void another_writer_goes_on(void **state)
{
	static const uint32_t first[] = {IN_FILE};
	static const uint32_t second[] = {IN_FILE, IN_KERNEL};
	struct scene *scene = *state;

	name(scene, IN_FILE, "first", FRAME_USER);
	send_locations(scene, first, ARRAY_LENGTH(first));
	name_writer_free(scene->writer);
	profile_free(scene->theirs);
	scene->theirs = make_profile();
	scene->writer = name_writer_new(scene->fds[0], scene->theirs);
	assert_non_null(scene->writer);
	name(scene, IN_FILE, "second", FRAME_USER);
	name(scene, IN_KERNEL, "schedule", FRAME_KERNEL);
	send_locations(scene, second, ARRAY_LENGTH(second));
	receive(scene);
	assert_false(scene->names.is_damaged);
	assert_string_equal(get_name(scene->ours, IN_FILE, 0), "first");
	assert_string_equal(get_name(scene->ours, IN_KERNEL, 0), "schedule");
}

static void long_names_are_truncated(void **state)
{
	static const uint32_t locations[] = {IN_FILE};
	struct scene *scene = *state;
	struct text longer = {0};
	const char *got;

	for (size_t i = 0; i < 3 * NAME_STREAM_MAX_NAME_BYTES; i++)
		text_append_char(&longer, 'x');
	name(scene, IN_FILE, longer.data, FRAME_USER);
	send_locations(scene, locations, ARRAY_LENGTH(locations));
	receive(scene);
	got = get_name(scene->ours, IN_FILE, 0);
	assert_int_equal(strlen(got), NAME_STREAM_MAX_NAME_BYTES);
	assert_true(string_ends_with(got, "x..."));
	text_release(&longer);
}

static void note_progress(uint32_t num_done, uint32_t num_total, void *context)
{
	uint32_t *seen = context;

	seen[0] = num_done;
	seen[1] = num_total;
}

static void progress_and_outermost_functions_are_reported(void **state)
{
	struct scene *scene = *state;
	uint32_t seen[2] = {0};

	assert_int_equal(name_writer_add_progress(scene->writer, 7, 9), 0);
	assert_int_equal(name_writer_add_outermost(scene->writer, IN_FILE), 0);
	assert_int_equal(name_writer_flush(scene->writer), 0);
	cleanup_closep(&scene->fds[0]);
	scene->fds[0] = -1;
	assert_int_equal(names_read(scene->fds[1], scene->ours, note_progress, seen, &scene->names),
			 0);
	assert_int_equal(seen[0], 7);
	assert_int_equal(seen[1], 9);
	assert_true(names_are_outermost(&scene->names, IN_FILE));
	assert_false(names_are_outermost(&scene->names, IN_KERNEL));
	assert_false(names_are_outermost(&scene->names, 1000));
}

/* ---- damage ---- */

static void put_u8(struct text *message, uint8_t value)
{
	text_append(message, &value, sizeof(value));
}

static void put_u32(struct text *message, uint32_t value)
{
	text_append(message, &value, sizeof(value));
}

static void put_string(struct text *message, const char *bytes, uint32_t length)
{
	put_u8(message, 2);
	put_u32(message, length);
	text_append(message, bytes, length);
}

struct bad_location {
	uint32_t id;
	uint8_t reason;
	uint8_t num_frames;
	uint32_t string;
	uint8_t kind;
};

static void put_location(struct text *message, const struct bad_location *bad)
{
	put_u8(message, 3);
	put_u32(message, bad->id);
	put_u8(message, bad->reason);
	put_u8(message, 0);
	put_u8(message, 0); /* without an ELF address, which is 0 then */
	put_u32(message, 0);
	put_u32(message, 0);
	put_u8(message, bad->num_frames);
	for (uint8_t i = 0; i < bad->num_frames; i++) {
		for (int k = 0; k < 4; k++)
			put_u32(message, bad->string);
		put_u32(message, 1);
		put_u8(message, bad->kind);
		put_u8(message, 0);
	}
}

/* A good location comes before it, and one that is good, too, after it. */
static void assert_damaged(struct scene *scene, const struct text *bad)
{
	struct names names = {0};
	struct profile *profile = make_profile();
	struct name_reader reader = {.profile = profile, .names = &names};
	uint32_t num_strings = profile_count_strings(profile);
	struct text message = {0};

	put_u8(&message, 1);
	put_u32(&message, num_strings);
	put_string(&message, "good", 4);
	put_location(&message, &(struct bad_location){IN_KERNEL, 0, 1, num_strings, FRAME_KERNEL});
	text_append(&message, bad->data, bad->length);
	put_location(&message, &(struct bad_location){IN_FILE, 0, 1, num_strings, FRAME_USER});
	assert_int_equal(name_reader_read(&reader, message.data, message.length), -EBADMSG);
	assert_string_equal(get_name(profile, IN_KERNEL, 0), "good");
	assert_int_equal(profile_get_location(profile, IN_FILE)->num_frames, 0);
	name_reader_release(&reader);
	names_release(&names);
	profile_free(profile);
	/* Over a socket: the names before it stay, and it is reported. */
	assert_int_equal(send(scene->fds[0], message.data, message.length, 0), message.length);
	assert_int_equal(send(scene->fds[0], message.data, message.length, 0), message.length);
	shutdown(scene->fds[0], SHUT_WR);
	assert_int_equal(names_read(scene->fds[1], scene->ours, NULL, NULL, &scene->names), 0);
	assert_true(scene->names.is_damaged);
	assert_string_equal(get_name(scene->ours, IN_KERNEL, 0), "good");
	text_release(&message);
	tear_down((void *[]){scene});
}

static struct scene *make_scene(void)
{
	void *scene;

	assert_int_equal(set_up(&scene), 0);
	return scene;
}

static void assert_bad_location(const struct bad_location *bad)
{
	struct text record = {0};

	put_location(&record, bad);
	assert_damaged(make_scene(), &record);
	text_release(&record);
}

static void locations_that_cannot_be_are_refused(void **state _unused_)
{
	assert_bad_location(&(struct bad_location){3, 0, 1, 0, FRAME_USER});
	assert_bad_location(&(struct bad_location){UINT32_MAX, 0, 1, 0, FRAME_USER});
	assert_bad_location(&(struct bad_location){IN_FILE, NUM_UNNAMED_REASONS, 1, 0, FRAME_USER});
	assert_bad_location(&(struct bad_location){IN_FILE, 0, 0, 0, FRAME_USER});
	assert_bad_location(&(struct bad_location){IN_FILE, 0, 65, 0, FRAME_USER});
	assert_bad_location(&(struct bad_location){IN_FILE, 0, 1, 100, FRAME_USER});
	assert_bad_location(&(struct bad_location){IN_FILE, 0, 1, UINT32_MAX, FRAME_USER});
	assert_bad_location(&(struct bad_location){IN_FILE, 0, 1, 0, NUM_FRAME_KINDS});
	assert_bad_location(&(struct bad_location){IN_FILE, 0, 1, 0, FRAME_KERNEL});
	assert_bad_location(&(struct bad_location){IN_PROCESS, 0, 1, 0, FRAME_KERNEL});
}

static void strings_that_cannot_be_are_refused(void **state _unused_)
{
	struct text record = {0};

	put_string(&record, "a\0b", 3);
	assert_damaged(make_scene(), &record);
	text_truncate(&record, 0);
	put_u8(&record, 2);
	put_u32(&record, 1u << 20);
	assert_damaged(make_scene(), &record);
	text_truncate(&record, 0);
	put_u8(&record, 2);
	put_u32(&record, NAME_STREAM_MAX_NAME_BYTES);
	assert_damaged(make_scene(), &record);
	text_release(&record);
}

static void what_is_no_record_is_refused(void **state _unused_)
{
	static const uint8_t kinds[] = {0, 7, 255};
	struct text record = {0};

	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
		text_truncate(&record, 0);
		put_u8(&record, kinds[i]);
		assert_damaged(make_scene(), &record);
	}
	text_truncate(&record, 0);
	put_u8(&record, 1);
	put_u32(&record, UINT32_MAX); /* strings that the profile does not have */
	assert_damaged(make_scene(), &record);
	text_truncate(&record, 0);
	put_u8(&record, 4);
	put_u32(&record, 3); /* an outermost location that is none */
	assert_damaged(make_scene(), &record);
	text_release(&record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(frames_arrive_as_they_were, set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_writer_goes_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_names_are_truncated, set_up, tear_down),
		cmocka_unit_test_setup_teardown(progress_and_outermost_functions_are_reported,
						set_up, tear_down),
		cmocka_unit_test(locations_that_cannot_be_are_refused),
		cmocka_unit_test(strings_that_cannot_be_are_refused),
		cmocka_unit_test(what_is_no_record_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
