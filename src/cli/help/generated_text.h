/*
 * Text generated from the tables of commands and options when stackwide is built: completions for
 * shells, and a manual page for each command. `stackwide generate` prints them.
 */
#ifndef CLI_HELP_GENERATED_TEXT_H
#define CLI_HELP_GENERATED_TEXT_H

#include <stdio.h>

#include "base/attributes.h"
#include "cli/options/command.h"

/* commands  ended by NULL; hidden ones are left out */
void completions_print_bash(const struct command *const *commands, FILE *out);
void completions_print_zsh(const struct command *const *commands, FILE *out);
void completions_print_fish(const struct command *const *commands, FILE *out);

/* In the language of man(7). */
void manual_print(const struct command *command, FILE *out);
/* The same for the formats that can be written, for pages that are written by hand. */
void manual_print_formats(FILE *out);

#endif
