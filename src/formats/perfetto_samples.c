/*
 * A stack is told as the numbers of its frames, outermost first; a frame as function, mapping and
 * address. A call that was inlined is a frame of its own, at the address of the function that it
 * was inlined into.
 */
#include "formats/perfetto_samples.h"

#include <errno.h>

#include "base/array.h"
#include "formats/perfetto_numbers.h"
#include "formats/utf8.h"

#define COUNTER_CPU_CLOCK        1
#define UNWIND_ERROR_INFORMATION 3

#define NO_MODULE UINT32_MAX

enum frame_kind_value { KIND_NATIVE = 1, KIND_KERNEL = 2, KIND_JIT = 4 };

/* What is told about on a sequence, by kind, and by which id of the profile. */
enum told_kind {
	TOLD_FUNCTION, /* string */
	TOLD_SOURCE,   /* string */
	TOLD_PATH,     /* string */
	TOLD_BUILD_ID, /* module */
	TOLD_MAPPING,  /* module, and behind these, string */
	TOLD_FRAME,
	TOLD_STACK,
	NUM_TOLD_KINDS,
};

struct writer {
	const struct profile *profile;
	const struct timeline *timeline;
	const struct perfetto_tracks *tracks;
	struct perfetto_stream *stream;
	uint32_t metric;
	uint64_t state_start;
	struct perfetto_told told[NUM_TOLD_KINDS];
	uint32_t *short_names;   /* by function that was told: the name that was told with it */
	uint32_t *frame_numbers; /* by frame */
	/* New for the packet that is being made; all of it freed with it. */
	ARRAY(Perfetto__InternedString *) functions;
	ARRAY(Perfetto__InternedString *) sources;
	ARRAY(Perfetto__InternedString *) paths;
	ARRAY(Perfetto__InternedString *) build_ids;
	ARRAY(Perfetto__Mapping *) mappings;
	ARRAY(Perfetto__Frame *) frames;
	Perfetto__Callstack callstack;
	Perfetto__Callstack *callstacks[1];
	ARRAY(uint64_t) callstack_frames;
	bool has_new_stack;
	ARRAY(void *) garbage;
};

static void *keep(struct writer *writer, void *memory)
{
	void **kept = memory ? array_add(&writer->garbage) : NULL;

	if (!kept) {
		free(memory);
		return NULL;
	}
	*kept = memory;
	return memory;
}

static void discard(struct writer *writer)
{
	array_for_each (&writer->garbage, memory)
		free(*memory);
	writer->garbage.length = 0;
	writer->functions.length = 0;
	writer->sources.length = 0;
	writer->paths.length = 0;
	writer->build_ids.length = 0;
	writer->mappings.length = 0;
	writer->frames.length = 0;
	writer->has_new_stack = false;
}

/* ---- what a stack is made of -------------------------------------------------------------- */

/* A message with these bytes, of which a copy is made. */
static Perfetto__InternedString *new_string(struct writer *writer, uint64_t number,
					    const void *data, size_t length)
{
	Perfetto__InternedString *string = keep(writer, malloc(sizeof(*string)));
	uint8_t *copy = keep(writer, malloc(length + 1));

	if (!string || !copy)
		return NULL;
	memcpy(copy, data, length);
	*string = (Perfetto__InternedString)PERFETTO__INTERNED_STRING__INIT;
	string->has_iid = 1;
	string->iid = number;
	string->has_str = 1;
	string->str.data = copy;
	string->str.len = length;
	return string;
}

/* A string of the profile as the format takes it, behind what the text holds. */
static void fit(const struct writer *writer, uint32_t string, struct text *text)
{
	text_append_string(text, "");
	utf8_append(text, profile_get_string(writer->profile, string),
		    profile_get_string_length(writer->profile, string));
}

static Perfetto__InternedString *new_text(struct writer *writer, uint64_t number, uint32_t string)
{
	Perfetto__InternedString *message;
	struct text text = {0};

	fit(writer, string, &text);
	message = text.failed ? NULL : new_string(writer, number, text.data, text.length);
	text_release(&text);
	return message;
}

#define PUSH(list, message)                                                              \
	({                                                                               \
		__typeof__((list).items) added_ = (message) ? array_add(&(list)) : NULL; \
                                                                                         \
		if (added_)                                                              \
			*added_ = (message);                                             \
		added_ ? 0 : -ENOMEM;                                                    \
	})

/* Tell the string `id` once, into the list of its kind; its number goes to *ret. */
#define USE_STRING(writer, kind, list, id, ret)                                                \
	({                                                                                     \
		bool is_new_;                                                                  \
		int err_ = perfetto_told_add(&(writer)->told[kind], (id), (ret), &is_new_);    \
                                                                                               \
		if (!err_ && is_new_) {                                                        \
			Perfetto__InternedString *message_ = new_text((writer), *(ret), (id)); \
			err_ = PUSH((writer)->list, message_);                                 \
		}                                                                              \
		err_;                                                                          \
	})

/* Where in a function's message its short name is; false when it is not. */
static bool find_short_name(const struct writer *writer, uint32_t short_name,
			    Perfetto__InternedString *function)
{
	struct text text = {0};
	const uint8_t *found = NULL;

	fit(writer, short_name, &text);
	if (!text.failed && text.length)
		found = memmem(function->str.data, function->str.len, text.data, text.length);
	if (found) {
		function->short_start = (uint32_t)(found - function->str.data);
		function->has_short_start = function->short_start != 0;
		function->has_short_length = 1;
		function->short_length = (uint32_t)text.length;
	}
	text_release(&text);
	return found != NULL;
}

static int use_function(struct writer *writer, uint32_t name, uint32_t short_name, uint64_t *ret)
{
	Perfetto__InternedString *message;
	bool is_new;
	int err = perfetto_told_add(&writer->told[TOLD_FUNCTION], name, ret, &is_new);

	if (err || !is_new)
		return err;
	message = new_text(writer, *ret, name);
	if (!message)
		return -ENOMEM;
	writer->short_names[name] = name;
	if (short_name != name && find_short_name(writer, short_name, message))
		writer->short_names[name] = short_name;
	return PUSH(writer->functions, message);
}

static int use_names(struct writer *writer, const struct frame *frame, Perfetto__Frame *message)
{
	int err = use_function(writer, frame->full_name, frame->name, &message->function_name_id);

	message->has_function_name_id = 1;
	if (err || writer->short_names[frame->full_name] == frame->name)
		return err;
	message->has_short_name_id = 1;
	return use_function(writer, frame->name, frame->name, &message->short_name_id);
}

static int use_build_id(struct writer *writer, uint32_t module, uint64_t *ret)
{
	const struct module *file = profile_get_module(writer->profile, module);
	Perfetto__InternedString *message;
	bool is_new;
	int err = perfetto_told_add(&writer->told[TOLD_BUILD_ID], module, ret, &is_new);

	if (err || !is_new)
		return err;
	message = new_string(writer, *ret, file->build_id, file->build_id_size);
	return PUSH(writer->build_ids, message);
}

/*
 * The mapping of a frame: its file; where there is none, what goes for one ("[kernel]").
 *
 * path    string
 * module  NO_MODULE: none
 */
static int use_mapping(struct writer *writer, uint32_t path, uint32_t module, uint64_t *ret)
{
	uint32_t key = module == NO_MODULE ? profile_count_modules(writer->profile) + path : module;
	Perfetto__Mapping *mapping;
	uint64_t *paths;
	bool is_new;
	int err = perfetto_told_add(&writer->told[TOLD_MAPPING], key, ret, &is_new);

	if (err || !is_new)
		return err;
	mapping = keep(writer, malloc(sizeof(*mapping)));
	paths = keep(writer, malloc(sizeof(*paths)));
	if (!mapping || !paths)
		return -ENOMEM;
	*mapping = (Perfetto__Mapping)PERFETTO__MAPPING__INIT;
	mapping->has_iid = 1;
	mapping->iid = *ret;
	mapping->n_path_string_ids = 1;
	mapping->path_string_ids = paths;
	if (module != NO_MODULE && profile_get_module(writer->profile, module)->build_id_size) {
		mapping->has_build_id = 1;
		err = use_build_id(writer, module, &mapping->build_id);
	}
	if (!err)
		err = USE_STRING(writer, TOLD_PATH, paths, path, paths);
	return err ? err : PUSH(writer->mappings, mapping);
}

static int use_mapping_of(struct writer *writer, const struct location *location,
			  const struct frame *frame, uint64_t *ret)
{
	uint32_t module = location->owner;

	if (!location_is_in_module(location))
		return use_mapping(writer, frame->module, NO_MODULE, ret);
	return use_mapping(writer, profile_get_module(writer->profile, module)->path, module, ret);
}

static enum frame_kind_value get_kind(const struct frame *frame)
{
	switch ((enum frame_kind)frame->kind) {
	case FRAME_USER:
		break;
	case FRAME_KERNEL:
		return KIND_KERNEL;
	case FRAME_JIT:
		return KIND_JIT;
	}
	return KIND_NATIVE;
}

static int add_frame(struct writer *writer, const struct location *location, uint32_t id)
{
	enum frame_kind_value kind = get_kind(profile_get_frame(writer->profile, id));
	const struct frame *frame = profile_get_frame(writer->profile, id);
	Perfetto__Frame *message = keep(writer, malloc(sizeof(*message)));
	int err;

	if (!message)
		return -ENOMEM;
	*message = (Perfetto__Frame)PERFETTO__FRAME__INIT;
	message->has_iid = 1;
	message->iid = writer->frame_numbers[id];
	message->has_mapping_id = 1;
	message->has_rel_pc = location->space != LOCATION_NAMED;
	message->rel_pc = location->address;
	message->has_is_elf_address = location->space == LOCATION_ELF;
	message->is_elf_address = location->space == LOCATION_ELF;
	message->has_kind = kind != KIND_NATIVE;
	message->kind = kind;
	message->has_is_inlined = frame->is_inlined;
	message->is_inlined = frame->is_inlined;
	err = use_names(writer, frame, message);
	if (!err)
		err = use_mapping_of(writer, location, frame, &message->mapping_id);
	if (!err && frame->file != STRING_EMPTY) {
		message->has_source_path_iid = 1;
		message->has_line_number = 1;
		message->line_number = frame->line;
		err = USE_STRING(writer, TOLD_SOURCE, sources, frame->file,
				 &message->source_path_iid);
	}
	return err ? err : PUSH(writer->frames, message);
}

/* Tell the location's frames, and add them to the stack, innermost first. */
static int use_location(struct writer *writer, uint32_t id)
{
	const struct location *location = profile_get_location(writer->profile, id);
	int err = 0;

	for (uint32_t i = 0; !err && i < location->num_frames; i++) {
		uint32_t frame = location->first_frame + i;
		uint64_t ignored;
		bool is_new;

		err = perfetto_told_add(&writer->told[TOLD_FRAME], frame, &ignored, &is_new);
		if (!err && is_new)
			err = add_frame(writer, location, frame);
		if (!err) {
			uint64_t *added = array_add(&writer->callstack_frames);

			if (!added)
				return -ENOMEM;
			*added = writer->frame_numbers[frame];
		}
	}
	return err;
}

static int use_stack(struct writer *writer, uint32_t stack, uint64_t *ret)
{
	bool is_new;
	int err = perfetto_told_add(&writer->told[TOLD_STACK], stack, ret, &is_new);

	if (err || !is_new)
		return err;
	writer->callstack_frames.length = 0;
	for (uint32_t s = stack; !err && s != STACK_EMPTY;
	     s = profile_get_stack_parent(writer->profile, s))
		err = use_location(writer, profile_get_stack_location(writer->profile, s));
	for (size_t a = 0, b = writer->callstack_frames.length; a + 1 < b; a++) {
		uint64_t held = writer->callstack_frames.items[a];

		writer->callstack_frames.items[a] = writer->callstack_frames.items[--b];
		writer->callstack_frames.items[b] = held;
	}
	writer->callstack = (Perfetto__Callstack)PERFETTO__CALLSTACK__INIT;
	writer->callstack.has_iid = 1;
	writer->callstack.iid = *ret;
	writer->callstack.n_frame_ids = writer->callstack_frames.length;
	writer->callstack.frame_ids = writer->callstack_frames.items;
	writer->callstacks[0] = &writer->callstack;
	writer->has_new_stack = true;
	return err;
}

/* ---- packets ------------------------------------------------------------------------------ */

static void begin_packet(const struct writer *writer, Perfetto__TracePacket *packet)
{
	*packet = (Perfetto__TracePacket)PERFETTO__TRACE_PACKET__INIT;
	packet->has_trusted_packet_sequence_id = 1;
	packet->trusted_packet_sequence_id = SEQUENCE_SAMPLES + writer->metric;
	packet->has_sequence_flags = 1;
}

/* What ticked, where a recording says it; else what the weights are called. */
static void append_timebase(const struct writer *writer, struct text *text)
{
	const struct string_table *strings = timeline_get_strings(writer->timeline);
	uint32_t ticked = timeline_get_system(writer->timeline)->sample_metric;
	uint32_t name = profile_get_metric(writer->profile, writer->metric)->name;

	if (writer->metric == 0 && ticked != STRING_EMPTY)
		utf8_append(text, string_table_get(strings, ticked),
			    string_table_get_length(strings, ticked));
	else
		utf8_append(text, profile_get_string(writer->profile, name),
			    profile_get_string_length(writer->profile, name));
}

static int clear_state(struct writer *writer, bool is_first)
{
	const struct timeline_system *system = timeline_get_system(writer->timeline);
	Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__PerfSampleDefaults samples = PERFETTO__PERF_SAMPLE_DEFAULTS__INIT;
	Perfetto__PerfTimebase timebase = PERFETTO__PERF_TIMEBASE__INIT;
	struct text name = {0};
	struct text unit = {0};
	uint32_t metric_unit;
	Perfetto__TracePacket packet;
	int err;

	for (size_t i = 0; i < NUM_TOLD_KINDS; i++)
		perfetto_told_clear(&writer->told[i]);
	writer->state_start = perfetto_stream_get_size(writer->stream);
	begin_packet(writer, &packet);
	packet.sequence_flags = PERFETTO_STATE_CLEARED;
	packet.has_first_packet_on_sequence = is_first;
	packet.first_packet_on_sequence = is_first;
	append_timebase(writer, &name);
	timebase.has_frequency = system->sample_frequency != 0;
	timebase.frequency = system->sample_frequency;
	timebase.has_counter = 1;
	timebase.counter = COUNTER_CPU_CLOCK;
	timebase.name = name.data;
	text_append_string(&unit, "");
	metric_unit = profile_get_metric(writer->profile, writer->metric)->unit;
	utf8_append(&unit, profile_get_string(writer->profile, metric_unit),
		    profile_get_string_length(writer->profile, metric_unit));
	timebase.unit = unit.data;
	samples.timebase = &timebase;
	defaults.perf_sample_defaults = &samples;
	defaults.has_timestamp_clock_id = 1;
	defaults.timestamp_clock_id = PERFETTO_CLOCK_OF_SEQUENCE;
	packet.trace_packet_defaults = &defaults;
	err = name.failed || unit.failed ? -ENOMEM : perfetto_stream_add(writer->stream, &packet);
	text_release(&name);
	text_release(&unit);
	return err;
}

static void fill_interned(struct writer *writer, Perfetto__InternedData *data)
{
	*data = (Perfetto__InternedData)PERFETTO__INTERNED_DATA__INIT;
	data->n_function_names = writer->functions.length;
	data->function_names = writer->functions.items;
	data->n_source_paths = writer->sources.length;
	data->source_paths = writer->sources.items;
	data->n_mapping_paths = writer->paths.length;
	data->mapping_paths = writer->paths.items;
	data->n_build_ids = writer->build_ids.length;
	data->build_ids = writer->build_ids.items;
	data->n_mappings = writer->mappings.length;
	data->mappings = writer->mappings.items;
	data->n_frames = writer->frames.length;
	data->frames = writer->frames.items;
	data->n_callstacks = 1;
	data->callstacks = writer->callstacks;
}

static int write_sample(struct writer *writer, const struct timeline_sample *sample)
{
	const struct timeline_thread *thread =
		timeline_get_thread(writer->timeline, sample->thread);
	Perfetto__PerfSample body = PERFETTO__PERF_SAMPLE__INIT;
	Perfetto__InternedData data;
	Perfetto__TracePacket packet;
	int err = 0;

	body.has_callstack_iid = sample->stack != STACK_EMPTY;
	if (body.has_callstack_iid)
		err = use_stack(writer, sample->stack, &body.callstack_iid);
	if (err)
		return err;
	begin_packet(writer, &packet);
	packet.sequence_flags = PERFETTO_STATE_NEEDED;
	perfetto_stream_set_time(writer->stream, &packet, sample->time_ns);
	if (writer->has_new_stack) {
		fill_interned(writer, &data);
		packet.interned_data = &data;
	}
	body.has_cpu = 1;
	body.cpu = sample->cpu;
	body.has_pid = 1;
	body.pid = perfetto_tracks_get_pid(writer->tracks, thread->process);
	body.has_tid = 1;
	body.tid = perfetto_tracks_get_tid(writer->tracks, sample->thread);
	body.has_cpu_mode = sample->mode != SAMPLE_MODE_UNKNOWN;
	body.cpu_mode = sample->mode;
	body.has_timebase_count = 1;
	body.timebase_count = sample->weight;
	body.has_unwind_error = sample->is_truncated;
	body.unwind_error = UNWIND_ERROR_INFORMATION;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_PERF_SAMPLE;
	packet.perf_sample = &body;
	err = perfetto_stream_add(writer->stream, &packet);
	discard(writer);
	if (!err &&
	    perfetto_stream_get_size(writer->stream) - writer->state_start >= PERFETTO_STATE_BYTES)
		err = clear_state(writer, false);
	return err;
}

static int write_metric(struct writer *writer, uint32_t metric)
{
	struct timeline_sample sample;
	uint64_t position = 0;
	bool has_begun = false;
	int got;

	writer->metric = metric;
	while ((got = timeline_next_sample(writer->timeline, &position, &sample)) > 0) {
		int err = 0;

		if (sample.metric != metric)
			continue;
		if (!has_begun)
			err = clear_state(writer, true);
		has_begun = true;
		if (!err)
			err = write_sample(writer, &sample);
		if (err)
			return err;
	}
	return got;
}

int perfetto_write_samples(const struct profile *profile, const struct timeline *timeline,
			   const struct perfetto_tracks *tracks, struct perfetto_stream *stream)
{
	struct writer writer = {
		.profile = profile,
		.timeline = timeline,
		.tracks = tracks,
		.stream = stream,
		.short_names = calloc((size_t)profile_count_strings(profile) + 1, sizeof(uint32_t)),
	};
	uint32_t num_metrics = profile_count_metrics(profile);
	int err = writer.short_names ? 0 : -ENOMEM;

	if (!err)
		err = perfetto_number_frames(profile, timeline, &writer.frame_numbers);

	/* Sequences of further metrics would be those of events. */
	if (num_metrics > SEQUENCE_EVENTS - SEQUENCE_SAMPLES)
		num_metrics = SEQUENCE_EVENTS - SEQUENCE_SAMPLES;
	for (uint32_t metric = 0; !err && metric < num_metrics; metric++)
		err = write_metric(&writer, metric);
	discard(&writer);
	for (size_t i = 0; i < NUM_TOLD_KINDS; i++)
		perfetto_told_release(&writer.told[i]);
	free(writer.short_names);
	free(writer.frame_numbers);
	array_release(&writer.functions);
	array_release(&writer.sources);
	array_release(&writer.paths);
	array_release(&writer.build_ids);
	array_release(&writer.mappings);
	array_release(&writer.frames);
	array_release(&writer.callstack_frames);
	array_release(&writer.garbage);
	return err;
}
