/*
 * From an event's keys to threads and stacks of the profile, by way of the chunk's constants:
 *
 *	event.stackTrace → StackTrace {truncated, frames[]}
 *	                     frame {method, lineNumber, type}
 *	                       method → Method {type → Class {name → Symbol}, name → Symbol}
 *
 * A constant is decoded when the first event names it, and keeps the result (`made`).
 *
 * A frame is named by class and method with a dot between them. async-profiler records native and
 * kernel functions as well: their class is the mapped file and their method the symbol.
 *
 * A stack that is deeper than the recorder's limit (64 frames, unless stackdepth is larger) lacks
 * its outermost frames. It gets a root [truncated], as it would otherwise look like a thread that
 * starts in the middle of the program.
 */
#include "formats/jfr/read_names.h"

#include <errno.h>
#include <string.h>

#include "formats/reader.h"

#define UNKNOWN       "?"
#define STATE_DEFAULT "STATE_DEFAULT"

void jfr_names_release(struct jfr_names *names)
{
	array_release(&names->methods);
	jfr_frame_table_release(&names->frames);
	array_release(&names->path);
	text_release(&names->text);
	*names = (struct jfr_names){0};
}

/* Read the constant of a role's key; false if not found. */
static bool read_constant(struct jfr_names *names, const struct jfr_values *values,
			  enum jfr_role role, struct jfr_values *ret,
			  struct jfr_constant **ret_constant)
{
	struct jfr_constant *constant;
	struct jfr_cursor input = names->chunk->input;

	if (values->classes[role] == JFR_NONE)
		return false;
	constant =
		jfr_chunk_find_constant(names->chunk, values->classes[role], values->numbers[role]);
	if (!constant)
		return false;
	if (ret_constant)
		*ret_constant = constant;
	input.offset = constant->offset;
	jfr_read_struct(&names->chunk->schema, &input, constant->class, ret);
	return !input.failed;
}

static bool is_made(const struct jfr_constant *constant, enum jfr_role role)
{
	return constant->made != JFR_NONE && constant->made_for == role;
}

static void set_made(struct jfr_constant *constant, enum jfr_role role, uint32_t made)
{
	constant->made = made;
	constant->made_for = (uint8_t)role;
}

/* Append the string field with this role, if the struct has one. */
static void append_text(struct jfr_names *names, const struct jfr_values *values,
			enum jfr_role role)
{
	struct jfr_cursor input = names->chunk->input;

	if (values->classes[role] == JFR_NONE ||
	    names->chunk->schema.classes.items[values->classes[role]].kind != JFR_TEXT)
		return;
	input.offset = values->numbers[role];
	jfr_chunk_read_string(names->chunk, &input, &names->text);
}

/* Append a name, which is the key of a Symbol in classes and methods, and a plain string elsewhere.
 */
static void append_symbol(struct jfr_names *names, const struct jfr_values *values,
			  enum jfr_role role)
{
	struct jfr_values symbol = {0};

	if (read_constant(names, values, role, &symbol, NULL))
		append_text(names, &symbol, JFR_STRING);
	else
		append_text(names, values, role);
}

/* ---- threads ---- */

static int add_process(struct jfr_names *names)
{
	struct profile *profile = names->import->profile;
	uint32_t comm;
	int err;

	if (names->process != JFR_NONE)
		return 0;
	err = profile_add_string(profile, "java", &comm);
	if (names->pid > UINT32_MAX)
		names->pid = 0;
	if (err)
		return err;
	return profile_add_process(profile, (uint32_t)names->pid, comm, &names->process);
}

static int add_thread(struct jfr_names *names, const struct jfr_values *values, uint32_t *ret)
{
	struct profile *profile = names->import->profile;
	struct thread thread = {.source = names->import->source};
	int err = add_process(names);

	if (err)
		return err;
	thread.process = names->process;
	if (values->classes[JFR_OS_THREAD_ID] != JFR_NONE &&
	    values->numbers[JFR_OS_THREAD_ID] <= UINT32_MAX)
		thread.tid = (uint32_t)values->numbers[JFR_OS_THREAD_ID];
	text_truncate(&names->text, 0);
	append_text(names, values, JFR_JAVA_NAME);
	if (!names->text.length)
		append_text(names, values, JFR_OS_NAME);
	if (names->text.failed)
		return -ENOMEM;
	err = profile_add_frame_name(profile, names->text.length ? names->text.data : "",
				     names->text.length, &thread.comm);
	if (err)
		return err;
	return profile_add_thread(profile, &thread, ret);
}

int jfr_names_find_thread(struct jfr_names *names, const struct jfr_values *event, uint32_t *ret)
{
	struct jfr_values values = {0};
	struct jfr_constant *constant = NULL;
	int err;

	if (!read_constant(names, event, JFR_THREAD, &values, &constant)) {
		if (names->anonymous_thread == JFR_NONE &&
		    reader_add_anonymous_thread(names->import, &names->anonymous_thread))
			return -ENOMEM;
		*ret = names->anonymous_thread;
		return 0;
	}
	if (is_made(constant, JFR_THREAD)) {
		*ret = constant->made;
		return 0;
	}
	err = add_thread(names, &values, ret);
	if (err)
		return err;
	set_made(constant, JFR_THREAD, *ret);
	return 0;
}

bool jfr_names_is_default_state(struct jfr_names *names, const struct jfr_values *event)
{
	struct jfr_values state = {0};

	text_truncate(&names->text, 0);
	if (read_constant(names, event, JFR_STATE, &state, NULL))
		append_symbol(names, &state, JFR_NAME);
	return !names->text.length || string_equals(names->text.data, STATE_DEFAULT);
}

/* ---- frames ---- */

/* java/util/HashMap and put become java.util.HashMap.put; libc.so.6 and memcpy a module and a name.
 */
static int add_method(struct jfr_names *names, const struct jfr_values *values,
		      struct jfr_method *method)
{
	struct profile *profile = names->import->profile;
	struct jfr_values class = {0};
	size_t length;
	int err = 0;

	text_truncate(&names->text, 0);
	if (read_constant(names, values, JFR_TYPE, &class, NULL))
		append_symbol(names, &class, JFR_NAME);
	length = names->text.length;
	if (method->is_native && length) {
		err = string_table_add(profile_get_strings(profile), names->text.data, length,
				       &method->module);
		text_truncate(&names->text, 0);
	} else if (length) {
		for (size_t i = 0; i < length; i++)
			if (names->text.data[i] == '/')
				names->text.data[i] = '.';
		text_append_char(&names->text, '.');
	}
	append_symbol(names, values, JFR_NAME);
	if (err || names->text.failed)
		return -ENOMEM;
	if (!names->text.length)
		text_append_string(&names->text, UNKNOWN);
	return names->text.failed ? -ENOMEM
				  : profile_add_frame_name(profile, names->text.data,
							   names->text.length, &method->name);
}

static int find_method(struct jfr_names *names, const struct jfr_values *frame, bool is_native,
		       struct jfr_method *ret)
{
	struct jfr_values values = {0};
	struct jfr_constant *constant = NULL;
	struct jfr_method *added;
	int err;

	*ret = (struct jfr_method){.is_native = is_native};
	if (!read_constant(names, frame, JFR_METHOD, &values, &constant))
		return profile_add_string(names->import->profile, UNKNOWN, &ret->name);
	if (is_made(constant, JFR_METHOD) &&
	    names->methods.items[constant->made].is_native == is_native) {
		*ret = names->methods.items[constant->made];
		return 0;
	}
	err = add_method(names, &values, ret);
	added = err ? NULL : array_add(&names->methods);
	if (!added)
		return -ENOMEM;
	*added = *ret;
	set_made(constant, JFR_METHOD, (uint32_t)(names->methods.length - 1));
	return 0;
}

/*
 * The kind of code by the frame's type: "Interpreted", "JIT compiled", "Inlined", "Native", and
 * with async-profiler "C++", "Kernel" and "C1 compiled". Returns whether class and method are those
 * of a native function; HotSpot's "Native" is a Java method with native code.
 */
static bool set_kind(struct jfr_names *names, const struct jfr_values *values, struct frame *frame)
{
	struct jfr_values type = {0};
	const char *name;

	text_truncate(&names->text, 0);
	if (read_constant(names, values, JFR_TYPE, &type, NULL)) {
		append_symbol(names, &type, JFR_DESCRIPTION);
		if (!names->text.length)
			append_symbol(names, &type, JFR_NAME);
	}
	name = names->text.length ? names->text.data : "";
	if (string_equals(name, "JIT compiled") || string_equals(name, "C1 compiled"))
		frame->kind = FRAME_JIT;
	else if (string_equals(name, "Kernel"))
		frame->kind = FRAME_KERNEL;
	frame->is_inlined = string_equals(name, "Inlined");
	return names->is_async && (string_equals(name, "Native") || string_equals(name, "C++") ||
				   string_equals(name, "Kernel"));
}

static int find_location(struct jfr_names *names, const struct jfr_values *values, uint32_t *ret)
{
	struct jfr_frame wanted = {.method = values->numbers[JFR_METHOD],
				   .type = values->numbers[JFR_TYPE],
				   .line = (uint32_t)values->numbers[JFR_LINE_NUMBER]};
	uint32_t number = jfr_frame_table_find(&names->frames, &wanted);
	struct frame frame = {.line = wanted.line};
	struct jfr_method method;
	int err;

	if (number != HASH_INDEX_NONE) {
		*ret = names->frames.items[number].location;
		return 0;
	}
	err = find_method(names, values, set_kind(names, values, &frame), &method);
	if (err)
		return err;
	frame.name = frame.full_name = method.name;
	frame.module = method.module;
	if (frame.line > INT32_MAX) /* below 0: not known */
		frame.line = 0;
	err = profile_add_frame_location(names->import->profile, &frame, &wanted.location);
	if (err)
		return err;
	*ret = wanted.location;
	return jfr_frame_table_add(&names->frames, &wanted, &number);
}

static int read_frames(struct jfr_names *names, const struct jfr_values *trace)
{
	struct jfr_cursor input = names->chunk->input;
	uint64_t count;

	names->path.length = 0;
	if (trace->classes[JFR_FRAMES] == JFR_NONE)
		return 0;
	input.offset = trace->numbers[JFR_FRAMES];
	count = jfr_read_integer(&input, 4);
	if (count > input.size - input.offset)
		return -EBADMSG;
	for (uint64_t i = 0; i < count; i++) {
		struct jfr_values values = {0};
		uint32_t *location;
		int err;

		jfr_read_struct(&names->chunk->schema, &input, trace->classes[JFR_FRAMES], &values);
		if (input.failed)
			return -EBADMSG;
		location = array_add(&names->path);
		if (!location)
			return -ENOMEM;
		err = find_location(names, &values, location);
		if (err)
			return err;
	}
	return 0;
}

/* Add a frame for unknown callers. */
static int add_outermost(struct jfr_names *names, const char *name, uint32_t *stack)
{
	struct profile *profile = names->import->profile;
	struct frame frame = {0};
	uint32_t location;
	int err = profile_add_string(profile, name, &frame.name);

	frame.full_name = frame.name;
	if (err)
		return err;
	err = profile_add_frame_location(profile, &frame, &location);
	if (err)
		return err;
	return profile_add_stack(profile, STACK_EMPTY, location, stack);
}

static int add_stack(struct jfr_names *names, const struct jfr_values *trace, uint32_t *ret)
{
	uint32_t stack = STACK_EMPTY;
	int err = read_frames(names, trace);

	if (err)
		return err;
	if (trace->classes[JFR_TRUNCATED] != JFR_NONE && trace->numbers[JFR_TRUNCATED])
		err = profile_add_truncated_frame(names->import->profile, STACK_EMPTY, &stack);
	if (err)
		return err;
	while (names->path.length) {
		err = profile_add_stack(names->import->profile, stack,
					names->path.items[--names->path.length], &stack);
		if (err)
			return err;
	}
	*ret = stack;
	return 0;
}

int jfr_names_find_stack(struct jfr_names *names, const struct jfr_values *event, uint32_t *ret)
{
	struct jfr_values trace = {0};
	struct jfr_constant *constant = NULL;
	int err = 0;

	if (!read_constant(names, event, JFR_STACK_TRACE, &trace, &constant)) {
		*ret = STACK_EMPTY;
		return add_outermost(names, UNKNOWN, ret);
	}
	if (is_made(constant, JFR_STACK_TRACE))
		*ret = constant->made;
	else
		err = add_stack(names, &trace, ret);
	if (err)
		return err;
	set_made(constant, JFR_STACK_TRACE, *ret);
	if (trace.classes[JFR_TRUNCATED] != JFR_NONE && trace.numbers[JFR_TRUNCATED])
		names->import->counts.truncated_stacks++;
	return 0;
}

bool jfr_names_is_text(struct jfr_names *names, const struct jfr_values *values, enum jfr_role role,
		       const char *text)
{
	text_truncate(&names->text, 0);
	append_symbol(names, values, role);
	return names->text.length && string_equals(names->text.data, text);
}

/* Whether the chunk has a constant of the class whose string of this role is this text. */
static bool has_constant(struct jfr_names *names, const char *class, enum jfr_role role,
			 const char *text)
{
	for (size_t i = 0; i < names->chunk->constants.length; i++) {
		const struct jfr_constant *constant = &names->chunk->constants.items[i];
		struct jfr_cursor input = names->chunk->input;
		struct jfr_values values = {0};

		if (!jfr_schema_string_equals(
			    &names->chunk->schema,
			    names->chunk->schema.classes.items[constant->class].name, class))
			continue;
		input.offset = constant->offset;
		jfr_read_struct(&names->chunk->schema, &input, constant->class, &values);
		if (jfr_names_is_text(names, &values, role, text))
			return true;
	}
	return false;
}

int jfr_names_init(struct jfr_names *names, struct import *import, struct jfr_chunk *chunk)
{
	*names = (struct jfr_names){.import = import,
				    .chunk = chunk,
				    .process = JFR_NONE,
				    .anonymous_thread = JFR_NONE};
	/* Only async-profiler has kernel frames. */
	names->is_async = has_constant(names, "jdk.types.FrameType", JFR_DESCRIPTION, "Kernel");
	names->has_default_state =
		has_constant(names, "jdk.types.ThreadState", JFR_NAME, STATE_DEFAULT);
	return names->text.failed ? -ENOMEM : 0;
}
