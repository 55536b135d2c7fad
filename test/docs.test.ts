import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { Command } from 'commander'
import { afterAll, describe, test } from 'vitest'
import { commands } from '../src/cli/commands.ts'
import type { Io } from '../src/cli/terminal/io.ts'
import { realIo } from '../src/cli/terminal/real-io.ts'
import { architecture } from './support/architecture.ts'
import { startPostgres } from './support/postgres.ts'
import { projectRoot, readProject } from './support/source.ts'
import { isLong } from './support/sweep.ts'
import { folderOf, productFiles } from './support/tidy.ts'
import { coldAmbit, startWarmAmbit } from './support/warm-ambit.ts'

const project = readProject()
const documents = project.filter(({ path }) => path.endsWith('.md'))
const textOf = (path: string): string => readFileSync(join(projectRoot, path), 'utf8')

interface Block {
  /** All that stands behind the opening fence: the language, then our marks. */
  readonly info: string
  readonly text: string
  /** The line before the block. */
  readonly above: string
}

const blocksOf = (text: string): Block[] =>
  [...text.matchAll(/(?:^(.*)\n)?^```(.*)\n([\s\S]*?)^```$/gm)].map(([, above = '', info = '', body = '']) => ({
    above,
    info,
    text: body,
  }))

/** Every command line there is, such as `key create`, with its options. */
const commandLines = new Map<string, readonly string[]>()
const io = realIo()
for (const name of Object.keys(commands)) {
  const command = await loaded(name, io)
  if (command.commands.length === 0) commandLines.set(name, longOptions(command))
  for (const inner of command.commands) commandLines.set(`${name} ${inner.name()}`, longOptions(inner))
}

const server = await startPostgres({ fsync: false })
const ambit = isLong ? coldAmbit : await startWarmAmbit()
afterAll(() => {
  ambit.stop()
  return server?.stop()
})

/** One is paid, one refused, one paid once a person has agreed; and all of it is proved. */
const refunds = /"paid":1250}\n.*policy_blocked\n.*approved\n.*"paid":9000}\n.*valid: true, covered: yes/s

describe('what a document shows is what happens [F-18]', () => {
  test.each(documents.filter(({ text }) => text.includes('```sh run\n')))('every command of $path', ({ text }) => {
    runBlocks(blocksOf(text).filter(({ info }) => info === 'sh run' || savedAs(info) !== undefined))
  })

  test.skipIf(server === undefined)('every command for PostgreSQL', () => {
    const blocks = documents.flatMap(({ text }) => blocksOf(text)).filter(({ info }) => info === 'sh run postgres')
    assert(blocks.length > 0)
    runBlocks(blocks, { AMBIT_DATABASE_URL: server?.url ?? '' })
  })

  test.each([
    ['hello', /^success Hello, Ada\nexecution_completed \w+\nexecution_started \w+\n$/],
    ['record-and-verify', /valid: true, covered: yes\n$/],
    [
      'call-a-capability',
      /^1250 cents: success\n9000 cents: denied, approval_required\n.*approved\n9000 cents: success\n.*\n.*covered: yes\nafter a change, valid: false/,
    ],
    ['ai-sdk', refunds],
    ['openai-agents', refunds],
    ['langchain', refunds],
    ['knowledge', /^answered with \d+ tokens in 1 block\nthe answer is there\nnothing: ""\n$/],
    ['hello-agent', /^run\.started\n(?:.*\n)*run\.finished\nNoted\.\n\[ 'Ada likes mail\.' \]\n$/],
    [
      'run-an-agent',
      /^1 run\.started\n[\s\S]*\npaused 1\ndesk_refund answered\.\ncancelled\n[\s\S]*\ncomplete \{ entries: 1,/,
    ],
    [
      'govern-a-decision',
      /^paused 1\n(?:s\d .*\n){3}DECIDED posted for GATE_CONTROLLER by cora\nvalid: true\nafter .*: false\n$/,
    ],
    ['govern-a-tool', /success, .*delivered.*\n.*input_schema_validation_failed\n.*valid: true, covered: yes/],
  ])('the example %s runs to its end', (name, expected) => {
    const { stdout, status } = spawnSync(process.execPath, [`examples/${name}.ts`], { cwd: projectRoot })
    assert.equal(status, 0)
    assert.match(String(stdout), expected)
  })

  test.each(
    documents.flatMap(({ text }) =>
      blocksOf(text).flatMap(({ info, text }) => (/^text node /.test(info) ? [{ file: info.slice(10), text }] : [])),
    ),
  )('what $file prints is what its guide shows', ({ file, text }) => {
    const { stdout } = spawnSync(process.execPath, [file], { cwd: projectRoot, encoding: 'utf8' })
    assert.match(stdout.replace(/[ \t]+$/gm, ''), patternOf(text, new Map()))
  })

  test('every piece of TypeScript is cut from a program that runs', () => {
    for (const { path, text } of documents)
      for (const { info, above, text: shown } of blocksOf(text).filter(({ info }) => info.startsWith('ts'))) {
        const [, file = '', name = ''] = /^<!-- from (\S+): (\S+) -->$/.exec(above) ?? assert.fail(`${path}: ${info}`)
        assert.equal(shown, cut(file, name), `${path}: ${name}`)
      }
  })

  test('a file that is said to be one of the examples is that one', () => {
    const saved = documents.flatMap(({ text }) => blocksOf(text).filter(({ info }) => /^json save /.test(info)))
    const cited = saved.flatMap(({ above, text }) => {
      const file = /^<!-- from (\S+) -->$/.exec(above)?.[1]
      return file === undefined ? [] : [{ file, text }]
    })
    assert(cited.length > 0)
    for (const { file, text } of cited) assert.equal(text, textOf(file))
  })
})

test('the guide on hosting shows an example before any schema, and links what belongs together [H-93]', () => {
  const guide = textOf('docs/guides/host-capabilities.md')
  const [example = 0, schema = 0] = ['\n```ts save ', 'ambit schema show'].map((mark) => guide.indexOf(mark))
  assert(example > 0 && example < schema)
  for (const link of ['[context contract](', '[rules](', '[invocation](', '[evidence]('])
    assert(guide.includes(link), link)
})

describe('the demo prints what the README shows [F-22]', () => {
  const blocks = blocksOf(textOf('README.md')).filter(({ info }) => info.startsWith('text ambit '))

  test.each(blocks)('$info', ({ info, text }) => {
    runBlocks([{ info, above: '', text: `$ ${info.slice('text '.length)}\n${text}` }])
  })
})

/** The name under which a reader is to save what a block shows: `ts save ambit.config.ts`. */
const savedAs = (info: string): string | undefined => /^\w+ save (\S+)$/.exec(info)?.[1]

/** A line with `$ ` and what it prints. */
interface Step {
  readonly command: string
  readonly shown: string
}

function stepsOf({ info, text }: Block): Step[] {
  const name = savedAs(info)
  if (name !== undefined)
    return [{ command: `mkdir -p ${dirname(name)} && cat > ${name} <<'end'\n${text}end`, shown: '' }]
  const steps = text.split(/^\$ /m).slice(1)
  return steps.map((step) => ({
    command: step.slice(0, step.indexOf('\n')),
    shown: step.slice(step.indexOf('\n') + 1),
  }))
}

/** Saves the files and runs the commands, one after the other, in one new folder. What `<name>` stood for in an answer, it stands for later. */
function runBlocks(blocks: readonly Block[], variables: Readonly<Record<string, string>> = {}): void {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-docs-'))
  try {
    const env: NodeJS.ProcessEnv = { ...environment(join(folder, 'bin')), ...variables }
    const cwd = join(folder, 'here')
    mkdirSync(cwd)
    // A folder beside those of the repository.
    symlinkSync(join(projectRoot, 'scenarios'), join(folder, 'scenarios'))
    const known = new Map<string, string>()
    for (const { command, shown } of blocks.flatMap(stepsOf)) {
      const line = command.replace(placeholder, (mark, name: string) => known.get(name) ?? mark)
      if (setsVariable(line, env)) continue
      const { stdout, status } = spawnSync('sh', ['-c', `exec 2>&1; ${line}`], { cwd, env, encoding: 'utf8' })
      const printed = stdout.replace(/[ \t]+$/gm, '')
      const match = patternOf(shown, known).exec(printed)
      assert(match !== null, `\`${line}\` printed\n${printed}\nand the document shows\n${shown}`)
      assert.equal(status, 0, `\`${line}\` ended with ${status}`)
      for (const [name, value] of Object.entries(match.groups ?? {})) known.set(name.replaceAll('_', '-'), value)
    }
  } finally {
    stopServer(join(folder, 'here/host.pid'))
    rmSync(folder, { recursive: true })
  }
}

/** `export` and `unset` count for what is typed after them: each line has a shell of its own here. */
function setsVariable(line: string, env: NodeJS.ProcessEnv): boolean {
  const [, word, name = '', value] = /^(export|unset) (\w+)(?:=(\S+))?$/.exec(line) ?? []
  if (word === 'export') env[name] = value
  if (word === 'unset') delete env[name]
  return word !== undefined
}

/** A document that serves ends what it started; should it not come to that, we do. */
function stopServer(pidFile: string): void {
  if (existsSync(pidFile)) process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL')
}

/** As on a machine of its own: nothing of ours is set, and `ambit` is the command. */
function environment(bin: string): NodeJS.ProcessEnv {
  mkdirSync(bin)
  writeFileSync(join(bin, 'ambit'), `#!/bin/sh\n${ambit.script}\n`, { mode: 0o755 })
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('AMBIT_'))
  // As at a terminal, where people are.
  return { ...Object.fromEntries(others), AMBIT_OUTPUT: 'text', PATH: `${bin}${delimiter}${process.env['PATH']}` }
}

const placeholder = /<([a-z]+(?:-[a-z]+)*)>/g

/** `…` alone is any number of lines, within a line any text; `<name>` is one word, the same each time. */
function patternOf(shown: string, known: ReadonlyMap<string, string>): RegExp {
  const named = new Set<string>()
  const pieces = shown.split(/((?<=^|\n)…\n|…|<[a-z]+(?:-[a-z]+)*>)/).map((piece, index) => {
    if (index % 2 === 0) return literal(piece)
    if (piece === '…\n') return '(?:.*\n)*?'
    if (piece === '…') return '.*'
    const value = known.get(piece.slice(1, -1))
    if (value !== undefined) return literal(value)
    const group = piece.replaceAll('-', '_')
    if (named.has(group)) return `\\k${group}`
    named.add(group)
    return `(?${group}\\S+)`
  })
  return new RegExp(`^${pieces.join('')}$`)
}

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** The lines of a file between `// cut: name` and `// end`, moved to the left, as somebody who installed us writes them. */
function cut(path: string, name: string): string {
  const [, after = ''] = textOf(path).split(`// cut: ${name}\n`)
  const lines = after
    .slice(0, after.search(/^ *\/\/ end$/m))
    .trimEnd()
    .split('\n')
  const indent = Math.min(...lines.filter((line) => line !== '').map((line) => line.search(/\S/)))
  return `${lines.map((line) => line.slice(indent)).join('\n')}\n`
    .replace(/'(?:\.\.\/)+src\/index\.ts'/, "'ambit'")
    .replace(/'(?:\.\.\/)+src\/bridges\/([a-z-]+)\.ts'/, "'ambit/$1'")
    .replace(/'(?:\.\.\/)+src\/(testing|client)\/index\.ts'/, "'ambit/$1'")
}

describe('a document names only what exists [F-18]', () => {
  test('commands, and their options', () => {
    const named = documents.flatMap(({ path, text }) => codeOf(text).flatMap((code) => namedIn(code, path)))
    assert(named.length > 50)
    const strange = named.filter(({ words, options }) => {
      const known =
        commandLines.get(words.join(' ')) ?? (words.length === 1 && commands[words[0] ?? ''] ? [] : undefined)
      return known === undefined || options.some((option) => !known.includes(option))
    })
    assert.deepEqual(strange, [])
  })

  test('and the list of commands names every one there is', () => {
    const named = codeOf(textOf('docs/commands.md')).flatMap((code) =>
      namedIn(code, '').map(({ words }) => words.join(' ')),
    )
    assert.deepEqual(
      [...commandLines.keys()].filter((line) => !named.includes(line)),
      [],
    )
  })

  test('environment variables, all of them and no others', () => {
    const used = project.filter(({ path }) => /^(src|test|bench)\/.*(?<!\.test)\.ts$/.test(path))
    const namesIn = (texts: readonly string[]): string[] =>
      [...new Set(texts.flatMap((text) => text.match(/\bAMBIT_[A-Z_]*[A-Z]/g) ?? []))].sort()
    const listed = namesIn([textOf('docs/commands.md')])
    assert.deepEqual(listed, namesIn(used.map(({ text }) => text)))
    assert.deepEqual(namesIn(documents.map(({ text }) => text)), listed)
  })

  test('files and headings behind relative links', () => {
    const links = documents.flatMap(({ path, text }) =>
      [...withoutBlocks(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => ({ path, target })),
    )
    const relative = links.filter(({ target }) => !/^[a-z]+:/.test(target))
    assert(relative.length > 30)
    assert.deepEqual(
      relative.filter(({ path, target }) => !resolves(path, target)),
      [],
    )
  })
})

const withoutBlocks = (text: string): string => text.replace(/^```[\s\S]*?^```$/gm, '')

/** Inline code, and the lines that are typed. */
const codeOf = (text: string): string[] => [
  ...[...withoutBlocks(text).matchAll(/`([^`]+)`/g)].map(([, code = '']) => code),
  ...blocksOf(text)
    .filter(({ info }) => info.startsWith('sh'))
    .flatMap((block) => block.text.split('\n').filter((line) => block.info === 'sh' || line.startsWith('$ '))),
]

interface Named {
  readonly path: string
  readonly words: readonly string[]
  readonly options: readonly string[]
}

/** `ambit key create --scope x` as its words and options; of a command without commands of its own only the first word. */
const namedIn = (code: string, path: string): Named[] =>
  [...code.matchAll(/\bambit (?:-- )?([a-z][a-z-]*)(?: ([a-z][a-z-]*))?([^;&|]*)/g)].map(
    ([, command = '', word = '', rest = '']) => ({
      path,
      words: commandLines.has(command) || word === '' ? [command] : [command, word],
      // What stands before `ambit` there is a program of others, with options of its own.
      options: /^\$ mcp-inspector /.test(code) ? [] : (rest.match(/--[a-z][a-z-]*/g) ?? []),
    }),
  )

/** The command as `ambit` knows it, with commands of its own or without. */
async function loaded(name: string, io: Io): Promise<Command> {
  const command = new Command(name)
  const register = await commands[name]?.load()
  register?.default(command, io)
  return command
}

/** The options of a command and of those below it. */
function longOptions(command: Command): string[] {
  return ['--help', ...[command, ...command.commands].flatMap(({ options }) => options.map(({ long }) => long ?? ''))]
}

function resolves(from: string, target: string): boolean {
  const [path = '', heading] = target.split('#')
  const file = path === '' ? from : join(dirname(from), path)
  if (!existsSync(join(projectRoot, file))) return false
  return heading === undefined || headingsOf(textOf(file)).includes(heading)
}

/** As they are named in a link: lower case, hyphens for blanks, no other signs. */
const headingsOf = (text: string): string[] =>
  [...withoutBlocks(text).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} -]/gu, '')
      .replaceAll(' ', '-'),
  )

describe('the lists in the documents are whole [F-01]', () => {
  test('the import table is that of the checks, for every folder that holds code', () => {
    const there = new Set(productFiles(project).map(({ path }) => folderOf(path)))
    const list = (names: readonly string[]): string => names.join(' ') || '–'
    const expected = Object.entries(architecture)
      .filter(([folder]) => there.has(folder))
      .map(([folder, { imports, pure, packages }]) => [
        folder,
        list(imports.filter((name) => there.has(name))),
        pure ? 'yes' : '',
        list(packages),
      ])
    const rows = rowsOf(textOf('docs/architecture.md'))
    assert.deepEqual(
      rows.map(([folder, , ...rest]) => [folder, ...rest]),
      expected,
    )
  })

  test('every dependency has its reason, and none is explained that is not there', () => {
    const { dependencies, devDependencies, overrides } = JSON.parse(textOf('package.json'))
    const { optionalDependencies } = JSON.parse(textOf('tools/node/package.json'))
    const needed = Object.keys({ ...dependencies, ...devDependencies, ...overrides, ...optionalDependencies })
    const explained = termsOf('docs/dependencies.md').map((name) => name.replaceAll('`', ''))
    assert.deepEqual(explained.sort(), needed.sort())
  })

  test('every record that an operation gives is a noun of the language', () => {
    const nouns = termsOf('docs/language.md')
    const records = ['tenant', 'principal', 'API key', 'approver', 'secret', 'capability', 'approval', 'evidence event']
    assert.deepEqual(
      records.filter((noun) => !nouns.includes(noun)),
      [],
    )
    assert.deepEqual(
      nouns.filter((noun, index) => nouns.indexOf(noun) !== index),
      [],
    )
  })
})

/** The names in the first column of all tables. */
const termsOf = (path: string): string[] => rowsOf(textOf(path)).flatMap(([terms = '']) => terms.split(', '))

/** The cells of all tables in the text, without their heads. */
const rowsOf = (text: string): string[][] =>
  [...text.matchAll(/^\|.*\n\| ---.*\n((?:\|.*\n)+)/gm)]
    .flatMap(([, rows = '']) => rows.trimEnd().split('\n'))
    .map((row) => row.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()))
