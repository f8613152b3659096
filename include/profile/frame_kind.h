/*
 * The kinds of code that a frame may have, one line each. The lines generate enum frame_kind, the
 * marks of folded text, and the names of the kinds in file formats. Each reader has its own names
 * for the kinds in foreign files. The page has words and colours of its own (KIND_WORDS in
 * src/viewer/web/core/names.js); a test compares these with the words here.
 */
#ifndef PROFILE_FRAME_KIND_H
#define PROFILE_FRAME_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * KIND(name, word, mark, Firefox's category, its colour there, number in Perfetto traces, type).
 * The numbers of the kinds, from 0 in this order, are written into files: add new kinds at the end.
 * Perfetto has fewer kinds; if several share a number, the first is used when foreign traces are
 * read.
 */
#define FRAME_KINDS(KIND)                                                     \
	KIND(USER, "user", "", "User", "yellow", 1, "")                       \
	KIND(KERNEL, "kernel", "_[k]", "Kernel", "orange", 2, "kernel")       \
	KIND(JIT, "JIT", "_[j]", "JIT", "green", 4, "jit")                    \
	KIND(PYTHON, "Python", "", "Python", "blue", 3, "cpython")            \
	KIND(JAVASCRIPT, "JavaScript", "", "JavaScript", "yellow", 4, "v8js") \
	KIND(JAVA, "Java", "", "Java", "purple", 4, "jvm")                    \
	KIND(PHP, "PHP", "", "PHP", "magenta", 3, "php")                      \
	KIND(RUBY, "Ruby", "", "Ruby", "red", 3, "ruby")                      \
	KIND(PERL, "Perl", "", "Perl", "lightblue", 3, "perl")

#define FRAME_KIND_NUMBER(name, ...) FRAME_##name,
enum frame_kind { FRAME_KINDS(FRAME_KIND_NUMBER) NUM_FRAME_KINDS };
#undef FRAME_KIND_NUMBER

struct frame_kind_info {
	const char *word;     /* for people */
	const char *mark;     /* appended to a name in folded text; may be empty */
	const char *category; /* of the Firefox Profiler */
	const char *color;    /* of the category */
	uint32_t perfetto_number;
	/*
	 * The type in OpenTelemetry (profile.frame.type), if it has one; empty: frames in files of
	 * its own. pprof has it in place of a file's name, "[TYPE]" or "[TYPE:MODULE]".
	 */
	const char *type;
};

/* Indexed by enum frame_kind. */
extern const struct frame_kind_info frame_kinds[NUM_FRAME_KINDS];

/* The first kind with this number in Perfetto traces, or FRAME_USER. */
enum frame_kind frame_kind_find_perfetto(uint64_t number);

/* The kind with that type; `other` if no kind has it. */
enum frame_kind frame_kind_find_type(const char *type, enum frame_kind other);

/*
 * A single mark, as in FlameGraph: that of the kind, or that the call was inlined. The first kinds
 * are those with a mark.
 */
enum frame_mark {
	FRAME_MARK_NONE = FRAME_USER,
	FRAME_MARK_KERNEL = FRAME_KERNEL,
	FRAME_MARK_JIT = FRAME_JIT,
	FRAME_MARK_INLINED,
	NUM_FRAME_MARKS,
};

/* enum frame_mark. The kernel's functions have the kernel's mark, even if inlined. */
uint8_t frame_kind_get_mark(uint8_t kind, bool is_inlined);

/* "_[k]" and the like; empty for FRAME_MARK_NONE. */
const char *frame_mark_get_text(uint8_t mark);

/* Whether a name ends in a mark: *length is the new length, *ret_mark the mark, enum frame_mark. */
bool frame_mark_strip(const char *name, size_t *length, uint8_t *ret_mark);

#endif
