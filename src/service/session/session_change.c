/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the producer name filters of a running session. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "service/ipc/config_limits.h"
#include "service/ipc/limits.h"
#include "service/ipc/quota.h"
#include "service/session/session_config.h"
#include "service/session/session_state.h"
#include "service/session/source_instances.h"

static int check_filters(const Pb__TraceConfig *c, struct err_text *e)
{
	int r = config_limit_check(c, CONFIG_SOURCES, e);

	if (r == 0)
		r = config_limit_check(c, CONFIG_REGEXES, e);
	for (size_t i = 0; i < c->n_data_sources && r == 0; i++)
		r = session_config_check_filter(c->data_sources[i], e);
	return r;
}

static const char *session_change_name_of(const Pb__TraceConfig__DataSource *d)
{
	return d->config && d->config->name ? d->config->name : "";
}

static Pb__TraceConfig__DataSource *session_change_find(const Pb__TraceConfig *c, const char *name)
{
	for (size_t i = 0; i < c->n_data_sources; i++)
		if (!strcmp(session_change_name_of(c->data_sources[i]), name))
			return c->data_sources[i];
	return NULL;
}

/* Copies the list, because several data sources of the session may get the same one. */
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
static int check_size_of_copies(const struct session *s, const Pb__TraceConfig *with,
				struct err_text *e)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->config->n_data_sources; i++) {
		const Pb__TraceConfig__DataSource *new = session_change_find(
			with, session_change_name_of(s->config->data_sources[i]));

		if (new)
			bytes += bytes_of(new->producer_name_filter, new->n_producer_name_filter) +
				 bytes_of(new->producer_name_regex_filter,
					  new->n_producer_name_regex_filter);
		if (bytes > MAX_CONFIG_BYTES)
			return err_set(e, -E2BIG, "the filters have more than %u bytes",
				       MAX_CONFIG_BYTES);
	}
	return 0;
}

static void replace_filters(struct session *s, const Pb__TraceConfig *with)
{
	uint64_t steps = MAX_SETUP_STEPS;

	for (size_t i = 0; i < s->config->n_data_sources; i++) {
		Pb__TraceConfig__DataSource *d = s->config->data_sources[i];
		const Pb__TraceConfig__DataSource *new =
			session_change_find(with, session_change_name_of(d));

		if (!new)
			continue;
		if (replace_list(&d->producer_name_filter, &d->n_producer_name_filter,
				 new->producer_name_filter, new->n_producer_name_filter) < 0 ||
		    replace_list(&d->producer_name_regex_filter, &d->n_producer_name_regex_filter,
				 new->producer_name_regex_filter,
				 new->n_producer_name_regex_filter) < 0)
			quota_log(s->account.quota, s->account.user, LOG_LEVEL_ERROR,
				  "out of memory: some filters are not changed");
		source_instances_setup_new(s, i, &steps);
	}
}

int session_change_producers(struct session *s, const Pb__TraceConfig *with, struct err_text *e)
{
	int r = check_filters(with, e);

	if (r == 0)
		r = check_size_of_copies(s, with, e);
	if (r < 0)
		s->account.quota->refused[config_limit_counter(with)]++;
	else
		replace_filters(s, with);
	return r;
}
