/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ChangeTraceConfig: which producers a running session records. Of the new config the filters by
 * producer name are taken, for the data sources that the session has; nothing is stopped, and
 * nothing else changes. A config with an expression that cannot be used changes nothing at all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/log.h"
#include "config/unpack.h"
#include "ipc/consumer_port.pb-c.h"
#include "service/ipc/config_limits.h"
#include "service/consumer/consumer_port.h"
#include "service/ipc/limits.h"
#include "service/session/sessions.h"
#include "service/session/session.h"
#include "service/session/source_filter.h"

static int check(const Pb__TraceConfig *c, struct err_text *e)
{
	int r = config_limit_check(c, CONFIG_SOURCES, e);

	if (r == 0)
		r = config_limit_check(c, CONFIG_REGEXES, e);
	for (size_t i = 0; i < c->n_data_sources && r == 0; i++)
		r = source_filter_check(c->data_sources[i], e);
	return r;
}

static const char *name_of(const Pb__TraceConfig__DataSource *d)
{
	return d->config && d->config->name ? d->config->name : "";
}

static Pb__TraceConfig__DataSource *find(const Pb__TraceConfig *c, const char *name)
{
	for (size_t i = 0; i < c->n_data_sources; i++)
		if (!strcmp(name_of(c->data_sources[i]), name))
			return c->data_sources[i];
	return NULL;
}

/* A copy: the new config may name a source once that the session has twice. */
static int copy_list(char **from, size_t n, char ***ret)
{
	char **list = calloc(n + 1, sizeof(*list));

	for (size_t i = 0; list && i < n; i++) {
		list[i] = strdup(from[i]);
		if (list[i])
			continue;
		while (i-- > 0)
			free(list[i]);
		free(list);
		list = NULL;
	}
	if (!list)
		return -ENOMEM;
	*ret = list;
	return 0;
}

static int replace_list(char ***list, size_t *n, char **from, size_t n_from)
{
	char **copy;

	if (copy_list(from, n_from, &copy) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < *n; i++)
		free((*list)[i]);
	free(*list);
	*list = copy;
	*n = n_from;
	return 0;
}

static size_t bytes_of(char **list, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += sizeof(*list) + strlen(list[i]) + 1;
	return bytes;
}

/* Each of the session's sources gets a copy of its own. */
static int check_copies(const struct session *s, const Pb__TraceConfig *with, struct err_text *e)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->config->n_data_sources; i++) {
		const Pb__TraceConfig__DataSource *new =
			find(with, name_of(s->config->data_sources[i]));

		if (new)
			bytes += bytes_of(new->producer_name_filter, new->n_producer_name_filter) +
				 bytes_of(new->producer_name_regex_filter,
					  new->n_producer_name_regex_filter);
		if (bytes > MAX_CONFIG_BYTES)
			return err_set(e, -E2BIG, "the filters would take more than %u bytes",
				       MAX_CONFIG_BYTES);
	}
	return 0;
}

static void change(struct session *s, const Pb__TraceConfig *with)
{
	for (size_t i = 0; i < s->config->n_data_sources; i++) {
		Pb__TraceConfig__DataSource *d = s->config->data_sources[i];
		const Pb__TraceConfig__DataSource *new = find(with, name_of(d));

		if (!new)
			continue;
		if (replace_list(&d->producer_name_filter, &d->n_producer_name_filter,
				 new->producer_name_filter, new->n_producer_name_filter) < 0 ||
		    replace_list(&d->producer_name_regex_filter, &d->n_producer_name_regex_filter,
				 new->producer_name_regex_filter,
				 new->n_producer_name_regex_filter) < 0)
			quota_log(s->account.quota, s->account.user, LOG_LEVEL_ERROR,
				  "out of memory: not all filters are changed");
		instances_setup_new(s, d);
	}
}

int change_config_call(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len)
{
	struct consumer_port *c = endpoint;
	struct session *s = c->session;
	Pb__ChangeTraceConfigRequest *request;
	struct err_text e = {""};
	ProtobufCMessage *m;
	size_t bytes;
	int r = unpack_limited(&pb__change_trace_config_request__descriptor, args, len,
			       MAX_CONFIG_BYTES, &m, &bytes);

	if (r < 0)
		return r;
	request = (Pb__ChangeTraceConfigRequest *)m;
	ipc_reply_empty(c->conn, call);
	if (s && request->trace_config &&
	    (s->state == SESSION_CONFIGURED || s->state == SESSION_STARTED)) {
		if (check(request->trace_config, &e) == 0 &&
		    check_copies(s, request->trace_config, &e) == 0) {
			change(s, request->trace_config);
		} else {
			c->sessions->quota->refused[config_limit_counter(request->trace_config)]++;
			quota_log(c->sessions->quota, c->uid, LOG_LEVEL_WARN,
				  "session %llu: ChangeTraceConfig changes nothing: %s",
				  (unsigned long long)s->id, e.text);
		}
	}
	protobuf_c_message_free_unpacked(m, NULL);
	return 0;
}
