#include "cli/help/document.h"

#include <string.h>

#include "base/table_format.h"

#define BODY_INDENT     2
#define DEFAULT_COLUMNS 80
#define MAX_CELLS       8
#define COLUMN_GAP      2
#define MIN_LAST_CELL   24 /* columns; a narrower last cell of a row makes the table a list */

struct document {
	struct text *out;
	struct terminal terminal;
	struct text words;   /* paragraph or item under way, with its markup */
	const char *table;   /* first line of the table under way; NULL: no table */
	size_t num_rows;     /* of that table so far, with its heading and the line below */
	struct text scratch; /* a cell or a paragraph, without markup */
};

/* Returns the end of the label of "[label](target)"; NULL if it is no link. */
static const char *find_link(const char *at, const char *end, const char **ret_target_end)
{
	const char *label_end = memchr(at, ']', (size_t)(end - at));
	const char *target_end;

	if (!label_end || label_end + 1 >= end || label_end[1] != '(')
		return NULL;
	target_end = memchr(label_end, ')', (size_t)(end - label_end));
	if (!target_end)
		return NULL;
	*ret_target_end = target_end;
	return label_end;
}

/* Topics and addresses only. Other files are not installed. */
static void append_target(struct text *text, const char *target, size_t length)
{
	if (length >= 4 && !memcmp(target, "http", 4))
		text_printf(text, " (%.*s)", (int)length, target);
	else if (length > 3 && !memcmp(target + length - 3, ".md", 3) &&
		 !memchr(target, '/', length))
		text_printf(text, " ('stackwide help %.*s')", (int)length - 3, target);
}

/* Append a line or a paragraph without its markup. */
static void append_plain(struct text *text, const char *at, const char *end)
{
	bool is_code = false;

	while (at < end) {
		const char *label_end;
		const char *target_end;

		if (*at == '`') {
			is_code = !is_code;
			at++;
		} else if (!is_code && end - at >= 2 && at[0] == '*' && at[1] == '*') {
			at += 2;
		} else if (!is_code && *at == '[' &&
			   (label_end = find_link(at, end, &target_end)) != NULL) {
			append_plain(text, at + 1, label_end);
			append_target(text, label_end + 2, (size_t)(target_end - label_end) - 2);
			at = target_end + 1;
		} else {
			text_append_char(text, *at++);
		}
	}
}

/* Make scratch the plain form of the markup. Returns it, NUL-terminated. */
static const char *make_plain(struct document *document, const char *at, const char *end)
{
	text_truncate(&document->scratch, 0);
	append_plain(&document->scratch, at, end);
	return document->scratch.length ? document->scratch.data : "";
}

/* The length of "- " or "12. " at the start of an item; else 0. */
static size_t get_mark_length(const char *line)
{
	size_t num_digits = strspn(line, "0123456789");

	if (line[0] == '-' && line[1] == ' ')
		return 2;
	return num_digits && line[num_digits] == '.' && line[num_digits + 1] == ' ' ? num_digits + 2
										    : 0;
}

static void end_paragraph(struct document *document)
{
	struct text *words = &document->words;
	size_t mark_length;
	const char *plain;

	if (!words->length)
		return;
	plain = make_plain(document, words->data, words->data + words->length);
	mark_length = get_mark_length(plain);
	table_append_blanks(document->out, BODY_INDENT);
	text_append(document->out, plain, mark_length);
	table_append_words(document->out, plain + mark_length, BODY_INDENT + mark_length,
			   document->terminal.num_columns);
	text_append_char(document->out, '\n');
	text_truncate(words, 0);
}

/*
 * Cell of a row, "| a | b |", without the blanks around it.
 *
 * ret_end  the end of the cell
 *
 * Returns its start, or NULL behind the last cell.
 */
static const char *find_cell(const char *row, size_t index, const char **ret_end)
{
	const char *end = row + strcspn(row, "\n");
	const char *start = row;

	for (size_t i = 0;; i++) {
		const char *bar = memchr(start + 1, '|', (size_t)(end - start) - 1);

		if (!bar)
			return NULL;
		if (i == index) {
			start += 1 + strspn(start + 1, " ");
			while (bar > start && bar[-1] == ' ')
				bar--;
			*ret_end = bar;
			return start < bar ? start : bar;
		}
		start = bar;
	}
}

static const char *get_cell(struct document *document, const char *row, size_t index)
{
	const char *end;
	const char *start = find_cell(row, index, &end);

	return start ? make_plain(document, start, end) : "";
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
}

static size_t count_cells(const char *row)
{
	const char *end;
	size_t count = 0;

	while (count < MAX_CELLS && find_cell(row, count, &end))
		count++;
	return count;
}

static size_t get_width(const char *cell)
{
	return table_get_name_width(cell, strlen(cell));
}

static void measure_columns(struct document *document, size_t num_cells, size_t *widths)
{
	const char *row = document->table;

	for (size_t i = 0; i < document->num_rows; i++, row = next_line(row)) {
		for (size_t j = 0; i != 1 && j < num_cells; j++) {
			size_t width = get_width(get_cell(document, row, j));

			widths[j] = width > widths[j] ? width : widths[j];
		}
	}
}

/* The last cell has the rest of the line, and further ones. */
static void append_row(struct document *document, const char *row, size_t num_cells,
		       const size_t *widths)
{
	struct text *out = document->out;
	size_t column = BODY_INDENT;

	table_append_blanks(out, BODY_INDENT);
	for (size_t i = 0; i < num_cells; i++) {
		const char *cell = get_cell(document, row, i);
		bool is_last = i + 1 == num_cells;

		table_append_words(out, cell, column, is_last ? document->terminal.num_columns : 0);
		if (!is_last)
			table_append_blanks(out, widths[i] - get_width(cell) + COLUMN_GAP);
		column += widths[i] + COLUMN_GAP;
	}
	while (out->length && out->data[out->length - 1] == ' ')
		text_truncate(out, out->length - 1);
	text_append_char(out, '\n');
}

static void append_line(struct document *document, size_t indent, const char *words)
{
	table_append_blanks(document->out, indent);
	table_append_words(document->out, words, indent, document->terminal.num_columns);
	text_append_char(document->out, '\n');
}

/* The first cell of a row; below it each other one, after its heading. */
static void append_record(struct document *document, const char *row, size_t num_cells)
{
	struct text *line = &document->scratch;

	append_line(document, BODY_INDENT, get_cell(document, row, 0));
	for (size_t i = 1; i < num_cells; i++) {
		const char *heading_end;
		const char *heading = find_cell(document->table, i, &heading_end);
		const char *end;
		const char *cell = find_cell(row, i, &end);

		if (!cell || cell == end)
			continue;
		text_truncate(line, 0);
		append_plain(line, heading, heading_end);
		if (line->length)
			text_append_string(line, ": ");
		append_plain(line, cell, end);
		if (line->length)
			append_line(document, 2 * BODY_INDENT, line->data);
	}
}

static void end_table(struct document *document)
{
	size_t widths[MAX_CELLS] = {0};
	size_t num_cells;
	size_t start = BODY_INDENT;
	const char *row = document->table;

	if (!row)
		return;
	num_cells = count_cells(row);
	measure_columns(document, num_cells, widths);
	for (size_t i = 0; i + 1 < num_cells; i++)
		start += widths[i] + COLUMN_GAP;
	for (size_t i = 0; i < document->num_rows; i++, row = next_line(row)) {
		if (i == 1)
			continue; /* |---| */
		if (start + MIN_LAST_CELL <= document->terminal.num_columns)
			append_row(document, row, num_cells, widths);
		else if (i)
			append_record(document, row, num_cells);
	}
	document->table = NULL;
	document->num_rows = 0;
}

static void append_heading(struct document *document, const char *line, const char *end)
{
	bool has_color = document->terminal.has_color;
	const char *plain;

	line += strspn(line, "#");
	line += strspn(line, " ");
	plain = make_plain(document, line, end);
	text_printf(document->out, "%s%s%s\n", has_color ? "\033[1m" : "", plain,
		    has_color ? "\033[0m" : "");
}

static void take_line(struct document *document, const char *line, const char *end)
{
	if (*line == '|') {
		end_paragraph(document);
		if (!document->num_rows++)
			document->table = line;
		return;
	}
	end_table(document);
	if (line == end || *line == '#' || string_starts_with(line, "    ") ||
	    get_mark_length(line))
		end_paragraph(document);
	if (*line == '#') {
		append_heading(document, line, end);
	} else if (line == end || string_starts_with(line, "    ")) {
		text_append(document->out, line, (size_t)(end - line));
		text_append_char(document->out, '\n');
	} else {
		line += document->words.length ? strspn(line, " ") : 0;
		if (document->words.length)
			text_append_char(&document->words, ' ');
		text_append(&document->words, line, (size_t)(end - line));
	}
}

void document_append(struct text *text, const char *markdown, struct terminal terminal)
{
	struct document document = {.out = text, .terminal = terminal};

	if (!terminal.num_columns)
		document.terminal.num_columns = DEFAULT_COLUMNS;
	for (; *markdown; markdown = next_line(markdown))
		take_line(&document, markdown, markdown + strcspn(markdown, "\n"));
	end_paragraph(&document);
	end_table(&document);
	text->failed |= document.words.failed | document.scratch.failed;
	text_release(&document.words);
	text_release(&document.scratch);
}
