/*
 * The call tree of random profiles against the plainest way to make one: the text of every sample,
 * outermost frame first, and sums over equal starts of it.
 */
#include "analysis/call_tree.h"
#include "profile_builder.h"

#define NUM_PROFILES  400
#define MAX_SAMPLES   40
#define MAX_LOCATIONS 12

struct line {
	struct text text; /* the sample's stack as folded text */
	uint64_t values[2];
	bool is_wanted;
};

struct scene {
	uint64_t random;
	struct profile *profile;
	struct call_tree_opts opts;
	struct line lines[MAX_SAMPLES];
	uint32_t num_lines;
};

static uint32_t pick(struct scene *scene, uint32_t count)
{
	scene->random = scene->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(scene->random >> 33) % count;
}

static const char *const names[] = {"a", "b", "a b", "a!", "ab", "", "x;y", "a_[k]", "\xff"};

static void add_frame(struct scene *scene, struct frame *frame)
{
	*frame = (struct frame){.kind = (uint8_t)pick(scene, 6)};
	if (frame->kind >= NUM_FRAME_KINDS)
		frame->kind = FRAME_USER;
	frame->is_inlined = pick(scene, 4) == 0;
	frame->line = pick(scene, 2);
	assert_int_equal(profile_add_string(scene->profile, names[pick(scene, 9)], &frame->name),
			 0);
}

/* Some without frames, some with several, and where `is_plain` as folded text gives them. */
static uint32_t add_locations(struct scene *scene, bool is_plain)
{
	uint32_t count = 1 + pick(scene, MAX_LOCATIONS);

	for (uint32_t i = 0; i < count; i++) {
		struct frame frames[3];
		uint32_t num_frames = is_plain ? 1 : pick(scene, 4);
		uint32_t location;

		for (uint32_t k = 0; k < num_frames; k++)
			add_frame(scene, &frames[k]);
		if (is_plain) {
			frames[0].line = 0;
			frames[0].is_inlined &= frames[0].kind == FRAME_USER;
			assert_int_equal(
				profile_add_frame_location(scene->profile, frames, &location), 0);
			continue;
		}
		assert_int_equal(
			profile_add_location(scene->profile, LOCATION_NAMED, 7, i, &location), 0);
		if (num_frames)
			assert_int_equal(profile_set_frames(scene->profile, location, frames,
							    num_frames, UNNAMED_NOT),
					 0);
	}
	return profile_count_locations(scene->profile);
}

static void append_label(struct scene *scene, struct text *text, const struct frame *frame)
{
	if (text->length)
		text_append_char(text, ';');
	for (const char *c = profile_get_string(scene->profile, frame->name); *c; c++)
		text_append_char(text, *c == ';' ? ':' : *c);
	if (scene->opts.no_annotations)
		return;
	text_append_string(text, frame->kind == FRAME_KERNEL ? "_[k]"
				 : frame->is_inlined         ? "_[i]"
				 : frame->kind == FRAME_JIT  ? "_[j]"
							     : "");
}

static void append_stack(struct scene *scene, struct text *text, uint32_t stack)
{
	const struct location *location;

	if (stack == STACK_EMPTY)
		return;
	append_stack(scene, text, profile_get_stack_parent(scene->profile, stack));
	location = profile_get_location(scene->profile,
					profile_get_stack_location(scene->profile, stack));
	for (uint32_t i = location->num_frames; i-- > 0;)
		append_label(scene, text,
			     profile_get_frame(scene->profile, location->first_frame + i));
	if (!location->num_frames)
		text_append_string(text, text->length ? ";[unknown]" : "[unknown]");
}

static void append_thread(struct scene *scene, struct text *text, uint32_t id)
{
	const struct thread *thread = profile_get_thread(scene->profile, id);
	uint32_t pid = profile_get_process(scene->profile, thread->process)->pid;

	if (scene->opts.root == TREE_ROOT_NONE || !pid)
		return;
	text_append_string(text, profile_get_string(scene->profile, thread->comm));
	if (scene->opts.root == TREE_ROOT_PID)
		text_printf(text, "-%u", pid);
	if (scene->opts.root == TREE_ROOT_TID)
		text_printf(text, "-%u/%u", pid, thread->tid);
}

/* The text starts with a word for the root, so that an empty first label shows. */
static void note_sample(struct scene *scene, uint32_t id)
{
	const struct sample *sample = profile_get_sample(scene->profile, id);
	struct line *line = &scene->lines[scene->num_lines];

	*line = (struct line){0};
	text_append_string(&line->text, "all;");
	append_thread(scene, &line->text, sample->thread);
	if (string_equals(line->text.data, "all;"))
		text_truncate(&line->text, strlen("all"));
	append_stack(scene, &line->text, sample->stack);
	assert_false(line->text.failed);
	if (sample->metric == scene->opts.metric)
		line->values[0] = sample->value;
	if (scene->opts.has_baseline && sample->metric == scene->opts.baseline)
		line->values[1] = sample->value;
	if (sample->metric == scene->opts.metric ||
	    (scene->opts.has_baseline && sample->metric == scene->opts.baseline))
		scene->num_lines++;
	else
		text_release(&line->text);
}

static void make_scene(struct scene *scene, uint64_t seed)
{
	bool is_plain;
	uint32_t num_locations;
	uint32_t threads[3];

	*scene = (struct scene){.random = seed * 7919 + 1, .profile = profile_new()};
	is_plain = pick(scene, 2);
	scene->opts = (struct call_tree_opts){
		.root = (enum tree_root)pick(scene, 4),
		.no_annotations = pick(scene, 3) == 0,
		.metric = pick(scene, 2),
		.has_baseline = pick(scene, 2),
		.baseline = pick(scene, 2),
	};
	for (uint32_t i = 0; i < 3; i++)
		threads[i] = is_plain ? builder_add_thread(scene->profile, 0, 0, "")
				      : builder_add_thread(scene->profile, i, i, i ? "t" : "");
	num_locations = add_locations(scene, is_plain);
	for (uint32_t i = pick(scene, MAX_SAMPLES); i-- > 0;) {
		uint32_t stack = STACK_EMPTY;

		for (uint32_t depth = pick(scene, 5); depth-- > 0;)
			assert_int_equal(profile_add_stack(scene->profile, stack,
							   pick(scene, num_locations), &stack),
					 0);
		assert_int_equal(profile_add_sample(scene->profile, threads[pick(scene, 3)], stack,
						    pick(scene, 2), pick(scene, 4)),
				 0);
	}
	for (uint32_t i = 0; i < profile_count_samples(scene->profile); i++)
		note_sample(scene, i);
}

static void release_scene(struct scene *scene)
{
	for (uint32_t i = 0; i < scene->num_lines; i++)
		text_release(&scene->lines[i].text);
	profile_free(scene->profile);
}

/* Whether the line is the path, or goes on from it. */
static bool is_below(const struct line *line, const struct text *path)
{
	return line->text.length >= path->length &&
	       memcmp(line->text.data, path->data, path->length) == 0 &&
	       (line->text.length == path->length || line->text.data[path->length] == ';');
}

static void check_node(const struct scene *scene, const struct call_tree *tree, uint32_t node,
		       const struct text *path)
{
	uint64_t total[2] = {0};
	uint64_t self[2] = {0};
	bool has_samples = false;

	for (uint32_t i = 0; i < scene->num_lines; i++) {
		const struct line *line = &scene->lines[i];
		bool is_end = line->text.length == path->length;

		if (!is_below(line, path))
			continue;
		has_samples |= is_end;
		for (uint32_t k = 0; k < 2; k++) {
			total[k] += line->values[k];
			self[k] += is_end ? line->values[k] : 0;
		}
	}
	assert_int_equal(call_tree_get_total(tree, node), total[0]);
	assert_int_equal(call_tree_get_baseline_total(tree, node), total[1]);
	assert_int_equal(call_tree_get_self(tree, node), self[0]);
	assert_int_equal(call_tree_get_baseline(tree, node), self[1]);
	assert_int_equal(call_tree_has_samples(tree, node), has_samples);
}

/* How many nodes are below this one; the labels of siblings ascend. */
static uint32_t check_below(const struct scene *scene, const struct call_tree *tree, uint32_t node,
			    struct text *path)
{
	size_t path_length = path->length;
	const char *last = NULL;
	uint32_t count = 0;

	check_node(scene, tree, node, path);
	for (uint32_t child = call_tree_get_first_child(tree, node); child != CALL_TREE_NONE;
	     child = call_tree_get_next_sibling(tree, child)) {
		size_t length;
		const char *label = call_tree_get_label(tree, child, &length);

		assert_true(!last || strcmp(last, label) < 0);
		assert_int_equal(call_tree_get_parent(tree, child), node);
		assert_true(child > node && child < call_tree_get_count(tree));
		text_append_char(path, ';');
		text_append(path, label, length);
		count += 1 + check_below(scene, tree, child, path);
		text_truncate(path, path_length);
		last = label;
	}
	return count;
}

/* How many different starts the lines have, but for the root. */
static uint32_t count_paths(const struct scene *scene)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < scene->num_lines; i++) {
		const struct text *text = &scene->lines[i].text;

		for (size_t end = strlen("all") + 1; end <= text->length; end++) {
			struct text path = {.data = text->data, .length = end};
			bool is_new = end == text->length || text->data[end] == ';';

			for (uint32_t k = 0; is_new && k < i; k++)
				is_new = !is_below(&scene->lines[k], &path);
			count += is_new;
		}
	}
	return count;
}

static void every_node_of_random_trees_is_right(void **state _unused_)
{
	for (uint64_t seed = 0; seed < NUM_PROFILES; seed++) {
		struct text path = {0};
		struct call_tree *tree;
		struct scene scene;

		make_scene(&scene, seed);
		assert_int_equal(call_tree_new(scene.profile, &scene.opts, &tree), 0);
		text_append_string(&path, "all");
		assert_int_equal(check_below(&scene, tree, CALL_TREE_ROOT, &path),
				 count_paths(&scene));
		text_release(&path);
		call_tree_free(tree);
		release_scene(&scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_node_of_random_trees_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
