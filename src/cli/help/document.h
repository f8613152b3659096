/*
 * Documents in Markdown, for a terminal. Paragraphs and cells of tables are broken into its lines.
 * Markup is left out. A link to another topic becomes the command that prints it.
 *
 * This understands the part of Markdown that packaging/docs/ uses. Blocks are headings (#),
 * paragraphs, items (- or 1.), code indented by four blanks, and tables. Lines may contain `code`,
 * **bold** and [links](target).
 */
#ifndef CLI_HELP_DOCUMENT_H
#define CLI_HELP_DOCUMENT_H

#include "base/text.h"
#include "cli/options/terminal.h"

/* Lines have 80 columns if there is no terminal. */
void document_append(struct text *text, const char *markdown, struct terminal terminal);

#endif
