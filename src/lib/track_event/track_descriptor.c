/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A uuid is the exclusive or of the keys of a track and all its parents, down to the process, a
 * thread, or nothing for global tracks:
 *
 *	request ----> requests ----> process           key ^ key ^ process uuid
 *	counter ----> thread                           key ^ process uuid ^ tid
 */
#include "lib/track_event/track_descriptor.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/core/cancel.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "lib/public.h"

struct process_identity process_identity;

/* Reads up to size bytes of a file. Returns their number, or 0 on any error. */
static size_t read_file_head(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size);

	if (fd >= 0)
		close(fd);
	return n < 0 ? 0 : (size_t)n;
}

static bool read_start_ticks(uint64_t *ret)
{
	char stat[1024];
	size_t n = read_file_head("/proc/self/stat", stat, sizeof(stat) - 1);

	stat[n] = 0;
	return process_start_ticks(stat, ret);
}

void process_identity_read(void)
{
	struct process_identity *p = &process_identity;
	uint64_t start;

	if (!read_start_ticks(&start) && getrandom(&start, sizeof(start), GRND_NONBLOCK) < 0)
		start = clock_boot_ns();
	p->pid = getpid();
	p->uuid = process_uuid_of(start, p->pid);
	p->cmdline_len = read_file_head("/proc/self/cmdline", p->cmdline, sizeof(p->cmdline));
	if (p->cmdline_len)
		p->cmdline[p->cmdline_len - 1] = 0;
}

#define COMM_LEN 16
#define THREAD_TIME "thread_time"
#define COUNTER_THREAD_TIME_NS 1
#define MAX_PARENTS 100 /* the limit of trace_processor; also ends a circular chain */

uint64_t track_uuid(const struct sonda_track *t)
{
	uint64_t uuid = 0;

	for (int i = 0; i < MAX_PARENTS; i++, t = t->parent) {
		if (!t || t->kind == SONDA_TRACK_PROCESS)
			return uuid ^ process_identity.uuid;
		if (t->kind == SONDA_TRACK_THREAD)
			return uuid ^ thread_uuid(t->tid);
		if (t->kind == SONDA_TRACK_GLOBAL)
			return uuid;
		uuid ^= t->key;
	}
	return uuid;
}

SONDA_PUBLIC uint64_t sonda_track_uuid(const struct sonda_track *track)
{
	return track_uuid(track);
}

SONDA_PUBLIC struct sonda_track sonda_track_thread(void)
{
	struct sonda_track t = sonda_track_make_(SONDA_TRACK_THREAD, NULL, 0, NULL);

	t.tid = gettid();
	return t;
}

const struct sonda_track *track_parent(const struct sonda_track *t)
{
	if (t->kind == SONDA_TRACK_THREAD || !t->parent)
		return NULL;
	return t->parent->kind > SONDA_TRACK_PROCESS ? t->parent : NULL;
}

/* ---- threads and the process ---- */

static void read_comm(int32_t tid, char comm[static COMM_LEN])
{
	NO_CANCEL();
	char path[64];
	ssize_t n = -1;
	int fd;

	memset(comm, 0, COMM_LEN);
	if (tid == gettid()) {
		prctl(PR_GET_NAME, comm);
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, comm, COMM_LEN - 1);
		close(fd);
	}
	comm[n > 0 ? n : 0] = 0;
	comm[strcspn(comm, "\n")] = 0;
}

static void write_thread(struct pb_enc *e, const struct sonda_track *t)
{
	char comm[COMM_LEN];

	read_comm(t->tid, comm);
	pb_enc_open(e, PB_TRACK_DESCRIPTOR_THREAD);
	pb_enc_u64(e, PB_THREAD_DESCRIPTOR_PID, (uint64_t)process_identity.pid);
	pb_enc_i64(e, PB_THREAD_DESCRIPTOR_TID, t->tid);
	if (comm[0])
		pb_enc_str(e, PB_THREAD_DESCRIPTOR_THREAD_NAME, comm);
	pb_enc_close(e);
	pb_enc_u64(e, PB_TRACK_DESCRIPTOR_PARENT_UUID, process_identity.uuid);
}

static void write_process(struct pb_enc *e)
{
	const struct process_identity *p = &process_identity;

	pb_enc_open(e, PB_TRACK_DESCRIPTOR_PROCESS);
	pb_enc_u64(e, PB_PROCESS_DESCRIPTOR_PID, (uint64_t)p->pid);
	for (size_t at = 0; at < p->cmdline_len; at += strlen(p->cmdline + at) + 1)
		pb_enc_str(e, PB_PROCESS_DESCRIPTOR_CMDLINE, p->cmdline + at);
	if (p->cmdline_len)
		pb_enc_str(e, PB_PROCESS_DESCRIPTOR_PROCESS_NAME, p->cmdline);
	pb_enc_close(e);
}

/* ---- other tracks ---- */

static void track_descriptor_write_text(struct pb_enc *e, uint32_t field, const char *text)
{
	if (text)
		pb_enc_str(e, field, text);
}

static void write_counter(struct pb_enc *e, const struct sonda_track *t)
{
	pb_enc_open(e, PB_TRACK_DESCRIPTOR_COUNTER);
	if (t->unit)
		pb_enc_u64(e, PB_COUNTER_DESCRIPTOR_UNIT, t->unit);
	if (t->unit_multiplier > 1)
		pb_enc_i64(e, PB_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER, t->unit_multiplier);
	if (t->is_incremental)
		pb_enc_bool(e, PB_COUNTER_DESCRIPTOR_IS_INCREMENTAL, true);
	if (!t->unit)
		track_descriptor_write_text(e, PB_COUNTER_DESCRIPTOR_UNIT_NAME, t->unit_name);
	track_descriptor_write_text(e, PB_COUNTER_DESCRIPTOR_Y_AXIS_SHARE_KEY, t->y_axis_share_key);
	pb_enc_close(e);
}

/* Writes how viewers order, merge and describe the track. */
static void write_display_options(struct pb_enc *e, const struct sonda_track *t)
{
	if (t->child_ordering)
		pb_enc_u64(e, PB_TRACK_DESCRIPTOR_CHILD_ORDERING, t->child_ordering);
	if (t->has_sibling_order_rank)
		pb_enc_i64(e, PB_TRACK_DESCRIPTOR_SIBLING_ORDER_RANK, t->sibling_order_rank);
	track_descriptor_write_text(e, PB_TRACK_DESCRIPTOR_DESCRIPTION, t->description);
	if (t->sibling_merge)
		pb_enc_u64(e, PB_TRACK_DESCRIPTOR_SIBLING_MERGE_BEHAVIOR, t->sibling_merge);
	if (t->sibling_merge != SONDA_MERGE_BY_KEY)
		return;
	if (t->sibling_merge_key)
		pb_enc_str(e, PB_TRACK_DESCRIPTOR_SIBLING_MERGE_KEY, t->sibling_merge_key);
	else
		pb_enc_u64(e, PB_TRACK_DESCRIPTOR_SIBLING_MERGE_KEY_INT, t->sibling_merge_key_int);
}

static void write_custom(struct pb_enc *e, const struct sonda_track *t)
{
	uint64_t parent = track_uuid(t) ^ t->key;

	if (t->dynamic_name)
		track_descriptor_write_text(e, PB_TRACK_DESCRIPTOR_NAME, t->name);
	if (parent)
		pb_enc_u64(e, PB_TRACK_DESCRIPTOR_PARENT_UUID, parent);
	if (t->kind == SONDA_TRACK_COUNTER)
		write_counter(e, t);
	if (t->kind == SONDA_TRACK_STATE)
		pb_enc_bytes(e, PB_TRACK_DESCRIPTOR_STATE, "", 0);
	if (!t->dynamic_name)
		track_descriptor_write_text(e, PB_TRACK_DESCRIPTOR_STATIC_NAME, t->name);
}

void track_descriptor_write(struct pb_enc *e, const struct sonda_track *t)
{
	pb_enc_open(e, PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	pb_enc_u64(e, PB_TRACK_DESCRIPTOR_UUID, track_uuid(t));
	if (t->kind == SONDA_TRACK_PROCESS)
		write_process(e);
	else if (t->kind == SONDA_TRACK_THREAD)
		write_thread(e, t);
	else
		write_custom(e, t);
	write_display_options(e, t);
	pb_enc_close(e);
}

/* ---- thread time ---- */

static struct sonda_track thread_time_track(int32_t tid, struct sonda_track *thread)
{
	*thread = sonda_track_make_(SONDA_TRACK_THREAD, NULL, 0, NULL);
	thread->tid = tid;
	return sonda_track_counter(THREAD_TIME, thread);
}

uint64_t thread_time_uuid(int32_t tid)
{
	struct sonda_track thread, t = thread_time_track(tid, &thread);

	return track_uuid(&t);
}

void thread_time_descriptor_write(struct pb_enc *e, int32_t tid, uint64_t unit_multiplier)
{
	pb_enc_open(e, PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	pb_enc_u64(e, PB_TRACK_DESCRIPTOR_UUID, thread_time_uuid(tid));
	pb_enc_u64(e, PB_TRACK_DESCRIPTOR_PARENT_UUID, thread_uuid(tid));
	pb_enc_open(e, PB_TRACK_DESCRIPTOR_COUNTER);
	pb_enc_u64(e, PB_COUNTER_DESCRIPTOR_TYPE, COUNTER_THREAD_TIME_NS);
	if (unit_multiplier > 1)
		pb_enc_u64(e, PB_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER, unit_multiplier);
	pb_enc_bool(e, PB_COUNTER_DESCRIPTOR_IS_INCREMENTAL, true);
	pb_enc_close(e);
	pb_enc_str(e, PB_TRACK_DESCRIPTOR_STATIC_NAME, THREAD_TIME);
	pb_enc_close(e);
}
