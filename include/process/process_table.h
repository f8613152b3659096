/*
 * Processes over time, as /proc and the kernel's side-band events show them.
 *
 * The table is fed events and asked about samples in order of time, so what it holds is always
 * the state at the time of the latest event. A process image (struct process) is one program run
 * by one pid: an exec or a reused pid starts a new image. Images are never removed: samples refer
 * to them.
 *
 * Not thread-safe.
 */
#ifndef PROCESS_PROCESS_TABLE_H
#define PROCESS_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "process/file_table.h"
#include "process/mapping_list.h"

#define COMM_SIZE          16
#define GENERATION_UNKNOWN UINT64_MAX

struct process_table;

/* Plain values, read-only outside the table. */
struct process {
	uint32_t id; /* dense, from 0, never reused */
	uint32_t pid;
	uint32_t parent_pid; /* 0 when unknown */
	uint64_t start_ns;   /* when this image began, or was first seen; of a process found
				by a scan: when the process began */
	uint64_t as_of_ns;   /* when its /proc entry was read; 0 when it never was. Older events
				about it are already in it, and are ignored */
	uint64_t generation; /* the kernel's exec counter, or GENERATION_UNKNOWN */
	uint32_t mappings_version; /* grows with every change of the mappings */
	bool is_exited;
	bool was_scanned;     /* /proc/PID/maps was read, or inherited from one that was */
	int perf_map_fd;      /* opened by process_table_open_perf_map(), owned by the table; -1 */
	char comm[COMM_SIZE]; /* NUL-terminated */
	struct process *previous; /* the image that this pid ran before its exec; NULL when none */
};

/* files is borrowed and must outlive the table. proc_root as in file_table_new(). */
struct process_table *process_table_new(const char *proc_root, struct file_table *files);
void process_table_free(struct process_table *table);

/*
 * Read every process below proc_root; each as of a time read before its maps are.
 * process_table_scan_pid() reads one; -ENOENT when it is not there (any more). Scanning a pid
 * that has an image refreshes this image.
 */
_must_check_ int process_table_scan(struct process_table *table);
_must_check_ int process_table_scan_pid(struct process_table *table, pid_t pid);

/* The events. Each returns 0 or -ENOMEM. time_ns never falls from call to call. */
_must_check_ int process_table_on_fork(struct process_table *table, uint64_t time_ns, pid_t pid,
				       pid_t parent_pid);
/* comm_exec: the comm is the sign of a finished exec, as PERF_RECORD_MISC_COMM_EXEC says. */
_must_check_ int process_table_on_comm(struct process_table *table, uint64_t time_ns, pid_t pid,
				       const char *comm, bool is_exec);
_must_check_ int process_table_on_mmap(struct process_table *table, uint64_t time_ns, pid_t pid,
				       uint64_t start, uint64_t end, uint64_t file_offset,
				       const struct file_identity *identity);
_must_check_ int process_table_on_exit(struct process_table *table, uint64_t time_ns, pid_t pid);

/*
 * The image that a sample of pid belongs to. generation is the kernel's exec counter read with the
 * sample (GENERATION_UNKNOWN when the kernel has none).
 *
 * The current image's generation is adopted from the first sample that has one; after that
 *  - a sample with an older one was taken inside exec, before the new image began: the image
 *    before (*ret_is_in_exec is set, also when that image is not known);
 *  - a sample with a newer one means an exec whose event was lost: a new image is started and read
 *    from /proc.
 * An unknown pid is read from /proc, and has an image without mappings when that fails.
 * An exited process keeps answering until its pid is used again.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int process_table_find(struct process_table *table, uint64_t time_ns, pid_t pid,
				    uint64_t generation, struct process **ret,
				    bool *ret_is_in_exec);

/* Images by id; the pointer stays valid until process_table_free(). */
const struct process *process_table_get(const struct process_table *table, uint32_t id);
uint32_t process_table_get_count(const struct process_table *table);

/* All executable mappings, sorted by start; borrowed until the next event. */
const struct mapping *process_get_mappings(const struct process *process, size_t *ret_count);

/*
 * Take one image out of those that are new, changed their mappings, learnt their generation or
 * ended since they were last taken. Returns false when there is none.
 */
bool process_table_take_changed(struct process_table *table, uint32_t *ret_id);

/* The mapping that holds pc, or NULL; borrowed until the next event. */
const struct mapping *process_find_mapping(const struct process *process, uint64_t pc);

/*
 * Open the process's perf-map while the process can still be asked for it, and keep it open in
 * perf_map_fd. Called when code in memory that no file backs is first seen; call it as often as you
 * like: a missing perf-map is looked for again after 100 ms (of time_ns), at the process's exit,
 * and at the end.
 */
void process_table_open_perf_map(struct process_table *table, uint64_t time_ns, uint32_t id);

/* At the end: look once more for the perf-maps that were not there when they were asked for. */
void process_table_finish_perf_maps(struct process_table *table);

/* What happened, for the account. */
struct process_table_stats {
	uint64_t forks; /* new processes, not threads */
	uint64_t execs;
	uint64_t exits;
	uint64_t missed_execs; /* noticed by a sample's generation only */
};
struct process_table_stats process_table_get_stats(const struct process_table *table);

#endif
