/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/sys_packet.h"

#include "procfs/sys/sys_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "gen/fields.h"

void sys_packet_deinit(struct sys_packet *p)
{
	extra_counters_deinit(&p->extras);
	strbuf_deinit(&p->text);
	p->errors = NULL;
}

void sys_packet_begin(struct sys_packet *p)
{
	p->now = clock_mono_ns();
	p->begun = clock_boot_ns();
}

struct pb_enc *sys_packet_open(struct sys_packet *p)
{
	if (p->e)
		return p->e;
	p->e = writer_begin(p->w);
	pb_enc_u64(p->e, PB_TRACE_PACKET_TIMESTAMP, p->begun);
	pb_enc_open(p->e, PB_TRACE_PACKET_SYS_STATS);
	return p->e;
}

static void write_error(struct pb_enc *e, struct sys_errors *t)
{
	pb_enc_open(e, PB_SYS_STATS_READ_FAILURES);
	pb_enc_str(e, PB_SYS_STATS_READ_FAILURE_SOURCE, t->what);
	pb_enc_str(e, PB_SYS_STATS_READ_FAILURE_PATH, t->path);
	pb_enc_u64(e, PB_SYS_STATS_READ_FAILURE_ERROR, (uint64_t)t->error);
	pb_enc_u64(e, PB_SYS_STATS_READ_FAILURE_COUNT, t->count);
	pb_enc_close(e);
	t->written = t->count;
}

static void write_errors(struct sys_packet *p)
{
	for (struct sys_errors *t = p->errors; t; t = t->next)
		if (t->count != t->written)
			write_error(sys_packet_open(p), t);
	p->has_new_errors = false;
}

void sys_packet_end(struct sys_packet *p)
{
	if (p->has_new_errors)
		write_errors(p);
	if (p->e) {
		pb_enc_u64(p->e, PB_SYS_STATS_COLLECTION_END_TIMESTAMP, clock_boot_ns());
		pb_enc_close(p->e);
		writer_end(p->w);
		p->e = NULL;
	}
	extra_counters_write(&p->extras, p->begun);
}

void sys_packet_count_error(struct sys_packet *p, struct sys_errors *t, const char *path, int error)
{
	if (t->count++ > 0)
		return;
	snprintf(t->path, sizeof(t->path), "%s", path);
	t->error = error;
	t->next = p->errors;
	p->errors = t;
	p->has_new_errors = true;
	log_warn("linux.sys_stats: %s: %s: %s; %s is not recorded", t->what, path, fs_reason(error),
		 error == EBADMSG ? "that part" : "its content");
}

void sys_packet_count_no_cpus(struct sys_packet *p, struct sys_errors *t)
{
	char path[sizeof(t->path)];

	snprintf(path, sizeof(path), "%.96s/" SYS_CPUS, p->sys_root);
	sys_packet_count_error(p, t, path, ENOENT);
}

void sys_packet_log_errors(const struct sys_packet *p)
{
	for (const struct sys_errors *t = p->errors; t; t = t->next)
		if (t->count > 1)
			log_warn("linux.sys_stats: %s: %llu reads failed, the first of %s", t->what,
				 (unsigned long long)t->count, t->path);
}

bool sys_packet_flush(struct sys_packet *p)
{
	sys_packet_begin(p);
	write_errors(p);
	sys_packet_end(p);
	return p->extras.tracks && tracks_flush_piece(p->extras.tracks);
}

void unknown_ids_log(struct unknown_ids *u, const char *file, int number)
{
	for (unsigned i = 0; i < u->n; i++)
		if (u->numbers[i] == number)
			return;
	if (u->n < UNKNOWN_IDS_MAX) {
		u->numbers[u->n++] = number;
		log_warn("linux.sys_stats: %s has no counter with the id %d", file, number);
	} else if (!u->more) {
		u->more = true;
		log_warn("linux.sys_stats: %s: further unknown counter ids are not listed", file);
	}
}
