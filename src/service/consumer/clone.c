/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There are two flushes, so that a moved buffer is moved as soon as its own data sources have
 * flushed. Data that they write later belongs to the next clone. If a flush fails, or the source
 * has ended and cannot flush, the existing data is cloned.
 *
 * Meanwhile the memory of the copies is prepared, a part in each turn of the loop, so that
 * producers do not wait for it.
 */
#include "service/consumer/clone.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/loop_timer.h"
#include "gen/fields.h"
#include "service/buffer/trace_buffer.h"
#include "service/consumer/consumer_state.h"
#include "service/ipc/limits.h"
#include "service/ipc/request_decode.h"
#include "service/output/file_writer.h"
#include "service/output/passed_file.h"
#include "service/producer/producer_port.h"
#include "service/session/session.h"
#include "service/session/session_clone.h"
#include "service/session/sessions.h"
#include "wire/pb_enc.h"

#define BUGREPORT_SESSION UINT64_MAX /* requests the session with the highest bugreport_score */

/* ---- the request ---- */

struct clone_request {
	uint64_t session_id;
	char *unique_name; /* owned; NULL: session_id selects the source */
	bool for_bugreport;
	bool skip_trace_filter;
	bool has_trigger;
	struct received_trigger trigger; /* owned */
};

static bool is_bugreport_request(const struct clone_request *r)
{
	return !r->unique_name && r->session_id == BUGREPORT_SESSION;
}

static void request_deinit(struct clone_request *r)
{
	free(r->unique_name);
	received_trigger_deinit(&r->trigger);
}

static int decode_field(struct clone_request *r, const struct pb_field *f)
{
	switch (FIELD_KEY(*f)) {
	case KEY_VARINT(PB_CLONE_SESSION_REQUEST_SESSION_ID):
		r->session_id = f->u64;
		free(TAKE_PTR(r->unique_name)); /* the last member of a oneof counts */
		return 0;
	case KEY_BYTES(PB_CLONE_SESSION_REQUEST_UNIQUE_SESSION_NAME):
		return decode_string(f, MAX_NAME_BYTES, &r->unique_name);
	case KEY_VARINT(PB_CLONE_SESSION_REQUEST_SKIP_TRACE_FILTER):
		r->skip_trace_filter = f->u64 != 0;
		return 0;
	case KEY_VARINT(PB_CLONE_SESSION_REQUEST_FOR_BUGREPORT):
		r->for_bugreport = f->u64 != 0;
		return 0;
	case KEY_BYTES(PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_NAME):
		r->has_trigger = true;
		return decode_string(f, MAX_NAME_BYTES, &r->trigger.name);
	case KEY_BYTES(PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_PRODUCER_NAME):
		return decode_string(f, MAX_NAME_BYTES, &r->trigger.producer);
	case KEY_VARINT(PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_TRUSTED_PRODUCER_UID):
		r->trigger.uid = (uid_t)f->u64;
		return 0;
	case KEY_VARINT(PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_BOOT_TIME_NS):
		r->trigger.boot_ns = f->u64;
		return 0;
	case KEY_VARINT(PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_DELAY_MS):
		r->trigger.delay_ms = f->u64;
		return 0;
	}
	return 0;
}

static int decode_request(struct clone_request *r, const uint8_t *args, size_t len)
{
	struct pb_field f;
	struct pb_dec d;
	int error = 0;

	pb_dec_init(&d, args, len);
	while (error == 0 && pb_dec_next(&d, &f))
		error = decode_field(r, &f);
	if (error < 0)
		return error;
	if (!pb_dec_ok(&d))
		return -EBADMSG;
	if (r->has_trigger && !r->trigger.producer)
		r->trigger.producer = strdup("");
	return r->has_trigger && !r->trigger.producer ? -ENOMEM : 0;
}

/* ---- replies ---- */

/* Answers the call. clone NULL: it has failed, because of `error`. Returns 0 or -ENOMEM. */
static int send_clone_reply(const struct consumer_port *c, const struct ipc_call *call,
			    const struct session *clone, const char *error)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int64_t msb, lsb;

	if (pb_mem_init(&m) < 0)
		return -ENOMEM;
	pb_enc_bool(&m.enc, PB_CLONE_SESSION_RESPONSE_SUCCESS, clone != NULL);
	if (clone) {
		trace_uuid(session_trace(clone), &msb, &lsb);
		pb_enc_i64(&m.enc, PB_CLONE_SESSION_RESPONSE_UUID_MSB, msb);
		pb_enc_i64(&m.enc, PB_CLONE_SESSION_RESPONSE_UUID_LSB, lsb);
		pb_enc_bool(&m.enc, PB_CLONE_SESSION_RESPONSE_WAS_WRITE_INTO_FILE,
			    session_file(clone) != NULL);
	} else {
		pb_enc_str(&m.enc, PB_CLONE_SESSION_RESPONSE_ERROR, error);
	}
	if (m.failed)
		return -ENOMEM;
	ipc_reply(c->conn, call, false, m.buf, pb_mem_len(&m), -1);
	return 0;
}

/* ---- a clone in progress ---- */

enum group { GROUP_MOVED, GROUP_COPIED, N_GROUPS };

struct pending_clone {
	struct session_watch watch; /* watches the source session */
	struct session *source; /* borrowed; its end cancels the clone */
	struct consumer_port *consumer; /* borrowed: it owns us */
	struct ipc_call call;
	struct passed_file file; /* owned; of the clone, if the source has a file; else none */
	struct session_clone result; /* owned; incomplete */
	struct clone_flush {
		struct pending_clone *clone;
		enum group group;
		bool wanted; /* the config has buffers of this group */
		bool running;
		bool taken; /* the buffers of the group are moved or cloned */
	} flushes[N_GROUPS];
	struct loop_timer prepare; /* the next part of the memory of the copies */
	size_t preparing; /* buffer */
	size_t prepared_bytes; /* bytes of this buffer that are prepared */
	bool no_memory;
};

static void return_buffers(struct pending_clone *p);

static void pending_clone_free(struct pending_clone *p)
{
	for (size_t g = 0; g < N_GROUPS; g++)
		if (p->flushes[g].running)
			session_remove_flushes(p->source, &p->flushes[g]);
	return_buffers(p);
	if (session_file(p->source))
		file_writer_release(session_file(p->source));
	loop_timer_deinit(&p->prepare);
	session_unwatch(p->source, &p->watch);
	p->consumer->clone = NULL;
	session_clone_deinit(&p->result);
	passed_file_closep(&p->file);
	free(p);
}

static enum group clone_group_of(const struct session *s, size_t buffer)
{
	return session_config(s)->buffers[buffer]->transfer_on_clone ? GROUP_MOVED : GROUP_COPIED;
}

/* ---- buffers ---- */

/* Replaces buffer i of the session by an empty one. Returns 0 and the old buffer, which the caller
 * then owns, or -errno. */
static int swap_in_empty_buffer(struct session *s, size_t i, struct trace_buffer **ret)
{
	struct trace_buffer *fresh;
	int r = trace_buffer_new_like(trace_get_buffer(session_trace(s), i), &fresh);

	if (r < 0)
		return r;
	*ret = session_replace_buffer(s, i, fresh);
	return 0;
}

/* Creates the copies, which are empty until move_or_copy_group(). Returns 0 or -ENOMEM. */
static int make_buffer_copies(struct pending_clone *p)
{
	const struct session *s = p->source;
	int r = 0;

	for (size_t i = 0; i < trace_n_buffers(session_trace(s)) && r == 0; i++)
		if (clone_group_of(s, i) == GROUP_COPIED)
			r = trace_buffer_new_like(trace_get_buffer(session_trace(s), i),
						  &p->result.buffers[i]);
	return r;
}

/* Moves or copies the buffers of a group. Sets p->no_memory if that fails. */
static void move_or_copy_group(struct pending_clone *p, enum group group)
{
	struct session *s = p->source;

	for (size_t i = 0; i < trace_n_buffers(session_trace(s)) && !p->no_memory; i++) {
		struct trace_buffer **to = &p->result.buffers[i];
		int r;

		if (clone_group_of(s, i) != group)
			continue;
		r = group == GROUP_MOVED
			    ? swap_in_empty_buffer(s, i, to)
			    : trace_buffer_clone(trace_get_buffer(session_trace(s), i), *to);
		p->no_memory = r < 0;
		p->result.taken_boot_ns[i] = clock_boot_ns();
	}
	p->flushes[group].taken = true;
}

/* Undoes the move of buffers after a failure. The data that the source has written since is
 * appended to them. */
static void return_buffers(struct pending_clone *p)
{
	struct session *s = p->source;

	for (size_t i = 0; i < trace_n_buffers(session_trace(s)); i++) {
		struct trace_buffer *fresh = trace_get_buffer(session_trace(s), i);

		if (clone_group_of(s, i) != GROUP_MOVED || !p->result.buffers[i])
			continue;
		session_replace_buffer(s, i, p->result.buffers[i]);
		trace_buffer_append(TAKE_PTR(p->result.buffers[i]), fresh);
	}
}

/* Drops the data of buffers with clear_before_clone. Returns 0 or -ENOMEM. */
static int clear_buffers_before_clone(struct session *s)
{
	for (size_t i = 0; i < trace_n_buffers(session_trace(s)); i++) {
		struct trace_buffer *old;

		if (!session_config(s)->buffers[i]->clear_before_clone ||
		    trace_buffer_stats(trace_get_buffer(session_trace(s), i))->bytes_written == 0)
			continue;
		if (swap_in_empty_buffer(s, i, &old) < 0)
			return -ENOMEM;
		trace_buffer_free(old);
	}
	return 0;
}

/* ---- the complete clone ---- */

static void clone_answer(struct consumer_port *c, const struct ipc_call *call,
			 const struct session *clone, const char *error)
{
	if (send_clone_reply(c, call, clone, error) < 0)
		ipc_reject(c->conn, call);
}

/* Makes the session of the clone, without a file. Returns 0, or -errno and sets e. */
static int make_session(struct pending_clone *p, struct session **ret, struct err_text *e)
{
	int r;

	if (p->no_memory)
		return err_set(e, -ENOMEM, "Buffer allocation failed");
	if (p->consumer->session)
		return err_set(e, -EBUSY,
			       "The consumer is already attached to another tracing session");
	r = session_clone_finish(&p->result, p->source, p->consumer->owner, ret);
	if (r < 0)
		return err_set(e, r, "The service has no memory or buffer IDs left for the clone");
	return 0;
}

/* Clones the file and the buffers at the same moment, so that no data moves from the buffers to the
 * file in between. After a failure the source is unchanged. */
static int make_session_with_file(struct pending_clone *p, struct session **ret, struct err_text *e)
{
	struct file_writer *from = session_file(p->source), *file;
	int r;

	if (!from || file_writer_is_closed(from))
		return err_set(e, -ENOENT, "Original session ended");
	r = file_writer_new_clone(from, passed_file_release(&p->file), e, &file);
	if (r < 0)
		return r;
	for (size_t g = 0; g < N_GROUPS; g++)
		move_or_copy_group(p, (enum group)g);
	r = make_session(p, ret, e);
	if (r < 0) {
		return_buffers(p);
		file_writer_free(file);
		return r;
	}
	session_adopt_file(*ret, file);
	/* The flush is over, and the next tick of the source's file may be much later. */
	file_writer_on_flushed(from, 0);
	return 0;
}

/* Creates the clone, which becomes the consumer's session, and frees p. Answers the call; if the
 * clone has a file, that waits until the file is complete. */
static void clone_finish(struct pending_clone *p)
{
	struct consumer_port *c = p->consumer;
	struct ipc_call call = p->call;
	struct session *clone = NULL;
	struct err_text e = {""};
	int r = p->file.fd >= 0 ? make_session_with_file(p, &clone, &e)
				: make_session(p, &clone, &e);

	pending_clone_free(p);
	if (r < 0) {
		clone_answer(c, &call, NULL, e.text);
		return;
	}
	c->session = clone;
	if (!session_file(clone)) {
		clone_answer(c, &call, clone, NULL);
		return;
	}
	c->clone_call = call;
	c->has_clone_call = true;
	file_writer_finish(session_file(clone));
}

void clone_on_file_written(struct consumer_port *c)
{
	struct session *failed = NULL;

	if (!c->has_clone_call)
		return;
	c->has_clone_call = false;
	if (session_error(c->session))
		failed = TAKE_PTR(c->session);
	clone_answer(c, &c->clone_call, failed ? NULL : c->session,
		     failed ? session_error(failed) : NULL);
	session_free(failed);
}

void clone_reject_waiting_call(struct consumer_port *c)
{
	if (c->has_clone_call)
		ipc_reject(c->conn, &c->clone_call);
	c->has_clone_call = false;
}

/* ---- flushes ---- */

static bool buffer_is_in_group(void *ctx, uint16_t buffer_id)
{
	const struct clone_flush *f = ctx;
	const struct session *s = f->clone->source;
	int i = trace_find_buffer(session_trace(s), buffer_id);

	return i >= 0 && clone_group_of(s, (size_t)i) == f->group;
}

/* Returns true when the memory of all copies is prepared. */
static bool memory_is_prepared(const struct pending_clone *p)
{
	return p->no_memory || p->preparing == trace_n_buffers(session_trace(p->source));
}

/* Clones the groups that are flushed and prepared; with a file, all together at the end. */
static void clone_advance(struct pending_clone *p)
{
	bool ready = true;

	for (size_t g = 0; g < N_GROUPS; g++) {
		const struct clone_flush *f = &p->flushes[g];

		if (f->running || (f->group == GROUP_COPIED && !memory_is_prepared(p)))
			ready = false;
		else if (!f->taken && p->file.fd < 0)
			move_or_copy_group(p, f->group);
	}
	if (ready)
		clone_finish(p);
}

static void clone_on_prepare(void *ctx)
{
	struct pending_clone *p = ctx;
	size_t i = p->preparing;

	if (clone_group_of(p->source, i) == GROUP_MOVED ||
	    trace_buffer_clone_prepare(trace_get_buffer(session_trace(p->source), i),
				       p->result.buffers[i], &p->prepared_bytes,
				       CLONE_PART_BYTES)) {
		p->preparing++;
		p->prepared_bytes = 0;
	}
	if (memory_is_prepared(p))
		clone_advance(p);
	else
		loop_timer_once(&p->prepare, 0, false);
}

static void clone_on_flushed(void *ctx, const struct ipc_call *call, bool success)
{
	struct clone_flush *f = ctx;
	struct pending_clone *p = f->clone;

	f->running = false;
	p->result.flush_failed |= !success;
	p->result.flush_succeeded |= success;
	clone_advance(p);
}

/* Starts the flushes and the preparation of the memory. A source that is not running was flushed
 * when it ended. */
static void begin_flushes_before_clone(struct pending_clone *p, uint64_t flags)
{
	for (size_t g = 0; g < N_GROUPS; g++) {
		struct flush_request request = {.flags = flags,
						.includes = buffer_is_in_group,
						.done = clone_on_flushed,
						.ctx = &p->flushes[g]};

		if (p->flushes[g].wanted)
			p->flushes[g].running = session_flush(p->source, &request) == 0;
		if (!p->flushes[g].running && p->flushes[g].wanted &&
		    session_state(p->source) == SESSION_STARTED)
			p->result.flush_failed = true;
	}
	if (!memory_is_prepared(p))
		loop_timer_once(&p->prepare, 0, false);
	clone_advance(p);
}

/* ---- choice of the source, and permission ---- */

static int32_t effective_bugreport_score(const struct session *s)
{
	return session_state(s) == SESSION_STARTED ? session_config(s)->bugreport_score : 0;
}

static bool may_clone_session(const struct consumer_port *c, const struct session *s)
{
	return c->uid == 0 || c->uid == session_uid(s);
}

static struct session *find_for_bugreport(const struct consumer_port *c)
{
	struct session *s = NULL, *best = NULL;

	while ((s = sessions_next(c->sessions, s)))
		if (may_clone_session(c, s) &&
		    effective_bugreport_score(s) > (best ? effective_bugreport_score(best) : 0))
			best = s;
	return best;
}

static bool clone_has_name(const struct session *s, const char *name)
{
	const char *own = session_config(s)->unique_session_name;

	return session_state(s) != SESSION_CLONED && own && own[0] && !strcmp(own, name);
}

/* Returns the session of this name, or NULL. Each user has names of its own, so the session of this
 * user comes before those of others. */
static struct session *find_by_name(const struct consumer_port *c, const char *name)
{
	struct session *s = NULL, *of_other = NULL;

	while ((s = sessions_next(c->sessions, s)))
		if (clone_has_name(s, name) && session_uid(s) == c->uid)
			return s;
		else if (clone_has_name(s, name))
			of_other = s;
	return of_other;
}

/* Returns the session that the request selects. NULL: there is none, and *ret_error says so. */
static struct session *find_session_to_clone(const struct consumer_port *c,
					     const struct clone_request *r, const char **ret_error)
{
	struct session *s = NULL;

	if (is_bugreport_request(r)) {
		*ret_error = "No tracing sessions eligible for bugreport found";
		return find_for_bugreport(c);
	}
	*ret_error = "Tracing session not found";
	if (r->unique_name)
		return find_by_name(c, r->unique_name);
	while ((s = sessions_next(c->sessions, s)) && session_id(s) != r->session_id)
		;
	return s;
}

static const char *reason_to_refuse(const struct consumer_port *c, const struct session *source,
				    int fd)
{
	if (!may_clone_session(c, source))
		return "Not allowed to clone a session from another UID";
	if (c->session)
		return "The consumer is already attached to another tracing session";
	if (session_file(source) && file_writer_is_closed(session_file(source)))
		return "The session has ended; its trace is in the output file";
	if (session_file(source) && fd < 0)
		return "The session writes to a file, so its clone must write to one, too";
	return NULL;
}

/* ---- the method ---- */

static void on_cloned_session_end(struct session_watch *w)
{
	struct pending_clone *p = container_of(w, struct pending_clone, watch);
	struct consumer_port *c = p->consumer;
	struct ipc_call call = p->call;

	pending_clone_free(p);
	if (send_clone_reply(c, &call, NULL, "Original session ended") < 0)
		ipc_reject(c->conn, &call);
}

/* Creates the clone that the consumer waits for, and takes the trigger out of r. Returns NULL and
 * sets e on failure. */
static struct pending_clone *pending_clone_new(struct consumer_port *c, struct session *source,
					       const struct ipc_call *call, struct clone_request *r,
					       struct err_text *e)
{
	struct pending_clone *p = calloc(1, sizeof(*p));

	err_set(e, 0, "out of memory");
	if (!p || loop_timer_init(&p->prepare, c->sessions->loop, clone_on_prepare, p) < 0 ||
	    session_clone_init(&p->result, source, c->uid, e) < 0) {
		if (p)
			loop_timer_deinit(&p->prepare);
		free(p);
		return NULL;
	}
	p->source = source;
	p->consumer = c;
	p->call = *call;
	p->file.fd = -1;
	for (size_t g = 0; g < N_GROUPS; g++)
		p->flushes[g] = (struct clone_flush){.clone = p, .group = (enum group)g};
	for (size_t i = 0; i < trace_n_buffers(session_trace(source)); i++)
		p->flushes[clone_group_of(source, i)].wanted = true;
	p->result.unfiltered = r->skip_trace_filter || is_bugreport_request(r);
	if (r->has_trigger)
		p->result.trigger = r->trigger;
	if (r->has_trigger)
		r->trigger = (struct received_trigger){0};
	p->watch.session_ends = on_cloned_session_end;
	session_watch(source, &p->watch);
	if (session_file(source))
		file_writer_hold(session_file(source));
	c->clone = p;
	return p;
}

/* Begins the clone, or answers the call with the reason why it is refused. Takes ownership of
 * `passed`, even on failure. Returns 0 or -ENOMEM. */
static int begin_clone(struct consumer_port *c, const struct ipc_call *call,
		       struct clone_request *r, struct passed_file passed)
{
	_cleanup_(passed_file_closep) struct passed_file file = passed;
	const char *error, *refused;
	struct session *source = find_session_to_clone(c, r, &error);
	struct pending_clone *p;
	struct err_text e;
	uint64_t flags = FLUSH_REASON_CLONE | FLUSH_BY_SERVICE;

	if (!source)
		return send_clone_reply(c, call, NULL, error);
	refused = reason_to_refuse(c, source, file.fd);
	if (refused)
		return send_clone_reply(c, call, NULL, refused);
	/* Checked before anything of the source is cleared or moved. */
	if (session_file(source) && file_writer_check_clone(session_file(source), file.fd, &e) < 0)
		return send_clone_reply(c, call, NULL, e.text);
	p = pending_clone_new(c, source, call, r, &e);
	if (!p)
		return send_clone_reply(c, call, NULL, e.text);
	if (session_file(source))
		p->file = passed_file_release(&file);
	p->no_memory = clear_buffers_before_clone(source) < 0 || make_buffer_copies(p) < 0;
	if (r->for_bugreport || is_bugreport_request(r))
		flags |= FLUSH_FOR_BUGREPORT;
	begin_flushes_before_clone(p, flags);
	return 0;
}

int clone_call(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len)
{
	struct consumer_port *c = endpoint;
	struct err_text e;
	_cleanup_(passed_file_closep) struct passed_file file = passed_file_adopt(c->conn, &e);
	_cleanup_(request_deinit) struct clone_request request = {0};
	int r = decode_request(&request, args, len);

	if (r < 0)
		return r;
	clone_cancel(c);
	if (e.text[0])
		return send_clone_reply(c, call, NULL, e.text);
	return begin_clone(c, call, &request, passed_file_release(&file));
}

void clone_cancel(struct consumer_port *c)
{
	struct pending_clone *p = c->clone;
	struct ipc_call call;

	if (!p)
		return;
	call = p->call;
	pending_clone_free(p);
	ipc_reject(c->conn, &call);
}
