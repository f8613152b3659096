/*
 * The sampling program can walk a user stack only where it has been told what is mapped and how to
 * unwind it: it cannot read files, nor wait for anybody. So every process's mappings are written
 * into kernel memory as soon as they are known, and the unwind tables of their files as soon as
 * they are made. Whoever comes too early is no error: the program sends the stack's bytes instead,
 * and publisher_walk() walks them later, by the same tables.
 *
 * A file's code goes through states, from CODE_UNKNOWN to one that stays. Its table takes
 * milliseconds to seconds to make, so worker threads do it (table_builder.c), or it comes from the
 * cache on disk; meanwhile its mappings are published without a table, so that the addresses of
 * everything else hold. When the table is there, every record of a mapping of that file is told,
 * whichever process it belongs to: slot_files says which records these are. A file is wanted once
 * more by each process that maps it, and the most wanted is built first.
 *
 * The kernel reads without a lock while this writes. What keeps that safe is order, and
 * unwind_store.c has it: rows before pages, pages before the mapping, mappings before the process.
 * A change of mappings is a new run of records that takes the place of the old one.
 *
 * Files are read through the descriptors of the file table, which has opened what was mapped: an
 * objfile is kept open here for its addresses (and for replay for its code), not for its name.
 *
 * Limits: rows, pages and mappings have room for a machine of usual size (wire/unwind.h). Beyond
 * it processes and tables are dropped and counted in num_dropped, and their stacks end early; the
 * recording goes on.
 */
#include "collect/publisher.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "collect/raw_stack.h"
#include "collect/table_builder.h"
#include "objfile/objfile.h"
#include "unwind/replay.h"

#define MAX_WORKERS       2
#define CACHE_FOLDER      "/var/cache/stackwide"
#define CACHE_LIMIT_BYTES (256u << 20)

enum code_state {
	CODE_UNKNOWN = 0,
	CODE_QUEUED, /* its table is being built */
	CODE_HAS_TABLE,
	CODE_HAS_NO_CFI, /* it is known that there is no call-frame information */
	CODE_UNREADABLE, /* it cannot be opened, so far */
	CODE_DROPPED,    /* there was no room for its table */
};

struct code {
	enum code_state state;
	struct objfile *objfile; /* for addresses only; NULL: not ELF */
	struct unwind_placement placement;
	uint32_t flags; /* of its mappings */
};

/* By process id. */
struct published {
	struct unwind_range range;
};

struct publisher {
	const struct file_table *files;
	struct process_table *processes;
	struct unwind_store *store;
	struct table_cache *cache; /* NULL: none */
	struct table_builder *builder;
	ARRAY(struct code) codes;          /* by file */
	ARRAY(struct published) published; /* by process id */
	ARRAY(uint32_t) slot_files;        /* by mapping record: file, or FILE_NONE */
	ARRAY(struct unwind_mapping) scratch;
	uint32_t no_cfi_flag; /* of mappings without call-frame information; 0: they are not walked
			       */
	struct unwind_table_counts statistics;
};

/* Without a cache tables are built at every run, and nothing else changes. */
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

	if (unwind_table_has_call_frame_info(table))
		unwind_store_prepare(publisher->store, table);
}

static int start_builder(struct publisher *publisher)
{
	long num_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct table_builder_opts opts = {
		.num_threads = num_cpus < MAX_WORKERS ? 1 : MAX_WORKERS,
		.cache = publisher->cache,
		.on_table = prepare_table,
		.context = publisher,
	};

	return table_builder_new(&opts, &publisher->builder);
}

int publisher_new(const struct unwind_maps *maps, const struct file_table *files,
		  struct process_table *processes, const struct unwind_table_opts *opts,
		  struct publisher **ret)
{
	struct publisher *publisher = calloc(1, sizeof(*publisher));
	int err = publisher ? unwind_store_new(maps, &publisher->store) : -ENOMEM;

	if (!err) {
		open_cache(publisher, opts);
		err = start_builder(publisher);
	}
	if (!err && array_reserve(&publisher->slot_files, UNWIND_MAX_MAPPINGS))
		err = -ENOMEM;
	if (err) {
		publisher_free(publisher);
		return err;
	}
	memset(publisher->slot_files.items, 0xff,
	       UNWIND_MAX_MAPPINGS * sizeof(*publisher->slot_files.items));
	publisher->slot_files.length = UNWIND_MAX_MAPPINGS;
	publisher->no_cfi_flag = opts->no_fp_steps ? 0 : UNWIND_MAPPING_HAS_NO_CFI;
	publisher->files = files;
	publisher->processes = processes;
	*ret = publisher;
	return 0;
}

void publisher_free(struct publisher *publisher)
{
	if (!publisher)
		return;
	table_builder_free(publisher->builder);
	table_cache_free(publisher->cache);
	unwind_store_free(publisher->store);
	array_for_each (&publisher->codes, code)
		objfile_unref(code->objfile);
	array_release(&publisher->codes);
	array_release(&publisher->published);
	array_release(&publisher->slot_files);
	array_release(&publisher->scratch);
	free(publisher);
}

/* Open the file for its addresses, and ask for its table. */
static int begin_code(struct publisher *publisher, struct code *code, uint32_t file)
{
	const struct mapped_file *mapped = file_table_get(publisher->files, file);
	int err;

	if (mapped->fd < 0) {
		code->state = CODE_UNREADABLE;
		return 0;
	}
	err = objfile_open(mapped->fd, mapped->path, NULL, &code->objfile, NULL);
	if (err == -ENOMEM)
		return err;
	if (err == -EMFILE || err == -ENFILE) {
		publisher->statistics.num_dropped++; /* tried again when it is mapped again */
		return 0;
	}
	if (err) {
		/* JIT compilers map files that are no ELF. */
		code->state = CODE_HAS_NO_CFI;
		code->flags = publisher->no_cfi_flag;
		return 0;
	}
	err = table_builder_add(publisher->builder, file, mapped);
	if (err == -ENOMEM)
		return err;
	if (err) {
		/* No descriptor is left: perhaps there is one when it is mapped the next time. */
		objfile_unref(code->objfile);
		code->objfile = NULL;
		publisher->statistics.num_dropped++;
		return 0;
	}
	code->state = CODE_QUEUED;
	return 0;
}

static int get_code(struct publisher *publisher, uint32_t file, struct code **ret)
{
	struct code *code;

	while (publisher->codes.length <= file)
		if (!array_add(&publisher->codes))
			return -ENOMEM;
	code = &publisher->codes.items[file];
	*ret = code;
	if (code->state == CODE_UNKNOWN ||
	    (code->state == CODE_UNREADABLE && file_table_get(publisher->files, file)->fd >= 0))
		return begin_code(publisher, code, file);
	if (code->state == CODE_QUEUED)
		table_builder_want(publisher->builder, file);
	return 0;
}

static void describe(const struct publisher *publisher, const struct code *code,
		     const struct mapping *mapping, struct unwind_mapping *ret)
{
	*ret = (struct unwind_mapping){.start = mapping->start, .end = mapping->end};
	if (!code) {
		ret->flags = publisher->no_cfi_flag;
		return;
	}
	if (code->objfile &&
	    objfile_get_bias(code->objfile, mapping->start, mapping->file_offset, &ret->bias)) {
		ret->end = ret->start; /* no address is in it, whatever table it gets */
		return;
	}
	ret->flags = code->flags;
	ret->first_page = code->placement.first_page;
	ret->num_pages = code->placement.num_pages;
	ret->base_page = code->placement.base_page;
}

static int describe_all(struct publisher *publisher, const struct process *process,
			size_t *ret_count)
{
	size_t count;
	const struct mapping *mappings = process_get_mappings(process, &count);

	publisher->scratch.length = 0;
	for (size_t i = 0; i < count; i++) {
		struct unwind_mapping *record = array_add(&publisher->scratch);
		struct code *code = NULL;
		int err = record ? 0 : -ENOMEM;

		if (!err && mappings[i].file != FILE_NONE)
			err = get_code(publisher, mappings[i].file, &code);
		if (err)
			return err;
		describe(publisher, code, &mappings[i], record);
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
			i < count ? mappings[i].file : FILE_NONE;
}

static int publish(struct publisher *publisher, uint32_t id)
{
	const struct process *process = process_table_get(publisher->processes, id);
	uint64_t now_ns = clock_now_ns();
	struct unwind_range *range;
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
	err = describe_all(publisher, process, &count);
	if (err)
		return err;
	if (process->previous && !range->count) {
		/* The image before the exec is not current any more. */
		struct published *previous = &publisher->published.items[process->previous->id];

		*range = previous->range;
		previous->range = (struct unwind_range){0};
	}
	err = unwind_store_publish(publisher->store, (pid_t)process->pid, process->generation,
				   publisher->scratch.items, (uint32_t)count, now_ns, range);
	if (err == -ENOMEM)
		return err;
	if (err)
		publisher->statistics.num_dropped++;
	note_slots(publisher, process, *range);
	return 0;
}

static void give_table(struct publisher *publisher, uint32_t file)
{
	const struct code *code = &publisher->codes.items[file];
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
	struct code *code = &publisher->codes.items[file];
	int err;

	code->state = CODE_HAS_NO_CFI;
	code->flags = publisher->no_cfi_flag;
	if (table && unwind_table_has_call_frame_info(table)) {
		err = unwind_store_add_table(publisher->store, table, &code->placement);
		code->state = err ? CODE_DROPPED : CODE_HAS_TABLE;
		/* A table says also where there is nothing: V8's builtins inside node, assembly. */
		code->flags = err ? 0 : UNWIND_MAPPING_HAS_TABLE | publisher->no_cfi_flag;
		publisher->statistics.num_dropped += err != 0;
		publisher->statistics.num_objfiles += !err;
		publisher->statistics.build_ns += table->statistics.build_ns;
		publisher->statistics.frame_info_bytes += table->statistics.input_bytes;
	}
	give_table(publisher, file);
	unwind_table_free(table);
}

int publisher_update(struct publisher *publisher)
{
	struct unwind_table *table;
	uint32_t id;
	int err = 0;

	while (!err && process_table_take_changed(publisher->processes, &id))
		err = publish(publisher, id);
	while (!err && table_builder_take(publisher->builder, &id, &table))
		take_table(publisher, id, table);
	return err;
}

int publisher_get_fd(const struct publisher *publisher)
{
	return table_builder_get_fd(publisher->builder);
}

bool publisher_wait(struct publisher *publisher)
{
	struct unwind_table *table;
	uint32_t file;

	if (!table_builder_wait(publisher->builder))
		return false;
	while (table_builder_take(publisher->builder, &file, &table))
		take_table(publisher, file, table);
	return true;
}

struct unwind_table_counts publisher_get_statistics(const struct publisher *publisher)
{
	struct unwind_table_counts statistics = publisher->statistics;

	statistics.num_rows = unwind_store_get_row_count(publisher->store);
	statistics.size_bytes = unwind_store_get_size(publisher->store);
	statistics.build_wall_ns = table_builder_get_wall_ns(publisher->builder);
	return statistics;
}

/* What a walk of a raw sample asks for. */
struct publisher_replay {
	struct publisher *publisher;
	const struct process *process;
};

/*
 * A process that was gone, or had executed another program, before it could be published has asked
 * for no tables: its raw stacks do.
 */
static bool find_code(void *context, uint64_t pc, struct replay_code *ret)
{
	const struct publisher_replay *replay = context;
	const struct mapping *mapping = process_find_mapping(replay->process, pc);
	struct code *code = NULL; /* no file backs it */

	if (!mapping)
		return false;
	if (mapping->file != FILE_NONE && get_code(replay->publisher, mapping->file, &code)) {
		/* Out of memory: perhaps not the next time. */
		ret->mapping =
			(struct unwind_mapping){.start = mapping->start, .end = mapping->end};
		return true;
	}
	describe(replay->publisher, code, mapping, &ret->mapping);
	if (code && ret->mapping.end > ret->mapping.start)
		ret->objfile = code->objfile;
	return true;
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
			     const struct wire_raw_sample *raw, struct wire_stack *ret)
{
	struct publisher_replay replay = {.publisher = publisher, .process = process};
	struct replay_source source = {
		.find_code = find_code,
		.find_rule = find_rule,
		.context = &replay,
	};
	struct replay_stack stack = raw_stack_for_replay(raw);

	return replay_walk(&stack, &source, ret->pcs, &ret->num_frames);
}
