/*
 * Java methods in the stacks of processes that run HotSpot. The sampling program sends the method
 * of each native frame that is a method's code. The method replaces the interpreter's own code, or
 * the compiled code. The JVM describes in the process's memory which methods were inlined into
 * compiled code: this is read when the code is first seen in a sample.
 */
#include <stdlib.h>

#include "collect/runtimes/hotspot_inlines.h"
#include "collect/runtimes/runtime_ops.h"
#include "runtime/hotspot_method.h"

/* Name for code without a method: the interpreter between methods. */
#define INTERPRETER_NAME "Interpreter"

struct hotspot_stacks {
	struct runtime_context context;
	struct hotspot_methods *methods;
	struct hotspot_inlines *inlines;
};

static void free_stacks(void *runtime)
{
	struct hotspot_stacks *stacks = runtime;

	if (!stacks)
		return;
	hotspot_inlines_free(stacks->inlines);
	hotspot_methods_free(stacks->methods);
	free(stacks);
}

static void *create(const struct runtime_context *context, enum wire_runtime runtime _unused_)
{
	struct hotspot_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->context = *context;
	stacks->methods = hotspot_methods_new();
	stacks->inlines = stacks->methods
				  ? hotspot_inlines_new(context->sources->hotspots, stacks->methods)
				  : NULL;
	if (!stacks->inlines) {
		free_stacks(stacks);
		return NULL;
	}
	return stacks;
}

static int add_code(void *runtime, const void *record)
{
	const struct hotspot_stacks *stacks = runtime;

	return hotspot_methods_add(stacks->methods, record);
}

static uint64_t count_lost(const void *runtime)
{
	const struct hotspot_stacks *stacks = runtime;

	return hotspot_inlines_get_dropped(stacks->inlines);
}

/* The stack that is put together. */
struct splice {
	struct hotspot_stacks *stacks;
	const struct runtime_sample *source;
	struct runtime_level *levels; /* RUNTIME_MAX_LEVELS long */
	uint32_t num_levels;
	bool may_lack_inlined;
};

static void put_native(struct splice *splice, uint32_t pc)
{
	splice->levels[splice->num_levels++] = (struct runtime_level){.pc = pc};
}

static int put_frame(struct splice *splice, struct frame *frame, const char *name,
		     const char *module)
{
	struct profile *profile = splice->stacks->context.profile;
	struct runtime_level level = {.pc = RUNTIME_LEVEL_FRAME};
	int err = profile_name_frame(profile, name, name, module, frame);

	if (err)
		return err;
	if (frame->kind == FRAME_JAVA)
		frame->file = frame->module;
	err = profile_add_frame_location(profile, frame, &level.location);
	if (err)
		return err;
	splice->levels[splice->num_levels++] = level;
	return 0;
}

/* A method: its name, its source file as its module, and the line of the bytecode that runs. */
static int put_method(struct splice *splice, const struct hotspot_method *method, uint32_t bytecode,
		      bool is_inlined)
{
	struct frame frame = {.kind = FRAME_JAVA,
			      .is_inlined = is_inlined,
			      .line = hotspot_method_get_line(method, bytecode)};

	return put_frame(splice, &frame, *method->name ? method->name : "[unknown]", method->file);
}

static int put_stub(struct splice *splice, const char *name)
{
	struct frame frame = {.kind = FRAME_JIT};

	return put_frame(splice, &frame, name, JIT_MODULE);
}

/* Put the frames of compiled code: inlined methods, then the method itself. */
static int put_compiled(struct splice *splice, const struct wire_runtime_frame *frame,
			const struct hotspot_method *sent, uint64_t pc, uint32_t num_left)
{
	/* Methods that are added move it. */
	const struct hotspot_method code = *sent;
	struct hotspot_inlines *inlines = splice->stacks->inlines;
	const struct process *process = splice->source->process;
	bool is_exact =
		!(frame->position & ((1u << WIRE_HOTSPOT_LEVEL_BITS) - 1)) || (pc & WIRE_PC_EXACT);
	uint32_t bytecode = WIRE_HOTSPOT_NO_BYTECODE;
	struct hotspot_scope_chain chain;
	int err = hotspot_inlines_find(inlines, process, &code, pc & ~WIRE_PC_MARKS, !is_exact,
				       &chain);

	if (err)
		return err;
	for (size_t i = 0; i + 1 < chain.num_scopes; i++) {
		const struct hotspot_method *method =
			hotspot_inlines_get_method(inlines, process, &code, chain.scopes[i].method);

		if (!method || splice->num_levels + 2 * num_left >= RUNTIME_MAX_LEVELS) {
			splice->may_lack_inlined = true;
			continue;
		}
		err = put_method(splice, method, chain.scopes[i].bytecode, true);
		if (err)
			return err;
	}
	splice->may_lack_inlined |= chain.may_lack_inlined;
	if (chain.num_scopes)
		bytecode = chain.scopes[chain.num_scopes - 1].bytecode;
	return put_method(splice, &code, bytecode, false);
}

/*
 * Replace a level's pc by the frame that the sampling program sent for it. num_left: number of
 * levels from this one on.
 */
static int put_level(struct splice *splice, const struct wire_runtime_frame *frame, uint64_t pc,
		     uint32_t num_left, bool *ret_is_put)
{
	const uint32_t interpreter = WIRE_HOTSPOT_INTERPRETED | WIRE_HOTSPOT_STUB;
	const struct hotspot_method *method;

	*ret_is_put = true;
	/* The call stub calls the method that the JVM calls: it gets no frame. */
	if (frame->position & WIRE_HOTSPOT_CALL_STUB)
		return 0;
	if ((frame->position & interpreter) == interpreter)
		return put_stub(splice, INTERPRETER_NAME);
	method = hotspot_methods_find(splice->stacks->methods, splice->source->process->pid,
				      splice->source->generation, frame->code, frame->fingerprint);
	*ret_is_put = method && (method->method || *method->name);
	if (!*ret_is_put)
		return 0;
	if (frame->position & WIRE_HOTSPOT_STUB)
		return put_stub(splice, method->name);
	if (!(frame->position & WIRE_HOTSPOT_INTERPRETED))
		return put_compiled(splice, frame, method, pc, num_left);
	return put_method(splice, method,
			  (frame->position & ~WIRE_HOTSPOT_INTERPRETED) >> WIRE_HOTSPOT_LEVEL_BITS,
			  false);
}

static bool has_method(const struct runtime_frame_list *frames)
{
	for (uint32_t i = 0; i < frames->length; i++)
		if (!(frames->items[i].position & (WIRE_HOTSPOT_STUB | WIRE_HOTSPOT_CALL_STUB)))
			return true;
	return false;
}

/* If the sampling program did not reach the outer levels, a whole stack was walked later. */
static enum runtime_fit find_fit(const struct runtime_sample *source,
				 const struct runtime_frame_list *frames)
{
	if (!frames->have_come)
		return source->is_whole ? RUNTIME_OUTSIDE : RUNTIME_EARLY;
	if (frames->end == WIRE_RUNTIME_PARTIAL && source->is_whole)
		return RUNTIME_EARLY;
	return has_method(frames) ? RUNTIME_FITS : RUNTIME_OUTSIDE;
}

static uint32_t get_level(const struct wire_runtime_frame *frame)
{
	return frame->position & ((1u << WIRE_HOTSPOT_LEVEL_BITS) - 1);
}

static int splice_frames(void *runtime, struct runtime_splice *request)
{
	struct hotspot_stacks *stacks = runtime;
	const struct runtime_frame_list *frames = &request->frames;
	struct splice splice = {
		.stacks = stacks, .source = request->source, .levels = request->levels};
	bool shows_all = stacks->context.shown == RUNTIME_FRAMES_ALL;
	uint32_t next = 0;

	request->verdict.fit = find_fit(request->source, frames);
	for (uint32_t i = 0; i < request->num_pcs; i++) {
		bool is_put = false;

		/* The machine code that runs a method is shown as its callee. */
		if (shows_all)
			put_native(&splice, i);
		/*
		 * They are in the order of the levels; a hostile process's frames out of order are
		 * skipped.
		 */
		while (next < frames->length && get_level(&frames->items[next]) < i)
			next++;
		if (next < frames->length && get_level(&frames->items[next]) == i) {
			int err = put_level(&splice, &frames->items[next], request->pcs[i],
					    request->num_pcs - i, &is_put);

			if (err)
				return err;
		}
		if (!is_put && !shows_all)
			put_native(&splice, i);
	}
	request->num_levels = splice.num_levels;
	request->verdict.may_lack_inlined = splice.may_lack_inlined;
	return 0;
}

const struct runtime_ops hotspot_stack_ops = {
	.create = create,
	.free = free_stacks,
	.add_code = add_code,
	.code_bytes = sizeof(struct wire_hotspot_method),
	.splice = splice_frames,
	.count_lost = count_lost,
};
