/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/samples/perf_config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"

/* ---- the event ---- */

#define COUNTER(name) PB__PERF_EVENTS__COUNTER__##name

static const struct {
	Pb__PerfEvents__Counter counter;
	uint32_t type;
	uint64_t config;
} counters[] = {
	{COUNTER(SW_CPU_CLOCK), PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
	{COUNTER(SW_PAGE_FAULTS), PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{COUNTER(SW_TASK_CLOCK), PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
	{COUNTER(SW_CONTEXT_SWITCHES), PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
	{COUNTER(SW_CPU_MIGRATIONS), PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
	{COUNTER(SW_PAGE_FAULTS_MIN), PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{COUNTER(SW_PAGE_FAULTS_MAJ), PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{COUNTER(SW_ALIGNMENT_FAULTS), PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
	{COUNTER(SW_EMULATION_FAULTS), PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
	{COUNTER(SW_DUMMY), PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY},
	{COUNTER(HW_CPU_CYCLES), PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{COUNTER(HW_INSTRUCTIONS), PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	{COUNTER(HW_CACHE_REFERENCES), PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
	{COUNTER(HW_CACHE_MISSES), PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
	{COUNTER(HW_BRANCH_INSTRUCTIONS), PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{COUNTER(HW_BRANCH_MISSES), PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
	{COUNTER(HW_BUS_CYCLES), PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
	{COUNTER(HW_STALLED_CYCLES_FRONTEND), PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
	{COUNTER(HW_STALLED_CYCLES_BACKEND), PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
	{COUNTER(HW_REF_CPU_CYCLES), PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
};

static int set_counter(struct perf_event_attr *attr, const char *field,
		       Pb__PerfEvents__Counter counter, struct err_text *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		if (counters[i].counter == counter) {
			attr->type = counters[i].type;
			attr->config = counters[i].config;
			return 0;
		}
	return err_set(e, -EINVAL, "%s.counter: unknown counter %d", field, (int)counter);
}

/* Reads a file with a decimal number. */
static int perf_config_read_number(const char *path, uint64_t *ret)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	int r = fs_read_file(path, 32, &text);

	if (r < 0)
		return r;
	while (text.len && text.s[text.len - 1] == '\n')
		text.s[--text.len] = '\0';
	return text.len ? str_to_u64(text.s, ret) : -EBADMSG;
}

static int set_tracepoint(struct perf_event_attr *attr, const char *field,
			  const Pb__PerfEvents__Tracepoint *t, const char *tracefs,
			  struct err_text *e)
{
	const char *name = t->name ? t->name : "";
	const char *colon = name + strcspn(name, ":/");
	char path[512];
	int r;

	if (!*colon || colon == name || !colon[1] || strpbrk(colon + 1, ":/") ||
	    str_starts(name, "."))
		return err_set(e, -EINVAL, "%s.tracepoint.name: '%s' is not GROUP:EVENT", field,
			       name);
	if (!tracefs)
		return err_set(e, -ENOENT, "%s.tracepoint: tracefs is not mounted", field);
	r = snprintf(path, sizeof(path), "%s/events/%.*s/%s/id", tracefs, (int)(colon - name), name,
		     colon + 1) < (int)sizeof(path)
		    ? perf_config_read_number(path, (uint64_t *)&attr->config)
		    : -ENAMETOOLONG;
	if (r < 0)
		return err_set(e, r, "%s.tracepoint: %s: %s", field, name, strerror(-r));
	attr->type = PERF_TYPE_TRACEPOINT;
	return 0;
}

/* Sets a raw event, which only root may use: it can be a probe of a program or of any address of
 * the kernel (the types "uprobe" and "kprobe"), or registers of the CPU. */
static int set_raw_event(struct perf_event_attr *attr, const char *field,
			 const Pb__PerfEvents__RawEvent *raw, const struct perf_config_env *env,
			 struct err_text *e)
{
	uint64_t type = raw->type;
	char path[512];
	int r;

	if (!env->for_root)
		return err_set(e, -EACCES, "%s.raw_event: only root may use raw events", field);
	if (raw->pmu_name && *raw->pmu_name) {
		if (strchr(raw->pmu_name, '/') || raw->pmu_name[0] == '.')
			return err_set(
				e, -EINVAL,
				"%s.raw_event.pmu_name: '%s' contains '/' or begins with '.'",
				field, raw->pmu_name);
		r = snprintf(path, sizeof(path), "%s/bus/event_source/devices/%s/type",
			     env->sys_root, raw->pmu_name) < (int)sizeof(path)
			    ? perf_config_read_number(path, &type)
			    : -ENAMETOOLONG;
		if (r < 0)
			return err_set(e, r, "%s.raw_event.pmu_name: %s: %s", field, raw->pmu_name,
				       strerror(-r));
	}
	attr->type = (uint32_t)type;
	attr->config = raw->config;
	attr->config1 = raw->config1;
	attr->config2 = raw->config2;
	return 0;
}

static void set_modifiers(struct perf_event_attr *attr,
			  const Pb__PerfEvents__EventModifier *modifiers, size_t n)
{
	if (!n)
		return;
	attr->exclude_user = attr->exclude_kernel = attr->exclude_hv = 1;
	for (size_t i = 0; i < n; i++) {
		if (modifiers[i] == PB__PERF_EVENTS__EVENT_MODIFIER__EVENT_MODIFIER_COUNT_USERSPACE)
			attr->exclude_user = 0;
		if (modifiers[i] == PB__PERF_EVENTS__EVENT_MODIFIER__EVENT_MODIFIER_COUNT_KERNEL)
			attr->exclude_kernel = 0;
		if (modifiers[i] ==
		    PB__PERF_EVENTS__EVENT_MODIFIER__EVENT_MODIFIER_COUNT_HYPERVISOR)
			attr->exclude_hv = 0;
	}
}

/* Sets the event of a timebase; without one it is SW_CPU_CLOCK. */
static int set_event(struct perf_config *c, const Pb__PerfEvents__Timebase *t,
		     const struct perf_config_env *env, struct err_text *e)
{
	static const char field[] = "timebase";
	const char *filter;
	int r;

	switch (t ? t->event_case : PB__PERF_EVENTS__TIMEBASE__EVENT__NOT_SET) {
	case PB__PERF_EVENTS__TIMEBASE__EVENT_COUNTER:
		return set_counter(&c->attr, field, t->counter, e);
	case PB__PERF_EVENTS__TIMEBASE__EVENT_TRACEPOINT:
		filter = t->tracepoint->filter ? t->tracepoint->filter : "";
		r = set_tracepoint(&c->attr, field, t->tracepoint, env->tracefs, e);
		if (r == 0 && strlen(filter) >= sizeof(c->filter))
			return err_set(e, -EINVAL,
				       "timebase.tracepoint.filter is longer than %zu bytes",
				       sizeof(c->filter) - 1);
		snprintf(c->filter, sizeof(c->filter), "%s", filter);
		return r;
	case PB__PERF_EVENTS__TIMEBASE__EVENT_RAW_EVENT:
		return set_raw_event(&c->attr, field, t->raw_event, env, e);
	default:
		return set_counter(&c->attr, field, COUNTER(SW_CPU_CLOCK), e);
	}
}

static int set_follower(struct perf_event_attr *attr, const Pb__FollowerEvent *f,
			const struct perf_config_env *env, struct err_text *e)
{
	static const char field[] = "followers";

	attr->size = sizeof(*attr);
	set_modifiers(attr, f->modifiers, f->n_modifiers);
	switch (f->event_case) {
	case PB__FOLLOWER_EVENT__EVENT_COUNTER:
		return set_counter(attr, field, f->counter, e);
	case PB__FOLLOWER_EVENT__EVENT_TRACEPOINT:
		return set_tracepoint(attr, field, f->tracepoint, env->tracefs, e);
	case PB__FOLLOWER_EVENT__EVENT_RAW_EVENT:
		return set_raw_event(attr, field, f->raw_event, env, e);
	default:
		return err_set(e, -EINVAL, "followers: an entry has no event");
	}
}

static int set_followers(struct perf_config *c, const struct perf_config_env *env,
			 struct err_text *e)
{
	const Pb__PerfEventConfig *m = c->message;
	int r = 0;

	if (m->n_followers > SAMPLES_FOLLOWERS_MAX)
		return err_set(e, -EINVAL, "followers: too many entries; the limit is %d",
			       SAMPLES_FOLLOWERS_MAX);
	for (size_t i = 0; i < m->n_followers && r == 0; i++)
		r = set_follower(&c->followers[c->n_followers++], m->followers[i], env, e);
	return r;
}

/* ---- interval, modes, stacks, clock and ring ---- */

static int set_interval(struct perf_event_attr *attr, const Pb__PerfEventConfig *m,
			struct err_text *e)
{
	const Pb__PerfEvents__Timebase *t = m->timebase;

	attr->freq = 1;
	attr->sample_freq = m->sampling_frequency ? m->sampling_frequency : PERF_CONFIG_FREQUENCY;
	if (!t)
		return 0;
	if (t->interval_case == PB__PERF_EVENTS__TIMEBASE__INTERVAL_POLL_PERIOD_MS)
		return err_set(e, -EINVAL,
			       "timebase.poll_period_ms is not supported; use frequency or period");
	if (t->interval_case == PB__PERF_EVENTS__TIMEBASE__INTERVAL_FREQUENCY && t->frequency)
		attr->sample_freq = t->frequency;
	if (t->interval_case == PB__PERF_EVENTS__TIMEBASE__INTERVAL_PERIOD && t->period) {
		attr->freq = 0;
		attr->sample_period = t->period;
	}
	return 0;
}

/* Sets which stacks are taken. Without a timebase the config has the older form, which always meant
 * stacks. */
static void set_stacks(struct perf_config *c, const Pb__PerfEventConfig *m)
{
	const Pb__PerfEventConfig__CallstackSampling *s = m->callstack_sampling;

	c->has_user_frames = s ? s->user_frames != PB__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_SKIP
			       : !m->timebase;
	c->unwinds =
		s ? s->user_frames == PB__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_DWARF ||
				s->user_frames == PB__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_UNKNOWN
		  : c->has_user_frames;
	c->has_kernel_frames = s ? s->kernel_frames : m->kernel_frames && !m->timebase;
	c->has_stacks = c->has_user_frames || c->has_kernel_frames;
	if (c->has_stacks)
		c->attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	c->attr.exclude_callchain_kernel = !c->has_kernel_frames;
	c->attr.exclude_callchain_user = !c->has_user_frames;
	/* The kernel writes mappings, names and ends of processes to the same rings, as they
	 * happen. */
	c->attr.mmap = c->attr.mmap2 = c->attr.comm = c->attr.comm_exec = c->attr.task =
		c->has_user_frames;
}

/* Returns the clock of the config, which the followers share. Default: CLOCK_BOOTTIME. Events other
 * than software events may sample in an NMI, for which the kernel allows only CLOCK_MONOTONIC and
 * CLOCK_MONOTONIC_RAW: they get CLOCK_MONOTONIC instead, which readers convert. */
static clockid_t choose_clock(const struct perf_config *c, const Pb__PerfEvents__Timebase *t)
{
	bool has_all = c->attr.type == PERF_TYPE_SOFTWARE;

	for (uint32_t i = 0; i < c->n_followers; i++)
		has_all &= c->followers[i].type == PERF_TYPE_SOFTWARE;

	switch (t ? t->timestamp_clock : PB__PERF_EVENTS__PERF_CLOCK__UNKNOWN_PERF_CLOCK) {
	case PB__PERF_EVENTS__PERF_CLOCK__PERF_CLOCK_REALTIME:
		return has_all ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	case PB__PERF_EVENTS__PERF_CLOCK__PERF_CLOCK_MONOTONIC:
		return CLOCK_MONOTONIC;
	case PB__PERF_EVENTS__PERF_CLOCK__PERF_CLOCK_MONOTONIC_RAW:
		return CLOCK_MONOTONIC_RAW;
	default:
		return has_all ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
	}
}

static uint32_t choose_ring_pages(uint32_t wanted)
{
	uint32_t n = 1;

	wanted =
		wanted ? MIN(wanted, (uint32_t)PERF_CONFIG_RING_PAGES_MAX) : PERF_CONFIG_RING_PAGES;
	while (n < wanted)
		n *= 2;
	return n;
}

static uint32_t count_additional(const Pb__PerfEventConfig *m)
{
	const Pb__PerfEventConfig__Scope *s =
		m->callstack_sampling ? m->callstack_sampling->scope : NULL;
	uint32_t n = MAX(m->additional_cmdline_count, s ? s->additional_cmdline_count : 0);

	return MIN(n, (uint32_t)PERF_CONFIG_ADDITIONAL_MAX);
}

int perf_config_read(const Pb__PerfEventConfig *m, const struct perf_config_env *env,
		     struct perf_config *ret, struct err_text *e)
{
	struct perf_config c = {.message = m};
	int r;

	c.attr.size = sizeof(c.attr);
	c.attr.disabled = 1;
	c.attr.exclude_idle = 1;
	c.attr.sample_id_all = 1;
	c.attr.sample_type =
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_READ;
	r = set_event(&c, m->timebase, env, e);
	if (r == 0)
		r = set_interval(&c.attr, m, e);
	if (r == 0)
		r = set_followers(&c, env, e);
	if (r < 0)
		return r;
	if (m->timebase)
		set_modifiers(&c.attr, m->timebase->modifiers, m->timebase->n_modifiers);
	set_stacks(&c, m);
	c.clock = choose_clock(&c, m->timebase);
	c.attr.use_clockid = 1;
	c.attr.clockid = c.clock;
	for (uint32_t i = 0; i < c.n_followers; i++) { /* a group has one clock */
		c.followers[i].use_clockid = 1;
		c.followers[i].clockid = c.clock;
	}
	c.n_additional = count_additional(m);
	c.ring_pages = choose_ring_pages(m->ring_buffer_pages);
	c.read_ms = m->ring_buffer_read_period_ms
			    ? MAX(m->ring_buffer_read_period_ms, (uint32_t)PERF_CONFIG_READ_MS_MIN)
			    : PERF_CONFIG_READ_MS;
	*ret = c;
	return 0;
}

/* ---- the scope ---- */

static bool has_pid(const int32_t *pids, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* Returns true if a pattern matches the program's path, or its last component. '*' matches any
 * text. */
static bool matches_any_pattern(char *const *patterns, size_t n, const char *cmdline)
{
	const char *slash = strrchr(cmdline, '/');

	for (size_t i = 0; i < n && *cmdline; i++)
		if (str_glob(patterns[i], cmdline) || (slash && str_glob(patterns[i], slash + 1)))
			return true;
	return false;
}

bool perf_config_needs_cmdline(const struct perf_config *c)
{
	const Pb__PerfEventConfig *m = c->message;
	const Pb__PerfEventConfig__Scope *s =
		m->callstack_sampling ? m->callstack_sampling->scope : NULL;

	return c->n_additional || m->n_target_cmdline || m->n_exclude_cmdline ||
	       (s && (s->n_target_cmdline || s->n_exclude_cmdline));
}

enum perf_scope perf_config_find_scope(const struct perf_config *c, pid_t pid, const char *cmdline)
{
	static const Pb__PerfEventConfig__Scope none = PB__PERF_EVENT_CONFIG__SCOPE__INIT;
	const Pb__PerfEventConfig *m = c->message;
	const Pb__PerfEventConfig__Scope *s = m->callstack_sampling && m->callstack_sampling->scope
						      ? m->callstack_sampling->scope
						      : &none;

	if (has_pid(s->exclude_pid, s->n_exclude_pid, pid) ||
	    has_pid(m->exclude_pid, m->n_exclude_pid, pid) ||
	    matches_any_pattern(s->exclude_cmdline, s->n_exclude_cmdline, cmdline) ||
	    matches_any_pattern(m->exclude_cmdline, m->n_exclude_cmdline, cmdline))
		return PERF_LEFT_OUT;
	if (!s->n_target_pid && !m->n_target_pid && !s->n_target_cmdline && !m->n_target_cmdline &&
	    !c->n_additional)
		return PERF_WANTED;
	if (has_pid(s->target_pid, s->n_target_pid, pid) ||
	    has_pid(m->target_pid, m->n_target_pid, pid) ||
	    matches_any_pattern(s->target_cmdline, s->n_target_cmdline, cmdline) ||
	    matches_any_pattern(m->target_cmdline, m->n_target_cmdline, cmdline))
		return PERF_WANTED;
	return c->n_additional && *cmdline ? PERF_ADDITIONAL : PERF_LEFT_OUT;
}
