/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer of another machine, which is a producer and a relay, says what the input tells it to,
 * while a session of all machines is read. What must hold: the peer belongs to another machine,
 * and none of its users is root; every packet that is read parses, and ends with the number of its
 * machine; when all peers have disconnected, nothing of them is left.
 *
 *	input	| what | len | len bytes | what | len | len bytes | ...		len: 2 bytes
 *	what	bit 7: of RelayPort		bits 5..0: the method; 63: SetPeerIdentity,
 *		bit 6: no reply is wanted	62: a raw frame, 61: the session is read
 */
#include "fuzz_service.h"
#include "service/ipc/remote_machines.h"
#include "service/producer/producer_port.h"
#include "service/session/session_state.h"
#include "unit/../system/service_peer_remote.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define CONFIG                                                                                     \
	"trace_all_machines: true "                                                                \
	"buffers { size_kb: 64 } buffers { size_kb: 8 fill_policy: DISCARD } "                     \
	"data_sources { config { name: 'src' } } "                                                 \
	"data_sources { config { name: 'src' target_buffer: 1 } }"

enum {
	METHOD = 63,
	IDENTITY = 63,
	RAW = 62,
	READ = 61,
	RELAY = 0x80,
	QUIET = 0x40,
	MAX_CALLS = 64
};

static struct peer remote, consumer;

static void plug_in_remote(void)
{
	struct ipc_peer who = {.is_remote = true,
			       .uid = UID_UNKNOWN,
			       .machine_id = 1,
			       .address = {.family = AF_INET, .ip = {10, 0, 0, 1}}};
	int fds[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
	MUST(ipc_host_adopt_peer(service->producer_host, fds[0], &service->entrances[1], &who) ==
	     0);
	peer_init(&remote, fds[1]);
	remote.pump = fuzz_pump;
}

static void check_packet(const struct peer_packets *t, size_t i)
{
	struct pb_field text, machine;

	/* Only the test producers write this field. */
	if (!peer_packet_field(t, i, PEER_FIELD, &text))
		return;
	MUST(peer_packet_field(t, i, PB_TRACE_PACKET_MACHINE_ID, &machine));
	MUST(machine.wire_type == PB_WIRE_VARINT && machine.u64 != 0);
}

static void read_session(void)
{
	struct peer_packets t;

	fuzz_drain(&consumer);
	MUST(peer_read(&consumer, &t));
	for (size_t i = 0; i < t.n; i++)
		check_packet(&t, i);
	peer_packets_free(&t);
}

static void identify(const uint8_t *data, size_t len)
{
	struct pb_mem m;

	MUST(pb_mem_init(&m) == 0);
	pb_enc_bytes(&m.enc, PB_IPC_FRAME_SET_PEER_IDENTITY, data, len);
	peer_send_frame(&remote, m.buf, pb_mem_len(&m), -1);
	pb_mem_deinit(&m);
}

static void act(uint8_t what, const uint8_t *data, size_t len)
{
	const struct producer_port *p;

	switch (what & METHOD) {
	case IDENTITY:
		identify(data, len);
		break;
	case RAW:
		peer_send_frame(&remote, data, len, -1);
		break;
	case READ:
		read_session();
		break;
	default:
		peer_call_as(&remote, what & RELAY ? PEER_RELAY : 1, what & METHOD, what & QUIET,
			     data, len, -1);
	}
	fuzz_pump(NULL);
	fuzz_drain(&remote);
	MUST(service->machines.n <= MAX_MACHINES);
	TAILQ_FOREACH (p, &service->producers.list, link)
		MUST(p->peer->is_remote && p->peer->uid != 0 && p->peer->machine_id != 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	fuzz_service_begin();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* So that an input names the same buffers in each run. */
	service->sessions.last_buffer_id = 0;
	plug_in_remote();
	fuzz_plug_in_consumer(&consumer);
	peer_enable(&consumer, CONFIG);
	for (int i = 0; i < MAX_CALLS && size >= 3; i++) {
		size_t len = (size_t)(data[1] | data[2] << 8) % 4096;

		if (len > size - 3)
			len = size - 3;
		act(data[0], data + 3, len);
		data += 3 + len;
		size -= 3 + len;
	}
	read_session();
	peer_close(&remote);
	peer_close(&consumer);
	for (int i = 0; i < 8; i++)
		fuzz_pump(NULL);
	remote_machines_deinit(&service->machines);
	fuzz_service_must_be_empty();
	return 0;
}
