/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transport/identity.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "gen/fields.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

/* Without one the service takes the address. */
static void put_hint(struct pb_enc *e)
{
	_cleanup_(closep) int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	char id[64];
	ssize_t n = fd < 0 ? -1 : read(fd, id, sizeof(id));

	while (n > 0 && id[n - 1] == '\n')
		n--;
	if (n > 0)
		pb_enc_bytes(e, PB_IPC_FRAME_SET_PEER_IDENTITY_MACHINE_ID_HINT, id, (size_t)n);
}

static void put_name(struct pb_enc *e)
{
	const char *name = getenv("PERFETTO_MACHINE_NAME");
	struct utsname u;

	if (!(name && name[0]) && uname(&u) == 0)
		name = u.sysname;
	if (name && name[0])
		pb_enc_str(e, PB_IPC_FRAME_SET_PEER_IDENTITY_MACHINE_NAME, name);
}

void identity_put_frame(struct pb_enc *e)
{
	pb_enc_open(e, PB_IPC_FRAME_SET_PEER_IDENTITY);
	pb_enc_i64(e, PB_IPC_FRAME_SET_PEER_IDENTITY_PID, getpid());
	pb_enc_i64(e, PB_IPC_FRAME_SET_PEER_IDENTITY_UID, (int32_t)geteuid());
	put_hint(e);
	put_name(e);
	pb_enc_close(e);
}
