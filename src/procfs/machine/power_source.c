/* SPDX-License-Identifier: Apache-2.0 */
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "procfs/data_sources.h"

#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/time_slice.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/number_table.h"
#include "base/text/span.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"

/*
 * Reads one power supply, /sys/class/power_supply/NAME. Each file is a call of the driver, which
 * may query the hardware, so callers check their time slice after each. Format:
 * Documentation/ABI/testing/sysfs-class-power of the kernel; integers in micro units. Output:
 * protos/trace/power/battery_counters.proto.
 */

enum power_value {
	POWER_CHARGE,
	POWER_CAPACITY,
	POWER_CURRENT,
	POWER_CURRENT_AVG,
	POWER_ENERGY,
	POWER_VOLTAGE,
	POWER_POWER,
	POWER_VALUES
};

struct power_values {
	int64_t v[POWER_VALUES];
	unsigned has; /* bits by enum power_value */
};

/* A file of sysfs has at most one page. */
#define FILE_MAX 4096

static const struct {
	const char *file;
	const char *or_file; /* file that some drivers have instead */
	uint32_t field;
} power_values[POWER_VALUES] = {
	[POWER_CHARGE] = {"charge_now", "charge_counter", PB_BATTERY_COUNTERS_CHARGE_COUNTER_UAH},
	[POWER_CAPACITY] = {"capacity", NULL, PB_BATTERY_COUNTERS_CAPACITY_PERCENT},
	[POWER_CURRENT] = {"current_now", NULL, PB_BATTERY_COUNTERS_CURRENT_UA},
	[POWER_CURRENT_AVG] = {"current_avg", NULL, PB_BATTERY_COUNTERS_CURRENT_AVG_UA},
	[POWER_ENERGY] = {"energy_now", NULL, PB_BATTERY_COUNTERS_ENERGY_COUNTER_UWH},
	[POWER_VOLTAGE] = {"voltage_now", NULL, PB_BATTERY_COUNTERS_VOLTAGE_UV},
	[POWER_POWER] = {"power_now", NULL, PB_BATTERY_COUNTERS_POWER_UW},
};

/* Returns the name of the file, for messages. */
static const char *power_value_file(enum power_value which)
{
	return power_values[which].file;
}

static int power_source_read_text(const char *dir, const char *file, struct strbuf *text)
{
	char path[PATH_MAX];
	int r = fs_join(path, sizeof(path), dir, file);

	strbuf_clear(text);
	return r < 0 ? r : fs_read_file(path, FILE_MAX, text);
}

static int power_source_read_number(const char *dir, const char *file, struct strbuf *text,
				    int64_t *ret_v)
{
	int r = power_source_read_text(dir, file, text);
	struct span rest, number;

	if (r < 0)
		return r;
	rest = (struct span){text->s, text->len};
	return span_next_line(&rest, &number) && number_table_i64(&number, ret_v) &&
			       span_trim(number).len == 0
		       ? 0
		       : -EBADMSG;
}

/* Reads a value. dir: directory of the supply. text: a reusable buffer. Returns 0, -ENOENT if the
 * supply lacks the value, -EBADMSG if the text is not a number, or the error of the driver. */
static int power_supply_read(const char *dir, enum power_value which, struct strbuf *text,
			     struct power_values *values)
{
	int r = power_source_read_number(dir, power_values[which].file, text, &values->v[which]);

	if (r == -ENOENT && power_values[which].or_file)
		r = power_source_read_number(dir, power_values[which].or_file, text,
					     &values->v[which]);
	if (r == 0)
		values->has |= 1u << which;
	return r;
}

/* Sets *ret_battery: whether the supply stores energy (a battery, an uninterruptible supply) and is
 * present. A supply without the file "present" is present. Returns 0, or the -errno of the file
 * "type", which is -EBADMSG if it is empty. */
static int power_supply_detect_battery(const char *dir, struct strbuf *text, bool *ret_battery)
{
	struct span type, line;
	int64_t present = 1;
	int r = power_source_read_text(dir, "type", text);

	if (r < 0)
		return r;
	type = (struct span){text->s, text->len};
	if (!span_next_line(&type, &line))
		return -EBADMSG;
	line = span_trim(line);
	*ret_battery = span_is(line, "Battery") || span_is(line, "UPS");
	if (*ret_battery && power_source_read_number(dir, "present", text, &present) == 0)
		*ret_battery = present != 0;
	return 0;
}

static void put_float(struct pb_enc *e, uint32_t field, float v)
{
	uint32_t bits;

	_Static_assert(sizeof(bits) == sizeof(v), "a float of the format");
	memcpy(&bits, &v, sizeof(bits));
	pb_enc_fixed32(e, field, bits);
}

/* Writes the fields of BatteryCounters. name: NULL for none. */
static void power_values_encode(struct pb_enc *e, const struct power_values *values,
				const char *name)
{
	if (name)
		pb_enc_str(e, PB_BATTERY_COUNTERS_NAME, name);
	for (unsigned i = 0; i < POWER_VALUES; i++) {
		if (!(values->has & 1u << i))
			continue;
		if (i == POWER_CAPACITY)
			put_float(e, power_values[i].field, (float)values->v[i]);
		else
			pb_enc_i64(e, power_values[i].field, values->v[i]);
	}
}

/*
 * Each tick lists the directory and starts a pass over it, in time slices:
 *
 *	list ---> type (each supply) ---> values (each battery) ---> a packet
 *
 * Removed supplies stay in the table: a supply that comes back keeps its name.
 */

#define POLL_MS 1000
#define NAME_SIZE 256 /* NAME_MAX and a NUL */
/* Limit of supplies; further ones are skipped, which is logged. */
#define SUPPLIES_MAX 64

struct supply {
	char name[NAME_SIZE];
	bool listed; /* listed in this pass */
	bool is_battery; /* a battery in this pass */
	bool was_battery; /* a battery in any pass so far; has_name is decided */
	bool has_name; /* its values have its name in the trace */
	bool type_error_logged;
	unsigned logged; /* bits by enum power_value: values whose errors were logged */
};

enum step { STEP_NONE, STEP_TYPES, STEP_VALUES };

struct power_source {
	struct ds_handle *h; /* borrowed, as is the root */
	const char *sys_root;
	struct writer *writer; /* owned */
	struct event *tick; /* owned */
	struct event *next_slice; /* owned */
	struct strbuf text;
	struct supply supplies[SUPPLIES_MAX];
	unsigned n_supplies;
	unsigned n_batteries; /* ever seen */
	enum step step;
	unsigned at; /* index of the current supply */
	enum power_value which; /* value of that supply that is read next */
	struct power_values values;
	uint64_t began_ns; /* time of the values of that supply */
	uint64_t unreadable; /* values that could not be read */
	bool list_error_logged;
	bool limit_logged;
};

static int make_supply_path(const struct power_source *ds, const char *name, char *path,
			    size_t size)
{
	int n = snprintf(path, size, "%s/class/power_supply%s%s", ds->sys_root, *name ? "/" : "",
			 name);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* ---- the list ---- */

static int power_source_add_supply(void *ctx, const char *name, unsigned char d_type)
{
	struct power_source *ds = ctx;
	struct supply *s;

	for (unsigned i = 0; i < ds->n_supplies; i++) {
		if (strcmp(ds->supplies[i].name, name) == 0) {
			ds->supplies[i].listed = true;
			return 0;
		}
	}
	if (ds->n_supplies == SUPPLIES_MAX || strlen(name) >= NAME_SIZE) {
		if (!ds->limit_logged)
			log_warn("linux.sysfs_power: too many power supplies: '%s' and later ones "
				 "are skipped; the limit is %d",
				 name, SUPPLIES_MAX);
		ds->limit_logged = true;
		return 0;
	}
	s = &ds->supplies[ds->n_supplies++];
	*s = (struct supply){.listed = true};
	strcpy(s->name, name);
	return 0;
}

static void power_source_begin_pass(struct power_source *ds)
{
	char path[512];
	int r = make_supply_path(ds, "", path, sizeof(path));

	for (unsigned i = 0; i < ds->n_supplies; i++)
		ds->supplies[i].listed = ds->supplies[i].is_battery = false;
	if (r == 0)
		r = fs_each(path, power_source_add_supply, ds);
	if (r < 0 && !ds->list_error_logged)
		log_warn("linux.sysfs_power: %s: %s", path, strerror(-r));
	ds->list_error_logged |= r < 0;
	ds->at = 0;
	ds->step = r < 0 ? STEP_NONE : STEP_TYPES;
}

/* ---- batteries ---- */

static void read_supply_type(struct power_source *ds, struct supply *s)
{
	char path[512];
	int r = make_supply_path(ds, s->name, path, sizeof(path));

	if (!s->listed)
		return;
	if (r == 0)
		r = power_supply_detect_battery(path, &ds->text, &s->is_battery);
	/* -ENOENT: the supply was removed since the list. */
	if (r < 0 && r != -ENOENT && !s->type_error_logged) {
		log_warn("linux.sysfs_power: %s/type: %s", s->name, strerror(-r));
		s->type_error_logged = true;
	}
	if (s->is_battery && !s->was_battery)
		ds->n_batteries++;
}

/* Decides which new batteries have names: those that are not alone. A battery that was alone at
 * first stays without a name when others appear, so that its tracks continue. */
static void name_batteries(struct power_source *ds)
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

static void write_values(struct power_source *ds, const struct supply *s)
{
	struct pb_enc *e = writer_begin(ds->writer);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, ds->began_ns);
	pb_enc_open(e, PB_TRACE_PACKET_BATTERY);
	power_values_encode(e, &ds->values, s->has_name ? s->name : NULL);
	pb_enc_close(e);
	writer_end(ds->writer);
}

static void count_unreadable_supply(struct power_source *ds, struct supply *s, int r)
{
	ds->unreadable++;
	if (s->logged & 1u << ds->which)
		return;
	s->logged |= 1u << ds->which;
	log_warn("linux.sysfs_power: %s/%s: %s", s->name, power_value_file(ds->which),
		 fs_error_text(-r));
}

static void read_value(struct power_source *ds, struct supply *s)
{
	char path[512];
	int r = make_supply_path(ds, s->name, path, sizeof(path));

	if (ds->which == 0) {
		ds->values.has = 0;
		ds->began_ns = clock_boot_ns();
	}
	if (r == 0)
		r = power_supply_read(path, ds->which, &ds->text, &ds->values);
	if (r < 0 && r != -ENOENT)
		count_unreadable_supply(ds, s, r);
	if (++ds->which < POWER_VALUES)
		return;
	if (ds->values.has)
		write_values(ds, s);
	ds->which = 0;
	ds->at++;
}

/* ---- time slices ---- */

/* Does one step, which reads about one file. */
static void read_one_file_of_supply(struct power_source *ds)
{
	if (ds->at == ds->n_supplies) {
		if (ds->step == STEP_TYPES)
			name_batteries(ds);
		ds->step = ds->step == STEP_TYPES ? STEP_VALUES : STEP_NONE;
		ds->at = 0;
		ds->which = 0;
	} else if (ds->step == STEP_TYPES) {
		read_supply_type(ds, &ds->supplies[ds->at++]);
	} else if (ds->supplies[ds->at].is_battery) {
		read_value(ds, &ds->supplies[ds->at]);
	} else {
		ds->at++;
	}
}

static void power_source_run_slice(struct power_source *ds)
{
	struct time_slice slice = time_slice_start(clock_mono_ns);

	while (ds->step != STEP_NONE && !time_slice_over(&slice))
		read_one_file_of_supply(ds);
	if (ds->step != STEP_NONE)
		event_timer_us(ds->next_slice, 0);
}

static void power_source_on_slice(evutil_socket_t fd, short what, void *ctx)
{
	power_source_run_slice(ctx);
}

static void power_source_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct power_source *ds = ctx;

	event_timer_ms(ds->tick, clock_ms_to_tick(POLL_MS));
	/* If a pass takes longer than the period, ticks are skipped. */
	if (ds->step == STEP_NONE) {
		power_source_begin_pass(ds);
		power_source_run_slice(ds);
	}
}

/* ---- the data source ---- */

static void power_destroy(void *instance)
{
	struct power_source *ds = instance;

	if (!ds)
		return;
	event_freep(&ds->tick);
	event_freep(&ds->next_slice);
	strbuf_deinit(&ds->text);
	writer_free(ds->writer);
	free(ds);
}

DEFINE_DESTRUCTOR(struct power_source *, power_destroy)

static int power_create(struct ds_handle *h, const struct ds_env *env,
			const Pb__DataSourceConfig *config, void **ret_instance)
{
	_cleanup_(power_destroyp) struct power_source *ds = calloc(1, sizeof(*ds));

	if (!ds)
		return -ENOMEM;
	ds->h = h;
	ds->sys_root = env->sys_root;
	ds->tick = evtimer_new(env->loop, power_source_on_tick, ds);
	ds->next_slice = evtimer_new(env->loop, power_source_on_slice, ds);
	ds->writer = ds_writer_new(h);
	if (!ds->tick || !ds->next_slice || !ds->writer)
		return -ENOMEM;
	*ret_instance = TAKE_PTR(ds);
	return 0;
}

static void power_start(void *instance)
{
	struct power_source *ds = instance;

	power_source_on_tick(-1, 0, ds);
	ds_started(ds->h);
}

static void power_flush(void *instance, uint64_t flush_id)
{
	struct power_source *ds = instance;

	writer_flush(ds->writer);
	ds_flushed(ds->h, flush_id);
}

static void power_stop(void *instance)
{
	char count[STR_COUNT_SIZE];
	struct power_source *ds = instance;

	event_del(ds->tick);
	event_del(ds->next_slice);
	ds->step = STEP_NONE;
	if (ds->n_batteries == 0)
		log_info("linux.sysfs_power: no battery found");
	if (ds->unreadable)
		log_warn("linux.sysfs_power: cannot read %s",
			 str_count(ds->unreadable, "value", count));
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
