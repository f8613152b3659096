/* The viewer's page with a profile in it: one HTML file that works offline, from anywhere. */
#ifndef VIEWER_PAGE_H
#define VIEWER_PAGE_H

#include <stdbool.h>

#include "base/attributes.h"
#include "formats/format.h"

/* Whether this program was built with the page; the WebAssembly tools may have been missing. */
bool viewer_page_exists(void);

/* The page without data. Returns 0 or the error of the sink. */
_must_check_ int viewer_page_write_empty(const struct sink *sink);

/* The page with a whole profile; it makes its own choice of metrics, whatever opts has. */
extern const struct format format_html;

/*
 * The page with a profile, which it shows when it is opened.
 *
 * title  name of the data in the page, NUL-terminated; NULL: "profile"
 *
 * Returns 0, -ENOMEM, -ENOTSUP if the page is not built in, or the error of the sink.
 */
_must_check_ int viewer_page_write(const struct profile *profile, const char *title,
				   const struct sink *sink);

#endif
