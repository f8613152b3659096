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

/* Longer than any line of the kernel, whose names have at most 512 bytes. */
#define LINE_MAX_BYTES 4096

struct kernel_function {
	uint64_t start; /* 0: not found */
	char type;      /* of kallsyms: 'T' global, 't' local, 'W' or 'w' weak */
	/* Empty for a data symbol, which only ends the function before it. */
	struct text name;
	struct text module; /* empty: the kernel itself */
};

/* An address that is asked for. */
struct wanted_address {
	uint64_t address;
	/*
	 * The last symbol that starts after the wanted address before and not after this one; the
	 * best of those at its start.
	 */
	struct kernel_function function;
	/* Number of the wanted address with the last function at or below this one; or NO_FUNCTION. */
	size_t with_function;
};

#define NO_FUNCTION SIZE_MAX

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
	struct text modules_text;
	bool is_loaded;
	bool is_restricted;
	struct text_bounds bounds[2];        /* _stext … _etext, _sinittext … _einittext */
	ARRAY(struct wanted_address) wanted; /* once loaded: by address */
	size_t num_loaded;                   /* of them; those behind are new */
	ARRAY(struct module_range) modules;
	ARRAY(struct added_symbol) added;
};

struct kernel_symbols *kernel_symbols_new(void)
{
	return calloc(1, sizeof(struct kernel_symbols));
}

static void kernel_function_release(struct kernel_function *function)
{
	text_release(&function->name);
	text_release(&function->module);
	*function = (struct kernel_function){0};
}

/* Drop data read from files; code that was added by events stays. */
static void clear(struct kernel_symbols *symbols)
{
	array_for_each (&symbols->wanted, wanted)
		kernel_function_release(&wanted->function);
	text_release(&symbols->modules_text);
	array_release(&symbols->modules);
	memset(symbols->bounds, 0, sizeof(symbols->bounds));
	symbols->is_loaded = symbols->is_restricted = false;
	symbols->num_loaded = 0;
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	clear(symbols);
	array_release(&symbols->wanted);
	array_for_each (&symbols->added, added)
		free(added->name);
	array_release(&symbols->added);
	free(symbols);
}

/* The number of the first wanted address at or after this one; beyond all: their number. */
static size_t find_wanted(const struct kernel_symbols *symbols, uint64_t address)
{
	return count_front(symbols->wanted.items, symbols->num_loaded, wanted,
			   wanted->address < address);
}

static bool is_loaded(const struct kernel_symbols *symbols, uint64_t address)
{
	size_t number = find_wanted(symbols, address);

	return number < symbols->num_loaded && symbols->wanted.items[number].address == address;
}

int kernel_symbols_want(struct kernel_symbols *symbols, uint64_t address)
{
	struct wanted_address *added;

	if (is_loaded(symbols, address))
		return 0;
	added = array_add(&symbols->wanted);
	if (!added)
		return -ENOMEM;
	added->address = address;
	symbols->is_loaded = false;
	return 0;
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

/* A line of kallsyms; pointers into it. */
struct kallsyms_line {
	uint64_t address;
	char type;
	const char *name; /* "": data */
	const char *module;
};

/*
 * "[nf_tables]" loses its brackets, as /proc/modules has none. "[bpf]" is no module and keeps them.
 * Pseudo modules of generated code ("[__builtin__kprobes]") count as the kernel itself.
 */
static const char *read_module_column(char *column)
{
	size_t length = strlen(column);

	if (string_starts_with(column, "[__builtin"))
		return "";
	if (length > 2 && column[0] == '[' && !string_equals(column, "[bpf]")) {
		column[length - 1] = '\0';
		column++;
	}
	return column;
}

/*
 * "ffffffff81000000 T name", followed by "\t[module]" for a module. Returns whether it is a symbol of
 * code, or one that ends such a symbol.
 */
static bool read_line(struct kernel_symbols *symbols, char *line, bool *is_any_set,
		      struct kallsyms_line *ret)
{
	char *c = read_hex(line, &ret->address);
	char *tab;

	if (!c || c[0] != ' ' || !c[1] || c[2] != ' ' || !c[3] || c[3] == '\t')
		return false;
	if (!ret->address)
		return false;
	*is_any_set = true;
	ret->type = c[1];
	ret->name = c + 3;
	ret->module = "";
	tab = strchr(c + 3, '\t');
	if (tab) {
		*tab = '\0';
		ret->module = read_module_column(tab + 1);
	} else if (c[3] == '_' && is_bound(symbols, c + 3, ret->address)) {
		return false;
	}
	if (is_text_type(ret->type))
		return true;
	ret->name = "";
	return tab;
}

/* Whether a symbol is a better one for the addresses at and after it. */
static bool is_better(const struct kallsyms_line *line, const struct kernel_function *known)
{
	static const char ranks[] = "TWwt";

	if (line->address != known->start)
		return line->address > known->start;
	if (!*line->name || !known->name.length)
		return *line->name;
	if (line->type != known->type)
		return strchr(ranks, line->type) < strchr(ranks, known->type);
	return symbol_names_compare(line->name, known->name.data) < 0;
}

/* The list of the kernel, while it is read. */
struct kallsyms_pass {
	struct kernel_symbols *symbols;
	struct text rest; /* the part of a line that has been read */
	bool is_too_long; /* it will be skipped */
	bool is_any_set;
	bool is_any_read;
	size_t last; /* the wanted address after the last symbol: the next is mostly there, too */
};

static void kallsyms_pass_release(struct kallsyms_pass *pass)
{
	text_release(&pass->rest);
}

static struct wanted_address *find_after(struct kallsyms_pass *pass, uint64_t address)
{
	const struct kernel_symbols *symbols = pass->symbols;
	struct wanted_address *items = symbols->wanted.items;
	size_t last = pass->last;

	if ((last < symbols->num_loaded && items[last].address < address) ||
	    (last && items[last - 1].address >= address))
		last = pass->last = find_wanted(symbols, address);
	return last < symbols->num_loaded ? &items[last] : NULL;
}

static int take_line(struct kallsyms_pass *pass, char *text)
{
	struct kallsyms_line line;
	struct wanted_address *wanted;
	struct kernel_function *function;

	if (!read_line(pass->symbols, text, &pass->is_any_set, &line))
		return 0;
	wanted = find_after(pass, line.address);
	if (!wanted || !is_better(&line, &wanted->function))
		return 0;
	function = &wanted->function;
	function->start = line.address;
	function->type = line.type;
	text_truncate(&function->name, 0);
	text_append_string(&function->name, line.name);
	text_truncate(&function->module, 0);
	text_append_string(&function->module, line.module);
	return function->name.failed || function->module.failed ? -ENOMEM : 0;
}

/* The end of a line, as far as it was kept. */
static int end_line(struct kallsyms_pass *pass)
{
	int err = pass->rest.length && !pass->is_too_long ? take_line(pass, pass->rest.data) : 0;

	text_truncate(&pass->rest, 0);
	pass->is_too_long = false;
	return err;
}

static int take_text(struct kallsyms_pass *pass, const char *text, size_t size)
{
	pass->is_any_read |= size > 0;
	while (size) {
		const char *newline = memchr(text, '\n', size);
		size_t length = newline ? (size_t)(newline - text) : size;
		int err;

		if (pass->rest.length + length > LINE_MAX_BYTES)
			pass->is_too_long = true;
		else
			text_append(&pass->rest, text, length);
		if (pass->rest.failed)
			return -ENOMEM;
		if (!newline)
			return 0;
		err = end_line(pass);
		if (err)
			return err;
		text += length + 1;
		size -= length + 1;
	}
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

static int compare_wanted(const void *left, const void *right)
{
	const struct wanted_address *a = left;
	const struct wanted_address *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

/* Forget earlier lists, and put the addresses into order. */
static void start_pass(struct kallsyms_pass *pass)
{
	struct kernel_symbols *symbols = pass->symbols;

	clear(symbols);
	if (symbols->wanted.length)
		qsort(symbols->wanted.items, symbols->wanted.length, sizeof(*symbols->wanted.items),
		      compare_wanted);
	symbols->num_loaded = symbols->wanted.length;
}

static int finish_pass(struct kallsyms_pass *pass)
{
	struct kernel_symbols *symbols = pass->symbols;
	size_t with_function = NO_FUNCTION;
	int err = end_line(pass);

	if (err)
		return err;
	for (size_t i = 0; i < symbols->wanted.length; i++) {
		if (symbols->wanted.items[i].function.start)
			with_function = i;
		symbols->wanted.items[i].with_function = with_function;
	}
	symbols->is_restricted = pass->is_any_read && !pass->is_any_set;
	symbols->is_loaded = true;
	return 0;
}

int kernel_symbols_load_text(struct kernel_symbols *symbols, const char *kallsyms,
			     size_t kallsyms_size, const char *modules, size_t modules_size)
{
	_cleanup_(kallsyms_pass_release) struct kallsyms_pass pass = {.symbols = symbols};
	int err;

	start_pass(&pass);
	text_append(&symbols->modules_text, modules, modules_size);
	if (symbols->modules_text.failed)
		return -ENOMEM;
	err = read_modules(symbols);
	if (err)
		return err;
	err = take_text(&pass, kallsyms, kallsyms_size);
	return err ? err : finish_pass(&pass);
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

/* The list of the kernel, or a negative errno. The caller closes it, unless it is standard input. */
static int open_list(const char *proc_root)
{
	_cleanup_free_ char *path = NULL;
	int fd;

	if (string_equals(proc_root, "/proc") && is_list_given() &&
	    lseek(STDIN_FILENO, 0, SEEK_SET) == 0)
		return STDIN_FILENO;
	if (asprintf(&path, "%s/kallsyms", proc_root) < 0)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns 0, -ENOMEM, or another negative errno if the list cannot be read to its end. */
static int take_list(struct kallsyms_pass *pass, int fd)
{
	char chunk[16384];
	size_t left = KALLSYMS_MAX_BYTES;

	for (;;) {
		ssize_t got = read(fd, chunk, sizeof(chunk));
		int err;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return finish_pass(pass);
		if ((size_t)got > left)
			return -EFBIG;
		left -= (size_t)got;
		err = take_text(pass, chunk, (size_t)got);
		if (err)
			return err;
	}
}

static int load_lists(struct kernel_symbols *symbols, const char *proc_root)
{
	_cleanup_(kallsyms_pass_release) struct kallsyms_pass pass = {.symbols = symbols};
	int fd = open_list(proc_root);
	int err;

	if (fd == -ENOMEM)
		return fd;
	start_pass(&pass);
	err = fd < 0 ? fd : take_list(&pass, fd);
	if (fd > STDIN_FILENO)
		close(fd);
	if (err == -ENOMEM)
		return err;
	/* A list that is missing or not readable counts as empty. */
	if (err) {
		kallsyms_pass_release(&pass);
		pass = (struct kallsyms_pass){.symbols = symbols};
		start_pass(&pass);
		err = finish_pass(&pass);
		if (err)
			return err;
	}
	err = read_proc_file(proc_root, "modules", MODULES_MAX_BYTES, &symbols->modules_text);
	return err ? err : read_modules(symbols);
}

int kernel_symbols_load(struct kernel_symbols *symbols, const char *proc_root)
{
	return symbols->is_loaded || !symbols->wanted.length ? 0 : load_lists(symbols, proc_root);
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

/* The last symbol at or below a wanted address, or NULL. */
static const struct kernel_function *find_function(const struct kernel_symbols *symbols,
						   uint64_t address)
{
	const struct wanted_address *items = symbols->wanted.items;
	size_t with_function = is_loaded(symbols, address)
				       ? items[find_wanted(symbols, address)].with_function
				       : NO_FUNCTION;

	return with_function == NO_FUNCTION ? NULL : &items[with_function].function;
}

static const char *get_module_name(const struct kernel_function *function)
{
	return function->module.length ? function->module.data : "[kernel]";
}

/* The upper bound for the end of a symbol, if no other symbol follows before. */
static uint64_t get_limit(const struct kernel_symbols *symbols,
			  const struct kernel_function *function)
{
	uint64_t address = function->start;
	const struct module_range *module = find_module(symbols, address);

	if (module)
		return module->end;
	for (size_t i = 0; !function->module.length && i < ARRAY_LENGTH(symbols->bounds); i++) {
		const struct text_bounds *bounds = &symbols->bounds[i];

		if (address >= bounds->start && address < bounds->end)
			return bounds->end;
	}
	if (string_equals(get_module_name(function), "[bpf]"))
		return (address | (BPF_PACK_BYTES - 1)) + 1;
	return (address | (PAGE_BYTES - 1)) + 1;
}

int kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
			struct kernel_symbol *ret)
{
	const struct kernel_function *function = find_function(symbols, address);
	const struct module_range *module;
	uint64_t limit;

	if (find_added(symbols, address, ret))
		return 0;
	/* A limit of 0 is the end of the address space. */
	limit = function ? get_limit(symbols, function) : 0;
	if (function && function->name.length && address <= limit - 1) {
		*ret = (struct kernel_symbol){
			.name = function->name.data,
			.module = get_module_name(function),
			.offset = address - function->start,
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
