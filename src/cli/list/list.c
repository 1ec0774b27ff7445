/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/list/list.h"

#include <errno.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "cli/trace/session_client.h"

const struct list_kind list_kinds[] = {
	{"event", "events", "events of the kernel; --fields: with their fields", list_events},
	{"group", "groups", "groups of events", list_groups},
	{"preset", "presets", "words for events and counters that belong together", list_presets},
	{"source", "sources", "data sources of a config, with their options", list_sources},
	{"family", "families", "counters of eBPF programs in the kernel", list_families},
	{"category", "categories", "track events of programs that run now", list_categories},
	{"function", "functions", "functions of the kernel for --kprobe and --function-graph",
	 list_functions},
	{0},
};

bool list_matches(const struct list *l, const char *pattern, const char *name)
{
	if (!pattern)
		return true;
	return l->exact ? !strcmp(pattern, name) : str_glob(pattern, name);
}

int list_need_events(struct list *l, struct err_text *e)
{
	const char *root;

	if (!l->events_read) {
		l->events_read = true;
		root = tracefs_events_root(tracefs_roots);
		l->events_error = root ? tracefs_events_load(root, &l->events) : -EACCES;
	}
	if (l->events_error && doctor_explain("tracefs", true, NULL, NULL, e))
		return l->events_error;
	if (l->events_error)
		return err_set(e, l->events_error,
			       "cannot read the kernel's events (available_events of tracefs): %s; "
			       "run: sudo sonda list",
			       strerror(-l->events_error));
	return 0;
}

const Pb__TracingServiceState *list_service_state(struct list *l)
{
	struct session_client *client;

	if (l->state_asked)
		return l->state;
	l->state_asked = true;
	if (session_client_open(l->socket, &client, &l->no_service))
		return NULL;
	if (session_client_query(client, false, &l->state, &l->no_service))
		l->state = NULL;
	session_client_free(client);
	return l->state;
}
