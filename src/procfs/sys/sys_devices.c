/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/text/number_table.h"
#include "gen/fields.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_packet.h"
#include "procfs/sys/sys_source.h"

/*
 * /sys/class/thermal and /sys/class/devfreq: a directory for each device, with one value that is
 * read in each poll. Devices come and go with modules and hotplug, so the directory is listed every
 * ten seconds; the table is rebuilt only if the names have changed.
 */

struct device {
	struct sys_file file;
	char *type; /* owned; of a thermal zone */
	uint32_t extra; /* extra counter of the temperature, which is signed */
};

struct sys_devices {
	struct sys_state base;
	const struct kind *kind;
	char *dir; /* owned */
	struct sys_names names;
	struct device *devices; /* owned; one for each name */
	uint64_t list_again; /* CLOCK_MONOTONIC */
	uint32_t group; /* group of the extra counters */
	size_t next; /* next device of this pass */
};

/* The differences between the classes. */
struct kind {
	const char *name;
	const char *class; /* below /sys/class */
	const char *prefix;
	const char *value; /* file in the directory of the device */
	const char *type; /* a file that is read once, or NULL */
	int (*parse)(void *state, struct sys_packet *p, struct span text);
};

/* ---- the values ---- */

static int devfreq_parse(void *state, struct sys_packet *p, struct span text)
{
	const struct sys_devices *s = state;
	struct pb_enc *e;
	uint64_t v;

	if (!number_table_u64(&text, &v))
		return -EBADMSG;
	e = sys_packet_open(p);
	pb_enc_open(e, PB_SYS_STATS_DEVFREQ);
	pb_enc_str(e, PB_SYS_STATS_DEVFREQ_VALUE_KEY, s->names.names[s->next]);
	pb_enc_u64(e, PB_SYS_STATS_DEVFREQ_VALUE_VALUE, v);
	pb_enc_close(e);
	return 0;
}

/* The field of SysStats has whole degrees and no sign: values below zero are in the counter track
 * only, which has every zone in thousandths. */
static int thermal_parse(void *state, struct sys_packet *p, struct span text)
{
	const struct sys_devices *s = state;
	const struct device *d = &s->devices[s->next];
	struct pb_enc *e;
	int64_t v;

	if (!number_table_i64(&text, &v))
		return -EBADMSG;
	extra_counters_set(&p->extras, d->extra, v);
	if (v < 0)
		return 0;
	e = sys_packet_open(p);
	pb_enc_open(e, PB_SYS_STATS_THERMAL_ZONE);
	pb_enc_str(e, PB_SYS_STATS_THERMAL_ZONE_NAME, s->names.names[s->next]);
	pb_enc_u64(e, PB_SYS_STATS_THERMAL_ZONE_TEMP, (uint64_t)v / 1000);
	pb_enc_str(e, PB_SYS_STATS_THERMAL_ZONE_TYPE, d->type);
	pb_enc_close(e);
	return 0;
}

/* ---- the list of devices ---- */

static void sys_devices_free(struct sys_devices *s, struct sys_packet *p)
{
	for (size_t i = 0; s->devices && i < s->names.n; i++) {
		sys_file_deinit(&s->devices[i].file, p);
		free(s->devices[i].type);
	}
	free(s->devices);
	s->devices = NULL;
	sys_names_deinit(&s->names);
}

/* Several zones may have one type, so their counters have the name of the zone too. */
static void add_zone_counter(struct sys_devices *s, struct sys_packet *p, struct device *d,
			     const char *name)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "%s (%s)", d->type, name);

	d->extra = extra_counters_find_or_add(
		&p->extras, s->group, (struct span){text, (size_t)MIN(n, (int)sizeof(text) - 1)},
		&(struct track_spec){.unit_name = "m°C"});
}

static int open_device(struct sys_devices *s, struct sys_packet *p, size_t i)
{
	const char *name = s->names.names[i];
	struct device *d = &s->devices[i];
	struct strbuf type = {0};
	int r = sys_file_init(&d->file, true, s->dir, "%s/%s", name, s->kind->value);

	if (r < 0 || !s->kind->type)
		return r;
	if (sys_file_read_once(&type, s->dir, "%s/%s", name, s->kind->type) < 0)
		strbuf_puts(&type, name);
	d->type = strbuf_take(&type);
	strbuf_deinit(&type);
	if (!d->type)
		return -ENOMEM;
	add_zone_counter(s, p, d, name);
	return 0;
}

static int open_devices(struct sys_devices *s, struct sys_packet *p)
{
	s->devices = calloc(s->names.n + 1, sizeof(*s->devices));
	if (!s->devices)
		return -ENOMEM;
	for (size_t i = 0; i < s->names.n; i++) {
		int r = open_device(s, p, i);

		if (r < 0)
			return r;
	}
	return 0;
}

static void list_devices(struct sys_devices *s, struct sys_packet *p)
{
	struct sys_names now;
	int r = sys_names_read(&now, s->dir, s->kind->prefix, false);

	s->list_again = p->now + SYS_FILE_RETRY_NS;
	if (r == 0 && now.n > 0 && sys_names_equal(&now, &s->names)) {
		sys_names_deinit(&now);
		return;
	}
	sys_devices_free(s, p);
	if (r == 0) {
		s->names = now;
		r = now.n > 0 ? open_devices(s, p) : -ENOENT;
	}
	if (r == 0)
		return;
	sys_packet_count_error(p, &s->base.errors, s->dir, -r);
	sys_devices_free(s, p);
}

/* ---- the source ---- */

static void devices_close(void *state, struct sys_packet *p)
{
	struct sys_devices *s = state;

	sys_devices_free(s, p);
	free(s->dir);
}

static int open_device_class(struct sys_devices *s, struct sys_packet *p, const struct kind *kind)
{
	s->kind = kind;
	if (asprintf(&s->dir, "%s/class/%s", p->sys_root, kind->class) < 0) {
		s->dir = NULL;
		return -ENOMEM;
	}
	s->group = kind->type ? extra_counters_add_group(&p->extras, kind->name) : TRACK_VOID;
	return 0;
}

/* Serves one device a step, because a sensor may be slow. */
static bool devices_step(void *state, struct sys_packet *p)
{
	struct sys_devices *s = state;

	if (s->next == 0 && p->now >= s->list_again)
		list_devices(s, p);
	if (s->next < s->names.n)
		sys_file_poll(&s->devices[s->next].file, p, &s->base.errors, s->kind->parse, s);
	s->next = s->next + 1 < s->names.n ? s->next + 1 : 0;
	return s->next > 0;
}

static const struct kind thermal = {
	.name = "thermal",
	.class = "thermal",
	.prefix = "thermal_zone",
	.value = "temp",
	.type = "type",
	.parse = thermal_parse,
};

static const struct kind devfreq = {
	.name = "devfreq",
	.class = "devfreq",
	.prefix = "",
	.value = "cur_freq",
	.parse = devfreq_parse,
};

static int thermal_open(void *state, struct sys_packet *p, const Pb__SysStatsConfig *c)
{
	return open_device_class(state, p, &thermal);
}

static int devfreq_open(void *state, struct sys_packet *p, const Pb__SysStatsConfig *c)
{
	return open_device_class(state, p, &devfreq);
}

const struct sys_source sys_thermal = {
	.name = "thermal",
	.period = offsetof(Pb__SysStatsConfig, thermal_period_ms),
	.size = sizeof(struct sys_devices),
	.open = thermal_open,
	.step = devices_step,
	.close = devices_close,
};

const struct sys_source sys_devfreq = {
	.name = "devfreq",
	.period = offsetof(Pb__SysStatsConfig, devfreq_period_ms),
	.size = sizeof(struct sys_devices),
	.open = devfreq_open,
	.step = devices_step,
	.close = devices_close,
};

/*
 * The frequency of each GPU, recorded in MHz, if its driver reports it: Adreno (kgsl) in Hz, Intel
 * in MHz, AMD as the marked line of a table, "1: 700Mhz *". The field has no GPU id, only an order:
 * Adreno first, then the cards. If a poll finds no file, it searches again every ten seconds.
 */

#define CARDS 16
#define GPUS_MAX (1 + CARDS)

enum gpu_format { GPU_HZ, GPU_MHZ, GPU_TABLE };

struct gpu {
	struct sys_file file;
	enum gpu_format format;
};

struct sys_gpufreq {
	struct sys_state base;
	struct gpu gpus[GPUS_MAX];
	unsigned n;
	unsigned next; /* next GPU of this pass */
	uint64_t mhz[GPUS_MAX]; /* frequencies of this pass */
	bool any; /* a value was read in this pass */
	uint64_t list_again; /* CLOCK_MONOTONIC */
};

/* Parses the current frequency, which is in the line that ends with a star. */
static int parse_current_frequency(struct span text, uint64_t *ret_mhz)
{
	struct span line, index;
	size_t digits = 0;

	while (span_next_line(&text, &line)) {
		line = span_trim(line);
		if (!span_ends(line, "*") || !span_next_word(&line, &index))
			continue;
		line = span_trim(line);
		while (digits < line.len && line.p[digits] >= '0' && line.p[digits] <= '9')
			digits++;
		line.len = digits;
		return number_table_u64(&line, ret_mhz) ? 0 : -EBADMSG;
	}
	return -EBADMSG;
}

static int gpufreq_parse(void *state, struct sys_packet *p, struct span text)
{
	struct sys_gpufreq *s = state;
	uint64_t *mhz = &s->mhz[s->next];

	int r = 0;

	if (s->gpus[s->next].format == GPU_TABLE)
		r = parse_current_frequency(text, mhz);
	else if (!number_table_u64(&text, mhz))
		r = -EBADMSG;
	else if (s->gpus[s->next].format == GPU_HZ)
		*mhz /= 1000000;
	s->any = s->any || r == 0;
	return r;
}

/* ---- the list of GPUs ---- */

/* Adds a GPU with this file. Returns false if the file does not exist, or there is no memory. */
static bool try_frequency_file(struct sys_gpufreq *s, struct sys_packet *p, enum gpu_format format,
			       const char *name)
{
	struct gpu *gpu = &s->gpus[s->n];

	if (sys_file_init(&gpu->file, true, p->sys_root, "%s", name) < 0)
		return false;
	if (access(gpu->file.path, F_OK) != 0) {
		sys_file_deinit(&gpu->file, p);
		return false;
	}
	gpu->format = format;
	s->n++;
	return true;
}

static void sys_gpufreq_close_all(struct sys_gpufreq *s, struct sys_packet *p)
{
	for (unsigned i = 0; i < s->n; i++)
		sys_file_deinit(&s->gpus[i].file, p);
	s->n = 0;
}

static void list_gpus(struct sys_gpufreq *s, struct sys_packet *p)
{
	char name[96];

	s->list_again = p->now + SYS_FILE_RETRY_NS;
	try_frequency_file(s, p, GPU_HZ, "class/kgsl/kgsl-3d0/devfreq/cur_freq");
	for (unsigned card = 0; card < CARDS; card++) {
		snprintf(name, sizeof(name), "class/drm/card%u/gt_act_freq_mhz", card);
		if (try_frequency_file(s, p, GPU_MHZ, name))
			continue;
		snprintf(name, sizeof(name), "class/drm/card%u/device/pp_dpm_sclk", card);
		try_frequency_file(s, p, GPU_TABLE, name);
	}
	if (s->n > 0)
		return;
	snprintf(name, sizeof(name), "%.48s/class/drm/card*/gt_act_freq_mhz", p->sys_root);
	sys_packet_count_error(p, &s->base.errors, name, ENOENT);
}

/* ---- the source ---- */

static void sys_gpufreq_write_all(struct sys_gpufreq *s, struct sys_packet *p)
{
	struct pb_enc *e;

	if (!s->any) {
		/* All GPUs were removed; others may appear. */
		sys_gpufreq_close_all(s, p);
		return;
	}
	e = sys_packet_open(p);
	for (unsigned i = 0; i < s->n; i++)
		pb_enc_u64(e, PB_SYS_STATS_GPUFREQ_MHZ, s->mhz[i]);
	s->any = false;
}

static bool gpufreq_step(void *state, struct sys_packet *p)
{
	struct sys_gpufreq *s = state;

	if (s->n == 0 && p->now >= s->list_again)
		list_gpus(s, p);
	if (s->n == 0)
		return false;
	s->mhz[s->next] = 0;
	sys_file_poll(&s->gpus[s->next].file, p, &s->base.errors, gpufreq_parse, s);
	s->next = (s->next + 1) % s->n;
	if (s->next > 0)
		return true;
	sys_gpufreq_write_all(s, p);
	return false;
}

static void gpufreq_close(void *state, struct sys_packet *p)
{
	sys_gpufreq_close_all(state, p);
}

const struct sys_source sys_gpufreq = {
	.name = "gpufreq",
	.period = offsetof(Pb__SysStatsConfig, gpufreq_period_ms),
	.size = sizeof(struct sys_gpufreq),
	.step = gpufreq_step,
	.close = gpufreq_close,
};
