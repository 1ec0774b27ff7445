/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: write_into CONFIG     a file with a config as text
 *
 * A consumer that passes its standard output to the service, for write_into_file, and waits for the
 * end of the session: 0 when there was no error, 3 with it on standard error.
 */
#include <fcntl.h>
#include <signal.h>

#include "base/event_loop/sock.h"
#include "service_peer_consumer.h"

static const char *read_config(const char *path)
{
	static char text[65536];
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	return n > 0 ? text : "";
}

int main(int argc, char **argv)
{
	static struct peer p;
	struct pb_field f;
	uint64_t id;

	if (argc != 2)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	peer_connect(&p, sock_default_consumer());
	id = peer_enable_into(&p, read_config(argv[1]), STDOUT_FILENO);
	/* From now on the service alone holds it. */
	close(STDOUT_FILENO);
	if (!peer_next_in(&p, 60000) || p.f.request_id != id || !p.f.success)
		return 1;
	if (!peer_field(&p, PB_ENABLE_TRACING_RESPONSE_ERROR, &f))
		return 0;
	fprintf(stderr, "%.*s\n", (int)f.len, (const char *)f.data);
	return 3;
}
