/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/service_help.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/system/fs.h"
#include "client/transport/service_trust.h"

#define GROUP "sonda" /* of the consumer socket, in the units */

/* Returns true if systemd runs and has the unit. */
static bool has_systemd_unit(const char *name)
{
	static const char *const dirs[] = {"/etc/systemd/system", "/usr/local/lib/systemd/system",
					   "/usr/lib/systemd/system", "/lib/systemd/system"};
	char path[128];

	if (!fs_exists("/run/systemd/system"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (!fs_join(path, sizeof(path), dirs[i], name) && fs_exists(path))
			return true;
	return false;
}

/* Returns the command that starts the service and sonda-probes: through systemd if the units are
 * installed. */
static const char *service_start_command(void)
{
	return has_systemd_unit("sondad.socket")
		       ? "sudo systemctl start sondad.socket sondad-consumer.socket sonda-probes"
		       : "sudo sh -c 'sondad & sonda-probes &'";
}

const char *service_probes_start_command(void)
{
	return has_systemd_unit("sonda-probes.service") ? "sudo systemctl start sonda-probes"
							: "sudo sh -c 'sonda-probes &'";
}

int service_explain_no_ftrace(struct err_text *e)
{
	return err_set(e, -ENOENT,
		       "no connected producer provides linux.ftrace: no kernel event can be "
		       "recorded; run: %s",
		       service_probes_start_command());
}

const char *service_permission_command(void)
{
	return has_systemd_unit("sondad.socket")
		       ? "sudo systemctl enable --now sondad.socket sondad-consumer.socket "
			 "sonda-probes && sudo usermod -aG " GROUP " $USER  # then log in again"
		       : "sudo sonda record EVENT...";
}

/* Returns the group that may connect to the socket at address, or NULL. root's group does not
 * count. */
static const struct group *service_help_group_of(const char *address)
{
	struct stat st;

	if (stat(address, &st) < 0 || !S_ISSOCK(st.st_mode) || !(st.st_mode & S_IWGRP) ||
	    st.st_gid == 0)
		return NULL;
	return getgrgid(st.st_gid);
}

static void explain_permission_denied(const char *address, struct err_text *text,
				      struct err_text *remedy)
{
	const struct group *g = service_help_group_of(address);
	const struct passwd *user = getpwuid(getuid());

	if (g) {
		err_set(text, 0,
			"%s: permission denied; root or membership in group %s is required",
			address, g->gr_name);
		err_set(remedy, 0, "sudo usermod -aG %s %s  # then log in again", g->gr_name,
			user ? user->pw_name : "$USER");
		return;
	}
	err_set(text, 0, "%s: permission denied; root is required", address);
	err_set(remedy, 0, "sudo -E sonda ...");
}

static bool is_default(const char *address)
{
	return !strcmp(address, sock_default_consumer()) ||
	       !strcmp(address, sock_default_producer());
}

bool service_describe_problem(const char *address, int error, struct err_text *text,
			      struct err_text *remedy)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		explain_permission_denied(address, text, remedy);
		return true;
	case -ENOENT:
	case -ECONNREFUSED:
		err_set(text, 0, "no tracing service listens on %s%s", address,
			is_default(address) ? "" : "; check the address");
		err_set(remedy, 0, "%s", is_default(address) ? service_start_command() : "");
		return true;
	case -EINVAL:
	case -ENAMETOOLONG:
		err_set(text, 0,
			"'%.80s' is not a valid socket address; examples: "
			"/run/perfetto/traced-consumer.sock, 10.0.0.1:20002, vsock://2:20002",
			address);
		err_set(remedy, 0, "%s", "");
		return true;
	case -EADDRNOTAVAIL:
		err_set(text, 0, "the host in '%.80s' is unknown; check the address", address);
		err_set(remedy, 0, "%s", "");
		return true;
	case -EAGAIN:
		err_set(text, 0, "the tracing service on %s accepts no connections; it may be hung",
			address);
		err_set(remedy, 0, "%s",
			has_systemd_unit("sondad.service") ? "sudo systemctl restart sondad" : "");
		return true;
	case -ETIMEDOUT:
		err_set(text, 0,
			"the listener on %s does not reply; it is hung, or is not a tracing "
			"service",
			address);
		err_set(remedy, 0, "%s",
			has_systemd_unit("sondad.service") ? "sudo systemctl restart sondad" : "");
		return true;
	case -EKEYREJECTED:
		service_trust_explain(address, text);
		err_set(remedy, 0, "%s", "");
		return true;
	}
	return false;
}

int service_explain(const char *address, int error, struct err_text *e)
{
	struct err_text text, remedy;

	if (!service_describe_problem(address, error, &text, &remedy))
		return err_set(e, error, "cannot connect to the tracing service on %s: %s", address,
			       strerror(-error));
	return err_set(e, error, "%s%s%s", text.text, remedy.text[0] ? "; run: " : "", remedy.text);
}

int service_explain_no_sessions(const char *address, int error, struct err_text *e,
				const char *what, ...)
{
	struct err_text text;
	va_list ap;

	if ((error != -ENOENT && error != -ECONNREFUSED) || (address && !is_default(address)))
		return error;
	va_start(ap, what);
	vsnprintf(text.text, sizeof(text.text), what, ap);
	va_end(ap);
	return err_set(e, error, "no tracing service is running, so %s", text.text);
}
