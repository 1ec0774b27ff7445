/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sessions of sonda top, as a service sees them. Its screens and keys are in
 * tests/system/test_top.sh.
 */

#include "base/core/clock.h"
#include "cli/terminal/verb.h"
#include "unit/cli/verb_child.h"
#include "wire/pb_enc.h"

static char *configs[8]; /* of the sessions, as text */
static size_t n_sessions;
static bool has_ebpf; /* a producer offers eBPF counters, */
static const char *lacking; /* and reports that it lacks these families: "cpu_time processes" */
static unsigned n_reads; /* of the last session */

static void lack(struct pb_enc *e, const char *family, size_t len)
{
	pb_enc_open(e, PB_EBPF_COUNTERS_STATS_FAILURES);
	pb_enc_bytes(e, PB_EBPF_COUNTERS_STATS_FAILURE_WHAT, family, len);
	pb_enc_str(e, PB_EBPF_COUNTERS_STATS_FAILURE_REASON, "the kernel has none");
	pb_enc_close(e);
}

static void send_failures(struct fake_port *p, uint64_t id)
{
	struct pb_mem reply;
	struct pb_enc *e = &reply.enc;

	assert_int_equal(pb_mem_init(&reply), 0);
	pb_enc_open(e, PB_READ_BUFFERS_RESPONSE_SLICES);
	pb_enc_open(e, PB_READ_BUFFERS_RESPONSE_SLICE_DATA);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_open(e, PB_TRACE_PACKET_EBPF_COUNTERS_STATS);
	for (const char *at = lacking; *at; at += strcspn(at, " "), at += *at == ' ')
		lack(e, at, strcspn(at, " "));
	pb_enc_close(e);
	pb_enc_close(e);
	pb_enc_bool(e, PB_READ_BUFFERS_RESPONSE_SLICE_LAST_SLICE_FOR_PACKET, true);
	pb_enc_close(e);
	fake_reply(p, id, false, reply.buf, pb_mem_len(&reply));
	pb_mem_deinit(&reply);
}

static void on_call(struct fake_port *p, const char *method, uint64_t id, const uint8_t *args,
		    size_t len)
{
	if (!strcmp(method, "EnableTracing")) {
		assert_true(n_sessions < ARRAY_SIZE(configs));
		service.never_started = n_sessions == 1;
		configs[n_sessions++] = config_text(args, len);
		n_reads = 0;
	}
	if (!strcmp(method, "QueryServiceState") && has_ebpf) {
		fake_reply_text(p, id, false, &pb__query_service_state_response__descriptor,
				"service_state { data_sources { ds_descriptor { "
				"name: 'linux.ebpf_counters' } } }");
		return;
	}
	if (!strcmp(method, "ReadBuffers") && ++n_reads && lacking) {
		send_failures(p, id);
		return;
	}
	fake_session_call(p, method, id, args, len);
}

/* Once: a second signal would kill a child that is about to exit. */
static void end_child(void)
{
	while_it_runs = NULL;
	kill(child, SIGTERM);
}

/* The second session takes half a second to start, many periods; later one of its reads ends it. */
static void drive(void)
{
	static unsigned waits;

	waits = n_sessions < 2 ? 0 : waits + 1;
	if (waits == 50) {
		service.never_started = false;
		lacking = NULL;
		fake_report_started(&service, service.observe_id);
	}
	if (n_sessions == 2 && n_reads > 2)
		end_child();
}

static void run_top(bool ebpf, const char *families)
{
	has_ebpf = ebpf;
	lacking = families;
	n_sessions = n_reads = 0;
	service.port.on_call = on_call;
	while_it_runs = drive;
	assert_int_equal(verb_run(cmd_top, "top --batch -d 0.1"), 0);
}

static void free_configs(void)
{
	for (size_t i = 0; i < n_sessions; i++)
		free(configs[i]);
}

VERB_TEST(without_a_list_of_processes_the_session_is_replaced_once)
{
	run_top(true, "processes");
	assert_int_equal(n_sessions, 2);
	assert_non_null(strstr(configs[0], "families: PROCESSES\n"));
	assert_null(strstr(configs[0], "linux.process_stats"));
	assert_non_null(strstr(configs[1], "linux.ebpf_counters"));
	assert_null(strstr(configs[1], "families: PROCESSES\n"));
	assert_non_null(strstr(configs[1], "linux.process_stats"));
	free_configs();
}

VERB_TEST(without_cpu_time_the_counters_are_those_of_proc)
{
	run_top(true, "processes cpu_time");
	assert_int_equal(n_sessions, 2);
	assert_null(strstr(configs[1], "linux.ebpf_counters"));
	assert_non_null(strstr(configs[1], "record_thread_sched: true"));
	free_configs();
}

static void end_after_reads(void)
{
	if (n_reads > 2)
		end_child();
}

VERB_TEST(without_a_producer_of_ebpf_counters_the_first_session_is_that_of_proc)
{
	has_ebpf = false;
	lacking = NULL;
	n_sessions = n_reads = 0;
	service.port.on_call = on_call;
	while_it_runs = end_after_reads;
	assert_int_equal(verb_run(cmd_top, "top --batch -d 0.1"), 0);
	assert_int_equal(n_sessions, 1);
	assert_null(strstr(configs[0], "linux.ebpf_counters"));
	assert_non_null(strstr(configs[0], "record_thread_sched: true"));
	free_configs();
}

VERB_TEST(a_session_that_the_service_ends_is_a_failure)
{
	service.end_when_started = true;
	assert_int_equal(verb_run(cmd_top, "top --batch -d 0.1"), 1);
	assert_true(says("the tracing service ended the session"));
	service.leave = "EnableTracing";
	assert_int_equal(verb_run(cmd_top, "top --batch -d 0.1"), 1);
	assert_true(says("the tracing service disconnected while recording"));
}
