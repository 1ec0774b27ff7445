/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/sys_poll.h"

#include <errno.h>
#include <stdio.h>

#include "base/core/clock.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "gen/fields.h"
#include "procfs/sys/sys_cpus.h"

void sys_poll_deinit(struct sys_poll *p)
{
	sys_extras_deinit(&p->extras);
	strbuf_deinit(&p->text);
	p->troubles = NULL;
}

void sys_poll_begin(struct sys_poll *p)
{
	p->now = clock_mono_ns();
	p->begun = clock_boot_ns();
}

struct pb_enc *sys_poll_packet(struct sys_poll *p)
{
	if (p->e)
		return p->e;
	p->e = writer_begin(p->w);
	pb_enc_u64(p->e, PB_TRACE_PACKET_TIMESTAMP, p->begun);
	pb_enc_open(p->e, PB_TRACE_PACKET_SYS_STATS);
	return p->e;
}

static void write_trouble(struct pb_enc *e, struct sys_trouble *t)
{
	pb_enc_open(e, PB_SYS_STATS_READ_FAILURES);
	pb_enc_str(e, PB_SYS_STATS_READ_FAILURE_SOURCE, t->what);
	pb_enc_str(e, PB_SYS_STATS_READ_FAILURE_PATH, t->path);
	pb_enc_u64(e, PB_SYS_STATS_READ_FAILURE_ERROR, (uint64_t)t->error);
	pb_enc_u64(e, PB_SYS_STATS_READ_FAILURE_COUNT, t->count);
	pb_enc_close(e);
	t->written = t->count;
}

static void write_troubles(struct sys_poll *p)
{
	for (struct sys_trouble *t = p->troubles; t; t = t->next)
		if (t->count != t->written)
			write_trouble(sys_poll_packet(p), t);
	p->new_trouble = false;
}

void sys_poll_end(struct sys_poll *p)
{
	if (p->new_trouble)
		write_troubles(p);
	if (p->e) {
		pb_enc_u64(p->e, PB_SYS_STATS_COLLECTION_END_TIMESTAMP, clock_boot_ns());
		pb_enc_close(p->e);
		writer_end(p->w);
		p->e = NULL;
	}
	sys_extras_write(&p->extras, p->begun);
}

void sys_poll_failed(struct sys_poll *p, struct sys_trouble *t, const char *path, int error)
{
	if (t->count++ > 0)
		return;
	snprintf(t->path, sizeof(t->path), "%s", path);
	t->error = error;
	t->next = p->troubles;
	p->troubles = t;
	p->new_trouble = true;
	log_warn("linux.sys_stats: %s: %s: %s; %s is not recorded", t->what, path, fs_reason(error),
		 error == EBADMSG ? "that part" : "what it holds");
}

void sys_poll_no_cpus(struct sys_poll *p, struct sys_trouble *t)
{
	char path[sizeof(t->path)];

	snprintf(path, sizeof(path), "%.96s/" SYS_CPUS, p->sys_root);
	sys_poll_failed(p, t, path, ENOENT);
}

void sys_poll_sum_up(const struct sys_poll *p)
{
	for (const struct sys_trouble *t = p->troubles; t; t = t->next)
		if (t->count > 1)
			log_warn("linux.sys_stats: %s: %llu reads failed, of %s and maybe others",
				 t->what, (unsigned long long)t->count, t->path);
}

bool sys_poll_flush(struct sys_poll *p)
{
	sys_poll_begin(p);
	write_troubles(p);
	sys_poll_end(p);
	return p->extras.tracks && tracks_flush_piece(p->extras.tracks);
}
