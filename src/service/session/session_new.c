/* SPDX-License-Identifier: Apache-2.0 */
/* The creation of a session: the checks, its buffers and its file. */
#include "service/session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "config/limits.h"
#include "service/buffer/trace_buffer.h"
#include "service/ipc/config_limits.h"
#include "service/ipc/limits.h"
#include "service/ipc/quota.h"
#include "service/session/admission.h"
#include "service/session/session_config.h"
#include "service/session/session_life.h"
#include "service/session/session_state.h"
#include "service/session/source_instances.h"

/* ---- write_into_file ---- */

static void session_file_on_flushed(void *ctx, const struct ipc_call *number, bool success)
{
	struct session *s = ctx;

	(void)success; /* the data of producers that have answered is written in any case */
	if (s->file)
		file_writer_on_flushed(s->file, (uint32_t)number->request_id);
}

static int flush_for_file(void *ctx, uint32_t file_number)
{
	struct flush_request request = {.flags = FLUSH_REASON_PERIODIC | FLUSH_BY_SERVICE,
					.done = session_file_on_flushed,
					.ctx = ctx,
					.call = {.request_id = file_number}};
	struct session *s = ctx;

	if (file_number && s->state != SESSION_STARTED)
		return -EINVAL;
	if (file_number)
		source_instances_clear_incremental_state(s);
	return session_flush(s, &request);
}

static void on_file_failed(void *ctx, const char *text)
{
	struct session *s = ctx;

	quota_log(s->account.quota, s->account.user, LOG_LEVEL_ERROR, "session %llu ends: %s",
		  (unsigned long long)s->id, text);
	session_set_error(s, text);
}

static void on_file_stopped(void *ctx)
{
	/* No effect after an error: the first reason counts. */
	session_set_end_reason(ctx, "max_file_size_bytes reached");
	session_disable(ctx, false);
}

static void on_file_closed(void *ctx)
{
	session_report_end(ctx);
}

/* Returns what a file writer borrows from the session: its trace, config, account and callbacks. */
static struct file_owner session_file_owner(struct session *s)
{
	static const struct file_writer_ops ops = {.flush = flush_for_file,
						   .failed = on_file_failed,
						   .stop = on_file_stopped,
						   .closed = on_file_closed};

	return (struct file_owner){.ops = &ops,
				   .ctx = s,
				   .loop = s->sessions->loop,
				   .trace = s->trace,
				   .config = s->config,
				   .account = &s->account,
				   .uid = s->uid,
				   .boost = s->boost};
}

void session_adopt_file(struct session *s, struct file_writer *file)
{
	struct file_owner owner = session_file_owner(s);

	file_writer_set_owner(file, &owner);
	s->file = file;
}

static int make_file(struct session *s, const Pb__TraceConfig *config, struct passed_file file,
		     struct err_text *e)
{
	struct file_owner owner = session_file_owner(s);

	owner.config = config; /* the session does not own it yet */
	return file_writer_new(&owner, file, e, &s->file);
}

/* ---- buffers ---- */

/* Charges the account for the buffers of the config. exclusive_prio ends the other sessions, whose
 * charges then do not count, so the limits are not checked. Returns 0, or -EDQUOT and sets e. */
static int charge_buffers(struct session *s, const Pb__TraceConfig *c, struct err_text *e)
{
	uint64_t bytes = 0;
	int r = 0;

	for (size_t i = 0; i < c->n_buffers; i++)
		bytes += (uint64_t)c->buffers[i]->size_kb * 1024;
	if (!c->exclusive_prio)
		r = quota_check(&s->account, QUOTA_BUFFERS, c->n_buffers, e);
	if (r == 0 && !c->exclusive_prio)
		r = quota_check(&s->account, QUOTA_BUFFER_BYTES, bytes, e);
	if (r < 0)
		return r;
	quota_charge_unchecked(&s->account, QUOTA_BUFFERS, c->n_buffers);
	quota_charge_unchecked(&s->account, QUOTA_BUFFER_BYTES, bytes);
	return 0;
}

/* Charges the account for the buffers of the config, and adds them to the trace. Returns 0, or
 * -errno and sets e; what was added until then stays in the trace. */
static int allocate_buffers(struct session *s, const Pb__TraceConfig *c, struct err_text *e)
{
	int error = charge_buffers(s, c, e);

	if (error < 0)
		return error;
	for (size_t i = 0; i < c->n_buffers; i++) {
		const Pb__TraceConfig__BufferConfig *b = c->buffers[i];
		bool discard =
			b->fill_policy == PB__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__DISCARD;
		uint16_t id = sessions_new_buffer_id(s->sessions);
		struct trace_buffer *buffer = NULL;
		int r = -ENOSPC;

		if (id)
			r = trace_buffer_new((size_t)b->size_kb * 1024,
					     discard ? TRACE_BUFFER_DISCARD : TRACE_BUFFER_RING,
					     &buffer);
		if (r == 0)
			r = trace_add_buffer(s->trace, id, buffer);
		if (r < 0) {
			trace_buffer_free(buffer);
			return err_set(e, r, "cannot allocate buffer %zu of %u KiB: %s", i,
				       b->size_kb, strerror(-r));
		}
	}
	return 0;
}

/* ---- all of it ---- */

static int check_config_bytes(struct sessions *sessions, const struct session_request *request,
			      struct err_text *e)
{
	struct quota_account account;

	quota_open(&account, sessions->quota, request->uid);
	return quota_check(&account, QUOTA_CONFIG_BYTES, request->config_bytes, e);
}

int session_new(struct sessions *sessions, const struct session_request *request,
		struct err_text *e, struct session **ret)
{
	Pb__TraceConfig *config = request->config;
	_cleanup_(passed_file_closep) struct passed_file file = request->file;
	_cleanup_(session_destroyp) struct session *s = NULL;
	int r = check_config_bytes(sessions, request, e);

	if (r < 0)
		return r;
	/* Checks the config alone, then against the other sessions and the limits of the user. */
	r = session_config_check(config, e);
	if (r < 0)
		sessions->quota->refused[config_limit_counter(config)]++;
	else
		r = admission_check(sessions, config, request->uid, e);
	if (r < 0)
		return r;
	/* Creates the objects that the session owns. None of them is visible to others yet. */
	if (session_alloc(sessions, request->owner, request->uid, &s) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	r = source_configs_init(&s->source_configs, request->packed, request->packed_len);
	if (r < 0)
		return err_set(e, r, "data source configs: %s", strerror(-r));
	r = trace_new(&sessions->trace_env,
		      &(struct trace_owner){config, &s->account, session_put_stats, s}, e,
		      &s->trace);
	if (r < 0) {
		sessions->quota->refused[config_limit_counter(config)]++;
		return r;
	}
	s->boost = session_boost_of_config(sessions, config);
	if (config->write_into_file)
		r = make_file(s, config, passed_file_release(&file), e);
	if (r == 0)
		r = allocate_buffers(s, config, e);
	if (r < 0) {
		file_writer_discard(TAKE_PTR(s->file));
		return r;
	}
	/* From here on the session owns the config. With STOP or CLONE triggers, its duration is
	 * the trigger timeout. */
	s->id = ++sessions->last_session_id;
	s->config = config;
	if (session_config_trigger_mode(config) == TRIGGER_STOP ||
	    session_config_trigger_mode(config) == TRIGGER_CLONE) {
		config->has_duration_ms = true;
		config->duration_ms = config->trigger_config->trigger_timeout_ms;
	}
	/* The last step that can fail. */
	r = priority_apply(sessions, config);
	if (r < 0) {
		s->config = NULL; /* the caller's still */
		file_writer_discard(TAKE_PTR(s->file));
		return err_set(e, r, "priority_boost: %s%s", strerror(-r),
			       r == -EPERM || r == -EACCES
				       ? " (raise RLIMIT_NICE and RLIMIT_RTPRIO of the service; "
					 "see docs/reference/security.md)"
				       : "");
	}
	/* Makes it one of the sessions of the service. */
	admission_stop_others(sessions, config);
	admission_record_session(sessions, config, request->uid);
	TAILQ_INSERT_TAIL(&sessions->list, s, link);
	/* The end of other sessions may have ended the priority boost, so it is applied again. */
	(void)priority_apply(sessions, NULL);
	quota_charge_unchecked(&s->account, QUOTA_SESSIONS, 1);
	quota_charge_unchecked(&s->account, QUOTA_CONFIG_BYTES, request->config_bytes);
	session_set_state(s, SESSION_CONFIGURED);
	session_record_states_of_others(s);
	*ret = TAKE_PTR(s);
	return 0;
}

/* ---- new producer name filters of a running session ---- */

static int check_new_filters(const Pb__TraceConfig *c, struct err_text *e)
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

/* Copies the list, because several data sources of the session may get the same one. Returns 0 or
 * -ENOMEM. */
static int copy_filter_list(char **from, size_t n, char ***ret)
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

static int replace_filter_list(char ***list, size_t *n, char **from, size_t n_from)
{
	char **copy;

	if (copy_filter_list(from, n_from, &copy) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < *n; i++)
		free((*list)[i]);
	free(*list);
	*list = copy;
	*n = n_from;
	return 0;
}

static size_t bytes_of_filter_list(char **list, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += sizeof(*list) + strlen(list[i]) + 1;
	return bytes;
}

/* Checks the size of all copies: each of the session's sources gets one of its own. Returns 0, or
 * -E2BIG and sets e. */
static int check_size_of_copies(const struct session *s, const Pb__TraceConfig *with,
				struct err_text *e)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->config->n_data_sources; i++) {
		const Pb__TraceConfig__DataSource *new = session_change_find(
			with, session_change_name_of(s->config->data_sources[i]));

		if (new)
			bytes += bytes_of_filter_list(new->producer_name_filter,
						      new->n_producer_name_filter) +
				 bytes_of_filter_list(new->producer_name_regex_filter,
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
		if (replace_filter_list(&d->producer_name_filter, &d->n_producer_name_filter,
					new->producer_name_filter,
					new->n_producer_name_filter) < 0 ||
		    replace_filter_list(
			    &d->producer_name_regex_filter, &d->n_producer_name_regex_filter,
			    new->producer_name_regex_filter, new->n_producer_name_regex_filter) < 0)
			quota_log(s->account.quota, s->account.user, LOG_LEVEL_ERROR,
				  "out of memory: some filters were not changed");
		source_instances_setup_new(s, i, &steps);
	}
}

int session_change_producers(struct session *s, const Pb__TraceConfig *with, struct err_text *e)
{
	int r = check_new_filters(with, e);

	if (r == 0)
		r = check_size_of_copies(s, with, e);
	if (r < 0)
		s->account.quota->refused[config_limit_counter(with)]++;
	else
		replace_filters(s, with);
	return r;
}
