/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A producer and a consumer say what the input tells them to, to a service in this process; the
 * producer writes into its shared memory between. Whatever it is: every request that wants a reply
 * gets one or waits for its time, and when both have hung up nothing of them is left.
 *
 *	input	| what | len | len bytes | what | len | len bytes | ...		len: 2 bytes
 *	what	bit 7: the consumer, else the producer	bits 5..0: the method; 63: a raw frame,
 *		bit 6: no reply is wanted		62: bytes into the shared memory at an
 *							offset; 61: bytes as they are, with a
 *							descriptor: a memory, or (bit 6) none
 */
#include <fcntl.h>

#include "fuzz_service.h"
#include "service/session/session_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define CONFIG                                                                                     \
	"buffers { size_kb: 64 } buffers { size_kb: 8 fill_policy: DISCARD } "                     \
	"data_sources { config { name: 'src' } } "                                                 \
	"data_sources { config { name: 'src' target_buffer: 1 } }"

enum { RAW = 63, MEMORY = 62, BYTES = 61, CONSUMER = 0x80, QUIET = 0x40, MAX_CALLS = 64 };

static struct peer producer, consumer;
static int memory_fd; /* such as a producer may bring */

static void act(uint8_t what, const uint8_t *data, size_t len, struct peer_session *s)
{
	struct peer *p = what & CONSUMER ? &consumer : &producer;
	uint32_t method = what & RAW;

	if (method == RAW) {
		peer_send_frame(p, data, len, -1);
	} else if (method == BYTES) {
		peer_send_raw(p, data, len, what & QUIET ? -1 : memory_fd);
	} else if (method == MEMORY) {
		size_t at = len >= 2 ? (size_t)(data[0] | data[1] << 8) * 4 % s->smb_size : 0;

		len = len >= 2 ? len - 2 : 0;
		if (len > s->smb_size - at)
			len = s->smb_size - at;
		memcpy(s->smb.base + at, data + 2, len);
	} else {
		peer_call_as(p, 1, method, what & QUIET, data, len, -1);
	}
	fuzz_pump(NULL);
	fuzz_drain(&producer);
	fuzz_drain(&consumer);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	fuzz_service_begin();
	memory_fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	MUST(memory_fd >= 0 && ftruncate(memory_fd, 16384) == 0);
	MUST(fcntl(memory_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
	return 0;
}

/* What may outlive the two: a session that was detached, and the lockdown. */
static void end_detached(void)
{
	struct session *s;

	while ((s = TAILQ_FIRST(&service->sessions.list))) {
		assert(session_is_detached(s) && s->detach_key);
		session_free(s);
	}
	service->producers.lockdown = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct peer_session s = {0};
	uint64_t stream;

	fuzz_plug_in_producer(&producer);
	fuzz_plug_in_consumer(&consumer);
	stream = peer_become_producer(&producer, "p", "src", DS_NOTIFY_STOP, true);
	peer_enable(&consumer, CONFIG);
	MUST(peer_await_session(&producer, stream, false, &s));
	for (int i = 0; i < MAX_CALLS && size >= 3; i++) {
		size_t len = (size_t)(data[1] | data[2] << 8) % 4096;

		if (len > size - 3)
			len = size - 3;
		act(data[0], data + 3, len, &s);
		data += 3 + len;
		size -= 3 + len;
	}
	peer_unmap(&s);
	peer_close(&producer);
	peer_close(&consumer);
	for (int i = 0; i < 8; i++)
		fuzz_pump(NULL);
	end_detached();
	fuzz_service_must_be_empty();
	return 0;
}
