/*
 * The sampling program can walk a user stack only if it knows the mappings and how to unwind their
 * code: it cannot read files, nor wait. So every process's mappings are written into BPF maps as
 * soon as they are known, and the unwind tables of their files as soon as they are built. An
 * earlier sample is no error: the program sends the stack's bytes instead, and publisher_walk()
 * walks them later, by the same tables.
 *
 * A file's code goes through states, from CODE_UNKNOWN to one that stays. Its table takes
 * milliseconds to seconds to make, so worker threads do it (table_builder.c), or it is read from
 * the cache on disk. Meanwhile its mappings are published without a table, so that all other
 * mappings can be used. When the table is ready, every mapping record of that file is updated,
 * whichever process it belongs to: slot_files lists these records. Each process that maps a file
 * counts as a request for its table, and the file with the most requests is built first.
 *
 * The kernel reads without a lock while this writes. The order keeps that safe (unwind_store.c):
 * rows before pages, pages before the mapping, mappings before the process. A change of mappings is
 * a new run of records that replaces the old one.
 *
 * A program may unload a library and load another one at the same address. The kernel reports only
 * the second event, and a walk by the old table would find wrong callers until it is published. So
 * the mappings of such a process that are new are unsettled: for some time they are published
 * without a table, and user space walks their stacks by the mappings of their time.
 *
 * Files are read by processes without rights (elf_worker.h), through the descriptors of the file
 * table, which has opened the mapped files. Only bytes of code are read here, for replay.
 *
 * Limits: rows, pages and mappings have room for a machine of usual size (wire/unwind.h). Beyond it
 * processes and tables are dropped and counted in num_dropped, and their stacks end early; the
 * recording goes on.
 */
#include "collect/tables/publisher.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "collect/kernel/raw_stack.h"
#include "collect/tables/table_builder.h"
#include "unwind/replay.h"

#define MAX_WORKERS       2
#define CACHE_FOLDER      "/var/cache/stackwide"
#define CACHE_LIMIT_BYTES (256u << 20)

/*
 * Pauses between looks at processes whose HotSpot is not initialized: as short as a quarter of the
 * time that has passed, but within these bounds.
 */
#define MIN_LOOK_NS   (2 * NS_PER_MS)
#define MAX_LOOK_NS   (100 * NS_PER_MS)
#define LOOK_FRACTION 4

/* How long mappings of a process are unsettled after one of them has replaced other code. */
#define SETTLE_NS (2 * NS_PER_SECOND)

enum code_state {
	CODE_UNKNOWN = 0,
	CODE_QUEUED, /* its table is being built */
	CODE_HAS_TABLE,
	CODE_HAS_NO_CFI, /* it has no call-frame information */
	CODE_UNREADABLE, /* it cannot be opened, so far */
	CODE_DROPPED,    /* no room for its table, not read in time, or overwritten before */
};

struct published_code {
	enum code_state state;
	struct unwind_placement placement;
	uint32_t flags; /* of its mappings */
};

/* Published state of a process. */
struct published {
	struct unwind_range range;
	uint32_t settled_version; /* younger mappings are unsettled if one of them replaces code */
	uint32_t replacing_version; /* of the last one of these */
	uint64_t settles_ns;        /* when they will be settled; 0: none is unsettled */
	bool is_known;              /* it was published before */
	bool waits_for_hotspot;     /* it is among those that do */
	bool lacks_hotspot;         /* no room for its layout; counted as dropped */
};

struct publisher {
	struct runtime_sources sources;
	struct process_table *processes;
	struct unwind_store *store;
	struct table_cache *cache; /* NULL: none */
	struct table_builder *builder;
	ARRAY(struct published_code) codes; /* by file */
	ARRAY(struct published) published;  /* by process id */
	ARRAY(uint32_t) waiting;            /* process ids whose HotSpot is not initialized yet */
	ARRAY(uint32_t) unsettled;          /* process ids with unsettled mappings */
	uint64_t waiting_ns;                /* when the last of them started to wait */
	uint64_t looked_ns;                 /* when they were looked at */
	ARRAY(uint32_t) slot_files;         /* by mapping record: file, or FILE_NONE */
	ARRAY(struct unwind_mapping) scratch;
	uint32_t no_cfi_flag; /* of mappings without call-frame information; 0: they are not walked
			       */
	uint64_t num_taken;   /* answers of the builder */
	uid_t worker_user;
	bool finds_runtimes;
	struct unwind_table_counts statistics;
};

/* A cache that cannot be opened only costs time: tables are built at every run. */
static void open_cache(struct publisher *publisher, const struct unwind_table_opts *opts)
{
	struct error error = {0};

	if (!opts->no_cache &&
	    table_cache_open(opts->cache_folder ? opts->cache_folder : CACHE_FOLDER,
			     CACHE_LIMIT_BYTES, &publisher->cache, &error))
		log_debug("no cache of unwind tables: %s", error.message);
}

/* Called by the threads that build tables. */
static void prepare_table(const struct unwind_table *table, void *context)
{
	const struct publisher *publisher = context;

	if (unwind_table_has_rows(table))
		unwind_store_prepare(publisher->store, table);
}

static int start_builder(struct publisher *publisher)
{
	long num_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct table_builder_opts opts = {
		.num_threads = num_cpus < MAX_WORKERS ? 1 : MAX_WORKERS,
		.user = publisher->worker_user,
		.cache = publisher->cache,
		.on_table = prepare_table,
		.context = publisher,
	};

	return table_builder_new(&opts, &publisher->builder);
}

static void publisher_freep(struct publisher **publisher)
{
	publisher_free(*publisher);
}

int publisher_new(const struct runtime_sources *sources, struct process_table *processes,
		  const struct unwind_table_opts *opts, struct publisher **ret)
{
	_cleanup_(publisher_freep) struct publisher *publisher = calloc(1, sizeof(*publisher));

	if (!publisher)
		return -ENOMEM;
	publisher->no_cfi_flag = opts->no_fp_steps ? 0 : UNWIND_MAPPING_HAS_NO_CFI;
	publisher->worker_user = opts->worker_user;
	publisher->finds_runtimes = opts->runtime_frames != RUNTIME_FRAMES_NATIVE;
	publisher->sources = *sources;
	publisher->processes = processes;
	if (array_reserve(&publisher->slot_files, UNWIND_MAX_MAPPINGS))
		return -ENOMEM;
	memset(publisher->slot_files.items, 0xff, /* FILE_NONE */
	       UNWIND_MAX_MAPPINGS * sizeof(*publisher->slot_files.items));
	publisher->slot_files.length = UNWIND_MAX_MAPPINGS;
	open_cache(publisher, opts);
	*ret = return_ptr(publisher);
	return 0;
}

int publisher_start(struct publisher *publisher, const struct unwind_maps *maps)
{
	int err = unwind_store_new(maps, &publisher->store);

	if (err)
		return err;
	/* The builder starts processes: threads are started after them. */
	err = start_builder(publisher);
	if (err)
		return err;
	unwind_store_start_maker(publisher->store);
	return 0;
}

void publisher_free(struct publisher *publisher)
{
	if (!publisher)
		return;
	table_builder_free(publisher->builder);
	table_cache_free(publisher->cache);
	unwind_store_free(publisher->store);
	array_release(&publisher->codes);
	array_release(&publisher->published);
	array_release(&publisher->waiting);
	array_release(&publisher->unsettled);
	array_release(&publisher->slot_files);
	array_release(&publisher->scratch);
	free(publisher);
}

/* Ask for the file's table. */
static int start_code(struct publisher *publisher, struct published_code *code, uint32_t file)
{
	const struct mapped_file *mapped = file_table_get(publisher->sources.files, file);
	const struct objfile_layout *layout;
	int err;

	if (mapped->fd < 0) {
		code->state = CODE_UNREADABLE;
		return 0;
	}
	err = elf_files_get_layout(publisher->sources.elf_files, mapped, &layout);
	if (err == -ENOMEM)
		return err;
	if (err == -ETIMEDOUT || err == -ECHILD || err == -EBADMSG) {
		code->state = CODE_DROPPED;
		publisher->statistics.num_dropped++;
		return 0;
	}
	if (err) {
		/* JIT compilers map files that are not ELF. */
		code->state = CODE_HAS_NO_CFI;
		code->flags = publisher->no_cfi_flag;
		return 0;
	}
	err = table_builder_add(publisher->builder, file, mapped);
	if (err)
		return err;
	code->state = CODE_QUEUED;
	return 0;
}

static int get_code(struct publisher *publisher, uint32_t file, struct published_code **ret)
{
	struct published_code *code;

	while (publisher->codes.length <= file)
		if (!array_add(&publisher->codes))
			return -ENOMEM;
	code = &publisher->codes.items[file];
	*ret = code;
	if (code->state == CODE_UNKNOWN ||
	    (code->state == CODE_UNREADABLE &&
	     file_table_get(publisher->sources.files, file)->fd >= 0))
		return start_code(publisher, code, file);
	if (code->state == CODE_QUEUED)
		table_builder_request(publisher->builder, file);
	return 0;
}

/* Flags of the process's mappings that no file backs. */
static uint32_t choose_generated_flags(const struct publisher *publisher,
				       const struct process *process)
{
	return publisher->no_cfi_flag |
	       (process_table_has_trampolines(publisher->processes, process)
			? UNWIND_MAPPING_HAS_TRAMPOLINES
			: 0);
}

/* The layout of the mapping's file; NULL: it is not ELF. */
static const struct objfile_layout *get_layout(const struct publisher *publisher, uint32_t file)
{
	const struct objfile_layout *layout;

	return elf_files_get_layout(publisher->sources.elf_files,
				    file_table_get(publisher->sources.files, file), &layout)
		       ? NULL
		       : layout;
}

/* code is NULL where no file backs the mapping: then it has generated_flags. */
static void describe(const struct publisher *publisher, const struct published_code *code,
		     uint32_t generated_flags, const struct mapping *mapping,
		     struct unwind_mapping *ret)
{
	const struct objfile_mapping mapped = {mapping->start, mapping->end, mapping->file_offset};
	const struct objfile_layout *layout;

	*ret = (struct unwind_mapping){.start = mapping->start, .end = mapping->end};
	if (!code) {
		ret->flags = generated_flags;
		return;
	}
	layout = get_layout(publisher, mapping->file);
	if (layout && objfile_layout_get_bias(layout, &mapped, &ret->bias)) {
		ret->end = ret->start; /* no address is in it, whatever table it gets */
		return;
	}
	ret->flags = code->flags;
	ret->first_page = code->placement.first_page;
	ret->num_pages = code->placement.num_pages;
	ret->base_page = code->placement.base_page;
}

/* Whether its table may not be used by the sampling program yet. */
static bool is_unsettled(const struct publisher *publisher, const struct process *process,
			 const struct mapping *mapping)
{
	const struct published *published = &publisher->published.items[process->id];

	return published->settles_ns && mapping->file != FILE_NONE &&
	       mapping->since > published->settled_version;
}

/*
 * The walk compares addresses below this one only. The vsyscall page is above: the kernel emulates it,
 * so that no thread runs there.
 */
#define END_OF_USER_CODE (1ull << 63)

static int describe_all(struct publisher *publisher, const struct process *process,
			size_t *ret_count)
{
	size_t count;
	const struct mapping *mappings = process_get_mappings(process, &count);
	uint32_t generated_flags = choose_generated_flags(publisher, process);

	publisher->scratch.length = 0;
	while (count && mappings[count - 1].start >= END_OF_USER_CODE)
		count--;
	for (size_t i = 0; i < count; i++) {
		struct unwind_mapping *record = array_add(&publisher->scratch);
		struct published_code *code = NULL;

		if (!record)
			return -ENOMEM;
		if (mappings[i].file != FILE_NONE) {
			int err = get_code(publisher, mappings[i].file, &code);

			if (err)
				return err;
		}
		describe(publisher, code, generated_flags, &mappings[i], record);
		if (is_unsettled(publisher, process, &mappings[i]))
			record->flags = 0;
	}
	*ret_count = count;
	return 0;
}

static void note_slots(struct publisher *publisher, const struct process *process,
		       struct unwind_range range)
{
	size_t count;
	const struct mapping *mappings = process_get_mappings(process, &count);

	for (uint32_t i = 0; i < range.count; i++)
		publisher->slot_files.items[range.first + i] =
			i < count && !is_unsettled(publisher, process, &mappings[i])
				? mappings[i].file
				: FILE_NONE;
}

/* Find out whether mappings of a process that is about to be published are unsettled. */
static int judge_mappings(struct publisher *publisher, const struct process *process,
			  uint64_t now_ns)
{
	struct published *published = &publisher->published.items[process->id];
	uint32_t replacing_version = process_get_replacing_version(process);
	uint32_t *added;

	if (!published->is_known || replacing_version <= published->settled_version) {
		published->is_known = true;
		published->settled_version = process->mappings_version;
		return 0;
	}
	if (replacing_version == published->replacing_version)
		return 0;
	if (!published->settles_ns) {
		added = array_add(&publisher->unsettled);
		if (!added)
			return -ENOMEM;
		*added = process->id;
	}
	published->replacing_version = replacing_version;
	published->settles_ns = now_ns + SETTLE_NS;
	return 0;
}

/* HotSpot may initialize itself when no new mapping has the process published again. */
static int wait_for_hotspot(struct publisher *publisher, const struct process *process)
{
	struct published *published = &publisher->published.items[process->id];
	uint32_t *added;

	if (published->waits_for_hotspot)
		return 0;
	added = array_add(&publisher->waiting);
	if (!added)
		return -ENOMEM;
	*added = process->id;
	published->waits_for_hotspot = true;
	publisher->waiting_ns = clock_now_ns();
	return 0;
}

/*
 * If processes have many different builds of HotSpot, there may be no more room: later stacks end
 * at its code then.
 */
static void publish_hotspot(struct publisher *publisher, const struct process *process,
			    const struct hotspot_layout *layout, struct unwind_address_space *space)
{
	struct published *published = &publisher->published.items[process->id];
	struct wire_runtime_layout wire;

	memset(&wire, 0, sizeof(wire));
	wire.runtime = WIRE_RUNTIME_HOTSPOT;
	wire.hotspot = layout->wire;
	if (!unwind_store_add_layout(publisher->store, &wire, &space->hotspot_layout) ||
	    published->lacks_hotspot)
		return;
	published->lacks_hotspot = true;
	publisher->statistics.num_dropped++;
	log_debug("there is no room for the layout of HotSpot in process %u", process->pid);
}

/*
 * HotSpot's code is always walked by HotSpot's own layout, even if its frames are not shown.
 * Mappings without a file may contain such code.
 */
static int find_hotspot(struct publisher *publisher, const struct process *process,
			struct unwind_address_space *space)
{
	size_t count;
	const struct mapping *mappings = process_get_mappings(process, &count);

	for (size_t i = 0; i < count && !space->hotspot_layout; i++) {
		const struct hotspot_layout *layout;
		enum hotspot_presence presence =
			hotspot_layouts_read(publisher->sources.hotspots, process, &mappings[i],
					     &layout, &space->hotspot_bias);
		int err = presence == HOTSPOT_UNREAD ? wait_for_hotspot(publisher, process) : 0;

		if (err)
			return err;
		if (presence == HOTSPOT_READ && layout->support == SUPPORT_KNOWN)
			publish_hotspot(publisher, process, layout, space);
	}
	for (size_t i = 0; i < count && space->hotspot_layout; i++)
		if (mappings[i].file == FILE_NONE)
			publisher->scratch.items[i].flags |= UNWIND_MAPPING_HAS_HOTSPOT;
	return 0;
}

/*
 * The interpreter of a process, except HotSpot. If there is no room for its layout, its frames are
 * shown as native code, and its samples report that.
 */
static void find_runtime(const struct publisher *publisher, const struct process *process,
			 struct unwind_address_space *space)
{
	struct process_runtime found = process_runtime_find(&publisher->sources, process);
	const struct runtime_build *build;
	struct unwind_runtime runtime = {.runtime = found.runtime};
	size_t count;
	const struct mapping *mappings = process_get_mappings(process, &count);

	if (!found.is_known || found.runtime == WIRE_RUNTIME_HOTSPOT)
		return;
	build = runtime_sources_get_build(&publisher->sources, found.file);
	if (runtime_sources_get_state(&publisher->sources, &mappings[found.mapping],
				      &runtime.state) ||
	    unwind_store_add_layout(publisher->store, &build->layout, &runtime.layout))
		return;
	space->runtime = runtime;
}

static int publish(struct publisher *publisher, uint32_t id)
{
	const struct process *process = process_table_get(publisher->processes, id);
	uint64_t now_ns = clock_now_ns();
	struct unwind_range *range;
	struct unwind_address_space space;
	size_t count;
	int err;

	while (publisher->published.length <= id)
		if (!array_add(&publisher->published))
			return -ENOMEM;
	range = &publisher->published.items[id].range;
	if (process->is_exited) {
		unwind_store_remove(publisher->store, (pid_t)process->pid, now_ns, range);
		return 0;
	}
	err = judge_mappings(publisher, process, now_ns);
	if (err)
		return err;
	err = describe_all(publisher, process, &count);
	if (err)
		return err;
	if (process->previous && !range->count) {
		/* The image before the exec is no longer current. */
		struct published *previous = &publisher->published.items[process->previous->id];

		*range = previous->range;
		previous->range = (struct unwind_range){0};
	}
	space = (struct unwind_address_space){
		.pid = (pid_t)process->pid,
		.generation = process->generation,
		.mappings = publisher->scratch.items,
		.num_mappings = (uint32_t)count,
		.version = process->mappings_version,
	};
	err = find_hotspot(publisher, process, &space);
	if (err)
		return err;
	if (publisher->finds_runtimes)
		find_runtime(publisher, process, &space);
	err = unwind_store_publish(publisher->store, &space, now_ns, range);
	if (err == -ENOMEM)
		return err;
	if (err)
		publisher->statistics.num_dropped++;
	note_slots(publisher, process, *range);
	return 0;
}

static void give_table(struct publisher *publisher, uint32_t file)
{
	const struct published_code *code = &publisher->codes.items[file];
	struct unwind_mapping record = {
		.first_page = code->placement.first_page,
		.num_pages = code->placement.num_pages,
		.base_page = code->placement.base_page,
		.flags = code->flags,
	};

	for (uint32_t slot = 0; slot < UNWIND_MAX_MAPPINGS; slot++)
		if (publisher->slot_files.items[slot] == file)
			unwind_store_set_table(publisher->store, slot, &record);
}

static void take_table(struct publisher *publisher, uint32_t file, struct unwind_table *table)
{
	struct published_code *code = &publisher->codes.items[file];
	const struct mapped_file *mapped = file_table_get(publisher->sources.files, file);
	int err;

	publisher->num_taken++;
	code->state = CODE_HAS_NO_CFI;
	code->flags = publisher->no_cfi_flag;
	if (table && unwind_table_has_rows(table)) {
		err = unwind_store_add_table(publisher->store, table, &code->placement);
		code->state = err ? CODE_DROPPED : CODE_HAS_TABLE;
		/* A table may have gaps without CFI: V8's builtins inside node, assembly. */
		code->flags = err ? 0 : UNWIND_MAPPING_HAS_TABLE | publisher->no_cfi_flag;
		publisher->statistics.num_dropped += err != 0;
		publisher->statistics.num_objfiles += !err;
		publisher->statistics.build_ns += table->statistics.build_ns;
		publisher->statistics.frame_info_bytes += table->statistics.input_bytes;
	} else if (!table && !mapped_file_is_unchanged(mapped)) {
		code->state = CODE_DROPPED;
		code->flags = 0;
		publisher->statistics.num_dropped++;
	}
	give_table(publisher, file);
	if (code->state == CODE_HAS_TABLE)
		log_debug("the unwind table of %s is ready", mapped->path);
	unwind_table_free(table);
}

/*
 * Whether the layout of a process's HotSpot is still to be read. If it maps several files with
 * HotSpot, all are asked for.
 */
static bool has_unread_hotspot(struct publisher *publisher, const struct process *process)
{
	bool is_unread = false;
	size_t count;
	const struct mapping *mappings = process_get_mappings(process, &count);

	for (size_t i = 0; i < count; i++) {
		const struct hotspot_layout *layout;
		uint64_t bias;

		enum hotspot_presence presence = hotspot_layouts_read(
			publisher->sources.hotspots, process, &mappings[i], &layout, &bias);

		if (presence == HOTSPOT_READ)
			return false;
		is_unread |= presence == HOTSPOT_UNREAD;
	}
	return is_unread;
}

/* Publish processes again whose HotSpot can be read by now. */
static int ask_waiting(struct publisher *publisher)
{
	size_t num_asked = publisher->waiting.length;
	uint64_t waiting_ns = publisher->waiting_ns;

	publisher->looked_ns = clock_now_ns();
	/* Processes that still wait move to the front, where all have been asked. */
	publisher->waiting.length = 0;
	for (size_t i = 0; i < num_asked; i++) {
		uint32_t id = publisher->waiting.items[i];
		const struct process *process = process_table_get(publisher->processes, id);
		int err;

		publisher->published.items[id].waits_for_hotspot = false;
		if (process->is_exited || process->end_ns) /* or it runs something else by now */
			continue;
		err = has_unread_hotspot(publisher, process) ? wait_for_hotspot(publisher, process)
							     : publish(publisher, id);
		if (err)
			return err;
	}
	publisher->waiting_ns = waiting_ns; /* the others have waited since then */
	return 0;
}

/* Publish processes again when no mapping was replaced for some time. */
static int settle(struct publisher *publisher)
{
	uint64_t now_ns = publisher->unsettled.length ? clock_now_ns() : 0;
	size_t num_left = 0;

	for (size_t i = 0; i < publisher->unsettled.length; i++) {
		uint32_t id = publisher->unsettled.items[i];
		const struct process *process = process_table_get(publisher->processes, id);
		struct published *published = &publisher->published.items[id];
		int err;

		if (now_ns < published->settles_ns) {
			publisher->unsettled.items[num_left++] = id;
			continue;
		}
		published->settles_ns = 0;
		published->settled_version = process->mappings_version;
		err = process->is_exited || process->end_ns ? 0 : publish(publisher, id);
		if (err)
			return err;
	}
	publisher->unsettled.length = num_left;
	return 0;
}

uint64_t publisher_get_look_ns(const struct publisher *publisher)
{
	uint64_t pause_ns = (publisher->looked_ns - publisher->waiting_ns) / LOOK_FRACTION;

	if (!publisher->waiting.length)
		return UINT64_MAX;
	if (publisher->looked_ns < publisher->waiting_ns || pause_ns < MIN_LOOK_NS)
		pause_ns = MIN_LOOK_NS;
	return publisher->looked_ns + (pause_ns < MAX_LOOK_NS ? pause_ns : MAX_LOOK_NS);
}

int publisher_update(struct publisher *publisher)
{
	struct unwind_table *table;
	uint32_t id;
	int err;

	while (process_table_take_changed(publisher->processes, &id)) {
		err = publish(publisher, id);
		if (err)
			return err;
	}
	err = ask_waiting(publisher);
	if (err)
		return err;
	err = settle(publisher);
	if (err)
		return err;
	while (table_builder_take(publisher->builder, &id, &table))
		take_table(publisher, id, table);
	return 0;
}

int publisher_get_fd(const struct publisher *publisher)
{
	return table_builder_get_fd(publisher->builder);
}

bool publisher_wait(struct publisher *publisher, uint64_t until_ns)
{
	struct unwind_table *table;
	uint32_t file;

	if (!table_builder_wait(publisher->builder, until_ns))
		return false;
	while (table_builder_take(publisher->builder, &file, &table))
		take_table(publisher, file, table);
	return true;
}

void publisher_finish(struct publisher *publisher)
{
	table_builder_finish(publisher->builder);
	unwind_store_close(publisher->store);
}

struct unwind_table_counts publisher_get_statistics(const struct publisher *publisher)
{
	struct unwind_table_counts statistics = publisher->statistics;
	struct elf_worker_cost cost = table_builder_get_cost(publisher->builder);

	statistics.num_rows = unwind_store_get_row_count(publisher->store);
	statistics.size_bytes = unwind_store_get_size(publisher->store);
	statistics.build_wall_ns = table_builder_get_wall_ns(publisher->builder);
	statistics.worker_cpu_ns = cost.cpu_ns;
	statistics.worker_rss_bytes = cost.max_rss_bytes;
	return statistics;
}

uint64_t publisher_get_taken_count(const struct publisher *publisher)
{
	return publisher->num_taken;
}

/* The context of a walk of a raw sample. */
struct publisher_replay {
	struct publisher *publisher;
	const struct process *process;
};

/*
 * A process that exited or called exec before it could be published has requested no tables: its
 * raw stacks do so here.
 */
static bool find_code(void *context, uint64_t pc, struct replay_code *ret)
{
	const struct publisher_replay *replay = context;
	const struct mapping *mapping = process_find_mapping(replay->process, pc);
	struct published_code *code = NULL; /* no file backs it */

	if (!mapping)
		return false;
	if (mapping->file != FILE_NONE && get_code(replay->publisher, mapping->file, &code)) {
		/* Out of memory: perhaps not the next time. */
		ret->mapping =
			(struct unwind_mapping){.start = mapping->start, .end = mapping->end};
		return true;
	}
	describe(replay->publisher, code,
		 code ? 0 : choose_generated_flags(replay->publisher, replay->process), mapping,
		 &ret->mapping);
	if (code && ret->mapping.end > ret->mapping.start) {
		ret->layout = get_layout(replay->publisher, mapping->file);
		ret->fd = file_table_get(replay->publisher->sources.files, mapping->file)->fd;
		ret->file = mapping->file;
	}
	return true;
}

static bool has_changed(void *context, const struct replay_code *code)
{
	const struct publisher_replay *replay = context;

	return !mapped_file_is_unchanged(
		file_table_get(replay->publisher->sources.files, code->file));
}

static bool find_rule(void *context, const struct replay_code *code, uint64_t elf_address,
		      struct unwind_rule *ret)
{
	const struct publisher_replay *replay = context;
	const struct unwind_rule *rule =
		unwind_store_find_rule(replay->publisher->store, &code->mapping, elf_address);

	if (rule)
		*ret = *rule;
	return rule != NULL;
}

enum walk_end publisher_walk(struct publisher *publisher, const struct process *process,
			     const struct wire_raw_sample *raw, struct wire_stack *ret,
			     uint64_t *ret_outermost_sp)
{
	struct publisher_replay replay = {.publisher = publisher, .process = process};
	struct replay_source source = {
		.find_code = find_code,
		.find_rule = find_rule,
		.has_changed = has_changed,
		.context = &replay,
	};
	struct replay_stack stack = raw_stack_for_replay(raw);

	return replay_walk(&stack, &source, ret->pcs, &ret->num_frames, ret_outermost_sp);
}
