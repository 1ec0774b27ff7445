// SPDX-License-Identifier: Apache-2.0
#include "cli/record/pid_tasks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/fs.h"
#include "base/core/mem.h"
#include "base/text/str.h"

struct tids {
	uint32_t *tids; /* owned */
	size_t n;
	size_t cap;
};

static int add_tid(void *ctx, const char *name, unsigned char d_type)
{
	struct tids *t = ctx;
	uint32_t tid;

	(void)d_type;
	if (str_to_u32(name, &tid))
		return 0;
	if (array_reserve(&t->tids, &t->cap, t->n + 1, sizeof(*t->tids)))
		return -ENOMEM;
	t->tids[t->n++] = tid;
	return 0;
}

static int add_process(struct tids *t, const char *proc_root, uint32_t pid, struct err_text *e)
{
	size_t before = t->n;
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s/%u/task", proc_root, pid);
	r = fs_each(path, add_tid, t);
	if (r == -ENOENT || r == -ESRCH || (!r && t->n == before))
		return err_set(e, -ESRCH, "-p: there is no process %u", pid);
	return r && r != -ENOMEM ? err_set(e, r, "-p %u: %s: %s", pid, path, strerror(-r)) : r;
}

int pid_tasks_list(const char *proc_root, const struct pid_list *pids, uint32_t **ret_tids,
		   size_t *ret_n, struct err_text *e)
{
	struct tids t = {0};
	int r = 0;

	for (size_t i = 0; i < pids->n && !r; i++)
		r = add_process(&t, proc_root, pids->pids[i], e);
	if (r) {
		free(t.tids);
		return r;
	}
	*ret_tids = t.tids;
	*ret_n = t.n;
	return 0;
}
