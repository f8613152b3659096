/*
 * Each interpreter has options of its own. Its script is the first word that is neither an option
 * nor the value of one. So each interpreter has a row, with the options that take a value, or the
 * program itself; all others are skipped without being known. Options are those of the versions in
 * use today. An unknown option with its value in the next word gives a wrong name. Therefore each
 * row contains all options that are used.
 *
 * Sources: python(1), `node --help` and `man node` of Node 20, java(1) of JDK 21, perlrun(1),
 * ruby(1) and ruby.c, php(1), bash(1), dash(1), zshoptions(1), fish(1), lua(1), tclsh(1),
 * expect(1), R(1), julia(1), `deno run --help`, `bun --help`, `dotnet --help`, mono(1).
 */
#include "base/script_name.h"

#include <stdint.h>

#include "base/array.h"

#define COMM_MAX_LENGTH 15 /* the kernel keeps no more */

/* The effect of an option. Without a letter: it has no value. */
enum effect {
	FLAG = 0,
	VALUE = ':',      /* the rest of the word, or the next word, is its value */
	NEXT = ';',       /* the next word is its value; more letters may follow */
	REST = '?',       /* the rest of the word, if any */
	OCTAL = '#',      /* octal digits, if any; more letters may follow */
	CODE = '!',       /* the program follows; the option is shown for it */
	WITH_VALUE = '=', /* its value is run, and shown with it: -m module */
	FILE_NAME = '/',  /* its value is the file that is run */
	NAME = '@',       /* its value is a name to run */
	NOTHING = '.',    /* no name: the program is read from standard input */
};

struct long_option {
	const char *name; /* NULL ends a list */
	enum effect effect;
};

struct interpreter {
	const char *names[12]; /* a version may follow */
	/*
	 * Names that its own main thread may have. Others may use them too: the command line must
	 * agree.
	 */
	const char *aliases[2];
	/* Letters with the signs of their effects, as for getopt(). NULL: a word is one option. */
	const char *letters;
	const struct long_option *options;
	const char *subcommands[5]; /* before the script */
	bool is_shell;              /* options may start with +, and - ends them */
	bool takes_argument_files;  /* @FILE contains more words */
};

static const struct long_option python_options[] = {
	{"--check-hash-based-pycs", VALUE},
	{"--jit", VALUE}, /* PyPy */
	{0},
};

static const struct long_option node_options[] = {
	{"--allow-fs-read", VALUE},
	{"--allow-fs-write", VALUE},
	{"--build-snapshot-config", VALUE},
	{"--conditions", VALUE},
	{"--cpu-prof-dir", VALUE},
	{"--cpu-prof-interval", VALUE},
	{"--cpu-prof-name", VALUE},
	{"--debug-port", VALUE},
	{"--diagnostic-dir", VALUE},
	{"--disable-proto", VALUE},
	{"--disable-warning", VALUE},
	{"--dns-result-order", VALUE},
	{"--env-file", VALUE},
	{"--env-file-if-exists", VALUE},
	{"--eval", CODE},
	{"--experimental-default-type", VALUE},
	{"--experimental-loader", VALUE},
	{"--experimental-policy", VALUE},
	{"--experimental-sea-config", VALUE},
	{"--heap-prof-dir", VALUE},
	{"--heap-prof-interval", VALUE},
	{"--heap-prof-name", VALUE},
	{"--heapsnapshot-near-heap-limit", VALUE},
	{"--heapsnapshot-signal", VALUE},
	{"--icu-data-dir", VALUE},
	{"--import", VALUE},
	{"--input-type", VALUE},
	{"--inspect-port", VALUE},
	{"--inspect-publish-uid", VALUE},
	{"--loader", VALUE},
	{"--localstorage-file", VALUE},
	{"--max-http-header-size", VALUE},
	{"--network-family-autoselection-attempt-timeout", VALUE},
	{"--openssl-config", VALUE},
	{"--policy-integrity", VALUE},
	{"--print", CODE},
	{"--redirect-warnings", VALUE},
	{"--report-dir", VALUE},
	{"--report-directory", VALUE},
	{"--report-filename", VALUE},
	{"--report-signal", VALUE},
	{"--require", VALUE},
	{"--run", WITH_VALUE},
	{"--secure-heap", VALUE},
	{"--secure-heap-min", VALUE},
	{"--snapshot-blob", VALUE},
	{"--test-concurrency", VALUE},
	{"--test-name-pattern", VALUE},
	{"--test-reporter", VALUE},
	{"--test-reporter-destination", VALUE},
	{"--test-shard", VALUE},
	{"--test-skip-pattern", VALUE},
	{"--test-timeout", VALUE},
	{"--title", VALUE},
	{"--tls-cipher-list", VALUE},
	{"--tls-keylog", VALUE},
	{"--trace-event-categories", VALUE},
	{"--trace-event-file-pattern", VALUE},
	{"--trace-require-module", VALUE},
	{"--unhandled-rejections", VALUE},
	{"--use-largepages", VALUE},
	{"--v8-pool-size", VALUE},
	{"--watch-path", VALUE},
	{0},
};

static const struct long_option bun_options[] = {
	{"--config", VALUE},
	{"--cwd", VALUE},
	{"--env-file", VALUE},
	{"--eval", CODE},
	{"--preload", VALUE},
	{"--print", CODE},
	{0},
};

static const struct long_option deno_options[] = {
	{"--cert", VALUE},       {"--config", VALUE}, {"--env-file", REST},
	{"--import-map", VALUE}, {"--ext", VALUE},    {"--log-level", VALUE},
	{"--location", VALUE},   {"--seed", VALUE},   {0},
};

static const struct long_option java_options[] = {
	{"-cp", VALUE},
	{"-classpath", VALUE},
	{"--class-path", VALUE},
	{"-p", VALUE},
	{"--module-path", VALUE},
	{"--upgrade-module-path", VALUE},
	{"--add-modules", VALUE},
	{"--limit-modules", VALUE},
	{"--add-exports", VALUE},
	{"--add-opens", VALUE},
	{"--add-reads", VALUE},
	{"--patch-module", VALUE},
	{"--enable-native-access", VALUE},
	{"--illegal-native-access", VALUE},
	{"--sun-misc-unsafe-memory-access", VALUE},
	{"--source", VALUE},
	{"-d", VALUE},
	{"--describe-module", VALUE},
	{"-m", NAME},
	{"--module", NAME},
	{0},
};

static const struct long_option ruby_options[] = {
	{"--encoding", VALUE},
	{"--external-encoding", VALUE},
	{"--internal-encoding", VALUE},
	{"--enable", VALUE},
	{"--disable", VALUE},
	{"--backtrace-limit", VALUE},
	{"--parser", VALUE},
	{0},
};

static const struct long_option php_options[] = {
	{"--define", VALUE},
	{"--docroot", VALUE},
	{"--file", FILE_NAME},
	{"--php-ini", VALUE},
	{"--process-begin", CODE},
	{"--process-code", CODE},
	{"--process-end", CODE},
	{"--process-file", FILE_NAME},
	{"--rc", VALUE},
	{"--re", VALUE},
	{"--rf", VALUE},
	{"--ri", VALUE},
	{"--run", CODE},
	{"--rz", VALUE},
	{"--server", VALUE},
	{"--zend-extension", VALUE},
	{0},
};

static const struct long_option shell_options[] = {
	{"--init-file", VALUE},
	{"--rcfile", VALUE},
	{0},
};

static const struct long_option fish_options[] = {
	{"--command", CODE},          {"--debug", VALUE},
	{"--debug-output", VALUE},    {"--features", VALUE},
	{"--init-command", VALUE},    {"--profile", VALUE},
	{"--profile-startup", VALUE}, {0},
};

static const struct long_option tcl_options[] = {
	{"-encoding", VALUE},
	{0},
};

/* Rscript passes its file to R this way; the words after --args belong to the script. */
static const struct long_option r_options[] = {
	{"--args", NOTHING},   {"-d", VALUE},
	{"--debugger", VALUE}, {"-e", CODE},
	{"--encoding", VALUE}, {"-f", FILE_NAME},
	{"--file", FILE_NAME}, {"-g", VALUE},
	{"--gui", VALUE},      {0},
};

static const struct long_option julia_options[] = {
	{"--cpu-target", VALUE},   {"--eval", CODE},
	{"--home", VALUE},         {"--load", VALUE},
	{"--machine-file", VALUE}, {"--print", CODE},
	{"--procs", VALUE},        {"--sysimage", VALUE},
	{"--threads", VALUE},      {0},
};

static const struct long_option dotnet_options[] = {
	{"--additional-deps", VALUE},
	{"--additionalprobingpath", VALUE},
	{"--depsfile", VALUE},
	{"--fx-version", VALUE},
	{"--roll-forward", VALUE},
	{"--runtimeconfig", VALUE},
	{0},
};

static const struct long_option mono_options[] = {
	{"--config", VALUE},
	{0},
};

static const struct long_option no_options[] = {{0}};

static const struct interpreter interpreters[] = {
	{
		.names = {"python", "pypy"},
		.aliases = {"pt_main_thread"}, /* PyTorch */
		.letters = "c!m=W:X:Q:",
		.options = python_options,
	},
	{
		.names = {"node", "nodejs"},
		.aliases = {"MainThread", "node-MainThread"}, /* Node 24 and newer */
		.letters = "e!p!r:C:",
		.options = node_options,
		.subcommands = {"inspect", "debug"},
	},
	{
		.names = {"bun"},
		.letters = "e!p!r:c:",
		.options = bun_options,
		.subcommands = {"run", "test"},
	},
	{
		.names = {"deno"},
		.letters = "c:L:",
		.options = deno_options,
		.subcommands = {"run", "serve", "test", "bench"},
	},
	{
		.names = {"java"},
		.options = java_options,
		.takes_argument_files = true,
	},
	{
		.names = {"ruby", "truffleruby"},
		.letters = "e!I:r:C:X:E:F?K?T?x?i?W?0#",
		.options = ruby_options,
	},
	{
		.names = {"perl"},
		.letters = "e!E!I:M?m?i?F?x?C?D?d?V?0#l#",
		.options = no_options,
	},
	{
		.names = {"php", "php-cgi"},
		.letters = "d:c:f/F/r!B!R!E!S:t:T:z:",
		.options = php_options,
	},
	{
		.names = {"sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "mksh", "posh",
			  "yash", "csh", "tcsh"},
		.letters = "c!o;O;s.",
		.options = shell_options,
		.is_shell = true,
	},
	{
		.names = {"fish"},
		.letters = "c!C:d:D:f:o:p:",
		.options = fish_options,
	},
	{
		.names = {"lua", "luajit"},
		.letters = "e!l:j:O?",
		.options = no_options,
	},
	{
		.names = {"tclsh", "wish"},
		.options = tcl_options,
	},
	{
		.names = {"expect"},
		.letters = "c!f/b/",
		.options = no_options,
	},
	{
		.names = {"R"},
		.options = r_options,
	},
	{
		.names = {"julia"},
		.letters = "e!E!L:J:C:H:p:t:g?O?",
		.options = julia_options,
	},
	{
		.names = {"dotnet"},
		.options = dotnet_options,
		.subcommands = {"exec"},
	},
	{
		.names = {"mono", "mono-sgen"},
		.options = mono_options,
	},
};

/* ---- who they are ------------------------------------------------------------------------- */

/* Whether it is a version suffix: "3.11", "3.13t" (free-threaded), "3.11-dbg". */
static bool is_version(const char *text, size_t length)
{
	static const char *const builds[] = {"", "d", "t", "td", "-dbg"};
	size_t num_digits = 0;

	while (num_digits < length &&
	       ((text[num_digits] >= '0' && text[num_digits] <= '9') || text[num_digits] == '.'))
		num_digits++;
	text += num_digits;
	length -= num_digits;
	for (size_t i = 0; i < ARRAY_LENGTH(builds); i++)
		if (strlen(builds[i]) == length && memcmp(builds[i], text, length) == 0)
			return num_digits || !length || builds[i][0] == '-';
	return false;
}

static bool is_named(const struct interpreter *interpreter, const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_LENGTH(interpreter->names) && interpreter->names[i]; i++) {
		size_t stem = strlen(interpreter->names[i]);

		if (length >= stem && memcmp(name, interpreter->names[i], stem) == 0 &&
		    is_version(name + stem, length - stem))
			return true;
	}
	return false;
}

static const struct interpreter *find_named(const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_LENGTH(interpreters); i++)
		if (is_named(&interpreters[i], name, length))
			return &interpreters[i];
	return NULL;
}

static const struct interpreter *find_by_alias(const char *comm, size_t length)
{
	for (size_t i = 0; i < ARRAY_LENGTH(interpreters); i++)
		for (size_t k = 0; k < ARRAY_LENGTH(interpreters[i].aliases); k++)
			if (interpreters[i].aliases[k] &&
			    strlen(interpreters[i].aliases[k]) == length &&
			    memcmp(interpreters[i].aliases[k], comm, length) == 0)
				return &interpreters[i];
	return NULL;
}

static bool is_for(const char *comm, size_t length)
{
	return find_named(comm, length) || find_by_alias(comm, length);
}

bool script_name_is_for(const char *comm)
{
	return is_for(comm, strlen(comm));
}

bool script_name_is_shown(const char *process_comm, const char *thread_comm)
{
	const struct interpreter *process_alias = find_by_alias(process_comm, strlen(process_comm));
	const struct interpreter *thread_alias = find_by_alias(thread_comm, strlen(thread_comm));

	if (!script_name_is_for(thread_comm))
		return false;
	if (!script_name_is_for(process_comm) || string_equals(process_comm, thread_comm))
		return true;
	return (process_alias && is_named(process_alias, thread_comm, strlen(thread_comm))) ||
	       (thread_alias && is_named(thread_alias, process_comm, strlen(process_comm)));
}

/* ---- the script they run ------------------------------------------------------------------ */

struct word {
	const char *text;
	size_t length;
};

struct words {
	const char *at;
	const char *end;
};

static bool take_word(struct words *words, struct word *ret)
{
	const char *nul;

	if (words->at == words->end)
		return false;
	nul = memchr(words->at, '\0', (size_t)(words->end - words->at));
	*ret = (struct word){words->at, (size_t)((nul ? nul : words->end) - words->at)};
	words->at = nul ? nul + 1 : words->end;
	return true;
}

static bool word_equals(struct word word, const char *string)
{
	return word.length == strlen(string) && memcmp(word.text, string, word.length) == 0;
}

/* A trailing slash is ignored, as folders may be run, too. */
static struct word get_base_name(struct word path)
{
	size_t start;

	if (!path.length)
		return path;
	while (path.length && path.text[path.length - 1] == '/')
		path.length--;
	for (start = path.length; start && path.text[start - 1] != '/';)
		start--;
	return (struct word){path.text + start, path.length - start};
}

/* The interpreter in argv[0]; a login shell has a dash before its name. */
static const struct interpreter *find_interpreter(const char *comm, struct word argv0)
{
	struct word name = get_base_name(argv0);
	const struct interpreter *alias = find_by_alias(comm, strlen(comm));
	const struct interpreter *found;

	if (name.length && name.text[0] == '-')
		name = (struct word){name.text + 1, name.length - 1};
	found = find_named(name.text, name.length);
	if (alias)
		return found == alias ? found : NULL;
	return found ? found : find_named(comm, strlen(comm));
}

/* Result of the search. */
struct script {
	struct word option; /* to be shown, a letter or a word; empty: none */
	struct word name;
	bool is_file; /* the name is a path */
};

/* Returns whether the search is over. If there is no name to show, option and name are empty. */
static bool apply(enum effect effect, struct word option, struct word value, struct script *ret)
{
	switch (effect) {
	case CODE:
		*ret = (struct script){.option = option};
		return true;
	case WITH_VALUE:
		*ret = (struct script){.option = option, .name = value};
		return true;
	case FILE_NAME:
		*ret = (struct script){.name = value, .is_file = true};
		return true;
	case NAME:
		*ret = (struct script){.name = value};
		return true;
	case NOTHING:
		return true;
	case FLAG:
	case VALUE:
	case NEXT:
	case REST:
	case OCTAL:
		break;
	}
	return false;
}

static bool has_value(enum effect effect)
{
	return effect == VALUE || effect == WITH_VALUE || effect == FILE_NAME || effect == NAME;
}

/* --name, --name value, --name=value; -name in the same ways. */
static bool take_long(const struct interpreter *interpreter, struct word word, struct words *words,
		      struct script *ret)
{
	const char *equals = memchr(word.text, '=', word.length);
	struct word name = {word.text, equals ? (size_t)(equals - word.text) : word.length};
	struct word value = {0};
	const struct long_option *option = interpreter->options;

	while (option->name && !word_equals(name, option->name))
		option++;
	if (!option->name)
		return false;
	if (equals)
		value = (struct word){equals + 1, word.length - name.length - 1};
	else if (has_value(option->effect))
		(void)take_word(words, &value); /* else it is empty */
	return apply(option->effect, name, value, ret);
}

static enum effect find_effect(const char *letters, char letter)
{
	for (; *letters; letters += 2)
		if (*letters == letter)
			return (enum effect)letters[1];
	return FLAG;
}

/* -abc: options of one letter; the last one may have a value. */
static bool take_letters(const struct interpreter *interpreter, struct word word,
			 struct words *words, struct script *ret)
{
	for (size_t i = 1; i < word.length; i++) {
		enum effect effect = find_effect(interpreter->letters, word.text[i]);
		struct word value = {word.text + i + 1, word.length - i - 1};

		if (effect == FLAG)
			continue;
		if (effect == OCTAL) {
			while (i + 1 < word.length && (word.text[i + 1] & ~7) == '0')
				i++;
			continue;
		}
		if (effect == NEXT) {
			(void)take_word(words, &value);
			continue;
		}
		if (has_value(effect) && !value.length)
			(void)take_word(words, &value);
		return apply(effect, (struct word){word.text + i, 1}, value, ret);
	}
	return false;
}

static bool is_subcommand(const struct interpreter *interpreter, struct word word)
{
	for (size_t i = 0;
	     i < ARRAY_LENGTH(interpreter->subcommands) && interpreter->subcommands[i]; i++)
		if (word_equals(word, interpreter->subcommands[i]))
			return true;
	return false;
}

/* words  behind argv[0]. A process that sets its title leaves empty ones. */
static struct script find_script(const struct interpreter *interpreter, struct words *words)
{
	struct script script = {.is_file = true};
	struct word word;

	while (take_word(words, &word) && word.length) {
		bool has_sign =
			word.text[0] == '-' || (interpreter->is_shell && word.text[0] == '+');

		if (interpreter->takes_argument_files && word.text[0] == '@')
			continue;
		if (!has_sign && !script.name.length && is_subcommand(interpreter, word)) {
			script.name = word; /* if nothing follows */
			continue;
		}
		if (!has_sign) {
			script.name = word;
			break;
		}
		if (word_equals(word, "--") || (word.length == 1 && interpreter->is_shell)) {
			(void)take_word(words, &script.name);
			break;
		}
		if (word.length == 1) /* standard input */
			break;
		if (interpreter->letters && word.text[1] != '-') {
			if (take_letters(interpreter, word, words, &script))
				break;
		} else if (take_long(interpreter, word, words, &script)) {
			break;
		}
	}
	if (script.is_file)
		script.name = get_base_name(script.name);
	return script;
}

static bool is_blank(struct word word)
{
	for (size_t i = 0; i < word.length; i++)
		if ((unsigned char)word.text[i] > ' ' && word.text[i] != 0x7f)
			return false;
	return true;
}

/* The kernel has named the process by its script, or the script has its interpreter's name. */
static bool is_in_comm(const char *comm, struct word name)
{
	size_t length = name.length < COMM_MAX_LENGTH ? name.length : COMM_MAX_LENGTH;

	return strlen(comm) == length && memcmp(comm, name.text, length) == 0;
}

/* Does not cut within a UTF-8 character. */
static void limit_length(struct text *text, size_t start)
{
	static const char end[] = "...";
	size_t length = start + SCRIPT_NAME_MAX_BYTES - strlen(end);

	if (text->failed || text->length - start <= SCRIPT_NAME_MAX_BYTES)
		return;
	while (length > start && ((unsigned char)text->data[length] & 0xc0) == 0x80)
		length--;
	text_truncate(text, length);
	text_append_string(text, end);
}

void script_name_append(const char *comm, const char *words, size_t size, struct text *text)
{
	struct words left = {words, words + size};
	const struct interpreter *interpreter;
	struct script script;
	struct word argv0;
	size_t start = text->length;

	if (!script_name_is_for(comm) || !take_word(&left, &argv0))
		return;
	interpreter = find_interpreter(comm, argv0);
	if (!interpreter)
		return;
	script = find_script(interpreter, &left);
	if (is_blank(script.name) && (script.name.length || !script.option.length))
		return;
	if (script.is_file && is_in_comm(comm, script.name))
		return;
	if (script.option.length == 1)
		text_append_char(text, '-');
	text_append(text, script.option.text, script.option.length);
	if (script.option.length && script.name.length)
		text_append_char(text, ' ');
	if (script.name.length > SCRIPT_NAME_MAX_BYTES + 1)
		script.name.length = SCRIPT_NAME_MAX_BYTES + 1;
	text_append(text, script.name.text, script.name.length);
	limit_length(text, start);
}

/* ---- labels ------------------------------------------------------------------------------- */

void script_name_append_label(struct text *text, const char *script, size_t length)
{
	text_append_string(text, " (");
	text_append(text, script, length);
	text_append_char(text, ')');
}

bool script_name_find_in_label(const char *label, size_t length, size_t *ret_comm_length,
			       const char **ret_script, size_t *ret_script_length)
{
	const char *mark = memmem(label, length, " (", 2);
	size_t comm_length = mark ? (size_t)(mark - label) : 0;

	if (!mark || label[length - 1] != ')' || length < comm_length + strlen(" (x)") ||
	    !is_for(label, comm_length))
		return false;
	*ret_comm_length = comm_length;
	*ret_script = mark + 2;
	*ret_script_length = length - comm_length - strlen(" ()");
	return true;
}
