/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/taskstats.h"

#include <assert.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/mem.h"

/*
 *	request    | nlmsghdr | genlmsghdr | attribute: task id |	one message has as many
 *								requests as tasks
 *	answer     | nlmsghdr | genlmsghdr | AGGR_PID: | PID | (NULL) | STATS: struct taskstats |
 *	or         | nlmsghdr | nlmsgerr |				one message each
 *
 * When sendto() returns, the kernel has put all answers into the socket. Tasks without an answer do
 * not exist.
 */

/* The needed members of struct taskstats are before this offset; later versions append members. */
#define STATS_NEEDED                                                                               \
	(offsetof(struct taskstats, ac_tgid) + sizeof(((struct taskstats *)0)->ac_tgid))
#define VERSION_MIN 12
/* Version 15 inserted members in the middle; version 16 appends them instead. */
#define VERSION_BROKEN 15

/* Longer answers are truncated after the needed part. */
#define ANSWER_BYTES 1024
#define ANSWERS_AT_ONCE 8

struct request {
	struct nlmsghdr nl;
	struct genlmsghdr genl;
	struct nlattr attr;
	union {
		uint32_t tid;
		char family[NLMSG_ALIGN(sizeof(TASKSTATS_GENL_NAME))];
	};
};

/* Bytes of a request that ends with a task id or a family. struct request has no gaps. */
#define REQUEST_TID_BYTES (offsetof(struct request, tid) + sizeof(uint32_t))
#define REQUEST_FAMILY_BYTES sizeof(struct request)
_Static_assert(REQUEST_TID_BYTES % NLMSG_ALIGNTO == 0, "requests are aligned");

/* ---- messages ---- */

/* Returns the payload of the first attribute of the type, or what exists of it, and its end; NULL:
 * there is none. */
static const char *find_netlink_attr(const char *p, const char *end, unsigned type,
				     const char **ret_end)
{
	struct nlattr a;

	while ((size_t)(end - p) >= sizeof(a)) {
		memcpy(&a, p, sizeof(a));
		if (a.nla_len < sizeof(a))
			return NULL;
		if ((a.nla_type & NLA_TYPE_MASK) == type) {
			*ret_end = p + MIN((size_t)a.nla_len, (size_t)(end - p));
			return p + NLA_HDRLEN;
		}
		p += MIN((size_t)NLA_ALIGN(a.nla_len), (size_t)(end - p));
	}
	return NULL;
}

/* Returns the attributes of an answer; NULL: it is too short. */
static const char *find_first_attr(const char *msg, size_t len)
{
	return len < NLMSG_HDRLEN + GENL_HDRLEN ? NULL : msg + NLMSG_HDRLEN + GENL_HDRLEN;
}

static int parse_stats(const char *p, size_t len, int32_t *ret_tgid, struct proc_name *ret_name)
{
	struct taskstats s;
	struct proc_name name;

	if (len < STATS_NEEDED)
		return -EBADMSG;
	memcpy(&s, p, STATS_NEEDED);
	if (s.version < VERSION_MIN || s.version == VERSION_BROKEN || s.ac_tgid == 0 ||
	    s.ac_tgid > INT32_MAX)
		return -EBADMSG;
	name.len = (uint8_t)strnlen(s.ac_comm, MIN(sizeof(s.ac_comm), sizeof(name.s)));
	memcpy(name.s, s.ac_comm, name.len);
	*ret_tgid = (int32_t)s.ac_tgid;
	*ret_name = name;
	return 0;
}

/* Parses one answer of the kernel to n requests with sequence numbers from seq on. Returns the
 * index of its request, or -EBADMSG if the answer is invalid or belongs to no request. *ret_tgid is
 * 0 if the kernel answered with an error: the task has exited. */
static int taskstats_parse(const void *msg, size_t len, uint32_t seq, size_t n, int32_t *ret_tgid,
			   struct proc_name *ret_name)
{
	const char *p, *end = (const char *)msg + len;
	struct nlmsghdr h;
	int r;

	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, msg, sizeof(h));
	if (h.nlmsg_seq - seq >= n)
		return -EBADMSG;
	if (h.nlmsg_type == NLMSG_ERROR) {
		*ret_tgid = 0;
		return (int)(h.nlmsg_seq - seq);
	}
	p = find_first_attr(msg, len);
	if (p)
		p = find_netlink_attr(p, end, TASKSTATS_TYPE_AGGR_PID, &end);
	if (p)
		p = find_netlink_attr(p, end, TASKSTATS_TYPE_STATS, &end);
	r = p ? parse_stats(p, (size_t)(end - p), ret_tgid, ret_name) : -EBADMSG;
	return r < 0 ? r : (int)(h.nlmsg_seq - seq);
}

/* ---- the socket ---- */

static int send_netlink_message(int fd, const void *msg, size_t len)
{
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	ssize_t n = sendto(fd, msg, len, 0, (const struct sockaddr *)&kernel, sizeof(kernel));

	return n < 0 ? -errno : (size_t)n != len ? -EIO : 0;
}

/* Reads the id of the taskstats family from the kernel. Returns 0 or -errno. */
static int find_family(int fd, uint16_t *ret_family)
{
	struct request q = {
		.nl = {.nlmsg_len = REQUEST_FAMILY_BYTES,
		       .nlmsg_type = GENL_ID_CTRL,
		       .nlmsg_flags = NLM_F_REQUEST},
		.genl = {.cmd = CTRL_CMD_GETFAMILY, .version = 1},
		.attr = {.nla_len = NLA_HDRLEN + sizeof(TASKSTATS_GENL_NAME),
			 .nla_type = CTRL_ATTR_FAMILY_NAME},
		.family = TASKSTATS_GENL_NAME,
	};
	char answer[ANSWER_BYTES];
	const char *p, *end = NULL;
	ssize_t n;
	int r = send_netlink_message(fd, &q, sizeof(q));

	if (r < 0)
		return r;
	n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	p = find_first_attr(answer, (size_t)n);
	if (!p || ((const struct nlmsghdr *)(const void *)answer)->nlmsg_type != GENL_ID_CTRL)
		return -ENOENT;
	p = find_netlink_attr(p, answer + n, CTRL_ATTR_FAMILY_ID, &end);
	if (!p || (size_t)(end - p) < sizeof(*ret_family))
		return -EBADMSG;
	memcpy(ret_family, p, sizeof(*ret_family));
	return 0;
}

static int taskstats_send_requests(struct taskstats_socket *t, const struct taskstats_name *names,
				   size_t n)
{
	char msg[TASKSTATS_MAX * REQUEST_TID_BYTES];

	for (size_t i = 0; i < n; i++) {
		const struct request q = {
			.nl = {.nlmsg_len = REQUEST_TID_BYTES,
			       .nlmsg_type = t->family,
			       .nlmsg_flags = NLM_F_REQUEST,
			       .nlmsg_seq = t->seq + (uint32_t)i},
			.genl = {.cmd = TASKSTATS_CMD_GET, .version = TASKSTATS_GENL_VERSION},
			.attr = {.nla_len = NLA_HDRLEN + sizeof(q.tid),
				 .nla_type = TASKSTATS_CMD_ATTR_PID},
			.tid = (uint32_t)names[i].tid,
		};

		memcpy(msg + i * REQUEST_TID_BYTES, &q, REQUEST_TID_BYTES);
	}
	return send_netlink_message(t->fd, msg, n * REQUEST_TID_BYTES);
}

/* Receives some answers and stores them in names. Returns their number or -errno. */
static int receive_some_answers(struct taskstats_socket *t, struct taskstats_name *names, size_t n,
				size_t left)
{
	_Alignas(8) char answers[ANSWERS_AT_ONCE][ANSWER_BYTES];
	struct mmsghdr msgs[ANSWERS_AT_ONCE] = {0};
	struct iovec iov[ANSWERS_AT_ONCE];
	int got;

	for (unsigned i = 0; i < ANSWERS_AT_ONCE; i++) {
		iov[i] = (struct iovec){answers[i], ANSWER_BYTES};
		msgs[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i], .msg_iovlen = 1};
	}
	got = recvmmsg(t->fd, msgs, (unsigned)MIN(left, (size_t)ANSWERS_AT_ONCE), MSG_DONTWAIT,
		       NULL);
	for (int i = 0; i < got; i++) {
		struct proc_name name;
		int32_t tgid;
		int at = taskstats_parse(answers[i], MIN(msgs[i].msg_len, ANSWER_BYTES), t->seq, n,
					 &tgid, &name);

		if (at < 0)
			return at;
		names[at].tgid = tgid;
		if (tgid)
			names[at].name = name;
	}
	return got < 0 ? -errno : got;
}

/* Receives the answers to all requests that have one. */
static int receive_all_answers(struct taskstats_socket *t, struct taskstats_name *names, size_t n)
{
	for (size_t left = n; left > 0;) {
		int got = receive_some_answers(t, names, n, left);

		if (got == -EAGAIN)
			break;
		if (got < 0)
			return got;
		left -= (size_t)got;
	}
	return 0;
}

int taskstats_get_names(struct taskstats_socket *t, struct taskstats_name *names, size_t n)
{
	int r;

	assert(t->open && n > 0 && n <= TASKSTATS_MAX);
	for (size_t i = 0; i < n; i++)
		names[i].tgid = 0;
	r = taskstats_send_requests(t, names, n);
	if (r == 0)
		r = receive_all_answers(t, names, n);
	if (r < 0)
		taskstats_close(t);
	t->seq += (uint32_t)n;
	return r;
}

int taskstats_open(struct taskstats_socket *t)
{
	_cleanup_(closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	struct taskstats_name self = {.tid = getpid()};
	uint16_t family;
	int r;

	if (fd < 0)
		return -errno;
	r = find_family(fd, &family);
	if (r < 0)
		return r;
	*t = (struct taskstats_socket){.open = true, .fd = TAKE_FD(fd), .family = family};
	/* This request checks the permission, and that the answer is understood. */
	r = taskstats_get_names(t, &self, 1);
	if (r == 0 && self.tgid != getpid()) {
		taskstats_close(t);
		r = -EPERM;
	}
	return r;
}

void taskstats_close(struct taskstats_socket *t)
{
	if (t->open)
		close(t->fd);
	t->open = false;
}
