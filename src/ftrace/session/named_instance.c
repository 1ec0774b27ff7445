// SPDX-License-Identifier: Apache-2.0
#include "ftrace/session/named_instance.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/system/fs.h"
#include "base/text/str.h"
#include "ftrace/tracefs/loan.h"

#define SHOWN 100 /* of a name that is no good */

static int refuse(struct err_text *e, int error, const char *name, const char *why)
{
	return err_set(e, error, "instance_name \"%.*s\": %s", SHOWN, name, why);
}

static int refuse_unknown(struct err_text *e, const char *root, const char *name)
{
	char path[4096], best[STR_NEAREST_SIZE], why[300];
	const char *meant = NULL;

	if (!fs_join(path, sizeof(path), root, "instances"))
		meant = fs_nearest(path, name, best);
	snprintf(why, sizeof(why), "the kernel has no such instance%s%s%s",
		 meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
	return refuse(e, -ENOENT, name, why);
}

static const char *objection(const char *name)
{
	if (!*name || strchr(name, '/') || str_starts(name, "..") || !strcmp(name, "."))
		return "not the name of an instance";
	return str_starts(name, "sonda-") ? "it belongs to another recording" : NULL;
}

int named_instance_borrow(struct instance *i, const char *root, const char *state, const char *name,
			  struct err_text *e)
{
	bool beside = !strcmp(name, "hyp") || !strcmp(name, "hypervisor");
	struct loan_terms terms = {.root = root, .state = state};
	const char *why = objection(name);
	char place[300];
	int r;

	*i = (struct instance){0};
	if (why)
		return refuse(e, -EINVAL, name, why);
	r = snprintf(place, sizeof(place), "%s%s", beside ? "" : "instances/", name);
	if (r < 0 || (size_t)r >= sizeof(place))
		return refuse(e, -ENAMETOOLONG, name, "too long");
	terms.place = place;
	r = instance_borrow(i, &terms, e);
	return r == -ENOENT ? refuse_unknown(e, root, name) : r;
}
