# SPDX-License-Identifier: Apache-2.0
#
# See test_docs.sh. Speaks TAP.
import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys

build = sys.argv[1]
pages = ['README.md', 'CONTRIBUTING.md', 'NEWS.md', 'SECURITY.md', 'bench/README.md'] + sorted(glob.glob('docs/*/*.md'))
text = {page: open(page).read() for page in pages}
n = bad = 0


def verdict(name, offenders):
    global n, bad
    n += 1
    print(('not ok' if offenders else 'ok') + f' {n} - {name}')
    for offender in sorted(set(offenders))[:60]:
        print('#   ' + offender)
    bad |= bool(offenders)


def tracked():
    return subprocess.run(['git', 'ls-files'], capture_output=True, text=True).stdout.split() or [
        os.path.join(d, f)[2:] for d, _, fs in os.walk('.') if '/.git' not in d for f in fs]


files = tracked()
directories = {f[:i] for f in files for i, c in enumerate(f) if c == '/'}


def words_of(*patterns):
    words = set()
    for pattern in patterns:
        for path in glob.glob(pattern, recursive=True):
            if os.path.isfile(path):
                words |= set(re.findall(r'\w+', open(path, errors='replace').read()))
    return words


def anchor(heading):
    return re.sub(r'[^\w\- ]', '', heading.strip().lower()).replace(' ', '-')


# ---- shelves --------------------------------------------------------------------------------------------------------

# A man page names a page of docs/ by its name alone, so a name is on one shelf.
names = [os.path.basename(page) for page in pages if page.startswith('docs/')]
offenders = [f'{page}: move it to docs/guides, docs/reference or docs/internals' for page in glob.glob('docs/*.md')]
offenders += [f'two pages are named {name}' for name in names if names.count(name) > 1]
verdict('each page of docs/ is on one shelf', offenders)

# ---- links ---------------------------------------------------------------------------------------------------------

offenders = []
for page in pages:
    for target in re.findall(r'\]\(([^)\s]+)\)', text[page]):
        if re.match(r'https?:|mailto:', target):
            continue
        path, _, part = target.partition('#')
        path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(path):
            offenders.append(f'{page}: {target}')
        elif part and path.endswith('.md'):
            headings = [anchor(h) for h in re.findall(r'^#+ (.*)', open(path).read(), re.M)]
            if part not in headings:
                offenders.append(f'{page}: {target}: no such heading')
verdict('links lead somewhere', offenders)

# ---- tests that docs/reference/security.md names in the column "test" of a table ----------------------------------------------

sources = '\n'.join(open(f, errors='replace').read() for f in files if f.startswith('tests/') and f.endswith(('.c', '.h', '.sh')))
offenders = []
has_tests = False
for line in text['docs/reference/security.md'].splitlines():
    if not line.startswith('|'):
        has_tests = False
        continue
    cells = line.strip('|').split('|')
    if cells[-1].strip() == 'test':
        has_tests = True
    elif has_tests:
        for name in re.findall(r'`([^`]+)`', cells[-1]):
            if name not in sources and not glob.glob(name):
                offenders.append('docs/reference/security.md: ' + name)
verdict('tests of the security page exist', offenders)

# ---- the map of owners in CONTRIBUTING.md ----------------------------------------------------------------------------

names = {f[6:-2] for f in files if re.fullmatch(r'tests/unit/.*/test_\w+\.c', f)}
names |= {'fuzz/' + f[16:-2] for f in files if re.fullmatch(r'tests/fuzz/fuzz_\w+\.c', f)}
names |= {f[6:] for f in files if re.fullmatch(r'tests/(rules|system|root|interop)/test_\w+\.sh', f)}
owned, matched, offenders = set(), set(), []
section = text['CONTRIBUTING.md'].partition('\n## Owners\n')[2].partition('\n## ')[0]
for line in re.findall(r'^\| (?:recording|answers) \|.*', section, re.M):
    _, where, tests = line.strip('|').split('|')
    owned |= set(re.findall(r'`([^`]+)`', where))
    for pattern in re.findall(r'`([^`]+)`', tests):
        found = set(fnmatch.filter(names, pattern))
        matched |= found
        if not found:
            offenders.append(f'CONTRIBUTING.md: {pattern} is no test')
rooms = {'/'.join(f.split('/')[:3 if f.startswith('src/cli/') else 2]) for f in files if f.startswith('src/') and f.endswith('.c')}
offenders += [f'{room} has no owner' for room in rooms if not room.endswith('.c') and room not in owned]
offenders += [f'{name} has no owner' for name in names if name.startswith(('unit/', 'fuzz/')) and name not in matched]
verdict('the map of owners has each directory, unit test and fuzz target', offenders)

# ---- limits that docs/reference/security.md names, with their values ----------------------------------------------------------

defines = {}
for path in ('src/config/limits.h', 'src/service/ipc/limits.h', 'src/base/event_loop/sock.h'):
    for name, value in re.findall(r'^#define (\w+) ([^/\n]+)', open(path).read(), re.M):
        value = re.sub(r'(?<=\d)(u|ull)\b', '', value).strip()
        defines[name] = eval(value) if re.fullmatch(r'[\d() <*]+', value) else None  # None: made of others
units = {'': 1, 'Ki': 1 << 10, 'KiB': 1 << 10, 'Mi': 1 << 20, 'MiB': 1 << 20, 'GiB': 1 << 30}
offenders = []
for line in text['docs/reference/security.md'].splitlines():
    if not line.startswith('| `LIMIT_'):
        continue
    cells = line.strip('|').split('|')
    shown = {int(n) * units[unit or ''] for n, unit in re.findall(r'(?<![\d/])(\d+)(?!\d|/)(?: (KiB|MiB|GiB|Ki|Mi)\b)?', cells[-2])}
    for name in re.findall(r'`(\w+)`', cells[-1]):
        if name not in defines:
            offenders.append(f'docs/reference/security.md: {name} is not defined')
        elif defines[name] is not None and defines[name] not in shown:
            offenders.append(f'docs/reference/security.md: {name} is {defines[name]}, not one of {sorted(shown)}')
for name in re.findall(r'`(SOCK_BACKLOG|(?:MAX|LIMIT)_\w+)`', text['docs/reference/security.md']):
    if name not in defines and not os.popen(f'grep -rlw {name} src include protos').read():
        offenders.append(f'docs/reference/security.md: {name} is nowhere')
verdict('limits of the security page are those of the sources', offenders)

# ---- files ---------------------------------------------------------------------------------------------------------

offenders = []
roots = {f.split('/')[0] for f in files if '/' in f}
in_src = {f.split('/')[1] for f in files if f.startswith('src/')}


def exists(path):
    path = path.rstrip('/.,:;')
    if path in directories or path in files:
        return True
    if '*' in path:
        return bool(glob.glob(path))
    if any(f.startswith(path + '.') for f in files):  # a unit, without .c and .h
        return True
    # What is built: build/X is made from X.c, or of main.c.
    return False


for page in pages:
    for path in re.findall(r'(?<![\w/.~$}<-])([a-z_]+/[\w./*{},-]*\w)', text[page]):
        first = path.split('/')[0]
        if '{' in path or re.search('NAME|GROUP', path) or 'X' in path.split('/')[-1] or 'VERB' in path:
            continue
        if first == 'build':
            rest = path[len('build/'):].split('asan/')[-1]
            if rest.startswith(('tests/', 'bench/')) and not any(f.startswith(rest.replace('replay_', 'fuzz_')) for f in files):
                offenders.append(f'{page}: {path}')
        elif first in roots - {'tools'} or first == 'tools' and path.count('.'):
            if not exists(path):
                offenders.append(f'{page}: {path}')
        elif first in in_src and re.search(r'\.[ch]$', path) and not exists('src/' + path):
            offenders.append(f'{page}: {path}')
verdict('files exist', offenders)

# ---- make targets --------------------------------------------------------------------------------------------------

makefile = open('Makefile').read()
targets = set(re.findall(r'^([a-z][a-z-]*):', makefile, re.M))
offenders = []
for page in pages:
    for words in re.findall(r'(?:`|^    )make ([^`#\n&]*)', text[page], re.M):
        for word in words.split('  ')[0].split():
            if re.fullmatch(r'[a-z][a-z-]+', word) and word not in targets:
                offenders.append(f'{page}: make {word}')
verdict('make targets exist', offenders)

# ---- options -------------------------------------------------------------------------------------------------------

programs = [f'{build}/bin/{name}' for name in ('sonda', 'sondad', 'sonda-probes')]


def output(*command, program=None):
    done = subprocess.run(command, executable=program, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    return done.returncode, done.stdout + done.stderr


if all(os.access(p, os.X_OK) for p in programs):
    known = ''
    offenders = []
    verbs = re.findall(r'^  ([a-z]+) ', output(programs[0], 'help')[1], re.M)
    for verb in verbs:
        code, said = output(programs[0], 'help', verb)
        known += said
        if code:
            offenders.append(f'sonda help {verb}: exit code {code}')
    known += ''.join(output(p, '--help')[1] for p in programs)
    known += output('perfetto', '--help', program=programs[0])[1]
    verdict('each verb has a help', offenders)
    options = set(re.findall(r'--[a-z][a-z-]+', known)) | {'--help', '--version'}
    options |= {'--privileged', '--pid', '--cgroupns', '--nobuild'}  # of podman and rpmbuild
    # Those of other programs, and of scripts here.
    for f in files:
        if re.match(r'(tests|tools|bench)/.*\.(sh|mjs)$|Makefile', f) and f != 'tests/rules/check_docs.py':
            options |= set(re.findall(r'--[a-z][a-z-]+', open(f, errors='replace').read()))
    offenders = []
    for page in pages:
        for line in text[page].split('\n'):
            if re.search(r'\b(gdb|apt-get|podman|systemctl|clang|git config|callgrind|node|trace_processor|clickhouse-client)\b', line):
                continue
            for option in re.findall(r'(?<![\w-])--[a-z][a-z-]+', line):
                if option not in options and not any(o.startswith(option) for o in options):
                    offenders.append(f'{page}: {option}')
    verdict('options exist', offenders)
    offenders = []
    for page in pages:
        for verb in re.findall(r'^    (?:\$ )?(?:build/bin/)?sonda ([a-z]+)\b', text[page], re.M):
            if verb not in verbs:
                offenders.append(f'{page}: sonda {verb}')
    verdict('verbs exist', offenders)
else:
    for name in ('each verb has a help', 'options exist', 'verbs exist'):
        n += 1
        print(f'ok {n} - {name} # SKIP the programs are not built')

# ---- fields --------------------------------------------------------------------------------------------------------

messages = {}
for path in glob.glob('protos/**/*.proto', recursive=True):
    stack = []
    for line in open(path):
        line = line.split('//')[0]
        m = re.match(r'\s*(message|enum|extend|oneof)\s+(\w+)', line)
        if m:
            stack.append(m.group(2) if m.group(1) != 'oneof' else stack[-1])
            messages.setdefault(stack[-1], set())
            line = line[m.end():]
        for field in re.findall(r'(\w+)\s*=\s*-?(?:0x)?\w+', line):
            for name in set(stack):
                messages[name].add(field)
        # Fields that span no brace of their own.
        for _ in range(line.count('}')):
            if stack:
                stack.pop()
offenders = []
for page in pages:
    for name, fields in re.findall(r'`([A-Z][A-Za-z]+[a-z][A-Za-z]*)\.([a-z][a-z_0-9.]*)', text[page]):
        if name in messages and fields.split('.')[0].rstrip('.') not in messages[name]:
            offenders.append(f'{page}: {name}.{fields}')
verdict('fields of messages exist', offenders)

# Words with an underscore in backquotes are fields of configs, counters, files of the kernel, functions: something here, or
# in the tests that compare with the kernel, has to know them.
known_words = words_of('protos/**/*', 'src/**/*', 'bpf/**/*', 'configs/**/*', 'tests/**/*.c', 'tests/**/*.h', 'tests/**/*.sh', 'tools/*',
                       'bench/*', 'docs/*/*.txt', 'Makefile')
known_words |= {os.path.splitext(os.path.basename(f))[0] for f in files}
known_words |= {f[len('tests/fuzz/fuzz_'):-2] for f in files if f.startswith('tests/fuzz/fuzz_')}
known_words |= {'traced_relay', 'perf_jit', 'proto_filter', 'sys_newfstat', 'names_0', 'names_2'}  # of Perfetto, Python, the kernel; examples
offenders = []
for page in pages:
    for code in re.findall(r'`([^`\n]+)`', text[page]):
        for word in re.findall(r'(?<![\w.-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w*<-])', code):
            if word not in known_words and not any(w.startswith(word) for w in known_words):
                offenders.append(f'{page}: {word}')
verdict('config fields, counters and files of the kernel are known here', offenders)

# ---- configs -------------------------------------------------------------------------------------------------------

offenders = []
if shutil.which('protoc'):
    for page in pages:
        for block in re.findall(r'(?:^    .*\n|^\n(?=    ))+', text[page], re.M):
            lines = [line[4:] for line in block.split('\n') if line.strip()]
            if not lines or not re.match(r'(buffers|data_sources|trigger_config|[a-z_]+_config) *\{', lines[0]):
                continue
            if any(re.match(r'(\$ )?(sonda|build/|select)', line) for line in lines) or '...' in block:
                continue
            config = '\n'.join(re.sub(r'#.*', '', line) for line in lines)
            said = ''
            for message, path in (('TraceConfig', 'config/trace_config'), ('DataSourceConfig', 'config/data_source_config')):
                done = subprocess.run(['protoc', '-Iprotos', f'--encode=perfetto.protos.{message}', path + '.proto'],
                                      input=config.encode(), capture_output=True)
                if done.returncode == 0:
                    break
                said += done.stderr.decode().strip().split('\n')[0] + '; '
            else:
                offenders.append(f'{page}: {lines[0]}: {said}')
    verdict('configs parse', offenders)
else:
    n += 1
    print(f'ok {n} - configs parse # SKIP protoc is missing')

# ---- the map -------------------------------------------------------------------------------------------------------

# docs/internals/architecture.md shows each room of the table once, and the tables of steps name functions that their files define.
page = 'docs/internals/architecture.md'
rooms = re.findall(r'^([a-z_/]+) +\|', open('tests/rules/rooms').read(), re.M)
shown = re.findall(r'^\| `([a-z_/]+)` \|', text[page].partition('## Rooms')[2].partition('\n## ')[0], re.M)
verdict('the map has every room, and no other', [f'not in the map: {r}' for r in rooms if r not in shown] +
        [f'no such room: {r}' for r in shown if r not in rooms])


def defines_function(path, name):
    source = open(path).read() if os.path.exists(path) else ''
    if re.search(rf'^#define {name}\(|^int BPF_PROG\({name},', source, re.M):
        return True
    # A definition begins in the first column, and a brace follows its parameters.
    begins = re.finditer(rf'^\w[^\n;={{]*\b{name}\(', source, re.M)
    return any(re.match(r'[^;{}]*\)\s*\{', source[m.end():]) for m in begins)


offenders = []
steps = 0
is_steps = False
for line in text[page].splitlines():
    is_steps = line == '| step | where |' or is_steps and line.startswith('|')
    is_step = is_steps and re.match(r'\| (?!step \||---)', line)
    step, _, where = line.strip('| ').rpartition(' | ') if is_step else ('', '', line)
    start, *links = re.split(r'\]\((?:\.\./)+((?:src|include|bpf)/[\w/.]+)\)', where)
    named = set()
    for path, rest in zip(links[::2], links[1::2]):
        # In a sentence, the functions of a file follow its link and a colon.
        calls = rest if is_step else re.match(r'(?:: (?:`\w+\(\)`(?:, |,? and )?)+)?', rest).group()
        for name in re.findall(r'`(\w+)\(\)`', calls):
            named.add(name)
            if not defines_function(path, name):
                offenders.append(f'{path} does not define {name}()')
    if is_step:
        steps += 1
        for name in re.findall(r'`([a-z_]+)\(\)`', step + start):
            if name not in named:
                offenders.append(f'the step names {name}(), not its file: {step[:60]}')
        if not named:
            offenders.append(f'the step has no function: {step[:60]}')
if steps < 60:
    offenders.append(f'only {steps} steps were found')
verdict('functions of the tables of steps are defined in the files that they link', offenders)

offenders = []
for line in text[page].splitlines():
    for cell in line.strip('|').split('|') if line.startswith('|') else []:
        if len(re.sub(r'\]\([^)]*\)', ']', cell).split()) > 25:
            offenders.append(f'{page}: {cell.strip()[:80]}')
verdict('cells of the map have at most 25 words', offenders)
print(f'1..{n}')
sys.exit(bad)
