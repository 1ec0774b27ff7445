#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tracefs: none
# kernels: none
#
# A program with libsonda that has more rights than user 4242, who starts it, does not talk to that user's service.
. "$(dirname "$0")/lib.sh"
LIBSONDA=${BIN%/bin}/lib/libsonda.a
CC=$(command -v cc || command -v gcc) && [ -e "$LIBSONDA" ] || { echo "cc or libsonda.a is missing" >&2; exit 77; }
needs_commands setpriv
[ ! -S /run/perfetto/traced-producer.sock ] || { echo "a service runs here" >&2; exit 77; }
chmod 755 "$TMP"
stranger() { setpriv --reuid 4242 --regid 4242 --clear-groups "$@"; }
cat >"$TMP/client.c" <<'END'
#include <sonda/sonda.h>
#include <stdio.h>

static void say(void *ctx, const char *sentence)
{
	(void)ctx;
	fprintf(stderr, "%s\n", sentence);
}

int main(void)
{
	struct sonda_init_options o = {.size = sizeof(o), .on_trouble = say};

	return sonda_init(&o) != 0 || sonda_wait_connected(3000) != 0;
}
END
"$CC" -o "$TMP/client" -Iinclude "$TMP/client.c" "$LIBSONDA" -pthread 2>"$TMP/log"
verdict "a program with the library is built" $? "$TMP/log"
mkdir -m 755 "$TMP/own" && chown 4242:4242 "$TMP/own"
cp "$BIN/sondad" "$TMP/sondad"
export PERFETTO_PRODUCER_SOCK_NAME=$TMP/own/producer PERFETTO_CONSUMER_SOCK_NAME=$TMP/own/consumer
setpriv --reuid 4242 --regid 4242 --clear-groups "$TMP/sondad" >"$TMP/service" 2>&1 &
PIDS+=($!)
for ((i = 0; i < 300; i++)); do [ -S "$TMP/own/consumer" ] && break; sleep 0.1; done
stranger "$TMP/client" 2>"$TMP/log"
verdict "a program of the user talks to the user's service" $? "$TMP/log" "$TMP/service"
is_silent() { # NAME MODE
  cp "$TMP/client" "$TMP/client-$2" && chown 0:64003 "$TMP/client-$2" && chmod "$2" "$TMP/client-$2"
  stranger "$TMP/client-$2" 2>"$TMP/log"
  [ $? = 1 ]
  verdict "$1" $? "$TMP/log" "$TMP/service"
}
is_silent "a set-user-id program does not" 4755
is_silent "a set-group-id program does not" 2755
exit $BAD
