/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel counts readers but does not name them. Their descriptors are visible in /proc/PID/fd.
 * The link's name is checked first, because it excludes most descriptors; then the inode, because
 * tracefs may be mounted in several places.
 */
#include "ftrace/tracefs/foreign_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/outside_reads.h"
#include "base/text/str.h"

struct file_id {
	dev_t dev;
	ino_t ino;
};

struct search {
	const char *dir;
	const char *proc_root;
	struct file_id *pipes; /* owned: pipes of the instance */
	size_t n_pipes;
	size_t cap;
	int pid; /* the process that is examined */
	char fds[64]; /* the path of its fd directory */
};

/* ---- the pipes ---- */

static int add_trace_pipe(struct search *s, const char *file)
{
	char path[4096];
	struct stat st;

	if (fs_join(path, sizeof(path), s->dir, file) || stat(path, &st))
		return 0;
	if (array_reserve(&s->pipes, &s->cap, s->n_pipes + 1, sizeof(*s->pipes)))
		return -1;
	s->pipes[s->n_pipes++] = (struct file_id){st.st_dev, st.st_ino};
	return 0;
}

static int foreign_reader_add_cpu(void *ctx, const char *name, unsigned char d_type)
{
	char file[300];
	int r;

	snprintf(file, sizeof(file), "per_cpu/%s/trace_pipe", name);
	r = add_trace_pipe(ctx, file);
	snprintf(file, sizeof(file), "per_cpu/%s/trace_pipe_raw", name);
	return r ? r : add_trace_pipe(ctx, file);
}

/* ---- readers of the pipes ---- */

static bool is_pipe(const struct search *s, const struct stat *st)
{
	for (size_t i = 0; i < s->n_pipes; i++)
		if (s->pipes[i].dev == st->st_dev && s->pipes[i].ino == st->st_ino)
			return true;
	return false;
}

/* Returns 1, which ends the search, if the descriptor is that of a trace pipe; else 0. */
static int check_fd_of_process(void *ctx, const char *name, unsigned char d_type)
{
	struct search *s = ctx;
	char path[400], link[512];
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", s->fds, name);
	n = outside_readlink(path, link, sizeof(link) - 1, OUTSIDE_READ_LONG_MS);
	if (n <= 0)
		return 0;
	link[n] = '\0';
	return strstr(link, "trace_pipe") && !outside_stat(path, &st) && is_pipe(s, &st);
}

static int search_process(void *ctx, const char *name, unsigned char d_type)
{
	struct search *s = ctx;
	uint32_t pid;

	if (str_to_u32(name, &pid) || (int)pid == getpid())
		return 0;
	if ((size_t)snprintf(s->fds, sizeof(s->fds), "%s/%u/fd", s->proc_root, pid) >=
	    sizeof(s->fds))
		return 0;
	s->pid = (int)pid;
	return fs_each(s->fds, check_fd_of_process, s) == 1;
}

static void foreign_reader_read_name(const struct search *s, struct foreign_reader *r)
{
	struct strbuf b = {0};
	char path[128];

	snprintf(path, sizeof(path), "%.64s/%d/comm", s->proc_root, s->pid);
	if (fs_read_file(path, 256, &b) || !b.s)
		strbuf_clear(&b);
	snprintf(r->name, sizeof(r->name), "%.*s", b.s ? (int)strcspn(b.s, "\n") : 0,
		 b.s ? b.s : "");
	strbuf_deinit(&b);
}

bool foreign_reader_find(const char *dir, const char *proc_root, struct foreign_reader *ret)
{
	struct search s = {.dir = dir, .proc_root = proc_root};
	char path[4096];
	bool found;

	add_trace_pipe(&s, "trace_pipe");
	if (!fs_join(path, sizeof(path), dir, "per_cpu"))
		fs_each(path, foreign_reader_add_cpu, &s);
	found = s.n_pipes && fs_each(proc_root, search_process, &s) == 1;
	if (found) {
		ret->pid = s.pid;
		foreign_reader_read_name(&s, ret);
	}
	free(s.pipes);
	return found;
}
