import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { givenShell, type Shell } from '../../../test/cli/harness.ts'
import { writePackIn } from '../../../test/support/knowledge.ts'
import type { Signal } from '../terminal/io.ts'

const question = ['--query', 'How hot may the P-200 pump get?'] as const
const roots = ['--root', 'organisation=packs'] as const

function givenPacks(): Shell {
  const shell = givenShell({ env: { HOME: '/nowhere' } })
  const packs = join(shell.cwd, 'packs')
  const description = 'The P-200 pump: how hot it may get, pressure and noise. Use for questions about the pump.'
  writePackIn(
    packs,
    'pumps',
    { description, version: '1.0.0' },
    {
      'documents/pump.md': '# Pump\n\n## Heat\n\nThe pump may get as hot as 80 degrees.\n',
      'evals/discovery.validation.json': JSON.stringify({
        pack_name: 'pumps',
        cases: [
          { id: 'hot', prompt: 'How hot may the pump get?', expected: 'select' },
          { id: 'match', prompt: 'Who won the match on Sunday?', expected: 'reject' },
        ],
      }),
      'evals/answer-quality.json': JSON.stringify({
        evals: [{ id: 'heat', prompt: 'How hot may the pump get?', required_context: ['documents/pump.md#heat'] }],
      }),
    },
  )
  writePackIn(packs, 'broken', { name: 'No Name' })
  return shell
}

interface Answer {
  readonly ok: boolean
  readonly command: string
  readonly status: string
  readonly findings: readonly { readonly code: string }[]
}

test('discover shows packs, what is kept out, and exits with 1 for an error [K-14 K-89]', async () => {
  const shell = givenPacks()
  const { code, out, err } = await shell.run('knowledge', 'discover', ...roots)
  assert.equal(code, 1)
  assert.match(out, /pumps +ready +official +domain-reference +organisation:pumps/)
  assert.match(out, /organisation:broken +name-invalid/)
  assert.match(err, /^error organisation:broken.*\(name-invalid\)$/m)
  const json = (await shell.run('knowledge', 'discover', 'packs', '--json')).json<Answer & { total: number }>()
  assert.deepEqual([json.ok, json.command, json.status, json.total], [false, 'discover', 'failed', 1])
})

test('where nobody looks the answer is one JSON object; --text is for people all the same [K-89]', async () => {
  const piped = givenPacks().with({ terminal: false })
  const json = (await piped.run('knowledge', 'catalog', ...roots)).json<Answer & { packs: { name: string }[] }>()
  assert.deepEqual([json.ok, json.packs.map(({ name }) => name)], [true, ['pumps']])
  assert.match((await piped.run('knowledge', 'catalog', ...roots, '--text')).out, /^PACK/)
  assert.equal((await piped.good('knowledge', 'new', 'valves', '--dry-run')).json<Answer>().command, 'new')
  assert.match((await piped.good('knowledge', 'new', 'valves', '--text')).out, /^wrote/)
})

test('a model is shown the catalog in a fence, and nothing where there is none [K-38 K-40]', async () => {
  const shell = givenPacks()
  assert.match(
    (await shell.good('knowledge', 'catalog', ...roots, '--for', 'model')).out,
    /^<available_knowledge_packs /,
  )
  assert.equal((await shell.good('knowledge', 'catalog', '--for', 'model')).out, '')
})

test('resolve shows the packs, the sections, the tokens and the exact text [K-68 K-89]', async () => {
  const shell = givenPacks()
  const { out } = await shell.good('knowledge', 'resolve', ...roots, ...question)
  assert.match(out, /● pumps {2}implicit · ready · official · confidence 0\.\d\d \(needs 0\.\d\d\) · \d+ tokens/)
  assert.match(out, /documents\/pump\.md › heat/)
  assert.match(out, /<knowledge_pack name="pumps"[\s\S]*80 degrees[\s\S]*<\/knowledge_pack>\n$/)
  const { json } = await shell.good('knowledge', 'resolve', ...roots, ...question, '--json')
  const answer = json<Answer & { context: string; token_estimate: number }>()
  assert.deepEqual([answer.ok, answer.status], [true, 'passed'])
  assert.match(answer.context, /80 degrees/)
})

test('nothing activated is a good answer; a pack that was named and refused is not [K-89]', async () => {
  const shell = givenPacks()
  const nothing = await shell.good('knowledge', 'resolve', ...roots, '--query', 'Who won the match on Sunday?')
  assert.match(nothing.out, /nothing fits/)
  const refused = await shell.run('knowledge', 'resolve', ...roots, ...question, '--pack', 'valves')
  assert.deepEqual([refused.code, /entry-missing/.test(refused.err)], [1, true])
  const waits = await shell.run('knowledge', 'resolve', 'packs', ...question, '--pack', 'pumps')
  assert.deepEqual([waits.code, /approval-needed/.test(waits.err)], [1, true])
  assert.equal(
    (await shell.run('knowledge', 'resolve', 'packs', ...question, '--pack', 'pumps', '--confirm', 'pumps')).code,
    0,
  )
})

test('an approval in the configuration is of one folder and its content, however its root is named [K-48 K-50]', async () => {
  const shell = givenPacks()
  const { packs } = (await shell.good('knowledge', 'validate', 'packs/pumps', '--json')).json<{
    packs: { digest: string }[]
  }>()
  const config = {
    knowledge: { roots: [{ path: 'packs' }], approve: [{ path: 'packs/pumps', digest: packs[0]?.digest }] },
  }
  writeFileSync(join(shell.cwd, 'ambit.config.json'), JSON.stringify(config))
  cpSync(join(shell.cwd, 'packs'), join(shell.cwd, 'other'), { recursive: true })
  const used = async (...words: string[]) =>
    (await shell.run('knowledge', 'resolve', ...words, ...question, '--json')).json<{ context: string }>().context !==
    ''
  assert.deepEqual([await used(), await used('packs'), await used('--root', 'workspace=packs')], [true, true, true])
  assert.deepEqual([await used('other'), await used('--root', 'workspace=other')], [false, false])
})

test('a budget that holds nothing exits with 1 [K-76 K-89]', async () => {
  const shell = givenPacks()
  const { code, json } = await shell.run('knowledge', 'resolve', ...roots, ...question, '--budget', '20', '--json')
  assert.deepEqual([code, json<Answer>().ok], [1, false])
})

test('wrong usage and a root that is not there exit with 2 [K-89]', async () => {
  const shell = givenPacks()
  for (const words of [
    ['discover', 'nowhere'],
    ['resolve', ...roots],
    ['resolve', ...roots, ...question, '--budget', 'many'],
    ['catalog', '--root', 'planet=packs'],
    ['catalog', '--root', 'organisation:divine=packs'],
    ['eval', ...roots, '--suite', 'other'],
  ])
    assert.equal((await shell.run('knowledge', ...words)).code, 2, words.join(' '))
})

test('a root of the configuration that is not there exits with 2, whatever reads it [K-89]', async () => {
  const shell = givenPacks()
  const config = { knowledge: { roots: [{ path: 'packs' }, { id: 'gone', path: 'gone' }] } }
  writeFileSync(join(shell.cwd, 'ambit.config.json'), JSON.stringify(config))
  for (const words of [['discover'], ['catalog'], ['resolve', ...question], ['eval']]) {
    const { code, err } = await shell.run('knowledge', ...words)
    assert.deepEqual([code, /there is no folder `.*gone`/.test(err)], [2, true], words.join(' '))
  }
})

test('a pack is also meant by the path of its folder, and a refusal is a finding [K-45 K-89]', async () => {
  const shell = givenPacks()
  for (const path of ['packs/pumps', './packs/pumps', 'packs/pumps/', join(shell.cwd, 'packs/pumps')])
    await shell.good('knowledge', 'resolve', ...roots, ...question, '--pack', path)
  await shell.good('knowledge', 'resolve', 'packs', ...question, '--pack', './packs/pumps', '--confirm', 'packs/pumps')
  const refused = await shell.run('knowledge', 'resolve', 'packs', ...question, '--pack', 'packs/pumps', '--json')
  const { ok, findings } = refused.json<Answer>()
  assert.deepEqual([refused.code, ok, findings.map(({ code }) => code)], [1, false, ['approval-needed']])
  const broken = await shell.run('knowledge', 'resolve', 'packs', ...question, '--pack', 'packs/broken', '--json')
  assert.deepEqual(
    broken.json<Answer>().findings.map(({ code }) => code),
    ['name-invalid', 'name-directory', 'approval-needed'],
  )
})

test('a higher ceiling is advised only where it would help [K-48 K-49]', async () => {
  const shell = givenPacks()
  const ask = ['knowledge', 'resolve', 'packs', ...question]
  const advice =
    /--confirm <name> for this call, `ambit knowledge approve <folder>`, or a higher `ceiling` in the configuration\n/
  assert.match((await shell.run(...ask)).out, advice)
  writePackIn(join(shell.cwd, 'packs'), 'pumps', { description: 'All about the heat of pumps.', trust: 'external' })
  assert.match((await shell.run(...ask)).out, /--confirm <name> for this call, or `ambit knowledge approve <folder>`\n/)
})

test('names of files that were dropped cannot draw on the terminal [K-89 K-90]', async () => {
  const shell = givenPacks()
  const text = `# Pump\n\n## Heat\n\n${'The pump may get hot. '.repeat(200)}\n`
  writeFileSync(join(shell.cwd, 'packs/pumps/documents/\u001b[31mred.md'), text)
  const { out, err } = await shell.run('knowledge', 'resolve', ...roots, ...question, '--explain', '--budget', '300')
  assert.match(out, /\ndropped .*\\u\{1b\}\[31mred\.md/)
  assert(!`${out}${err}`.includes('\u001b'))
})

test('questions and results are recorded, and gaps looked for, where the configuration keeps data [K-86 K-94]', async () => {
  const shell = givenPacks()
  writeFileSync(join(shell.cwd, 'ambit.config.json'), JSON.stringify({ dataDir: 'kept' }))
  await shell.good('knowledge', 'resolve', ...roots, '--query', 'Who won the match on Sunday?', '--record')
  await shell.good('knowledge', 'eval', ...roots, '--record')
  assert.deepEqual(
    readdirSync(join(shell.cwd, 'kept/runs')).map((name) => name.split('-')[0]),
    ['context', 'eval'],
  )
  await shell.good('knowledge', 'gaps', '--output', 'gaps.json')
  const { gaps } = JSON.parse(readFileSync(join(shell.cwd, 'gaps.json'), 'utf8')) as { gaps: readonly unknown[] }
  assert.equal(gaps.length, 1)
})

test('a train suite is graded as if nothing had been learned from any [K-95]', async () => {
  const shell = givenPacks()
  const cases = [{ id: 'hum', prompt: 'Why does machine seventeen hum at night?', expected: 'select' }]
  for (const suite of ['train', 'validation'])
    writeFileSync(
      join(shell.cwd, `packs/pumps/evals/discovery.${suite}.json`),
      JSON.stringify({ pack_name: 'pumps', cases }),
    )
  assert.match((await shell.good('knowledge', 'eval', ...roots)).out, /pumps +1 +1 /)
  const train = await shell.run('knowledge', 'eval', ...roots, '--suite', 'train')
  assert.deepEqual([train.code, /failed pumps\/hum/.test(train.out)], [1, true])
})

test('a suite from a file is graded against the pack that it names [K-94 K-95]', async () => {
  const shell = givenPacks()
  const write = (pack_name: string) =>
    writeFileSync(
      join(shell.cwd, 'suite.json'),
      JSON.stringify({ pack_name, cases: [{ id: 'hot', prompt: 'How hot may the pump get?', expected: 'select' }] }),
    )
  write('pumps')
  assert.match((await shell.good('knowledge', 'eval', ...roots, '--suite', 'suite.json')).out, /pumps +1 +1 +1\.00/)
  write('valves')
  const other = await shell.run('knowledge', 'eval', ...roots, '--suite', 'suite.json')
  assert.deepEqual([other.code, /suite-mismatch/.test(other.err)], [1, true])
})

test('recorded questions become gaps, once nothing answered them [K-67 K-86]', async () => {
  const shell = givenPacks()
  for (const query of ['Who won the match on Sunday?', 'Who won the match on Sunday?', question[1]])
    await shell.good('knowledge', 'resolve', ...roots, '--query', query, '--record')
  const { gaps } = (await shell.good('knowledge', 'gaps', '--json')).json<{
    gaps: { query: string; asked: number }[]
  }>()
  assert.deepEqual(
    gaps.map(({ query, asked }) => [query, asked]),
    [['Who won the match on Sunday?', 2]],
  )
  assert.match((await shell.good('knowledge', 'gaps')).out, /2× .* nothing +Who won/)
  await shell.good('knowledge', 'resolve', ...roots, ...question, '--record', 'elsewhere', '--withhold')
  for (const name of readdirSync(join(shell.cwd, 'elsewhere')))
    assert.doesNotMatch(readFileSync(join(shell.cwd, 'elsewhere', name), 'utf8'), /hot may/)
})

test('eval grades suites and the context that answers need, and records the results on request [K-94 K-95]', async () => {
  const shell = givenPacks()
  const { out } = await shell.good('knowledge', 'eval', ...roots, '--record')
  assert.match(out, /pumps +2 +2 +1\.00 +1\.00/)
  assert.match(out, /answers: 1 of 1 required places selected/)
  const [name = ''] = readdirSync(join(shell.cwd, '.ambit/runs'))
  assert.match(name, /^eval-discovery-.*-validation-pumps\.json$/)
  const suite = join(shell.cwd, 'packs/pumps/evals/discovery.validation.json')
  writeFileSync(suite, readFileSync(suite, 'utf8').replace('"expected":"reject"', '"expected":"select"'))
  const failed = await shell.run('knowledge', 'eval', ...roots)
  assert.deepEqual([failed.code, /failed pumps\/match: select expected, reject found/.test(failed.out)], [1, true])
})

test('the answer goes to a new file on request, and over none [K-89]', async () => {
  const shell = givenPacks()
  await shell.good('knowledge', 'catalog', ...roots, '--output', 'catalog.json')
  assert.equal((JSON.parse(readFileSync(join(shell.cwd, 'catalog.json'), 'utf8')) as Answer).command, 'catalog')
  assert.equal((await shell.run('knowledge', 'catalog', ...roots, '--output', 'catalog.json')).code, 2)
  await shell.good('knowledge', 'catalog', ...roots, '--output', 'catalog.json', '--force')
})

test('--watch answers again when a file changes, until it is told to stop [K-88 K-89]', async () => {
  let stop: (signal: Signal) => void = () => undefined
  const told: string[] = []
  const shell = givenPacks()
  rmSync(join(shell.cwd, 'packs/broken'), { recursive: true })
  const watching = shell.with({
    onSignal: (listener) => {
      stop = listener
      return () => undefined
    },
    told: (text) => {
      told.push(text)
      if (told.join('').includes('95 degrees')) stop('SIGINT')
      else if (text.includes('80 degrees')) setTimeout(change, 50)
    },
  })
  const change = () =>
    writeFileSync(
      join(shell.cwd, 'packs/pumps/documents/pump.md'),
      '# Pump\n\n## Heat\n\nThe pump may get as hot as 95 degrees.\n',
    )
  const { code } = await watching.run('knowledge', 'resolve', ...roots, ...question, '--watch')
  assert.equal(code, 0)
  assert.match(told.join(''), /80 degrees[\s\S]*95 degrees/)
})
