/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/mem.h"
#include "unit/fake_port.h"
#include "gen/fields.h"
#include "ipc/consumer_port.pb-c.h"
#include "wire/pb_dec.h"

/*
 * A tracing service with one session, on the test's loop. It answers as a service should, but where
 * its script says otherwise.
 */
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
	uint64_t bytes_waiting; /* in the buffer, told with the counters */
	uint64_t session_id; /* told with the counters; 0 not */
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
	Pb__EnableTracingResponse m = PB__ENABLE_TRACING_RESPONSE__INIT;

	if (s->file > 0 && s->writes_file)
		fake_write_file(s);
	m.state_case = PB__ENABLE_TRACING_RESPONSE__STATE_DISABLED;
	m.disabled = true;
	m.error = (char *)s->enable_error;
	fake_reply_msg(&s->port, s->enable_id, false, &m.base);
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
	Pb__QueryServiceStateResponse m = PB__QUERY_SERVICE_STATE_RESPONSE__INIT;
	Pb__TracingServiceState state = PB__TRACING_SERVICE_STATE__INIT;
	Pb__TracingServiceState__Producer producer = PB__TRACING_SERVICE_STATE__PRODUCER__INIT;
	Pb__TracingServiceState__Producer *producers[] = {&producer};
	Pb__TracingServiceState__DataSource source = PB__TRACING_SERVICE_STATE__DATA_SOURCE__INIT;
	Pb__TracingServiceState__DataSource *sources[] = {&source};
	Pb__DataSourceDescriptor descriptor = PB__DATA_SOURCE_DESCRIPTOR__INIT;
	Pb__FtraceDescriptor ftrace = PB__FTRACE_DESCRIPTOR__INIT;

	ftrace.has_knows_own_fields = ftrace.knows_own_fields = s->knows_own_fields;
	descriptor.name = (char *)"linux.ftrace";
	descriptor.ftrace_descriptor = &ftrace;
	source.ds_descriptor = &descriptor;
	state.n_data_sources = s->has_ftrace;
	state.data_sources = sources;
	producer.name = (char *)"sonda.probes";
	producer.has_pid = true;
	producer.pid = s->probes_pid;
	state.n_producers = s->probes_pid != 0;
	state.producers = producers;
	state.has_num_sessions = true;
	state.num_sessions = 3;
	m.service_state = &state;
	fake_reply_msg(&s->port, id, false, &m.base);
}

static inline void fake_answer_stats(struct fake_session *s, uint64_t id)
{
	Pb__GetTraceStatsResponse m = PB__GET_TRACE_STATS_RESPONSE__INIT;
	Pb__TraceStats__BufferStats buffer = PB__TRACE_STATS__BUFFER_STATS__INIT;
	Pb__TraceStats__BufferStats *buffers[] = {&buffer};
	Pb__TraceStats stats = PB__TRACE_STATS__INIT;

	buffer.has_bytes_written = true;
	buffer.bytes_written = 21400000;
	buffer.has_bytes_read = true;
	buffer.bytes_read = 21400000 - s->bytes_waiting;
	stats.n_buffer_stats = 1;
	stats.buffer_stats = buffers;
	stats.has_tracing_session_id = s->session_id != 0;
	stats.tracing_session_id = s->session_id;
	stats.has_tracing_sessions = true;
	stats.tracing_sessions = 5;
	m.trace_stats = &stats;
	fake_reply_msg(&s->port, id, false, &m.base);
}

static inline void fake_tell_started(struct fake_session *s, uint64_t id)
{
	Pb__ObserveEventsResponse m = PB__OBSERVE_EVENTS_RESPONSE__INIT;
	Pb__ObservableEvents events = PB__OBSERVABLE_EVENTS__INIT;

	if (s->never_started)
		return;
	events.has_all_data_sources_started = events.all_data_sources_started = true;
	m.events = &events;
	fake_reply_msg(&s->port, id, true, &m.base);
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
	Pb__ObservableEvents__CloneTriggerHit hit = PB__OBSERVABLE_EVENTS__CLONE_TRIGGER_HIT__INIT;
	Pb__ObserveEventsResponse m = PB__OBSERVE_EVENTS_RESPONSE__INIT;
	Pb__ObservableEvents events = PB__OBSERVABLE_EVENTS__INIT;

	hit.has_tracing_session_id = true;
	hit.tracing_session_id = 7;
	hit.trigger_name = (char *)name;
	events.clone_trigger_hit = &hit;
	m.events = &events;
	fake_reply_msg(&s->port, s->observe_id, true, &m.base);
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
		s->file = msgsock_take_fd(p->peer);
		if (s->end_at_once)
			fake_end_tracing(s);
	} else if (!strcmp(method, "ReadBuffers")) {
		fake_send_packets(s, id);
	} else if (!strcmp(method, "QueryServiceState")) {
		fake_answer_state(s, id);
	} else if (!strcmp(method, "GetTraceStats")) {
		fake_answer_stats(s, id);
	} else if (!strcmp(method, "CloneSession")) {
		fake_answer_clone(s, id, args, len);
	} else if (!strcmp(method, "ObserveEvents")) {
		s->observe_id = id;
		fake_tell_started(s, id);
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
