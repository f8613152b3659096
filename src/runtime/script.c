#include "runtime/script.h"

#include <errno.h>

#include "runtime/perl/find.h"
#include "runtime/php/find.h"
#include "runtime/ruby/find.h"

int script_find(struct objfile *objfile, struct script_build *ret)
{
	static int (*const finders[])(struct objfile * objfile, struct script_build * ret) = {
		php_find,
		ruby_find,
		perl_find,
	};

	for (size_t i = 0; i < ARRAY_LENGTH(finders); i++)
		if (!finders[i](objfile, ret))
			return 0;
	return -ENOENT;
}
