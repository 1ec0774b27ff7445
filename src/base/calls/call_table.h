/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * System calls by name: the classes and the arguments of each. The same for all architectures.
 */

/* Classes of calls, as in strace -e trace=CLASS; each is a bit. */
enum call_class {
	CALL_OF_FILE = 1, /* takes the name of a file */
	CALL_OF_DESC = 2, /* takes or returns a descriptor */
	CALL_OF_PROCESS = 4,
	CALL_OF_NETWORK = 8,
	CALL_OF_SIGNAL = 16,
	CALL_OF_IPC = 32,
	CALL_OF_MEMORY = 64,
	CALL_OF_CREDS = 128,
	CALL_OF_CLOCK = 256,
};

/* The kind of an argument or a result. The values are letters, so that a row is a string. */
enum call_type_letter {
	CALL_INT = 'd',
	CALL_LONG = 'D', /* signed, of 64 bits */
	CALL_UNSIGNED = 'u',
	CALL_HEX = 'x',
	CALL_MODE = 'o', /* of a file, in octal */
	CALL_POINTER = 'p', /* to memory that is not recorded */
	CALL_FD = 'f',
	CALL_DIR_FD = 'F', /* may be AT_FDCWD */
	/* Pointers to memory that is recorded. */
	CALL_PATH = 's',
	CALL_NAME = 'S', /* a string that is not a path */
	CALL_PATH_OUT = 't', /* the call writes it; its length is the result */
	CALL_ADDRESS = 'A', /* of a socket; its length is the next argument */
	CALL_ADDRESS_OUT = 'a', /* the next argument points to the length */
	CALL_ARGV = 'v',
	CALL_HOW = 'h', /* struct open_how */
	CALL_TIME = 'T', /* struct timespec */
	CALL_CLONE3 = 'C', /* struct clone_args; its length is the next argument */
	CALL_FD_PAIR = 'q', /* two descriptors that the call writes */
	/* Numbers with names (call_values.c). */
	CALL_OPEN_FLAGS = 'O',
	CALL_ACCESS_MODE = 'r',
	CALL_AT_FLAGS = '@',
	CALL_PROT = 'P',
	CALL_MAP_FLAGS = 'M',
	CALL_CLONE_FLAGS = 'c',
	CALL_DOMAIN = 'k',
	CALL_SOCKET_TYPE = 'K',
	CALL_SOCKET_FLAGS = '4', /* of accept4 */
	CALL_PROTOCOL = '6', /* of a socket whose domain is the argument two before */
	CALL_MSG_FLAGS = 'g',
	CALL_SIGNAL = 'n',
	CALL_SIGNAL_HOW = 'H', /* of sigprocmask */
	CALL_WAIT_OPTIONS = 'w',
	CALL_WHENCE = 'l',
	CALL_FCNTL = '5',
	CALL_FUTEX_OP = 'X',
	CALL_EPOLL_OP = 'E',
	CALL_CLOCK = 'y',
	CALL_ADVICE = 'b', /* of madvise */
	CALL_SHUT = 'j',
	CALL_SOL = 'L', /* level of socket options */
	CALL_FD_FLAGS = 'Y', /* O_CLOEXEC and O_NONBLOCK, of pipe2 and others */
	CALL_UNLINK_FLAGS = 'U', /* of unlinkat */
};

#define CALL_ARGS_MAX 6

struct call_row {
	const char *name;
	const char *args; /* a letter for each argument, at most CALL_ARGS_MAX */
	uint16_t classes; /* enum call_class */
	char result; /* CALL_INT, CALL_LONG, CALL_HEX, CALL_FD, or CALL_NO_RESULT */
};

#define CALL_NO_RESULT 'N' /* it does not return */

/* The rows in the order of their names. */
extern const struct call_row call_rows[];
extern const size_t n_call_rows;

/* Returns the row of a call, or NULL. */
const struct call_row *call_row_find(const char *name, size_t len);
/* Returns the bit of a class, or 0 if there is none of that name; "%file" is "file". */
unsigned call_class_find(const char *name, size_t len);
/* Returns the index of the first argument that is the path of a file (0: the first argument), or
 * -1. */
int call_row_path(const struct call_row *row);
