/* SPDX-License-Identifier: Apache-2.0 */
#include "base/calls/call_values.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/core/mem.h"

struct call_name {
	const char *name;
	uint64_t value;
};

#define NAME(x)                                                                                    \
	{                                                                                          \
#x, (uint64_t)(x)                                                                  \
	}

static const struct call_name access_modes[] = {NAME(R_OK), NAME(W_OK), NAME(X_OK)};

/* The value of O_LARGEFILE in the kernel; for 64-bit programs it is 0. */
#if defined(__aarch64__)
#define LARGE_FILE 0400000
#else
#define LARGE_FILE 0100000
#endif

/* In the order of strace. O_SYNC and O_TMPFILE contain the bits of another flag, and come before
 * it. */
static const struct call_name open_flags[] = {
	NAME(O_CREAT),
	NAME(O_EXCL),
	NAME(O_NOCTTY),
	NAME(O_TRUNC),
	NAME(O_APPEND),
	NAME(O_NONBLOCK),
	NAME(O_SYNC),
	NAME(O_DSYNC),
	NAME(O_ASYNC),
	NAME(O_DIRECT),
	{"O_LARGEFILE", LARGE_FILE},
	NAME(O_NOFOLLOW),
	NAME(O_NOATIME),
	NAME(O_CLOEXEC),
	NAME(O_PATH),
	NAME(O_TMPFILE),
	NAME(O_DIRECTORY),
};

static const struct call_name at_flags[] = {
	{"AT_SYMLINK_NOFOLLOW", 0x100}, {"AT_EACCESS", 0x200},	   {"AT_SYMLINK_FOLLOW", 0x400},
	{"AT_NO_AUTOMOUNT", 0x800},	{"AT_EMPTY_PATH", 0x1000}, {"AT_STATX_FORCE_SYNC", 0x2000},
	{"AT_STATX_DONT_SYNC", 0x4000}, {"AT_RECURSIVE", 0x8000},
};
static const struct call_name unlink_flags[] = {NAME(AT_REMOVEDIR)};
static const struct call_name prot_flags[] = {
	NAME(PROT_READ), NAME(PROT_WRITE),     NAME(PROT_EXEC),
	{"PROT_SEM", 8}, NAME(PROT_GROWSDOWN), NAME(PROT_GROWSUP),
};
static const struct call_name map_flags[] = {
	NAME(MAP_FIXED),
	NAME(MAP_ANONYMOUS),
	NAME(MAP_GROWSDOWN),
	NAME(MAP_DENYWRITE),
	NAME(MAP_EXECUTABLE),
	NAME(MAP_LOCKED),
	NAME(MAP_NORESERVE),
	NAME(MAP_POPULATE),
	NAME(MAP_NONBLOCK),
	NAME(MAP_STACK),
	NAME(MAP_HUGETLB),
	NAME(MAP_SYNC),
	{"MAP_FIXED_NOREPLACE", 0x100000},
	{"MAP_32BIT", 0x40},
};
static const struct call_name map_types[] = {
	NAME(MAP_SHARED), NAME(MAP_PRIVATE), {"MAP_SHARED_VALIDATE", 3}};
static const struct call_name clone_flags[] = {
	NAME(CLONE_VM),
	NAME(CLONE_FS),
	NAME(CLONE_FILES),
	NAME(CLONE_SIGHAND),
	{"CLONE_PIDFD", 0x1000},
	NAME(CLONE_PTRACE),
	NAME(CLONE_VFORK),
	NAME(CLONE_PARENT),
	NAME(CLONE_THREAD),
	NAME(CLONE_NEWNS),
	NAME(CLONE_SYSVSEM),
	NAME(CLONE_SETTLS),
	NAME(CLONE_PARENT_SETTID),
	NAME(CLONE_CHILD_CLEARTID),
	NAME(CLONE_DETACHED),
	NAME(CLONE_UNTRACED),
	NAME(CLONE_CHILD_SETTID),
	NAME(CLONE_NEWCGROUP),
	NAME(CLONE_NEWUTS),
	NAME(CLONE_NEWIPC),
	NAME(CLONE_NEWUSER),
	NAME(CLONE_NEWPID),
	NAME(CLONE_NEWNET),
	NAME(CLONE_IO),
	{"CLONE_CLEAR_SIGHAND", 0x100000000},
	{"CLONE_INTO_CGROUP", 0x200000000},
};
#define CLONE_SIGNAL 0xff /* the lowest byte is the signal at the child's exit */

static const struct call_name domains[] = {
	NAME(AF_UNSPEC),    NAME(AF_UNIX), NAME(AF_INET),      NAME(AF_AX25), NAME(AF_IPX),
	NAME(AF_APPLETALK), NAME(AF_X25),  NAME(AF_INET6),     NAME(AF_KEY),  NAME(AF_NETLINK),
	NAME(AF_PACKET),    NAME(AF_RDS),  NAME(AF_PPPOX),     NAME(AF_LLC),  NAME(AF_IB),
	NAME(AF_CAN),	    NAME(AF_TIPC), NAME(AF_BLUETOOTH), NAME(AF_ALG),  NAME(AF_NFC),
	NAME(AF_VSOCK),	    NAME(AF_KCM),  NAME(AF_QIPCRTR),   NAME(AF_SMC),  NAME(AF_XDP),
};
static const struct call_name socket_types[] = {
	NAME(SOCK_STREAM),    NAME(SOCK_DGRAM), NAME(SOCK_RAW),	   NAME(SOCK_RDM),
	NAME(SOCK_SEQPACKET), NAME(SOCK_DCCP),	NAME(SOCK_PACKET),
};
static const struct call_name socket_flags[] = {NAME(SOCK_CLOEXEC), NAME(SOCK_NONBLOCK)};
static const struct call_name ip_protocols[] = {
	NAME(IPPROTO_IP),	  NAME(IPPROTO_ICMP),	  NAME(IPPROTO_TCP),	NAME(IPPROTO_UDP),
	NAME(IPPROTO_IPV6),	  NAME(IPPROTO_RAW),	  NAME(IPPROTO_ICMPV6), NAME(IPPROTO_SCTP),
	{"IPPROTO_UDPLITE", 136}, {"IPPROTO_MPTCP", 262},
};
static const struct call_name netlink_protocols[] = {
	NAME(NETLINK_ROUTE),	 NAME(NETLINK_SOCK_DIAG), NAME(NETLINK_NFLOG),
	NAME(NETLINK_XFRM),	 NAME(NETLINK_SELINUX),	  NAME(NETLINK_AUDIT),
	NAME(NETLINK_CONNECTOR), NAME(NETLINK_NETFILTER), NAME(NETLINK_KOBJECT_UEVENT),
	NAME(NETLINK_GENERIC),	 NAME(NETLINK_CRYPTO),
};
static const struct call_name msg_flags[] = {
	NAME(MSG_OOB),		NAME(MSG_PEEK),		NAME(MSG_DONTROUTE), NAME(MSG_CTRUNC),
	{"MSG_PROBE", 0x10},	NAME(MSG_TRUNC),	NAME(MSG_DONTWAIT),  NAME(MSG_EOR),
	NAME(MSG_WAITALL),	NAME(MSG_FIN),		NAME(MSG_SYN),	     NAME(MSG_CONFIRM),
	NAME(MSG_RST),		NAME(MSG_ERRQUEUE),	NAME(MSG_NOSIGNAL),  NAME(MSG_MORE),
	NAME(MSG_WAITFORONE),	{"MSG_BATCH", 0x40000}, NAME(MSG_ZEROCOPY),  NAME(MSG_FASTOPEN),
	NAME(MSG_CMSG_CLOEXEC),
};
static const struct call_name wait_options[] = {
	NAME(WNOHANG),		NAME(WUNTRACED),
	NAME(WEXITED),		NAME(WCONTINUED),
	NAME(WNOWAIT),		{"__WNOTHREAD", 0x20000000},
	{"__WALL", 0x40000000}, {"__WCLONE", 0x80000000},
};
static const struct call_name whences[] = {
	NAME(SEEK_SET), NAME(SEEK_CUR), NAME(SEEK_END), {"SEEK_DATA", 3}, {"SEEK_HOLE", 4}};
static const struct call_name fcntls[] = {
	NAME(F_DUPFD),		 {"F_GETFD", 1},
	{"F_SETFD", 2},		 {"F_GETFL", 3},
	{"F_SETFL", 4},		 {"F_GETLK", 5},
	{"F_SETLK", 6},		 {"F_SETLKW", 7},
	{"F_SETOWN", 8},	 {"F_GETOWN", 9},
	{"F_SETSIG", 10},	 {"F_GETSIG", 11},
	{"F_SETOWN_EX", 15},	 {"F_GETOWN_EX", 16},
	{"F_OFD_GETLK", 36},	 {"F_OFD_SETLK", 37},
	{"F_OFD_SETLKW", 38},	 {"F_SETLEASE", 1024},
	{"F_GETLEASE", 1025},	 {"F_NOTIFY", 1026},
	{"F_DUPFD_QUERY", 1027}, {"F_DUPFD_CLOEXEC", 1030},
	{"F_SETPIPE_SZ", 1031},	 {"F_GETPIPE_SZ", 1032},
	{"F_ADD_SEALS", 1033},	 {"F_GET_SEALS", 1034},
};
static const struct call_name futex_ops[] = {
	NAME(FUTEX_WAIT),	    NAME(FUTEX_WAKE),	     NAME(FUTEX_FD),
	NAME(FUTEX_REQUEUE),	    NAME(FUTEX_CMP_REQUEUE), NAME(FUTEX_WAKE_OP),
	NAME(FUTEX_LOCK_PI),	    NAME(FUTEX_UNLOCK_PI),   NAME(FUTEX_TRYLOCK_PI),
	NAME(FUTEX_WAIT_BITSET),    NAME(FUTEX_WAKE_BITSET), NAME(FUTEX_WAIT_REQUEUE_PI),
	NAME(FUTEX_CMP_REQUEUE_PI), {"FUTEX_LOCK_PI2", 13},
};
static const struct call_name epoll_ops[] = {NAME(EPOLL_CTL_ADD), NAME(EPOLL_CTL_DEL),
					     NAME(EPOLL_CTL_MOD)};
static const struct call_name clocks[] = {
	{"CLOCK_REALTIME", 0},		{"CLOCK_MONOTONIC", 1},	    {"CLOCK_PROCESS_CPUTIME_ID", 2},
	{"CLOCK_THREAD_CPUTIME_ID", 3}, {"CLOCK_MONOTONIC_RAW", 4}, {"CLOCK_REALTIME_COARSE", 5},
	{"CLOCK_MONOTONIC_COARSE", 6},	{"CLOCK_BOOTTIME", 7},	    {"CLOCK_REALTIME_ALARM", 8},
	{"CLOCK_BOOTTIME_ALARM", 9},	{"CLOCK_TAI", 11},
};
static const struct call_name advices[] = {
	{"MADV_NORMAL", 0},	      {"MADV_RANDOM", 1},	  {"MADV_SEQUENTIAL", 2},
	{"MADV_WILLNEED", 3},	      {"MADV_DONTNEED", 4},	  {"MADV_FREE", 8},
	{"MADV_REMOVE", 9},	      {"MADV_DONTFORK", 10},	  {"MADV_DOFORK", 11},
	{"MADV_MERGEABLE", 12},	      {"MADV_UNMERGEABLE", 13},	  {"MADV_HUGEPAGE", 14},
	{"MADV_NOHUGEPAGE", 15},      {"MADV_DONTDUMP", 16},	  {"MADV_DODUMP", 17},
	{"MADV_WIPEONFORK", 18},      {"MADV_KEEPONFORK", 19},	  {"MADV_COLD", 20},
	{"MADV_PAGEOUT", 21},	      {"MADV_POPULATE_READ", 22}, {"MADV_POPULATE_WRITE", 23},
	{"MADV_DONTNEED_LOCKED", 24}, {"MADV_COLLAPSE", 25},	  {"MADV_GUARD_INSTALL", 102},
	{"MADV_GUARD_REMOVE", 103},
};
static const struct call_name shuts[] = {NAME(SHUT_RD), NAME(SHUT_WR), NAME(SHUT_RDWR)};
static const struct call_name levels[] = {
	NAME(SOL_IP),	NAME(SOL_SOCKET), {"SOL_TCP", 6},   {"SOL_UDP", 17},
	NAME(SOL_IPV6), NAME(SOL_RAW),	  NAME(SOL_PACKET), NAME(SOL_NETLINK),
};
static const struct call_name signal_hows[] = {
	{"SIG_BLOCK", 0}, {"SIG_UNBLOCK", 1}, {"SIG_SETMASK", 2}};

static const char *const signals[] = {
	NULL,	     "SIGHUP",	"SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",
	"SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM",
	"SIGSTKFLT", "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",
	"SIGXCPU",   "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS",
};

static const char *call_find_name(const struct call_name *names, size_t n, uint64_t value)
{
	for (size_t i = 0; i < n; i++)
		if (names[i].value == value)
			return names[i].name;
	return NULL;
}

/* Appends the name of a value. A value without a name is appended in hexadecimal, with `unknown` in
 * a C comment behind it. */
static void call_put_name(const struct call_name *names, size_t n, uint64_t value,
			  const char *unknown, struct strbuf *b)
{
	const char *name = call_find_name(names, n, value);

	if (name)
		strbuf_puts(b, name);
	else
		strbuf_printf(b, "%#" PRIx64 " /* %s */", value, unknown);
}

#define PUT_NAME(names, value, unknown, b)                                                         \
	call_put_name(names, ARRAY_SIZE(names), value, unknown, b)

/* Appends the names of flags, separated by "|". If other flags are printed before them, `before` is
 * not NULL, and the text begins with "|". If it is NULL, 0 is printed as "0". Bits without a name
 * are appended in hexadecimal. */
static void call_put_flags(const struct call_name *names, size_t n, uint64_t flags,
			   const char *before, struct strbuf *b)
{
	const char *separator = before ? "|" : "";
	uint64_t rest = flags;

	for (size_t i = 0; i < n; i++) {
		if (!names[i].value || (rest & names[i].value) != names[i].value)
			continue;
		strbuf_printf(b, "%s%s", separator, names[i].name);
		separator = "|";
		rest &= ~names[i].value;
	}
	if (rest || (!flags && !before))
		strbuf_printf(b, rest ? "%s%#" PRIx64 : "%s%" PRIx64, separator, rest);
}

#define PUT_FLAGS(names, flags, before, b)                                                         \
	call_put_flags(names, ARRAY_SIZE(names), flags, before, b)

static void call_put_open_flags(uint64_t flags, struct strbuf *b)
{
	static const char *const modes[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"};

	strbuf_puts(b, modes[flags & 3]);
	PUT_FLAGS(open_flags, flags & ~3ull, modes[0], b);
}

static void call_put_map_flags(uint64_t flags, struct strbuf *b)
{
	const char *type = call_find_name(map_types, ARRAY_SIZE(map_types), flags & 15);

	if (type)
		strbuf_puts(b, type);
	else
		strbuf_printf(b, "%#" PRIx64 " /* MAP_??? */", flags & 15);
	PUT_FLAGS(map_flags, flags & ~15ull, "", b);
}

static void call_put_signal(uint64_t number, struct strbuf *b)
{
	if (number && number < ARRAY_SIZE(signals))
		strbuf_puts(b, signals[number]);
	else if (number >= 32 && number <= 64)
		strbuf_printf(b, "SIGRT_%" PRIu64, number - 32);
	else
		strbuf_printf(b, "%d", (int)number);
}

static void call_put_clone_flags(uint64_t flags, struct strbuf *b)
{
	uint64_t signal = flags & CLONE_SIGNAL;

	if (flags & ~(uint64_t)CLONE_SIGNAL || !signal)
		PUT_FLAGS(clone_flags, flags & ~(uint64_t)CLONE_SIGNAL, NULL, b);
	if (!signal)
		return;
	if (flags != signal)
		strbuf_putc(b, '|');
	call_put_signal(signal, b);
}

static void call_put_socket_type(uint64_t type, struct strbuf *b)
{
	PUT_NAME(socket_types, type & 15, "SOCK_???", b);
	PUT_FLAGS(socket_flags, type & ~15ull, "", b);
}

static void call_put_protocol(uint64_t domain, uint64_t protocol, struct strbuf *b)
{
	if (domain == AF_INET || domain == AF_INET6)
		PUT_NAME(ip_protocols, protocol, "IPPROTO_???", b);
	else if (domain == AF_NETLINK)
		PUT_NAME(netlink_protocols, protocol, "NETLINK_???", b);
	else
		strbuf_printf(b, "%d", (int)protocol);
}

static void call_put_futex(uint64_t op, struct strbuf *b)
{
	const uint64_t both = FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;

	PUT_NAME(futex_ops, op & ~both, "FUTEX_???", b);
	if (op & FUTEX_PRIVATE_FLAG)
		strbuf_puts(b, "_PRIVATE");
	if (op & FUTEX_CLOCK_REALTIME)
		strbuf_puts(b, "|FUTEX_CLOCK_REALTIME");
}

static void call_put_hex(uint64_t v, struct strbuf *b)
{
	strbuf_printf(b, v ? "%#" PRIx64 : "%" PRIx64, v);
}

static void call_put_pointer(uint64_t v, struct strbuf *b)
{
	if (v)
		strbuf_printf(b, "%#" PRIx64, v);
	else
		strbuf_puts(b, "NULL");
}

/* Appends a file mode, with at least three digits. */
static void call_put_mode(uint64_t mode, struct strbuf *b)
{
	strbuf_printf(b, "%#03" PRIo32, (uint32_t)mode);
}

void call_address_family_put(unsigned family, struct strbuf *b)
{
	PUT_NAME(domains, family, "AF_???", b);
}

void call_flags_put(char letter, uint64_t flags, struct strbuf *b)
{
	switch (letter) {
	case CALL_OPEN_FLAGS:
		call_put_open_flags(flags, b);
		return;
	case CALL_CLONE_FLAGS:
		call_put_clone_flags(flags, b);
		return;
	case CALL_MAP_FLAGS:
		call_put_map_flags(flags, b);
		return;
	case CALL_AT_FLAGS:
		PUT_FLAGS(at_flags, flags, NULL, b);
		return;
	case CALL_UNLINK_FLAGS:
		PUT_FLAGS(unlink_flags, flags, NULL, b);
		return;
	case CALL_MSG_FLAGS:
		PUT_FLAGS(msg_flags, flags, NULL, b);
		return;
	case CALL_WAIT_OPTIONS:
		PUT_FLAGS(wait_options, flags, NULL, b);
		return;
	case CALL_SOCKET_FLAGS:
		PUT_FLAGS(socket_flags, flags, NULL, b);
		return;
	case CALL_FD_FLAGS:
		PUT_FLAGS(open_flags, flags, NULL, b);
		return;
	case CALL_PROT:
		if (flags)
			PUT_FLAGS(prot_flags, flags, NULL, b);
		else
			strbuf_puts(b, "PROT_NONE");
		return;
	case CALL_ACCESS_MODE:
		if (flags)
			PUT_FLAGS(access_modes, flags, NULL, b);
		else
			strbuf_puts(b, "F_OK");
		return;
	}
	call_put_hex(flags, b);
}

/* Arguments that are one of several constants; unknown: the remark for other values. */
#define ONE_OF(letter, names, unknown)                                                             \
	{                                                                                          \
		letter, names, ARRAY_SIZE(names), unknown                                          \
	}
static const struct {
	char letter;
	const struct call_name *names;
	size_t n;
	const char *unknown;
} constants[] = {
	ONE_OF(CALL_SIGNAL_HOW, signal_hows, "SIG_???"),
	ONE_OF(CALL_WHENCE, whences, "SEEK_???"),
	ONE_OF(CALL_FCNTL, fcntls, "F_???"),
	ONE_OF(CALL_EPOLL_OP, epoll_ops, "EPOLL_CTL_???"),
	ONE_OF(CALL_CLOCK, clocks, "CLOCK_???"),
	ONE_OF(CALL_ADVICE, advices, "MADV_???"),
	ONE_OF(CALL_SHUT, shuts, "SHUT_???"),
	ONE_OF(CALL_SOL, levels, "SOL_???"),
};

/* Appends the name of an argument whose type is in constants[]. Returns false if the type is
 * not. */
static bool put_constant(char letter, uint32_t v, struct strbuf *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(constants); i++)
		if (constants[i].letter == letter) {
			call_put_name(constants[i].names, constants[i].n, v, constants[i].unknown,
				      b);
			return true;
		}
	return false;
}

void call_value_put(const struct call_row *row, const uint64_t args[static CALL_ARGS_MAX],
		    unsigned i, struct strbuf *b)
{
	char letter = row ? row->args[i] : CALL_HEX;
	uint64_t v = args[i];

	switch (letter) {
	case CALL_INT:
	case CALL_FD:
		strbuf_printf(b, "%d", (int)v);
		return;
	case CALL_LONG:
		strbuf_printf(b, "%" PRId64, (int64_t)v);
		return;
	case CALL_UNSIGNED:
		strbuf_printf(b, "%" PRIu64, v);
		return;
	case CALL_MODE:
		call_put_mode(v, b);
		return;
	case CALL_DIR_FD:
		if ((int)v == AT_FDCWD)
			strbuf_puts(b, "AT_FDCWD");
		else
			strbuf_printf(b, "%d", (int)v);
		return;
	case CALL_DOMAIN:
		call_address_family_put((unsigned)v, b);
		return;
	case CALL_SOCKET_TYPE:
		call_put_socket_type((uint32_t)v, b);
		return;
	case CALL_PROTOCOL:
		call_put_protocol(args[i - 2], (uint32_t)v, b);
		return;
	case CALL_SIGNAL:
		call_put_signal((uint32_t)v, b);
		return;
	case CALL_FUTEX_OP:
		call_put_futex((uint32_t)v, b);
		return;
	case CALL_HEX:
		call_put_hex(v, b);
		return;
	case CALL_POINTER:
	case CALL_PATH:
	case CALL_NAME:
	case CALL_PATH_OUT:
	case CALL_ADDRESS:
	case CALL_ADDRESS_OUT:
	case CALL_ARGV:
	case CALL_HOW:
	case CALL_TIME:
	case CALL_CLONE3:
	case CALL_FD_PAIR:
		call_put_pointer(v, b);
		return;
	}
	if (!put_constant(letter, (uint32_t)v, b))
		call_flags_put(letter, letter == CALL_CLONE_FLAGS ? v : (uint32_t)v, b);
}

/* Kernel-internal codes that a tracer sees: the call is restarted, or returns EINTR. */
static const struct {
	int code;
	const char *text;
} restarts[] = {
	{512, "ERESTARTSYS (To be restarted if SA_RESTART is set)"},
	{513, "ERESTARTNOINTR (To be restarted)"},
	{514, "ERESTARTNOHAND (To be restarted if no handler)"},
	{516, "ERESTART_RESTARTBLOCK (Interrupted by signal)"},
};

#define ERRNO_LAST 4095

static void call_put_error(int error, struct strbuf *b)
{
	const char *name = strerrorname_np(error);

	for (size_t i = 0; i < ARRAY_SIZE(restarts); i++)
		if (restarts[i].code == error) {
			strbuf_printf(b, "? %s", restarts[i].text);
			return;
		}
	if (name)
		strbuf_printf(b, "-1 %s (%s)", name, strerrordesc_np(error));
	else
		strbuf_printf(b, "-1 (errno %d)", error);
}

void call_result_put(const struct call_row *row, int64_t result, struct strbuf *b)
{
	char kind = row ? row->result : CALL_LONG;

	if (result < 0 && result >= -ERRNO_LAST) {
		call_put_error((int)-result, b);
		return;
	}
	switch (kind) {
	case CALL_HEX:
		strbuf_printf(b, "%#" PRIx64, (uint64_t)result);
		return;
	case CALL_MODE:
		call_put_mode((uint64_t)result, b);
		return;
	}
	strbuf_printf(b, "%" PRId64, result);
}

/* Returns true if open(2) with these flags may create a file. O_TMPFILE contains O_DIRECTORY. */
static bool call_creates_file(uint64_t flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

unsigned call_count_args(const struct call_row *row, const uint64_t args[static CALL_ARGS_MAX])
{
	unsigned n = row ? (unsigned)strlen(row->args) : CALL_ARGS_MAX;
	const char *flags = row ? strchr(row->args, CALL_OPEN_FLAGS) : NULL;

	if (flags && flags[1] == CALL_MODE && !call_creates_file(args[flags - row->args]))
		return (unsigned)(flags - row->args) + 1;
	if (n == 3 && row->args[1] == CALL_FCNTL &&
	    (args[1] == F_GETFD || args[1] == F_GETFL || args[1] == F_GETOWN || args[1] == 1032 ||
	     args[1] == 1034 || args[1] == 1025))
		return 2;
	if (row && !strcmp(row->name, "mremap") &&
	    !(args[3] & (MREMAP_FIXED | 4 /* MREMAP_DONTUNMAP */)))
		return 4;
	return n;
}
