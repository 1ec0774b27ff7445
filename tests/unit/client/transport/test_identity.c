/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/utsname.h>

#include "unit/test.h"
#include "client/transport/connection.c"
#include "ipc/wire_protocol.pb-c.h"
#include "wire/frame.h"
#include "wire/pb_mem.h"

static Pb__IPCFrame__SetPeerIdentity *identity(void)
{
	Pb__IPCFrame__SetPeerIdentity *ret;
	struct pb_mem m;
	struct frame f;

	assert_int_equal(pb_mem_init(&m), 0);
	identity_put_frame(&m.enc);
	assert_int_equal(frame_decode(m.buf, pb_mem_len(&m), &f), 0);
	assert_int_equal(f.kind, FRAME_SET_PEER_IDENTITY);
	ret = (void *)protobuf_c_message_unpack(&pb__ipcframe__set_peer_identity__descriptor, NULL,
						f.payload_len, f.payload);
	assert_non_null(ret);
	pb_mem_deinit(&m);
	return ret;
}

TEST(process_and_machine_are_told)
{
	Pb__IPCFrame__SetPeerIdentity *m;
	struct utsname u;

	unsetenv("PERFETTO_MACHINE_NAME");
	m = identity();
	assert_int_equal(m->pid, getpid());
	assert_int_equal(m->uid, geteuid());
	if (access("/proc/sys/kernel/random/boot_id", R_OK) == 0)
		assert_int_equal(strlen(m->machine_id_hint), 36); /* a UUID, and no newline */
	assert_int_equal(uname(&u), 0);
	assert_string_equal(m->machine_name, u.sysname);
	protobuf_c_message_free_unpacked(&m->base, NULL);
}

TEST(environment_names_the_machine)
{
	Pb__IPCFrame__SetPeerIdentity *m;

	setenv("PERFETTO_MACHINE_NAME", "guest", 1);
	m = identity();
	assert_string_equal(m->machine_name, "guest");
	protobuf_c_message_free_unpacked(&m->base, NULL);
	unsetenv("PERFETTO_MACHINE_NAME");
}
