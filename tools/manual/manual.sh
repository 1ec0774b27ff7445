#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: tools/manual/manual.sh PROGRAMS TO
#
# Writes the man pages into TO/man1 ... TO/man8. Nothing in them is written twice: verbs and options come from --help of the
# programs in the directory PROGRAMS, fields from protos/, functions from include/, the rest from docs/. A verb, option, field
# or function that is added is in the next build's pages.
#
#	sonda(1)           verbs, and README.md's example
#	sonda-VERB(1)      options, and docs/reference/VERB.md if there is one
#	sondad(8), sonda-probes(8), sonda-relay(8)
#	sonda.cfg(5)       fields of TraceConfig
#	sonda-trace(7)     what each data source of sonda-probes records: its section of docs/
#	sonda*(3)          one for each public header, and a link for each function
set -eu
cd "$(dirname "$0")/../.."
programs=$1 to=$2
tools=tools/manual
. $tools/lib.sh

rm -rf "$to"
mkdir -p "$to/man1" "$to/man3" "$to/man5" "$to/man7" "$to/man8"
version=$("$programs/sonda" version | sed 's/.* //')
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || date -r NEWS.md +%s)}"
date=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)

roff() { # AWK_FILE ARGUMENT...
  script=$1
  shift
  awk -f $tools/roff.awk -f "$tools/$script" "$@"
}
head_of() { # NAME SECTION TITLE
  # groff 1.23 and later adjusts paragraphs as AD says, older ones and mandoc as .ad.
  printf '.TH "%s" "%s" "%s" "sonda %s" "%s"\n.nh\n.ds AD l\n.ad l\n' "$(echo "$1" | tr a-z- A-Z- | sed 's/-/\\-/g')" "$2" "$date" "$version" "$3"
}
name_of() { # NAME WHAT
  printf '.SH NAME\n%s \\- %s\n' "$(echo "$1" | sed 's/-/\\-/g')" "$(echo "$2" | sed 's/-/\\-/g')"
}
see_also() { # PAGE(SECTION)...
  printf '.SH "SEE ALSO"\n'
  printf '%s\n' "$@" | sed 's/-/\\-/g; s/^\(.*\)(\(.*\))$/.BR \1 (\2)/; $!s/$/,/'
}

# ---- section 1 -----------------------------------------------------------------------------------

verbs=$(verbs_of "$programs")
exit_codes() { # VERB...: 3 if one of them has --strict
  cat <<'END'
.SH "EXIT STATUS"
.TP
0
success
.TP
1
failure; the reason is on standard error
.TP
2
the command line is wrong
END
  for verb; do
    has_option "$programs" "$verb" --strict || continue
    cat <<'END'
.TP
3
with \fB\-\-strict\fR: success, but data was lost or is missing
END
    return
  done
}
environment() { # VERB...: what one of them uses, by its options
  options=$(for verb; do rows_of "$programs" sonda "$verb"; done)
  heading='.SH ENVIRONMENT\n'
  variable() { # OPTION NAMES EXPLANATION
    case $options in *"$1"*) ;; *) return ;; esac
    printf "$heading.TP\n%s\n%s\n" "$2" "$3"
    heading=
  }
  variable --socket '\fBPERFETTO_PRODUCER_SOCK_NAME\fR, \fBPERFETTO_CONSUMER_SOCK_NAME\fR' \
    "addresses of the tracing service's sockets; default /run/perfetto/traced\-producer.sock and traced\-consumer.sock"
  variable --color '\fBNO_COLOR\fR' 'if set and not empty: no colours, unless \fB\-\-color\fR requests them'
  variable --no-pager '\fBSONDA_PAGER\fR, \fBPAGER\fR' 'the pager; an empty value or "cat" disables it'
}
# The verb whose page of docs/ tells most of VERB, if VERB has none of its own.
told_by() { # VERB
  [ ! -f "docs/reference/$1.md" ] || return 0
  for verb in $verbs; do
    [ ! -f "docs/reference/$verb.md" ] || printf '%s %s\n' "$(grep -c "sonda $1\>" "docs/reference/$verb.md")" "$verb"
  done | sort -rn | sed -n '1s/.* \(.*\)/sonda-\1(1)/p'
}

examples_of() { # VERB
  awk -F ' *[|] ' -v verb="$1" '$1 == verb { print (n++ ? "" : ".SH EXAMPLES\n") ".PP\n" $3 "\n.PP\n.RS 4\n.EX\n" $2 "\n.EE\n.RE" }' $tools/examples |
    sed "/^\./!s/-/\\\\-/g; /^\./!s/'/\\\\(aq/g"
}

files_of() { # PROGRAM
  printf '.SH FILES\n'
  sed -n "s/^$1"' *| *\([^|]*[^| ]\) *| *\(.*\)/.TP\n\1\n\2/p' $tools/files | sed 's/-/\\-/g; s/~/\\(ti/g'
}

{
  head_of sonda 1 "User Commands"
  name_of sonda "record and read traces of the Linux kernel and programs"
  rows_of "$programs" sonda | roff help_page.awk -v rows=VERBS
  printf '.PP\nEach verb has a page of its own, such as\n.BR sonda\\-record (1).\n'
  roff markdown.awk -v depth=0 -v only="The first recording" README.md | sed 's|build/bin/||g; 1i.SH EXAMPLES'
  # Word splitting is intended.
  # shellcheck disable=SC2086
  exit_codes $verbs
  # shellcheck disable=SC2086
  environment $verbs
  files_of sonda
  # shellcheck disable=SC2046
  see_also $(for v in $verbs; do echo "sonda-$v(1)"; done) "sonda.cfg(5)" "sonda-trace(7)" "sondad(8)" "sonda-probes(8)" "sonda-relay(8)"
} >"$to/man1/sonda.1"

for verb in $verbs; do
  {
    head_of "sonda-$verb" 1 "User Commands"
    name_of "sonda-$verb" "$(what_is "$programs" "$verb")"
    rows_of "$programs" sonda "$verb" | roff help_page.awk -v rows=OPTIONS
    [ ! -f "docs/reference/$verb.md" ] || roff markdown.awk "docs/reference/$verb.md" | sed '/^\.SH/,$!{1i.SH USE
}'
    examples_of "$verb"
    exit_codes "$verb"
    environment "$verb"
    # Nothing or a word.
    # shellcheck disable=SC2046
    see_also "sonda(1)" $(told_by "$verb") "sonda.cfg(5)" "sonda-trace(7)"
  } >"$to/man1/sonda-$verb.1"
done

# ---- section 8 -----------------------------------------------------------------------------------

daemon() { # PROGRAM WHAT
  head_of "$1" 8 "System Administration"
  name_of "$1" "$2"
  rows_of "$programs" "$1" | roff help_page.awk -v rows=OPTIONS
  cat <<'END'
.SH "EXIT STATUS"
.TP
0
ended by SIGTERM or SIGINT
.TP
1
failure; the reason is on standard error
.TP
2
the command line is wrong
END
  files_of "$1"
}
{
  daemon sondad "tracing service: collects what producers record, for consumers that ask for it"
  see_also "sonda(1)" "sonda.cfg(5)" "sonda-probes(8)"
} >"$to/man8/sondad.8"
{
  daemon sonda-probes "data sources of this machine for the tracing service"
  see_also "sonda(1)" "sonda.cfg(5)" "sonda-trace(7)" "sondad(8)"
} >"$to/man8/sonda-probes.8"
{
  daemon sonda-relay "connects this machine's producers to the tracing service on another machine"
  see_also "sonda(1)" "sondad(8)" "sonda-probes(8)"
} >"$to/man8/sonda-relay.8"

# ---- sections 5 and 7 ----------------------------------------------------------------------------

{
  head_of sonda.cfg 5 "File Formats"
  name_of sonda.cfg "trace config: what to record, for how long, into what"
  roff markdown.awk $tools/sonda.cfg.md
  # Word splitting is intended.
  # shellcheck disable=SC2046
  roff config_page.awk $(find protos/config protos/common -name '*.proto' | LC_ALL=C sort)
  see_also "sonda-record(1)" "sonda-trace(7)"
} >"$to/man5/sonda.cfg.5"

# A data source has a section of its own in a page of docs/, or a whole page, which names it in its first paragraph.
source_section() { # NAME
  page=$(grep -l "^#* $1\$" docs/reference/*.md | head -n 1)
  if [ -n "$page" ]; then
    if grep -q "^# $1\$" "$page"; then
      roff markdown.awk -v depth=1 "$page"
    else
      roff markdown.awk -v only="$1" "$page"
    fi
    return
  fi
  page=$(awk -v name="\`$1\`" 'FNR == 1 { paragraph = 0 } /^$/ { paragraph++ } paragraph == 1 && index($0, name) { print FILENAME; exit }' docs/reference/*.md)
  [ -z "$page" ] || roff markdown.awk -v depth=1 "$page"
}
{
  head_of sonda-trace 7 "Miscellaneous"
  name_of sonda-trace "what the data sources of sonda record"
  roff markdown.awk $tools/sonda-trace.md
  for source in $(sources_of "$programs"); do
    printf '.SH "%s"\n' "$source"
    source_section "$source"
  done
  see_also "sonda(1)" "sonda.cfg(5)" "sonda-probes(8)"
} >"$to/man7/sonda-trace.7"

# ---- section 3 -----------------------------------------------------------------------------------

for header in include/sonda/*.h; do
  page=sonda_$(basename "$header" .h)
  [ "$page" != sonda_sonda ] || page=sonda
  {
    head_of "$page" 3 "Library Functions"
    roff header_page.awk -v page="$page" -v header="sonda/${header##*/}" "$header"
    see_also "sonda(1)" "sonda-trace(7)"
  } >"$to/man3/$page.3"
  for name in $(roff header_page.awk -v names_only=1 "$header"); do
    [ -e "$to/man3/$name.3" ] || ln -s "$page.3" "$to/man3/$name.3"
  done
done

# A section begins a paragraph by itself: mandoc warns of another one.
find "$to" -name '*.[1-8]' -type f | while read -r page; do
  awk '/^\.PP$/ && begins { next } { begins = /^\.S[HS] /; print }' "$page" >"$to/page" && mv "$to/page" "$page"
done
