#include "collect/events/event_names.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <strings.h>

#include "base/attributes.h"
#include "base/text.h"

#define SOFTWARE(number) EVENT_SOFTWARE, PERF_TYPE_SOFTWARE, number
#define HARDWARE(number) EVENT_HARDWARE, PERF_TYPE_HARDWARE, number
/* Their numbers are those of the machine's tracepoints. */
#define SYSTEM_CALL EVENT_SYSTEM_CALL, PERF_TYPE_TRACEPOINT, 0
#define BLOCK_IO    EVENT_BLOCK_IO, PERF_TYPE_TRACEPOINT, 0
/* Its points are found in files. */
#define PROBE EVENT_PROBE, 0, 0

/* In the order of the list that is shown. */
const struct event_name event_names[] = {
	{"cpu-clock", NULL, SOFTWARE(PERF_COUNT_SW_CPU_CLOCK),
	 "time on CPUs, by a timer: for machines without a PMU"},
	{"task-clock", NULL, SOFTWARE(PERF_COUNT_SW_TASK_CLOCK),
	 "the same, by the thread's own time"},
	{"page-faults", "faults", SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS),
	 "memory touched first, or again after it was reclaimed: one or more pages"},
	{"minor-faults", NULL, SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS_MIN),
	 "those that needed no disk"},
	{"major-faults", NULL, SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS_MAJ),
	 "those that waited for a disk"},
	{"context-switches", "cs", SOFTWARE(PERF_COUNT_SW_CONTEXT_SWITCHES),
	 "where threads leave their CPU; --off-cpu shows for how long"},
	{"cpu-migrations", "migrations", SOFTWARE(PERF_COUNT_SW_CPU_MIGRATIONS),
	 "threads that continue on another CPU, with cold caches"},
	{"alignment-faults", NULL, SOFTWARE(PERF_COUNT_SW_ALIGNMENT_FAULTS),
	 "unaligned accesses that the kernel had to fix"},
	{"emulation-faults", NULL, SOFTWARE(PERF_COUNT_SW_EMULATION_FAULTS),
	 "instructions that the kernel had to emulate"},
	{"cgroup-switches", NULL, SOFTWARE(11 /* since Linux 5.13 */),
	 "switches between threads of different cgroups"},
	{"cycles", "cpu-cycles", HARDWARE(PERF_COUNT_HW_CPU_CYCLES),
	 "time on CPUs, in their cycles"},
	{"instructions", NULL, HARDWARE(PERF_COUNT_HW_INSTRUCTIONS),
	 "work done; few for many cycles means waiting for memory"},
	{"cache-references", NULL, HARDWARE(PERF_COUNT_HW_CACHE_REFERENCES),
	 "accesses to the last cache before memory"},
	{"cache-misses", NULL, HARDWARE(PERF_COUNT_HW_CACHE_MISSES),
	 "those that went to memory: data too large or scattered"},
	{"branches", "branch-instructions", HARDWARE(PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
	 "jumps and calls"},
	{"branch-misses", NULL, HARDWARE(PERF_COUNT_HW_BRANCH_MISSES),
	 "mispredicted jumps: unpredictable conditions"},
	{"bus-cycles", NULL, HARDWARE(PERF_COUNT_HW_BUS_CYCLES), "cycles of the bus"},
	{"stalled-cycles-frontend", "idle-cycles-frontend",
	 HARDWARE(PERF_COUNT_HW_STALLED_CYCLES_FRONTEND), "no instruction was ready: large code"},
	{"stalled-cycles-backend", "idle-cycles-backend",
	 HARDWARE(PERF_COUNT_HW_STALLED_CYCLES_BACKEND), "instructions waited for data"},
	{"ref-cycles", NULL, HARDWARE(PERF_COUNT_HW_REF_CPU_CYCLES),
	 "cycles at a rate independent of the CPU's frequency"},
	{"syscalls", NULL, SYSTEM_CALL, "calls of the kernel, by their names: [syscall read]"},
	{"syscall-time", NULL, SYSTEM_CALL, "their duration, including waits"},
	{"block-io", NULL, BLOCK_IO, "bytes of disk reads and writes, by requester: [block read]"},
	{"block-io-time", NULL, BLOCK_IO, "duration of disk requests of all kinds: [block flush]"},
	{"block-discard", NULL, BLOCK_IO, "bytes that disks are told to forget (TRIM)"},
	{"alloc", NULL, PROBE, "bytes that programs allocate: malloc and the like, operator new"},
	{"alloc-live", NULL, PROBE, "those not freed by the end, by age"},
};
const size_t num_event_names = ARRAY_LENGTH(event_names);

const struct event_name *event_name_find(const char *name)
{
	for (size_t i = 0; i < num_event_names; i++)
		if (string_equals(event_names[i].name, name) ||
		    (event_names[i].alias && string_equals(event_names[i].alias, name)))
			return &event_names[i];
	return NULL;
}

/*
 * A cache event is three numbers: the cache, the operation and the result. These are indexed by the
 * kernel's numbers (PERF_COUNT_HW_CACHE_*).
 */
static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB",
				     "iTLB",      "branch",    "node"};
static const struct {
	const char *all;    /* "L1-dcache-loads" */
	const char *missed; /* "L1-dcache-load-misses" */
} operations[] = {
	{"loads", "load-misses"},
	{"stores", "store-misses"},
	{"prefetches", "prefetch-misses"},
};
#define NUM_RESULTS 2

static uint64_t get_cache_config(size_t index)
{
	size_t result = index % NUM_RESULTS;
	size_t operation = index / NUM_RESULTS % ARRAY_LENGTH(operations);
	size_t cache = index / NUM_RESULTS / ARRAY_LENGTH(operations);

	return cache | operation << 8 | result << 16;
}

bool event_cache_get_name(size_t index, char *ret, size_t size)
{
	size_t operation = index / NUM_RESULTS % ARRAY_LENGTH(operations);
	size_t cache = index / NUM_RESULTS / ARRAY_LENGTH(operations);

	if (cache >= ARRAY_LENGTH(caches))
		return false;
	snprintf(ret, size, "%s-%s", caches[cache],
		 index % NUM_RESULTS ? operations[operation].missed : operations[operation].all);
	return true;
}

bool event_cache_find(const char *name, uint64_t *ret_config)
{
	char known[64];

	for (size_t i = 0; event_cache_get_name(i, known, sizeof(known)); i++) {
		if (strcasecmp(known, name) != 0) /* perf takes any case there */
			continue;
		*ret_config = get_cache_config(i);
		return true;
	}
	return false;
}

bool event_type_find(const char *word, uint8_t *ret_bytes, bool *ret_is_signed)
{
	static const struct {
		const char *name;
		uint8_t bytes;
		bool is_signed;
	} types[] = {
		{"u8", 1, false}, {"u16", 2, false}, {"u32", 4, false}, {"u64", 8, false},
		{"s8", 1, true},  {"s16", 2, true},  {"s32", 4, true},  {"s64", 8, true},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		if (!string_equals(types[i].name, word))
			continue;
		*ret_bytes = types[i].bytes;
		*ret_is_signed = types[i].is_signed;
		return true;
	}
	return false;
}

const char *event_unit_get(const char *word)
{
	if (string_equals(word, "By"))
		return "bytes";
	return string_equals(word, "ns") ? "nanoseconds" : word;
}
