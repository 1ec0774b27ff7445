// SPDX-License-Identifier: Apache-2.0
#include "ftrace/named_instance.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/str.h"
#include "ftrace/loan.h"

#define SHOWN 100 /* of a name that is no good */

static int refuse(struct err_text *e, int error, const char *name, const char *why)
{
	return err_set(e, error, "instance_name \"%.*s\": %s", SHOWN, name, why);
}

/* A folder's names are gone when it has been read. */
struct nearest_copy {
	struct str_nearest nearest;
	char best[128]; /* or empty */
};

static int try_name(void *ctx, const char *name, unsigned char d_type)
{
	struct nearest_copy *n = ctx;
	unsigned before = n->nearest.best_distance;

	(void)d_type;
	str_nearest_try(&n->nearest, name);
	if (n->nearest.best_distance != before)
		snprintf(n->best, sizeof(n->best), "%s", name);
	return 0;
}

static int refuse_unknown(struct err_text *e, const char *root, const char *name)
{
	struct nearest_copy n = {.best = ""};
	char path[4096], why[300];

	str_nearest_init(&n.nearest, name);
	if (!fs_join(path, sizeof(path), root, "instances"))
		fs_each(path, try_name, &n);
	snprintf(why, sizeof(why), "the kernel has no such instance%s%s%s",
		 *n.best ? "; did you mean " : "", n.best, *n.best ? "?" : "");
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
