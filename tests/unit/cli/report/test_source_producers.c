/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/report/recording_sources.c"
#include "config/text.h"
#include "unit/test.h"

#define CONFIG                                                                                     \
	"buffers { size_kb: 64 } data_sources { config { name: 'linux.ftrace' } }"                 \
	"data_sources { config { name: 'linux.process_stats' } }"                                  \
	"data_sources { config { name: 'track_event' } }"

/* Producer 3 is gone at the end and 5 is new; 4 provides what nobody asked for. */
#define BEFORE                                                                                     \
	"producers { id: 3 name: 'probes' pid: 300 } producers { id: 4 name: 'other' pid: 400 }"   \
	"producers { id: 9 name: 'app' pid: 900 }"                                                 \
	"data_sources { producer_id: 3 ds_descriptor { name: 'linux.ftrace' } }"                   \
	"data_sources { producer_id: 3 ds_descriptor { name: 'linux.process_stats' } }"            \
	"data_sources { producer_id: 4 ds_descriptor { name: 'linux.perf' } }"                     \
	"data_sources { producer_id: 9 ds_descriptor { name: 'track_event' } }"                    \
	"data_sources { producer_id: 77 ds_descriptor { name: 'linux.ftrace' } }"
#define AFTER "producers { id: 5 name: 'probes' pid: 300 }"

static ProtobufCMessage *parse(const ProtobufCMessageDescriptor *type, const char *text)
{
	struct strbuf errors = {0};
	ProtobufCMessage *m;

	if (text_parse(type, "test", text, strlen(text), &errors, &m))
		fail_msg("%s", errors.s);
	return m;
}

static void gone_between(const char *before, const char *after, struct name_list *ret)
{
	ProtobufCMessage *config = parse(&pb__trace_config__descriptor, CONFIG);
	ProtobufCMessage *first = parse(&pb__tracing_service_state__descriptor, before);
	ProtobufCMessage *last = parse(&pb__tracing_service_state__descriptor, after);
	struct source_producers p = {0};

	source_producers_note(&p, (Pb__TraceConfig *)config, (Pb__TracingServiceState *)first);
	source_producers_list_gone(&p, (Pb__TracingServiceState *)last, ret);
	source_producers_deinit(&p);
	protobuf_c_message_free_unpacked(config, NULL);
	protobuf_c_message_free_unpacked(first, NULL);
	protobuf_c_message_free_unpacked(last, NULL);
}

TEST(test_nobody_went)
{
	struct name_list gone = {0};

	gone_between(BEFORE, BEFORE, &gone);
	assert_int_equal(gone.n, 0);
	gone_between("", AFTER, &gone);
	assert_int_equal(gone.n, 0);
}

/* Told once, and not made good by a successor; programs may come and go. */
TEST(test_a_daemon_that_was_relied_on)
{
	struct name_list gone = {0};

	gone_between(BEFORE, AFTER, &gone);
	assert_int_equal(gone.n, 1);
	assert_string_equal(gone.names[0], "probes (pid 300)");
	name_list_deinit(&gone);
}
