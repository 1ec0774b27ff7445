/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/machine/power_ds.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "procfs/machine/power_supply.h"
#include "base/event_loop/time_slice.h"

/*
 * A tick lists the folder, so that what comes and goes is seen, and begins a pass over it, in turns:
 *
 *	list ---> is it a battery? (each supply) ---> its values (each battery) ---> a packet
 *
 * Supplies stay known when they go: one that comes back is told by the name that it had.
 */

#define POLL_MS 1000
#define NAME_SIZE 256 /* NAME_MAX and a NUL */
/* Supplies known at a time; what is beyond them is not recorded, and told. */
#define SUPPLIES_MAX 64

struct supply {
	char name[NAME_SIZE];
	bool listed; /* in this pass */
	bool is_battery; /* in this pass */
	bool was_battery; /* ever: has_name is decided */
	bool has_name; /* in the trace */
	bool type_told;
	unsigned told; /* values whose trouble was told, bits by enum power_value */
};

enum step { STEP_NONE, STEP_TYPES, STEP_VALUES };

struct power_ds {
	struct ds_handle *h; /* borrowed, as is the folder's root */
	const char *sys_root;
	struct writer *writer; /* owned */
	struct event *tick; /* owned */
	struct event *turn; /* owned */
	struct strbuf text;
	struct supply supplies[SUPPLIES_MAX];
	unsigned n_supplies;
	unsigned n_batteries; /* ever seen */
	enum step step;
	unsigned at; /* the supply */
	enum power_value which; /* of it, comes next */
	struct power_values values;
	uint64_t began_ns; /* when the values of that supply were asked for */
	uint64_t unreadable; /* values */
	bool list_told;
	bool full_told;
};

static int dir_of(const struct power_ds *ds, const char *name, char *path, size_t size)
{
	int n = snprintf(path, size, "%s/class/power_supply%s%s", ds->sys_root, *name ? "/" : "",
			 name);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* ---- the list ---- */

static int take_name(void *ctx, const char *name, unsigned char d_type)
{
	struct power_ds *ds = ctx;
	struct supply *s;

	(void)d_type;
	for (unsigned i = 0; i < ds->n_supplies; i++) {
		if (strcmp(ds->supplies[i].name, name) == 0) {
			ds->supplies[i].listed = true;
			return 0;
		}
	}
	if (ds->n_supplies == SUPPLIES_MAX || strlen(name) >= NAME_SIZE) {
		if (!ds->full_told)
			log_warn("linux.sysfs_power: %s and what comes after it are left out: %d "
				 "supplies are known",
				 name, SUPPLIES_MAX);
		ds->full_told = true;
		return 0;
	}
	s = &ds->supplies[ds->n_supplies++];
	*s = (struct supply){.listed = true};
	strcpy(s->name, name);
	return 0;
}

static void begin_pass(struct power_ds *ds)
{
	char path[512];
	int r = dir_of(ds, "", path, sizeof(path));

	for (unsigned i = 0; i < ds->n_supplies; i++)
		ds->supplies[i].listed = ds->supplies[i].is_battery = false;
	if (r == 0)
		r = fs_each(path, take_name, ds);
	if (r < 0 && !ds->list_told)
		log_warn("linux.sysfs_power: %s: %s", path, strerror(-r));
	ds->list_told |= r < 0;
	ds->at = 0;
	ds->step = r < 0 ? STEP_NONE : STEP_TYPES;
}

/* ---- batteries ---- */

static void look_at_type(struct power_ds *ds, struct supply *s)
{
	char path[512];
	int r = dir_of(ds, s->name, path, sizeof(path));

	if (!s->listed)
		return;
	if (r == 0)
		r = power_supply_is_battery(path, &ds->text, &s->is_battery);
	/* -ENOENT: it went since it was listed. */
	if (r < 0 && r != -ENOENT && !s->type_told) {
		log_warn("linux.sysfs_power: %s/type: %s", s->name, strerror(-r));
		s->type_told = true;
	}
	if (s->is_battery && !s->was_battery)
		ds->n_batteries++;
}

/* A battery that was the only one stays without a name when others come: its tracks go on. */
static void decide_names(struct power_ds *ds)
{
	for (unsigned i = 0; i < ds->n_supplies; i++) {
		struct supply *s = &ds->supplies[i];

		if (!s->is_battery || s->was_battery)
			continue;
		s->was_battery = true;
		s->has_name = ds->n_batteries > 1;
	}
}

/* ---- values ---- */

static void write_values(struct power_ds *ds, const struct supply *s)
{
	struct pb_enc *e = writer_begin(ds->writer);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, ds->began_ns);
	pb_enc_open(e, PB_TRACE_PACKET_BATTERY);
	power_values_encode(e, &ds->values, s->has_name ? s->name : NULL);
	pb_enc_close(e);
	writer_end(ds->writer);
}

static void missed(struct power_ds *ds, struct supply *s, int r)
{
	ds->unreadable++;
	if (s->told & 1u << ds->which)
		return;
	s->told |= 1u << ds->which;
	log_warn("linux.sysfs_power: %s/%s: %s", s->name, power_value_file(ds->which),
		 fs_reason(-r));
}

static void read_value(struct power_ds *ds, struct supply *s)
{
	char path[512];
	int r = dir_of(ds, s->name, path, sizeof(path));

	if (ds->which == 0) {
		ds->values.has = 0;
		ds->began_ns = clock_boot_ns();
	}
	if (r == 0)
		r = power_supply_read(path, ds->which, &ds->text, &ds->values);
	if (r < 0 && r != -ENOENT)
		missed(ds, s, r);
	if (++ds->which < POWER_VALUES)
		return;
	if (ds->values.has)
		write_values(ds, s);
	ds->which = 0;
	ds->at++;
}

/* ---- turns ---- */

/* One file, more or less. */
static void do_step(struct power_ds *ds)
{
	if (ds->at == ds->n_supplies) {
		if (ds->step == STEP_TYPES)
			decide_names(ds);
		ds->step = ds->step == STEP_TYPES ? STEP_VALUES : STEP_NONE;
		ds->at = 0;
		ds->which = 0;
	} else if (ds->step == STEP_TYPES) {
		look_at_type(ds, &ds->supplies[ds->at++]);
	} else if (ds->supplies[ds->at].is_battery) {
		read_value(ds, &ds->supplies[ds->at]);
	} else {
		ds->at++;
	}
}

static void run_turn(struct power_ds *ds)
{
	static const struct timeval at_once;
	struct time_slice turn = time_slice_start(clock_mono_ns);

	while (ds->step != STEP_NONE && !time_slice_over(&turn))
		do_step(ds);
	if (ds->step != STEP_NONE)
		evtimer_add(ds->turn, &at_once);
}

static void on_turn(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	run_turn(ctx);
}

static void on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct power_ds *ds = ctx;
	uint32_t ms = clock_ms_to_tick(POLL_MS);
	const struct timeval next = {.tv_sec = ms / 1000, .tv_usec = (long)(ms % 1000) * 1000};

	(void)fd;
	(void)what;
	evtimer_add(ds->tick, &next);
	/* A pass that takes longer than the period leaves ticks out. */
	if (ds->step == STEP_NONE) {
		begin_pass(ds);
		run_turn(ds);
	}
}

/* ---- the data source ---- */

static void power_destroy(void *instance)
{
	struct power_ds *ds = instance;

	if (!ds)
		return;
	if (ds->tick)
		event_free(ds->tick);
	if (ds->turn)
		event_free(ds->turn);
	strbuf_deinit(&ds->text);
	writer_free(ds->writer);
	free(ds);
}

static void destroyp(struct power_ds **ds)
{
	power_destroy(*ds);
}

static int power_create(struct ds_handle *h, const struct ds_env *env,
			const Pb__DataSourceConfig *config, void **ret_instance)
{
	_cleanup_(destroyp) struct power_ds *ds = calloc(1, sizeof(*ds));

	(void)config;
	if (!ds)
		return -ENOMEM;
	ds->h = h;
	ds->sys_root = env->sys_root;
	ds->tick = evtimer_new(env->loop, on_tick, ds);
	ds->turn = evtimer_new(env->loop, on_turn, ds);
	ds->writer = ds_writer_new(h);
	if (!ds->tick || !ds->turn || !ds->writer)
		return -ENOMEM;
	*ret_instance = TAKE_PTR(ds);
	return 0;
}

static void power_start(void *instance)
{
	struct power_ds *ds = instance;

	on_tick(-1, 0, ds);
	ds_started(ds->h);
}

static void power_flush(void *instance, uint64_t flush_id)
{
	struct power_ds *ds = instance;

	writer_flush(ds->writer);
	ds_flushed(ds->h, flush_id);
}

static void power_stop(void *instance)
{
	struct power_ds *ds = instance;

	event_del(ds->tick);
	event_del(ds->turn);
	ds->step = STEP_NONE;
	if (ds->n_batteries == 0)
		log_info("linux.sysfs_power: no battery was seen");
	if (ds->unreadable)
		log_warn("linux.sysfs_power: %llu values could not be read",
			 (unsigned long long)ds->unreadable);
	writer_flush(ds->writer);
	ds_stopped(ds->h);
}

const struct data_source sysfs_power_data_source = {
	.name = "linux.sysfs_power",
	.capabilities = 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_SYS_NICE,
	.create = power_create,
	.start = power_start,
	.flush = power_flush,
	.stop = power_stop,
	.destroy = power_destroy,
};
