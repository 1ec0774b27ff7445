/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/options/instance_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "ftrace/options/atrace_categories.h"
#include "ftrace/options/event_filters.h"
#include "ftrace/options/event_triggers.h"
#include "ftrace/options/pid_filter.h"
#include "ftrace/options/setup.h"

/* ---- defaults of a new instance ---- */

/*
 * The options that affect records, as in the kernel's TRACE_DEFAULT_FLAGS. The kernel clears the
 * other options of a new instance, or they affect only the output of `trace`.
 */
static const struct {
	const char *name;
	bool on;
} defaults[] = {
	{"overwrite", true},	   {"markers", true},	       {"stacktrace", false},
	{"userstacktrace", false}, {"func-no-repeats", false}, {"disable_on_free", false},
	{"function-trace", true},
};

/* Returns 0, 1 or -errno; -EIO: not a boolean option. */
static int read_option_state(const struct instance *i, const char *file)
{
	_cleanup_(freep) char *text = NULL;

	errno = 0;
	text = instance_read(i, file);
	if (!text)
		return errno ? -errno : -EIO;
	text[strcspn(text, "\n")] = '\0';
	if (!strcmp(text, "0") || !strcmp(text, "1"))
		return *text - '0';
	return -EIO;
}

/*
 * A new instance inherits the current options of the top level, such as another user's
 * `stacktrace` or `nooverwrite`. Options that affect records are reset to the kernel's defaults.
 */
static void tracefs_options_reset(const struct instance *i)
{
	char file[64];
	int is;

	for (unsigned k = 0; k < ARRAY_SIZE(defaults); k++) {
		snprintf(file, sizeof(file), "options/%s", defaults[k].name);
		is = read_option_state(i, file);
		if (is >= 0 && is != defaults[k].on)
			instance_write(i, file, defaults[k].on ? "1" : "0");
	}
}

/* ---- tracefs_options ---- */

/* Options that have a global effect although each instance has a file for them. */
static const struct {
	const char *name;
	const char *why;
} shared[] = {
	{"trace_printk_dest", "it would redirect the kernel's trace_printk from the top level"},
	{"record-tgid", "it affects the events of all users, and no trace needs it"},
	{"test_nop_accept", "it is one setting for all instances"},
	{"test_nop_refuse", "it is one setting for all instances"},
};

static bool is_option_name(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_-";

	return *name && strlen(name) < 64 && name[strspn(name, letters)] == '\0';
}

static void instance_options_refuse(const struct setup *s, const char *name, const char *why)
{
	setup_error_add(s->errors, "option:tracefs_options (%s: %s)", name, why);
}

static void refuse_unknown(const struct setup *s, const char *name)
{
	_cleanup_(freep) char *folder = instance_path_of(s->instance, "options");
	char path[4096], best[STR_NEAREST_SIZE];
	const char *meant;

	snprintf(path, sizeof(path), "%s/options/%s", s->root, name);
	if (fs_exists(path)) {
		instance_options_refuse(
			s, name,
			"the kernel has it at the top level only, where it affects all users");
		return;
	}
	meant = folder ? fs_find_nearest(folder, name, best) : NULL;
	if (meant)
		setup_error_add(s->errors,
				"option:tracefs_options (%s: no such option; did you mean %s?)",
				name, meant);
	else
		instance_options_refuse(s, name, "no such option");
}

static void set_tracefs_option(const struct setup *s, const char *name, bool on)
{
	char file[80];
	int r;

	for (unsigned k = 0; k < ARRAY_SIZE(shared); k++)
		if (!strcmp(name, shared[k].name)) {
			instance_options_refuse(s, name, shared[k].why);
			return;
		}
	snprintf(file, sizeof(file), "options/%s", name);
	r = read_option_state(s->instance, file);
	if (r == -ENOENT) {
		refuse_unknown(s, name);
		return;
	}
	if (r >= 0)
		r = r == on ? 0 : instance_write(s->instance, file, on ? "1" : "0");
	if (r)
		instance_options_refuse(s, name, strerror(-r));
}

/*
 * Sets FtraceConfig.tracefs_options. Reports unknown names with the nearest known name, and
 * options with global effect, which it does not set.
 */
static void tracefs_options_set(const struct setup *s)
{
	const Pb__FtraceConfig *c = s->config;

	for (size_t i = 0; i < c->n_tracefs_options; i++) {
		const Pb__FtraceConfig__TracefsOption *o = c->tracefs_options[i];
		const char *name = o->name ? o->name : "";

		if (!is_option_name(name))
			instance_options_refuse(s, name, "not the name of an option");
		else if (o->state == PB__FTRACE_CONFIG__TRACEFS_OPTION__STATE__STATE_UNKNOWN)
			instance_options_refuse(
				s, name, "its state is neither STATE_ENABLED nor STATE_DISABLED");
		else
			set_tracefs_option(
				s, name,
				o->state ==
					PB__FTRACE_CONFIG__TRACEFS_OPTION__STATE__STATE_ENABLED);
	}
}

/*
 * Adds ftrace/kernel_stack and user_stack if the config sets the options that generate them.
 * Returns 0 or -ENOMEM.
 */
static int tracefs_options_add_implied_events(struct event_selection *events, const struct setup *s)
{
	static const struct {
		const char *option;
		const char *event;
	} stacks[] = {{"stacktrace", "kernel_stack"}, {"userstacktrace", "user_stack"}};
	int r = 0;

	for (size_t i = 0; !r && i < s->config->n_tracefs_options; i++) {
		const Pb__FtraceConfig__TracefsOption *o = s->config->tracefs_options[i];

		for (unsigned k = 0; !r && k < ARRAY_SIZE(stacks); k++)
			if (o->state == PB__FTRACE_CONFIG__TRACEFS_OPTION__STATE__STATE_ENABLED &&
			    o->name && !strcmp(o->name, stacks[k].option))
				r = event_selection_add(events, "ftrace", stacks[k].event);
	}
	return r;
}

/* ---- tracing_cpumask ---- */

#define SHOWN 80 /* bytes of an invalid mask that are shown */

static int refuse_cpumask(const struct setup *s, const char *why)
{
	setup_error_fatal(s->errors, "nothing is recorded: tracing_cpumask \"%.*s\": %s", SHOWN,
			  s->config->tracing_cpumask, why);
	return -EINVAL;
}

/* Returns true for hexadecimal words of one to eight digits, separated by commas. */
static bool is_mask(const char *mask)
{
	for (;;) {
		size_t digits = strspn(mask, "0123456789abcdefABCDEF");

		if (digits < 1 || digits > 8)
			return false;
		mask += digits;
		if (*mask != ',')
			return *mask == '\0';
		mask++;
	}
}

/*
 * FtraceConfig.tracing_cpumask: the CPUs whose events are recorded, as hexadecimal words of 32
 * bits, separated by commas, highest CPUs first. Returns 0, or -errno with a fatal setup error if
 * the mask is invalid or empty, because other CPUs than requested would be recorded.
 */
static int traced_cpus_set(const struct setup *s)
{
	const char *mask = s->config->tracing_cpumask;
	int r;

	if (!mask || !*mask)
		return 0;
	if (!is_mask(mask))
		return refuse_cpumask(s, "not hexadecimal words of up to 8 digits, such as "
					 "00000001,ffffffff");
	if (mask[strspn(mask, "0,")] == '\0')
		return refuse_cpumask(s, "it names no CPU");
	r = instance_write(s->instance, "tracing_cpumask", mask);
	switch (r) {
	case 0:
		return 0;
	case -EOVERFLOW:
		return refuse_cpumask(s, "it names CPUs that this machine does not have");
	default:
		return refuse_cpumask(s, strerror(-r));
	}
}

int instance_options_set(const struct setup *s, const char *proc_root)
{
	int r;

	if (instance_is_own(s->instance))
		tracefs_options_reset(s->instance);
	tracefs_options_set(s);
	r = traced_cpus_set(s);
	return r ? r : pid_filter_set(s, proc_root);
}

int instance_options_restrict_events(struct event_selection *events, const struct setup *s)
{
	int r = atrace_categories_apply(events, s);

	if (!r)
		r = syscall_events_apply(events, s);
	if (!r)
		r = event_filters_apply(events, s);
	if (!r)
		r = tracefs_options_add_implied_events(events, s);
	return r ? r : event_triggers_add_implied_events(events, s);
}
