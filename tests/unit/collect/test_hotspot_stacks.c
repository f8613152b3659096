/* Methods of Java in the place of the levels of a native stack. */
#include "collect/runtimes/runtime_ops.h"

#include <stdio.h>
#include <string.h>

#include "collect/runtimes/hotspot_inlines.h"
#include "process/process_image.h"
#include "unit.h"

#define PID           7
#define GENERATION    3
#define BLOB          0x7f0000001000ull
#define METHOD        0x7f0000200000ull
#define INTERPRETED   0x7f0000200100ull
#define NUM_BYTECODES 20

#define NUM_INLINED 100

/* Into code: what the functions below, which are in the place of those that read its memory, say of it. */
static uint32_t num_inlined;
static bool chain_may_lack_inlined;
static uint64_t unreadable_method;
static bool was_call; /* whether it was asked last for a return address */

/* It is the methods of the stacks. */
struct hotspot_inlines *hotspot_inlines_new(struct hotspot_layouts *hotspots _unused_,
					    struct hotspot_methods *methods)
{
	return (struct hotspot_inlines *)methods;
}

void hotspot_inlines_free(struct hotspot_inlines *inlines _unused_)
{
}

uint64_t hotspot_inlines_get_dropped(const struct hotspot_inlines *inlines _unused_)
{
	return 0;
}

static uint64_t get_inlined(uint32_t number)
{
	return METHOD + 0x1000ull * (number + 1);
}

int hotspot_inlines_find(struct hotspot_inlines *inlines _unused_,
			 const struct process *process _unused_, const struct hotspot_method *code,
			 uint64_t pc, bool is_call, struct hotspot_scope_chain *ret)
{
	assert_int_equal(pc & WIRE_PC_MARKS, 0);
	was_call = is_call;
	assert_int_equal(code->code, BLOB);
	ret->may_lack_inlined = chain_may_lack_inlined;
	ret->num_scopes = num_inlined ? num_inlined + 1 : 0;
	for (uint32_t i = 0; i < num_inlined; i++)
		ret->scopes[i] = (struct hotspot_scope){.method = get_inlined(i), .bytecode = 0};
	ret->scopes[num_inlined] = (struct hotspot_scope){.method = METHOD, .bytecode = 6};
	return 0;
}

static void put_text(struct wire_hotspot_text *ret, wire_u8 *bytes, const char *text)
{
	ret->length = ret->num_bytes = (wire_u16)strlen(text);
	memcpy(bytes, text, strlen(text));
}

/* It has not been seen before: it is added. */
const struct hotspot_method *hotspot_inlines_get_method(struct hotspot_inlines *inlines,
							const struct process *process _unused_,
							const struct hotspot_method *code,
							uint64_t method)
{
	struct hotspot_methods *methods = (struct hotspot_methods *)inlines;
	struct wire_hotspot_method record = {
		.type = WIRE_RUNTIME_CODE,
		.runtime = WIRE_RUNTIME_HOTSPOT,
		.pid = code->pid,
		.generation = code->generation,
		.code = method,
		.method = method,
		.major = 17,
	};
	char name[16];

	assert_int_equal(code->code, BLOB);
	if (method == unreadable_method)
		return NULL;
	snprintf(name, sizeof(name), "m%u", (unsigned int)((method - METHOD) / 0x1000 - 1));
	put_text(&record.class_name, record.class_text, "Main");
	put_text(&record.name, record.name_text, name);
	put_text(&record.file, record.file_text, "Main.java");
	assert_int_equal(hotspot_methods_add(methods, &record), 0);
	return hotspot_methods_find(methods, record.pid, record.generation, method, 0);
}

struct scene {
	struct profile *profile;
	struct hotspot_layouts *hotspots;
	struct runtime_sources sources;
	void *stacks;
	struct process_image image;
	struct runtime_sample source;
	uint64_t pcs[WIRE_MAX_FRAMES];
	struct runtime_level levels[RUNTIME_MAX_LEVELS];
	uint32_t num_levels;
	struct runtime_verdict verdict;
};

static struct scene *scene_new(enum runtime_frames shown)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	num_inlined = 0;
	chain_may_lack_inlined = false;
	unreadable_method = 0;
	scene->profile = profile_new();
	assert_non_null(scene->profile);
	scene->hotspots = hotspot_layouts_new(NULL, NULL); /* it has no mappings */
	assert_non_null(scene->hotspots);
	scene->sources.hotspots = scene->hotspots;
	scene->stacks = hotspot_stack_ops.create(
		&(struct runtime_context){
			.profile = scene->profile, .sources = &scene->sources, .shown = shown},
		WIRE_RUNTIME_HOTSPOT);
	assert_non_null(scene->stacks);
	scene->image.process.pid = PID;
	scene->source = (struct runtime_sample){
		.process = &scene->image.process, .generation = GENERATION, .is_whole = true};
	return scene;
}

static void scene_free(struct scene *scene)
{
	hotspot_stack_ops.free(scene->stacks);
	hotspot_layouts_free(scene->hotspots);
	profile_free(scene->profile);
	free(scene);
}

/* Its bytecodes before the fifth are of line 7, the others of line 9. */
static void add_method(struct scene *scene, uint64_t code, const char *class_name, const char *name,
		       const char *file)
{
	static const wire_u8 lines[] = {0 << 3 | 7, 5 << 3 | 2, 0};
	struct wire_hotspot_method record = {
		.type = WIRE_RUNTIME_CODE,
		.runtime = WIRE_RUNTIME_HOTSPOT,
		.pid = PID,
		.generation = GENERATION,
		.code = code,
		.fingerprint = 1,
		.method = METHOD,
		.code_bytes = NUM_BYTECODES,
		.num_line_bytes = sizeof(lines),
		.major = 17,
	};

	put_text(&record.class_name, record.class_text, class_name);
	put_text(&record.name, record.name_text, name);
	put_text(&record.file, record.file_text, file);
	memcpy(record.lines, lines, sizeof(lines));
	assert_int_equal(hotspot_stack_ops.add_code(scene->stacks, &record), 0);
}

static struct wire_runtime_frame compiled(uint32_t level)
{
	return (struct wire_runtime_frame){BLOB, 1, level};
}

static struct wire_runtime_frame interpreted(uint32_t level, uint32_t bytecode)
{
	return (struct wire_runtime_frame){INTERPRETED, 1,
					   WIRE_HOTSPOT_INTERPRETED |
						   bytecode << WIRE_HOTSPOT_LEVEL_BITS | level};
}

static void add_methods(struct scene *scene)
{
	add_method(scene, BLOB, "java/util/Map", "put", "Map.java");
	add_method(scene, INTERPRETED, "Main", "run", "Main.java");
}

static void splice_list(struct scene *scene, const struct runtime_frame_list *list,
			uint32_t num_pcs)
{
	struct runtime_splice splice = {.source = &scene->source,
					.frames = *list,
					.pcs = scene->pcs,
					.num_pcs = num_pcs,
					.levels = scene->levels};

	assert_int_equal(hotspot_stack_ops.splice(scene->stacks, &splice), 0);
	scene->num_levels = splice.num_levels;
	scene->verdict = splice.verdict;
}

static void splice(struct scene *scene, const struct wire_runtime_frame *frames, uint32_t length,
		   enum wire_runtime_end end, uint32_t num_pcs)
{
	splice_list(
		scene,
		&(struct runtime_frame_list){
			.items = frames, .length = length, .end = (uint8_t)end, .have_come = true},
		num_pcs);
}

static void expect_native(const struct scene *scene, uint32_t level, uint32_t pc)
{
	assert_true(level < scene->num_levels);
	assert_int_equal(scene->levels[level].pc, pc);
}

static void expect_frame(const struct scene *scene, uint32_t level, const char *name,
			 const char *file, uint32_t line)
{
	const struct location *location;
	const struct frame *frame;

	assert_true(level < scene->num_levels);
	assert_int_equal(scene->levels[level].pc, RUNTIME_LEVEL_FRAME);
	location = profile_get_location(scene->profile, scene->levels[level].location);
	frame = profile_get_frame(scene->profile, location->first_frame);
	assert_int_equal(frame->kind, FRAME_JAVA);
	assert_string_equal(profile_get_string(scene->profile, frame->name), name);
	assert_string_equal(profile_get_string(scene->profile, frame->module), file);
	assert_string_equal(profile_get_string(scene->profile, frame->file), file);
	assert_int_equal(frame->line, line);
}

static void methods_come_in_the_place_of_their_levels(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	const struct wire_runtime_frame frames[] = {compiled(1), interpreted(2, 0),
						    interpreted(4, 6)};

	add_methods(scene);
	splice(scene, frames, 3, WIRE_RUNTIME_COMPLETE, 6);
	assert_int_equal(scene->verdict.fit, RUNTIME_FITS);
	assert_int_equal(scene->num_levels, 6);
	expect_native(scene, 0, 0);
	expect_frame(scene, 1, "java.util.Map.put", "Map.java", 0);
	expect_frame(scene, 2, "Main.run", "Main.java", 7);
	expect_native(scene, 3, 3);
	expect_frame(scene, 4, "Main.run", "Main.java", 9);
	expect_native(scene, 5, 5);
	scene_free(scene);
}

/* Adding them moves all that are known, of which the code they are in is one. */
static void methods_that_are_inlined_are_added_and_their_code_stays(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	const struct wire_runtime_frame frames[] = {compiled(0)};

	add_methods(scene);
	num_inlined = NUM_INLINED;
	splice(scene, frames, 1, WIRE_RUNTIME_COMPLETE, 1);
	assert_int_equal(scene->num_levels, NUM_INLINED + 1);
	for (uint32_t i = 0; i < NUM_INLINED; i++) {
		char name[16];

		snprintf(name, sizeof(name), "Main.m%u", i);
		expect_frame(scene, i, name, "Main.java", 0);
	}
	expect_frame(scene, NUM_INLINED, "java.util.Map.put", "Map.java", 9);
	assert_false(scene->verdict.may_lack_inlined);
	scene_free(scene);
}

static void a_stack_may_lack_methods_whose_place_or_name_is_unknown(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	const struct wire_runtime_frame frames[] = {compiled(0), interpreted(1, 0)};

	add_methods(scene);
	/* An interpreted method has no inlined ones. */
	chain_may_lack_inlined = true;
	splice(scene, frames + 1, 1, WIRE_RUNTIME_COMPLETE, 2);
	assert_false(scene->verdict.may_lack_inlined);
	splice(scene, frames, 2, WIRE_RUNTIME_COMPLETE, 2);
	assert_true(scene->verdict.may_lack_inlined);
	chain_may_lack_inlined = false;
	num_inlined = 3;
	unreadable_method = get_inlined(1);
	splice(scene, frames, 2, WIRE_RUNTIME_COMPLETE, 2);
	assert_true(scene->verdict.may_lack_inlined);
	assert_int_equal(scene->num_levels, 4);
	expect_frame(scene, 0, "Main.m0", "Main.java", 0);
	expect_frame(scene, 1, "Main.m2", "Main.java", 0);
	unreadable_method = 0;
	splice(scene, frames, 2, WIRE_RUNTIME_COMPLETE, 2);
	assert_false(scene->verdict.may_lack_inlined);
	scene_free(scene);
}

/* A stack of as many levels as there can be, each with a hundred inlined methods: some of these are left out. */
static void inlined_methods_leave_room_for_all_levels(void **state _unused_)
{
	static struct wire_runtime_frame frames[WIRE_MAX_RUNTIME_FRAMES];
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);

	add_methods(scene);
	num_inlined = NUM_INLINED;
	for (uint32_t i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i++)
		frames[i] = compiled(i);
	splice(scene, frames, WIRE_MAX_RUNTIME_FRAMES, WIRE_RUNTIME_COMPLETE, WIRE_MAX_FRAMES);
	assert_in_range(scene->num_levels, WIRE_MAX_RUNTIME_FRAMES + NUM_INLINED,
			RUNTIME_MAX_LEVELS);
	assert_true(scene->verdict.may_lack_inlined);
	expect_frame(scene, scene->num_levels - 1, "java.util.Map.put", "Map.java", 9);
	scene_free(scene);
}

/* It is in the last instruction of the call, unless it is where the code was interrupted. */
static void only_a_return_address_is_behind_its_call(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	const struct wire_runtime_frame innermost = compiled(0);
	const struct wire_runtime_frame second = compiled(1);

	add_methods(scene);
	splice(scene, &innermost, 1, WIRE_RUNTIME_COMPLETE, 2);
	assert_false(was_call);
	splice(scene, &second, 1, WIRE_RUNTIME_COMPLETE, 2);
	assert_true(was_call);
	scene->pcs[1] = 0x7010 | WIRE_PC_EXACT;
	splice(scene, &second, 1, WIRE_RUNTIME_COMPLETE, 2);
	assert_false(was_call);
	scene_free(scene);
}

/* Each level that is to come may need two, and one more has place for itself. */
static void inlined_methods_are_left_out_only_where_room_is_short(void **state _unused_)
{
	static struct wire_runtime_frame frames[WIRE_MAX_RUNTIME_FRAMES];
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	const uint32_t room = RUNTIME_MAX_LEVELS - 2 * WIRE_MAX_RUNTIME_FRAMES;
	uint32_t num_levels = 0;

	add_methods(scene);
	for (uint32_t i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i++)
		frames[i] = compiled(i);
	num_inlined = NUM_INLINED;
	for (uint32_t left = WIRE_MAX_RUNTIME_FRAMES; left; left--) {
		for (uint32_t i = 0; i < NUM_INLINED; i++)
			num_levels += num_levels + 2 * left < RUNTIME_MAX_LEVELS;
		num_levels++;
	}
	splice(scene, frames, WIRE_MAX_RUNTIME_FRAMES, WIRE_RUNTIME_COMPLETE,
	       WIRE_MAX_RUNTIME_FRAMES);
	assert_int_equal(scene->num_levels, num_levels);
	assert_true(num_levels >= room);
	scene_free(scene);
}

static void what_runs_them_is_beneath_them_where_all_is_asked_for(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_ALL);
	const struct wire_runtime_frame frames[] = {compiled(0), interpreted(2, 4)};

	add_methods(scene);
	splice(scene, frames, 2, WIRE_RUNTIME_COMPLETE, 3);
	assert_int_equal(scene->num_levels, 5);
	expect_native(scene, 0, 0);
	expect_frame(scene, 1, "java.util.Map.put", "Map.java", 0);
	expect_native(scene, 2, 1);
	expect_native(scene, 3, 2);
	expect_frame(scene, 4, "Main.run", "Main.java", 7);
	scene_free(scene);
}

static void native_methods_have_no_line(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	const struct wire_runtime_frame frames[] = {interpreted(0, WIRE_HOTSPOT_NO_BYTECODE)};

	add_method(scene, INTERPRETED, "java/lang/Thread", "sleep0", "");
	splice(scene, frames, 1, WIRE_RUNTIME_COMPLETE, 1);
	expect_frame(scene, 0, "java.lang.Thread.sleep0", "", 0);
	scene_free(scene);
}

static void what_is_not_known_stays_native(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	struct wire_runtime_frame frames[] = {compiled(0), compiled(1), interpreted(2, 0)};

	add_methods(scene);
	frames[0].fingerprint = 2;
	frames[1].code = METHOD;
	scene->source.generation = GENERATION + 1;
	splice(scene, frames, 3, WIRE_RUNTIME_COMPLETE, 3);
	assert_int_equal(scene->num_levels, 3);
	for (uint32_t i = 0; i < 3; i++)
		expect_native(scene, i, i);
	scene->source.generation = GENERATION;
	splice(scene, frames, 3, WIRE_RUNTIME_COMPLETE, 3);
	expect_native(scene, 0, 0);
	expect_native(scene, 1, 1);
	expect_frame(scene, 2, "Main.run", "Main.java", 7);
	scene_free(scene);
}

static void a_method_whose_names_were_not_read_is_there(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	const struct wire_runtime_frame frames[] = {compiled(0)};

	add_method(scene, BLOB, "", "", "");
	splice(scene, frames, 1, WIRE_RUNTIME_COMPLETE, 1);
	expect_frame(scene, 0, "[unknown]", "", 0);
	scene_free(scene);
}

static void it_is_said_what_became_of_them(void **state _unused_)
{
	static const struct runtime_frame_list nothing;
	static const struct {
		bool have_come;
		bool is_whole;
		uint32_t length;
		enum wire_runtime_end end;
		enum runtime_fit fit;
	} cases[] = {
		{true, true, 1, WIRE_RUNTIME_COMPLETE, RUNTIME_FITS},
		{true, true, 1, WIRE_RUNTIME_DEEP, RUNTIME_FITS},
		/* The VM's own threads run no Java. */
		{true, true, 0, WIRE_RUNTIME_COMPLETE, RUNTIME_OUTSIDE},
		{false, true, 0, WIRE_RUNTIME_COMPLETE, RUNTIME_OUTSIDE},
		{false, false, 0, WIRE_RUNTIME_COMPLETE, RUNTIME_EARLY},
		/* A stack that has been walked again since has levels of which nothing was asked. */
		{true, true, 1, WIRE_RUNTIME_PARTIAL, RUNTIME_EARLY},
		{true, true, 0, WIRE_RUNTIME_PARTIAL, RUNTIME_EARLY},
		/* What was come to of one that ends early is right. */
		{true, false, 1, WIRE_RUNTIME_PARTIAL, RUNTIME_FITS},
	};
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	const struct wire_runtime_frame frames[] = {compiled(0)};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		scene->source.is_whole = cases[i].is_whole;
		if (cases[i].have_come)
			splice(scene, frames, cases[i].length, cases[i].end, 2);
		else
			splice_list(scene, &nothing, 2);
		assert_int_equal(scene->verdict.fit, cases[i].fit);
		assert_int_equal(scene->num_levels, 2);
		expect_native(scene, 0, 0);
		expect_native(scene, 1, 1);
	}
	scene_free(scene);
}

/* Levels that are none, not in their order, and the same one again and again. */
static void hostile_positions_are_left_out(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_ALL);
	struct wire_runtime_frame frames[WIRE_MAX_RUNTIME_FRAMES];

	add_methods(scene);
	frames[0] = compiled(3);
	frames[1] = interpreted(1, 0);
	frames[2] = compiled(4);
	frames[3] = compiled(9);
	splice(scene, frames, 4, WIRE_RUNTIME_COMPLETE, 6);
	assert_int_equal(scene->num_levels, 8);
	expect_native(scene, 3, 3);
	expect_frame(scene, 4, "java.util.Map.put", "Map.java", 0);
	expect_native(scene, 5, 4);
	expect_frame(scene, 6, "java.util.Map.put", "Map.java", 0);
	expect_native(scene, 7, 5);
	for (uint32_t i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i++)
		frames[i] = i % 2 ? interpreted(i / 2, UINT16_MAX - i) : compiled(UINT32_MAX - i);
	splice(scene, frames, WIRE_MAX_RUNTIME_FRAMES, WIRE_RUNTIME_COMPLETE, WIRE_MAX_FRAMES);
	assert_in_range(scene->num_levels, WIRE_MAX_FRAMES, RUNTIME_MAX_LEVELS);
	for (uint32_t i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i++)
		frames[i] = compiled(5);
	splice(scene, frames, WIRE_MAX_RUNTIME_FRAMES, WIRE_RUNTIME_COMPLETE, WIRE_MAX_FRAMES);
	assert_int_equal(scene->num_levels, WIRE_MAX_FRAMES + 1);
	for (uint32_t i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i++)
		frames[i] = compiled(i);
	splice(scene, frames, WIRE_MAX_RUNTIME_FRAMES, WIRE_RUNTIME_COMPLETE, WIRE_MAX_FRAMES);
	assert_int_equal(scene->num_levels, RUNTIME_MAX_LEVELS);
	scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_come_in_the_place_of_their_levels),
		cmocka_unit_test(methods_that_are_inlined_are_added_and_their_code_stays),
		cmocka_unit_test(a_stack_may_lack_methods_whose_place_or_name_is_unknown),
		cmocka_unit_test(inlined_methods_leave_room_for_all_levels),
		cmocka_unit_test(only_a_return_address_is_behind_its_call),
		cmocka_unit_test(inlined_methods_are_left_out_only_where_room_is_short),
		cmocka_unit_test(what_runs_them_is_beneath_them_where_all_is_asked_for),
		cmocka_unit_test(native_methods_have_no_line),
		cmocka_unit_test(what_is_not_known_stays_native),
		cmocka_unit_test(a_method_whose_names_were_not_read_is_there),
		cmocka_unit_test(it_is_said_what_became_of_them),
		cmocka_unit_test(hostile_positions_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
