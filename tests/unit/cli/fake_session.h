/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/mem.h"
#include "gen/fields.h"
#include "ipc/consumer_port.pb-c.h"
#include "unit/fake_port.h"
#include "wire/pb_dec.h"

/* A tracing service with one session, on the test's loop. It answers as a service should, but where
 * its script says otherwise. */
struct fake_session {
	struct fake_port port;
	const char *silent; /* never answers this method */
	const char *refuse; /* refuses this one */
	const char *leave; /* hangs up instead of answering this one */
	const char *leave_after_reading; /* the same, once the trace was read */
	const char *enable_error; /* the text of the end of tracing */
	bool end_at_once; /* tracing ends when it began: the time is over */
	bool end_when_started; /* or when all data sources had started */
	const uint8_t *slices; /* of the one ReadBuffersResponse; NULL: "one" and "two" */
	size_t slices_len;
	int probes_pid; /* of a producer "sonda.probes"; 0: there is none */
	bool has_ftrace; /* it offers linux.ftrace, */
	bool knows_own_fields; /* and is sonda's */
	bool never_started; /* a data source hangs */
	bool is_cloned; /* CloneSession is good, */
	const char *clone_error; /* or fails with this text */
	bool clone_is_written; /* into the descriptor, as of a session that writes a file */
	char cloned[128]; /* which session, and why: "7 late" */
	bool writes_file; /* the packets into the file that is passed, when tracing ends */
	bool write_failed;
	bool leaves_part; /* when it hangs up it has written the packets, and a part of another */
	bool slices_once; /* the first ReadBuffers has them, later ones have none */
	int file; /* passed with EnableTracing; -1 or 0: none */
	uint64_t bytes_waiting; /* in the buffer, sent with the counters */
	uint64_t session_id; /* sent with the counters; 0: it is not */
	uint64_t enable_id; /* the open EnableTracing */
	uint64_t observe_id; /* the open ObserveEvents */
};

/* The data of the slices, as the packets of a file: each is a whole one. */
static inline void fake_write_file(struct fake_session *s)
{
	struct pb_field slice, f;
	struct pb_dec all, one;
	struct pb_mem m;

	pb_mem_init(&m);
	pb_dec_init(&all, s->slices, s->slices_len);
	while (pb_dec_next(&all, &slice)) {
		pb_dec_init(&one, slice.data, slice.len);
		while (pb_dec_next(&one, &f))
			if (f.id == PB_READ_BUFFERS_RESPONSE_SLICE_DATA)
				pb_enc_bytes(&m.enc, PB_TRACE_PACKET, f.data, f.len);
	}
	if (s->leaves_part)
		pb_enc_header(&m.enc, PB_TRACE_PACKET, 1);
	if (write(s->file, m.buf, pb_mem_len(&m)) < 0)
		s->write_failed = true;
	pb_mem_deinit(&m);
	close(s->file);
	s->file = 0;
}

static inline void fake_end_tracing(struct fake_session *s)
{
	if (s->file > 0 && s->writes_file)
		fake_write_file(s);
	fake_reply_text(&s->port, s->enable_id, false, &pb__enable_tracing_response__descriptor,
			s->enable_error ? "disabled: true error: '%s'" : "disabled: true",
			s->enable_error);
}

static inline void fake_send_packets(struct fake_session *s, uint64_t id)
{
	static const uint8_t first[] = {0x12, 0x06, 0x0a, 0x02, 'o', 'n',  0x10, 0x00,
					0x12, 0x05, 0x0a, 0x01, 'e', 0x10, 0x01};
	static const uint8_t second[] = {0x12, 0x07, 0x0a, 0x03, 't', 'w', 'o', 0x10, 0x01};

	s->leave = s->leave_after_reading ? s->leave_after_reading : s->leave;
	if (s->slices) {
		fake_reply(&s->port, id, false, s->slices, s->slices_len);
		if (s->slices_once) {
			s->slices = (const uint8_t *)"";
			s->slices_len = 0;
		}
		return;
	}
	fake_reply(&s->port, id, true, first, sizeof(first));
	fake_reply(&s->port, id, false, second, sizeof(second));
}

static inline void fake_answer_state(struct fake_session *s, uint64_t id)
{
	char producer[64] = "", source[128] = "";

	if (s->probes_pid)
		snprintf(producer, sizeof(producer), "producers { name: 'sonda.probes' pid: %d }",
			 s->probes_pid);
	if (s->has_ftrace)
		snprintf(source, sizeof(source),
			 "data_sources { ds_descriptor { name: 'linux.ftrace' ftrace_descriptor { "
			 "%s } } }",
			 s->knows_own_fields ? "knows_own_fields: true" : "");
	fake_reply_text(&s->port, id, false, &pb__query_service_state_response__descriptor,
			"service_state { %s %s num_sessions: 3 }", producer, source);
}

static inline void fake_answer_stats(struct fake_session *s, uint64_t id)
{
	char session[64] = "";

	if (s->session_id)
		snprintf(session, sizeof(session), "tracing_session_id: %llu",
			 (unsigned long long)s->session_id);
	fake_reply_text(&s->port, id, false, &pb__get_trace_stats_response__descriptor,
			"trace_stats { buffer_stats { bytes_written: 21400000 bytes_read: %llu } "
			"tracing_sessions: 5 %s }",
			(unsigned long long)(21400000 - s->bytes_waiting), session);
}

static inline void fake_report_started(struct fake_session *s, uint64_t id)
{
	if (!s->never_started)
		fake_reply_text(&s->port, id, true, &pb__observe_events_response__descriptor,
				"events { all_data_sources_started: true }");
}

static inline void fake_answer_clone(struct fake_session *s, uint64_t id, const uint8_t *args,
				     size_t len)
{
	Pb__CloneSessionRequest *asked = pb__clone_session_request__unpack(NULL, len, args);
	Pb__CloneSessionResponse m = PB__CLONE_SESSION_RESPONSE__INIT;

	snprintf(s->cloned, sizeof(s->cloned), "%llu %s", (unsigned long long)asked->session_id,
		 asked->clone_trigger_name ? asked->clone_trigger_name : "");
	pb__clone_session_request__free_unpacked(asked, NULL);
	m.has_success = true;
	m.success = s->is_cloned;
	m.error = (char *)s->clone_error;
	m.has_was_write_into_file = m.was_write_into_file = s->clone_is_written;
	fake_reply_msg(&s->port, id, false, &m.base);
}

/* A trigger whose delay is over. */
static inline void fake_trigger(struct fake_session *s, const char *name)
{
	fake_reply_text(&s->port, s->observe_id, true, &pb__observe_events_response__descriptor,
			"events { clone_trigger_hit { tracing_session_id: 7 trigger_name: '%s' } }",
			name);
}

static inline void fake_session_call(struct fake_port *p, const char *method, uint64_t id,
				     const uint8_t *args, size_t len)
{
	struct fake_session *s = p->ctx;

	if (s->silent && !strcmp(method, s->silent))
		return;
	if (s->refuse && !strcmp(method, s->refuse)) {
		fake_refuse(p, id);
	} else if (s->leave && !strcmp(method, s->leave)) {
		if (s->leaves_part)
			fake_write_file(s);
		fake_hang_up(p);
	} else if (!strcmp(method, "EnableTracing")) {
		s->enable_id = id;
		s->file = msgsock_pop_fd(p->peer);
		if (s->end_at_once)
			fake_end_tracing(s);
	} else if (!strcmp(method, "ReadBuffers")) {
		fake_send_packets(s, id);
	} else if (!strcmp(method, "QueryServiceState")) {
		fake_answer_state(s, id);
	} else if (!strcmp(method, "GetTraceStats")) {
		fake_answer_stats(s, id);
	} else if (!strcmp(method, "CloneSession")) {
		s->file = msgsock_pop_fd(p->peer);
		if (s->file > 0 && s->clone_is_written)
			fake_write_file(s);
		fake_answer_clone(s, id, args, len);
	} else if (!strcmp(method, "ObserveEvents")) {
		s->observe_id = id;
		fake_report_started(s, id);
		if (s->end_when_started)
			fake_end_tracing(s);
	} else {
		fake_reply(p, id, false, NULL, 0);
		if (!strcmp(method, "DisableTracing"))
			fake_end_tracing(s);
	}
}

static inline void fake_session_open(struct fake_session *s, struct event_base *loop)
{
	s->port.methods = fake_consumer_methods;
	s->port.n_methods = ARRAY_SIZE(fake_consumer_methods);
	s->port.on_call = fake_session_call;
	s->port.ctx = s;
	fake_port_open(&s->port, loop);
}
