/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_fds.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "gen/fields.h"

#define TOLD_FIRST 1024u

void process_fds_deinit(struct process_fds *f)
{
	free(f->waiting);
	free(f->told);
	process_map_clear(&f->lives);
	*f = (struct process_fds){0};
}

void process_fds_clear(struct process_fds *f)
{
	f->n_told = 0;
	if (f->told)
		memset(f->told, 0, f->told_cap * sizeof(*f->told));
}

void process_fds_renew(struct process_fds *f, int32_t pid)
{
	uint32_t life = (uint32_t)process_map_get(&f->lives, pid);

	(void)process_map_set(&f->lives, pid, (int32_t)(life + 1));
}

/* ---- what was told ---- */

/* The place of the descriptor, or the empty one where it belongs. */
static struct process_fd_told *place(const struct process_fds *f, int32_t pid, int32_t fd)
{
	uint32_t hash = ((uint32_t)pid * 0x9e3779b1 ^ (uint32_t)fd) * 0x85ebca6b;
	size_t i = (hash ^ hash >> 15) & (f->told_cap - 1);

	while (f->told[i].pid && (f->told[i].pid != pid || f->told[i].fd != fd))
		i = (i + 1) & (f->told_cap - 1);
	return &f->told[i];
}

/* Room for one more. False: memory is out. */
static bool reserve(struct process_fds *f)
{
	struct process_fd_told *old = f->told;
	size_t old_cap = f->told_cap;

	if (f->n_told < f->told_cap / 2)
		return true;
	if (f->n_told >= PROCESS_FDS_MAX) {
		process_fds_clear(f);
		return true;
	}
	f->told_cap = MAX(f->told_cap * 2, TOLD_FIRST);
	f->told = calloc(f->told_cap, sizeof(*f->told));
	if (!f->told) {
		f->told = old;
		f->told_cap = old_cap;
		return false;
	}
	for (size_t i = 0; i < old_cap; i++)
		if (old[i].pid)
			*place(f, old[i].pid, old[i].fd) = old[i];
	free(old);
	return true;
}

static uint32_t hash_of(uint32_t life, const char *path, size_t len)
{
	uint32_t h = 2166136261 ^ life;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)path[i]) * 16777619;
	return h;
}

/* False: it has been told to lead there. */
static bool is_new(struct process_fds *f, int32_t pid, int32_t fd, uint32_t hash)
{
	struct process_fd_told *t;

	if (!reserve(f))
		return true;
	t = place(f, pid, fd);
	if (t->pid && t->hash == hash)
		return false;
	f->n_told += !t->pid;
	*t = (struct process_fd_told){pid, fd, hash};
	return true;
}

/* ---- those that wait ---- */

static void close_up(struct process_fds *f)
{
	if (f->n < f->cap || f->next == 0)
		return;
	memmove(f->waiting, f->waiting + f->next, (f->n - f->next) * sizeof(*f->waiting));
	f->n -= f->next;
	f->next = 0;
}

void process_fds_add(struct process_fds *f, const struct metadata_fd *fd)
{
	close_up(f);
	if (f->n - f->next >= PROCESS_FDS_MAX ||
	    array_reserve(&f->waiting, &f->cap, f->n + 1, sizeof(*f->waiting)) < 0) {
		f->dropped++;
		return;
	}
	f->waiting[f->n++] = *fd;
}

static void write_fd(struct process_fds *f, struct process_names *n, int32_t pid, int32_t fd,
		     const char *path, size_t len)
{
	struct pb_enc *e;

	if (pid != f->written)
		process_packet_end(n->packet); /* that began earlier, maybe before the process */
	f->written = pid;
	e = process_packet_row(n->packet, PROCESS_PACKET_STATS, PB_PROCESS_STATS_PROCESSES);
	pb_enc_i64(e, PB_PROCESS_STATS_PROCESS_PID, pid);
	pb_enc_open(e, PB_PROCESS_STATS_PROCESS_FDS);
	pb_enc_u64(e, PB_PROCESS_STATS_FD_INFO_FD, (uint64_t)fd);
	pb_enc_bytes(e, PB_PROCESS_STATS_FD_INFO_PATH, path, len);
	pb_enc_close(e);
	pb_enc_close(e);
}

/* One that is closed by now, or whose process has ended, leads nowhere. */
static void resolve(struct process_fds *f, struct process_names *n, const struct metadata_fd *fd)
{
	int32_t pid = process_kin_tgid(&n->kin, fd->tid);
	uint32_t life = (uint32_t)process_map_get(&f->lives, pid);
	char path[PATH_MAX];
	ssize_t len;

	if (!pid)
		return;
	process_packet_next(n->packet);
	len = proc_files_fd(n->files, fd->tid, fd->fd, path, sizeof(path));
	if (len > 0 && is_new(f, pid, fd->fd, hash_of(life, path, (size_t)len)))
		write_fd(f, n, pid, fd->fd, path, (size_t)len);
}

bool process_fds_run(struct process_fds *f, struct process_names *n, const struct time_slice *turn)
{
	while (!process_fds_is_empty(f)) {
		struct metadata_fd fd = f->waiting[f->next++];

		resolve(f, n, &fd);
		if (time_slice_over(turn))
			break;
	}
	if (!process_fds_is_empty(f))
		return true;
	f->next = f->n = 0;
	return false;
}
