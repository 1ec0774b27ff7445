/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a trace config, in text or serialized, with which a consumer enables tracing in a
 * service in this process; a producer has some of the data sources that configs name. What must
 * hold: it runs, or it is refused with a reason; a session that runs does all that is asked of it;
 * and nothing is left of it.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "config/trace_config.h"
#include "fuzz_service.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static const char *const sources[] = {"linux.ftrace", "linux.process_stats", "linux.sys_stats",
				      "src"};

static struct peer producer, consumer; /* large */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	fuzz_service_begin();
	return 0;
}

/* What would reach the machine that this runs on. */
static void tame(Pb__TraceConfig *config)
{
	free(config->output_path);
	config->output_path = NULL;
	if (config->priority_boost)
		pb__priority_boost_config__free_unpacked(config->priority_boost, NULL);
	config->priority_boost = NULL;
}

static uint64_t enable(const uint8_t *data, size_t size)
{
	struct strbuf errors = {0};
	Pb__TraceConfig *config;
	struct pb_mem m;
	uint8_t *packed;
	size_t len;
	int fd = -1;

	MUST(pb_mem_init(&m) == 0);
	if (trace_config_load("fuzz", data, size, TRACE_CONFIG_DETECT, &errors, &config) == 0) {
		tame(config);
		if (config->write_into_file)
			fd = memfd_create("fuzz", MFD_CLOEXEC);
		len = pb__trace_config__get_packed_size(config);
		packed = malloc(len + 1);
		MUST(packed);
		pb__trace_config__pack(config, packed);
		pb_enc_bytes(&m.enc, PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG, packed, len);
		free(packed);
		pb__trace_config__free_unpacked(config, NULL);
	} else {
		pb_enc_bytes(&m.enc, PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG, data, size);
	}
	strbuf_deinit(&errors);
	peer_call_as(&consumer, 1, C_ENABLE, false, m.buf, pb_mem_len(&m), fd);
	pb_mem_deinit(&m);
	if (fd >= 0)
		close(fd);
	return consumer.last_id;
}

/* Refused means: it has said why, or that the request is none. */
static bool is_refused(uint64_t id)
{
	struct pb_field f;

	if (!peer_next_in(&consumer, 0))
		return false;
	if (consumer.f.request_id != id || consumer.f.has_more)
		abort();
	MUST(!consumer.f.success || peer_field(&consumer, PB_ENABLE_TRACING_RESPONSE_DISABLED, &f));
	return true;
}

static void use_session(void)
{
	static const uint32_t calls[] = {C_STATS,   C_QUERY_STATE, C_FLUSH, C_READ,
					 C_DISABLE, C_STATS,	   C_READ,  C_FREE};

	peer_call(&consumer, C_START, NULL, 0);
	peer_trigger(&producer, "trigger");
	fuzz_drain(&producer);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		peer_call(&consumer, calls[i], NULL, 0);
		fuzz_drain(&consumer);
		fuzz_drain(&producer);
		peer_ack_flush(&producer, UINT64_MAX);
	}
	fuzz_drain(&consumer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 65536)
		return -1;
	fuzz_plug_in_producer(&producer);
	fuzz_plug_in_consumer(&consumer);
	peer_become_producer(&producer, "p", "first", DS_CLEARS, true);
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		peer_register(&producer, sources[i], i % 2 ? DS_NOTIFY_STOP : DS_NOTIFY_START);
	fuzz_drain(&producer);
	if (!is_refused(enable(data, size)))
		use_session();
	MUST(!consumer.eof && !producer.eof);
	/* A thread writes the file of a session; the session goes when it has answered. */
	for (int i = 0; i < 10000 && !TAILQ_EMPTY(&service->sessions.list); i++) {
		fuzz_pump(NULL);
		usleep(100);
	}
	MUST(TAILQ_EMPTY(&service->sessions.list));
	service->producers.lockdown = false;
	peer_close(&producer);
	peer_close(&consumer);
	fuzz_service_must_be_empty();
	return 0;
}
