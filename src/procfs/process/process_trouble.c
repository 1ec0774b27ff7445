/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_trouble.h"

#include <errno.h>
#include <string.h>

#include "base/system/fs.h"
#include "base/system/log.h"
#include "client/counters/tracks.h"
#include "gen/fields.h"

static bool is_trouble(const struct proc_trouble *t)
{
	return t->count || t->absent;
}

static const char *reason_of(const struct proc_trouble *t)
{
	return t->absent ? "this kernel has none" : fs_reason(-t->error);
}

void process_trouble_tell(struct process_trouble *t, const struct proc_files *f)
{
	for (unsigned i = 0; i < PROC_FILES; i++) {
		if (!is_trouble(&f->troubles[i]) || t->told >> i & 1)
			continue;
		t->told |= 1u << i;
		log_warn("linux.process_stats: /proc/PID/%s: %s; it is left out where that is so",
			 proc_file_name(i), reason_of(&f->troubles[i]));
	}
	if (!t->refused_tracks || t->told_refused)
		return;
	t->told_refused = true;
	log_warn("linux.process_stats: more than %u counter tracks; the rest is missing",
		 TRACKS_MAX);
}

static uint64_t sum_of(const struct process_trouble *t, const struct proc_files *f)
{
	uint64_t sum = t->refused_tracks;

	for (unsigned i = 0; i < PROC_FILES; i++)
		sum += f->troubles[i].count + f->troubles[i].absent;
	return sum;
}

void process_trouble_write(struct process_trouble *t, const struct proc_files *f,
			   struct process_packet *p)
{
	uint64_t sum = sum_of(t, f);

	if (sum == t->written)
		return;
	t->written = sum;
	process_packet_next(p);
	for (unsigned i = 0; i < PROC_FILES; i++) {
		const struct proc_trouble *k = &f->troubles[i];
		struct pb_enc *e;

		if (!is_trouble(k))
			continue;
		e = process_packet_row(p, PROCESS_PACKET_STATS, PB_PROCESS_STATS_UNREAD_FILES);
		pb_enc_str(e, PB_PROCESS_STATS_UNREAD_FILE_NAME, proc_file_name(i));
		pb_enc_i64(e, PB_PROCESS_STATS_UNREAD_FILE_ERROR, -k->error);
		pb_enc_u64(e, PB_PROCESS_STATS_UNREAD_FILE_COUNT, k->count);
		pb_enc_close(e);
	}
	if (t->refused_tracks)
		pb_enc_u64(process_packet_open(p, PROCESS_PACKET_STATS),
			   PB_PROCESS_STATS_REFUSED_TRACKS, t->refused_tracks);
	process_packet_end(p);
}
