/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <inttypes.h>

#include "procfs/sys/sys_source.h"
#include "unit/fixture.h"
#include "unit/procfs/fake_proc.h"
#include "unit/procfs/fake_producer.h"

/*
 * Tables of linux.sys_stats without their loop: polls them, and prints the packets as text with one
 * line a value. The directory of the test is both /proc and /sys. Include it once in a test.
 */

static struct sys_packet poll_state;
static Pb__SysStatsConfig stats;
static char *said; /* the lines of the last rig_passes() */

/* Groups within the group of a file, as far as they were described. */
#define RIG_GROUPS 4096
static struct {
	uint64_t uuid;
	char name[32]; /* with a blank behind it */
} rig_groups[RIG_GROUPS];
static size_t rig_n_groups;
static uint64_t rig_later; /* ns that rig_pass_later() has added to the clock */

SETUP
{
	fake_reset();
	proc_new();
	pb__sys_stats_config__init(&stats);
	rig_n_groups = 0;
	rig_later = 0;
	poll_state = (struct sys_packet){
		.proc_root = proc_root,
		.sys_root = proc_root,
		.w = writer_new(NULL, 1, WRITER_DROP),
	};
	assert_int_equal(extra_counters_init(&poll_state.extras, "linux.sys_stats", poll_state.w),
			 0);
}

TEARDOWN
{
	sys_packet_deinit(&poll_state);
	assert(poll_state.fds == 0);
	writer_free(poll_state.w);
	free(said);
	said = NULL;
	fake_reset();
	proc_remove_all();
}

/* ---- a packet as lines ---- */

static inline void put_text(FILE *out, struct pb_field f)
{
	fwrite(f.data, 1, f.len, out);
}

/* The fields of a small message, in their order: " 1 2" or " name". */
static inline void put_fields(FILE *out, struct pb_field m, bool numbered)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, m.data, m.len);
	while (pb_dec_next(&d, &f)) {
		fputc(' ', out);
		if (f.data)
			put_text(out, f);
		else if (numbered)
			fprintf(out, "%u=%" PRIu64, f.id, f.u64);
		else
			fprintf(out, "%" PRIu64, f.u64);
	}
	assert(pb_dec_ok(&d));
}

static inline void put_disk(FILE *out, struct pb_field m)
{
	put_fields(out, m, true);
}

static inline void put_plain(FILE *out, struct pb_field m)
{
	put_fields(out, m, false);
}

static inline void put_idle(FILE *out, struct pb_field m)
{
	uint64_t cpu = fake_u64(m, PB_SYS_STATS_CPU_IDLE_STATE_CPU_ID);
	struct pb_field state;

	for (unsigned i = 0;
	     fake_field(m.data, m.len, PB_SYS_STATS_CPU_IDLE_STATE_CPUIDLE_STATE_ENTRY, i, &state);
	     i++) {
		fprintf(out, "idle %" PRIu64, cpu);
		put_plain(out, state);
		fputc('\n', out);
	}
}

static const struct {
	uint32_t id;
	const char *word;
	void (*put)(FILE *out, struct pb_field m);
} rig_words[] = {
	{PB_SYS_STATS_MEMINFO, "meminfo", put_plain},
	{PB_SYS_STATS_VMSTAT, "vmstat", put_plain},
	{PB_SYS_STATS_CPU_STAT, "cpu", put_plain},
	{PB_SYS_STATS_NUM_FORKS, "forks", NULL},
	{PB_SYS_STATS_NUM_IRQ_TOTAL, "irqs", NULL},
	{PB_SYS_STATS_NUM_IRQ, "irq", put_plain},
	{PB_SYS_STATS_NUM_SOFTIRQ_TOTAL, "softirqs", NULL},
	{PB_SYS_STATS_NUM_SOFTIRQ, "softirq", put_plain},
	{PB_SYS_STATS_DEVFREQ, "devfreq", put_plain},
	{PB_SYS_STATS_CPUFREQ_KHZ, "cpufreq", NULL},
	{PB_SYS_STATS_BUDDY_INFO, "buddy", put_plain},
	{PB_SYS_STATS_DISK_STAT, "disk", put_disk},
	{PB_SYS_STATS_PSI, "psi", put_plain},
	{PB_SYS_STATS_THERMAL_ZONE, "thermal", put_plain},
	{PB_SYS_STATS_GPUFREQ_MHZ, "gpu", NULL},
	{PB_SYS_STATS_SLAB_INFO, "slab", put_plain},
	{PB_SYS_STATS_READ_FAILURES, "failed", put_plain},
};

static inline void put_field(FILE *out, struct pb_field f, unsigned *cpufreq, unsigned *gpu)
{
	for (size_t i = 0; i < ARRAY_SIZE(rig_words); i++) {
		if (rig_words[i].id != f.id)
			continue;
		fputs(rig_words[i].word, out);
		if (rig_words[i].put)
			rig_words[i].put(out, f);
		else if (f.id == PB_SYS_STATS_CPUFREQ_KHZ)
			fprintf(out, " %u %" PRIu64, (*cpufreq)++, f.u64);
		else if (f.id == PB_SYS_STATS_GPUFREQ_MHZ)
			fprintf(out, " %u %" PRIu64, (*gpu)++, f.u64);
		else
			fprintf(out, " %" PRIu64, f.u64);
		fputc('\n', out);
	}
}

/* The SysStats of the n-th packet; what else is in it is not looked at. */
static inline void put_packet(FILE *out, size_t n)
{
	struct pb_field s, f;
	struct pb_dec d;
	unsigned cpufreq = 0, gpu = 0;

	if (!fake_field(fake.packets[n].data, fake.packets[n].len, PB_TRACE_PACKET_SYS_STATS, 0,
			&s))
		return;
	assert(s.len > 0 && fake_has(fake_packet_field(n), PB_TRACE_PACKET_TIMESTAMP));
	assert(fake_u64(s, PB_SYS_STATS_COLLECTION_END_TIMESTAMP) >=
	       fake_u64(fake_packet_field(n), PB_TRACE_PACKET_TIMESTAMP));
	pb_dec_init(&d, s.data, s.len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_SYS_STATS_CPUIDLE_STATE)
			put_idle(out, f);
		else
			put_field(out, f, &cpufreq, &gpu);
	}
	assert(pb_dec_ok(&d));
}

static inline void rig_learn_groups(size_t packet)
{
	struct pb_field d, name;

	for (; packet < fake.n; packet++) {
		struct pb_field p = fake_packet_field(packet);

		if (!fake_field(p.data, p.len, PB_TRACE_PACKET_TRACK_DESCRIPTOR, 0, &d) ||
		    fake_has(d, PB_TRACK_DESCRIPTOR_COUNTER) ||
		    !fake_has(d, PB_TRACK_DESCRIPTOR_PARENT_UUID) ||
		    !fake_field(d.data, d.len, PB_TRACK_DESCRIPTOR_NAME, 0, &name))
			continue;
		assert(rig_n_groups < RIG_GROUPS);
		rig_groups[rig_n_groups].uuid = fake_u64(d, PB_TRACK_DESCRIPTOR_UUID);
		snprintf(rig_groups[rig_n_groups++].name, sizeof(rig_groups[0].name), "%.*s ",
			 (int)name.len, (const char *)name.data);
	}
}

static inline const char *rig_group(uint64_t uuid)
{
	for (size_t i = 0; i < rig_n_groups; i++)
		if (rig_groups[i].uuid == uuid)
			return rig_groups[i].name;
	return "";
}

/* What was set since the last time, with the name of its file, and of its group in that. */
static inline void rig_end_pass(FILE *out, struct extra_counters *x, const char *file)
{
	uint32_t *set = calloc(x->n_fresh + 1, sizeof(*set));
	size_t n = x->n_fresh, packet = fake.n;

	for (size_t i = 0; i < n; i++)
		set[i] = x->fresh[i];
	sys_packet_end(&poll_state);
	rig_learn_groups(packet);
	for (size_t i = 0; i < n; i++) {
		const struct extra_counter *extra = &x->all[set[i]];

		fprintf(out, "extra %s %s%s ", file,
			rig_group(tracks_get_uuid(x->tracks, extra->group)), extra->name);
		if (extra->is_double)
			fprintf(out, "%g\n", extra->fraction);
		else
			fprintf(out, "%" PRId64 "\n", extra->value);
	}
	free(set);
}

/* ---- polling ---- */

/* Passes of one source over what it finds, and the lines of all that they wrote. */
static inline void rig_passes(const struct sys_source *source, void *state, unsigned passes)
{
	size_t len;
	FILE *out;

	free(said);
	said = NULL;
	out = open_memstream(&said, &len);
	fake_reset_packets();
	while (passes-- > 0) {
		sys_packet_begin(&poll_state);
		while (sys_source_step(state, &poll_state))
			;
		rig_end_pass(out, &poll_state.extras, source->name);
	}
	for (size_t i = 0; i < fake.n; i++)
		put_packet(out, i);
	fclose(out);
}

/* Two passes, each at least ten seconds after the one before, whose lines are dropped: the first
 * one may detect what is gone, the second what is new. */
static inline void rig_pass_later(const struct sys_source *source, void *state)
{
	for (int i = 0; i < 2; i++) {
		sys_packet_begin(&poll_state);
		rig_later += 11 * NS_PER_S;
		poll_state.now += rig_later;
		while (sys_source_step(state, &poll_state))
			;
		poll_state.extras.n_fresh = 0;
		sys_packet_end(&poll_state);
	}
}

static inline void *rig_open(const struct sys_source *source)
{
	struct sys_state *state = NULL;

	if (sys_source_open(source, &poll_state, &stats, &state) < 0)
		abort();
	return state;
}

static inline void rig_close(const struct sys_source *source, void *state)
{
	sys_source_close(state, &poll_state);
	poll_state.errors = NULL;
}

/* One poll by a source that is opened and closed for it. */
static inline void rig_poll(const struct sys_source *source)
{
	void *state = rig_open(source);

	rig_passes(source, state, 1);
	rig_close(source, state);
}

static inline bool rig_has(const char *line)
{
	size_t n = strlen(line);

	for (const char *p = said; (p = strstr(p, line)); p++)
		if ((p == said || p[-1] == '\n') && p[n] == '\n')
			return true;
	return false;
}

static inline unsigned rig_lines(void)
{
	unsigned n = 0;

	for (const char *p = said; (p = strchr(p, '\n')); p++)
		n++;
	return n;
}

/* Compares all lines. A read failure is "failed TABLE", without its path, error and count. */
static inline void rig_expect(const char *want, const char *file, int line)
{
	char *text = strdup(said), *to = text;

	for (const char *p = said; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		size_t len = strcspn(p, "\n");

		if (strncmp(p, "failed ", 7) == 0)
			len = 7 + strcspn(p + 7, " \n");
		memcpy(to, p, len);
		to += len;
		*to++ = '\n';
	}
	*to = '\0';
	_assert_string_equal(text, want, file, line);
	free(text);
}

#define assert_said(want) rig_expect(want, __FILE__, __LINE__)

/* One poll of the table has these lines. */
#define assert_poll(source, want)                                                                  \
	do {                                                                                       \
		rig_poll(source);                                                                  \
		rig_expect(want, __FILE__, __LINE__);                                              \
	} while (0)

static inline void rig_file(const char *path, const char *text)
{
	proc_put(text, strlen(text), "%s", path);
}
