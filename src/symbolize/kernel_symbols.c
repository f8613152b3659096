#include "symbolize/kernel_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "objfile/symbol_table.h"

#define KALLSYMS_MAX_BYTES (512u << 20)
#define MODULES_MAX_BYTES  (16u << 20)
#define PAGE_BYTES         4096ull

/* The kernel packs small BPF programs into chunks of this size and alignment (bpf_prog_pack). */
#define BPF_PACK_BYTES (2ull << 20)

#define NO_NAME UINT32_MAX /* a data symbol, kept only because it ends the function before it */

struct kallsyms_entry {
	uint64_t address;
	uint32_t name;   /* offset in text, or NO_NAME */
	uint32_t module; /* offset in text; 0: the kernel itself */
	char type;       /* of kallsyms: 'T' global, 't' local, 'W' or 'w' weak */
};

struct module_range {
	uint64_t start;
	uint64_t end;
	const char *name; /* in modules_text */
};

/* Text sections of the kernel itself, from symbols of the linker script. */
struct text_bounds {
	uint64_t start;
	uint64_t end;
};

struct added_symbol {
	uint64_t start;
	uint64_t end;
	char *name;
};

struct kernel_symbols {
	struct text text; /* kallsyms, with NULs inserted: entries refer to names in it */
	struct text modules_text;
	struct text modules_as_read; /* to detect a change of the modules */
	bool is_loaded;
	bool is_restricted;
	struct text_bounds bounds[2];         /* _stext … _etext, _sinittext … _einittext */
	ARRAY(struct kallsyms_entry) entries; /* by address */
	ARRAY(struct module_range) modules;
	ARRAY(struct added_symbol) added;
};

struct kernel_symbols *kernel_symbols_new(void)
{
	return calloc(1, sizeof(struct kernel_symbols));
}

/* Drop data read from files; code that was added by events stays. */
static void clear(struct kernel_symbols *symbols)
{
	text_release(&symbols->text);
	text_release(&symbols->modules_text);
	array_release(&symbols->entries);
	array_release(&symbols->modules);
	memset(symbols->bounds, 0, sizeof(symbols->bounds));
	symbols->is_restricted = false;
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	clear(symbols);
	text_release(&symbols->modules_as_read);
	array_for_each (&symbols->added, added)
		free(added->name);
	array_release(&symbols->added);
	free(symbols);
}

/* Read a number. Returns the character behind it; NULL without a number. */
static char *read_hex(char *from, uint64_t *ret)
{
	size_t num_digits = hex_read(from, 2 * sizeof(*ret) + 1, ret);

	return num_digits ? from + num_digits : NULL;
}

/* _stext, _etext and the like are labels of the linker script, not functions. */
static bool is_bound(struct kernel_symbols *symbols, const char *name, uint64_t address)
{
	if (string_equals(name, "_stext"))
		symbols->bounds[0].start = address;
	else if (string_equals(name, "_etext"))
		symbols->bounds[0].end = address;
	else if (string_equals(name, "_sinittext"))
		symbols->bounds[1].start = address;
	else if (string_equals(name, "_einittext"))
		symbols->bounds[1].end = address;
	else
		return string_equals(name, "_text");
	return true;
}

static bool is_text_type(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/*
 * "[nf_tables]" loses its brackets, as /proc/modules has none. "[bpf]" is no module and keeps them.
 * Pseudo modules of generated code ("[__builtin__kprobes]") count as the kernel itself.
 */
static uint32_t read_module_column(struct kernel_symbols *symbols, char *column)
{
	size_t length = strlen(column);

	if (string_starts_with(column, "[__builtin"))
		return 0;
	if (length > 2 && column[0] == '[' && !string_equals(column, "[bpf]")) {
		column[length - 1] = '\0';
		column++;
	}
	return (uint32_t)(column - symbols->text.data);
}

/* "ffffffff81000000 T name", followed by "\t[module]" for a module. */
static int read_symbol(struct kernel_symbols *symbols, char *line, bool *is_any_set)
{
	struct kallsyms_entry entry = {0};
	char *c = read_hex(line, &entry.address);
	struct kallsyms_entry *new;
	char *tab;

	if (!c || c[0] != ' ' || !c[1] || c[2] != ' ' || !c[3] || c[3] == '\t')
		return 0;
	if (!entry.address)
		return 0;
	*is_any_set = true;
	entry.type = c[1];
	entry.name = (uint32_t)(c + 3 - symbols->text.data);
	tab = strchr(c + 3, '\t');
	if (tab) {
		*tab = '\0';
		entry.module = read_module_column(symbols, tab + 1);
	} else if (c[3] == '_' && is_bound(symbols, c + 3, entry.address)) {
		return 0;
	}
	if (!is_text_type(entry.type)) {
		if (!tab)
			return 0;
		entry.name = NO_NAME;
	}
	new = array_add(&symbols->entries);
	if (!new)
		return -ENOMEM;
	*new = entry;
	return 0;
}

static int read_symbols(struct kernel_symbols *symbols)
{
	char *line = symbols->text.data;
	char *end = line + symbols->text.length;
	bool is_any_set = false;

	/* A line has some 45 bytes, and somewhat more than half of them are code. */
	if (array_reserve(&symbols->entries, symbols->text.length / 64))
		return -ENOMEM;
	while (line < end) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		int err;

		if (newline)
			*newline = '\0';
		err = read_symbol(symbols, line, &is_any_set);
		if (err)
			return err;
		line = newline ? newline + 1 : end;
	}
	symbols->is_restricted = symbols->text.length && !is_any_set;
	return 0;
}

/* "name 16384 0 - Live 0xffffffffc0000000": size in bytes, address at the end. */
static int read_module(struct kernel_symbols *symbols, char *line)
{
	char *space = strchr(line, ' ');
	char *address = strstr(line, " 0x");
	struct module_range *module;
	uint64_t start;
	uint64_t size;
	char *end;

	if (!space || !address || !read_hex(address + 3, &start) || !start)
		return 0;
	errno = 0;
	size = strtoull(space + 1, &end, 10);
	if (errno || end == space + 1 || *end != ' ' || size > UINT64_MAX - start)
		return 0;
	*space = '\0';
	module = array_add(&symbols->modules);
	if (!module)
		return -ENOMEM;
	*module = (struct module_range){.start = start, .end = start + size, .name = line};
	return 0;
}

static int read_modules(struct kernel_symbols *symbols)
{
	char *rest = symbols->modules_text.data;
	char *line;
	int err;

	while (rest && (line = strsep(&rest, "\n"))) {
		err = read_module(symbols, line);
		if (err)
			return err;
	}
	return 0;
}

/* Order by address. If an address has several names, the best is last, where a search finds it. */
static int compare_entries(const void *left, const void *right, void *context)
{
	const struct kallsyms_entry *a = left;
	const struct kallsyms_entry *b = right;
	const char *text = context;
	static const char ranks[] = "TWwt";

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->name == NO_NAME || b->name == NO_NAME)
		return (a->name != NO_NAME) - (b->name != NO_NAME);
	if (a->type != b->type)
		return (int)(strchr(ranks, b->type) - strchr(ranks, a->type));
	return symbol_names_compare(text + b->name, text + a->name);
}

static void sort_entries(struct kernel_symbols *symbols)
{
	if (symbols->entries.length > 1)
		qsort_r(symbols->entries.items, symbols->entries.length,
			sizeof(*symbols->entries.items), compare_entries, symbols->text.data);
}

/* Takes the kernel's list, and leaves it empty. */
static int take_lists(struct kernel_symbols *symbols, struct text *kallsyms, const char *modules,
		      size_t modules_size)
{
	int err;

	clear(symbols);
	symbols->text = *kallsyms;
	*kallsyms = (struct text){0};
	text_append(&symbols->text, NULL, 0); /* adds a NUL if there is no list */
	text_append(&symbols->modules_text, modules, modules_size);
	if (symbols->text.failed || symbols->modules_text.failed)
		return -ENOMEM;
	err = read_symbols(symbols);
	if (err)
		return err;
	err = read_modules(symbols);
	if (err)
		return err;
	sort_entries(symbols);
	return 0;
}

int kernel_symbols_load_text(struct kernel_symbols *symbols, const char *kallsyms,
			     size_t kallsyms_size, const char *modules, size_t modules_size)
{
	struct text list = {0};

	text_append(&list, kallsyms, kallsyms_size);
	return take_lists(symbols, &list, modules, modules_size);
}

static int read_proc_file(const char *proc_root, const char *name, size_t limit, struct text *ret)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/%s", proc_root, name) < 0)
		return -ENOMEM;
	/* A file that is missing or not readable counts as empty. */
	return file_read_at(AT_FDCWD, path, limit, ret) == -ENOMEM ? -ENOMEM : 0;
}

/*
 * Whether standard input is the kernel's list: a service without the right to open it gets it so.
 */
static bool is_list_given(void)
{
	char path[sizeof("/proc/kallsyms") + 1];
	struct statfs system;
	ssize_t length = readlink("/proc/self/fd/0", path, sizeof(path));

	return length == (ssize_t)strlen("/proc/kallsyms") &&
	       strncmp(path, "/proc/kallsyms", (size_t)length) == 0 &&
	       !fstatfs(STDIN_FILENO, &system) && system.f_type == PROC_SUPER_MAGIC;
}

static int read_list(const char *proc_root, struct text *ret)
{
	if (string_equals(proc_root, "/proc") && is_list_given() &&
	    lseek(STDIN_FILENO, 0, SEEK_SET) == 0)
		return file_read_fd(STDIN_FILENO, KALLSYMS_MAX_BYTES, ret) == -ENOMEM ? -ENOMEM : 0;
	return read_proc_file(proc_root, "kallsyms", KALLSYMS_MAX_BYTES, ret);
}

static bool texts_are_equal(const struct text *a, const struct text *b)
{
	return a->length == b->length && (!a->length || memcmp(a->data, b->data, a->length) == 0);
}

int kernel_symbols_load(struct kernel_symbols *symbols, const char *proc_root)
{
	_cleanup_(text_release) struct text kallsyms = {0};
	_cleanup_(text_release) struct text modules = {0};
	int err = read_proc_file(proc_root, "modules", MODULES_MAX_BYTES, &modules);

	if (err)
		return err;
	if (symbols->is_loaded && texts_are_equal(&modules, &symbols->modules_as_read))
		return 0;
	err = read_list(proc_root, &kallsyms);
	if (err)
		return err;
	err = take_lists(symbols, &kallsyms, modules.data, modules.length);
	if (err)
		return err;
	text_release(&symbols->modules_as_read);
	symbols->modules_as_read = modules;
	modules = (struct text){0};
	symbols->is_loaded = true;
	return 0;
}

int kernel_symbols_add(struct kernel_symbols *symbols, uint64_t start, uint64_t size_bytes,
		       const char *name)
{
	struct added_symbol *added = array_add(&symbols->added);

	if (!added)
		return -ENOMEM;
	added->name = strdup(name);
	if (!added->name) {
		symbols->added.length--;
		return -ENOMEM;
	}
	added->start = start;
	if (__builtin_add_overflow(start, size_bytes, &added->end))
		added->end = UINT64_MAX;
	return 0;
}

static bool find_added(const struct kernel_symbols *symbols, uint64_t address,
		       struct kernel_symbol *ret)
{
	for (size_t i = symbols->added.length; i-- > 0;) {
		const struct added_symbol *added = &symbols->added.items[i];

		if (address < added->start || address >= added->end)
			continue;
		*ret = (struct kernel_symbol){
			.name = added->name,
			.module = string_starts_with(added->name, "bpf_") ? "[bpf]" : "[kernel]",
			.offset = address - added->start,
		};
		return true;
	}
	return false;
}

static const struct module_range *find_module(const struct kernel_symbols *symbols,
					      uint64_t address)
{
	array_for_each (&symbols->modules, module) {
		if (address >= module->start && address < module->end)
			return module;
	}
	return NULL;
}

/* The last entry at or below the address, or NULL. */
static const struct kallsyms_entry *find_entry(const struct kernel_symbols *symbols,
					       uint64_t address)
{
	size_t count = array_count_front(&symbols->entries, entry, entry->address <= address);

	return count ? &symbols->entries.items[count - 1] : NULL;
}

static const char *get_module_name(const struct kernel_symbols *symbols,
				   const struct kallsyms_entry *entry)
{
	return entry->module ? symbols->text.data + entry->module : "[kernel]";
}

/* The upper bound for the end of a symbol, if no other symbol follows before. */
static uint64_t get_limit(const struct kernel_symbols *symbols, const struct kallsyms_entry *entry)
{
	uint64_t address = entry->address;
	const struct module_range *module = find_module(symbols, address);

	if (module)
		return module->end;
	for (size_t i = 0; !entry->module && i < ARRAY_LENGTH(symbols->bounds); i++) {
		const struct text_bounds *bounds = &symbols->bounds[i];

		if (address >= bounds->start && address < bounds->end)
			return bounds->end;
	}
	if (string_equals(get_module_name(symbols, entry), "[bpf]"))
		return (address | (BPF_PACK_BYTES - 1)) + 1;
	return (address | (PAGE_BYTES - 1)) + 1;
}

int kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
			struct kernel_symbol *ret)
{
	const struct kallsyms_entry *entry = find_entry(symbols, address);
	const struct module_range *module;
	uint64_t limit;

	if (find_added(symbols, address, ret))
		return 0;
	/* A limit of 0 is the end of the address space. */
	limit = entry ? get_limit(symbols, entry) : 0;
	if (entry && entry->name != NO_NAME && address <= limit - 1) {
		*ret = (struct kernel_symbol){
			.name = symbols->text.data + entry->name,
			.module = get_module_name(symbols, entry),
			.offset = address - entry->address,
		};
		return 0;
	}
	module = find_module(symbols, address);
	if (!module)
		return -ENOENT;
	*ret = (struct kernel_symbol){.module = module->name, .offset = address - module->start};
	return 0;
}

bool kernel_symbols_is_restricted(const struct kernel_symbols *symbols)
{
	return symbols->is_restricted;
}
