/*
 * Processes over time, as /proc and the kernel's side-band events show them.
 *
 * Events and samples come in order of time, so the table always has the state at the time of the
 * latest event. A process image (struct process) is one program run by one pid: an exec or a reused
 * pid starts a new image. Images are never removed, as samples refer to them.
 *
 * Not thread-safe.
 */
#ifndef PROCESS_PROCESS_TABLE_H
#define PROCESS_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/text.h"
#include "process/file_table.h"

/*
 * The executable mappings of one process image: sorted by address, never overlapping.
 *
 * The kernel reports mmap() but not munmap(), so a newer mapping replaces older ones in its range,
 * and a mapping that was only unmapped stays.
 */

/* Executable mapping. */
struct mapping {
	uint64_t start;
	uint64_t end;         /* first byte after it */
	uint64_t file_offset; /* of start, in bytes; 0 where no file backs it */
	uint32_t file;        /* number in the file table, or FILE_NONE */
};

/* Lists that were inherited share their mappings until one of them changes. */
struct mapping_list {
	ARRAY(struct mapping) sorted; /* by start */
	uint32_t *num_refs;           /* lists with these mappings; NULL: this one alone */
};

void mapping_list_release(struct mapping_list *list);

/*
 * Add a mapping (start < end); mappings that it overlaps are trimmed, split or dropped. Nothing
 * changes if an older mapping has the same part of the same file at these addresses.
 *
 * ret_is_changed   whether the list changed
 *
 * Returns 0, or -ENOMEM (nothing changed).
 */
_must_check_ int mapping_list_add(struct mapping_list *list, const struct mapping *mapping,
				  bool *ret_is_changed);

/*
 * Give list (empty before) the mappings of other. They are not copied: who forks thousands of times
 * with thousands of mappings must not fill our memory. Returns 0 or -ENOMEM.
 */
_must_check_ int mapping_list_share(struct mapping_list *list, struct mapping_list *other);

bool mapping_list_equals(const struct mapping_list *a, const struct mapping_list *b);

/* Whether any mapping lies in this range, at least in part. */
bool mapping_list_overlaps(const struct mapping_list *list, uint64_t start, uint64_t end);

/* The mapping that holds pc, or NULL; borrowed until the list changes. */
const struct mapping *mapping_list_find(const struct mapping_list *list, uint64_t pc);

#define COMM_SIZE          16
#define GENERATION_UNKNOWN UINT64_MAX

struct process_table;

/* Plain values, read-only outside the table. */
struct process {
	uint32_t id; /* dense, from 0, never reused */
	uint32_t pid;
	uint32_t parent_pid; /* 0 when unknown */
	uint32_t parent_tid; /* the thread of the parent that made it; 0: no fork was seen */
	uint64_t start_ns;   /* when this image began, or was first seen; of a process found
				by a scan: when the process began */
	uint64_t as_of_ns;   /* when its /proc entry was read; 0 when it never was. Older events
				about it are already in it, and are ignored */
	uint64_t generation; /* the kernel's exec counter, or GENERATION_UNKNOWN */
	uint32_t mappings_version; /* grows with every change of the mappings */
	bool is_exited; /* as far as is known: a mapping that is made later shows that it was not */
	bool was_scanned;     /* /proc/PID/maps was read, or inherited from one that was */
	char comm[COMM_SIZE]; /* NUL-terminated */
	/* When its last thread ended, or an exec began the next image; 0: not known */
	uint64_t end_ns;
	/* Where process_table_keep_details() was called: */
	bool has_uid;
	uint32_t uid; /* the real one */
	const char
		*command_line; /* words with blanks between them; NULL or empty: unknown, or none */
	struct process *previous; /* the image that this pid ran before its exec; NULL when none */
};

/* files is borrowed and must outlive the table. proc_root as in file_table_new(). */
struct process_table *process_table_new(const char *proc_root, struct file_table *files);
void process_table_free(struct process_table *table);

/*
 * From now on keep the user and command line of processes that are scanned or found by samples.
 * process_table_refresh_details(), at the end, reads them once more of those that live, as many
 * processes set their title some time after they began; and it undoes the end of those that have not
 * ended.
 */
void process_table_keep_details(struct process_table *table);
/*
 * From now on keep what interpreters run (base/script_name.h), of the same processes, as their command
 * line says it; nothing is read of other processes.
 *
 * A process may be gone before its first sample has its turn. Whoever hears of an exec sooner has the
 * name read then, and sets it after process_table_on_comm() of the exec:
 *
 * process_table_read_script()   append the script's name, if it is wanted and still that of comm's
 *                               program
 * process_table_set_script()    of the image that began at time_ns; older news than its scan is ignored.
 *                               Returns 0 or -ENOMEM
 * process_get_script()          borrowed; empty where there is none
 */
void process_table_keep_scripts(struct process_table *table);
void process_table_read_script(const struct process_table *table, pid_t pid, const char *comm,
			       struct text *script);
_must_check_ int process_table_set_script(struct process_table *table, uint64_t time_ns, pid_t pid,
					  const char *script);
const char *process_get_script(const struct process *process);
_must_check_ int process_table_refresh_details(struct process_table *table);

/*
 * Read every process below proc_root; each as of a time read before its maps are.
 * process_table_scan_some() asks is_target() about each first.
 * process_table_scan_pid() reads one; -ENOENT when it is not there (any more). Scanning a pid
 * that has an image refreshes this image.
 */
_must_check_ int process_table_scan(struct process_table *table);
_must_check_ int process_table_scan_some(struct process_table *table,
					 bool (*is_target)(pid_t pid, void *context),
					 void *context);
_must_check_ int process_table_scan_pid(struct process_table *table, pid_t pid);

/* The events. Each returns 0 or -ENOMEM. time_ns never falls from call to call. */
_must_check_ int process_table_on_fork(struct process_table *table, uint64_t time_ns, pid_t pid,
				       pid_t parent_pid);
/* The same, by a thread of the parent that is known. */
_must_check_ int process_table_on_fork_by(struct process_table *table, uint64_t time_ns, pid_t pid,
					  pid_t parent_pid, pid_t parent_tid);
/* comm_exec: the record has PERF_RECORD_MISC_COMM_EXEC, which marks a finished exec. */
_must_check_ int process_table_on_comm(struct process_table *table, uint64_t time_ns, pid_t pid,
				       const char *comm, bool is_exec);
/*
 * mapping   as the event has it. Its file is one that was opened when the event came, as the process
 *           may be gone, or its pid be another's, by now; FILE_NONE, or a file that is not open: it
 *           is looked for now
 * identity  of the file
 */
_must_check_ int process_table_on_mmap(struct process_table *table, uint64_t time_ns, pid_t pid,
				       const struct mapping *mapping,
				       const struct file_identity *identity);
_must_check_ int process_table_on_exit(struct process_table *table, uint64_t time_ns, pid_t pid);
/* Another thread than the first. */
void process_table_on_thread_exit(struct process_table *table, uint64_t time_ns, pid_t pid);

/*
 * The image that a sample of pid belongs to. generation is the kernel's exec counter read with the
 * sample (GENERATION_UNKNOWN when the kernel has none).
 *
 * The current image's generation is adopted from the first sample that has one and is not inside
 * execve(): the kernel counts the exec a moment after the event that begins the new image, so that
 * a sample between the two has the number of the image before. After that
 *  - a sample with an older one was taken inside exec, before the new image began: the image
 *    before (*ret_is_in_exec is set, also when that image is not known);
 *  - a sample with a newer one means an exec whose event was lost: a new image is started and read
 *    from /proc.
 * An unknown pid is read from /proc, and has an image without mappings when that fails.
 * An exited process is found until its pid is reused.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int process_table_find(struct process_table *table, uint64_t time_ns, pid_t pid,
				    uint64_t generation, bool is_in_execve, struct process **ret,
				    bool *ret_is_in_exec);

/*
 * Forget the mappings of processes that ended two seconds before now_ns (clock_now_ns()) and for which nobody
 * has called process_table_find(): programs that are started without end would fill the memory.
 */
void process_table_trim(struct process_table *table, uint64_t now_ns);

/*
 * A sample has a pc in no mapping. The kernel has no event for mappings that mremap() moves, so the
 * process's maps are read again: at once, and while that finds nothing new, after 100 ms and longer
 * and longer pauses. What is found where nothing was known is a mapping for samples that are younger
 * than the reading. Returns 0 or -ENOMEM.
 */
_must_check_ int process_table_look_for_moved(struct process_table *table, uint64_t time_ns,
					      uint32_t id);

/* Images by id; the pointer stays valid until process_table_free(). */
const struct process *process_table_get(const struct process_table *table, uint32_t id);
uint32_t process_table_get_count(const struct process_table *table);

/* All executable mappings, sorted by start; borrowed until the next event. */
const struct mapping *process_get_mappings(const struct process *process, size_t *ret_count);

/*
 * Take one image from the list of changes: those that are new, whose mappings changed, whose
 * generation became known, or that exited. Returns false when the list is empty.
 */
bool process_table_take_changed(struct process_table *table, uint32_t *ret_id);

/* The mapping that holds pc, or NULL; borrowed until the next event. */
const struct mapping *process_find_mapping(const struct process *process, uint64_t pc);

/*
 * Code that processes generate is named by their perf-map and their jitdump.
 *
 * process_table_follow_code()  find these files of a process while it can still be asked for them,
 *                              and read them. Called when code in memory that no ELF file backs is
 *                              seen; call it as often as you like: what is missing is looked for
 *                              again after 100 ms (of time_ns), at the process's exit, and at the
 *                              end
 * process_table_watch_code()   from now on there is a descriptor that is readable when there is
 *                              something to read in such files. It is returned, borrowed; or
 *                              negative errno
 * process_table_read_code()    read what was appended, if the descriptor is readable or now and then.
 *                              To be called before samples up to now_ns are resolved
 * process_table_finish_code()  at the end: look once more for files that did not exist before, and
 *                              read all to their ends
 *
 * They return 0 or -ENOMEM. What is read has limits, which stats count: 64 MiB of names of a process
 * (what comes later is left out), 256 MiB of all (or process_table_limit_code(); then a process loses
 * its names, the largest one of the user whose names take the most), 128 MiB of a perf-map, 8 MiB of
 * files in a tenth of a second, and 512 MiB at the end.
 */
_must_check_ int process_table_follow_code(struct process_table *table, uint64_t time_ns,
					   uint32_t id);
int process_table_watch_code(struct process_table *table);
_must_check_ int process_table_read_code(struct process_table *table, uint64_t now_ns);
_must_check_ int process_table_finish_code(struct process_table *table);

void process_table_limit_code(struct process_table *table, uint64_t limit_bytes);

/*
 * What the generated code at pc was called at time_ns; NULL when no name is known that is as old.
 * The first name that it ever had is also that of the time before: code is named when it is done,
 * or later. Borrowed until code is read again.
 */
const char *process_find_code(const struct process *process, uint64_t pc, uint64_t time_ns);
const char *process_find_first_code(const struct process *process, uint64_t pc);

/* Two moments with the same number have the same names. 0: there are none. */
uint64_t process_get_code_version(const struct process *process, uint64_t time_ns);

/* Whether code at pc is in memory that no file backs, or none that is an ELF file. */
bool process_table_is_generated(const struct process_table *table, const struct process *process,
				uint64_t pc);

/* Whether memory that no file backs may hold CPython's trampolines (unwind/walk.h). */
bool process_table_has_trampolines(const struct process_table *table,
				   const struct process *process);

/*
 * Whether the code that the process generates is known to keep frame pointers: a walk along them
 * through other code may leave out frames and get to the outermost one all the same. Found out when
 * it is asked first, by its mappings and options.
 */
bool process_table_keeps_frame_pointers(struct process_table *table, uint32_t id);

/* What happened, for the account. */
struct process_table_stats {
	uint64_t forks; /* new processes, not threads */
	uint64_t execs;
	uint64_t exits;
	uint64_t missed_execs; /* noticed by a sample's generation only */
	uint64_t
		truncated_code_maps; /* processes whose generated code has more names than are kept */
	uint32_t first_truncated_pid; /* one of these */
	char first_truncated_comm[COMM_SIZE];
};
struct process_table_stats process_table_get_stats(const struct process_table *table);

#endif
