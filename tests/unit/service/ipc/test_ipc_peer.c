/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "gen/fields.h"
#include "service/ipc/ipc_peer.h"
#include "unit/test.h"
#include "wire/pb_enc.h"

static struct ipc_peer remote(void)
{
	struct ipc_peer p = {.is_remote = true,
			     .uid = UID_UNKNOWN,
			     .machine_id = 5,
			     .address = {.family = AF_INET, .ip = {10, 0, 0, 1}}};

	return p;
}

/* What SetPeerIdentity would say; NULL: not said. */
static void introduce(struct ipc_peer *p, int32_t uid, int32_t pid, const void *hint,
		      size_t hint_len, const void *name, size_t name_len)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_i64(&m.enc, PB_IPC_FRAME_SET_PEER_IDENTITY_PID, pid);
	pb_enc_i64(&m.enc, PB_IPC_FRAME_SET_PEER_IDENTITY_UID, uid);
	if (hint)
		pb_enc_bytes(&m.enc, PB_IPC_FRAME_SET_PEER_IDENTITY_MACHINE_ID_HINT, hint,
			     hint_len);
	if (name)
		pb_enc_bytes(&m.enc, PB_IPC_FRAME_SET_PEER_IDENTITY_MACHINE_NAME, name, name_len);
	ipc_peer_set_identity(p, m.buf, pb_mem_len(&m));
	pb_mem_deinit(&m);
}

TEST(on_unix_sockets_the_kernel_says_who_it_is)
{
	struct ipc_peer p;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(ipc_peer_identify(fds[0], NULL, &p), 0);
	introduce(&p, 77, 78, "hint", 4, "name", 4);
	assert_false(p.is_remote);
	assert_int_equal(p.uid, getuid());
	assert_int_equal(p.pid, getpid());
	assert_int_equal(p.machine_id, 0);
	assert_null(p.machine_name);
	ipc_peer_deinit(&p);
	close(fds[0]);
	close(fds[1]);
}

TEST(remote_peer_says_who_it_is_once)
{
	struct ipc_peer p = remote();
	uint32_t id;

	introduce(&p, 1000, 42, "a", 1, "guest", 5);
	assert_int_equal(p.uid, 1000);
	assert_int_equal(p.pid, 42);
	id = p.machine_id;
	assert_true(id != 0 && id != 5);
	assert_string_equal(p.machine_name, "guest");
	introduce(&p, 1001, 43, "b", 1, "other", 5);
	assert_int_equal(p.uid, 1000);
	assert_int_equal(p.machine_id, id);
	assert_string_equal(p.machine_name, "guest");
	ipc_peer_deinit(&p);
}

static uint32_t machine_id(const struct remote_address *address, const char *hint)
{
	struct ipc_peer p = remote();

	p.address = *address;
	introduce(&p, 1000, 42, hint, strlen(hint), NULL, 0);
	ipc_peer_deinit(&p);
	return p.machine_id;
}

/* All connections of a machine have its id, and no other machine gets it by the same hint. */
TEST(machine_is_known_by_its_address_and_hint)
{
	const struct remote_address a = {.family = AF_INET, .ip = {10, 0, 0, 1}},
				    b = {.family = AF_INET, .ip = {10, 0, 0, 2}},
				    c = {.family = AF_VSOCK, .cid = 1},
				    d = {.family = AF_VSOCK, .cid = 2};
	const struct remote_address *all[] = {&a, &b, &c, &d};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		assert_int_equal(machine_id(all[i], "x"), machine_id(all[i], "x"));
		assert_int_not_equal(machine_id(all[i], "x"), machine_id(all[i], "y"));
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(machine_id(all[i], "x"), machine_id(all[j], "x"));
	}
}

TEST(root_of_another_machine_is_nobody_here)
{
	static const int32_t uids[] = {0, -1, INT32_MIN};

	for (size_t i = 0; i < 3; i++) {
		struct ipc_peer p = remote();

		introduce(&p, uids[i], -5, NULL, 0, NULL, 0);
		assert_int_equal(p.uid, UID_UNKNOWN);
		assert_int_equal(p.pid, 0);
		assert_int_equal(p.machine_id, 5); /* still by its address */
		ipc_peer_deinit(&p);
	}
}

TEST(bad_names_are_none)
{
	static char longest[MAX_MACHINE_NAME + 1];
	const struct {
		const void *bytes;
		size_t len;
	} names[] = {{"", 0}, {"a\0b", 3}, {longest, sizeof(longest)}};

	memset(longest, 'x', sizeof(longest));
	for (size_t i = 0; i < 3; i++) {
		struct ipc_peer p = remote();

		introduce(&p, 1, 1, "", 0, names[i].bytes, names[i].len);
		assert_null(p.machine_name);
		assert_int_equal(p.machine_id, 5);
		ipc_peer_deinit(&p);
	}
}

TEST(identity_that_does_not_parse_says_nothing_wrong)
{
	struct ipc_peer p = remote();

	ipc_peer_set_identity(&p, (const uint8_t *)"\x08\x07\x1a\x7f",
			      4); /* pid 7, then cut short */
	assert_true(p.introduced);
	assert_int_equal(p.pid, 7);
	assert_int_equal(p.machine_id, 5);
	ipc_peer_deinit(&p);
}

TEST(text_names_the_peer)
{
	struct ipc_peer here = {.uid = 3, .pid = 9}, there = remote();
	char text[IPC_PEER_TEXT];

	ipc_peer_text(&here, text);
	assert_string_equal(text, "process 9 of uid 3");
	ipc_peer_text(&there, text);
	assert_string_equal(text, "10.0.0.1");
}

TEST(whose_limits_it_counts_against)
{
	struct ipc_peer a = {.uid = 1000}, b = {.uid = 1000, .pid = 5}, far = remote(), other = far;

	assert_int_equal(ipc_peer_user(&a), 1000);
	assert_int_equal(ipc_peer_user(&b), 1000);
	/* an address, whatever uid it says it has */
	other.uid = 1000;
	assert_true(ipc_peer_user(&far) == ipc_peer_user(&other));
	assert_true(ipc_peer_user(&far) > UINT32_MAX);
	other.address.ip[3]++;
	assert_true(ipc_peer_user(&far) != ipc_peer_user(&other));
}
