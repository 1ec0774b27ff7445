# SPDX-License-Identifier: Apache-2.0
#
# Rows of help_rows.awk become lines of the table of completion.sh.

# The values that the text of an option lists, as "boot (default) or mono_raw", "WHAT: slices (own time), sched" or
# "min=10ms,kernel"; "" if it lists none.
function values_in(text,    list, n, i, values) {
	gsub(/ *\([^)]*\)/, "", text)
	sub(/^.*: /, "", text)
	n = split(text, list, /, *| or /)
	for (i = 1; i <= n && sub(/=.*$/, "=", list[i]) + (list[i] ~ /^[a-z_]+$/); i++)
		values = values " " list[i]
	return values
}
# What an argument is, by its name in the help; for a choice "=" and its values.
function kind_of(argument, option, text) {
	if (argument == "")
		return "-"
	if (option == "preset")
		return "presets"
	if (argument ~ /^(FILE|SCRIPT)/)
		return "files"
	if (argument ~ /^DIR/)
		return "directories"
	if (argument ~ /^EVENT/)
		return "events"
	if (argument ~ /^CATEGOR/)
		return "categories"
	if (argument ~ /^(FUNC|PROBE)/)
		return "functions"
	if (argument ~ /^WORD/)
		return "recordable"
	if (argument ~ /^SESSION/)
		return "sessions"
	if (argument ~ /^PID/)
		return "pids"
	if (option == "syscalls")
		return "syscalls"
	if (option == "by" && verb == "top")
		return "=" values_in(text)
	if (option == "by")
		return "keys"
	if (argument ~ /^COND/)
		return "=" listed
	if (argument ~ /^(KEY|WHEN|WHICH|WHAT|CLOCK|ACTION)/)
		return values_in(text) == "" ? "any" : "=" values_in(text)
	return "any"
}
function put_option(long, short, argument, text) {
	print verb "\t" long "\t" short "\t" kind_of(argument, long, text) "\t" text
}
# "-B, --ring SIZE, --subbuf SIZE"; several options may share an argument: "--kprobe, --kretprobe FUNC".
function option(left, text,    list, n, i, long, arguments, short, rest) {
	n = split(left, list, /, /)
	short = list[1] ~ /^-[A-Za-z]/ ? substr(list[1], 2, 1) : "-"
	for (i = n; i >= 1; i--) {
		long[i] = match(list[i], /^--[a-z][-a-z0-9]*/) ? substr(list[i], 3, RLENGTH - 2) : "-"
		rest = substr(list[i], (long[i] == "-" ? 2 : RLENGTH) + 1)
		if (rest ~ /^\[=/) # the next word is not its value
			rest = ""
		arguments[i] = gsub(/^[ =[]+/, "", rest) ? rest : arguments[i + 1]
	}
	for (i = short == "-" || n == 1 ? 1 : 2; i <= n; i++) {
		put_option(long[i], short, arguments[i], text)
		short = "-"
	}
}

BEGIN { FS = "\t"; words = "-" }
$1 == "U" {
	# The last word that is not an option says what stands without one.
	usage = $2
	gsub(/\[-[^]]*\]|\[OPTION\]\.\.\.|\[?-- .*$|-[a-z] [A-Z]+\|?/, "", usage)
	if (usage ~ /WORD|EVENT/ && verb !~ /^describe$/)
		words = "recordable"
	else if (usage ~ /WORD/)
		words = "describable"
	else if (usage ~ /SESSION/ || (usage ~ /NAME/ && verb ~ /^(stop|attach)$/))
		words = "sessions"
	else if (usage ~ /FILE| A B/)
		words = "files"
	else if (usage ~ /CHECK/)
		words = "checks"
	else if (usage ~ /DIR/)
		words = "directories"
}
# "-e (--event)" in a heading.
$1 == "H" && match($2, /-[a-z] \(--[a-z]+\)/) {
	at = substr($2, RSTART, RLENGTH)
	put_option(substr(at, 7, length(at) - 7), substr(at, 2, 1), "EVENT", "a word of what to record")
}
$1 == "R" && $2 ~ /^-/ { option($2, $3) }
# The words of a list, such as kinds.
$1 == "R" && $2 ~ /^[a-z][-a-z]*$/ && verb != "record" {
	listed = listed " " $2
	if (verb != "diff") # its metrics stand in --fail-if only
		print verb "\tword\t-\t" $2 "\t" $3
}
END { print verb "\twords\t-\t" words "\t-" }
