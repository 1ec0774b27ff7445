/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "analyze/name_list.h"
#include "base/core/mem.h"
#include "cli/list/field_comments.h"
#include "cli/list/list.h"

/* Data sources of sonda-probes and libsonda. The service names those of other programs while they
 * run. */
static const struct source {
	const char *name;
	const char *config; /* its field in DataSourceConfig; NULL: it has no options */
	const char *title;
	const char *example;
} sources[] = {
	{"linux.cgroup_stats", "cgroup_stats_config",
	 "Control-group counters: CPU, memory, I/O, processes, pressure.",
	 "sonda record -t 10s cgroups"},
	{"linux.ebpf_counters", "ebpf_counters_config",
	 "Counters that eBPF programs keep in the kernel: latencies, stalls, time in interrupts.",
	 "sonda record -t 10s ebpf"},
	{"linux.cgroup_members", "cgroup_members_config",
	 "Control groups, and which threads are in each.", "sonda record -t 10s sched containers"},
	{"linux.frozen_ftrace", "frozen_ftrace_config",
	 "Events that a kernel ring buffer kept across a reboot.",
	 "sonda record -c configs/frozen_ftrace.cfg"},
	{"linux.ftrace", "ftrace_config",
	 "Kernel events: tracepoints, system calls, probes, the function graph.",
	 "sonda record -t 10s sched 'irq:*'"},
	{"linux.network_stats", "network_stats_config",
	 "Counters of network interfaces and protocols.", "sonda record -t 10s net-counters"},
	{"linux.perf", "perf_event_config",
	 "CPU samples: the running functions, with their call stacks.",
	 "sonda record -t 10s --cpu-stacks"},
	{"linux.process_stats", "process_stats_config",
	 "Process and thread names, and counters for each.", "sonda record -t 10s processes"},
	{"linux.sys_stats", "sys_stats_config",
	 "System-wide counters: memory, CPU times, disks, pressure, frequencies.",
	 "sonda record -t 10s counters"},
	{"linux.syscalls", "syscalls_config",
	 "System calls with arguments, strings and return values, as strace prints them.",
	 "sonda record --strace -- ls"},
	{"linux.sysfs_power", NULL, "Batteries and power supplies.", "sonda record -t 10s battery"},
	{"linux.system_info", "system_info_config",
	 "CPUs, kernel and memory of the machine. sonda record adds these to every trace.",
	 "sonda record -t 1s minimal"},
	{"linux.systemd_journald", "journald_config", "systemd journal entries.",
	 "sonda record -t 10s journal"},
	{"linux.waits", "waits_config",
	 "Why threads wait: the code that waits, and the code that ends the wait.",
	 "sonda record -t 10s waits"},
	{"track_event", "track_event_config",
	 "Slices, instants and counters from programs that use libsonda or the Perfetto SDK.",
	 "sonda record -t 10s --app '*'"},
};

/* ---- options ---- */

static void format_field_type(const ProtobufCFieldDescriptor *f, char *buf, size_t size)
{
	static const char *const types[] = {
		[PROTOBUF_C_TYPE_INT32] = "int32",   [PROTOBUF_C_TYPE_INT64] = "int64",
		[PROTOBUF_C_TYPE_UINT32] = "uint32", [PROTOBUF_C_TYPE_UINT64] = "uint64",
		[PROTOBUF_C_TYPE_BOOL] = "bool",     [PROTOBUF_C_TYPE_DOUBLE] = "double",
		[PROTOBUF_C_TYPE_FLOAT] = "float",   [PROTOBUF_C_TYPE_STRING] = "string",
		[PROTOBUF_C_TYPE_BYTES] = "bytes",   [PROTOBUF_C_TYPE_ENUM] = "enum",
		[PROTOBUF_C_TYPE_MESSAGE] = "{}",
	};
	const char *type = f->type < ARRAY_SIZE(types) ? types[f->type] : NULL;

	snprintf(buf, size, "%s%s", f->label == PROTOBUF_C_LABEL_REPEATED ? "list of " : "",
		 type ? type : "number");
}

#define ENUM_SHOWN 16 /* values; longer lists are in protos/ */

static void put_comment(const ProtobufCMessageDescriptor *m, const ProtobufCFieldDescriptor *f,
			struct strbuf *out)
{
	const ProtobufCEnumDescriptor *values =
		f->type == PROTOBUF_C_TYPE_ENUM ? f->descriptor : NULL;
	const struct field_comment *c = field_comments;
	const char *dot = strchr(m->name, '.');
	struct strbuf name = {0};

	/* The comment of the .proto file, which has the name without the package. */
	strbuf_printf(&name, "%s.%s", dot ? dot + 1 : m->name, f->name);
	while (name.s && c->name && strcmp(c->name, name.s) != 0)
		c++;
	strbuf_puts(out, name.s && c->name ? c->comment : "");
	for (unsigned i = 0; values && i < values->n_values && values->n_values <= ENUM_SHOWN; i++)
		strbuf_printf(out, "%s%s",
			      i		 ? ", "
			      : out->len ? " One of "
					 : "One of ",
			      values->values[i].name);
	strbuf_deinit(&name);
}

#define MAX_DEPTH 3 /* levels of nested messages */

static void put_options(struct list *l, const ProtobufCMessageDescriptor *m, const char *prefix,
			unsigned depth)
{
	for (unsigned i = 0; i < m->n_fields && depth < MAX_DEPTH; i++) {
		const ProtobufCFieldDescriptor *f = &m->fields[i];
		struct strbuf comment = {0};
		char name[160], type[32];

		snprintf(name, sizeof(name), "%s%s", prefix, f->name);
		format_field_type(f, type, sizeof(type));
		put_comment(m, f, &comment);
		list_out_add_field(&l->out, name, type, comment.s);
		strbuf_deinit(&comment);
		snprintf(name, sizeof(name), "%s%s.", prefix, f->name);
		if (f->type == PROTOBUF_C_TYPE_MESSAGE)
			put_options(l, f->descriptor, name, depth + 1);
	}
}

/* ---- presets that use a data source ---- */

struct user {
	struct list *l;
	const char *source;
	int32_t family; /* only data sources with this family are listed; 0: all */
	struct name_list names;
};

static int add_preset_of_source(void *user, const char *name)
{
	struct user *u = user;
	const struct preset *s;
	struct err_text e;

	if (presets_find(u->l->presets, name, strlen(name), &s, &e))
		return 0;
	for (size_t i = 0; i < s->config->n_data_sources; i++) {
		const Pb__DataSourceConfig *c = s->config->data_sources[i]->config;
		const Pb__EbpfCountersConfig *b = c->ebpf_counters_config;
		/* A family's own preset counts nothing but this family. */
		bool has_family = !u->family || (b && b->n_families == 1 && !b->waits_by_cgroup &&
						 (int32_t)b->families[0] == u->family);

		if (!strcmp(c->name, u->source) && has_family)
			name_list_add(&u->names, (const uint8_t *)name, strlen(name));
	}
	return 0;
}

/* ---- producers that run ---- */

static const char *find_producer_name(const Pb__TracingServiceState *state, int32_t id)
{
	for (size_t i = 0; i < state->n_producers; i++)
		if (state->producers[i]->id == id && state->producers[i]->name)
			return state->producers[i]->name;
	return "?";
}

static void put_producers(struct list *l, const char *source)
{
	const Pb__TracingServiceState *state = list_service_state(l);
	struct name_list names = {0};

	for (size_t i = 0; state && i < state->n_data_sources; i++) {
		const Pb__TracingServiceState__DataSource *d = state->data_sources[i];
		const char *producer = find_producer_name(state, d->producer_id);

		if (d->ds_descriptor && d->ds_descriptor->name &&
		    !strcmp(d->ds_descriptor->name, source))
			name_list_add(&names, (const uint8_t *)producer, strlen(producer));
	}
	list_out_add_values(&l->out, "producers", (const char *const *)names.names, names.n);
	name_list_deinit(&names);
}

/* ---- lists ---- */

static void put_source(struct list *l, const struct source *s)
{
	const ProtobufCFieldDescriptor *field =
		s->config ? protobuf_c_message_descriptor_get_field_by_name(
				    &pb__data_source_config__descriptor, s->config)
			  : NULL;
	const ProtobufCMessageDescriptor *config = field ? field->descriptor : NULL;
	struct user presets = {.l = l, .source = s->name};
	struct name_list names = {0};

	list_out_begin_item(&l->out, "source", s->name, s->title);
	if (l->detail == LIST_NAMES)
		return;
	list_out_add_value(&l->out, "config", s->config);
	for (unsigned i = 0; config && i < config->n_fields && l->detail == LIST_CONTENTS; i++)
		name_list_add(&names, (const uint8_t *)config->fields[i].name,
			      strlen(config->fields[i].name));
	list_out_add_values(&l->out, "options", (const char *const *)names.names, names.n);
	if (config && l->detail == LIST_ALL) {
		list_out_begin_fields(&l->out, "options");
		put_options(l, config, "", 0);
		list_out_end_fields(&l->out);
	}
	presets_for_each(l->presets, add_preset_of_source, &presets);
	list_out_add_values(&l->out, "presets", (const char *const *)presets.names.names,
			    presets.names.n);
	put_producers(l, s->name);
	list_out_add_value(&l->out, "example", s->example);
	name_list_deinit(&presets.names);
	name_list_deinit(&names);
}

int list_sources(struct list *l, const char *pattern, struct err_text *e)
{
	const Pb__TracingServiceState *state = list_service_state(l);
	struct name_list others = {0};

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (list_matches_pattern(l, pattern, sources[i].name))
			put_source(l, &sources[i]);
	for (size_t i = 0; state && i < state->n_data_sources; i++) {
		const Pb__DataSourceDescriptor *d = state->data_sources[i]->ds_descriptor;
		bool known = false;

		for (size_t k = 0; d && d->name && k < ARRAY_SIZE(sources); k++)
			known |= !strcmp(sources[k].name, d->name);
		if (d && d->name && !known && list_matches_pattern(l, pattern, d->name))
			name_list_add(&others, (const uint8_t *)d->name, strlen(d->name));
	}
	for (size_t i = 0; i < others.n; i++) {
		list_out_begin_item(&l->out, "source", others.names[i],
				    "A data source from another program.");
		if (l->detail != LIST_NAMES)
			put_producers(l, others.names[i]);
	}
	name_list_deinit(&others);
	return 0;
}

/* ---- families of eBPF counters ---- */

/* Returns true if the family matches. Ignores the case: names of families are in capitals, those of
 * their presets in lower case. */
static bool family_matches_pattern(const struct list *l, const char *pattern, const char *name)
{
	char capitals[64];
	size_t i;

	if (!pattern)
		return true;
	for (i = 0; pattern[i] && i < sizeof(capitals) - 1; i++)
		capitals[i] = (char)toupper((unsigned char)pattern[i]);
	capitals[i] = '\0';
	return !pattern[i] && list_matches_pattern(l, capitals, name);
}

int list_families(struct list *l, const char *pattern, struct err_text *e)
{
	const ProtobufCEnumDescriptor *families = &pb__ebpf_counters_config__family__descriptor;

	for (unsigned i = 0; i < families->n_values; i++) {
		struct user u = {l, "linux.ebpf_counters", families->values[i].value, {0}};
		const char *name = families->values[i].name;
		const struct preset *s = NULL;
		struct strbuf example = {0};

		if (!u.family)
			continue;
		presets_for_each(l->presets, add_preset_of_source, &u);
		if (u.names.n &&
		    presets_find(l->presets, u.names.names[0], strlen(u.names.names[0]), &s, e))
			s = NULL;
		if (family_matches_pattern(l, pattern, name)) {
			list_out_begin_item(&l->out, "family", name, s ? s->title : NULL);
			strbuf_printf(&example, "sonda record -t 10s %s", s ? s->name : "ebpf");
			if (l->detail != LIST_NAMES)
				list_out_add_value(&l->out, "example", example.s);
		}
		strbuf_deinit(&example);
		name_list_deinit(&u.names);
	}
	return 0;
}
