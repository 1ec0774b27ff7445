#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda ship over TLS: whom it trusts, what it says otherwise; redirects and proxies.
. "$(dirname "$0")/ship.sh"
needs_commands openssl

make_key() { # NAME ARGUMENT...
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$TMP/$1.key" "${@:2}" 2>>"$TMP/openssl"
}
make_key ca -x509 -subj /CN=test-ca -out "$TMP/ca.pem" && make_key other -x509 -subj /CN=other -out "$TMP/other.pem" &&
  make_key server -subj /CN=localhost -out "$TMP/server.csr" &&
  openssl x509 -req -in "$TMP/server.csr" -CA "$TMP/ca.pem" -CAkey "$TMP/ca.key" -CAcreateserial -extfile <(echo subjectAltName=DNS:localhost) \
    -out "$TMP/server.crt" 2>>"$TMP/openssl" && cat "$TMP/server.crt" "$TMP/server.key" >"$TMP/server.pem"
verdict "certificates" $? "$TMP/openssl"
rm "$TMP/from/large.pftrace"
STORE=$TMP/secure
mkdir "$STORE"
python3 tests/system/s3_server.py "$STORE" "$TMP/server.pem" >"$STORE/port" 2>"$STORE/err" &
PIDS+=($!)
until PORT=$(cat "$STORE/port") && [ -n "$PORT" ]; do sleep 0.02; done
touch "$STORE/log"
ask() { curl -sf --cacert "$TMP/ca.pem" "https://localhost:$PORT/-$1"; }

ship_to() { # HOST ARGUMENT...: without the variables of the user's proxies
  rm -rf "$TMP/spool"
  env -u https_proxy -u HTTPS_PROXY -u all_proxy -u ALL_PROXY -u no_proxy -u NO_PROXY ${VARIABLES:-} "$SONDA" ship --once --machine web-1 \
    --endpoint "https://$1:$PORT" --region eu-test-1 --credentials "$TMP/keys" --retries 2 --retry-max 10ms --from "$TMP/from" "${@:2}" \
    "$TMP/spool" "$URL" >"$TMP/out" 2>"$TMP/err"
}
# It fails at once, and says what to do.
refused() { # NAME TEXT HOST ARGUMENT...
  ship_to "${@:3}"
  [ $? = 1 ] && grep -q -- "$2" "$TMP/err" && ! grep -q 'trying again' "$TMP/err" && ! grep -q PUT "$STORE/log"
  verdict "$1" $? "$TMP/err"
}
refused "another CA" 'pass the store.s CA with --ca' localhost --ca "$TMP/other.pem"
refused "the system's CAs" 'pass the store.s CA with --ca' localhost
refused "another name of the host" 'use the host name from its certificate in --endpoint' 127.0.0.1 --ca "$TMP/ca.pem"
refused "no file of certificates" "certificates of $TMP/nothing" localhost --ca "$TMP/nothing"
ask 'reset/redirect@*'
refused "redirects" 'redirects are not followed' localhost --ca "$TMP/ca.pem"
ask reset/
VARIABLES=https_proxy=http://127.0.0.1:1 ship_to localhost --ca "$TMP/ca.pem"
[ $? = 1 ] && ! grep -q PUT "$STORE/log"
verdict "the proxy of https_proxy is used" $? "$TMP/err"
VARIABLES='https_proxy=http://127.0.0.1:1 no_proxy=localhost' ship_to localhost --ca "$TMP/ca.pem"
[ $? = 0 ] && ask state | grep -q '/manifests/'
verdict "but not for hosts of no_proxy; with its CA the store is trusted" $? "$TMP/err"
exit $BAD
