/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transport/machine_identity.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

void machine_identity_read(struct machine_identity *ret)
{
	_cleanup_(closep) int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, ret->hint, sizeof(ret->hint));

	while (n > 0 && ret->hint[n - 1] == '\n')
		n--;
	ret->hint_len = n > 0 ? (size_t)n : 0;
	ret->name = getenv("PERFETTO_MACHINE_NAME");
	if (!(ret->name && ret->name[0]))
		ret->name = uname(&ret->system) == 0 ? ret->system.sysname : NULL;
}

void machine_identity_put(struct pb_enc *e, const struct machine_identity *m, int32_t pid,
			  int32_t uid)
{
	pb_enc_open(e, PB_IPC_FRAME_SET_PEER_IDENTITY);
	pb_enc_i64(e, PB_IPC_FRAME_SET_PEER_IDENTITY_PID, pid);
	pb_enc_i64(e, PB_IPC_FRAME_SET_PEER_IDENTITY_UID, uid);
	if (m->hint_len > 0)
		pb_enc_bytes(e, PB_IPC_FRAME_SET_PEER_IDENTITY_MACHINE_ID_HINT, m->hint,
			     m->hint_len);
	if (m->name && m->name[0])
		pb_enc_str(e, PB_IPC_FRAME_SET_PEER_IDENTITY_MACHINE_NAME, m->name);
	pb_enc_close(e);
}
