/*
 * Each is two events of ftrace, in bundles of one CPU. Functions of workqueues are interned as
 * kernel symbols of the sequence; names of interrupts' handlers are emitted each time, as the
 * format requires.
 */
#include "formats/perfetto/write/kwork.h"

#include <errno.h>

#include "base/array.h"
#include "base/utf8.h"
#include "formats/arena.h"

/* Events of one packet. */
#define BUNDLE_KWORKS 256

/* irqreturn of linux/irqreturn.h; readers show it, and it is not recorded. */
#define IRQ_HANDLED 1

struct kwork_bundle {
	ARRAY(struct timeline_kwork) items;
};

struct kwork_writer {
	const struct timeline *timeline;
	struct perfetto_stream *stream;
	struct perfetto_emitted symbols; /* by string of the timeline */
	bool has_started;
	ARRAY(struct kwork_bundle) cpus;
	/* For the packet that is being made; all of it freed with it. */
	ARRAY(Perfetto__FtraceEvent *) events;
	ARRAY(Perfetto__InternedString *) new_symbols;
	struct arena garbage;
};

#define NEW(writer, type, init)                                                       \
	({                                                                            \
		type *message_ = arena_add(&(writer)->garbage, malloc(sizeof(type))); \
                                                                                      \
		if (message_)                                                         \
			*message_ = (type)init;                                       \
		message_;                                                             \
	})

static void discard(struct kwork_writer *writer)
{
	writer->events.length = 0;
	writer->new_symbols.length = 0;
	arena_clear(&writer->garbage);
}

static char *fit(struct kwork_writer *writer, uint32_t string)
{
	const struct string_table *strings = timeline_get_strings(writer->timeline);
	struct text text = {0};

	text_append_string(&text, "");
	utf8_append_name(&text, string_table_get(strings, string),
			 string_table_get_length(strings, string));
	if (text.failed)
		text_release(&text);
	return arena_add(&writer->garbage, text.data);
}

static Perfetto__FtraceEvent *add_event(struct kwork_writer *writer,
					const struct timeline_kwork *kwork, bool is_end)
{
	Perfetto__FtraceEvent *event =
		NEW(writer, Perfetto__FtraceEvent, PERFETTO__FTRACE_EVENT__INIT);
	Perfetto__FtraceEvent **added = event ? array_add(&writer->events) : NULL;

	if (!added)
		return NULL;
	*added = event;
	event->has_timestamp = 1;
	event->timestamp = is_end ? kwork->end_ns : kwork->start_ns;
	event->has_pid = 1;
	event->pid = kwork->kind == KWORK_WORKQUEUE ? kwork->number : 0;
	return event;
}

static int add_irq(struct kwork_writer *writer, const struct timeline_kwork *kwork,
		   Perfetto__FtraceEvent *start, Perfetto__FtraceEvent *end)
{
	Perfetto__IrqHandlerEntry *entry =
		NEW(writer, Perfetto__IrqHandlerEntry, PERFETTO__IRQ_HANDLER_ENTRY__INIT);
	Perfetto__IrqHandlerExit *exit =
		NEW(writer, Perfetto__IrqHandlerExit, PERFETTO__IRQ_HANDLER_EXIT__INIT);

	if (!entry || !exit)
		return -ENOMEM;
	entry->has_irq = exit->has_irq = exit->has_ret = 1;
	entry->irq = exit->irq = (int32_t)kwork->number;
	exit->ret = IRQ_HANDLED;
	entry->name = fit(writer, kwork->name);
	if (!entry->name)
		return -ENOMEM;
	start->event_case = PERFETTO__FTRACE_EVENT__EVENT_IRQ_HANDLER_ENTRY;
	start->irq_handler_entry = entry;
	end->event_case = PERFETTO__FTRACE_EVENT__EVENT_IRQ_HANDLER_EXIT;
	end->irq_handler_exit = exit;
	return 0;
}

static int add_softirq(struct kwork_writer *writer, const struct timeline_kwork *kwork,
		       Perfetto__FtraceEvent *start, Perfetto__FtraceEvent *end)
{
	Perfetto__SoftirqEntry *entry =
		NEW(writer, Perfetto__SoftirqEntry, PERFETTO__SOFTIRQ_ENTRY__INIT);
	Perfetto__SoftirqExit *exit =
		NEW(writer, Perfetto__SoftirqExit, PERFETTO__SOFTIRQ_EXIT__INIT);

	if (!entry || !exit)
		return -ENOMEM;
	entry->has_vec = exit->has_vec = 1;
	entry->vec = exit->vec = kwork->number;
	start->event_case = PERFETTO__FTRACE_EVENT__EVENT_SOFTIRQ_ENTRY;
	start->softirq_entry = entry;
	end->event_case = PERFETTO__FTRACE_EVENT__EVENT_SOFTIRQ_EXIT;
	end->softirq_exit = exit;
	return 0;
}

static int use_symbol(struct kwork_writer *writer, uint32_t string, uint64_t *ret)
{
	Perfetto__InternedString *message;
	Perfetto__InternedString **added;
	char *name;
	bool is_new;
	int err = perfetto_emitted_add(&writer->symbols, string, ret, &is_new);

	if (err || !is_new)
		return err;
	message = NEW(writer, Perfetto__InternedString, PERFETTO__INTERNED_STRING__INIT);
	name = fit(writer, string);
	added = message && name ? array_add(&writer->new_symbols) : NULL;
	if (!added)
		return -ENOMEM;
	message->has_iid = message->has_str = 1;
	message->iid = *ret;
	message->str.data = (uint8_t *)name;
	message->str.len = strlen(name);
	*added = message;
	return 0;
}

static int add_work(struct kwork_writer *writer, const struct timeline_kwork *kwork,
		    Perfetto__FtraceEvent *start, Perfetto__FtraceEvent *end)
{
	Perfetto__WorkqueueExecuteStart *work = NEW(writer, Perfetto__WorkqueueExecuteStart,
						    PERFETTO__WORKQUEUE_EXECUTE_START__INIT);
	Perfetto__WorkqueueExecuteEnd *done =
		NEW(writer, Perfetto__WorkqueueExecuteEnd, PERFETTO__WORKQUEUE_EXECUTE_END__INIT);
	int err = work && done ? use_symbol(writer, kwork->name, &work->function) : -ENOMEM;

	if (err)
		return err;
	work->has_function = done->has_function = 1;
	done->function = work->function;
	start->event_case = PERFETTO__FTRACE_EVENT__EVENT_WORKQUEUE_EXECUTE_START;
	start->workqueue_execute_start = work;
	end->event_case = PERFETTO__FTRACE_EVENT__EVENT_WORKQUEUE_EXECUTE_END;
	end->workqueue_execute_end = done;
	return 0;
}

static int add_kwork(struct kwork_writer *writer, const struct timeline_kwork *kwork)
{
	Perfetto__FtraceEvent *start = add_event(writer, kwork, false);
	Perfetto__FtraceEvent *end = start ? add_event(writer, kwork, true) : NULL;

	if (!end)
		return -ENOMEM;
	switch ((enum kwork_kind)kwork->kind) {
	case KWORK_IRQ:
		return add_irq(writer, kwork, start, end);
	case KWORK_SOFTIRQ:
		return add_softirq(writer, kwork, start, end);
	case KWORK_WORKQUEUE:
		return add_work(writer, kwork, start, end);
	}
	return -EINVAL;
}

static int write_packet(struct kwork_writer *writer, uint32_t cpu)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__FtraceEventBundle body = PERFETTO__FTRACE_EVENT_BUNDLE__INIT;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;

	body.has_cpu = 1;
	body.cpu = cpu;
	body.n_event = writer->events.length;
	body.event = writer->events.items;
	data.n_kernel_symbols = writer->new_symbols.length;
	data.kernel_symbols = writer->new_symbols.items;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = SEQUENCE_KWORK;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = PERFETTO_STATE_NEEDED;
	if (!writer->has_started)
		packet.sequence_flags |= PERFETTO_STATE_CLEARED;
	packet.has_first_packet_on_sequence = !writer->has_started;
	packet.first_packet_on_sequence = !writer->has_started;
	packet.interned_data = writer->new_symbols.length ? &data : NULL;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_FTRACE_EVENTS;
	packet.ftrace_events = &body;
	writer->has_started = true;
	return perfetto_stream_add(writer->stream, &packet);
}

static int write_bundle(struct kwork_writer *writer, uint32_t cpu)
{
	struct kwork_bundle *bundle = &writer->cpus.items[cpu];
	int err;

	if (!bundle->items.length)
		return 0;
	array_for_each (&bundle->items, kwork) {
		err = add_kwork(writer, kwork);
		if (err)
			return err;
	}
	err = write_packet(writer, cpu);
	discard(writer);
	bundle->items.length = 0;
	return err;
}

static int add_to_bundle(struct kwork_writer *writer, const struct timeline_kwork *kwork)
{
	struct timeline_kwork *added;
	struct kwork_bundle *bundle;

	while (writer->cpus.length <= kwork->cpu)
		if (!array_add(&writer->cpus))
			return -ENOMEM;
	bundle = &writer->cpus.items[kwork->cpu];
	added = array_add(&bundle->items);
	if (!added)
		return -ENOMEM;
	*added = *kwork;
	return bundle->items.length < BUNDLE_KWORKS ? 0 : write_bundle(writer, kwork->cpu);
}

static void kwork_writer_release(struct kwork_writer *writer)
{
	array_for_each (&writer->cpus, bundle)
		array_release(&bundle->items);
	array_release(&writer->cpus);
	array_release(&writer->events);
	array_release(&writer->new_symbols);
	arena_release(&writer->garbage);
	perfetto_emitted_release(&writer->symbols);
}

int perfetto_write_kwork(const struct timeline *timeline, struct perfetto_stream *stream)
{
	_cleanup_(kwork_writer_release) struct kwork_writer writer = {.timeline = timeline,
								      .stream = stream};
	struct timeline_kwork kwork;
	uint64_t position = 0;
	int got;

	while ((got = timeline_next_kwork(timeline, &position, &kwork)) > 0) {
		int err = add_to_bundle(&writer, &kwork);

		if (err)
			return err;
	}
	if (got < 0)
		return got;
	for (uint32_t cpu = 0; cpu < writer.cpus.length; cpu++) {
		int err = write_bundle(&writer, cpu);

		if (err)
			return err;
	}
	return 0;
}
