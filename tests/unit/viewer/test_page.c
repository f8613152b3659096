#include "viewer/page.h"

#include <errno.h>
#include <stdlib.h>

#include <zlib.h>

#include "formats/native.h"
#include "formats/svg.h"
#include "viewer_fixture.h"

static int append(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

/* The data of the page's script element, unpacked: base64, then gzip. */
static struct text unpack(const char *start, const char *end)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	struct text packed = {0};
	struct text text = {0};
	static char room[1 << 20];
	z_stream stream = {0};
	uint32_t bits = 0;
	int num_bits = 0;

	for (const char *c = start; c < end; c++) {
		const char *digit = *c != '=' && *c ? strchr(digits, *c) : NULL;

		if (!digit)
			continue;
		bits = bits << 6 | (uint32_t)(digit - digits);
		num_bits += 6;
		if (num_bits >= 8) {
			num_bits -= 8;
			text_append_char(&packed, (char)(bits >> num_bits));
		}
	}
	stream.next_in = (unsigned char *)packed.data;
	stream.avail_in = (uInt)packed.length;
	stream.next_out = (unsigned char *)room;
	stream.avail_out = sizeof(room);
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	text_append(&text, room, stream.total_out);
	inflateEnd(&stream);
	text_release(&packed);
	return text;
}

static void page_carries_the_whole_profile(void **state)
{
	struct session *session = fixture_new("main;a;b 3\nmain;c_[k] 4\n");
	struct text page = {0};
	struct text wanted = {0};
	struct text data;
	struct sink sink = {append, &page};
	struct sink requested_sink = {append, &wanted};
	static const char tag[] = "id=\"profile\" data-name=\"a &quot;b&quot; &lt;c&gt;\">";
	const char *start;

	(void)state;
	if (!viewer_page_exists())
		skip();
	assert_int_equal(viewer_page_write(session_get_profile(session), "a \"b\" <c>", &sink), 0);
	start = strstr(page.data, tag);
	assert_non_null(start);
	start += strlen(tag);
	data = unpack(start, strstr(start, "</script>"));
	assert_int_equal(session_pack(session, &requested_sink), 0);
	assert_int_equal(data.length, wanted.length);
	assert_memory_equal(data.data, wanted.data, wanted.length);
	text_release(&data);
	text_release(&page);
	text_release(&wanted);
	session_free(session);
}

/* What the command line's reader makes of a page. */
static struct profile *read_page(const struct text *page)
{
	struct profile *profile = profile_new();
	struct import import = {
		.name = "page.html",
		.data = (const uint8_t *)page->data,
		.size = page->length,
		.profile = profile,
	};

	assert_int_equal(format_detect("x", import.data, import.size) == &format_page, true);
	assert_int_equal(profile_add_source(profile, STRING_EMPTY, &import.source), 0);
	assert_int_equal(format_html.read(&import), 0);
	return profile;
}

static void assert_named(const struct profile *profile, const struct svg_opts *svg,
			 const char *wanted)
{
	struct format_opts opts = {.svg = svg};
	struct text page = {0};
	struct sink sink = {append, &page};

	assert_int_equal(format_html.write(profile, &opts, &sink), 0);
	assert_non_null(strstr(page.data, wanted));
	text_release(&page);
}

static void page_of_a_recording_is_named_by_title_or_time(void **state)
{
	struct profile *profile = profile_new();
	struct sampling sampling = {.start_ns = 1700000000000000000, .duration_ns = 1};
	struct svg_opts svg = {.title = "night"};

	(void)state;
	if (!viewer_page_exists())
		skip();
	assert_named(profile, NULL, "id=\"profile\" data-name=\"profile\">");
	provenance_add_sampling(profile_get_provenance(profile), 0, &sampling);
	assert_named(profile, NULL, "id=\"profile\" data-name=\"recording of 2023-11-1");
	assert_named(profile, &svg, "id=\"profile\" data-name=\"night\">");
	profile_free(profile);
}

static void written_page_is_read_again_without_loss(void **state)
{
	struct session *session = fixture_new("main;a;b 3\nmain;c_[k] 4\n");
	struct text page = {0};
	struct text wanted = {0};
	struct text again = {0};
	struct sink sink = {append, &page};
	struct sink requested_sink = {append, &wanted};
	struct sink again_sink = {append, &again};
	struct native_opts opts = {0};
	struct profile *profile;

	(void)state;
	if (!viewer_page_exists())
		skip();
	fixture_open(session, "b \"2\" > <.folded", "main;d 5\n");
	assert_int_equal(viewer_page_write(session_get_profile(session), "a > b", &sink), 0);
	profile = read_page(&page);
	assert_int_equal(native_write(session_get_profile(session), &opts, &requested_sink), 0);
	assert_int_equal(native_write(profile, &opts, &again_sink), 0);
	assert_int_equal(again.length, wanted.length);
	assert_memory_equal(again.data, wanted.data, wanted.length);
	profile_free(profile);
	text_release(&page);
	text_release(&wanted);
	text_release(&again);
	session_free(session);
}

static void packed_profile_is_read_again_without_loss(void **state)
{
	struct session *session = fixture_new("main;a;b 3\nmain;c_[k] 4\n");
	struct session *other = session_new();
	struct text first = {0};
	struct text second = {0};
	struct sink first_sink = {append, &first};
	struct sink second_sink = {append, &second};
	struct error error = {0};
	uint32_t source;

	(void)state;
	assert_int_equal(session_pack(session, &first_sink), 0);
	assert_int_equal(
		session_import(other, &(struct session_input){"x", first.data, first.length, NULL},
			       &source, &error),
		0);
	fixture_query(other, NULL, FLAME_CALLEES, NULL);
	assert_int_equal(session_get_weights(other)->sum, 7);
	fixture_query(other, "c", FLAME_CALLEES, NULL);
	assert_int_equal(fixture_top(other, FLAME_CALLEES)->flags & NODE_KIND_MASK, FRAME_KERNEL);
	assert_int_equal(session_pack(other, &second_sink), 0);
	assert_true(second.length < first.length); /* it has a shorter name */
	text_release(&first);
	text_release(&second);
	session_free(session);
	session_free(other);
}

static void report_of_several_files_gives_these(void **state)
{
	struct session *session = fixture_new("main 3\n");
	struct session *other = session_new();
	struct text packed = {0};
	struct sink sink = {append, &packed};
	struct error error = {0};
	uint32_t source;

	(void)state;
	fixture_open(session, "b.folded", "main 4\n");
	assert_int_equal(session_pack(session, &sink), 0);
	assert_int_equal(
		session_import(other,
			       &(struct session_input){"report", packed.data, packed.length, NULL},
			       &source, &error),
		0);
	assert_int_equal(session_count_sources(other), 3);
	assert_true(session_get_source(other, 0)->is_gone);
	assert_int_equal(source, 1);
	assert_string_equal(session_get_source(other, 2)->name, "b.folded");
	session_get_source(other, 2)->side = SIDE_OFF;
	fixture_query(other, NULL, FLAME_CALLEES, NULL);
	assert_int_equal(session_get_weights(other)->sum, 3);
	text_release(&packed);
	session_free(session);
	session_free(other);
}

static void removed_files_are_not_packed_and_names_are(void **state)
{
	struct session *session = fixture_new("main 3\n");
	struct session *other = session_new();
	struct text packed = {0};
	struct sink sink = {append, &packed};
	struct error error = {0};
	uint32_t second = fixture_open(session, "secret.folded", "hidden 4\n");
	uint32_t third = fixture_open(session, "c.folded", "other 5\n");
	uint32_t source;

	(void)state;
	session_get_source(session, second)->is_gone = true;
	assert_int_equal(session_rename_source(session, third, "night"), 0);
	assert_int_equal(session_pack(session, &sink), 0);
	assert_null(memmem(packed.data, packed.length, "hidden", strlen("hidden")));
	assert_null(memmem(packed.data, packed.length, "secret", strlen("secret")));
	assert_int_equal(
		session_import(other,
			       &(struct session_input){"report", packed.data, packed.length, NULL},
			       &source, &error),
		0);
	assert_int_equal(session_count_sources(other), 3);
	assert_string_equal(session_get_source(other, 1)->name, "a.folded");
	assert_string_equal(session_get_source(other, 2)->name, "night");
	fixture_query(other, NULL, FLAME_CALLEES, NULL);
	assert_int_equal(session_get_weights(other)->sum, 8);
	text_release(&packed);
	session_free(session);
	session_free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_carries_the_whole_profile),
		cmocka_unit_test(page_of_a_recording_is_named_by_title_or_time),
		cmocka_unit_test(written_page_is_read_again_without_loss),
		cmocka_unit_test(packed_profile_is_read_again_without_loss),
		cmocka_unit_test(report_of_several_files_gives_these),
		cmocka_unit_test(removed_files_are_not_packed_and_names_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
