/*
 * The viewer's page with a profile in it: one HTML file that works offline, wherever it is opened.
 */
#ifndef VIEWER_PAGE_H
#define VIEWER_PAGE_H

#include <stdbool.h>

#include "base/attributes.h"
#include "formats/format.h"

/* Whether this program was built with the page; the WebAssembly tools may have been missing. */
bool viewer_page_exists(void);

/* The page without data. Returns 0 or what the sink returned. */
_must_check_ int viewer_page_write_empty(const struct sink *sink);

/* The page with all of a profile; what opts say of metrics is the page's own choice. */
extern const struct format format_html;

/*
 * The page with a profile, which it shows when it is opened.
 *
 * title  what the data is called in the page, NUL-terminated; NULL: "profile"
 *
 * Returns 0, -ENOMEM, -ENOTSUP where there is no page, or what the sink returned.
 */
_must_check_ int viewer_page_write(const struct profile *profile, const char *title,
				   const struct sink *sink);

#endif
