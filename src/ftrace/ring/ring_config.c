/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/ring/ring_config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "config/limits.h"

/*
 * The kernel reallocates a ring when the size of its sub-buffers changes. So that size is set
 * first, while the ring is small:
 *
 *	buffer_subbuf_size_kb  32       |    32K    |    32K    |    32K    | ...
 *	buffer_size_kb         2048     |<----------- 64 of them -----------------> + one to read
 *
 * A sub-buffer of several pages needs contiguous memory, which may be short when memory is not.
 * Then smaller sub-buffers allow the same ring.
 */

static uint32_t get_page_kb(void)
{
	return (uint32_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* Returns the KiB of a sub-buffer for rings of buffer_kb: a power of two, at least `page`, the KiB
 * of a page of the machine. watermark: drain_buffer_percent; 0: none. */
static uint32_t choose_subbuf_kb(uint32_t buffer_kb, uint32_t watermark, uint32_t page)
{
	/* The kernel counts the sub-buffer being written as full. If the watermark were less than
	 * two sub-buffers, any record would reach it. */
	uint32_t pieces = watermark ? MAX(RING_MIN_SUBBUFS, 200 / watermark + 1) : RING_MIN_SUBBUFS;
	uint32_t kb = RING_SUBBUF_KB;

	while (kb > page && (uint64_t)kb * pieces > buffer_kb)
		kb /= 2;
	return MAX(kb, page);
}

static int write_kb_file(const struct instance *i, const char *file, uint32_t kb)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", kb);
	return instance_write(i, file, text);
}

/* Sets sub-buffers of kb or, if memory is short, smaller ones. Returns 0 or -errno. */
static int set_subbuf_size(const struct instance *i, uint32_t kb)
{
	int r;

	do {
		r = write_kb_file(i, "buffer_subbuf_size_kb", kb);
		kb /= 2;
	} while (r == -ENOMEM && kb >= get_page_kb());
	return r;
}

static void report_subbufs(uint32_t requested, uint32_t kb, int r, struct setup_errors *errors)
{
	if (!requested || requested == kb)
		return;
	if (r == -ENOENT)
		setup_error_add(errors, "option:subbuf_size_kb (the kernel supports only %u)", kb);
	else if (r)
		setup_error_add(errors, "option:subbuf_size_kb (%u: %s; using %u KiB)", requested,
				strerror(-r), kb);
	else
		setup_error_add(errors, "option:subbuf_size_kb (%u: the kernel uses %u)", requested,
				kb);
}

/* Returns the KiB of a CPU's ring by which the rings are resized at a time. While the kernel
 * allocates or frees the memory of one step, no process can open a file of any instance. */
static uint32_t ring_step_kb(void)
{
	return MAX(RING_STEP_KB / (uint32_t)sysconf(_SC_NPROCESSORS_CONF), RING_SMALL_KB);
}

static int grow_ring_to(const struct instance *i, uint32_t kb)
{
	uint32_t step = ring_step_kb();
	int r = 0;

	for (uint32_t at = instance_ring_kb(i); !r && at && at < kb && kb - at > step; at += step) {
		r = write_kb_file(i, "buffer_size_kb", at + step);
		r = r ? r : coroutine_yield();
	}
	return r ? r : write_kb_file(i, "buffer_size_kb", kb);
}

void ring_size_shrink(const struct instance *i)
{
	uint32_t step = ring_step_kb(), kb;

	if (!instance_has_changed(i, "buffer_size_kb"))
		return;
	for (kb = instance_ring_kb(i); kb > step; kb -= step) {
		if (write_kb_file(i, "buffer_size_kb", kb - step))
			return;
		coroutine_yield();
	}
	if (!instance_is_own(i) && kb > RING_SMALL_KB)
		write_kb_file(i, "buffer_size_kb", RING_SMALL_KB);
}

uint32_t ring_size_set(const struct instance *i, const struct ftrace_settings *s,
		       struct setup_errors *errors)
{
	int r, subbuf_r = s->subbuf_size_kb ? set_subbuf_size(i, s->subbuf_size_kb) : -EINVAL;
	uint32_t kb = s->buffer_size_kb, subbuf_kb;

	/* The chosen size, if the config sets none or one that the kernel does not have. */
	if (subbuf_r == -EINVAL)
		set_subbuf_size(i, choose_subbuf_kb(kb, s->watermark, get_page_kb()));
	subbuf_kb = instance_subbuf_kb(i);
	while ((r = grow_ring_to(i, kb)) == -ENOMEM) {
		if (subbuf_kb > get_page_kb() && !set_subbuf_size(i, subbuf_kb / 2))
			subbuf_kb /= 2;
		else if (kb / 2 >= get_page_kb())
			kb /= 2;
		else
			break;
	}
	report_subbufs(s->subbuf_size_kb, instance_subbuf_kb(i), subbuf_r, errors);
	if (r)
		setup_error_add(errors, "option:buffer_size_kb (%u: %s)", s->buffer_size_kb,
				strerror(-r));
	else if (kb < s->buffer_size_kb)
		setup_error_add(errors, "option:buffer_size_kb (%u: no memory; using %u KiB)",
				s->buffer_size_kb, kb);
	return r ? instance_ring_kb(i) : kb;
}

/*
 * The kernel counts whole sub-buffers, and counts the one being written as full:
 *
 *	|####|####|##..|....|....|....|....|....|     2 + 1 of 8: 37 percent is reached, 38 is not
 *
 * With 8 sub-buffers, a watermark of 12 percent would be reached by an empty ring.
 */

/* Returns the percentage to write for a ring of that many sub-buffers: percent, but at least that
 * of two sub-buffers. A result above 100 means that the ring has too few sub-buffers. */
static uint32_t raise_watermark(uint32_t percent, uint32_t subbufs)
{
	uint32_t least = subbufs ? 200 / subbufs + 1 : UINT32_MAX;

	return MAX(percent, least);
}

/* Makes the listener use the watermark. Returns NULL, or the reason why that is unsupported. */
static const char *start_watching(const struct instance *i, uint32_t percent,
				  struct ring_listener *l)
{
	struct utsname kernel;
	char text[16];
	int r;

	if (i->keeps_ring)
		return "the rings must stay unchanged";
	if (percent > 100)
		return "the rings have too few sub-buffers";
	if (uname(&kernel) || !str_is_release_from(kernel.release, 6, 9))
		return "requires Linux 6.9 or later";
	snprintf(text, sizeof(text), "%u", percent);
	r = instance_write(i, "buffer_percent", text);
	if (!r)
		r = ring_prepare_watch(l);
	if (r)
		return r == -EOPNOTSUPP ? "poll() ignores buffer_percent on this kernel"
					: strerror(-r);
	l->watch = true;
	return NULL;
}

/* Sets the watermark that the config requests, and reports any deviation. Returns NULL, or why the
 * timer is used instead. */
static const char *set_requested_watermark(const struct instance *i, uint32_t requested,
					   uint32_t subbufs, struct ring_listener *l,
					   struct setup_errors *errors)
{
	uint32_t percent = raise_watermark(requested, subbufs);
	const char *why = requested > 100 ? "more than 100" : start_watching(i, percent, l);

	if (why)
		setup_error_add(errors,
				"option:drain_buffer_percent (%u: %s; the rings are read "
				"periodically)",
				requested, why);
	else if (percent != requested)
		setup_error_add(errors,
				"option:drain_buffer_percent (%u: the ring has few sub-buffers; "
				"using %u)",
				requested, percent);
	return why;
}

void ring_config_set_watermark(const struct instance *i, const struct ftrace_settings *s,
			       struct ring_listener *l, struct setup_errors *errors)
{
	uint32_t subbufs = instance_ring_kb(i) / instance_subbuf_kb(i);
	const char *why = NULL;

	if (s->watermark)
		why = set_requested_watermark(i, s->watermark, subbufs, l, errors);
	else if (!s->period_is_set)
		why = start_watching(i, raise_watermark(WATERMARK_PRESET, subbufs), l);
	if (!why && !s->period_is_set)
		l->period_ms = WATERMARK_DRAIN_PERIOD_MS;
}

/* The shares of all sessions of this process. */
static LIST_HEAD(, ring_share) ring_shares = LIST_HEAD_INITIALIZER(ring_shares);

enum ring_limit { RING_LIMIT_ALL, RING_LIMIT_OTHERS, RING_LIMIT_USER, RING_LIMITS };

static const struct {
	unsigned sixteenths; /* share of the memory */
	const char *whose;
} ring_limits[RING_LIMITS] = {
	[RING_LIMIT_ALL] = {4, "all recordings"},
	[RING_LIMIT_OTHERS] = {3, "users other than root"},
	[RING_LIMIT_USER] = {2, "a user other than root"},
};

static bool ring_limit_applies(enum ring_limit limit, uint32_t of, uint32_t uid)
{
	return limit == RING_LIMIT_ALL || (of != 0 && (limit == RING_LIMIT_OTHERS || of == uid));
}

/* Returns the bytes that the limit leaves for one more session of the user. */
static uint64_t ring_limit_bytes_left(enum ring_limit limit, uint32_t uid, uint64_t ram)
{
	uint64_t most = ram / 16 * ring_limits[limit].sixteenths, used = 0;
	const struct ring_share *s;

	if (!ring_limit_applies(limit, uid, uid))
		return UINT64_MAX;
	LIST_FOREACH (s, &ring_shares, link)
		if (ring_limit_applies(limit, s->uid, uid))
			used += s->bytes;
	return most - MIN(used, most);
}

void ring_share_reserve(struct ring_share *s, uint32_t uid, const struct ftrace_machine *machine,
			uint32_t *kb, struct setup_errors *errors)
{
	uint64_t cpus = MAX(machine->cpus, 1u), least = UINT64_MAX, most;
	enum ring_limit tightest = RING_LIMIT_ALL;

	for (enum ring_limit i = 0; i < RING_LIMITS; i++) {
		uint64_t left = ring_limit_bytes_left(i, uid, machine->ram_bytes);

		if (left < least) {
			least = left;
			tightest = i;
		}
	}
	most = MAX(least / 1024 / cpus, RING_SHARE_LEAST_KB);
	if (*kb > most) {
		setup_error_add(errors,
				"option:buffer_size_kb (%u: the rings of %s may use %u/16 of the "
				"machine's memory; using %u KiB)",
				*kb, ring_limits[tightest].whose, ring_limits[tightest].sixteenths,
				(uint32_t)most);
		*kb = (uint32_t)most;
	}
	s->uid = uid;
	s->bytes = cpus * *kb * 1024;
	LIST_INSERT_HEAD(&ring_shares, s, link);
}

void ring_share_release(struct ring_share *s)
{
	if (!s->bytes)
		return;
	LIST_REMOVE(s, link);
	s->bytes = 0;
}
